//! An item to the other thread and back.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::handles::{Channel, Receiver, Sender};
use super::usage::{Usage, between};
use crate::clock::Clock;
use crate::cores;
use crate::pair::{self, Gate, Wait};
use crate::params::{Length, Trial, WaitSetting};
use crate::sample::{Sample, histogram};

/// Pause before each question of threads that sleep: far longer than a thread looks for an item before it sleeps.
pub(super) const PAUSE: Duration = Duration::from_micros(200);
/// Round trips between two looks at the clock, unless each of them is timed.
pub(super) const CHUNK: u64 = 16;

/// The questions and their times.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) trips: u64,
    pub(super) ns: f64,
    /// The time of each trip, if both sides sleep before it.
    pub(super) times: Option<Histogram<u64>>,
    pub(super) usage: Option<Usage>,
    pub(super) wrong: u64,
}

/// Nanoseconds of a round trip.
pub(super) fn measure<C: Channel>(
    trial: &Trial<'_>,
    setting: &WaitSetting,
) -> Result<Sample, String> {
    let open = || C::open(trial.params.capacity, setting.size);
    let ((asks, asked), (answers, answered)) = (open()?, open()?);
    let seats = cores::seats(setting.size, setting.placement, trial.cores);
    let (gate, sleeps) = (&Gate::default(), setting.sleeps == Some(true));
    let (asked, (answered, used)) = pair::run_on(
        [seats[0], seats[1]],
        move || {
            let (mut tx, mut rx) = (only(asks), only(answered));
            gate.meet(Wait::Yield);
            match sleeps {
                true => ask_rarely(&mut tx, &mut rx, trial.length),
                false => ask(tx, rx, trial.length),
            }
        },
        move || {
            let (rx, tx) = (only(asked), only(answers));
            gate.meet(Wait::Yield);
            answer(rx, tx)
        },
    );
    let asking = asked.usage;
    let trips = asked.trips as f64;
    // The thread that answers counts the warm-up, too.
    let share = trips / answered.max(1) as f64;
    let answering = used
        .map(|Usage { cpu_ns, sleeps }| Usage { cpu_ns: share * cpu_ns, sleeps: share * sleeps });
    Ok(asked.sample()?.with_sides([asking, answering], trips))
}

impl Asked {
    /// The mean if both sides are busy, the median if they sleep before each question.
    pub(super) fn sample(self) -> Result<Sample, String> {
        if self.wrong > 0 {
            return Err(format!("{} answers were of other questions", self.wrong));
        }
        let median = self.times.as_ref().map(|times| times.value_at_quantile(0.5) as f64);
        let value = median.unwrap_or(self.ns / self.trips.max(1) as f64);
        Ok(Sample { latency: self.times, ..Sample::of(value) })
    }
}

/// The only handle, on the stack of its thread.
pub(super) fn only<H>(handles: Vec<H>) -> H {
    black_box(handles.into_iter().next().expect("there is one thread on each side"))
}

/// Asks again and again.
#[inline(never)]
fn ask<S: Sender, R: Receiver>(mut tx: S, mut rx: R, length: Length) -> Asked {
    let (mut last, mut wrong) = (0, 0);
    let (mut from, mut usage, mut begin) = (0, None, Instant::now());
    for length in length.parts() {
        (from, usage, begin) = (last, Usage::of_this_thread(), Instant::now());
        while !length.is_over(last - from, begin) {
            for _ in 0..CHUNK {
                last += 1;
                tx.put(last);
                wrong += u64::from(rx.get() != Some(last));
            }
        }
    }
    let ns = begin.elapsed().as_nanos() as f64;
    let usage = between(usage, Usage::of_this_thread());
    Asked { trips: last - from, ns, times: None, usage, wrong }
}

/// Pauses before each question, so that both threads are asleep, and times each trip.
fn ask_rarely<S: Sender, R: Receiver>(tx: &mut S, rx: &mut R, length: Length) -> Asked {
    let (clock, mut times) = (Clock::get(), histogram());
    let (mut last, mut wrong, mut slept) = (0, 0, Usage::default());
    let (begin, before) = (Instant::now(), Usage::of_this_thread());
    while last == 0 || !length.is_over(last, begin) {
        last += 1;
        let pause = Usage::of_this_thread();
        thread::sleep(PAUSE);
        slept = slept + between(pause, Usage::of_this_thread()).unwrap_or_default();
        let from = clock.now();
        tx.put(last);
        wrong += u64::from(rx.get() != Some(last));
        times.saturating_record(clock.ns(clock.now().saturating_sub(from)) as u64);
    }
    let ns = begin.elapsed().as_nanos() as f64;
    // The pauses are no part of a trip.
    let usage = between(before, Usage::of_this_thread()).map(|all| all - slept);
    Asked { trips: last, ns, times: Some(times), usage, wrong }
}

/// Answers until nobody asks. Returns the number of answers, and what they took.
#[inline(never)]
fn answer<R: Receiver, S: Sender>(mut rx: R, mut tx: S) -> (u64, Option<Usage>) {
    let before = Usage::of_this_thread();
    let mut answers = 0;
    while let Some(question) = rx.get() {
        tx.put(question);
        answers += 1;
    }
    (answers, between(before, Usage::of_this_thread()))
}
