//! The memory facade costs nothing: one push through it, and the same push written by hand.
//!
//! `tests/zero_cost.rs` compiles this and compares the machine code of the two functions.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use corelane::lamport::{self, Producer};

/// Pushes through corelane.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn push_by_corelane(tx: &mut Producer<u64>, item: u64) -> bool {
    tx.try_push(item).is_ok()
}

/// The shared part of a Lamport queue.
#[derive(Debug)]
#[repr(C, align(128))]
struct Head {
    gone: Line<AtomicU32>,
    write: Line<AtomicU64>,
    read: Line<AtomicU64>,
}

#[derive(Debug)]
#[repr(align(128))]
struct Line<T>(T);

/// The sending side of a Lamport queue, by hand, with its fields where the compiler puts those of
/// corelane's.
#[derive(Debug)]
#[repr(C)]
pub struct ByHand {
    capacity: usize,
    head: NonNull<Head>,
    slots: NonNull<u64>,
    mask: usize,
}

/// The same push, straight to the machine's atomics.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn push_by_hand(tx: &mut ByHand, item: u64) -> bool {
    // SAFETY: `main` makes a head and as many slots as the mask says.
    unsafe {
        let head = tx.head.as_ref();
        let write = head.write.0.load(Ordering::Relaxed);
        let read = head.read.0.load(Ordering::Acquire);
        if write.wrapping_sub(read) == tx.capacity as u64 {
            // A producer that finds the queue full learns whether a consumer is left to empty it.
            std::hint::black_box(head.gone.0.load(Ordering::Acquire));
            return false;
        }
        tx.slots.add(write as usize & tx.mask).write(item);
        head.write.0.store(write.wrapping_add(1), Ordering::Release);
    }
    true
}

fn main() {
    let (mut tx, mut rx) = lamport::queue(1).expect("one slot");
    assert!(push_by_corelane(&mut tx, 7));
    assert!(!push_by_corelane(&mut tx, 8));
    assert_eq!(rx.try_pop(), Ok(7));

    let line = || Line(AtomicU64::new(0));
    let mut head = Head { gone: Line(AtomicU32::new(0)), write: line(), read: line() };
    let mut slot = 0;
    let (shared, slots) = (NonNull::from(&mut head), NonNull::from(&mut slot));
    let mut tx = ByHand { head: shared, slots, mask: 0, capacity: 1 };
    assert!(push_by_hand(&mut tx, 7));
    assert!(!push_by_hand(&mut tx, 8));
    assert_eq!(slot, 7);
}
