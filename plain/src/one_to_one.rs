//! One number at a time from one thread to another: each side tries, with one `spin_loop` after
//! each failure.

use std::cell::UnsafeCell;
use std::hint::{black_box, spin_loop};
use std::num::NonZeroU64;
use std::sync::{Arc, mpsc};
use std::time::Instant;

use concurrent_queue::ConcurrentQueue;
use corelane::spsc;
use crossbeam::channel;
use crossbeam::queue::ArrayQueue;
use ringbuf::traits::{Consumer as _, Producer as _, Split as _};
use thingbuf::ThingBuf;

use crate::pair::PARTS;
use crate::{Case, Row, both, pair};

/// Handles that the loops own. `$push` says whether the queue took the item, `$pop` returns the
/// item if there is one.
macro_rules! in_loops {
    ($open:expr, |$tx:ident, $item:ident| $push:expr, |$rx:ident| $pop:expr) => {{
        let (tx, rx) = $open;
        let send = move |gate: &pair::Gate| {
            #[allow(unused_mut, reason = "some handles are shared")]
            let mut $tx = tx;
            let (mut next, mut begin) = (0, Instant::now());
            for items in PARTS {
                gate.meet(spin_loop);
                begin = Instant::now();
                for $item in next..next + items {
                    while !$push {
                        spin_loop();
                    }
                }
                next += items;
            }
            begin
        };
        let receive = move |gate: &pair::Gate| {
            #[allow(unused_mut, reason = "some handles are shared")]
            let mut $rx = rx;
            let (mut next, mut wrong) = (0, 0);
            for items in PARTS {
                gate.meet(spin_loop);
                for expected in next..next + items {
                    let item = loop {
                        match $pop {
                            Some(item) => break item,
                            None => spin_loop(),
                        }
                    };
                    wrong += u64::from(item != expected);
                }
                next += items;
            }
            let end = Instant::now();
            assert_eq!(wrong, 0, "items were lost or changed");
            end
        };
        pair::run(send, receive) / PARTS[1] as f64
    }};
}

/// Handles in a field of a struct, whose methods aren't inlined.
macro_rules! in_fields {
    ($open:expr, $tx:ty, |$sender:ident, $item:ident| $push:expr, $rx:ty, |$receiver:ident| $pop:expr) => {{
        struct Sends {
            tx: $tx,
            sent: u64,
        }
        impl Sends {
            #[inline(never)]
            fn send(&mut self, $item: u64) -> bool {
                let $sender = &mut self.tx;
                let is_sent = $push;
                self.sent += u64::from(is_sent);
                is_sent
            }
        }
        struct Receives {
            rx: $rx,
            received: u64,
        }
        impl Receives {
            #[inline(never)]
            fn receive(&mut self) -> Option<u64> {
                let $receiver = &mut self.rx;
                let item = $pop;
                self.received += u64::from(item.is_some());
                item
            }
        }
        impl Drop for Sends {
            fn drop(&mut self) {
                black_box(self.sent);
            }
        }
        impl Drop for Receives {
            fn drop(&mut self) {
                black_box(self.received);
            }
        }
        let (tx, rx) = $open;
        let handles = (Sends { tx, sent: 0 }, Receives { rx, received: 0 });
        in_loops!(handles, |tx, item| tx.send(item), |rx| rx.receive())
    }};
}

/// Items that each queue holds.
const CAPACITY: usize = 4096;

fn linering() -> (spsc::Producer<u64>, spsc::Consumer<u64>) {
    spsc::queue(CAPACITY).expect("there is memory")
}

type Ringbuf = (ringbuf::HeapProd<u64>, ringbuf::HeapCons<u64>);

fn ringbuf() -> Ringbuf {
    ringbuf::HeapRb::new(CAPACITY).split()
}

type Heapless<'a> = (heapless::spsc::Producer<'a, u64>, heapless::spsc::Consumer<'a, u64>);

/// A queue of heapless in a box. It lives as long as the program, as most of them do, in a
/// `static`.
fn heapless() -> Heapless<'static> {
    type Ring = heapless::spsc::Queue<u64, CAPACITY>;
    Box::leak(Box::new(UnsafeCell::new(Ring::new()))).get_mut().split()
}

