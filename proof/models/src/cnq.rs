//! `cnq`: capsules that are closed, shared, left and used again (paper 3, ch. 3).

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

use corelane_loom::memory::Ordering::Relaxed;
use corelane_loom::relaxed::cnq::capsule::{
    Begun, Capsule, FINISHED, Look, RESERVED, turn_of, word,
};
use corelane_loom::relaxed::cnq::capsules::{Capsules, Shape, Slots};
use corelane_loom::{BoxedProducer, Config};
use loom::sync::Arc;

use crate::explore::{both, explore, explore_shared};
use crate::item::{Cargo, Number, Ticket};
use crate::queue::{Another, Shared, SharedSubject};
use crate::shared::{all_are_there, attempts, drain, items, join, look, push, start};
use crate::{Exploration, Model};

pub(crate) fn models(subject: SharedSubject<Ticket, Number>) -> Vec<Model> {
    let SharedSubject { of, tickets, .. } = subject;
    vec![
        of.model("closed_by_another", move || closed_by_another(tickets)),
        of.model("left_to_another", move || left_to_another(tickets)),
        of.model("another_comes_to_share", move || another_comes_to_share(tickets)),
        of.model("finished_by_two", finished_by_two),
        of.model("read_when_used_again", read_when_used_again),
        of.model("shared_when_used_again", shared_when_used_again),
        of.model("over_for_another", || over_for_another(false)),
        of.model("over_for_a_producer", || over_for_another(true)),
        of.model("used_again_by_a_third", used_again_by_a_third),
        of.model("known_to_be_closed", known_to_be_closed),
        of.model("known_to_be_popped", known_to_be_popped),
        of.model("popped_while_filled", move || popped_while_filled(tickets)),
    ]
}

/// Capsules of `size` slots, each a group.
fn capsules(capacity: usize, size: usize) -> Config {
    Config::new(capacity).relaxation(3 * size).block(size).first(u64::MAX - 8)
}

/// A producer pushes into its capsule, while another producer gets two groups ahead, and closes
/// the capsule.
fn closed_by_another<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut slow, mut rx) = new(capsules(6, 2));
        let mut items = items::<T>(5).into_iter();
        push(&mut slow, items.next().expect("there are five"));
        let (second, mut tx) = (items.next().expect("as above"), slow.another());
        assert_eq!(attempts(&mut tx, items.by_ref().take(2)).len(), 2, "a capsule is full");
        let thread = start(move || {
            push(&mut slow, second);
            slow
        });
        assert_eq!(attempts(&mut tx, items).len(), 1, "there is room");
        let _slow = join([thread]);
        all_are_there(drain(&mut rx), 5);
    })
}

/// A producer is dropped in the middle of its capsule, while another one looks for a capsule to
/// share.
fn left_to_another<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(capsules(4, 2));
        let mut items = items::<T>(3).into_iter();
        push(&mut tx, items.next().expect("there are three"));
        let mut other = tx.another();
        let thread = start(move || drop(tx));
        items.for_each(|item| push(&mut other, item));
        join([thread]);
        all_are_there(drain(&mut rx), 3);
    })
}

/// Two producers without a capsule push at the same time. Each shares one, or has its own.
fn another_comes_to_share<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (tx, mut rx) = new(capsules(4, 2));
        let mut items = items::<T>(3).into_iter();
        let mut all = [tx.another(), tx.another()];
        push(&mut all[0], items.next().expect("there are three"));
        let threads = all.map(|mut tx: BoxedProducer<T>| {
            let item = items.next().expect("as above");
            start(move || {
                push(&mut tx, item);
                tx
            })
        });
        let _all = join(threads);
        all_are_there(drain(&mut rx), 3);
    })
}

/// Capsules with a slot each. Each is a group.
struct Few {
    capsules: Capsules<u64>,
    memory: [(NonNull<u8>, Layout); 2],
}

