//! Work stealing: an owner that pushes and pops, and thieves.

use corelane_loom::steal::bwos::{fifo, lifo};
use corelane_loom::steal::{Stealer, Worker};
use corelane_loom::{Config, TryPopError};

use crate::explore::{both, explore, explore_shared};
use crate::item::{Cargo, Number};
use crate::queue::Of;
use crate::shared::{all_are_there, join, start};
use crate::{Exploration, Model};

/// The models of both orders.
pub(crate) fn models() -> Vec<Model> {
    let mut models = of(Of::other(lifo::INFO), |config| lifo::queue_with(config).expect(SMALL));
    models.extend(of(Of::other(fifo::INFO), |config| fifo::queue_with(config).expect(SMALL)));
    models.extend(held(Of::other(fifo::INFO), |config| {
        fifo::queue_with(config.batch(1)).expect(SMALL)
    }));
    models
}

pub(crate) const SMALL: &str = "models ask for small queues";

/// An owner's handle.
pub(crate) trait Owner: Worker<Item = Number, Stealer: 'static> + 'static {}
impl<W: Worker<Item = Number, Stealer: 'static> + 'static> Owner for W {}

/// Makes a queue.
pub(crate) type New<W> = fn(Config) -> W;

fn of<W: Owner>(of: Of, new: New<W>) -> Vec<Model> {
    vec![
        of.model("takeover_during_steal", move || takeover_during_steal(new, some)),
        of.model("takeover_between_two_thieves", move || takeover_between_two_thieves(new)),
        of.model("steal_while_pushed", move || steal_while_pushed(new)),
        of.model("block_in_use_again", move || block_in_use_again(new, some)),
        of.model("block_in_use_again_behind_two", move || block_in_use_again_behind_two(new)),
        of.model("sampled_during_takeover", move || takeover_during_steal(new, sampled)),
        of.model("sampled_block_in_use_again", move || block_in_use_again(new, sampled)),
        of.model("seized_while_popped", move || seized_while_popped(new)),
        of.model("seized_while_pushed", move || seized_while_pushed(new)),
        of.model("seized_as_pushed", move || seized_as_pushed(new)),
        of.model("seized_twice", move || seized_twice(new)),
        of.model("seized_by_two", move || seized_by_two(new)),
        of.model("seized_and_granted", move || seized_and_granted(new)),
        of.model("no_mark_stays", move || no_mark_stays(new)),
        of.model("owner_goes", move || owner_goes(new, blocks_of(2))),
    ]
}

/// The models of a FIFO queue whose owner pushes an item into a block before it grants it.
fn held<W: Owner>(of: Of, new: New<W>) -> Vec<Model> {
    vec![
        of.model("held_and_popped", move || held_and_popped(new)),
        of.model("held_and_granted", move || held_and_granted(new)),
        of.model("held_and_seized_by_two", move || held_and_seized_by_two(new)),
        of.model("held_and_passed", move || held_and_passed(new)),
        of.model("held_behind_popped", move || held_behind_popped(new)),
        of.model("held_then_granted", move || held_then_granted(new)),
        of.model("held_and_in_use_again", move || held_and_in_use_again(new)),
        of.model("owner_goes_with_held_between_two", move || owner_goes_with_held_between_two(new)),
        of.model("held_beside_seized", move || seized_and_granted(new)),
        of.model("no_mark_stays_on_held", move || no_mark_stays(new)),
        of.model("owner_goes_with_held", move || owner_goes(new, blocks_of(2))),
    ]
}

/// Two blocks with this number of slots each. The numbers of blocks are about to wrap.
pub(crate) fn blocks_of(slots: usize) -> Config {
    Config::new(slots).block(slots).first(((1 << 40) - 1) << slots.ilog2())
}

/// Pushes items from this number on, and returns how many had room.
pub(crate) fn push<W: Owner>(worker: &mut W, numbers: std::ops::Range<u64>) -> u64 {
    numbers.take_while(|&number| worker.try_push(Number::of(number)).is_ok()).count() as u64
}

/// Pops up to `most` items.
pub(crate) fn pop<W: Owner>(worker: &mut W, most: usize) -> Vec<u64> {
    (0..most).map_while(|_| worker.try_pop().ok()).map(|item| item.number()).collect()
}

pub(crate) fn numbers(loot: Result<impl Iterator<Item = Number>, TryPopError>) -> Vec<u64> {
    loot.into_iter().flatten().map(|item| item.number()).collect()
}

/// A thief's step: what it has stolen.
type Steal<S> = fn(&S) -> Vec<u64>;

/// Steals an item of the first block.
fn some<S: Stealer<Item = Number>>(thief: &S) -> Vec<u64> {
    numbers(thief.try_steal_some(1))
}

