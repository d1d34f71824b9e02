//! A channel that drops its oldest message.
//!
//! All threads of loom share one end of a shared handle, and the senders of this channel have no
//! other handles: so one thread sends, beside a receiver with an end of its own. Several senders
//! have histories.

use corelane_loom::channel::{latest, spsc};
use corelane_loom::leased::Leased;

use crate::explore::{both, explore};
use crate::item::{Cargo, Number, Ticket};
use crate::queue::SharedSubject;
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let SharedSubject::<Ticket, Number> { of, .. } = SharedSubject::new::<Leased>();
    vec![
        of.model("latest_drops_messages", || drops_messages(1, 2)),
        of.model("latest_drops_none_if_there_is_room", || drops_messages(2, 1)),
        of.model("latest_ends_while_it_is_full", ends_while_it_is_full),
        of.model("latest_closed_while_it_is_full", closed_while_it_is_full),
    ]
}

/// In boxes: loom's threads have small stacks.
type Ends = (Box<latest::Sender<Ticket>>, Box<spsc::Receiver<Ticket>>);

/// A channel that is full.
#[inline(never)]
fn full(capacity: u64) -> Ends {
    let (tx, rx) = latest(capacity as usize);
    let rx = Box::new(rx.local());
    (0..capacity).for_each(|number| send(&tx, number));
    (Box::new(tx), rx)
}

fn send(tx: &latest::Sender<Ticket>, number: u64) {
    assert!(tx.send(Ticket::of(number)).is_ok(), "the receiver is there");
}

fn received(rx: &spsc::Receiver<Ticket>) -> impl Iterator<Item = u64> {
    rx.try_iter().map(|message| message.number())
}

/// Messages are in order, the newest `capacity` of `sent` are there, and those before are received
/// or counted. So a message is dropped only for one that needs its room.
pub(crate) fn check(numbers: &[u64], dropped: u64, sent: u64, capacity: u64) {
    assert!(numbers.is_sorted_by(|a, b| a < b), "in order, and once: {numbers:?}");
    assert!((sent - capacity..sent).all(|newest| numbers.contains(&newest)), "{numbers:?}");
    assert_eq!(numbers.len() as u64 + dropped, sent, "{numbers:?}, and {dropped} dropped");
}

/// Messages are sent into a full channel while the receiver takes one.
fn drops_messages(capacity: u64, more: u64) -> Exploration {
    explore(move || {
        let (tx, rx) = full(capacity);
        let sent = capacity + more;
        let send_all = move || {
            (capacity..sent).for_each(|number| send(&tx, number));
            tx
        };
        let (tx, first) = both(send_all, || rx.try_recv().ok().map(|message| message.number()));
        let numbers: Vec<_> = first.into_iter().chain(received(&rx)).collect();
        check(&numbers, tx.dropped(), sent, capacity);
        drop((tx, rx));
    })
}

/// The sender goes after it has dropped a message, while the receiver waits for one.
fn ends_while_it_is_full() -> Exploration {
    explore(|| {
        let (tx, rx) = full(1);
        let end = move || {
            send(&tx, 1);
            drop(tx);
        };
        let ((), first) = both(end, || rx.recv().ok().map(|message| message.number()));
        let numbers: Vec<_> = first.into_iter().chain(received(&rx)).collect();
        check(&numbers, rx.dropped(), 2, 1);
        assert!(rx.recv().is_err(), "the sender is gone");
    })
}

/// The receiver closes the channel while a message is sent, which is then received, or comes back.
fn closed_while_it_is_full() -> Exploration {
    explore(|| {
        let (tx, rx) = full(1);
        let send = move || {
            let back = tx.send(Ticket::of(1)).err().map(|error| error.0.number());
            (tx, back)
        };
        let ((tx, back), ()) = both(send, || rx.close());
        let numbers: Vec<_> = received(&rx).chain(back).collect();
        assert_eq!(numbers.last(), Some(&1));
        assert_eq!(numbers.len() as u64 + tx.dropped(), 2, "{numbers:?}");
        drop((tx, rx));
    })
}
