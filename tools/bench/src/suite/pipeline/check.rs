//! Checks of the links between stages.

use std::sync::Arc;

use corelane::{Consumer, Producer, TryPopError};

use super::links::{Maker, link};
use crate::queues;

fn maker_of(id: &str) -> Maker {
    let queue = queues::all().iter().find(|queue| queue.entry.info.id == id);
    queue.and_then(|queue| queue.kernel.boxes).expect("it carries boxes")
}

/// For a test of the catalogue: a box arrives or is freed, in each bounded queue.
pub fn boxes_arrive_or_are_freed() {
    let pushed = Arc::new(());
    for queue in queues::all().iter().filter(|queue| queue.entry.info.bounded) {
        let Some(maker) = queue.kernel.boxes else { continue };
        let (mut tx, mut rx) = link::<Arc<()>>(maker, 16).expect("it is possible");
        (0..8).for_each(|_| drop(tx.try_push(Box::new(Arc::clone(&pushed)))));
        tx.flush();
        assert!(rx.try_pop().is_ok(), "{}", queue.entry.info.id);
        drop(rx);
        assert!(tx.is_closed());
        _ = tx.try_push(Box::new(Arc::clone(&pushed)));
        drop(tx);
        assert_eq!(Arc::strong_count(&pushed), 1, "{}", queue.entry.info.id);
    }
}

/// For a test of the catalogue: a receiver gets all items before it sees the end.
pub fn a_receiver_gets_all_before_the_end() {
    let (mut tx, mut rx) = link(maker_of("rtrb"), 16).expect("it is possible");
    tx.try_push(Box::new(7)).expect("there is room");
    assert!(!rx.is_closed());
    drop(tx);
    assert_eq!(rx.try_pop(), Ok(Box::new(7)));
    assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
}
