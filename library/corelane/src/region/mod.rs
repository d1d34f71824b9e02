//! Where the shared part of a queue lives: one header and an array of slots, with no pointer
//! inside.

mod alloc;
mod counted;
mod end;
mod lend;
#[cfg_attr(
    any(feature = "no-mappings", not(all(feature = "std", target_os = "linux"))),
    path = "no_map.rs"
)]
mod map;
mod presence;
#[cfg(all(
    feature = "std",
    target_os = "linux",
    target_pointer_width = "64",
    not(any(feature = "no-mappings", feature = "loom", feature = "sim"))
))]
pub(crate) mod shared;
mod slots;

pub(crate) use alloc::{no_memory, try_box, try_empty_box};
pub(crate) use counted::Counted;
pub use end::Side;
pub(crate) use end::{End, ends, most_slots, slots_for, slots_up_to};
pub(crate) use lend::LendableSlots;
pub(crate) use presence::MOST_ENDS;
pub(crate) use slots::array;
pub use slots::{Attach, NoSlots, Run, Slots, State};
