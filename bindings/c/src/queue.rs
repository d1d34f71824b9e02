//! Queues between threads.

use corelane::block::shared;
use corelane::{CapacityError, mpmc, overwrite, spsc, wait};

use crate::handle::{Consumer, Producer, give};
use crate::item::{Copies, Lends, Receives, Sends, receives, sends};
use crate::size::with_size;
use crate::status::Status;

/// The kind of a queue between threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum Kind {
    /// Between one producer and one consumer: `linering`. The fastest if items come one by one.
    OneToOne = 0,
    /// Between one producer and one consumer, whose slots are written and read in place: `blq`.
    InPlace = 1,
    /// Between any number of producers and consumers: `leased`.
    Several = 2,
    /// As `SEVERAL`: `bbq`, the block-based queue. First in first out among all threads.
    Blocks = 3,
    /// A push never waits: it overwrites the oldest item. Any number of producers and consumers, and
    /// each item goes to one consumer: `seqring`.
    Overwriting = 4,
}

type Pair = (Box<dyn Sends>, Box<dyn Receives>);

fn pair<const N: usize>(kind: Kind, capacity: usize, size: usize) -> Result<Pair, CapacityError> {
    /// Handles that wait.
    macro_rules! waiting {
        ($loans:ty, $pair:expr) => {{
            let (tx, rx) = wait::pair($pair?);
            (sends::<$loans, _, _, N>(tx, size), receives::<$loans, _, _, N>(rx, size))
        }};
    }
    Ok(match kind {
        Kind::OneToOne => waiting!(Lends, spsc::queue::<[u8; N]>(capacity)),
        Kind::InPlace => waiting!(Lends, spsc::chunk_queue::<[u8; N]>(capacity)),
        Kind::Several => waiting!(Copies, mpmc::queue::<[u8; N]>(capacity)),
        Kind::Blocks => waiting!(Copies, shared::queue::<[u8; N]>(capacity)),
        Kind::Overwriting => waiting!(Copies, overwrite::queue::<[u8; N]>(capacity)),
    })
}

/// Makes a queue between threads, for at least `capacity` items of `item_size` bytes, at most 1024,
/// and one handle of each side. Items are copied. For larger ones, pass pointers, or use records.
///
/// OK; INVALID; NO_MEMORY. Without OK the handles are not written.
///
/// # Safety
///
/// `producer` and `consumer` are NULL, or may be written. `kind` is one of the kinds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_create(
    kind: Kind,
    capacity: usize,
    item_size: usize,
    producer: *mut *mut Producer,
    consumer: *mut *mut Consumer,
) -> Status {
    if producer.is_null() || consumer.is_null() {
        return Status::Invalid;
    }
    let made = with_size!(item_size, N => pair::<N>(kind, capacity, item_size));
    match made {
        // SAFETY: by the caller's contract, since neither is NULL.
        Some(Ok((tx, rx))) => unsafe {
            give(producer, Producer::new(tx));
            give(consumer, Consumer::new(rx))
        },
        Some(Err(error)) => error.into(),
        None => Status::Invalid,
    }
}
