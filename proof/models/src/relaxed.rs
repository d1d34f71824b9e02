//! Queues whose items may leave out of turn: models of what they promise nevertheless.

use corelane_loom::{BoxedConsumer, BoxedProducer, Config, Consumer, TryPopError, TryPushError};
use loom::sync::atomic::{AtomicBool, Ordering};

use crate::explore::{explore, explore_shared, tiny};
use crate::item::{Cargo, Number, Ticket};
use crate::queue::{Another, Shared, SharedSubject};
use crate::rings::{of_list, producer_comes};
use crate::shared::{
    all_are_there, are_equal, attempt, attempts, drain, false_empty, items, join, look,
    pop_to_the_end, push, start, take, two_consumers, two_consumers_and_one_item,
};
use crate::{Exploration, Model};

/// Two producers of `lldq` share nothing but what consumers read.
pub(crate) const LEFT_OUT_OF_LLDQ: &[&str] = &["filled_by_two"];

/// Of the nested queues, `cnq` alone has them: they take long because of capsules, and the other models
/// see the tubes.
pub(crate) const LEFT_OUT_OF_OTHER_TUBES: &[&str] =
    &["pushed_while_popped", "false_empty", "two_in_a_slot"];

/// Models that every relaxed queue has.
pub(crate) fn of_queue(subject: SharedSubject<Ticket, Number>) -> Vec<Model> {
    let SharedSubject { of, tickets, .. } = subject;
    let mut models = vec![
        of.model("pushed_while_popped", move || pushed_while_popped(tickets, tiny(2))),
        of.model("two_producers", move || two_producers(tickets)),
        of.model("false_empty", move || false_empty(tickets)),
        of.model("false_empty_between_two", move || {
            false_empty_between_two(tickets, tiny(2), |_| ())
        }),
        of.model("two_consumers", move || two_consumers(tickets, tiny(2))),
        of.model("two_consumers_and_one_item", move || two_consumers_and_one_item(tickets)),
        of.model("closed_while_popped", move || closed_while_popped(tickets)),
        of.model("dropped_while_pushed", move || dropped_while_pushed(tickets)),
    ];
    if of.info.bounded {
        models.extend([
            of.model("filled_by_two", move || filled_by_two(tickets)),
            of.model("filled_while_popped", move || filled_while_popped(tickets)),
            of.model("two_in_a_slot", move || two_in_a_slot(tickets)),
            of.model("false_full_behind_pops", move || false_full_behind_pops(tickets)),
            of.model("false_full_between_two", move || false_full_between_two(tickets)),
        ]);
    }
    match of.info.id {
        "usq" => {
            models.extend(of_list(of, tickets).into_iter().filter(|model| {
                // It would change a hazard more often than loom remembers.
                model.name != "late_counts"
            }));
            models.extend([
                of.model("producer_comes", move || producer_comes(tickets)),
                of.model("left_by_another", move || left_by_another(tickets)),
                of.model("helped_by_a_consumer", move || helped_by_a_consumer(tickets)),
            ]);
        }
        "bsq" => models.extend([
            of.model("head_moved_by_another", move || {
                let moves_head = |rx: &mut BoxedConsumer<Ticket>| _ = rx.is_empty();
                false_empty_between_two(tickets, tiny(2).relaxation(1), moves_head)
            }),
            of.model("tail_moved_by_another", move || tail_moved_by_another(tickets)),
        ]),
        _ => {}
    }
    models
}

/// Two items are pushed while a consumer looks for them.
fn pushed_while_popped<T: Cargo>(new: Shared<T>, config: Config) -> Exploration {
    explore(move || {
        let (mut tx, mut rx) = new(config);
        let items = items::<T>(2);
        let thread = start(move || items.into_iter().for_each(|item| push(&mut tx, item)));
        let mut numbers = look(&mut rx, 1);
        join([thread]);
        numbers.extend(drain(&mut rx));
        assert!(rx.relaxation() > 1 || numbers.is_sorted(), "{numbers:?}");
        all_are_there(numbers, 2);
        assert!(matches!(rx.try_pop(), Err(TryPopError::Closed)));
    })
}

/// Two threads push an item each, while the consumer looks for one.
fn two_producers<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (tx, mut rx) = new(tiny(2));
        let mut items = items::<T>(2).into_iter();
        let threads = [tx.another(), tx].map(|mut tx| {
            let item = items.next().expect("there are two");
            // The handles are dropped after the threads have ended: a drop has steps, too.
            start(move || {
                push(&mut tx, item);
                tx
            })
        });
        let mut numbers = look(&mut rx, 1);
        join(threads);
        numbers.extend(drain(&mut rx));
        all_are_there(numbers, 2);
    })
}

/// A producer pushes its last item and is dropped, while a consumer pops until the queue is closed.
fn closed_while_popped<T: Cargo>(new: Shared<T>) -> Exploration {
    explore(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let item = items::<T>(1).remove(0);
        let thread = start(move || push(&mut tx, item));
        assert_eq!(pop_to_the_end(&mut rx), [0]);
        join([thread]);
    })
}

