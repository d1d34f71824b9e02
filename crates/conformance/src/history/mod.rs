//! Histories of real threads, and a monitor that says whether a queue can have them.

mod empty;
mod full;
mod log;
mod monitor;
mod order;
mod record;
mod run;
mod table;
mod witness;

pub use log::{Log, Span, Value};
pub use monitor::{Counts, History, Rules, check};
pub use record::{Clock, Recorder};
pub use run::{
    Finding, GoOn, HistorySubject, Pace, Plan, Summary, Way, all_subjects, check_queue, record,
};
pub use witness::{Call, Operation, Violation, Witness};
