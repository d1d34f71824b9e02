//! A learning Ethernet switch: the `vswitch` of paper 1, §6, with a table that it learns itself.
//!
//! One thread calls [`Switch::turn`] over and over. A turn *pulls* up to a batch of packets from
//! each port, and groups them by destination. Then it *pushes* each group to its port. So packets
//! of several senders for one receiver are pushed as one batch. A packet is passed on, and not
//! copied. A packet for several ports is [shared](Packet::share).
//!
//! The switch knows neither sockets nor queues: a [`Port`] is what it pulls from and pushes to.
//! That is a pair of queues between threads, lanes to another process, or simulated queues.

pub mod clients;
mod counters;
mod frame;
mod mac;
mod port;
mod switch;
mod table;

pub use counters::Counters;
pub use frame::{Buffers, Frame};
pub use mac::Mac;
pub use port::{Packet, Port};
pub use switch::{Options, Overflow, Switch};
pub use table::Table;
