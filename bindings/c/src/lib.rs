//! corelane's queues for C. `include/corelane.h` documents the calls for their users.
//!
//! A call is named `corelane_`, its queue, what it does. Each queue has a module here. Handles go to
//! C as pointers to opaque types, and come back to be destroyed.
//!
//! No panic leaves a call: Rust ends the process when one would unwind out of an `extern "C"`
//! function. The calls take pointers as `Option` of references, so that NULL is an answer and not
//! undefined behaviour.

mod bbq;

use std::ffi::c_void;

use corelane::{CapacityError, TryPopError, TryPushError};

pub use bbq::{
    BbqConsumer, BbqProducer, corelane_bbq_consumer_capacity, corelane_bbq_consumer_clone,
    corelane_bbq_consumer_destroy, corelane_bbq_consumer_is_closed, corelane_bbq_create,
    corelane_bbq_pop, corelane_bbq_pop_slice, corelane_bbq_producer_capacity,
    corelane_bbq_producer_clone, corelane_bbq_producer_destroy, corelane_bbq_producer_is_closed,
    corelane_bbq_push, corelane_bbq_push_slice,
};

/// The answer of a call: `corelane_status` of the header, which has the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// The call has done its work.
    Ok = 0,
    /// No slot is free.
    Full = 1,
    /// No item is there.
    Empty = 2,
    /// An unfinished call of another thread is in the way.
    Busy = 3,
    /// All handles of the other side are destroyed: no slot will become free, or no item will come.
    Closed = 4,
    /// An argument is NULL, or the capacity is 0 or too large.
    Invalid = 5,
    /// There is not enough memory.
    NoMemory = 6,
}

/// An item: a pointer that the queue passes on and never reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Item(*mut c_void);

// SAFETY: the queue only passes the pointer on. What it points to is shared by C's threads, as they
// do with any pointer.
unsafe impl Send for Item {}

impl From<CapacityError> for Status {
    fn from(error: CapacityError) -> Self {
        match error {
            CapacityError::OutOfMemory { .. } => Self::NoMemory,
            _ => Self::Invalid,
        }
    }
}

impl From<Result<(), TryPushError<Item>>> for Status {
    #[inline]
    fn from(answer: Result<(), TryPushError<Item>>) -> Self {
        match answer {
            Ok(()) => Self::Ok,
            Err(TryPushError::Full(_)) => Self::Full,
            Err(TryPushError::Busy(_)) => Self::Busy,
            Err(TryPushError::Closed(_)) => Self::Closed,
        }
    }
}

impl From<TryPopError> for Status {
    #[inline]
    fn from(error: TryPopError) -> Self {
        match error {
            TryPopError::Empty => Self::Empty,
            TryPopError::Busy => Self::Busy,
            TryPopError::Closed => Self::Closed,
        }
    }
}
