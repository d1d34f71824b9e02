//! Watched values and broadcasts, in threads and in tasks.

use std::sync::Arc;

use corelane_loom::channel::task::broadcast::error::{RecvError, TryRecvError};
use corelane_loom::channel::task::{broadcast, watch};
use corelane_loom::leased::Leased;
use corelane_loom::memory::{AtomicU64, Ordering};

use loom::hint::spin_loop;

use crate::channel::beside_a_task;
use crate::explore::{both, explore};
use crate::item::{Cargo, Ledger, Number, Ticket};
use crate::queue::SharedSubject;
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let SharedSubject::<Ticket, Number> { of, .. } = SharedSubject::new::<Leased>();
    vec![
        of.model("watch_wait_for_a_change", watch_wait_for_a_change),
        of.model("watch_task_waits_for_a_change", watch_task_waits_for_a_change),
        of.model("watch_wait_for_a_value", watch_wait_for_a_value),
        of.model("watch_shows_what_came_before", watch_shows_what_came_before),
        of.model("watch_last_sender_goes", watch_last_sender_goes),
        of.model("watch_ends", watch_ends),
        of.model("watch_has_ended", watch_has_ended),
        of.model("watch_last_receiver_goes", watch_last_receiver_goes),
        of.model("broadcast_wait_for_a_value", broadcast_wait_for_a_value),
        of.model("broadcast_task_waits_for_a_value", broadcast_task_waits_for_a_value),
        of.model("broadcast_two_receive", broadcast_two_receive),
        of.model("broadcast_room_is_used_again", broadcast_room_is_used_again),
        of.model("broadcast_overwritten_while_received", broadcast_overwritten_while_received),
        of.model("broadcast_laps_come_again", broadcast_laps_come_again),
        of.model("broadcast_ends", broadcast_ends),
        of.model("broadcast_has_ended", broadcast_has_ended),
        of.model("broadcast_tells_its_end", broadcast_tells_its_end),
        of.model("broadcast_last_receiver_goes", broadcast_last_receiver_goes),
        of.model("broadcast_subscribed_while_sent", broadcast_subscribed_while_sent),
    ]
}

/// A note that one thread writes before it does something that the other thread observes.
fn note() -> (impl FnOnce(), impl Fn() -> bool) {
    let noted = Arc::new(AtomicU64::new(0));
    let noting = noted.clone();
    (move || noting.store(1, Ordering::Relaxed), move || noted.load(Ordering::Relaxed) == 1)
}

/// The receiver announces itself while the sender sends.
fn watch_wait_for_a_change() -> Exploration {
    explore(|| {
        let (tx, mut rx) = watch::channel(0_u64);
        let send = move || {
            tx.send(1).expect("the receiver is there");
            tx
        };
        let (tx, changed) = both(send, || rx.blocking_changed());
        assert!(changed.is_ok() && *rx.borrow() == 1 && rx.has_changed() == Ok(false));
        drop(tx);
    })
}

fn watch_task_waits_for_a_change() -> Exploration {
    explore(|| {
        let (tx, mut rx) = watch::channel(0_u64);
        let send = move || {
            tx.send(1).expect("the receiver is there");
            tx
        };
        let (tx, changed) = beside_a_task(send, rx.changed());
        assert!(changed.is_ok() && *rx.borrow() == 1);
        drop(tx);
    })
}

/// A receiver that is woken for a value that it doesn't want sleeps again.
fn watch_wait_for_a_value() -> Exploration {
    explore(|| {
        let (tx, mut rx) = watch::channel(0_u64);
        let send = move || (1..=2).try_for_each(|value| tx.send(value)).map(|()| tx);
        let (tx, found) =
            both(send, || rx.blocking_wait_for(|value| *value == 2).map(|found| *found));
        assert_eq!(found, Ok(2));
        drop(tx);
    })
}

/// What a sender has done before it sends is visible to a receiver that has not looked at the value.
fn watch_shows_what_came_before() -> Exploration {
    explore(|| {
        let (tx, mut rx) = watch::channel(0_u64);
        let (note, is_noted) = note();
        let send = move || {
            note();
            tx.send(1).expect("the receiver is there");
            tx
        };
        let look = || {
            while rx.has_changed() == Ok(false) {
                spin_loop();
            }
            let is_noted_now = is_noted();
            (rx.blocking_changed().is_ok(), is_noted_now)
        };
        let (tx, found) = both(send, look);
        assert_eq!(found, (true, true));
        drop(tx);
    })
}