/// Steals an item of the block behind the one that it finds first.
fn sampled<S: Stealer<Item = Number>>(thief: &S) -> Vec<u64> {
    numbers(thief.try_steal_sampled(1, 1))
}

/// A thread that steals up to `most` items at once.
pub(crate) fn steal<S: Stealer<Item = Number> + 'static>(
    thief: &S,
    most: usize,
) -> crate::thread::Thread<Vec<u64>> {
    let thief = thief.clone();
    start(move || numbers(thief.try_steal_some(most)))
}

/// A thread that seizes up to `most` items at once.
pub(crate) fn seize<S: Stealer<Item = Number> + 'static>(
    thief: &S,
    most: usize,
) -> crate::thread::Thread<Vec<u64>> {
    let thief = thief.clone();
    start(move || numbers(thief.try_seize(most)))
}

/// The owner comes to the block from which a thief steals.
fn takeover_during_steal<W: Owner>(new: New<W>, steal: Steal<W::Stealer>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..4), 4);
        let thief = worker.stealer();
        let (stolen, mut all) = both(move || steal(&thief), || pop(&mut worker, 4));
        all.extend(stolen);
        all.extend(pop(&mut worker, 1));
        all_are_there(all, 4);
    })
}

/// As above, and the thieves contend.
fn takeover_between_two_thieves<W: Owner>(new: New<W>) -> Exploration {
    explore_shared(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..4), 4);
        let thief = worker.stealer();
        let thieves = [steal(&thief, 1), steal(&thief, 2)];
        let mut all = pop(&mut worker, 3);
        all.extend(join(thieves).concat());
        all.extend(pop(&mut worker, 2));
        all_are_there(all, 4);
    })
}

/// The owner pushes, and enters a block, while a thief steals.
pub(crate) fn steal_while_pushed<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..1), 1);
        let thief = worker.stealer();
        let (mut all, pushed) = both(
            move || {
                let mut stolen = numbers(thief.try_steal_some(1));
                stolen.extend(numbers(thief.try_steal_some(2)));
                stolen
            },
            || 1 + push(&mut worker, 1..4),
        );
        all.extend(pop(&mut worker, 4));
        all_are_there(all, pushed);
    })
}

/// The owner needs the slots of a block that a thief has just emptied.
fn block_in_use_again<W: Owner>(new: New<W>, steal: Steal<W::Stealer>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(1));
        assert_eq!(push(&mut worker, 0..2), 2);
        let thief = worker.stealer();
        let (mut all, (pushed, popped)) = both(
            move || {
                let mut stolen = steal(&thief);
                stolen.extend(steal(&thief));
                stolen
            },
            || {
                let popped = pop(&mut worker, 1);
                (2 + push(&mut worker, 2..4), popped)
            },
        );
        all.extend(popped);
        all.extend(pop(&mut worker, 4));
        all_are_there(all, pushed);
    })
}

/// As above, with two thieves, of which one may be a round behind.
fn block_in_use_again_behind_two<W: Owner>(new: New<W>) -> Exploration {
    explore_shared(move || {
        let mut worker = new(blocks_of(1));
        assert_eq!(push(&mut worker, 0..2), 2);
        let thief = worker.stealer();
        let thieves = [steal(&thief, 1), steal(&thief, 1)];
        let mut all = pop(&mut worker, 1);
        let pushed = 2 + push(&mut worker, 2..4);
        all.extend(join(thieves).concat());
        all.extend(pop(&mut worker, 4));
        all_are_there(all, pushed);
    })
}

/// A thief enters the owner's block while the owner pops there.
fn seized_while_popped<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..2), 2);
        let thief = worker.stealer();
        let (seized, mut all) = both(move || numbers(thief.try_seize(2)), || pop(&mut worker, 2));
        all.extend(seized);
        all.extend(pop(&mut worker, 1));
        all_are_there(all, 2);
    })
}

/// A thief enters the owner's block while the owner pushes and pops there.
fn seized_while_pushed<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(4));
        assert_eq!(push(&mut worker, 0..1), 1);
        let thief = worker.stealer();
        let (seized, mut all) = both(
            move || numbers(thief.try_seize(2)),
            || {
                assert_eq!(push(&mut worker, 1..2), 1);
                let mut popped = pop(&mut worker, 1);
                assert_eq!(push(&mut worker, 2..3), 1);
                popped.extend(pop(&mut worker, 1));
                popped
            },
        );
        all.extend(seized);
        all.extend(pop(&mut worker, 2));
        all_are_there(all, 3);
    })
}

