//! What calls answer, and how long they wait.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::ptr;
use std::time::Duration;

use corelane::bytes::ClaimError;
use corelane::{CapacityError, TryPopError, TryPushError, shm};

/// The version of these calls. It changes when a program that was built with an older header can't
/// use this library any more: compare it with `corelane_abi_version()`.
pub const CORELANE_ABI_VERSION: u32 = 1;

/// As a timeout: the call waits for as long as it takes.
pub const CORELANE_FOREVER: i64 = -1;

/// What a call answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// The call has done its work.
    Ok = 0,
    /// There is no room, or there was none until the time was over.
    Full = 1,
    /// There is no item, or there was none until the time was over.
    Empty = 2,
    /// An unfinished call of another thread is in the way: try again soon.
    Busy = 3,
    /// There is no room or no item, and all handles of the other side are closed.
    Closed = 4,
    /// An argument is NULL, out of range, or not possible with this queue.
    Invalid = 5,
    /// There is not enough memory.
    NoMemory = 6,
    /// A record is longer than the queue allows.
    TooLarge = 7,
    /// The system has refused a call, or there is no such process or file.
    System = 8,
    /// The descriptor is not that of a lane.
    NotALane = 9,
    /// The lane was made for other items, or by another version.
    Differs = 10,
    /// A live process has this side of the lane.
    Taken = 11,
    /// The process that listens gives this process no lane.
    Refused = 12,
    /// The memory of the lane is damaged.
    Corrupt = 13,
}

impl Status {
    fn text(self) -> &'static std::ffi::CStr {
        match self {
            Self::Ok => c"the call has done its work",
            Self::Full => c"there is no room",
            Self::Empty => c"there is no item",
            Self::Busy => c"another call is in the way; try again",
            Self::Closed => c"all handles of the other side are closed",
            Self::Invalid => c"an argument is NULL, out of range, or not possible with this queue",
            Self::NoMemory => c"there is not enough memory",
            Self::TooLarge => c"the record is longer than the queue allows",
            Self::System => c"the system has refused a call",
            Self::NotALane => c"the descriptor is not that of a lane",
            Self::Differs => c"the lane was made for other items, or by another version",
            Self::Taken => c"a live process has this side of the lane",
            Self::Refused => c"the process that listens gives this process no lane",
            Self::Corrupt => c"the memory of the lane is damaged; make a new lane",
        }
    }

    pub(crate) fn of(answer: Result<(), Self>) -> Self {
        answer.err().unwrap_or(Self::Ok)
    }
}

impl From<&CapacityError> for Status {
    fn from(error: &CapacityError) -> Self {
        match error {
            CapacityError::OutOfMemory { .. } => Self::NoMemory,
            _ => Self::Invalid,
        }
    }
}

impl From<CapacityError> for Status {
    fn from(error: CapacityError) -> Self {
        remember(&error);
        Self::from(&error)
    }
}

impl<T> From<TryPushError<T>> for Status {
    #[inline]
    fn from(error: TryPushError<T>) -> Self {
        match error {
            TryPushError::Full(_) => Self::Full,
            TryPushError::Busy(_) => Self::Busy,
            TryPushError::Closed(_) => Self::Closed,
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

impl From<ClaimError> for Status {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Full => Self::Full,
            ClaimError::Busy => Self::Busy,
            ClaimError::Closed => Self::Closed,
            ClaimError::TooLarge { .. } => Self::TooLarge,
        }
    }
}

impl From<shm::Error> for Status {
    fn from(error: shm::Error) -> Self {
        remember(&error);
        match error {
            shm::Error::Capacity(error) => Self::from(&error),
            shm::Error::Limit { .. } => Self::NoMemory,
            shm::Error::NotALane => Self::NotALane,
            shm::Error::Differs { .. } => Self::Differs,
            shm::Error::Taken(_) | shm::Error::AllTaken(_) => Self::Taken,
            shm::Error::Refused => Self::Refused,
            shm::Error::Corrupt => Self::Corrupt,
            _ => Self::System,
        }
    }
}

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// Keeps the text of an error for `corelane_last_error`.
fn remember(error: &dyn std::error::Error) {
    LAST.set(CString::new(error.to_string()).ok());
}

/// The version of the calls that this library has.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_abi_version() -> u32 {
    CORELANE_ABI_VERSION
}

/// What an answer means, in one line. Never NULL.
///
/// # Safety
///
/// `status` is an answer of these calls.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_status_text(status: Status) -> *const c_char {
    status.text().as_ptr()
}

/// Why the last call of this thread that makes, opens or takes something has failed, in one line
/// that names the mend. NULL if none has. It is valid until the next such failure.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_last_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ref().map_or(ptr::null(), |text| text.as_ptr()))
}

/// How long a call waits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    None,
    For(Duration),
    Forever,
}

impl Patience {
    /// The longest time.
    pub(crate) fn time(self) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::For(time) => time,
            Self::Forever => Duration::MAX,
        }
    }
}

impl From<i64> for Patience {
    #[inline]
    fn from(nanoseconds: i64) -> Self {
        match u64::try_from(nanoseconds) {
            Ok(0) => Self::None,
            Ok(nanoseconds) => Self::For(Duration::from_nanos(nanoseconds)),
            Err(_) => Self::Forever,
        }
    }
}
