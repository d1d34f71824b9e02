//! Threads that use queues as planned and note their operations, and the check of these notes.

mod channels;
mod plan;
mod record;
mod recording;
mod run;
mod side;
mod steps;

pub use plan::{Pace, Plan, Way};
pub use record::{Clock, Recorder};
pub use recording::{Recording, record, record_all, record_several};
pub use run::{Finding, GoOn, HistorySubject, Summary, all_subjects};
