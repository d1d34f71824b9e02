//! Histories: the monitor, and what it says of real queues.

mod made;
mod patterns;
mod queues;
mod search;
