//! Byte records.

use coherence::pause;
use corelane_sim::record_ring::{Heir, Producer, size_of_record};
use corelane_sim::{CapacityError, Config};

use super::{Done, ITEMS};

/// Both sides of a small ring, which is full after two to seven records.
pub(super) fn sides(seed: u64) -> Result<(Heir, Heir), CapacityError> {
    let capacity = 32 + 8 * (seed as usize % 7);
    Heir::both(Config::new(capacity).block(24).first(0_u64.wrapping_sub(seed % 19)))
}

/// The bytes of a record, whose length follows from its number.
fn record(number: u64) -> Vec<u8> {
    vec![number as u8; [0, 24, 3, 16, 8, 21][number as usize % 6]]
}

/// Pushes all records from the queue's position on. A thread that is dead goes no further; it only
/// ends its call.
pub(super) fn push(side: Heir, done: &Done, is_victim: bool) {
    let is_dead = || is_victim && done.is_dead.get();
    let Ok(mut tx) = side.producer() else {
        // It was killed before its first push.
        assert!(is_dead(), "no producer can have left the ring so");
        return;
    };
    let mut next = tx.count();
    if done.is_dead.get() && !is_victim {
        done.check_position(next, 1);
    }
    while next < ITEMS && !is_dead() {
        // Every third one is claimed in vain before.
        if next % 3 == 0 {
            _ = tx.try_claim(24).map(|mut claim| claim.fill(255));
        }
        let is_pushed = tx.try_push(&record(next)).is_ok();
        if is_dead() {
            return;
        }
        if is_pushed {
            next += 1;
        } else {
            pause(1);
        }
        if is_victim {
            done.returned.set(next);
        }
    }
    if !is_victim {
        check_room(&mut tx, done);
    }
}

/// All room comes back, also that of a dead process: records of one length fit as promised.
fn check_room(tx: &mut Producer, done: &Done) {
    while done.popped.get() < ITEMS {
        pause(1);
    }
    let len = if tx.capacity().is_multiple_of(16) { 0 } else { tx.max_len() };
    let (each, mut inside) = (size_of_record(len), 0);
    while inside + each <= tx.capacity() {
        // What the consumer has given back may still be in its store buffer.
        let is_pushed = (0..1000).any(|_| {
            pause(1);
            tx.try_push(&vec![0; len]).is_ok()
        });
        assert!(is_pushed, "{inside} bytes are inside, and {each} more have no room");
        inside += each;
    }
}

/// Pops all records from the queue's position on.
pub(super) fn pop(side: Heir, done: &Done, is_victim: bool) {
    let is_dead = || is_victim && done.is_dead.get();
    let Ok(mut rx) = side.consumer() else {
        assert!(is_dead(), "no consumer can have left the ring so");
        return;
    };
    let from = rx.count();
    if done.is_dead.get() && !is_victim {
        done.check_position(from, 1);
        // The pop that was interrupted has happened.
        done.popped.set(from);
    }
    while !is_dead() && done.popped.get() < ITEMS {
        let is_popped = match rx.try_pop() {
            Ok(found) => {
                let bytes = found.to_vec();
                // A dead thread ends its read later, and what it reads then may be new.
                assert!(is_dead() || bytes == record(done.popped.get()), "a record is damaged");
                true
            }
            Err(_) => false,
        };
        if is_dead() {
            return;
        }
        match is_popped {
            true => done.pop(done.popped.get()),
            false => pause(1),
        }
        if is_victim {
            done.returned.set(done.popped.get());
        }
    }
}
