//! Two threads on cores of our choice, and how they wait for each other.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Where the two sides of a queue run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cores {
    /// On two cores, if there are as many.
    Two,
    /// On one.
    One,
}

impl Cores {
    /// Pins the calling thread; where that is not possible it runs anywhere.
    fn pin(self, side: usize) {
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        let index = match self {
            Self::Two => side.min(cores.len().saturating_sub(1)),
            Self::One => 0,
        };
        if let Some(&core) = cores.get(index) {
            core_affinity::set_for_current(core);
        }
    }
}

/// Runs `a` and `b` at the same time, each in a thread of its own.
pub(crate) fn both<A: Send, B: Send>(
    cores: Cores,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    let ready = AtomicUsize::new(0);
    let start = |side| {
        cores.pin(side);
        ready.fetch_add(1, Ordering::Relaxed);
        let mut patience = Patience::default();
        while ready.load(Ordering::Relaxed) < 2 {
            patience.wait();
        }
    };
    thread::scope(|scope| {
        let start = &start;
        let a = scope.spawn(move || (start(0), a()).1);
        let b = scope.spawn(move || (start(1), b()).1);
        let (a, b) = (a.join(), b.join());
        (
            a.unwrap_or_else(|panic| resume_unwind(panic)),
            b.unwrap_or_else(|panic| resume_unwind(panic)),
        )
    })
}

/// How a thread waits: it spins a little, then lets others run, then sleeps, and in the end gives up.
#[derive(Debug, Default)]
pub(crate) struct Patience(u32);

impl Patience {
    /// Spins until the core is given away.
    const SPINS: u32 = 64;
    /// Attempts until the thread sleeps between them.
    const AWAKE: u32 = Self::SPINS + 1_000;
    /// Attempts that are too many: each of the last is a millisecond at least.
    const MOST: u32 = Self::AWAKE + 3_000;

    /// Waits a little longer than the last time.
    pub(crate) fn wait(&mut self) {
        self.0 += 1;
        assert!(self.0 <= Self::MOST, "nothing has moved in {} attempts", Self::MOST);
        if self.0 <= Self::SPINS {
            std::hint::spin_loop();
        } else if self.0 <= Self::AWAKE {
            thread::yield_now();
        } else {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// How often it has slept.
    pub(crate) fn naps(&self) -> u32 {
        self.0.saturating_sub(Self::AWAKE)
    }

    /// Calls `try_it` until it gives something, or too often.
    pub(crate) fn until<R>(mut try_it: impl FnMut() -> Option<R>) -> R {
        let mut patience = Self::default();
        loop {
            match try_it() {
                Some(result) => return result,
                None => patience.wait(),
            }
        }
    }
}

/// `n` operations, scaled by the environment variable `CORELANE_STRESS`.
pub(crate) fn scaled(n: u64) -> u64 {
    let scale = std::env::var("CORELANE_STRESS")
        .map_or(1.0, |text| text.parse::<f64>().expect("CORELANE_STRESS is a number, such as 0.1"));
    ((n as f64 * scale) as u64).max(1)
}
