//! Work stealing without blocks: a thief reaches every item.

use corelane_loom::Config;
use corelane_loom::steal::chase_lev::{self, asymmetric};
use corelane_loom::steal::{Stealer, run_queue};

use crate::explore::{both, explore, explore_shared};
use crate::queue::Of;
use crate::shared::{all_are_there, join};
use crate::steal::{New, Owner, SMALL, numbers, owner_goes, pop, push, steal, steal_while_pushed};
use crate::{Exploration, Model};

/// The models of all three queues.
pub(crate) fn models() -> Vec<Model> {
    let abp = Of::other(chase_lev::INFO);
    let mut models = of(abp, |config| chase_lev::queue_with(wraps(config)).expect(SMALL));
    models.extend(grows(abp, |config| chase_lev::unbounded_with(wraps(config)).expect(SMALL)));
    let abp = Of::other(asymmetric::INFO);
    models.extend(of(abp, |config| asymmetric::queue_with(wraps(config)).expect(SMALL)));
    models.extend(grows(abp, |config| asymmetric::unbounded_with(wraps(config)).expect(SMALL)));
    let ring = Of::other(run_queue::INFO);
    models.extend(of(ring, |config| run_queue::queue_with(wraps(config)).expect(SMALL)));
    models
}

/// Counters are about to wrap. Models that queues with blocks have, too, ask for blocks.
fn wraps(config: Config) -> Config {
    config.first(u64::MAX - 1).lenient()
}

fn of<W: Owner>(of: Of, new: New<W>) -> Vec<Model> {
    vec![
        of.model("last_item", move || last_item(new)),
        of.model("last_item_and_two_thieves", move || last_item_and_two_thieves(new)),
        of.model("last_two_items", move || last_two_items(new)),
        of.model("steal_while_pushed", move || steal_while_pushed(new)),
        of.model("steal_while_pushed_and_popped", move || steal_while_pushed_and_popped(new)),
        of.model("empty_and_pushed_again", move || empty_and_pushed_again(new)),
        of.model("slot_in_use_again", move || slot_in_use_again(new)),
        of.model("slot_in_use_again_behind_two", move || slot_in_use_again_behind_two(new)),
        of.model("slot_in_use_again_after_a_pop", move || slot_in_use_again_after_a_pop(new)),
        of.model("half_while_popped", move || half_while_popped(new)),
        of.model("two_thieves", move || two_thieves(new)),
        of.model("owner_goes", move || owner_goes(new, Config::new(4))),
    ]
}

fn grows<W: Owner>(of: Of, new: New<W>) -> Vec<Model> {
    vec![
        of.model("grown_while_stolen", move || grown_while_stolen(new)),
        of.model("grown_and_popped", move || grown_and_popped(new)),
        of.model("grown_behind_two_thieves", move || grown_behind_two_thieves(new)),
    ]
}

/// The owner and a thief want the only item.
fn last_item<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(Config::new(2));
        assert_eq!(push(&mut worker, 0..1), 1);
        let thief = worker.stealer();
        let (stolen, mut all) =
            both(move || numbers(thief.try_steal_some(1)), || pop(&mut worker, 1));
        all.extend(stolen);
        all.extend(pop(&mut worker, 1));
        all_are_there(all, 1);
    })
}

/// The owner and two thieves want the only item.
fn last_item_and_two_thieves<W: Owner>(new: New<W>) -> Exploration {
    explore_shared(move || {
        let mut worker = new(Config::new(2));
        assert_eq!(push(&mut worker, 0..1), 1);
        let thief = worker.stealer();
        let thieves = [steal(&thief, 1), steal(&thief, 1)];
        let mut all = pop(&mut worker, 1);
        all.extend(join(thieves).concat());
        all.extend(pop(&mut worker, 1));
        all_are_there(all, 1);
    })
}

/// A thief comes to the last item while the owner does.
fn last_two_items<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(Config::new(2));
        assert_eq!(push(&mut worker, 0..2), 2);
        let thief = worker.stealer();
        let (stolen, mut all) = both(
            move || {
                let mut stolen = numbers(thief.try_steal_some(1));
                stolen.extend(numbers(thief.try_steal_some(1)));
                stolen
            },
            || pop(&mut worker, 2),
        );
        all.extend(stolen);
        all.extend(pop(&mut worker, 2));
        all_are_there(all, 2);
    })
}

/// A thief finds an end of the queue that a pop has stored.
fn steal_while_pushed_and_popped<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(Config::new(4));
        let thief = worker.stealer();
        let (stolen, mut all) = both(
            move || numbers(thief.try_steal_some(2)),
            || {
                assert_eq!(push(&mut worker, 0..3), 3);
                pop(&mut worker, 1)
            },
        );
        all.extend(stolen);
        all.extend(pop(&mut worker, 3));
        all_are_there(all, 3);
    })
}

