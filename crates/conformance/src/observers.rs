//! `len`, `available`, `free_slots`, `is_empty`, `is_full`.

use corelane::{Config, Consumer, Producer};

use crate::threads::{Cores, Patience, both, scaled};
use crate::{Item, Subject, channel, numbers};

/// All that can be observed is right at every fill level and every offset, also across wraps of the
/// counters (row `observer_lies`).
pub fn observer_lies<Q: Subject>() {
    for (capacity, first) in [(1, 0), (5, 0), (8, u64::MAX - 9), (30, u64::MAX - 33)] {
        let mut queue = numbers::<Q>(Config::new(capacity).first(first));
        for _ in 0..queue.capacity() + 2 {
            queue.observe();
            while queue.push() {
                queue.observe();
            }
            while queue.pop() {
                queue.observe();
            }
            queue.turn(1);
        }
    }
}

/// A dropped or partly committed chunk is seen by all observers.
pub fn observed_after_chunks<Q: Subject>() {
    let mut queue = numbers::<Q>(Config::new(40));
    for n in 0..queue.capacity() + 2 {
        queue.write_chunk(n, n / 2);
        queue.observe();
        queue.read_chunk(n, 0);
        queue.observe();
        queue.read_chunk(n, n / 3);
        queue.observe();
    }
}

/// While the other side works, no observer is out of bounds, and what it promises is kept (row
/// `head_tail_reordered`).
pub fn head_tail_reordered<Q: Subject>() {
    let (mut tx, mut rx) = channel::<Q>(20);
    let capacity = tx.capacity();
    // Most looks find the queue full if the consumer is slow, or sleeps: these alone prove nothing.
    let (looks, moves) = (scaled(80_000), scaled(2_000));
    let send = move || {
        let (mut looked, mut moved, mut patience) = (0, 0, Patience::default());
        while (looked < looks || moved < moves) && !tx.is_closed() {
            looked += 1;
            let free = tx.free_slots(usize::MAX);
            assert!(free <= capacity, "{free} free of {capacity}");
            if free == 0 {
                patience.wait();
                continue;
            }
            for _ in 0..free {
                assert!(tx.try_push(Item::of(0)).is_ok(), "as many slots were free");
            }
            // Some more than were counted, so that what was seen then is too old now.
            (0..3).take_while(|_| tx.try_push(Item::of(0)).is_ok()).count();
            tx.flush();
            (moved, patience) = (moved + 1, Patience::default());
        }
    };
    let receive = move || {
        let mut patience = Patience::default();
        while !rx.is_closed() {
            let len = rx.len();
            assert!(len <= capacity, "{len} items of {capacity}");
            assert!(rx.is_empty() <= (len == 0), "items do not vanish");
            for _ in 0..len {
                assert!(rx.try_pop().is_ok(), "as many items were there");
            }
            // As above.
            match len + rx.pop_iter().take(3).count() {
                0 => patience.wait(),
                _ => patience = Patience::default(),
            }
        }
    };
    both(Cores::Two, send, receive);
}
