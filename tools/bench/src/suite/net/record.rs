//! The bytes of an item, and the clock of both ends.

use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The number of the last item: the sender has ended.
pub(super) const END: u64 = u64::MAX;

/// What is behind the number of an item.
const FILLING: u8 = 7;

/// Appends an item of `len` bytes with this number.
#[inline]
pub(super) fn append(number: u64, len: usize, to: &mut Vec<u8>) {
    let end = to.len() + len;
    to.extend_from_slice(&number.to_le_bytes());
    to.resize(end, FILLING);
}

/// An item of `len` bytes with this number.
#[inline]
pub(super) fn of(number: u64, len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len);
    append(number, len, &mut bytes);
    bytes
}

/// The number of an item of `len` bytes.
#[inline]
pub(super) fn number(bytes: &[u8], len: usize) -> Result<u64, String> {
    let (number, filling) = bytes.split_first_chunk().ok_or("an item is too short")?;
    let is_whole = bytes.len() == len && filling.last().is_none_or(|&last| last == FILLING);
    is_whole.then_some(u64::from_le_bytes(*number)).ok_or_else(|| "an item is damaged".into())
}

/// Appends an item with its length before it.
#[inline]
pub(super) fn append_with_length(number: u64, len: usize, to: &mut Vec<u8>) {
    to.extend_from_slice(&(len as u32).to_le_bytes());
    append(number, len, to);
}

/// Takes the first item with its length before it. `None` if it isn't whole yet.
#[inline]
pub(super) fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*len) as usize)
}

/// Nanoseconds of a clock that all processes of the machine share.
#[inline]
pub(super) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A sleep is longer than it should be by about as much.
const SLEEP: u64 = 80_000;

/// Waits until a time of the clock. Other threads may have the core meanwhile.
pub(super) fn wait_until(due: u64) {
    loop {
        match due.saturating_sub(now()) {
            0 => return,
            left @ SLEEP.. => thread::sleep(Duration::from_nanos(left - SLEEP + 1)),
            _ => thread::yield_now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_what_was_appended_and_damage_is_seen() {
        for len in [8, 64, 1024] {
            let mut bytes = Vec::new();
            append_with_length(3, len, &mut bytes);
            append_with_length(4, len, &mut bytes);
            let (first, rest) = split(&bytes).expect("two items");
            assert_eq!(number(first, len), Ok(3));
            assert!(split(&rest[..len]).is_none());
            assert_eq!(split(rest).map(|(item, _)| number(item, len)), Some(Ok(4)));
        }
        assert!(number(&of(1, 64)[..63], 64).is_err());
        assert!(number(&[0; 64], 64).is_err());
        assert!(number(&[0; 3], 3).is_err());
    }
}
