//! Histories: the monitor, and what it says of real queues.

mod broken;
mod made;
mod patterns;
mod queues;
mod search;
