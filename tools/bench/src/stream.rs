//! Throughput: one thread pushes as fast as it can, the other pops (paper 1 §5.1, §5.2).

use std::hint::spin_loop;
use std::ops::Range;

use corelane::{Consumer, Producer, Queue};

use crate::field::Field;
use crate::pair::{self, Cores, Counts, Meeting, Side, Wait};
use crate::params::{PairSetting, Trial};
use crate::payload::{Payload, Pool};
use crate::sample::Sample;
use crate::work::{Busy, Free, Work};

/// Items that warm caches, branch predictors and adaptive queues up: a dozen laps of a usual ring.
const WARM_UP: u64 = 50_000;
/// Size of the largest items of which there are so many. Larger items take longer.
const USUAL_BYTES: u64 = 64;
/// Fewest laps of the warm-up, so that all pages of the ring are there.
const LAPS: u64 = 4;

/// Items of the warm-up.
fn warm_up<T>(capacity: usize) -> u64 {
    let of_size = WARM_UP * USUAL_BYTES / (size_of::<T>() as u64).max(USUAL_BYTES);
    of_size.max(LAPS * capacity as u64).min(WARM_UP)
}

/// Nanoseconds per item from the first push to the last pop.
pub(crate) fn measure<T: Payload, Q: Queue<T>>(trial: &Trial<'_>, pair: &PairSetting) -> Sample {
    stream(trial, pair, trial.open::<T, Q>(), send, receive)
}

/// The same for single items without load only: less code for each type of items.
pub(crate) fn measure_plain<T: Payload, Q: Queue<T>>(
    trial: &Trial<'_>,
    pair: &PairSetting,
) -> Sample {
    match pair.is_field() {
        true => measure_fields::<T, Q>(trial, pair),
        false => stream(trial, pair, trial.open::<T, Q>(), send_plain, receive_plain),
    }
}

/// The same with the handles in fields.
pub(crate) fn measure_fields<T: Payload, Q: Queue<T>>(
    trial: &Trial<'_>,
    pair: &PairSetting,
) -> Sample {
    let (tx, rx) = trial.open::<T, Q>();
    stream(trial, pair, (Field::of(tx), Field::of(rx)), send_plain, receive_plain)
}

/// Moves items between the handles. `send` pushes a range of items and gives the handle back, `receive` pops it.
fn stream<P, C>(
    trial: &Trial<'_>,
    pair: &PairSetting,
    (tx, rx): (P, C),
    send: impl Fn(P, Range<u64>, Pace) -> (P, Counts) + Send,
    receive: impl Fn(C, Range<u64>, Pace) -> (C, Counts) + Send,
) -> Sample
where
    P: Producer<Item: Payload> + Send,
    C: Consumer<Item = P::Item> + Send,
{
    let (meeting, warm_up) = (&Meeting::default(), warm_up::<P::Item>(trial.params.capacity));
    let (pool, wait) = (P::Item::pool(trial.params.capacity), trial.params.wait);
    let pace = |load_ns| Pace { load_ns, batch: pair.batch, wait, pool };
    let (p, c) = (pace(pair.load_p_ns), pace(pair.load_c_ns));
    // Each handle moves into its thread: side by side here, their private halves would share lines.
    let (sent, received) = pair::run(
        Cores::of(trial.cores),
        move || meeting.side(trial, warm_up, false, tx, |tx, range| send(tx, range, p)),
        move || meeting.side(trial, warm_up, true, rx, |rx, range| receive(rx, range, c)),
    );
    let items = received.items as f64;
    let batch = |side: &Side| items / side.counts.stalls.max(1) as f64;
    let perceived_batch = Some([batch(&sent), batch(&received)]);
    let value = received.end.duration_since(sent.start).as_nanos() as f64 / items;
    Sample { perceived_batch, wrong: received.counts.wrong, ..Sample::of(value) }
}

/// The parameters of a side that moves items.
#[derive(Clone, Copy)]
struct Pace {
    load_ns: u64,
    batch: usize,
    wait: Wait,
    pool: Pool,
}

