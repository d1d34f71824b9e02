//! Lanes between machines.

mod protocol;
