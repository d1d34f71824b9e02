//! Every length: which are too long, and how many records fit.

use corelane::block::bytes::{queue, queue_with};
use corelane::bytes::{Claim, ClaimError, Consumer, Producer};
use corelane::{CapacityError, Config, Memory, TryPopError};

use super::{fill, is_record};

/// Pushes record `number` with so many bytes.
fn push(tx: &mut Producer, number: u64, len: usize) -> Result<(), ClaimError> {
    let mut claim = tx.try_claim(len)?;
    fill(&mut claim, number);
    claim.commit();
    Ok(())
}

/// Pops record `number`, which has so many bytes.
fn pop(rx: &mut Consumer, number: u64, len: usize) {
    let record = rx.try_pop().expect("a record is there");
    assert_eq!(record.len(), len);
    assert!(is_record(&record, number), "record {number} of {len} bytes");
}

/// A record of each possible length is pushed and popped, alone and with another record. Longer
/// records are refused, and change nothing.
pub fn every_length() {
    for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
        for (capacity, block) in [(1, 16), (100, 32), (1 << 14, 16), (4096, 1024)] {
            // At least four blocks, so that a block and one more granule are at most half of the
            // queue.
            let config = Config::new(capacity.max(4 * block)).block(block).memory(memory);
            let (mut tx, mut rx) = queue_with(config).expect("this capacity is possible");
            let most = tx.max_len();
            assert!(tx.capacity() >= capacity && most == block);
            for (number, len) in (0..).zip((0..=most).chain((0..=most).rev())) {
                push(&mut tx, number, len).expect("the queue is empty");
                pop(&mut rx, number, len);
                for len in [len, most - len] {
                    push(&mut tx, number, len).expect("half of the queue is free");
                }
                for len in [len, most - len] {
                    pop(&mut rx, number, len);
                }
                assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
                let error = ClaimError::TooLarge { len: most + 1 + len, most };
                assert_eq!(tx.try_claim(most + 1 + len).err(), Some(error));
            }
        }
    }
}

/// Records without bytes are records (row `zero_length_batch`).
pub fn zero_length_batch() {
    let (mut tx, mut rx) = queue(256).expect("this capacity is possible");
    for _ in 0..100 {
        let pushed = (0..).take_while(|_| tx.try_push(b"").is_ok()).count();
        assert!(pushed > (256 - tx.max_len()) / 16, "each takes 16 bytes");
        for _ in 0..pushed {
            assert_eq!(rx.try_pop().expect("as many are there").len(), 0);
        }
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
        // An aborted claim without bytes leaves no record.
        tx.try_claim(0).expect("the queue is empty").abort();
        tx.try_claim(16).expect("the queue is empty").commit_len(0);
        assert_eq!(rx.try_pop().expect("one is there").len(), 0);
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    }
}

/// The room of aborted claims becomes free even if no consumer pops.
pub fn aborted_claims_give_room_back() {
    for (len, block) in [(32, 32), (1, 16), (20, 64)] {
        let config = Config::new(2 * block).block(block);
        let (mut tx, mut rx) = queue_with(config).expect("this capacity is possible");
        for _ in 0..100 {
            tx.try_claim(len).expect("nothing is held").abort();
        }
        push(&mut tx, 0, len).expect("there is room");
        for _ in 0..100 {
            // The aborted claim behind a record becomes free together with the record.
            let _ = tx.try_claim(len).map(Claim::abort);
        }
        assert_eq!(rx.try_pop().expect("it is there").len(), len);
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
        push(&mut tx, 1, block).expect("there is room");
    }
}

/// A new queue takes as many records as fill its blocks, whatever their length.
pub fn exact_when_new() {
    for block in [16, 64, 256] {
        for len in 0..=block {
            let config = Config::new(4 * block).block(block);
            let (mut tx, mut rx) = queue_with(config).expect("this capacity is possible");
            let fit = 8 * (block / len.next_multiple_of(16).max(16));
            for number in 0..fit as u64 {
                push(&mut tx, number, len).expect("there is room");
            }
            assert_eq!(push(&mut tx, 0, len), Err(ClaimError::Full));
            for number in 0..fit as u64 {
                pop(&mut rx, number, len);
            }
            assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
        }
    }
}

