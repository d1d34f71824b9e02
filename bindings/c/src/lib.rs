//! corelane's queues for C. cbindgen writes `include/corelane.h` from the functions here and their
//! documents: `CORELANE_HEADER=write cargo test -p corelane-c --test header`.
//!
//! Handles go to C as pointers to opaque types. A call gets a pointer to the caller's pointer where
//! it closes a handle, and sets it to NULL. NULL instead of a handle is answered, and does no harm.
//!
//! An item of C is a number of bytes. A queue for each number would be too much code: see `size`.
//!
//! No panic leaves a call: Rust ends the process when one would unwind out of an `extern "C"`
//! function.

mod handle;
mod held;
mod item;
mod lane;
mod meets;
mod queue;
mod record;
mod size;
mod status;
mod steal;

pub use handle::*;
pub use lane::*;
pub use queue::*;
pub use record::*;
pub use status::*;
pub use steal::*;
