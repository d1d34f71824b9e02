//! `lane bench switch`: a switch between clients, each of which has a queue to the switch and a
//! queue from it: paper 1, §6.
//!
//! The switch and the clients are those of `apps/vswitch`.

mod args;
mod measure;
mod plan;
mod setting;
mod wire;

pub use self::args::{SwitchArgs, SwitchTest};
pub(crate) use self::setting::SwitchSetting;
pub(crate) use self::wire::{Wire, wire};
