//! The merge stage.

use std::time::{Duration, Instant};

use corelane::wait::Inbox;
use corelane::{Consumer, TryPopError};

use crate::report::{Collector, FlowRecord};

/// From one progress report to the next.
const TICK: Duration = Duration::from_secs(1);

/// Collects the flows of all threads.
pub(super) fn merge<C: Consumer<Item = Box<FlowRecord>>>(
    mut inbox: Inbox<C>,
    mut tick: impl FnMut(u64),
) -> Collector {
    let mut collector = Collector::default();
    let mut next = Instant::now() + TICK;
    loop {
        match inbox.pop_deadline(next) {
            Ok(flow) => collector.add(*flow),
            Err(TryPopError::Closed) => return collector,
            Err(_) => {}
        }
        if Instant::now() >= next {
            tick(collector.flows);
            next += TICK;
        }
    }
}
