//! The properties that a queue of byte records must have besides those of all queues.
//!
//! | module | what is checked |
//! |---|---|
//! | [`calls`] | any sequence of calls by many handles in one thread, compared with a model |
//! | [`lengths`] | every length: which are too long, how many records fit |
//! | [`one_to_one`] | the ring for one producer and one consumer: any sequence of calls, lengths, two threads |
//! | [`threads`] | several threads, with records of random lengths and known contents |

pub mod calls;
pub mod lengths;
pub mod one_to_one;
pub mod threads;

/// The byte at place `i` of record `number`.
fn byte(number: u64, i: usize) -> u8 {
    let mixed = (number ^ i as u64 >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (8 * (i & 7))) as u8
}

/// Writes record `number`.
fn fill(bytes: &mut [u8], number: u64) {
    for (i, byte_of) in bytes.iter_mut().enumerate() {
        *byte_of = byte(number, i);
    }
}

/// Whether these are the first bytes of record `number`.
fn is_record(bytes: &[u8], number: u64) -> bool {
    bytes.iter().enumerate().all(|(i, byte_of)| *byte_of == byte(number, i))
}
