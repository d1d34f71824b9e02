//! The start of a lane's memory: what the lane is for, and where its processes sleep.
//!
//! | bytes | |
//! |---|---|
//! | 0 to 71 | nine words of 8 bytes: "corelane", version of the layout, "linering", "records", "lanes" or "seqring", size and alignment of an item, a hash of its name, capacity, longest record, number of lanes or 0, length of the file |
//! | 72 to 87 | the last epochs, plus 1, in which the owner of each side was found dead |
//! | 128 to 131 | where the consumer sleeps, a futex: bits 0 to 11 how many sleep; bit 12: the producer must run a fence before it reads this word; bits 13 to 31 how often a sleeper was woken |
//! | 256 to 259 | the same of the producer |
//! | 4096 on | the queue: presence (8 bytes), then at multiples of 128 the variables: of items `read`, `popped`, `first`, of records `read`, `popped`, `pushed`, `first`, of lanes `used` and then `head` and `read` of each, of a seqring `tail` and `head`; then the lines, words or slots (a stamp and the words of an item). Behind the slots of lanes, a futex for each producer, at multiples of 128 |

use core::mem::size_of;
use std::os::fd::BorrowedFd;

use super::carried::{Carried, Named, Sizes};
use super::error::{Error, QUEUE, system};
use crate::memory::{AtomicU32, AtomicU64, Ordering};
use crate::pad::Padded;

/// Where the queue begins.
pub(super) const QUEUE_AT: usize = 4096;

/// Changes with the layout of the header or of a queue.
const VERSION: u64 = 2;

/// The first part of a lane's memory.
#[repr(C)]
pub(super) struct Header {
    about: [AtomicU64; WORDS],
    /// Of the producer and of the consumer.
    pub(super) died: [AtomicU64; 2],
    /// Consumers sleep here.
    pub(super) items: Padded<AtomicU32>,
    /// The producer of a `Lane` sleeps here.
    pub(super) room: Padded<AtomicU32>,
}

const _: () = assert!(size_of::<Header>() <= QUEUE_AT);

/// Words that say what a lane is for.
const WORDS: usize = 9;

/// What a lane is for.
pub(super) struct About([u64; WORDS]);

/// The names of the words, as errors tell them.
const FIELDS: [&str; WORDS] = [
    "magic number",
    "version of the layout",
    QUEUE,
    "size of an item",
    "alignment of an item",
    "hash of the item's name",
    "capacity",
    "longest record or number of lanes",
    "length",
];

impl About {
    /// A lane that carries `T`, of this name.
    pub(super) fn lane<T: Carried + ?Sized>(sizes: Sizes, len: usize, named: Named<'_>) -> Self {
        let word = |name: &[u8; 8]| u64::from_ne_bytes(*name);
        Self([
            word(b"corelane"),
            VERSION,
            word(&T::QUEUE),
            T::ITEM.0 as u64,
            named.align as u64,
            hash(named.name),
            sizes.capacity as u64,
            sizes.longest as u64,
            len as u64,
        ])
    }

    /// What a lane is for, by its header. Read once: another process may change it.
    ///
    /// # Errors
    ///
    /// If the file is too short.
    pub(super) fn read(file: BorrowedFd<'_>) -> Result<Self, Error> {
        let mut bytes = [0; size_of::<[u64; WORDS]>()];
        let read = rustix::io::pread(file, &mut bytes, 0);
        if system("the header of the lane (pread)", read)? != bytes.len() {
            return Err(Error::NotALane);
        }
        let word = |i: usize| {
            let word = bytes[8 * i..][..8].try_into();
            u64::from_ne_bytes(word.expect("it has eight bytes"))
        };
        Ok(Self(core::array::from_fn(word)))
    }

    /// The sizes that were asked for.
    pub(super) fn sizes(&self) -> Option<Sizes> {
        let size = |i: usize| usize::try_from(self.0[i]).ok();
        Some(Sizes { capacity: size(6)?, longest: size(7)? })
    }

    /// Whether the lane is for what is expected.
    ///
    /// # Errors
    ///
    /// If it is not: the first difference.
    pub(super) fn check(&self, expected: &Self) -> Result<(), Error> {
        let pairs = FIELDS.iter().zip(expected.0).zip(self.0);
        let mut differing = pairs.filter(|((_, expected), found)| expected != found);
        match differing.next() {
            None => Ok(()),
            Some(((field, _), _)) if *field == FIELDS[0] => Err(Error::NotALane),
            Some(((field, expected), found)) => Err(Error::Differs { field, expected, found }),
        }
    }
}

impl Header {
    /// Writes what the lane is for, into memory that no other process uses yet.
    pub(super) fn write(&self, about: &About) {
        for (word, value) in self.about.iter().zip(about.0) {
            // Relaxed: the descriptor is passed on afterwards.
            word.store(value, Ordering::Relaxed);
        }
    }
}

/// A hash of the last part of a type's path, and of those of its parameters (FNV-1a).
fn hash(name: &str) -> u64 {
    let parts = name.split_inclusive(['<', '>', ',', ';', '[', ']', '(', ')', ' ']);
    let last = parts.map(|part| part.rsplit("::").next().unwrap_or(part));
    last.flat_map(str::bytes).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_type_does_not_count() {
        assert_eq!(hash("a::b::Tick"), hash("other::Tick"));
        assert_eq!(hash("[a::Tick; 4]"), hash("[b::c::Tick; 4]"));
        assert_ne!(hash("a::Tick"), hash("a::Tock"));
        assert_ne!(hash("[a::Tick; 4]"), hash("[a::Tick; 5]"));
    }
}
