//! A learning Ethernet switch in user space, between network devices, captures, threads and
//! processes: paper 1, §6, as a program.
//!
//! [`vswitch_core`] is the switch itself. A [`RingPort`](port::RingPort) is a pair of rings to a
//! thread, and a [`ProcessPort`](process::ProcessPort) a pair of lanes to a process. It needs Linux.

#![cfg(target_os = "linux")]

pub mod capture;
pub mod device;
pub mod port;
pub mod process;
pub mod ring;
pub mod switching;
