//! Histories of real threads, and a monitor that says whether a queue can have them.

mod empty;
mod full;
mod log;
mod monitor;
mod order;
mod record;
mod table;
mod witness;

pub use log::{Log, Span, Value};
pub use monitor::{History, Rules, check};
pub use record::{Clock, Recorder};
pub use witness::{Call, Operation, Violation, Witness};