/// A thief seizes the first items, while the owner pushes and pops.
fn seized_as_pushed<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(4));
        let thief = worker.stealer();
        let (seized, mut all) = both(
            move || numbers(thief.try_seize(2)),
            || {
                assert_eq!(push(&mut worker, 0..3), 3);
                pop(&mut worker, 1)
            },
        );
        all.extend(seized);
        all.extend(pop(&mut worker, 3));
        all_are_there(all, 3);
    })
}

/// A thief enters the owner's block again before the owner has noticed that it was there.
fn seized_twice<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(4));
        assert_eq!(push(&mut worker, 0..4), 4);
        let thief = worker.stealer();
        let (seized, mut all) = both(
            move || {
                let mut seized = numbers(thief.try_seize(1));
                seized.extend(numbers(thief.try_seize(1)));
                seized
            },
            || pop(&mut worker, 2),
        );
        all.extend(seized);
        all.extend(pop(&mut worker, 4));
        all_are_there(all, 4);
    })
}

/// Two thieves want to enter the owner's block.
fn seized_by_two<W: Owner>(new: New<W>) -> Exploration {
    explore_shared(move || {
        let mut worker = new(blocks_of(4));
        assert_eq!(push(&mut worker, 0..3), 3);
        let thief = worker.stealer();
        let thieves = [seize(&thief, 2), seize(&thief, 2)];
        let mut all = pop(&mut worker, 2);
        all.extend(join(thieves).concat());
        all.extend(pop(&mut worker, 3));
        all_are_there(all, 3);
    })
}

/// A thief has entered the owner's block, and the owner goes to the next one.
fn seized_and_granted<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..2), 2);
        let thief = worker.stealer();
        let (mut all, popped) = both(
            move || {
                let mut stolen = numbers(thief.try_seize(1));
                stolen.extend(numbers(thief.try_steal_some(1)));
                stolen
            },
            || {
                assert_eq!(push(&mut worker, 2..3), 1);
                pop(&mut worker, 2)
            },
        );
        all.extend(popped);
        all.extend(pop(&mut worker, 3));
        all_are_there(all, 3);
    })
}

/// A thief enters the back block before it is granted, while the owner comes to it.
fn held_and_popped<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..3), 3);
        let mut all = pop(&mut worker, 2);
        let thief = worker.stealer();
        let (seized, popped) = both(
            move || {
                assert_eq!(thief.try_steal().err(), Some(TryPopError::Empty), "it is held");
                numbers(thief.try_seize(1))
            },
            || {
                let mut popped = pop(&mut worker, 1);
                assert_eq!(push(&mut worker, 3..4), 1);
                popped.extend(pop(&mut worker, 1));
                popped
            },
        );
        all.extend(popped.into_iter().chain(seized));
        all.extend(pop(&mut worker, 2));
        all_are_there(all, 4);
    })
}

/// A thief enters the back block before it is granted, while the owner grants it.
fn held_and_granted<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..1), 1);
        let thief = worker.stealer();
        let mut all = numbers(thief.try_seize(1));
        assert_eq!(push(&mut worker, 1..3), 2);
        all.extend(numbers(thief.try_seize(1)));
        let (stolen, popped) = both(
            move || {
                let mut stolen = numbers(thief.try_seize(1));
                stolen.extend(numbers(thief.try_steal_some(1)));
                stolen
            },
            || {
                assert_eq!(push(&mut worker, 3..4), 1);
                pop(&mut worker, 1)
            },
        );
        all.extend(stolen.into_iter().chain(popped));
        all.extend(pop(&mut worker, 2));
        all_are_there(all, 4);
    })
}

/// While an item is held, no thief hears from both calls that there is none: the owner pops what a
/// thief wants to seize.
fn held_behind_popped<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..3), 3);
        let mut all = pop(&mut worker, 1);
        let thief = worker.stealer();
        let (seized, popped) = both(
            move || {
                assert_eq!(thief.try_steal().err(), Some(TryPopError::Empty), "it is held");
                let seized = thief.try_seize(1);
                assert_ne!(seized.as_ref().err(), Some(&TryPopError::Empty));
                numbers(seized)
            },
            || pop(&mut worker, 1),
        );
        all.extend(popped.into_iter().chain(seized));
        all.extend(pop(&mut worker, 2));
        all_are_there(all, 3);
    })
}

/// As above: the owner grants the block between the two calls.
fn held_then_granted<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..3), 3);
        let mut all = pop(&mut worker, 2);
        let thief = worker.stealer();
        let (stolen, ()) = both(
            move || {
                let stolen = thief.try_steal_some(1).or_else(|_| thief.try_seize(1));
                assert_ne!(stolen.as_ref().err(), Some(&TryPopError::Empty));
                numbers(stolen)
            },
            || assert_eq!(push(&mut worker, 3..4), 1),
        );
        all.extend(stolen);
        all.extend(pop(&mut worker, 3));
        all_are_there(all, 4);
    })
}

