//! What the simulated queues cost, as their papers say; and that what goes wrong is noticed.

mod account;
mod atomics;
mod faulty;
mod fit;
mod pipelines;
mod seats;
mod table_1;
mod teams;