// SAFETY: the models' threads take the steps that the algorithm allows, or are seen to race.
unsafe impl Send for Few {}
// SAFETY: as above.
unsafe impl Sync for Few {}

impl Few {
    /// One, in turn 0, with an item that a consumer has claimed.
    fn popped() -> Arc<Self> {
        let this = Self::begun(1);
        this.push(0);
        assert!(this.claim_item(0, true), "an item is there");
        this
    }

    /// `n`, in the first turns, without an item.
    fn begun(n: usize) -> Arc<Self> {
        let shape = Shape { capsules: n, size: 1, group: 1, window: 2, first: 0 };
        let layouts = [Capsules::<u64>::variables(shape), Capsules::<u64>::slots(shape)];
        let memory = layouts.map(|layout| {
            let layout = layout.expect("it is small");
            // SAFETY: the layout has a size.
            let start = NonNull::new(unsafe { alloc(layout) });
            (start.expect("there is memory"), layout)
        });
        // SAFETY: the memory has these layouts, and nothing else uses it.
        let capsules = unsafe { Capsules::init(memory[0].0, memory[1].0, shape) };
        let this = Arc::new(Self { capsules, memory });
        (0..n as u64).for_each(|turn| assert_eq!(this.capsule(turn).begin(turn), Begun::Open));
        this
    }

    /// Pushes an item.
    fn push(&self, turn: u64) {
        assert!(self.capsule(turn).claim_slots(word(turn), 1, false), "it is empty");
        self.write(turn);
        self.capsule(turn).fill(word(turn) + 1);
    }

    /// Claims the item, if it is there.
    fn claim_item(&self, turn: u64, is_alone: bool) -> bool {
        match self.capsule(turn).look(turn) {
            Look::Items { popped, left } => {
                self.capsule(turn).claim_items(popped, left, is_alone).is_ok()
            }
            _ => false,
        }
    }

    /// Pops the item, if it is there.
    fn pop(&self, turn: u64, is_alone: bool) {
        if self.claim_item(turn, is_alone) {
            self.read(turn);
            self.capsule(turn).mark_read(0);
        }
    }

    /// Begins a turn. If the slot is free, it is written.
    fn use_again(&self, turn: u64) {
        if self.capsule(turn).begin(turn) == Begun::Open {
            self.write(turn);
        }
    }

    fn capsule(&self, turn: u64) -> Capsule<'_> {
        self.capsules.of(turn)
    }

    fn write(&self, turn: u64) {
        // SAFETY: loom finds concurrent accesses.
        unsafe { self.capsules.cells().write(self.capsules.index(turn) as u64, 7) };
    }

    fn read(&self, turn: u64) {
        let position = self.capsules.index(turn) as u64;
        // SAFETY: as in `write`.
        assert_eq!(unsafe { self.capsules.cells().read(position) }, 7);
    }
}

impl Drop for Few {
    fn drop(&mut self) {
        // SAFETY: the array is not used any more, and its memory comes from `popped`.
        unsafe {
            self.capsules.finish();
            self.memory.iter().for_each(|(start, layout)| dealloc(start.as_ptr(), *layout));
        }
    }
}

/// A consumer is reading an item, while a producer comes to its slot in the next turn.
fn read_when_used_again() -> Exploration {
    explore(|| {
        let single = Few::popped();
        let other = single.clone();
        let read = move || {
            other.read(0);
            other.capsule(0).mark_read(0);
        };
        both(read, || single.use_again(1));
    })
}

/// A consumer is reading an item, a producer begins the next turn, and another one shares it.
fn shared_when_used_again() -> Exploration {
    explore(|| {
        let single = Few::popped();
        let [reader, first] = [single.clone(), single.clone()];
        let reader = start(move || {
            reader.read(0);
            reader.capsule(0).mark_read(0);
        });
        let first = start(move || _ = first.capsule(1).begin(1));
        let (claimed, filled) = single.capsule(0).claimed_and_filled();
        let is_free = turn_of(claimed) == 1 && !single.capsule(0).is_final(claimed);
        if is_free && filled == claimed && single.capsule(0).claim_slots(claimed, 1, false) {
            single.write(1);
        }
        join([reader, first]);
    })
}

