//! The floor of streams: how fast two cores move lines, if all that a queue must also do is left
//! out.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::Ordering;

use crate::clock::median_ns;
use crate::floor::{PaddedWord, await_count};
use crate::threads::{self, Cores, Gate, Wait};

/// Samples of which the median is taken.
const SAMPLES: usize = 9;
/// Lines of a sample: a lap of the largest ring.
const LINES: usize = 4096;
/// Words of a line.
const WORDS: usize = 8;

/// A way to move lines: in blocks with one flag each, as the queues do it.
struct Way {
    /// Lines of a block.
    lines: usize,
    /// Blocks of the ring.
    blocks: usize,
    /// Each side fetches the block that is so far before it, to write it; 0 if it doesn't.
    ahead: usize,
    /// Whether the consumer writes to each line that it has read, so that the line moves back in
    /// one step.
    hands_back: bool,
}

/// Which one is the fastest depends on the machine and the distance. Rings have 32 KiB, as those for
/// 4096 words, or 256 KiB, as those for 4096 lines.
const WAYS: [Way; 4] = [
    Way { lines: 64, blocks: 8, ahead: 0, hands_back: false },
    Way { lines: 16, blocks: 256, ahead: 0, hands_back: false },
    // As the line ring.
    Way { lines: 8, blocks: 64, ahead: 2, hands_back: true },
    Way { lines: 8, blocks: 512, ahead: 2, hands_back: true },
];

/// Plain words and not atomics, so that both sides may use vector instructions.
#[repr(align(64))]
struct Line(UnsafeCell<[u64; WORDS]>);

// SAFETY: in `Way::measure` a line is written by the producer only while `read` says that the
// consumer has finished with it, and used by the consumer only while `written` says that the
// producer has; both counters are released and acquired.
unsafe impl Sync for Line {}

/// Nanoseconds per u64 of the fastest way.
pub(crate) fn line_stream(cores: Cores) -> f64 {
    WAYS.iter().map(|way| way.measure(cores)).fold(f64::INFINITY, f64::min)
}

impl Way {
    /// The median of the samples, per u64.
    fn measure(&self, cores: Cores) -> f64 {
        let line = || Line(UnsafeCell::new([0; WORDS]));
        let ring: Vec<Line> = (0..self.lines * self.blocks).map(|_| line()).collect();
        let block = |number: u64| {
            let at = number as usize % self.blocks * self.lines;
            &ring[at..at + self.lines]
        };
        let (written, read) = (&PaddedWord::default(), &PaddedWord::default());
        let (gate, wait) = (&Gate::default(), cores.wait(Wait::Spin));
        let (ahead, per_sample) = (self.ahead as u64, LINES / self.lines);
        // The first lap is not measured: then all pages are there.
        let first = self.blocks as u64;
        let total = first + (SAMPLES * per_sample) as u64;
        let produce = || {
            gate.meet(wait);
            let mut free = first;
            for number in 0..total {
                if number == free {
                    free = first + awaited(read, number + 1 - first, wait);
                }
                if ahead > 0 && number + ahead < free {
                    block(number + ahead).iter().for_each(prefetch_to_write);
                }
                for line in block(number) {
                    // SAFETY: the consumer has finished with this line, and uses it again only
                    // after `written` is stored below.
                    unsafe { *line.0.get() = [number; WORDS] };
                }
                written.0.store(number + 1, Ordering::Release);
            }
        };
        let consume = || {
            gate.meet(wait);
            let (mut filled, mut next) = (0, 0);
            let mut blocks = |count: usize| {
                for number in next..next + count as u64 {
                    if number == filled {
                        filled = awaited(written, number + 1, wait);
                    }
                    if ahead > 0 && number + ahead < filled {
                        block(number + ahead).iter().for_each(prefetch_to_write);
                    }
                    let sum = self.take(block(number));
                    assert_eq!(
                        black_box(sum),
                        number.wrapping_mul((WORDS * self.lines) as u64),
                        "a block arrived torn"
                    );
                    read.0.store(number + 1, Ordering::Release);
                }
                next += count as u64;
            };
            blocks(self.blocks);
            median_ns(SAMPLES, || blocks(per_sample))
        };
        let ((), ns) = threads::run(cores, produce, consume);
        ns / (LINES * WORDS) as f64
    }

    /// The sum of a block's words.
    fn take(&self, block: &[Line]) -> u64 {
        let mut sum = 0u64;
        for line in block {
            // SAFETY: the producer has written this line, and waits for `read` before it writes the
            // line again.
            let words = unsafe { &mut *line.0.get() };
            sum = words.iter().fold(sum, |sum, word| sum.wrapping_add(*word));
            if self.hands_back {
                // SAFETY: as above; volatile, because nobody reads what it writes.
                unsafe { (&raw mut words[0]).write_volatile(sum) };
            }
        }
        sum
    }
}

/// The counter, once it is at least `value`.
fn awaited(counter: &PaddedWord, value: u64, wait: Wait) -> u64 {
    await_count(counter, value, wait);
    counter.0.load(Ordering::Acquire)
}

/// Fetches the line in a state in which it can be written, if the machine has an instruction for it.
fn prefetch_to_write(line: &Line) {
    let address = line.0.get();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, and changes no memory.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        core::arch::asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use core_affinity::CoreId;

    use super::*;

    #[test]
    fn every_way_moves_all_lines() {
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        let first = cores.first().copied().unwrap_or(CoreId { id: 0 });
        let second = cores.get(1).copied().unwrap_or(first);
        for way in WAYS {
            let cores = Cores { producer: first, consumer: second };
            assert!(way.measure(cores) > 0.0, "{} lines", way.lines);
        }
    }
}