/// A thief is late to enter the back block: the owner has come to it, and its slots are in use
/// again, and held.
fn held_and_in_use_again<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..3), 3);
        let mut all = pop(&mut worker, 2);
        let thief = worker.stealer();
        let (seized, (pushed, popped)) = both(
            move || numbers(thief.try_seize(1)),
            || {
                let mut pushed = 3 + push(&mut worker, 3..5);
                let mut popped = pop(&mut worker, 2);
                pushed += push(&mut worker, pushed..7);
                popped.extend(pop(&mut worker, 1));
                (pushed, popped)
            },
        );
        all.extend(popped.into_iter().chain(seized));
        all.extend(pop(&mut worker, 8));
        all_are_there(all, pushed);
    })
}

/// The owner goes. One thief has not seen that, and enters the back block, from which another takes
/// what is left.
fn owner_goes_with_held_between_two<W: Owner>(new: New<W>) -> Exploration {
    explore_shared(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..3), 3);
        let mut all = pop(&mut worker, 2);
        let thief = worker.stealer();
        let seizer = seize(&thief, 1);
        let other = start(move || take_all(&thief));
        drop(worker);
        all.extend(join([seizer, other]).concat());
        all_are_there(all, 3);
    })
}

/// All that is left, until the queue is closed.
fn take_all(thief: &impl Stealer<Item = Number>) -> Vec<u64> {
    let mut stolen = Vec::new();
    loop {
        match thief.try_steal_some(2) {
            Ok(loot) => stolen.extend(loot.map(|item| item.number())),
            Err(TryPopError::Closed) => return stolen,
            Err(_) => corelane_loom::memory::pause(1),
        }
    }
}

/// A thief finds the back block held, and the owner grants it and goes on: the thief must not get
/// younger items first.
fn held_and_passed<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(Config::new(4).block(2));
        assert_eq!(push(&mut worker, 0..3), 3);
        let thief = worker.stealer();
        let (mut all, ()) = both(
            move || {
                let mut stolen = numbers(thief.try_steal_some(1));
                stolen.extend(numbers(thief.try_steal_some(1)));
                assert!(stolen.is_sorted(), "{stolen:?}");
                stolen
            },
            || assert_eq!(push(&mut worker, 3..6), 3),
        );
        all.extend(pop(&mut worker, 6));
        all_are_there(all, 6);
    })
}

/// Two thieves want to enter the back block before it is granted, while the owner grants it.
fn held_and_seized_by_two<W: Owner>(new: New<W>) -> Exploration {
    explore_shared(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..3), 3);
        let mut all = pop(&mut worker, 2);
        let thief = worker.stealer();
        let thieves = [seize(&thief, 1), seize(&thief, 1)];
        assert_eq!(push(&mut worker, 3..4), 1);
        all.extend(join(thieves).concat());
        all.extend(pop(&mut worker, 2));
        all_are_there(all, 4);
    })
}

/// The owner goes, and a thief takes what is left.
pub(crate) fn owner_goes<W: Owner>(new: New<W>, config: Config) -> Exploration {
    explore(move || {
        let mut worker = new(config);
        assert_eq!(push(&mut worker, 0..2), 2);
        let thief = worker.stealer();
        let (mut all, ()) =
            both(move || take_all(&thief), move || assert_eq!(push(&mut worker, 2..3), 1));
        all.sort_unstable();
        all_are_there(all, 3);
    })
}

/// However a seizure meets the owner, which goes to the next block and back, no mark stays: then
/// thieves get all, and nobody is busy.
fn no_mark_stays<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(blocks_of(2));
        assert_eq!(push(&mut worker, 0..2), 2);
        let thief = worker.stealer();
        let seizer = thief.clone();
        let (mut all, popped) = both(
            move || numbers(seizer.try_seize(1)),
            || {
                let mut popped = pop(&mut worker, 1);
                assert_eq!(push(&mut worker, 2..3), 1);
                if worker.try_push(Number::of(3)).is_err() {
                    popped.push(3);
                }
                popped
            },
        );
        all.extend(popped);
        let granted = thief.try_steal().expect("the owner has granted a block that is not empty");
        all.push(granted.number());
        loop {
            match thief
                .try_steal()
                .or_else(|_| thief.try_seize(1).map(|mut loot| loot.next().expect("one")))
            {
                Ok(item) => all.push(item.number()),
                Err(error) => {
                    assert_eq!(error, TryPopError::Empty);
                    break;
                }
            }
        }
        all_are_there(all, 4);
    })
}