/// Runs of failed tries of a side.
struct Stalls {
    count: u64,
    /// The item that waited last.
    item: u64,
}

impl Stalls {
    fn none() -> Self {
        Self { count: 0, item: u64::MAX }
    }

    /// A try failed for this item. Returns whether it is the first one, which counts. Called after failures only, so that
    /// counting costs a try that succeeds nothing.
    #[inline(always)]
    fn at(&mut self, item: u64) -> bool {
        let is_first = self.item != item;
        self.count += u64::from(is_first);
        self.item = item;
        is_first
    }
}

impl Pace {
    /// Tries until it succeeds. With `SPINS` it is the loop that people write, compiled as such. Otherwise there are two tries
    /// before the first pause. The attempt is in the code once, as in a user's loop.
    #[inline(always)]
    fn retry<const SPINS: bool, R>(
        self,
        stalls: &mut Stalls,
        item: u64,
        mut attempt: impl FnMut() -> Option<R>,
    ) -> R {
        let mut failed = 0;
        loop {
            if let Some(result) = attempt() {
                return result;
            }
            let is_first = stalls.at(item);
            if SPINS {
                spin_loop();
            } else if !is_first {
                self.wait.pause(&mut failed);
            }
        }
    }
}

/// Pushes items `range`.
fn send<T: Producer<Item: Payload>>(tx: T, range: Range<u64>, pace: Pace) -> (T, Counts) {
    match pace.wait {
        Wait::Spin => send_by::<true, T>(tx, range, pace),
        _ => send_by::<false, T>(tx, range, pace),
    }
}

fn send_by<const SPINS: bool, T>(tx: T, range: Range<u64>, pace: Pace) -> (T, Counts)
where
    T: Producer<Item: Payload>,
{
    let (mut tx, stalls) = match (pace.load_ns, pace.batch) {
        (0, 1) => send_single::<SPINS, _>(tx, range, Free, pace),
        (0, _) => send_batches::<SPINS, _>(tx, range, Free, pace),
        (ns, 1) => send_single::<SPINS, _>(tx, range, Busy::new(ns), pace),
        (ns, _) => send_batches::<SPINS, _>(tx, range, Busy::new(ns), pace),
    };
    tx.flush();
    (tx, Counts { stalls, wrong: 0 })
}

/// The same one by one without load.
fn send_plain<T: Producer<Item: Payload>>(tx: T, range: Range<u64>, pace: Pace) -> (T, Counts) {
    let (mut tx, stalls) = match pace.wait {
        Wait::Spin => send_single::<true, T>(tx, range, Free, pace),
        _ => send_single::<false, T>(tx, range, Free, pace),
    };
    tx.flush();
    (tx, Counts { stalls, wrong: 0 })
}

#[inline(never)]
fn send_single<const SPINS: bool, T: Producer<Item: Payload>>(
    mut tx: T,
    range: Range<u64>,
    mut work: impl Work,
    pace: Pace,
) -> (T, u64) {
    let mut stalls = Stalls::none();
    for sequence in range {
        let item = T::Item::make(pace.pool, work.produce(sequence));
        pace.retry::<SPINS, ()>(&mut stalls, sequence, || tx.try_push(item).ok());
    }
    (tx, stalls.count)
}

#[inline(never)]
fn send_batches<const SPINS: bool, T: Producer<Item: Payload>>(
    mut tx: T,
    mut range: Range<u64>,
    mut work: impl Work,
    pace: Pace,
) -> (T, u64) {
    let mut items = vec![T::Item::blank(pace.pool); pace.batch];
    let mut stalls = Stalls::none();
    while !range.is_empty() {
        let first = range.start;
        let filled = items.iter_mut().zip(range.by_ref()).map(|(item, sequence)| {
            *item = T::Item::make(pace.pool, work.produce(sequence));
        });
        let filled = filled.count();
        let mut pushed = 0;
        while pushed < filled {
            let next = first + pushed as u64;
            let rest = &items[pushed..filled];
            pushed += pace.retry::<SPINS, _>(&mut stalls, next, || some(tx.push_slice(rest)));
            if pushed < filled {
                // There was no room for all.
                stalls.at(first + pushed as u64);
            }
        }
    }
    (tx, stalls.count)
}

