//! `lane bench ring`: what the options ask for, checked and spelled out as single cells.

use std::time::Duration;

use corelane::Info;
use corelane_report::{Failure, Positive};

use crate::catalogue::Entry;
use crate::cores;
use crate::kinds::Test;
use crate::options::RingArgs;
use crate::pair::Wait;
use crate::params::{CircleSetting, Length, Params, Setting};
use crate::plan::{Cell, Plan, wait};

impl Plan {
    /// `lane bench ring`.
    ///
    /// # Errors
    ///
    /// If it can't be done so.
    pub fn ring(args: &RingArgs) -> Result<Self, Failure> {
        let cores = cores::several(&args.cores)?;
        let entries = args.run.choose(&args.queues, Entry::is_spsc);
        if let Some(Entry { info: Info { id, .. }, .. }) =
            entries.iter().find(|entry| entry.info.overwrites)
        {
            return Err(Failure::Usage(format!(
                "{id} loses messages, and a ring waits for all of them: choose other queues"
            )));
        }
        let mut cells = Vec::new();
        // In the order of a round: for each number of threads, all queues.
        for threads in args.threads.iter().map(|threads| usize::from(*threads)) {
            let (Positive(in_flight), Positive(capacity)) = (args.in_flight, args.capacity);
            let wait = wait(args.wait, threads, &cores);
            let setting = Setting::Circle(CircleSetting { threads, in_flight: in_flight as u64 });
            let params = Params { capacity, wait, setting };
            let (test, length) = (Test::Round, length(args, wait));
            let cell =
                |entry: &&'static Entry| Cell { entry, test, params: params.clone(), length };
            cells.extend(entries.iter().map(cell));
        }
        Self::new(cells, cores, &args.run, &args.queues, Vec::new())
    }
}

fn length(args: &RingArgs, wait: Wait) -> Length {
    // Long enough for all threads of a core to have their turns.
    let usual = Duration::from_millis(if wait == Wait::Yield { 100 } else { 30 });
    match args.items {
        Some(items) => Length::Items(items.get()),
        None => Length::Time(args.duration.unwrap_or(usual)),
    }
}
