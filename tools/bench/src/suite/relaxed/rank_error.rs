//! How far items leave out of turn: threads note when their calls begin and end, and the figures
//! are computed afterwards.

use std::time::{Duration, Instant};

use corelane::{Built, Config, Consumer, Producer};
use corelane_history::{Disorder, Passage, Span};

use super::RelaxedSetting;
use crate::clock::Clock;
use crate::cores;
use crate::params::{Length, Trial};
use crate::payload::{NO_POOL, Payload};
use crate::sample::{RankAndDelay, Sample};
use crate::suite::mpmc::account::Account;
use crate::suite::mpmc::handles;
use crate::threads::{self, Gate, Task, Wait};

/// Most items of a run: what is noted of them takes 150 bytes for each.
const MOST: u64 = 1 << 20;
/// Items of a run if there is a time for all runs.
const FEW: u64 = 50_000;
/// If no consumer finds an item for this time, the missing items are lost.
const PATIENCE: Duration = Duration::from_secs(5);

/// The calls of a thread: the number of each item, and the interval of the call that moved it.
type Notes = Vec<(u64, Span)>;

/// Runs until the measurement is over. The error says what the queue did wrong.
pub(super) fn measure<T, R>(
    open: fn(Config) -> Built<T, R>,
    trial: &Trial<'_>,
    setting: &RelaxedSetting,
) -> Result<Sample, String>
where
    T: Producer<Item: Payload> + Send,
    R: Consumer<Item = T::Item> + Send,
{
    let (mut items, begin) = (0, Instant::now());
    let mut runs = Vec::new();
    while runs.is_empty() || !trial.length.is_over(items, begin) {
        let few = match trial.length {
            Length::Items(all) => MOST.min(all - items),
            Length::Time(_) => FEW,
        };
        let [pushes, pops] = run(open, trial, setting, few);
        runs.push(figures(&passages(few, pushes, pops)?, setting.k)?);
        items += few;
    }
    let disorder = [0, 1].map(|of| RankAndDelay::of(runs.iter().map(|run| run[of])));
    Ok(Sample { disorder: Some(disorder), ..Sample::of(disorder[0].rank_error.mean) })
}

/// The figures by the order in which calls returned, and those that are certain. The latter decide
/// whether the queue is k-FIFO.
fn figures(passages: &[Passage], k: Option<usize>) -> Result<[RankAndDelay; 2], String> {
    let certain = Disorder::of(passages);
    let at = |span: Span| Span::at(span.answered);
    let returned = passages.iter().map(|item| Passage { push: at(item.push), pop: at(item.pop) });
    let figures = [Disorder::of(&returned.collect::<Vec<_>>()), certain].map(RankAndDelay::from);
    match k {
        Some(k) if !certain.is_within(k) => {
            let Disorder { rank_errors, delays } = certain;
            Err(format!(
                "an item left before {} older ones, or after {} younger ones: each must be below {k}",
                rank_errors.largest, delays.largest
            ))
        }
        _ => Ok(figures),
    }
}

/// The passages of items 0 to `items`, each of which was pushed and must have been popped once.
fn passages(items: u64, pushes: Vec<Notes>, pops: Vec<Notes>) -> Result<Vec<Passage>, String> {
    let mut passages = vec![Passage { push: Span::NEVER, pop: Span::NEVER }; items as usize];
    for (number, push) in pushes.into_iter().flatten() {
        passages[number as usize].push = push;
    }
    let mut popped = 0;
    for (number, pop) in pops.into_iter().flatten() {
        let passage =
            passages.get_mut(number as usize).filter(|passage| passage.pop == Span::NEVER);
        passage.ok_or("an item was popped twice, or was never pushed")?.pop = pop;
        popped += 1;
    }
    match popped == items {
        true => Ok(passages),
        false => Err(format!("{items} items were pushed and {popped} popped")),
    }
}

/// Lets all threads move `items` items through a new queue. Returns the notes of both sides.
fn run<T, R>(
    open: fn(Config) -> Built<T, R>,
    trial: &Trial<'_>,
    setting: &RelaxedSetting,
    items: u64,
) -> [Vec<Notes>; 2]
where
    T: Producer<Item: Payload> + Send,
    R: Consumer<Item = T::Item> + Send,
{
    let RelaxedSetting { size, placement, .. } = *setting;
    let (senders, receivers) =
        handles(open, trial.params.config(), size).expect("tried before the first round");
    let common = Common {
        gate: Gate::of(size.threads()),
        account: Account::of(size.producers),
        wait: trial.params.wait,
    };
    let common = &common;
    let mut seats = cores::seats(size, placement, trial.cores).into_iter();
    let mut tasks = Vec::<Task<'_, Notes>>::new();
    for ((first, tx), core) in (0..).zip(senders).zip(&mut seats) {
        let numbers = (first..items as usize).step_by(size.producers);
        tasks.push((core, Box::new(move || common.push(tx, numbers))));
    }
    for (rx, core) in receivers.into_iter().zip(&mut seats) {
        tasks.push((core, Box::new(move || common.pop(rx, items as usize))));
    }
    let mut pushes = threads::all(tasks, &|| ());
    let pops = pushes.split_off(size.producers);
    [pushes, pops]
}

