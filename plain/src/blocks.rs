//! Blocks of 1024 items in the slices that a ring lends.

use std::hint::{black_box, spin_loop};
use std::ops::Add;
use std::time::Instant;

use corelane::{SingleProducer, WriteChunkUninit, spsc};

use crate::pair::{self, Gate};
use crate::{Case, Row};

/// Items of a block.
const BLOCK: usize = 1024;
/// Items of a measurement.
const ITEMS: usize = 1 << 22;

/// Pushes a chunk of a ring of corelane.
///
/// # Safety
///
/// All `BLOCK` slots of the chunk have been written.
unsafe fn commit<P: SingleProducer>(chunk: WriteChunkUninit<'_, P>) {
    // SAFETY: the caller's contract.
    unsafe { chunk.commit(BLOCK) }
}

/// The same of rtrb.
///
/// # Safety
///
/// As for [`commit`].
unsafe fn commit_rtrb<T>(chunk: rtrb::chunks::WriteChunkUninit<'_, T>) {
    // SAFETY: the caller's contract.
    unsafe { chunk.commit_all() }
}

/// Blocks of 1024 items, filled and read in the slices that the ring lends. `$commit` pushes a
/// chunk.
macro_rules! in_blocks {
    ($item:ty, $open:expr, $commit:expr) => {{
        let (mut tx, mut rx) = $open;
        let block: Vec<$item> = (0..BLOCK).map(|item| item as $item).collect();
        let send = move |gate: &Gate| {
            gate.meet(spin_loop);
            let begin = Instant::now();
            for _ in 0..ITEMS / BLOCK {
                let mut chunk = loop {
                    match tx.write_chunk_uninit(BLOCK) {
                        Ok(chunk) if chunk.len() == BLOCK => break chunk,
                        _ => spin_loop(),
                    }
                };
                let (first, second) = chunk.as_mut_slices();
                for (slot, item) in first.iter_mut().chain(second).zip(&block) {
                    slot.write(*item);
                }
                // SAFETY: the chunk has `BLOCK` slots, as the block has items, and all have been
                // written.
                unsafe { $commit(chunk) };
            }
            begin
        };
        let receive = move |gate: &Gate| {
            gate.meet(spin_loop);
            for _ in 0..ITEMS / BLOCK {
                let chunk = loop {
                    match rx.read_chunk(BLOCK) {
                        Ok(chunk) if chunk.len() == BLOCK => break chunk,
                        _ => spin_loop(),
                    }
                };
                let (first, second) = chunk.as_slices();
                assert_eq!(first[0], 0 as $item, "a block was lost or torn");
                black_box([first, second].map(sum::<$item>));
                chunk.commit_all();
            }
            Instant::now()
        };
        pair::run(send, receive) / ITEMS as f64
    }};
}

/// In eight lanes, so that it isn't a chain of additions.
fn sum<T: Copy + Default + Add<Output = T>>(items: &[T]) -> [T; 8] {
    let mut sums = [T::default(); 8];
    for eight in items.chunks_exact(8) {
        for (sum, item) in sums.iter_mut().zip(eight) {
            *sum = *sum + *item;
        }
    }
    sums
}

const U64: Case = "blocks-u64";
const F32: Case = "blocks-f32";
/// Items of a ring.
const RING: usize = 8192;

pub const ROWS: &[Row] = &[
    (U64, "linering", || in_blocks!(u64, spsc::queue(RING).expect("memory"), commit)),
    (U64, "blq", || in_blocks!(u64, spsc::chunk_queue(RING).expect("memory"), commit)),
    (U64, "rtrb", || in_blocks!(u64, rtrb::RingBuffer::new(RING), commit_rtrb)),
    (F32, "linering", || in_blocks!(f32, spsc::queue(RING).expect("memory"), commit)),
    (F32, "blq", || in_blocks!(f32, spsc::chunk_queue(RING).expect("memory"), commit)),
    (F32, "rtrb", || in_blocks!(f32, rtrb::RingBuffer::new(RING), commit_rtrb)),
];
