//! What has been seen so far, once a second.

use std::io::{IsTerminal, stderr};
use std::time::Instant;

use pipeline::Progress;

/// Shows progress on stderr: in one line of a terminal, or in a line each.
pub(crate) struct Live {
    is_on: bool,
    is_terminal: bool,
    last: (Instant, Progress),
}

impl Live {
    pub(crate) fn new(is_on: bool) -> Self {
        let last = (Instant::now(), Progress::default());
        Self { is_on, is_terminal: stderr().is_terminal(), last }
    }

    pub(crate) fn show(&mut self, progress: Progress) {
        if !self.is_on {
            return;
        }
        let (since, before) = std::mem::replace(&mut self.last, (Instant::now(), progress));
        let rate = (progress.packets - before.packets) as f64 / since.elapsed().as_secs_f64();
        let Progress { packets, bytes, classified, dropped, flows } = progress;
        let text = format!(
            "{packets} packets ({rate:.0}/s), {bytes} bytes, {classified} classified, \
             {dropped} dropped, {flows} flows over"
        );
        if self.is_terminal { eprint!("\r\x1b[K{text}") } else { eprintln!("{text}") }
    }

    /// Leaves the line.
    pub(crate) fn end(&self) {
        if self.is_on && self.is_terminal {
            eprintln!();
        }
    }
}
