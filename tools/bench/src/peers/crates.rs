//! Crates from the registry.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::thread;

use concurrent_queue::ConcurrentQueue;
use corelane::{CapacityError, Queue, Sides};
use crossbeam::channel;
use crossbeam::queue::{ArrayQueue, SegQueue};
use ringbuf::traits::{Consumer as _, Producer as _, Split as _};
use thingbuf::{Recycle, ThingBuf};

use super::{consumer, peer, producer, queue};
use crate::catalogue::EntryKind;
use crate::payload::{Indirect, Parcel};
use crate::queues::Subject;
use crate::suite::spsc::words::Roomy;

/// The workspace's lock file, which has the versions of the measured crates.
const LOCK_FILE: &str = include_str!("../../../../Cargo.lock");

pub(super) fn entries() -> Vec<Subject> {
    vec![
        ring::<Rtrb>("rtrb"),
        ring::<Ringbuf>("ringbuf"),
        ring::<Heapless>("heapless"),
        ring::<CrossbeamArray>("crossbeam-queue"),
        peer::<u64, CrossbeamSeg>(kind("crossbeam-queue")),
        peer::<u64, CrossbeamChannel>(kind("crossbeam-channel")),
        peer::<u64, Concurrent>(kind("concurrent-queue")),
        peer::<NonZeroU64, Thing>(kind("thingbuf")),
        peer::<u64, Kanal>(kind("kanal")),
        peer::<u64, Crossfire>(kind("crossfire")),
        peer::<u64, Flume>(kind("flume")),
        peer::<u64, CrossbeamUnbounded>(kind("crossbeam-channel")),
        peer::<u64, KanalUnbounded>(kind("kanal")),
        peer::<u64, FlumeUnbounded>(kind("flume")),
    ]
}

/// A peer of this package, with its version.
pub(crate) fn kind(package: &'static str) -> EntryKind {
    let version = locked_version(LOCK_FILE, package).unwrap_or("unknown").to_owned();
    EntryKind::Peer { package, version }
}

/// A ring, also measured with larger items: those of other peers would only make the build longer.
fn ring<Q>(package: &'static str) -> Subject
where
    Q: Queue<u64> + Queue<Indirect> + Queue<Parcel> + Roomy + 'static,
{
    peer::<u64, Q>(kind(package)).with_larger::<Q>()
}

fn locked_version<'a>(lock_file: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock_file.lines().skip_while(|line| *line != name);
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}

// rtrb: a ring for real-time audio, the most similar to the Lamport queues.
producer!(RtrbTx(rtrb::Producer<T>): |tx, item| tx.push(item).is_ok();
          slice |tx, items| tx.push_partial_slice(items).0.len());
consumer!(RtrbRx(rtrb::Consumer<T>): |rx| rx.pop().ok();
          slice |rx, into| rx.pop_partial_slice(into).0.len());
queue!(Rtrb: RtrbTx, RtrbRx, |capacity| rtrb::RingBuffer::new(capacity); id: "rtrb", name: "ring");

// ringbuf: `HeapRb`, split into the caching handles its documentation recommends.
producer!(RingbufTx(ringbuf::HeapProd<T>): |tx, item| tx.try_push(item).is_ok();
          slice |tx, items| tx.push_slice(items));
consumer!(RingbufRx(ringbuf::HeapCons<T>): |rx| rx.try_pop(); slice |rx, into| rx.pop_slice(into));
queue!(Ringbuf: RingbufTx, RingbufRx, |capacity| ringbuf::HeapRb::new(capacity).split();
       id: "ringbuf", name: "ring with cached indices");

// crossbeam: `ArrayQueue`, `SegQueue`, and the bounded and the unbounded channel.
producer!(ArrayTx(Arc<ArrayQueue<T>>) with clone: |tx, item| tx.push(item).is_ok());
consumer!(ArrayRx(Arc<ArrayQueue<T>>) with clone: |rx| rx.pop());
queue!(CrossbeamArray: ArrayTx, ArrayRx, |capacity| both(ArrayQueue::new(capacity));
       id: "crossbeam-array", name: "ring, ArrayQueue", sides: Sides::ManyToMany);

