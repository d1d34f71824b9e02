//! DPDK's ring, with the feature `dpdk`. Each call crosses into C, by `rte_ring.c`: a program in C
//! has it inline.

use std::ffi::{c_uint, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use corelane::{CapacityError, Sides};

use super::{consumer, peer, producer, queue};
use crate::catalogue::EntryKind;
use crate::queues::Subject;

/// How the threads of a side share the ring. `rte_ring.c` has the flags in this order.
#[repr(C)]
enum Mode {
    InOrder,
    RelaxedTails,
    HeadTail,
    Single,
}

pub(super) fn entries() -> Vec<Subject> {
    let kind = || EntryKind::Peer { package: "dpdk", version: env!("DPDK_VERSION").into() };
    vec![
        peer::<u64, RteRing>(kind()),
        peer::<u64, RteRingRts>(kind()),
        peer::<u64, RteRingHts>(kind()),
        peer::<u64, RteRingSpsc>(kind()),
    ]
}

producer!(RteTx(Shared<T>) with clone: |tx, item| tx.push(item); slice |tx, items| tx.push_slice(items));
consumer!(RteRx(Shared<T>) with clone: |rx| rx.pop(); slice |rx, into| rx.pop_slice(into));

// Only one handle of a side, which can't be cloned.
producer!(RteSpscTx(Shared<T>): |tx, item| tx.push(item); slice |tx, items| tx.push_slice(items));
consumer!(RteSpscRx(Shared<T>): |rx| rx.pop(); slice |rx, into| rx.pop_slice(into));

queue!(RteRing: RteTx, RteRx, |capacity| make(capacity, Mode::InOrder)?;
       id: "rte-ring", name: "ring, MP/MC", sides: Sides::ManyToMany, takes_turns: true);
queue!(RteRingRts: RteTx, RteRx, |capacity| make(capacity, Mode::RelaxedTails)?;
       id: "rte-ring-rts", name: "ring, relaxed tails", sides: Sides::ManyToMany);
queue!(RteRingHts: RteTx, RteRx, |capacity| make(capacity, Mode::HeadTail)?;
       id: "rte-ring-hts", name: "ring, one at a time", sides: Sides::ManyToMany, takes_turns: true);
queue!(RteRingSpsc: RteSpscTx, RteSpscRx, |capacity| make(capacity, Mode::Single)?;
       id: "rte-ring-spsc", name: "ring, SP/SC");

/// `struct rte_ring`.
#[repr(C)]
struct Opaque([u8; 0]);

unsafe extern "C" {
    safe fn corelane_rte_ring_make(capacity: c_uint, mode: Mode) -> Option<NonNull<Opaque>>;
    fn corelane_rte_ring_free(ring: NonNull<Opaque>);
    fn corelane_rte_ring_push(ring: NonNull<Opaque>, item: *mut c_void) -> bool;
    fn corelane_rte_ring_push_slice(
        ring: NonNull<Opaque>,
        items: *const *mut c_void,
        n: c_uint,
    ) -> c_uint;
    fn corelane_rte_ring_pop(ring: NonNull<Opaque>, item: *mut *mut c_void) -> bool;
    fn corelane_rte_ring_pop_slice(
        ring: NonNull<Opaque>,
        into: *mut *mut c_void,
        n: c_uint,
    ) -> c_uint;
}

/// A ring, freed with its last handle. A ring for one producer and one consumer has one handle a
/// side.
struct Owner<T>(NonNull<Opaque>, PhantomData<T>);

type Shared<T> = Arc<Owner<T>>;

// SAFETY: the items are `Send`, and any thread may free the ring.
unsafe impl<T: Send> Send for Owner<T> {}
// SAFETY: threads call the ring by `Arc`s in handles, and there are no more handles of a side than
// the ring is made for.
unsafe impl<T: Send> Sync for Owner<T> {}

fn make<T>(capacity: usize, mode: Mode) -> Result<(Shared<T>, Shared<T>), CapacityError> {
    const { check_size::<T>() };
    let most = 1 << 30;
    let fits = c_uint::try_from(capacity).ok().filter(|fits| (1..most).contains(fits));
    let fits =
        fits.ok_or(CapacityError::OutOfRange { asked: capacity, most: most as usize - 1 })?;
    let bytes = capacity.saturating_add(1).next_power_of_two() * size_of::<u64>();
    let ring = corelane_rte_ring_make(fits, mode).ok_or(CapacityError::OutOfMemory { bytes })?;
    let ring = Arc::new(Owner(ring, PhantomData));
    Ok((Arc::clone(&ring), ring))
}

/// Items are moved as the pointers that the ring is made for.
const fn check_size<T>() {
    assert!(size_of::<T>() == size_of::<*mut c_void>() && align_of::<T>() == align_of::<usize>());
}

impl<T: Copy> Owner<T> {
    #[inline(always)]
    fn push(&self, item: T) -> bool {
        // SAFETY: the item is as large as a pointer, and has no padding. The ring lives.
        unsafe { corelane_rte_ring_push(self.0, std::mem::transmute_copy(&item)) }
    }

    #[inline(always)]
    fn push_slice(&self, items: &[T]) -> usize {
        // SAFETY: the items are as large as pointers, and their number is passed. The ring lives.
        unsafe {
            corelane_rte_ring_push_slice(self.0, items.as_ptr().cast(), count(items)) as usize
        }
    }

    #[inline(always)]
    fn pop(&self) -> Option<T> {
        let mut item = MaybeUninit::<T>::uninit();
        // SAFETY: the place is as large as a pointer. The ring lives. What it gives was pushed as a
        // `T`.
        unsafe {
            corelane_rte_ring_pop(self.0, item.as_mut_ptr().cast()).then(|| item.assume_init())
        }
    }

    #[inline(always)]
    fn pop_slice(&self, into: &mut [T]) -> usize {
        let n = count(into);
        // SAFETY: the places are as large as pointers, and their number is passed. The ring lives.
        // What it gives was pushed as `T`s.
        unsafe { corelane_rte_ring_pop_slice(self.0, into.as_mut_ptr().cast(), n) as usize }
    }
}

/// Items of a call: a call of the ring takes no more than a ring has.
fn count<T>(items: &[T]) -> c_uint {
    items.len().min(1 << 30) as c_uint
}

impl<T> Drop for Owner<T> {
    fn drop(&mut self) {
        // SAFETY: `make` has made it, and no handle is left.
        unsafe { corelane_rte_ring_free(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use corelane::{Config, Consumer as _, Producer as _, Queue};

    use super::*;

    fn takes_exactly<Q: Queue<u64>>(capacity: usize) {
        let (mut tx, mut rx) = Q::with(Config::new(capacity)).expect("there is memory");
        for from in [0, u64::MAX - 1] {
            let items: Vec<_> = (0..capacity as u64 + 3).map(|n| n.wrapping_add(from)).collect();
            assert!(tx.try_push(items[0]).is_ok());
            assert_eq!(tx.push_slice(&items[1..]), capacity - 1);
            assert!(tx.try_push(0).is_err());
            let mut into = vec![7; capacity + 3];
            assert_eq!(rx.try_pop(), Ok(items[0]));
            assert_eq!(rx.pop_slice(&mut into), capacity - 1);
            assert_eq!(into[..capacity - 1], items[1..capacity]);
            assert!(rx.try_pop().is_err());
        }
    }

    #[test]
    fn rings_have_the_exact_capacity() {
        for capacity in [1, 7, 8, 4095, 4096] {
            takes_exactly::<RteRing>(capacity);
            takes_exactly::<RteRingRts>(capacity);
            takes_exactly::<RteRingHts>(capacity);
            takes_exactly::<RteRingSpsc>(capacity);
        }
        assert!(<RteRing as Queue<u64>>::with(Config::new(0)).is_err());
        assert!(<RteRing as Queue<u64>>::with(Config::new(usize::MAX)).is_err());
    }
}
