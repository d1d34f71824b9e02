//! Full, empty and closed, alone and while the other side works.

use corelane::{
    Config, Consumer, Producer, SingleConsumer, SingleProducer, TryPopError, TryPushError,
};

use crate::{Checked, Item, Single};
use corelane_harness::threads::{Cores, Patience, both, scaled};

/// A consumer gets all items, then `Closed` from every call that pops.
pub fn closed_after_the_last_item<T: Item + Copy>(subject: &Single<T>) {
    for n in 0..12 {
        let mut queue = Checked::open(subject, Config::new(12));
        queue.turn(5);
        for _ in 0..n {
            queue.push();
        }
        let Checked { tx, mut rx, .. } = queue;
        assert!(!rx.is_closed());
        drop(tx);
        assert!(rx.is_closed());
        assert_eq!(rx.len(), n);
        for number in 5..5 + n as u64 {
            assert!(rx.try_pop().is_ok_and(|item| item.is(number)));
        }
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
        assert_eq!(rx.read_chunk(1).err(), Some(TryPopError::Closed));
        assert_eq!(rx.read_chunk(0).map(|chunk| chunk.len()), Ok(0));
        assert_eq!(rx.pop_slice(&mut [T::of(0)]), 0);
        assert_eq!(rx.pop_iter().count(), 0);
        assert!(rx.is_empty());
    }
}

/// Items that have not been flushed when the producer is dropped arrive nevertheless.
pub fn dropping_the_producer_flushes<T: Item + Copy>(subject: &Single<T>) {
    for n in 0..20 {
        let (mut tx, mut rx) = subject.open(Config::new(1000));
        match n % 3 {
            0 => assert!((0..n).map(Item::of).all(|item| tx.try_push(item).is_ok())),
            1 => assert_eq!(tx.push_iter((0..n).map(Item::of)) as u64, n),
            _ => {
                let items: Vec<_> = (0..n).map(Item::of).collect();
                assert_eq!(tx.push_slice(&items) as u64, n);
            }
        }
        drop(tx);
        assert!(rx.pop_iter().zip(0..n).all(|(item, n): (T, _)| item.is(n)));
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Closed));
    }
}

/// Without a consumer, pushes succeed while there is room, then return the item with `Closed`.
pub fn closed_when_full<T: Item + Copy>(subject: &Single<T>) {
    let mut queue = Checked::open(subject, Config::new(6));
    queue.turn(3);
    let Checked { mut tx, rx, .. } = queue;
    // An unbounded queue allocates no more memory for items that no consumer will pop.
    let certain = if subject.info.bounded { tx.capacity() } else { 0 };
    assert!(!tx.is_closed());
    drop(rx);
    assert!(tx.is_closed());
    let taken = (0..).take_while(|_| tx.try_push(Item::of(9)).is_ok()).count();
    assert!(certain <= taken && taken <= tx.slots());
    match tx.try_push(Item::of(10)) {
        Err(error @ TryPushError::Closed(_)) => {
            assert_eq!(error.to_string(), "the consumer is gone");
            assert!(T::is(&error.into_inner(), 10));
        }
        other => panic!("{other:?} instead of closed"),
    }
    assert!(matches!(tx.write_chunk_uninit(1), Err(TryPushError::Closed(()))));
    assert!(tx.write_chunk_uninit(0).is_ok_and(|chunk| chunk.is_empty()));
    assert_eq!(tx.push_slice(&[Item::of(1)]), 0);
    assert_eq!(tx.push_iter([Item::of(1)]), 0);
}

/// A consumer pops while the producer pushes its last items and is dropped. It gets all items
/// before it is told closed (row `disconnect_before_data`).
pub fn disconnect_before_data<T: Item + Copy>(subject: &Single<T>) {
    for round in 0..scaled(500) {
        let (mut tx, mut rx) = subject.open(Config::new(32));
        let n = round % 20;
        let send = move || {
            for number in 0..n {
                assert!(tx.try_push(Item::of(number)).is_ok());
            }
        };
        let by_chunks = round % 2 == 0;
        let pop = move || -> Result<T, TryPopError> {
            match by_chunks {
                true => rx.read_chunk(1).map(|chunk| chunk.into_iter().next().expect("an item")),
                false => rx.try_pop(),
            }
        };
        let ((), popped) = both(Cores::Two, send, move || count_until_closed(pop));
        assert_eq!(popped, n, "closed before the last item");
    }
}

/// Pops with `pop` until it says closed. Returns the number of items, which must be in order.
fn count_until_closed<T: Item>(mut pop: impl FnMut() -> Result<T, TryPopError>) -> u64 {
    let (mut popped, mut patience) = (0, Patience::default());
    loop {
        match pop() {
            Ok(item) => {
                assert!(item.is(popped));
                (popped, patience) = (popped + 1, Patience::default());
            }
            Err(TryPopError::Closed) => return popped,
            Err(_) => patience.wait(),
        }
    }
}
