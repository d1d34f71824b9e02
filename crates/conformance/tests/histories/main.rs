//! Histories: the monitor, and what it says of real queues.

mod made;
mod queues;
mod search;
