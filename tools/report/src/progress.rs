//! The progress of a run, on stderr.

use std::io::{self, Write};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// When the first line is written if there is no terminal.
const FIRST: Duration = Duration::from_secs(1);
/// The time between two lines.
const NEXT: Duration = Duration::from_secs(5);

/// A bar on a terminal, otherwise a line every few seconds. It has no thread of its own, which
/// would disturb measurements.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    begin: Instant,
    /// When the next line is due.
    due: Mutex<Duration>,
}

impl Progress {
    /// A progress of `steps` steps. `template` describes the bar.
    pub fn new(steps: usize, template: &str) -> Self {
        let style = ProgressStyle::with_template(template).expect("a valid template");
        let bar = ProgressBar::new(steps as u64).with_style(style);
        Self { bar, begin: Instant::now(), due: Mutex::new(FIRST) }
    }

    /// A progress that isn't shown.
    pub fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), begin: Instant::now(), due: Mutex::new(Duration::MAX) }
    }

    /// Sets the message: the current step.
    pub fn set_message(&self, message: impl Into<String>) {
        self.bar.set_message(message.into());
    }

    /// Sets the number of all steps.
    pub fn set_length(&self, steps: usize) {
        self.bar.set_length(steps as u64);
    }

    /// Counts `steps` more steps.
    pub fn inc(&self, steps: usize) {
        self.bar.inc(steps as u64);
        self.tell();
    }

    /// Sets the number of finished steps.
    pub fn set_position(&self, steps: usize) {
        self.bar.set_position(steps as u64);
        self.tell();
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn tell(&self) {
        let (passed, Ok(mut due)) = (self.begin.elapsed(), self.due.try_lock()) else { return };
        if !self.bar.is_hidden() || passed < *due {
            return;
        }
        *due = passed + NEXT;
        let (done, all) =
            (self.bar.position().max(1) as f64, self.bar.length().unwrap_or(1) as f64);
        let left = passed.mul_f64((all / done - 1.0).max(0.0));
        let (percent, message) = (100.0 * done / all, self.bar.message());
        // An error is ignored: stderr may be closed.
        let _ = writeln!(io::stderr(), "{percent:3.0} %, {} left: {message}", about(left));
    }
}

/// The time that `work` takes if all processors share it.
pub fn shared(work: Duration) -> Duration {
    work / thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// Announces a task and its approximate time.
pub fn announce(what: &str, time: Duration) {
    let time = about(time);
    let _ = writeln!(
        io::stderr(),
        "lane: {what}. Takes about {time}; Ctrl-C ends it and keeps finished results."
    );
}

/// A time for people.
pub fn about(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 1.5 => "a second".into(),
        seconds if seconds < 10.0 => format!("{seconds:.0} seconds"),
        seconds if seconds < 90.0 => format!("{:.0} seconds", (seconds / 5.0).ceil() * 5.0),
        seconds => format!("{:.0} minutes", (seconds / 60.0).ceil()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_round() {
        let of = |seconds| about(Duration::from_millis(seconds));
        let texts = ["a second", "2 seconds", "15 seconds", "90 seconds", "3 minutes"];
        assert_eq!([300, 2100, 11_000, 86_000, 121_000].map(of), texts);
    }
}
