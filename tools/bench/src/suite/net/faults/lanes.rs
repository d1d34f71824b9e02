//! The ends of lanes in runs with faults.

use std::thread;
use std::time::{Duration, Instant};

use corelane::channel;

use crate::suite::net::ends::{Said, say, wait_for_end_of_input};

/// Items between two sleeps: as many as can be said.
const BURST: u64 = 64;
const PAUSE: Duration = Duration::from_millis(1);
/// How long a sender waits until all is safe.
const FINISH: Duration = Duration::from_secs(9);

/// A sending end that says which items are safe.
pub(in crate::suite::net) trait Confirms {
    fn put(&self, number: u64) -> Result<(), String>;

    /// Items that were sent, and of which it isn't known whether they are safe. `None` if that
    /// can't be told.
    fn unconfirmed(&self) -> Option<u64>;

    /// Waits until all are safe. The error is how many are not.
    fn finish(self, timeout: Duration) -> Result<(), u64>;
}

/// Sends numbers until the input of this process ends, and says which are safe.
pub(in crate::suite::net) fn send_until_stopped(
    tx: impl Confirms,
    first: u64,
) -> Result<(), String> {
    let stopped = thread::spawn(wait_for_end_of_input);
    let (mut next, mut told, mut time) = (first, first, Instant::now());
    while !stopped.is_finished() {
        for _ in 0..BURST {
            tx.put(next)?;
            next += 1;
        }
        thread::sleep(PAUSE);
        let safe = tx.unconfirmed().map_or(first, |items| next - items.min(next - first));
        if safe > told && time.elapsed() >= PAUSE {
            say(&Said::Acknowledged(safe));
            (told, time) = (safe, Instant::now());
        }
    }
    say(&match tx.finish(FINISH) {
        Ok(()) => Said::Finished(next),
        Err(items) => Said::Unfinished(items),
    });
    Ok(())
}

/// Says each number that comes, until the lane ends.
pub(in crate::suite::net) fn receive_all(rx: &channel::Receiver<u64>) {
    rx.iter().for_each(|number| say(&Said::Taken(number)));
    say(&Said::Ended);
}
