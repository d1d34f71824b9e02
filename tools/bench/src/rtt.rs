//! Latency: two threads, two queues, one request at a time (paper 1 §5.3).

use std::ops::Range;
use std::time::Instant;

use corelane::{Consumer, Producer, Queue};

use crate::pair::{self, Cores, Meeting, Wait};
use crate::params::{Length, PairSetting, Trial};
use crate::payload::Payload;
use crate::sample::Sample;

/// Transactions that warm up: more than a usual ring has slots, so that every slot was used.
const WARM_UP: u64 = 5_000;

/// Nanoseconds per transaction: one item to the other thread and back.
pub(crate) fn measure<T: Payload, Q: Queue<T>>(
    trial: &Trial<'_>,
    _: &PairSetting,
) -> Result<Sample, u64> {
    let open = || Q::with(trial.params.config()).expect("tried before the first round");
    let ((requests, requested), (replies, replied)) = (open(), open());
    let source = T::source(trial.params.capacity);
    let (meeting, wait) = (&Meeting::default(), trial.params.wait);
    // Each handle moves into its thread: side by side here, their private halves would share lines.
    let ((ns, wrong_replies), wrong_requests) = pair::run(
        Cores::of(trial.cores),
        move || client(requests, replied, source, trial.length, meeting, wait),
        move || server(requested, replies, trial.length, meeting, wait),
    );
    match wrong_replies + wrong_requests {
        0 => Ok(Sample::of(ns)),
        items => Err(items),
    }
}

/// Returns nanoseconds per transaction and the number of wrong replies.
fn client<T: Producer<Item: Payload>, R: Consumer<Item = T::Item>>(
    mut tx: T,
    mut rx: R,
    source: <T::Item as Payload>::Source,
    length: Length,
    meeting: &Meeting,
    wait: Wait,
) -> (f64, u64) {
    let warm_up = length.warm_up(WARM_UP);
    meeting.ready(wait);
    let start = Instant::now();
    let mut wrong = ask(&mut tx, &mut rx, 0..warm_up, source, wait);
    let items = length.items(warm_up, start.elapsed());
    meeting.announce(items, wait);
    let start = Instant::now();
    wrong += ask(&mut tx, &mut rx, warm_up..warm_up + items, source, wait);
    (start.elapsed().as_nanos() as f64 / items as f64, wrong)
}

fn server<T: Producer<Item: Payload>, R: Consumer<Item = T::Item>>(
    mut rx: R,
    mut tx: T,
    length: Length,
    meeting: &Meeting,
    wait: Wait,
) -> u64 {
    let warm_up = length.warm_up(WARM_UP);
    meeting.ready(wait);
    let wrong = answer(&mut rx, &mut tx, 0..warm_up, wait);
    let items = meeting.hear(wait);
    wrong + answer(&mut rx, &mut tx, warm_up..warm_up + items, wait)
}

/// The client: sends each request when the reply to the one before is there.
#[inline(never)]
fn ask<T: Producer<Item: Payload>, R: Consumer<Item = T::Item>>(
    tx: &mut T,
    rx: &mut R,
    range: Range<u64>,
    source: <T::Item as Payload>::Source,
    wait: Wait,
) -> u64 {
    let mut wrong = 0;
    for sequence in range {
        let item = T::Item::make(source, sequence);
        send(tx, item, wait);
        let reply = wait.until(|| rx.try_pop().ok());
        wrong += u64::from(!T::Item::is(reply.read(), sequence));
    }
    wrong
}

#[inline(never)]
fn answer<T: Producer<Item: Payload>, R: Consumer<Item = T::Item>>(
    rx: &mut R,
    tx: &mut T,
    range: Range<u64>,
    wait: Wait,
) -> u64 {
    let mut wrong = 0;
    for sequence in range {
        let item = wait.until(|| rx.try_pop().ok());
        wrong += u64::from(!T::Item::is(item.read(), sequence));
        send(tx, item, wait);
    }
    wrong
}

/// Pushes and makes visible at once, also where publication is delayed.
#[inline(always)]
fn send<T: Producer<Item: Copy>>(tx: &mut T, item: T::Item, wait: Wait) {
    wait.until(|| tx.try_push(item).ok());
    tx.flush();
}
