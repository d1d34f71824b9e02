//! The costs of the simulated queues, compared with their papers; and tests that faults are
//! detected.

mod account;
mod atomics;
mod faulty;
mod fit;
mod pipelines;
mod relaxed;
mod seats;
mod stealing;
mod table_1;
mod teams;