/// A record that doesn't fit leaves the rest of its block to shorter records.
pub fn full_leaves_the_rest() {
    let (mut tx, mut rx) =
        queue_with(Config::new(64).block(64)).expect("this capacity is possible");
    for (number, len) in [(0, 64), (1, 48)] {
        push(&mut tx, number, len).expect("there is room");
    }
    assert_eq!(push(&mut tx, 2, 17), Err(ClaimError::Full));
    assert_eq!(push(&mut tx, 2, 16), Ok(()));
    assert_eq!(push(&mut tx, 3, 0), Err(ClaimError::Full));
    for (number, len) in [(0, 64), (1, 48), (2, 16)] {
        pop(&mut rx, number, len);
    }
}

/// While a record is held, its block doesn't become free, and the other blocks do.
pub fn busy_while_a_record_is_held() {
    let (mut tx, mut rx) =
        queue_with(Config::new(128).block(64)).expect("this capacity is possible");
    let mut others = rx.clone();
    push(&mut tx, 0, 64).expect("there is room");
    let held = rx.try_pop().expect("a record is there");
    for number in 1..4 {
        push(&mut tx, number, 33).expect("there is room");
        pop(&mut others, number, 33);
    }
    push(&mut tx, 4, 16).expect("there is room left in the last block");
    assert_eq!(push(&mut tx, 5, 1), Err(ClaimError::Busy));
    assert!(is_record(&held, 0));
    drop(held);
    push(&mut tx, 5, 64).expect("a block is free");
    pop(&mut rx, 4, 16);
    pop(&mut rx, 5, 64);
}

/// Impossible capacities and blocks are refused with an error that says which are possible (row
/// `capacity_overflow`).
pub fn capacity_overflow() {
    let half = usize::MAX / 2;
    for asked in [0, usize::MAX, usize::MAX - 1, half, half + 1, half - 63] {
        let error = queue(asked).expect_err("no machine has so much");
        let CapacityError::OutOfRange { asked: named, most } = error else {
            panic!("{error} for {asked}")
        };
        assert_eq!(named, asked);
        assert!(most > 1 << 40, "far more than any machine has memory for: {most}");
        let refused = queue(most).expect_err("no machine has so much");
        assert!(matches!(refused, CapacityError::OutOfMemory { bytes } if bytes > most));
        assert!(matches!(queue(most + 1), Err(CapacityError::OutOfRange { .. })));
    }
    for block in [usize::MAX, half, half / 2 + 1] {
        assert!(queue_with(Config::new(1).block(block)).is_err(), "blocks of {block} bytes");
        assert!(queue_with(Config::new(0).block(block)).is_err());
    }
    let (tx, _rx) = queue_with(Config::new(1).block(1500)).expect("this capacity is possible");
    assert_eq!((tx.capacity(), tx.max_len()), (2048, 2048));
}

/// Records pass the end of the ring and of all counters, wherever counters start (row
/// `counter_wrap_width`).
pub fn counter_wrap_width() {
    for end in [0, 1 << 63, 1 << 48, 1 << 32, 1 << 31, 1 << 16, 1 << 8_u64] {
        for before in [1, 16, 32, 100] {
            let config = Config::new(512).block(128).first(u64::wrapping_sub(end, before));
            let (mut tx, mut rx) = queue_with(config).expect("this capacity is possible");
            for number in 0..200 {
                let lens = [number as usize * 7 % 129, number as usize * 13 % 129];
                for len in lens {
                    push(&mut tx, number, len).expect("half of the queue is free");
                }
                for len in lens {
                    pop(&mut rx, number, len);
                }
                assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
            }
        }
    }
}

/// Laps of 2^8 and 2^16, of blocks of one granule, change nothing (row `aba_on_narrow_index`).
pub fn aba_on_narrow_index() {
    let (mut tx, mut rx) = queue(1).expect("this capacity is possible");
    for number in 0..1 << 18 {
        push(&mut tx, number, 8).expect("the queue is empty");
        pop(&mut rx, number, 8);
    }
}

/// A panic while a claim or a record is held aborts the claim or releases the record (row
/// `drop_panics_mid_batch`).
pub fn drop_panics_mid_batch() {
    let (mut tx, mut rx) =
        queue_with(Config::new(64).block(64)).expect("this capacity is possible");
    for number in 0..20 {
        corelane_harness::ledger::must_explode(std::panic::AssertUnwindSafe(|| {
            let _claim = tx.try_claim(64).expect("the queue is empty");
            corelane_harness::ledger::explode();
        }));
        push(&mut tx, number, 64).expect("a block is free");
        corelane_harness::ledger::must_explode(std::panic::AssertUnwindSafe(|| {
            let record = rx.try_pop().expect("an aborted claim blocks no record");
            assert!(is_record(&record, number));
            corelane_harness::ledger::explode();
        }));
        assert_eq!(rx.try_pop().err(), Some(TryPopError::Empty));
    }
}
