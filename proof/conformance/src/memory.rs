//! Heap, huge pages and mirrored slots.

use corelane::{Backing, Config, Memory, Producer, SingleConsumer, SingleProducer};

/// Queues say truthfully what their memory is.
///
/// `build` makes the queue, `backing` asks what its memory is.
pub fn backing_is_told<P: Producer<Item = u64>, C>(
    build: impl Fn(Config) -> (P, C),
    backing: impl Fn(&P) -> Backing,
) {
    let build = |capacity, memory| {
        let (tx, rx) = build(Config::new(capacity).memory(memory));
        let told = backing(&tx);
        (tx, rx, told)
    };
    for capacity in [1, 512, 4096] {
        assert_eq!(build(capacity, Memory::Heap).2, Backing::Heap);
        let (mut tx, _, backing) = build(capacity, Memory::HugePages);
        if cfg!(target_os = "linux") {
            assert!(matches!(backing, Backing::HugePages | Backing::TransparentHugePages));
        } else {
            assert_eq!(backing, Backing::Heap);
        }
        assert!(tx.try_push(1).is_ok());
    }
    // A few slots do not fill a page: no mirror.
    assert_eq!(build(3, Memory::Mirrored).2, Backing::Heap);
}

/// Mirrored slots are lent as one slice, wherever in the ring it begins.
///
/// The arguments are those of [`backing_is_told`].
pub fn mirrored_slots_are_one_slice<P, C>(
    build: impl Fn(Config) -> (P, C),
    backing: impl Fn(&P) -> Backing,
) where
    P: SingleProducer<Item = u64>,
    C: SingleConsumer<Item = u64>,
{
    let (mut tx, mut rx) = build(Config::new(4096).memory(Memory::Mirrored));
    let lends_slots = tx.write_chunk_uninit(4096).is_ok_and(|chunk| chunk.len() == 4096);
    if lends_slots && cfg!(target_os = "linux") {
        assert_eq!(backing(&tx), Backing::Mirrored);
    }
    if backing(&tx) == Backing::Mirrored {
        one_slice_anywhere(&mut tx, &mut rx);
    }
}

/// Checks that no chunk has a second slice, wherever in the ring it begins.
fn one_slice_anywhere<P, C>(tx: &mut P, rx: &mut C)
where
    P: SingleProducer<Item = u64>,
    C: SingleConsumer<Item = u64>,
{
    for n in [1, 700, 1000, 3000, 4096] {
        for _ in 0..20 {
            let mut chunk = tx.write_chunk_uninit(n).expect("the queue is empty");
            let (first, second) = chunk.as_mut_slices();
            assert!(second.is_empty());
            for (slot, number) in first.iter_mut().zip(0..) {
                slot.write(number);
            }
            let len = chunk.len();
            // SAFETY: all slots are written.
            unsafe { chunk.commit(len) };
            tx.flush();
            let chunk = rx.read_chunk(n).expect("as many items are there");
            assert!(chunk.as_slices().1.is_empty());
            assert!(chunk.as_slices().0.iter().copied().eq(0..len as u64));
            chunk.commit_all();
        }
    }
}