type Array = Arc<ArrayQueue<u64>>;

const LOOP: Case = "loop";
const FIELD: Case = "field";

pub const ROWS: &[Row] = &[
    (LOOP, "linering", || {
        in_loops!(linering(), |tx, item| tx.try_push(item).is_ok(), |rx| rx.try_pop().ok())
    }),
    (LOOP, "rtrb", || {
        in_loops!(rtrb::RingBuffer::new(CAPACITY), |tx, item| tx.push(item).is_ok(), |rx| rx
            .pop()
            .ok())
    }),
    (LOOP, "ringbuf", || {
        in_loops!(ringbuf(), |tx, item| tx.try_push(item).is_ok(), |rx| rx.try_pop())
    }),
    (LOOP, "heapless", || {
        in_loops!(heapless(), |tx, item| tx.enqueue(item).is_ok(), |rx| rx.dequeue())
    }),
    (LOOP, "crossbeam-array", || {
        in_loops!(both(ArrayQueue::new(CAPACITY)), |tx, item| tx.push(item).is_ok(), |rx| rx.pop())
    }),
    (LOOP, "crossbeam-channel", || {
        in_loops!(channel::bounded(CAPACITY), |tx, item| tx.try_send(item).is_ok(), |rx| rx
            .try_recv()
            .ok())
    }),
    (LOOP, "concurrent-queue", || {
        in_loops!(
            both(ConcurrentQueue::bounded(CAPACITY)),
            |tx, item| tx.push(item).is_ok(),
            |rx| rx.pop().ok()
        )
    }),
    (LOOP, "thingbuf", || {
        in_loops!(
            both(ThingBuf::with_recycle(CAPACITY, crate::Leave)),
            |tx, item| tx.push_with(|slot| *slot = NonZeroU64::new(item + 1)).is_ok(),
            |rx| rx.pop_with(|slot| *slot).flatten().map(|item| item.get() - 1)
        )
    }),
    (LOOP, "kanal", || {
        in_loops!(kanal::bounded(CAPACITY), |tx, item| tx.try_send(item) == Ok(true), |rx| rx
            .try_recv()
            .ok()
            .flatten())
    }),
    (LOOP, "crossfire", || {
        in_loops!(
            crossfire::mpmc::bounded_blocking::<u64>(CAPACITY),
            |tx, item| tx.try_send(item).is_ok(),
            |rx| rx.try_recv().ok()
        )
    }),
    (LOOP, "flume", || {
        in_loops!(flume::bounded(CAPACITY), |tx, item| tx.try_send(item).is_ok(), |rx| rx
            .try_recv()
            .ok())
    }),
    (LOOP, "std-channel", || {
        in_loops!(mpsc::sync_channel(CAPACITY), |tx, item| tx.try_send(item).is_ok(), |rx| rx
            .try_recv()
            .ok())
    }),
    (FIELD, "linering", || {
        in_fields!(
            linering(),
            spsc::Producer<u64>,
            |tx, item| tx.try_push(item).is_ok(),
            spsc::Consumer<u64>,
            |rx| rx.try_pop().ok()
        )
    }),
    (FIELD, "rtrb", || {
        in_fields!(
            rtrb::RingBuffer::new(CAPACITY),
            rtrb::Producer<u64>,
            |tx, item| tx.push(item).is_ok(),
            rtrb::Consumer<u64>,
            |rx| rx.pop().ok()
        )
    }),
    (FIELD, "ringbuf", || {
        in_fields!(
            ringbuf(),
            ringbuf::HeapProd<u64>,
            |tx, item| tx.try_push(item).is_ok(),
            ringbuf::HeapCons<u64>,
            |rx| rx.try_pop()
        )
    }),
    (FIELD, "heapless", || {
        in_fields!(
            heapless(),
            heapless::spsc::Producer<'static, u64>,
            |tx, item| tx.enqueue(item).is_ok(),
            heapless::spsc::Consumer<'static, u64>,
            |rx| rx.dequeue()
        )
    }),
    (FIELD, "crossbeam-array", || {
        in_fields!(
            both(ArrayQueue::new(CAPACITY)),
            Array,
            |tx, item| tx.push(item).is_ok(),
            Array,
            |rx| rx.pop()
        )
    }),
];