producer!(SegTx(Arc<SegQueue<T>>) with clone: |tx, item| {
    tx.push(item);
    true
});
consumer!(SegRx(Arc<SegQueue<T>>) with clone: |rx| rx.pop());
queue!(CrossbeamSeg: SegTx, SegRx, |_capacity| both(SegQueue::new());
       id: "crossbeam-seg", name: "list, SegQueue", sides: Sides::ManyToMany, bounded: false);

producer!(ChannelTx(channel::Sender<T>) with clone: |tx, item| tx.try_send(item).is_ok());
consumer!(ChannelRx(channel::Receiver<T>) with clone: |rx| rx.try_recv().ok());
queue!(CrossbeamChannel: ChannelTx, ChannelRx, |capacity| channel::bounded(capacity);
       id: "crossbeam-channel", name: "channel, bounded", sides: Sides::ManyToMany);
queue!(CrossbeamUnbounded: ChannelTx, ChannelRx, |_capacity| channel::unbounded();
       id: "crossbeam-unbounded", name: "channel, unbounded", sides: Sides::ManyToMany, bounded: false);

// concurrent-queue: the ring under smol's channels.
producer!(ConcurrentTx(Arc<ConcurrentQueue<T>>) with clone: |tx, item| tx.push(item).is_ok());
consumer!(ConcurrentRx(Arc<ConcurrentQueue<T>>) with clone: |rx| rx.pop().ok());
queue!(Concurrent: ConcurrentTx, ConcurrentRx, |capacity| both(ConcurrentQueue::bounded(capacity));
       id: "concurrent-queue", name: "ring, bounded", sides: Sides::ManyToMany);

// thingbuf: a ring whose items are written and read in place, and never moved out. Slots are
// options because they need an initial value. An option of a non-zero number or a pointer is as
// small as the item.
producer!(ThingTx(Arc<ThingBuf<Option<T>, Leave>>) with clone:
          |tx, item| tx.push_with(|slot| *slot = Some(item)).is_ok());
consumer!(ThingRx(Arc<ThingBuf<Option<T>, Leave>>) with clone: |rx| rx.pop_with(|slot| *slot).flatten());
queue!(Thing: ThingTx, ThingRx, |capacity| both(ThingBuf::with_recycle(capacity, Leave));
       id: "thingbuf", name: "ring, slots reused in place", sides: Sides::ManyToMany);

/// Leaves used slots as they are; the next push overwrites them.
struct Leave;

impl<T> Recycle<Option<T>> for Leave {
    fn new_element(&self) -> Option<T> {
        None
    }

    #[inline(always)]
    fn recycle(&self, _: &mut Option<T>) {}
}

fn both<Q>(queue: Q) -> (Arc<Q>, Arc<Q>) {
    let queue = Arc::new(queue);
    (queue.clone(), queue)
}

// flume and kanal: channels that drain all items in one call.
producer!(FlumeTx(flume::Sender<T>) with clone: |tx, item| tx.try_send(item).is_ok());
consumer!(FlumeRx(Draining<flume::Receiver<T>, VecDeque<T>>) with clone: |rx| rx.receiver.try_recv().ok();
slice |rx, into| {
    if rx.drained.is_empty() {
        rx.drained.extend(rx.receiver.drain());
    }
    let popped = into.len().min(rx.drained.len());
    let oldest = rx.drained.drain(..popped);
    into.iter_mut().zip(oldest).for_each(|(place, item)| *place = item);
    popped
});
queue!(Flume: FlumeTx, FlumeRx, |capacity| draining(flume::bounded(capacity));
       id: "flume", name: "channel, bounded", sides: Sides::ManyToMany);
queue!(FlumeUnbounded: FlumeTx, FlumeRx, |_capacity| draining(flume::unbounded());
       id: "flume-unbounded", name: "channel, unbounded", sides: Sides::ManyToMany, bounded: false);

producer!(KanalTx(kanal::Sender<T>) with clone: |tx, item| tx.try_send(item) == Ok(true));
// The oldest drained item is last.
consumer!(KanalRx(Draining<kanal::Receiver<T>, Vec<T>>) with clone: |rx| rx.receiver.try_recv().ok().flatten();
slice |rx, into| {
    if rx.drained.is_empty() {
        // A closed channel has no more items to drain, so an error is ignored.
        let _ = rx.receiver.drain_into(&mut rx.drained);
        rx.drained.reverse();
    }
    let popped = into.len().min(rx.drained.len());
    let oldest = rx.drained.drain(rx.drained.len() - popped..).rev();
    into.iter_mut().zip(oldest).for_each(|(place, item)| *place = item);
    popped
});
queue!(Kanal: KanalTx, KanalRx, |capacity| draining(kanal::bounded(capacity));
       id: "kanal", name: "channel, bounded", sides: Sides::ManyToMany);