/// The consumer is dropped while a producer pushes. Items that are left are dropped once.
fn dropped_while_pushed<T: Cargo>(new: Shared<T>) -> Exploration {
    explore(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut items = items::<T>(2).into_iter();
        push(&mut tx, items.next().expect("one"));
        let last = items.next().expect("another");
        let thread = start(move || {
            assert!(!matches!(tx.try_push(last), Err(TryPushError::Full(_))), "there is room");
        });
        look(&mut rx, 1);
        drop(rx);
        join([thread]);
    })
}

/// There are two items. One consumer pops one of them after both were pushed. The other consumer
/// starts after the first push. There is always an item, so no pop says empty.
fn false_empty_between_two<T: Cargo>(
    new: Shared<T>,
    config: Config,
    after: fn(&mut BoxedConsumer<T>),
) -> Exploration {
    explore_shared(move || {
        let (mut tx, rx) = new(config);
        let mut items = items::<T>(2).into_iter();
        push(&mut tx, items.next().expect("one"));
        let all = loom::sync::Arc::new(AtomicBool::new(false));
        let (mut one, mut other) = (rx.another(), rx.another());
        let hear = all.clone();
        let threads = [
            // The handles are dropped after the threads have ended: a drop has steps, too.
            start(move || {
                if hear.load(Ordering::Acquire) && finds_one(&mut one) {
                    after(&mut one);
                }
                one
            }),
            start(move || {
                finds_one(&mut other);
                other
            }),
        ];
        push(&mut tx, items.next().expect("another"));
        all.store(true, Ordering::Release);
        join(threads);
    })
}

/// Pops, while there is always an item. Returns whether the queue wasn't busy.
fn finds_one<T: Cargo>(rx: &mut BoxedConsumer<T>) -> bool {
    let popped = rx.try_pop().map(|_| ());
    assert!(matches!(popped, Ok(()) | Err(TryPopError::Busy)), "an item is there");
    popped.is_ok()
}

/// A producer fills a segment and moves the tail on. Another one pushes into the next segment, and
/// then the first item is popped. There is always an item.
fn tail_moved_by_another<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(4).relaxation(2));
        let mut items = items::<T>(3).into_iter();
        push(&mut tx, items.next().expect("one"));
        let (second, third) = (items.next().expect("two"), items.next().expect("three"));
        let (mut other_tx, mut other_rx) = (tx.another(), rx.another());
        let threads = [
            // The handles are dropped after the threads have ended: a drop has steps, too.
            start(move || {
                push(&mut tx, second);
                tx.is_full();
                (tx, None)
            }),
            start(move || {
                push(&mut other_tx, third);
                finds_one(&mut other_rx);
                (other_tx, Some(other_rx))
            }),
        ];
        finds_one(&mut rx);
        join(threads);
    })
}

/// All items of the first segment are taken. Another thread appends a segment and leaves the first
/// one, while a consumer looks for an item. The consumer learns of the new segment only from
/// `head`.
fn left_by_another<T: Cargo>(new: Shared<T>) -> Exploration {
    explore(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let mut items = items::<T>(2).into_iter();
        push(&mut tx, items.next().expect("there are two"));
        let mut other = rx.another();
        assert_eq!(look(&mut rx, 1), [0]);
        let thread = start(move || {
            items.for_each(|item| push(&mut tx, item));
            // The handles are dropped after the threads have ended: a drop has steps, too.
            (look(&mut other, 1), other, tx)
        });
        let mut numbers = look(&mut rx, 1);
        let (more, _other, _tx) = join([thread]).remove(0);
        numbers.extend(more);
        numbers.extend(drain(&mut rx));
        assert_eq!(numbers, [1]);
    })
}

/// All items of the first segment are taken, and a producer appends a segment. A consumer moves
/// `tail` there, and another producer learns of the segment only from `tail`.
fn helped_by_a_consumer<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let mut items = items::<T>(3).into_iter();
        push(&mut tx, items.next().expect("there are three"));
        assert_eq!(look(&mut rx, 1), [0]);
        let (second, third) = (items.next().expect("two"), items.next().expect("three"));
        let mut other_tx = tx.another();
        let producer = start(move || {
            push(&mut other_tx, second);
            // The handles are dropped after the threads have ended: a drop has steps, too.
            (Vec::new(), None, Some(other_tx))
        });
        let consumer = start(move || (look(&mut rx, 1), Some(rx), None));
        push(&mut tx, third);
        let [(_, _, _tx), (mut numbers, rx, _)] =
            join([producer, consumer]).try_into().expect("two threads");
        numbers.extend(drain(&mut rx.expect("the consumer's")));
        are_equal(numbers, vec![1, 2]);
    })
}

