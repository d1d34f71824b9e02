//! The loops of `rings.cpp` in Rust, so that both are measured in one process.

use std::ptr;

use corelane::line_ring::{Consumer, Producer};
use corelane::{line_ring, wait};
/// The calls of C are in this library, too.
pub use corelane_c as c;

/// The two sides of a queue, whose calls are inlined into the loops.
#[derive(Debug)]
pub struct Sides(wait::Producer<Producer<u64>>, wait::Consumer<Consumer<u64>>);

/// Makes a queue.
#[unsafe(no_mangle)]
pub extern "C" fn rust_create(capacity: usize) -> *mut Sides {
    let made = line_ring::queue(capacity).map(wait::pair);
    made.map_or(ptr::null_mut(), |(tx, rx)| Box::into_raw(Box::new(Sides(tx, rx))))
}

/// Frees a queue.
///
/// # Safety
///
/// It is from `rust_create`, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rust_free(sides: *mut Sides) {
    // SAFETY: the caller's contract.
    drop(unsafe { Box::from_raw(sides) });
}

/// Pushes the numbers below `n`, `batch` at a time.
///
/// # Safety
///
/// `sides` is from `rust_create`, and only this call uses its sending side.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rust_send(sides: *mut Sides, n: u64, batch: usize) {
    // SAFETY: the caller's contract: no other reference to this side exists.
    let tx = unsafe { &mut (*sides).0 };
    if batch == 1 {
        for number in 0..n {
            while tx.try_push(number).is_err() {
                std::hint::spin_loop();
            }
        }
        return;
    }
    let mut numbers = vec![0; batch];
    for first in (0..n).step_by(batch) {
        numbers.iter_mut().zip(first..).for_each(|(slot, number)| *slot = number);
        let mut left = &numbers[..];
        while !left.is_empty() {
            left = &left[tx.push_slice(left)..];
        }
    }
}

/// Pops `n` numbers, `batch` at a time, and returns their sum.
///
/// # Safety
///
/// `sides` is from `rust_create`, and only this call uses its receiving side.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rust_receive(sides: *mut Sides, n: u64, batch: usize) -> u64 {
    // SAFETY: the caller's contract: no other reference to this side exists.
    let rx = unsafe { &mut (*sides).1 };
    let (mut sum, mut left) = (0_u64, n);
    if batch == 1 {
        while left > 0 {
            match rx.try_pop() {
                Ok(number) => (sum, left) = (sum + number, left - 1),
                Err(_) => std::hint::spin_loop(),
            }
        }
        return sum;
    }
    let mut numbers = vec![0; batch];
    while left > 0 {
        let popped = rx.pop_slice(&mut numbers);
        sum += numbers[..popped].iter().sum::<u64>();
        left -= popped as u64;
    }
    sum
}