/// The shared state of the threads.
struct Common {
    gate: Gate,
    account: Account,
    wait: Wait,
}

impl Common {
    fn push<T>(&self, mut tx: T, numbers: impl ExactSizeIterator<Item = usize>) -> Notes
    where
        T: Producer<Item: Payload>,
    {
        let mut notes = Notes::with_capacity(numbers.len());
        self.gate.meet(self.wait);
        let mut stamps = Stamps::begin();
        for number in numbers {
            let item = T::Item::make(NO_POOL, number as u64);
            let ((), span) = self.wait.until(|| stamps.of(|| tx.try_push(item).ok()));
            notes.push((number as u64, span));
        }
        tx.flush();
        self.account.pushed(notes.len() as u64);
        // No handle is dropped before all items have arrived.
        self.gate.meet(Wait::Yield);
        notes
    }

    fn pop<R: Consumer<Item: Payload>>(&self, mut rx: R, items: usize) -> Notes {
        let mut notes = Notes::with_capacity(items);
        self.gate.meet(self.wait);
        let mut stamps = Stamps::begin();
        let mut pop = |notes: &mut Notes| {
            let popped = stamps.of(|| rx.try_pop().ok());
            // SAFETY: the item was made, and owns no memory.
            notes.extend(popped.map(|(item, span)| (unsafe { item.take() }, span)));
            popped.is_some()
        };
        let mut failed = 0;
        while self.account.is_open() {
            match pop(&mut notes) {
                true => failed = 0,
                false => self.wait.pause(&mut failed),
            }
        }
        self.account.popped(notes.len() as u64);
        self.account.settle(PATIENCE, || pop(&mut notes).into());
        self.gate.meet(Wait::Yield);
        notes
    }
}

/// Notes the intervals of a thread's calls.
///
/// A call doesn't begin before the stamp before it, and has ended at the stamp after it, but for
/// stores on their way to other cores. No queue decides the order of items by when these arrive.
struct Stamps {
    clock: Clock,
    last: u64,
}

impl Stamps {
    fn begin() -> Self {
        Self { clock: Clock::get(), last: 0 }
    }

    /// The result of a call that succeeds, and its interval.
    #[inline(always)]
    fn of<X>(&mut self, call: impl FnOnce() -> Option<X>) -> Option<(X, Span)> {
        let mut invoked = self.clock.now_in_order();
        // Only different stamps tell the order of two calls, and some clocks advance in steps.
        while invoked <= self.last {
            invoked = self.clock.now_in_order();
        }
        let result = call()?;
        let answered = self.clock.now_in_order();
        self.last = answered;
        Some((result, Span { invoked, answered }))
    }
}

#[cfg(test)]
mod tests {
    use core_affinity::CoreId;
    use corelane_harness::loose::{self, Bug, Rx, Tx};

    use super::*;
    use crate::kinds::{Placement, TeamSize};
    use crate::params::Params;

    const K: usize = 4;

    /// The result of a queue that is told a k of 4.
    fn measured(open: fn(Config) -> Built<Tx<u64>, Rx<u64>>) -> Result<Sample, String> {
        let (size, k) = (TeamSize { producers: 2, consumers: 2 }, Some(K));
        let setting = RelaxedSetting { size, placement: Placement::Mixed, k, asked: k };
        let params = Params { capacity: 64, wait: Wait::Yield, setting: setting.clone().into() };
        let (length, cores) = (Length::Items(20_000), &[CoreId { id: 0 }]);
        measure(open, &Trial { params: &params, length, cores, schedule: &[] }, &setting)
    }

    #[test]
    fn a_right_queue_passes_and_a_wrong_one_is_detected() {
        let right = measured(|config| loose::queue(config, Bug::Nothing)).expect("it is right");
        let certain = right.disorder.expect("rank errors")[1];
        assert_eq!([certain.rank_error.max, certain.delay.max], [K as u32 - 1; 2]);
        for (wrong, what) in [
            (measured(|config| loose::queue(config, Bug::TooFar)), "before 4 older ones"),
            (measured(|config| loose::queue(config, Bug::TooLate)), "after 4 younger ones"),
        ] {
            let fault = wrong.expect_err("it is wrong");
            assert!(fault.contains(what) && fault.ends_with("each must be below 4"), "{fault}");
        }
    }

    #[test]
    fn lost_doubled_and_invented_items_are_faults() {
        let notes = |numbers: &[u64]| vec![numbers.iter().map(|n| (*n, Span::at(*n))).collect()];
        let fault = |popped: &[u64]| passages(3, notes(&[0, 1, 2]), notes(popped)).err();
        assert_eq!(fault(&[2, 0, 1]), None);
        for (popped, what) in [
            (&[0, 2][..], "3 items were pushed and 2 popped"),
            (&[0, 2, 2], "popped twice, or was never pushed"),
            (&[0, 1, 3], "popped twice, or was never pushed"),
        ] {
            assert!(fault(popped).is_some_and(|fault| fault.contains(what)), "{popped:?}");
        }
    }
}
