//! The suite of queues between several producers and consumers: the microbenchmarks of paper 3, §2.6.2.

mod account;
mod effort;
mod full_empty;
mod goods;
mod kernels;
mod params;
mod placement;
mod plan;
mod probe;
mod receive;
mod send;
mod suite;
mod team;

pub(crate) use goods::{Goods, Parcel};
pub(crate) use kernels::Kernels;
pub(crate) use suite::Mpmc;
