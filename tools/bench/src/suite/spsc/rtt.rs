//! Latency: two threads, two queues, one request at a time (paper 1 §5.3).

use std::ops::Range;

use corelane::{Consumer, Producer, Queue};

use crate::params::Trial;
use crate::payload::{Payload, Pool};
use crate::sample::Sample;
use crate::threads::{self, Cores, Counts, Meeting, Wait};

/// Transactions of the warm-up: more than the slots of a usual ring, so that every slot was used.
const WARM_UP: u64 = 5_000;

/// Nanoseconds per transaction: one item to the other thread and back.
pub(crate) fn measure<T: Payload, Q: Queue<T>>(trial: &Trial<'_>) -> Sample {
    let ((requests, requested), (replies, replied)) = (trial.open::<T, Q>(), trial.open::<T, Q>());
    let (meeting, wait) = (&Meeting::default(), trial.params.wait);
    let pool = T::pool(trial.params.capacity);
    // Each handle moves into its thread: side by side here, their private halves would share lines.
    let (client, server) = threads::run(
        Cores::of(trial.cores),
        move || {
            meeting.side(trial, WARM_UP, true, (requests, replied), |(mut tx, mut rx), range| {
                let wrong = ask(&mut tx, &mut rx, range, pool, wait);
                ((tx, rx), Counts { stalls: 0, wrong })
            })
        },
        move || {
            meeting.side(trial, WARM_UP, false, (requested, replies), |(mut rx, mut tx), range| {
                let wrong = answer(&mut rx, &mut tx, range, wait);
                ((rx, tx), Counts { stalls: 0, wrong })
            })
        },
    );
    let wrong = client.counts.wrong + server.counts.wrong;
    let time = client.end.duration_since(client.start);
    Sample { wrong, ..Sample::of(time.as_nanos() as f64 / client.items as f64) }
}

/// The client: sends each request after the reply to the previous one.
#[inline(never)]
fn ask<T: Producer<Item: Payload>, R: Consumer<Item = T::Item>>(
    tx: &mut T,
    rx: &mut R,
    range: Range<u64>,
    pool: Pool,
    wait: Wait,
) -> u64 {
    let mut wrong = 0;
    for sequence in range {
        wait.send(tx, T::Item::make(pool, sequence));
        let reply = wait.until(|| rx.try_pop().ok());
        // SAFETY: the server sends back an item that was made here, and items are not freed.
        wrong += u64::from(!T::Item::is(unsafe { reply.read() }, sequence));
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
        // SAFETY: the client made the item, and items are not freed.
        wrong += u64::from(!T::Item::is(unsafe { item.read() }, sequence));
        wait.send(tx, item);
    }
    wrong
}
