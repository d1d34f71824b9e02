//! Channels that are bounded by the weight of their messages.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use corelane_loom::channel::weighed;
use corelane_loom::leased::Leased;
use corelane_loom::memory::{AtomicU64, Ordering};

use crate::channel::{Woken, beside_a_task};
use crate::explore::{both, explore};
use crate::item::{Number, Ticket};
use crate::queue::SharedSubject;
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let SharedSubject::<Ticket, Number> { of, .. } = SharedSubject::new::<Leased>();
    vec![
        of.model("weighed_waits_for_all_its_room", waits_for_all_its_room),
        of.model("weighed_waits_for_the_end", waits_for_the_end),
        of.model("weighed_turn_is_given_up", turn_is_given_up),
        of.model("weighed_room_is_never_too_much", room_is_never_too_much),
    ]
}

/// A task waits for the room of two messages, which comes back in two steps.
fn waits_for_all_its_room() -> Exploration {
    explore(|| {
        let (tx, rx) = weighed(2, |weight: &usize| *weight);
        let messages = [1, 1].map(|weight| {
            tx.send(weight).expect("there is room");
            rx.recv().expect("it was sent")
        });
        let give_back = move || drop(messages);
        let ((), sent) = beside_a_task(give_back, Box::pin(tx.send_async(2)));
        assert_eq!((sent, tx.weight(), rx.len()), (Ok(()), 2, 1));
    })
}

/// A task that waits for room learns that the receiver is gone, although no room comes back.
fn waits_for_the_end() -> Exploration {
    explore(|| {
        let (tx, rx) = weighed(1, |weight: &usize| *weight);
        tx.send(1).expect("there is room");
        let message = rx.recv().expect("it was sent");
        let ((), sent) = beside_a_task(move || drop(rx), Box::pin(tx.send_async(1)));
        assert!(sent.is_err());
        drop(message);
    })
}

fn poll<F: Future>(future: &mut Pin<Box<F>>, waker: &Waker) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(waker))
}

/// A task that waits for its turn gets it, and the room, if the task before gives up.
fn turn_is_given_up() -> Exploration {
    explore(|| {
        let (tx, rx) = weighed(1, |weight: &usize| *weight);
        tx.send(1).expect("there is room");
        let message = rx.recv().expect("it was sent");
        let woken = Arc::new(Woken(AtomicU64::new(0)));
        let waker = Waker::from(woken.clone());
        let [mut first, mut second] = [1, 1].map(|weight| Box::pin(tx.send_async(weight)));
        assert!(poll(&mut first, Waker::noop()).is_pending());
        assert!(poll(&mut second, &waker).is_pending());
        both(move || drop(message), || drop(first));
        assert_eq!(woken.0.load(Ordering::Acquire), 1, "it sleeps, and nothing wakes it");
        assert_eq!(poll(&mut second, &waker), Poll::Ready(Ok(())));
        drop(second);
    })
}

/// Room comes back while a sender takes some: the weights are never more than the limit.
fn room_is_never_too_much() -> Exploration {
    explore(|| {
        let (tx, rx) = weighed(2, |weight: &usize| *weight);
        tx.send(1).expect("there is room");
        let message = rx.recv().expect("it was sent");
        let ((), sent) = both(move || drop(message), || [tx.try_send(2), tx.try_send(1)]);
        assert_eq!(tx.weight(), if sent[0].is_ok() { 2 } else { 1 });
        assert!(sent[0].is_err() || sent[1].is_err());
    })
}
