//! Items of several words.

use corelane::{Config, Queue};

use crate::params::Trial;
use crate::payload::{Payload, Pool};
use crate::sample::Sample;
use crate::suite::spsc::SpscSetting;
use crate::suite::spsc::stream;

/// An item of `N` words, the first of which is its number. The other words follow from the number,
/// and the consumer checks all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<const N: usize>([u64; N]);

impl<const N: usize> Payload for Words<N> {
    #[inline(always)]
    fn make(_: Pool, number: u64) -> Self {
        // Not `array::from_fn`, which calls a function for each word.
        let mut words = [number; N];
        for (at, word) in words.iter_mut().enumerate() {
            *word = number.wrapping_add(at as u64);
        }
        Self(words)
    }

    /// A value beyond all numbers if the words don't belong together.
    #[inline(always)]
    unsafe fn read(self) -> u64 {
        let Self(words) = self;
        let error = |(at, word): (usize, &u64)| word.wrapping_sub(at as u64) ^ words[0];
        let errors = words.iter().enumerate().map(error).fold(0, |all, error| all | error);
        words[0] ^ u64::from(errors != 0) << 63
    }
}

/// A queue of items of each size.
pub(crate) trait Roomy:
    Queue<Words<2>> + Queue<Words<3>> + Queue<Words<8>> + Queue<Words<32>> + Queue<Words<128>>
{
}

impl<Q> Roomy for Q where
    Q: Queue<Words<2>> + Queue<Words<3>> + Queue<Words<8>> + Queue<Words<32>> + Queue<Words<128>>
{
}

/// The measurement of a queue with items of one size.
pub(crate) struct Kernel {
    pub(crate) measure: fn(&Trial<'_>, &SpscSetting) -> Sample,
    /// Makes the queue and drops it. The error says what is wrong with the parameters.
    pub(crate) probe: fn(Config) -> Result<(), String>,
}

impl Kernel {
    /// The kernel for items of more than a word.
    pub(crate) fn for_bytes<Q: Roomy>(bytes: usize) -> Option<Self> {
        Some(match bytes {
            16 => Self::of::<Words<2>, Q>(),
            24 => Self::of::<Words<3>, Q>(),
            64 => Self::of::<Words<8>, Q>(),
            256 => Self::of::<Words<32>, Q>(),
            1024 => Self::of::<Words<128>, Q>(),
            _ => return None,
        })
    }

    fn of<T: Payload, Q: Queue<T>>() -> Self {
        Self {
            measure: stream::measure_plain::<T, Q>,
            probe: |config| Q::with(config).map(drop).map_err(|error| error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::NO_POOL;

    #[test]
    fn every_word_counts() {
        for number in [0, 5, u64::MAX] {
            let item = Words::<8>::make(NO_POOL, number);
            // SAFETY: there is nothing that could be freed.
            assert_eq!(unsafe { item.read() }, number);
            for at in 0..8 {
                let mut torn = item;
                torn.0[at] ^= 1 << 40;
                // SAFETY: as above.
                assert_ne!(unsafe { torn.read() }, number, "word {at}");
            }
        }
    }
}
