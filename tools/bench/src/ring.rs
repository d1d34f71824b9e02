//! `lane bench ring`: the options, checked and expanded into single cells.

use corelane_report::{Failure, Positive};

use crate::catalogue::{Entry, any_ids};
use crate::cores;
use crate::kinds::Test;
use crate::options::RingArgs;
use crate::pair::Wait;
use crate::params::{CircleSetting, Length, Params, Setting};
use crate::plan::{Plan, row};

impl Plan {
    /// `lane bench ring`.
    ///
    /// # Errors
    ///
    /// If the options can't be carried out.
    pub fn ring(args: &RingArgs) -> Result<Self, Failure> {
        let cores = cores::several(&args.cores)?;
        let queues = any_ids(&args.queues)?;
        let entries = args.run.choose(&queues, Entry::is_spsc);
        if let Some(entry) = entries.iter().find(|entry| entry.info.overwrites) {
            let id = entry.info.id;
            return Err(Failure::Usage(format!(
                "{id} loses messages, and a ring waits for all of them: choose other queues"
            )));
        }
        let (in_flight, Positive(capacity)) = (args.in_flight.0 as u64, args.capacity);
        let mut cells = Vec::new();
        // In the order of a round: for each number of threads, all queues.
        for threads in args.threads.iter().map(|threads| usize::from(*threads)) {
            let wait = args.wait.on(cores::are_shared(threads, &cores));
            // Long enough for all threads of a core to run.
            let usual_ms = if matches!(wait, Wait::Yield | Wait::PauseYield) { 100 } else { 30 };
            let length = Length::of(args.items, args.duration, usual_ms);
            let setting = Setting::Circle(CircleSetting { threads, in_flight });
            let params = Params { capacity, wait, setting };
            cells.extend(row(entries.iter().copied(), Test::Round, params, length));
        }
        Self::new(cells, cores, &args.run, &queues, Vec::new())
    }
}
