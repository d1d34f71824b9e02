//! An item to a thread of the other side and back.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::handles::{Blocking, Receiver, Sender, Wanted};
use super::usage::{Usage, between};
use crate::clock::Clock;
use crate::cores;
use crate::kinds::TeamSize;
use crate::params::{Length, Trial};
use crate::sample::{Sample, histogram};
use crate::suite::mpmc::account::{Tally, number};
use crate::suite::wait::WaitSetting;
use crate::threads::{self, Gate, Task, Wait};

/// Pause before each question of threads that sleep: far longer than a thread looks for an item
/// before it sleeps.
pub(super) const PAUSE: Duration = Duration::from_micros(200);
/// Round trips between two looks at the clock, unless each of them is timed.
pub(super) const CHUNK: u64 = 16;

/// The questions of a thread or task, and their times.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) trips: u64,
    /// The time of all trips.
    pub(super) ns: f64,
    /// The time of each trip, if both sides sleep before it.
    pub(super) times: Option<Histogram<u64>>,
    pub(super) usage: Option<Usage>,
    pub(super) questions: Tally,
    pub(super) answers: Tally,
}

/// The results of a thread.
enum Side {
    Asking(Asked),
    /// The number of answers, and what they took.
    Answering(u64, Option<Usage>),
}

/// Nanoseconds of a round trip. With several threads a side, an answer goes to any of those that
/// ask.
pub(super) fn measure<C: Blocking>(
    trial: &Trial<'_>,
    setting: &WaitSetting,
) -> Result<Sample, String> {
    let TeamSize { producers, consumers } = setting.size;
    let back = TeamSize { producers: consumers, consumers: producers };
    let there = setting.wanted(trial.params.capacity);
    let (asks, asked) = C::open(there)?;
    let (answers, answered) = C::open(Wanted { size: back, ..there })?;
    let mut seats = cores::seats(setting.size, setting.placement, trial.cores).into_iter();
    let (gate, sleeps) = (&Gate::of(producers + consumers), setting.sleeps == Some(true));
    let mut tasks = Vec::<Task<'_, Side>>::new();
    for (asker, ((tx, rx), core)) in (0..).zip(asks.into_iter().zip(answered).zip(&mut seats)) {
        let ask = move || {
            let (mut tx, mut rx) = black_box((tx, rx));
            gate.meet(Wait::Yield);
            Side::Asking(match sleeps {
                true => ask_rarely(&mut tx, &mut rx, asker, trial.length),
                false => ask(tx, rx, asker, trial.length),
            })
        };
        tasks.push((core, Box::new(ask)));
    }
    for ((rx, tx), core) in asked.into_iter().zip(answers).zip(&mut seats) {
        let answer = move || {
            let (rx, tx) = black_box((rx, tx));
            gate.meet(Wait::Yield);
            answer(rx, tx)
        };
        tasks.push((core, Box::new(answer)));
    }
    sample(threads::all(tasks, &|| ()))
}

fn sample(sides: Vec<Side>) -> Result<Sample, String> {
    let (mut all, mut answered, mut answering) = (Asked::default(), 0, Some(Usage::default()));
    all.usage = Some(Usage::default());
    for side in sides {
        match side {
            Side::Asking(asked) => all.add(asked),
            Side::Answering(answers, usage) => {
                answered += answers;
                answering = answering.zip(usage).map(|(all, usage)| all + usage);
            }
        }
    }
    let (asking, trips) = (all.usage, all.trips as f64);
    // Threads that answer count the warm-up, too.
    let share = trips / answered.max(1) as f64;
    let answering = answering
        .map(|Usage { cpu_ns, sleeps }| Usage { cpu_ns: share * cpu_ns, sleeps: share * sleeps });
    Ok(all.sample()?.with_sides([asking, answering], trips))
}

impl Asked {
    fn add(&mut self, other: Self) {
        self.trips += other.trips;
        self.ns += other.ns;
        self.usage = self.usage.zip(other.usage).map(|(all, usage)| all + usage);
        self.questions += other.questions;
        self.answers += other.answers;
        self.times = match (self.times.take(), other.times) {
            (Some(all), Some(times)) => Some(all + times),
            (all, times) => all.or(times),
        };
    }

    /// The mean if both sides are busy, the median if they sleep before each question.
    pub(super) fn sample(self) -> Result<Sample, String> {
        if self.questions != self.answers {
            return Err("the answers were not those of the questions".into());
        }
        let median = self.times.as_ref().map(|times| times.value_at_quantile(0.5) as f64);
        let value = median.unwrap_or(self.ns / self.trips.max(1) as f64);
        Ok(Sample { latency: self.times, ..Sample::of(value) })
    }
}

/// Asks again and again.
#[inline(never)]
fn ask<S: Sender, R: Receiver>(mut tx: S, mut rx: R, asker: u8, length: Length) -> Asked {
    let mut asked = Asked::default();
    for length in length.parts() {
        let (from, usage, begin) = (asked.questions.items, Usage::of_this_thread(), Instant::now());
        while !length.is_over(asked.questions.items - from, begin) {
            for _ in 0..CHUNK {
                ask_once(&mut tx, &mut rx, asker, &mut asked);
            }
        }
        asked.trips = asked.questions.items - from;
        asked.ns = begin.elapsed().as_nanos() as f64;
        asked.usage = between(usage, Usage::of_this_thread());
    }
    asked
}

#[inline(always)]
fn ask_once<S: Sender, R: Receiver>(tx: &mut S, rx: &mut R, asker: u8, asked: &mut Asked) {
    let question = number(asker, asked.questions.items + 1);
    asked.questions.add(question);
    tx.put(question);
    asked.answers.add(rx.get().unwrap_or_default());
}

/// Pauses before each question, so that all threads are asleep, and times each trip.
fn ask_rarely<S: Sender, R: Receiver>(tx: &mut S, rx: &mut R, asker: u8, length: Length) -> Asked {
    let (clock, mut times, mut asked) = (Clock::get(), histogram(), Asked::default());
    let mut slept = Usage::default();
    let (begin, before) = (Instant::now(), Usage::of_this_thread());
    while asked.trips == 0 || !length.is_over(asked.trips, begin) {
        asked.trips += 1;
        let pause = Usage::of_this_thread();
        thread::sleep(PAUSE);
        slept = slept + between(pause, Usage::of_this_thread()).unwrap_or_default();
        let from = clock.now();
        ask_once(tx, rx, asker, &mut asked);
        times.saturating_record(clock.ns(clock.now().saturating_sub(from)) as u64);
    }
    // The pauses are no part of a trip.
    let usage = between(before, Usage::of_this_thread()).map(|all| all - slept);
    Asked { times: Some(times), usage, ..asked }
}

/// Answers until nobody asks.
#[inline(never)]
fn answer<R: Receiver, S: Sender>(mut rx: R, mut tx: S) -> Side {
    let before = Usage::of_this_thread();
    let mut answers = 0;
    while let Some(question) = rx.get() {
        tx.put(question);
        answers += 1;
    }
    Side::Answering(answers, between(before, Usage::of_this_thread()))
}