/// Whichever sender goes last, the receiver first gets the last value.
fn watch_last_sender_goes() -> Exploration {
    explore(|| {
        let (tx, mut rx) = watch::channel(0_u64);
        let other = tx.clone();
        let send = move || other.send(1).expect("the receiver is there");
        let look = || {
            drop(tx);
            let changed = rx.blocking_changed().is_ok();
            let value = *rx.borrow();
            (changed, value, rx.blocking_changed().is_err())
        };
        assert_eq!(both(send, look).1, (true, 1, true));
    })
}

/// What senders have done before they go is visible to a receiver that is told so, by any call.
fn watch_ends() -> Exploration {
    explore(|| {
        let (tx, mut rx) = watch::channel(0_u64);
        let (note, is_noted) = note();
        let end = move || {
            note();
            drop(tx);
        };
        let ((), ended) = both(end, || rx.blocking_wait_for(|_| false).is_err() && is_noted());
        assert!(ended);
    })
}

/// As [`watch_ends`], of the sender that goes before the last one, or is the last one.
fn watch_has_ended() -> Exploration {
    explore(|| {
        let (tx, mut rx) = watch::channel(0_u64);
        let other = tx.clone();
        let (note, is_noted) = note();
        let end = move || {
            note();
            drop(other);
        };
        let look = || {
            drop(tx);
            rx.blocking_changed().is_err() && is_noted()
        };
        assert!(both(end, look).1);
    })
}

fn watch_last_receiver_goes() -> Exploration {
    explore(|| {
        let (tx, rx) = watch::channel(0_u64);
        beside_a_task(move || drop(rx), tx.closed());
        assert!(tx.send(1).is_err());
    })
}

/// A value that can be told from its clones.
struct Value(Option<Ticket>);

impl Value {
    fn of(number: u64) -> Self {
        Self(Some(Ticket::of(number)))
    }

    fn is_original(&self) -> bool {
        self.0.is_some()
    }
}

impl Clone for Value {
    fn clone(&self) -> Self {
        assert_eq!(self.0.as_ref().map(Ticket::number), Some(0), "it is the first value");
        Self(None)
    }
}

/// The receiver announces itself while the sender sends. The only receiver takes the value.
fn broadcast_wait_for_a_value() -> Exploration {
    explore(|| {
        let ledger = Ledger::open();
        let (tx, mut rx) = broadcast::channel(1);
        let send = move || {
            assert_eq!(tx.send(Value::of(0)).ok(), Some(1));
            tx
        };
        let (tx, received) = both(send, || rx.blocking_recv());
        assert!(received.is_ok_and(|value| value.is_original()));
        drop(tx);
        ledger.close();
    })
}

fn broadcast_task_waits_for_a_value() -> Exploration {
    explore(|| {
        let (tx, mut rx) = broadcast::channel(1);
        let send = move || {
            tx.send(1_u64).expect("the receiver is there");
            tx
        };
        let (tx, received) = beside_a_task(send, rx.recv());
        assert_eq!(received, Ok(1));
        drop(tx);
    })
}

/// Of two that receive at the same time one gets a clone, and the last one the value.
fn broadcast_two_receive() -> Exploration {
    explore(|| {
        let ledger = Ledger::open();
        let (tx, mut rx) = broadcast::channel(1);
        let mut other = tx.subscribe();
        assert_eq!(tx.send(Value::of(0)).ok(), Some(2));
        let of = |received: Result<Value, _>| received.map(|value| value.is_original());
        let (there, here) = both(move || of(other.try_recv()), || of(rx.try_recv()));
        assert!(matches!((there, here), (Ok(true), Ok(false)) | (Ok(false), Ok(true))));
        assert!(tx.is_empty());
        ledger.close();
    })
}

/// The sender uses the slot of a value that is being received.
fn broadcast_room_is_used_again() -> Exploration {
    explore(|| {
        let ledger = Ledger::open();
        let (tx, mut rx) = broadcast::channel(1);
        assert_eq!(tx.send(Value::of(0)).ok(), Some(1));
        let send = move || {
            assert_eq!(tx.send(Value::of(1)).ok(), Some(1));
            tx
        };
        let (tx, received) = both(send, || rx.try_recv());
        match received {
            Ok(value) => assert_eq!(value.0.map(|ticket| ticket.number()), Some(0)),
            Err(error) => assert_eq!(error, TryRecvError::Lagged(1)),
        }
        assert_eq!(rx.try_recv().ok().and_then(|it| it.0).map(|it| it.number()), Some(1));
        drop((tx, rx));
        ledger.close();
    })
}