/// A producer pushes an item, a consumer pops it, and a third thread finds that the capsule is over,
/// and uses it again. The third thread is a consumer, or a producer beside the only consumer.
fn over_for_another(is_alone: bool) -> Exploration {
    explore(move || {
        let single = Few::begun(1);
        let [producer, consumer] = [single.clone(), single.clone()];
        let producer = start(move || producer.push(0));
        let consumer = start(move || consumer.pop(0, is_alone));
        if single.capsule(0).look(0) == Look::Over {
            single.use_again(1);
        }
        join([producer, consumer]);
    })
}

/// One thread finishes a capsule, another one reserves it, and a third one uses it again.
fn used_again_by_a_third() -> Exploration {
    explore(|| {
        let single = Few::begun(1);
        let [first, second] = [single.clone(), single.clone()];
        let first = start(move || {
            first.push(0);
            first.pop(0, false);
            first.capsules.set(0, FINISHED);
        });
        let second = start(move || second.capsules.set(0, RESERVED));
        if single.capsules.is_done(0) {
            single.use_again(1);
        }
        join([first, second]);
    })
}

/// A thread that has closed all capsules, or has found them closed, knows that they are.
fn known_to_be_closed() -> Exploration {
    explore(|| {
        let single = Few::begun(1);
        let other = single.clone();
        both(
            move || other.capsules.close_before(1),
            || {
                single.capsules.close_before(1);
                assert_eq!(single.capsule(0).open(0), None);
            },
        );
    })
}

/// Two consumers find a capsule finished. One of them sets the flag, and the capsule is used again.
fn finished_by_two() -> Exploration {
    explore(|| {
        let single = Few::popped();
        single.read(0);
        single.capsule(0).mark_read(0);
        assert!(!single.capsule(0).set(0, RESERVED), "it is the first flag");
        let other = single.clone();
        let (theirs, mine) = both(
            move || other.capsule(0).set(0, FINISHED),
            || {
                let is_last = single.capsule(0).set(0, FINISHED);
                if is_last {
                    assert_eq!(single.capsule(0).begin(1), Begun::Open);
                }
                is_last
            },
        );
        assert!(theirs != mine, "one of them has finished it");
        assert!(theirs || single.capsule(0).popped.load(Relaxed) == word(1));
    })
}

/// Two consumers take items of a capsule that its producer is filling.
fn popped_while_filled<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(capsules(4, 4));
        let mut items = items::<T>(3).into_iter();
        push(&mut tx, items.next().expect("there are three"));
        let mut other = rx.another();
        let producer = start(move || {
            items.for_each(|item| push(&mut tx, item));
            (Vec::new(), Some(tx), None)
        });
        let consumer = start(move || (look(&mut other, 1), None, Some(other)));
        let mut numbers = look(&mut rx, 1);
        let [(_, _tx, _), (more, _, _other)] =
            join([producer, consumer]).try_into().expect("two threads");
        numbers.extend(more);
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, 3);
    })
}

/// A thread that learns that an item was popped, since its group was given back, sees an item that was
/// pushed before. Otherwise two calls would say empty, although the second item was inside.
fn known_to_be_popped() -> Exploration {
    explore(|| {
        let pair = Few::begun(2);
        pair.push(0);
        let other = pair.clone();
        let theirs = move || {
            other.push(1);
            other.pop(0, false);
            other.capsules.finish_group(0);
        };
        both(theirs, || {
            if pair.capsules.oldest() == 1 {
                assert!(matches!(pair.capsule(1).look(1), Look::Items { .. }));
            }
        });
    })
}
