//! Rings with two shared counters: each differs in its producer.

use std::marker::PhantomData;

use corelane_loom::memory::AtomicU64;
use corelane_loom::memory::Ordering::{Acquire, Relaxed, Release};

use super::handles::{Mechanism, Place};
use crate::item::Ticket;

const N: u64 = 2;

/// The shared state of both sides.
pub(crate) struct Ring {
    places: [Place; N as usize],
    write: AtomicU64,
    read: AtomicU64,
}

impl Ring {
    fn place(&self, position: u64) -> &Place {
        &self.places[(position % N) as usize]
    }
}

/// A producer's private state.
#[derive(Default)]
pub(crate) struct Tx {
    /// Next position to fill.
    write: u64,
    /// The last value of `read` that the producer loaded.
    read_shadow: u64,
}

impl Tx {
    fn look(&mut self, ring: &Ring) {
        self.read_shadow = ring.read.load(Acquire);
    }

    fn is_full(&self) -> bool {
        self.write - self.read_shadow >= N
    }

    /// Whether the ring is full even after a load of the shared counter.
    fn stays_full(&mut self, ring: &Ring) -> bool {
        if self.is_full() {
            self.look(ring);
        }
        self.is_full()
    }

    fn put(&mut self, ring: &Ring, item: Ticket) {
        ring.place(self.write).put(item);
        self.write += 1;
    }
}

/// The producer of a ring.
pub(crate) trait Producing: 'static {
    fn push(ring: &Ring, tx: &mut Tx, item: Ticket) -> Result<(), Ticket>;

    fn close(_ring: &Ring, _tx: &mut Tx) {}
}

/// A ring with Lamport's consumer and some producer.
pub(crate) struct On<P>(Ring, PhantomData<P>);

impl<P: Producing> Mechanism for On<P> {
    const CAPACITY: usize = N as usize;
    type Tx = Tx;
    type Rx = u64;

    fn new() -> Self {
        let places = [Place::empty(), Place::empty()];
        Self(Ring { places, write: AtomicU64::new(0), read: AtomicU64::new(0) }, PhantomData)
    }

    fn push(&self, tx: &mut Tx, item: Ticket) -> Result<(), Ticket> {
        P::push(&self.0, tx, item)
    }

    fn pop(&self, read: &mut u64) -> Option<Ticket> {
        if *read == self.0.write.load(Acquire) {
            return None;
        }
        let item = self.0.place(*read).take();
        *read += 1;
        self.0.read.store(*read, Release);
        Some(item)
    }

    fn close(&self, tx: &mut Tx) {
        P::close(&self.0, tx);
    }
}

/// `lq`. Broken: the item is not published with the counter.
pub(crate) struct LamportProducer<const BROKEN: bool>;
pub(crate) type Lamport<const BROKEN: bool> = On<LamportProducer<BROKEN>>;

impl<const BROKEN: bool> Producing for LamportProducer<BROKEN> {
    fn push(ring: &Ring, tx: &mut Tx, item: Ticket) -> Result<(), Ticket> {
        tx.look(ring);
        if tx.is_full() {
            return Err(item);
        }
        tx.put(ring, item);
        ring.write.store(tx.write, if BROKEN { Relaxed } else { Release });
        Ok(())
    }
}

/// `llq`. Broken: after a load of the counter, the producer assumes that there is room.
pub(crate) struct LazyProducer<const BROKEN: bool>;
pub(crate) type Lazy<const BROKEN: bool> = On<LazyProducer<BROKEN>>;

impl<const BROKEN: bool> Producing for LazyProducer<BROKEN> {
    fn push(ring: &Ring, tx: &mut Tx, item: Ticket) -> Result<(), Ticket> {
        if tx.is_full() {
            tx.look(ring);
            if tx.is_full() && !BROKEN {
                return Err(item);
            }
        }
        tx.put(ring, item);
        ring.write.store(tx.write, Release);
        Ok(())
    }
}

/// `blq`. Broken: the counter is advanced before the slots are filled.
pub(crate) struct BatchedProducer<const BROKEN: bool>;
pub(crate) type Batched<const BROKEN: bool> = On<BatchedProducer<BROKEN>>;

impl<const BROKEN: bool> Producing for BatchedProducer<BROKEN> {
    fn push(ring: &Ring, tx: &mut Tx, item: Ticket) -> Result<(), Ticket> {
        if tx.stays_full(ring) {
            return Err(item);
        }
        if BROKEN {
            ring.write.store(tx.write + 1, Release);
        }
        tx.put(ring, item);
        if !BROKEN {
            ring.write.store(tx.write, Release);
        }
        Ok(())
    }
}

/// `mcring`. Broken: the rest of a batch is not published when the producer is dropped.
pub(crate) struct McRingProducer<const BROKEN: bool>;
pub(crate) type McRing<const BROKEN: bool> = On<McRingProducer<BROKEN>>;

impl<const BROKEN: bool> McRingProducer<BROKEN> {
    /// Does not divide the number of items in the model.
    const BATCH: u64 = 3;
}

impl<const BROKEN: bool> Producing for McRingProducer<BROKEN> {
    fn push(ring: &Ring, tx: &mut Tx, item: Ticket) -> Result<(), Ticket> {
        if tx.stays_full(ring) {
            return Err(item);
        }
        tx.put(ring, item);
        if tx.write.is_multiple_of(Self::BATCH) {
            ring.write.store(tx.write, Release);
        }
        Ok(())
    }

    fn close(ring: &Ring, tx: &mut Tx) {
        if !BROKEN {
            ring.write.store(tx.write, Release);
        }
    }
}
