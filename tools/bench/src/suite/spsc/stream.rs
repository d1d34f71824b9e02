//! Throughput: one thread pushes as fast as it can, the other pops (paper 1 §5.1, §5.2).

use std::ops::Range;

use corelane::{Consumer, Producer, Queue};

use crate::params::Trial;
use crate::payload::{Payload, Pool};
use crate::sample::Sample;
use crate::suite::spsc::SpscSetting;
use crate::suite::spsc::handle_in_field::Field;
use crate::threads::{self, Cores, Counts, Meeting, Side, Wait};
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
pub(crate) fn measure<T: Payload, Q: Queue<T>>(trial: &Trial<'_>, pair: &SpscSetting) -> Sample {
    stream(trial, pair, trial.open::<T, Q>(), send, receive)
}

/// The same for single items without load only: less code for each type of items.
pub(crate) fn measure_plain<T: Payload, Q: Queue<T>>(
    trial: &Trial<'_>,
    pair: &SpscSetting,
) -> Sample {
    match pair.is_field() {
        true => measure_fields::<T, Q>(trial, pair),
        false => stream(trial, pair, trial.open::<T, Q>(), send_plain, receive_plain),
    }
}

/// The same with the handles in fields.
pub(crate) fn measure_fields<T: Payload, Q: Queue<T>>(
    trial: &Trial<'_>,
    pair: &SpscSetting,
) -> Sample {
    let (tx, rx) = trial.open::<T, Q>();
    stream(trial, pair, (Field::of(tx), Field::of(rx)), send_plain, receive_plain)
}

/// Moves items between the handles. `send` pushes a range of items and gives the handle back,
/// `receive` pops it.
fn stream<P, C>(
    trial: &Trial<'_>,
    pair: &SpscSetting,
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
    let (sent, received) = threads::run(
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

/// Pushes items `range`.
fn send<T: Producer<Item: Payload>>(tx: T, range: Range<u64>, pace: Pace) -> (T, Counts) {
    let (mut tx, stalls) = match (pace.load_ns, pace.batch) {
        (0, 1) => send_single(tx, range, Free, pace),
        (0, _) => send_batches(tx, range, Free, pace),
        (ns, 1) => send_single(tx, range, Busy::new(ns), pace),
        (ns, _) => send_batches(tx, range, Busy::new(ns), pace),
    };
    tx.flush();
    (tx, Counts { stalls, wrong: 0 })
}

/// The same one by one without load.
fn send_plain<T: Producer<Item: Payload>>(tx: T, range: Range<u64>, pace: Pace) -> (T, Counts) {
    let (mut tx, stalls) = send_single(tx, range, Free, pace);
    tx.flush();
    (tx, Counts { stalls, wrong: 0 })
}

#[inline(never)]
fn send_single<T: Producer<Item: Payload>>(
    mut tx: T,
    range: Range<u64>,
    mut work: impl Work,
    Pace { wait, pool, .. }: Pace,
) -> (T, u64) {
    let mut stalls = 0;
    for sequence in range {
        let item = T::Item::make(pool, work.produce(sequence));
        wait.until_counted(&mut stalls, || tx.try_push(item).ok());
    }
    (tx, stalls)
}

#[inline(never)]
fn send_batches<T: Producer<Item: Payload>>(
    mut tx: T,
    mut range: Range<u64>,
    mut work: impl Work,
    Pace { batch, wait, pool, .. }: Pace,
) -> (T, u64) {
    let mut items = vec![T::Item::blank(pool); batch];
    let mut stalls = 0;
    while !range.is_empty() {
        let filled = items.iter_mut().zip(range.by_ref()).map(|(item, sequence)| {
            *item = T::Item::make(pool, work.produce(sequence));
        });
        let filled = filled.count();
        let mut pushed = 0;
        while pushed < filled {
            let rest = &items[pushed..filled];
            pushed += wait.until_counted(&mut stalls, || some(tx.push_slice(rest)));
        }
    }
    (tx, stalls)
}

/// Pops items `range`.
fn receive<R: Consumer<Item: Payload>>(rx: R, range: Range<u64>, pace: Pace) -> (R, Counts) {
    match (pace.load_ns, pace.batch) {
        (0, 1) => receive_single(rx, range, Free, pace),
        (0, _) => receive_batches(rx, range, Free, pace),
        (ns, 1) => receive_single(rx, range, Busy::new(ns), pace),
        (ns, _) => receive_batches(rx, range, Busy::new(ns), pace),
    }
}

/// The same one by one without load.
fn receive_plain<R: Consumer<Item: Payload>>(rx: R, range: Range<u64>, pace: Pace) -> (R, Counts) {
    receive_single(rx, range, Free, pace)
}

#[inline(never)]
fn receive_single<R: Consumer<Item: Payload>>(
    mut rx: R,
    range: Range<u64>,
    mut work: impl Work,
    Pace { wait, .. }: Pace,
) -> (R, Counts) {
    let mut counts = Counts::default();
    for sequence in range {
        let item = wait.until_counted(&mut counts.stalls, || rx.try_pop().ok());
        // SAFETY: the producer made it, and items of streams are not freed.
        let value = unsafe { item.read() };
        counts.wrong += u64::from(!R::Item::is(value, sequence));
        work.consume(value);
    }
    (rx, counts)
}

#[inline(never)]
fn receive_batches<R: Consumer<Item: Payload>>(
    mut rx: R,
    range: Range<u64>,
    mut work: impl Work,
    Pace { batch, wait, pool, .. }: Pace,
) -> (R, Counts) {
    let mut items = vec![R::Item::blank(pool); batch];
    let mut counts = Counts::default();
    let mut sequence = range.start;
    while sequence < range.end {
        let popped = wait.until_counted(&mut counts.stalls, || some(rx.pop_slice(&mut items)));
        for item in &items[..popped] {
            // SAFETY: as in `receive_single`.
            let value = unsafe { item.read() };
            counts.wrong += u64::from(!R::Item::is(value, sequence));
            work.consume(value);
            sequence += 1;
        }
    }
    (rx, counts)
}

fn some(count: usize) -> Option<usize> {
    (count > 0).then_some(count)
}