/// A thief is in the middle of a steal while the owner takes the only item and pushes others.
fn empty_and_pushed_again<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(Config::new(2));
        assert_eq!(push(&mut worker, 0..1), 1);
        let thief = worker.stealer();
        let (stolen, (mut all, pushed)) = both(
            move || {
                let mut stolen = numbers(thief.try_steal_some(1));
                stolen.extend(numbers(thief.try_steal_some(2)));
                stolen
            },
            || {
                let mut popped = pop(&mut worker, 1);
                let pushed = 1 + push(&mut worker, 1..3);
                popped.extend(pop(&mut worker, 1));
                (popped, pushed)
            },
        );
        all.extend(stolen);
        all.extend(pop(&mut worker, 2));
        all_are_there(all, pushed);
    })
}

/// The owner needs the only slot, which a thief has just emptied.
fn slot_in_use_again<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(Config::new(1));
        assert_eq!(push(&mut worker, 0..1), 1);
        let thief = worker.stealer();
        let (mut all, pushed) = both(
            move || {
                let mut stolen = numbers(thief.try_steal_some(1));
                stolen.extend(numbers(thief.try_steal_some(1)));
                stolen
            },
            || {
                let pushed = 1 + push(&mut worker, 1..2);
                pushed + push(&mut worker, pushed..3)
            },
        );
        all.extend(pop(&mut worker, 1));
        all_are_there(all, pushed);
    })
}

/// As above, with two thieves, of which one may be a round behind.
fn slot_in_use_again_behind_two<W: Owner>(new: New<W>) -> Exploration {
    explore_shared(move || {
        let mut worker = new(Config::new(2));
        assert_eq!(push(&mut worker, 0..2), 2);
        let thief = worker.stealer();
        let thieves = [steal(&thief, 1), steal(&thief, 1)];
        let pushed = 2 + push(&mut worker, 2..4);
        let mut all = join(thieves).concat();
        all.extend(pop(&mut worker, 2));
        all_are_there(all, pushed);
    })
}

/// The owner pops while a thief reads what it has claimed, and then needs the thief's slot.
fn slot_in_use_again_after_a_pop<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(Config::new(2));
        assert_eq!(push(&mut worker, 0..2), 2);
        let thief = worker.stealer();
        let (stolen, (mut all, pushed)) = both(
            move || numbers(thief.try_steal_some(1)),
            || {
                let popped = pop(&mut worker, 1);
                (popped, 2 + push(&mut worker, 2..4))
            },
        );
        all.extend(stolen);
        all.extend(pop(&mut worker, 2));
        all_are_there(all, pushed);
    })
}

/// A thief takes several items, and the owner comes to them.
fn half_while_popped<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(Config::new(4));
        assert_eq!(push(&mut worker, 0..4), 4);
        let thief = worker.stealer();
        let (stolen, mut all) =
            both(move || numbers(thief.try_steal_some(4)), || pop(&mut worker, 3));
        all.extend(stolen);
        all.extend(pop(&mut worker, 4));
        all_are_there(all, 4);
    })
}

/// Two thieves, and the owner between them.
fn two_thieves<W: Owner>(new: New<W>) -> Exploration {
    explore_shared(move || {
        let mut worker = new(Config::new(4));
        assert_eq!(push(&mut worker, 0..3), 3);
        let thief = worker.stealer();
        let thieves = [steal(&thief, 2), steal(&thief, 2)];
        let mut all = pop(&mut worker, 2);
        all.extend(join(thieves).concat());
        all.extend(pop(&mut worker, 3));
        all_are_there(all, 3);
    })
}

/// The queue grows while a thief steals, perhaps from the buffer before.
fn grown_while_stolen<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(Config::new(1));
        assert_eq!(push(&mut worker, 0..1), 1);
        let thief = worker.stealer();
        let (mut all, ()) = both(
            move || {
                let mut stolen = numbers(thief.try_steal_some(1));
                stolen.extend(numbers(thief.try_steal_some(2)));
                stolen
            },
            || assert_eq!(push(&mut worker, 1..3), 2),
        );
        all.extend(pop(&mut worker, 3));
        all_are_there(all, 3);
    })
}

/// The queue grows while a thief steals, and the owner takes an item from its new place.
fn grown_and_popped<W: Owner>(new: New<W>) -> Exploration {
    explore(move || {
        let mut worker = new(Config::new(2));
        assert_eq!(push(&mut worker, 0..2), 2);
        let thief = worker.stealer();
        let (stolen, mut all) = both(
            move || numbers(thief.try_steal_some(1)),
            || {
                assert_eq!(push(&mut worker, 2..3), 1);
                pop(&mut worker, 2)
            },
        );
        all.extend(stolen);
        all.extend(pop(&mut worker, 3));
        all_are_there(all, 3);
    })
}

/// The queue grows while two thieves steal.
fn grown_behind_two_thieves<W: Owner>(new: New<W>) -> Exploration {
    explore_shared(move || {
        let mut worker = new(Config::new(2));
        assert_eq!(push(&mut worker, 0..2), 2);
        let thief = worker.stealer();
        let thieves = [steal(&thief, 1), steal(&thief, 1)];
        assert_eq!(push(&mut worker, 2..3), 1);
        let mut all = join(thieves).concat();
        all.extend(pop(&mut worker, 3));
        all_are_there(all, 3);
    })
}