/// Pops items `range`.
fn receive<R: Consumer<Item: Payload>>(rx: R, range: Range<u64>, pace: Pace) -> (R, Counts) {
    match pace.wait {
        Wait::Spin => receive_by::<true, R>(rx, range, pace),
        _ => receive_by::<false, R>(rx, range, pace),
    }
}

fn receive_by<const SPINS: bool, R>(rx: R, range: Range<u64>, pace: Pace) -> (R, Counts)
where
    R: Consumer<Item: Payload>,
{
    match (pace.load_ns, pace.batch) {
        (0, 1) => receive_single::<SPINS, _>(rx, range, Free, pace),
        (0, _) => receive_batches::<SPINS, _>(rx, range, Free, pace),
        (ns, 1) => receive_single::<SPINS, _>(rx, range, Busy::new(ns), pace),
        (ns, _) => receive_batches::<SPINS, _>(rx, range, Busy::new(ns), pace),
    }
}

/// The same one by one without load.
fn receive_plain<R: Consumer<Item: Payload>>(rx: R, range: Range<u64>, pace: Pace) -> (R, Counts) {
    match pace.wait {
        Wait::Spin => receive_single::<true, R>(rx, range, Free, pace),
        _ => receive_single::<false, R>(rx, range, Free, pace),
    }
}

#[inline(never)]
fn receive_single<const SPINS: bool, R: Consumer<Item: Payload>>(
    mut rx: R,
    range: Range<u64>,
    mut work: impl Work,
    pace: Pace,
) -> (R, Counts) {
    let (mut stalls, mut wrong) = (Stalls::none(), 0);
    for sequence in range {
        let item = pace.retry::<SPINS, _>(&mut stalls, sequence, || rx.try_pop().ok());
        // SAFETY: the producer made it, and items of streams are not freed.
        let value = unsafe { item.read() };
        wrong += u64::from(!R::Item::is(value, sequence));
        work.consume(value);
    }
    (rx, Counts { stalls: stalls.count, wrong })
}

#[inline(never)]
fn receive_batches<const SPINS: bool, R: Consumer<Item: Payload>>(
    mut rx: R,
    range: Range<u64>,
    mut work: impl Work,
    pace: Pace,
) -> (R, Counts) {
    let mut items = vec![R::Item::blank(pace.pool); pace.batch];
    let (mut stalls, mut wrong) = (Stalls::none(), 0);
    let mut sequence = range.start;
    while sequence < range.end {
        let attempt = || some(rx.pop_slice(&mut items));
        let popped = pace.retry::<SPINS, _>(&mut stalls, sequence, attempt);
        for item in &items[..popped] {
            // SAFETY: as in `receive_single`.
            let value = unsafe { item.read() };
            wrong += u64::from(!R::Item::is(value, sequence));
            work.consume(value);
            sequence += 1;
        }
    }
    (rx, Counts { stalls: stalls.count, wrong })
}

fn some(count: usize) -> Option<usize> {
    (count > 0).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_failures_is_one_stall() {
        for wait in [Wait::Spin, Wait::Greedy] {
            let pace = Pace { load_ns: 0, batch: 1, wait, pool: u64::pool(1) };
            let (mut stalls, mut tries) = (Stalls::none(), 0);
            for item in 0..6 {
                // Every fourth try succeeds.
                let attempt = || {
                    tries += 1;
                    (tries % 4 == 0).then_some(())
                };
                match wait {
                    Wait::Spin => pace.retry::<true, ()>(&mut stalls, item, attempt),
                    _ => pace.retry::<false, ()>(&mut stalls, item, attempt),
                }
            }
            assert_eq!((stalls.count, tries), (6, 24));
            pace.retry::<true, ()>(&mut stalls, 6, || Some(()));
            assert_eq!(stalls.count, 6, "a success at once is no stall");
        }
    }
}