queue!(KanalUnbounded: KanalTx, KanalRx, |_capacity| draining(kanal::unbounded());
       id: "kanal-unbounded", name: "channel, unbounded", sides: Sides::ManyToMany, bounded: false);

producer!(CrossfireTx(crossfire::MTx<crossfire::mpmc::Array<T>>) with clone: |tx, item| tx.try_send(item).is_ok());
consumer!(CrossfireRx(crossfire::MRx<crossfire::mpmc::Array<T>>) with clone: |rx| rx.try_recv().ok());
queue!(Crossfire: CrossfireTx, CrossfireRx, |capacity| crossfire::mpmc::bounded_blocking(capacity);
       id: "crossfire", name: "channel, bounded", sides: Sides::ManyToMany);

/// A receiver, and its drained items that haven't been returned yet.
struct Draining<R, D> {
    receiver: R,
    drained: D,
}

/// A clone begins without drained items.
impl<R: Clone, D: Default> Clone for Draining<R, D> {
    fn clone(&self) -> Self {
        Self { receiver: self.receiver.clone(), drained: D::default() }
    }
}

fn draining<S, R, D: Default>((sender, receiver): (S, R)) -> (S, Draining<R, D>) {
    (sender, Draining { receiver, drained: D::default() })
}

// heapless: a ring whose size is part of its type.
producer!(HeaplessTx(HeaplessEnd<Tx<T>>): |tx, item| tx.0.enqueue(item).is_ok());
consumer!(HeaplessRx(HeaplessEnd<Rx<T>>): |rx| rx.0.dequeue());

type Tx<T> = heapless::spsc::Producer<'static, T>;
type Rx<T> = heapless::spsc::Consumer<'static, T>;
/// A handle, and what frees the queue when both handles are gone.
type HeaplessEnd<H> = (H, Arc<dyn Send + Sync>);

/// The memory of a queue with this many slots, of which one stays empty.
struct Owner<T, const SLOTS: usize>(UnsafeCell<heapless::spsc::Queue<T, SLOTS>>);

// SAFETY: after the split the owner only frees the queue; the handles are `Send`.
unsafe impl<T: Send, const SLOTS: usize> Send for Owner<T, SLOTS> {}
// SAFETY: as above; a shared reference gives no access.
unsafe impl<T: Send, const SLOTS: usize> Sync for Owner<T, SLOTS> {}

queue!(Heapless: HeaplessTx, HeaplessRx, |capacity| match capacity {
           16 => heapless_ring::<T, 16>(),
           64 => heapless_ring::<T, 64>(),
           256 => heapless_ring::<T, 256>(),
           1024 => heapless_ring::<T, 1024>(),
           // The documentation asks for a power of two.
           4095 | 4096 => heapless_ring::<T, 4096>(),
           _ => {
               let needs = "heapless rings of other sizes than 16, 64, 256, 1024 and 4096";
               return Err(CapacityError::Unsupported { needs });
           }
       };
       id: "heapless", name: "ring, spsc::Queue<T, N>");

/// Stack of a thread that makes a queue, which is on the stack before it is in its box.
const STACK: usize = 64 << 20;

fn heapless_ring<T, const SLOTS: usize>() -> (HeaplessEnd<Tx<T>>, HeaplessEnd<Rx<T>>)
where
    T: Send + 'static,
{
    let make = || Arc::new(Owner(UnsafeCell::new(heapless::spsc::Queue::<T, SLOTS>::new())));
    let thread = thread::Builder::new().stack_size(STACK).spawn(make).expect("a thread");
    let owner = thread.join().expect("it doesn't panic");
    // SAFETY: no other reference to the queue exists, and the owner keeps the queue while a handle
    // lives.
    let (tx, rx) = unsafe { &mut *owner.0.get() }.split();
    ((tx, owner.clone()), (rx, owner))
}
