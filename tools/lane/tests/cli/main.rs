//! The program as its users meet it.

mod common;
mod mpmc;
mod refusals;
mod ring;
mod runs;
mod subprograms;
