//! Heap, huge pages and mirrored slots.

use corelane::{
    Backing, Config, Consumer, Memory, Producer, SingleConsumer, SingleProducer, lamport,
};

use crate::{Single, Subject};

/// Whether queues can map memory on this machine, as the simplest queue says.
fn is_mapped() -> bool {
    let config = Config::new(4096).memory(Memory::Mirrored);
    lamport::queue_with::<u64>(config).is_ok_and(|(tx, _)| tx.backing() == Backing::Mirrored)
}

/// Queues state their kind of memory truthfully. An unbounded queue has no single region, and
/// states none.
pub fn backing_is_told<P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = u64>,
    C: Consumer<Item = u64>,
{
    if !subject.info.bounded {
        return;
    }
    let open = |capacity, memory| subject.open(Config::new(capacity).memory(memory)).0;
    for capacity in [1, 512, 4096] {
        assert_eq!(open(capacity, Memory::Heap).backing(), Backing::Heap);
        let mut tx = open(capacity, Memory::HugePages);
        if is_mapped() {
            assert!(matches!(tx.backing(), Backing::HugePages | Backing::TransparentHugePages));
        } else {
            assert_eq!(tx.backing(), Backing::Heap);
        }
        // No consumer will pop the item.
        assert!(tx.try_push(1).is_ok());
    }
    // A few slots do not fill a page: no mirror.
    assert_eq!(open(3, Memory::Mirrored).backing(), Backing::Heap);
}

/// Mirrored slots are lent as one slice, wherever in the ring the slice begins.
pub fn mirrored_slots_are_one_slice(subject: &Single<u64>) {
    let (mut tx, mut rx) = subject.open(Config::new(4096).memory(Memory::Mirrored));
    if subject.info.bounded && lends_two_slices(subject) && is_mapped() {
        assert_eq!(tx.backing(), Backing::Mirrored);
    }
    if tx.backing() == Backing::Mirrored {
        one_slice_anywhere(&mut tx, &mut rx);
    }
}

/// Whether a chunk of a queue on the heap has two slices: queues that lend copies give one.
fn lends_two_slices(subject: &Single<u64>) -> bool {
    let (mut tx, mut rx) = subject.open(Config::new(4096));
    tx.push_iter(0..3000);
    tx.flush();
    assert_eq!(rx.pop_iter().count(), 3000);
    tx.write_chunk_uninit(4096).is_ok_and(|mut chunk| !chunk.as_mut_slices().1.is_empty())
}

/// Checks that no chunk has a second slice, wherever in the ring the chunk begins.
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