/// The sender overwrites a value that is being cloned, and that another receiver never gets.
fn broadcast_overwritten_while_received() -> Exploration {
    explore(|| {
        let ledger = Ledger::open();
        let (tx, mut rx) = broadcast::channel(1);
        let mut slow = tx.subscribe();
        assert_eq!(tx.send(Value::of(0)).ok(), Some(2));
        let send = move || {
            assert_eq!(tx.send(Value::of(1)).ok(), Some(2));
            tx
        };
        let (tx, received) = both(send, || rx.try_recv());
        match received {
            Ok(value) => assert!(!value.is_original()),
            Err(error) => assert_eq!(error, TryRecvError::Lagged(1)),
        }
        assert_eq!(slow.try_recv().err(), Some(TryRecvError::Lagged(1)));
        drop((tx, rx, slow));
        ledger.close();
    })
}

/// A receiver that is so far behind that its slot shows the same lap again, beside one that is not.
fn broadcast_laps_come_again() -> Exploration {
    explore(|| {
        let (tx, mut rx) = broadcast::channel(1);
        (0..4).for_each(|value| assert_eq!(tx.send(value), Ok(1)));
        let mut other = tx.subscribe();
        assert_eq!(tx.send(4_u64), Ok(2));
        let (received, lagged) = both(move || other.try_recv(), || rx.try_recv());
        assert_eq!((received, lagged), (Ok(4), Err(TryRecvError::Lagged(4))));
        assert_eq!(rx.try_recv(), Ok(4));
        assert!(tx.is_empty());
    })
}

/// The sender sends and goes: the receiver gets the value first. What the sender did is visible.
fn broadcast_ends() -> Exploration {
    explore(|| {
        let (tx, mut rx) = broadcast::channel(2);
        let (note, is_noted) = note();
        let end = move || {
            tx.send(1_u64).expect("the receiver is there");
            note();
        };
        let ((), received) = both(end, || {
            let received = [rx.try_recv(), rx.try_recv()];
            assert!(!received.contains(&Err(TryRecvError::Closed)) || is_noted());
            received
        });
        let [first, second] = received;
        assert_ne!(first, Err(TryRecvError::Closed), "the value comes before");
        assert!(first == Ok(1) || second != Err(TryRecvError::Closed));
    })
}

/// The receiver sleeps when the sender goes, or has been told before.
fn broadcast_has_ended() -> Exploration {
    explore(|| {
        let (tx, mut rx) = broadcast::channel::<u64>(1);
        let (note, is_noted) = note();
        let end = move || {
            note();
            drop(tx);
        };
        let ((), received) = both(end, || {
            let received = rx.blocking_recv();
            assert!(is_noted());
            received
        });
        assert_eq!(received, Err(RecvError::Closed));
        assert!(rx.is_closed());
    })
}

fn broadcast_tells_its_end() -> Exploration {
    explore(|| {
        let (tx, rx) = broadcast::channel::<u64>(1);
        let (note, is_noted) = note();
        let end = move || {
            note();
            drop(tx);
        };
        let look = || {
            while !rx.is_closed() {
                spin_loop();
            }
            is_noted()
        };
        assert!(both(end, look).1);
    })
}

/// The last receiver goes while a sender sends: its value is dropped, whether it is sent or not.
fn broadcast_last_receiver_goes() -> Exploration {
    explore(|| {
        let ledger = Ledger::open();
        let (tx, rx) = broadcast::channel(1);
        let other = tx.clone();
        let leave = move || {
            drop(other.send(Value::of(0)));
            drop(rx);
        };
        beside_a_task(leave, tx.closed());
        assert!(tx.is_empty() && tx.send(Value::of(1)).is_err());
        ledger.close();
    })
}

/// A new receiver gets the value if the send has counted it.
fn broadcast_subscribed_while_sent() -> Exploration {
    explore(|| {
        let ledger = Ledger::open();
        let (tx, rx) = broadcast::channel(1);
        let other = tx.clone();
        let send = move || other.send(Value::of(0)).ok();
        let (counted, mut new) = both(send, || tx.subscribe());
        assert_eq!(new.try_recv().is_ok(), counted == Some(2));
        drop(rx);
        assert!(tx.is_empty());
        ledger.close();
    })
}