/// Two threads push as many items as fit, and none of them is told that the queue is full.
fn filled_by_two<T: Cargo>(new: Shared<T>) -> Exploration {
    explore_shared(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut mine = items::<T>(tx.capacity() as u64);
        let theirs = mine.split_off(mine.len() / 2);
        let mut other = tx.another();
        let fill = |tx: &mut BoxedProducer<T>, items: Vec<T>| {
            for mut item in items {
                while let Err(error) = tx.try_push(item) {
                    assert!(!matches!(error, TryPushError::Full(_)), "there is room");
                    item = error.into_inner();
                    loom::hint::spin_loop();
                }
            }
        };
        let thread = start(move || fill(&mut other, theirs));
        fill(&mut tx, mine);
        join([thread]);
        let n = tx.capacity() as u64;
        all_are_there(drain(&mut rx), n);
    })
}

/// The queue is full. A producer goes on to push while a consumer pops, over the end of the lap.
fn filled_while_popped<T: Cargo>(new: Shared<T>) -> Exploration {
    explore(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let slots = tx.slots();
        let mut items = items::<T>(slots as u64 + 1).into_iter();
        let mut pushed = attempts(&mut tx, items.by_ref().take(slots));
        assert!(pushed.len() >= tx.capacity());
        let mut popped = look(&mut rx, pushed.len() - 1);
        let thread = start(move || attempts(&mut tx, items));
        popped.extend(look(&mut rx, 1));
        pushed.extend(join([thread]).concat());
        popped.extend(drain(&mut rx));
        are_equal(popped, pushed);
    })
}

/// One slot. Two threads push and pop an item each, and may be a lap behind each other.
pub(crate) fn two_in_a_slot<T: Cargo>(new: Shared<T>) -> Exploration {
    explore(move || {
        let (mut tx, mut rx) = new(tiny(1));
        let (mut other_tx, mut other_rx) = (tx.another(), rx.another());
        let mut items = items::<T>(2).into_iter();
        let (first, second) = (items.next().expect("one"), items.next().expect("another"));
        let thread = start(move || {
            let is_in = attempt(&mut other_tx, first);
            // The handles are dropped after the threads have ended: a drop has steps, too.
            (is_in, look(&mut other_rx, 1), other_tx, other_rx)
        });
        let is_in = attempt(&mut tx, second);
        let mut popped = look(&mut rx, 1);
        let (is_first, more, _other_tx, _other_rx) = join([thread]).remove(0);
        popped.extend(more);
        popped.extend(drain(&mut rx));
        let pushed = [(0, is_first), (1, is_in)].into_iter().filter(|(_, is_in)| *is_in);
        are_equal(popped, pushed.map(|(number, _)| number).collect());
    })
}

/// The queue has one item less than fit. One thread pops an item and pushes another. So there is
/// always room for one more.
fn false_full_between_two<T: Cargo>(new: Shared<T>) -> Exploration {
    explore(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut items = items::<T>(tx.capacity() as u64 + 1);
        let [one, other] = [(); 2].map(|()| items.pop().expect("there are some"));
        let mut pushed = attempts(&mut tx, items.into_iter());
        // With the random numbers of these handles, both threads come to all sub-queues.
        let mut other_tx = tx.another().another();
        let mut tx = tx.another();
        let thread = start(move || {
            let popped = look(&mut rx, 1);
            // The handles are dropped after the threads have ended: a drop has steps, too.
            let pushed = if popped.is_empty() {
                vec![]
            } else {
                attempts(&mut other_tx, [other].into_iter())
            };
            (popped, pushed, rx, other_tx)
        });
        let number = one.number();
        match tx.try_push(one) {
            Ok(()) => pushed.push(number),
            Err(error) => assert!(matches!(error, TryPushError::Busy(_)), "there is room"),
        }
        let (mut popped, more, mut rx, _other_tx) = join([thread]).remove(0);
        pushed.extend(more);
        popped.extend(drain(&mut rx));
        are_equal(popped, pushed);
    })
}

/// The queue has two items. Two threads pop one each. A producer that knows that both have left is
/// not told that the queue is full.
fn false_full_behind_pops<T: Cargo>(new: Shared<T>) -> Exploration {
    explore(move || {
        let (mut tx, mut rx) = new(tiny(2));
        let mut items = items::<T>(tx.slots() as u64 + 1);
        let last = items.pop().expect("there are some");
        let mut pushed = attempts(&mut tx, items.into_iter());
        let mut popped = look(&mut rx, pushed.len() - 2);
        let told = loom::sync::Arc::new(AtomicBool::new(false));
        let (tell, mut other) = (told.clone(), rx.another());
        let thread = start(move || {
            let number = take(&mut other);
            tell.store(true, Ordering::Release);
            (number, other)
        });
        popped.push(take(&mut rx));
        let is_gone = told.load(Ordering::Acquire);
        let more = attempts(&mut tx, [last].into_iter());
        assert!(!is_gone || more.len() == 1, "the queue is empty");
        pushed.extend(more);
        popped.extend(join([thread]).into_iter().map(|(number, _other)| number));
        popped.extend(drain(&mut rx));
        are_equal(popped, pushed);
    })
}
