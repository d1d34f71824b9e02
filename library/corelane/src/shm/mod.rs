//! Lanes between processes: queues in memory that the processes share. They survive the death of
//! any of these processes.
//!
//! A [`Lane`] is a memory file. One process makes it and gives its descriptor to another one, which
//! opens it: by inheritance, [`Lane::give`], or over a Unix socket, [`Listener`]. Each process
//! takes a side. The handles are those of [`wait`]: they push, pop, wait and sleep as between
//! threads. Tasks wait by [`pop_async`](Consumer::pop_async), [`push_async`](Producer::push_async),
//! [`claim_async`](RecordProducer::claim_async).
//!
//! ```
//! use corelane::shm::Lane;
//!
//! let lane = Lane::<u64>::create(1024)?;
//! let mut tx = lane.producer()?;
//! // In another process: `Lane::<u64>::open(descriptor)?`.
//! let mut rx = Lane::<u64>::open(&lane)?.consumer()?;
//! tx.push(7).unwrap();
//! assert_eq!(rx.pop(), Some(7));
//! # Ok::<(), corelane::shm::Error>(())
//! ```
//!
//! A lane of `[u8]` carries byte records of any length, which are written and read in place:
//!
//! ```
//! use std::io::Write;
//!
//! use corelane::shm::Lane;
//!
//! let lane = Lane::<[u8]>::create(1 << 20)?;
//! let (mut tx, mut rx) = (lane.producer()?, lane.consumer()?);
//! let mut line = tx.claim(1000)?;
//! write!(line, "{} items in {} ms", 7, 3)?;
//! line.commit_written();
//! assert_eq!(*rx.pop().expect("it was pushed"), *b"7 items in 3 ms");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Several processes push into [`Lanes`], and several pop: jobs for workers, for instance. Each of
//! them may be killed and started anew.
//!
//! ```
//! use corelane::shm::Lanes;
//!
//! // At most 8 producers at a time, each with room for 1024 items.
//! let lanes = Lanes::<u64>::create_for_producers(8, 1024)?;
//! let (mut tx, mut rx) = (lanes.producer()?, lanes.consumer()?);
//! // In other processes the same, as often as there are processes.
//! let (mut other, mut worker) = (lanes.producer()?, lanes.consumer()?);
//! tx.push(1).unwrap();
//! other.push(2).unwrap();
//! assert_eq!(rx.pop().unwrap() + worker.pop().unwrap(), 3);
//! # Ok::<(), corelane::shm::Error>(())
//! ```
//!
//! | | queue | takes |
//! |---|---|---|
//! | `Lane` of [items](Item) of one type | [`line_ring`] | up to some hundred bytes, which are copied; best a few words |
//! | `Lane` of byte records, `[u8]` | [`record_ring`] | records of different lengths, and large ones |
//! | [`Lanes`] of items of one type | a ring for each producer | as a `Lane` of items, from several producers to several consumers |
//! | [`Lanes`] of byte records, `[u8]` | one ring, whose slots name the handle that uses them | records of several processes for several, in one order |
//! | [`Broadcast`] of items of one type | [`seq_ring`] | items that each receiving process gets, or counts as lost if the process is too slow: market data |
//!
//! # When a process dies
//!
//! | | |
//! |---|---|
//! | its side | is free as soon as the system has ended the process, however it ended: the kernel releases its lock. Another process takes the side by [`Lane::producer`] or [`Lane::consumer`], and continues at the same position |
//! | an item whose push had returned | is popped, once, in order |
//! | a push that had not returned | has happened or not |
//! | a pop that had not returned | has happened or not. If it has not, the next consumer pops the item. A slice or a chunk may have happened in part |
//! | a record that was claimed and not committed | is not pushed |
//! | a record that was popped and not dropped | is popped again |
//! | the other side | continues. A waiting thread notices within a second, and then finds the other side [closed](crate::Consumer::is_closed): pops get the items that are left. [`peer`](Consumer::peer) says whether the other side left or died, [`wait_for_peer`](Consumer::wait_for_peer) waits for the next one. Calls that don't wait never notice: call `peer` now and then |
//! | `Lanes` | the next producer continues in the free lane with the lowest number. A side is closed when the last of its processes has left or is dead; [`has_peer`](ManyConsumer::has_peer) checks this. Only the item that a dead consumer had taken is lost with it |
//! | `Lanes<[u8]>` | any handle that can't go on finds what a dead one has left, within a second: a record that was popped and not dropped is popped again, by any consumer; a claim is given up |
//! | the memory | is freed when the last process that has the lane ends. No file is left |
//!
//! # Trust
//!
//! Another process may write anything into the memory. Positions are checked or bounded before they
//! are used, so no access leaves the lane, no call panics, and none loops for ever. Items are then
//! wrong, lost or doubled, and a take-over may say [`Corrupt`](Error::Corrupt). Items are plain
//! data for which every pattern of bits is a value, [`Item`]. The bytes of a record may change
//! while it is read: copy what you check before you use it.
//!
//! # Limits
//!
//! A `Lane` has one producer and one consumer, a `Broadcast` one producer. `Lanes` of items
//! keep the order of each producer's items, and no order between producers. A child process that was forked, and
//! has not called `exec`, keeps the sides of its parent taken as long as it lives; it must not use
//! or drop their handles, nor wait for lanes in tasks. Lanes need 64-bit Linux with `/proc`.

mod bells;
mod broadcast;
mod carried;
mod error;
mod file;
mod header;
mod limits;
mod listener;
#[cfg(feature = "literature")]
pub mod literature;
mod many;
mod places;
mod records;
mod tasks;

use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::io::{FdFlags, fcntl_setfd};

pub use broadcast::All;
#[doc(hidden)]
pub use carried::Named;
pub use carried::{Carried, Item};
pub use error::Error;
pub use listener::{Client, Listener, connect_pair, connect_pair_path};

use crate::memory::Ordering;
use crate::queue::CapacityError;
use crate::region::shared::Mapping;
pub use crate::region::shared::Side;
use crate::wait::bell::Look;
use crate::wait::sealed::{self, Rings};
use crate::wait::thread::Habit;
use crate::{line_ring, record_ring, seq_ring, wait};
use bells::{Link, Sleeps};
use carried::{OfRecords, Sizes};
use error::system;
use file::Seat;
use header::{About, QUEUE_AT};
pub use many::Many;
use parts::{Bells, Heard, Naps, Sending, Taker, Taking};
#[doc(hidden)]
pub use tasks::Watching;

/// Parts of the handles' types: the queues of [`Lanes`], and the bells of the handles, as
/// [`wait::Local`] for handles in one process. No program has to name these types.
pub mod parts {
    pub use super::bells::Bells;
    pub use super::broadcast::{Heard, Naps};
    pub use super::many::{Sending, Taker, Taking};
    pub use super::places::SharedBells;
    pub use super::records::{Claimer, Reader};
    pub use crate::lanes::Producer as LanesProducer;
}

/// The sending side of a lane for items.
pub type Producer<T> = wait::Producer<line_ring::Producer<T>, Bells>;

/// The receiving side of a lane for items.
pub type Consumer<T> = wait::Consumer<line_ring::Consumer<T, true>, Bells>;

/// The sending side of a lane for byte records, `Lane<[u8]>`.
pub type RecordProducer = wait::bytes::Producer<record_ring::Producer, Bells>;

/// The receiving side of a lane for byte records, `Lane<[u8]>`.
pub type RecordConsumer = wait::bytes::Consumer<record_ring::Consumer, Bells>;

/// Room for a record in a lane, from [`RecordProducer::claim`].
pub type RecordClaim<'a> = wait::bytes::Claim<'a, record_ring::Producer, Bells>;

/// A record of a lane in place, from [`RecordConsumer::pop`].
pub type Record<'a> = wait::bytes::Record<'a, record_ring::Consumer, Bells>;

/// Lanes side by side: several processes push, each in a lane of its own, and several pop from all
/// of them.
///
/// [`create`](Lane::create) makes them for 16 producers at a time,
/// [`create_for_producers`](Lane::create_for_producers) for any number.
///
/// `Lanes<[u8]>` carry byte records of any length, as a `Lane<[u8]>`, in one ring for all processes:
///
/// ```
/// use corelane::shm::Lanes;
///
/// let lanes = Lanes::<[u8]>::create(1 << 20)?;
/// let (mut tx, mut rx) = (lanes.producer()?, lanes.consumer()?);
/// // In other processes the same, as often as there are processes.
/// let (mut other, mut worker) = (lanes.producer()?, lanes.consumer()?);
/// tx.push(b"first").unwrap();
/// other.push(b"second").unwrap();
/// assert_eq!(*worker.pop().unwrap(), *b"first");
/// assert_eq!(*rx.pop().unwrap(), *b"second");
/// # Ok::<(), corelane::shm::Error>(())
/// ```
///
/// Records come out in the order in which their claims were made. A claim that has not ended holds
/// up the records behind it, and the oldest record that was not dropped holds up the room of all
/// behind it. A record counts in the capacity as its length, rounded up to 64, and at least 128; at
/// most 65,536 records fit.
pub type Lanes<T> = Lane<Many<T>>;

/// A sending side of [`Lanes`].
pub type ManyProducer<T> = wait::Producer<parts::LanesProducer<T>, Sending>;

/// A receiving side of [`Lanes`].
pub type ManyConsumer<T> = wait::Consumer<Taker<T>, Taking>;

/// A sending side of `Lanes<[u8]>`.
pub type ManyRecordProducer = wait::bytes::Producer<parts::Claimer, parts::SharedBells>;

/// A receiving side of `Lanes<[u8]>`.
pub type ManyRecordConsumer = wait::bytes::Consumer<parts::Reader, parts::SharedBells>;

/// A lane of which each receiving process gets all items. The producer never waits: an item that a
/// process doesn't pop in time is overwritten, and that process counts it as
/// [lost](Subscriber::lost). A receiving side begins with the next item.
///
/// ```
/// use corelane::shm::Broadcast;
///
/// let feed = Broadcast::<u64>::create(1024)?;
/// let (mut tx, mut first, mut second) = (feed.producer()?, feed.consumer()?, feed.consumer()?);
/// tx.push(7).unwrap();
/// assert_eq!((first.pop(), second.pop()), (Some(7), Some(7)));
/// # Ok::<(), corelane::shm::Error>(())
/// ```
pub type Broadcast<T> = Lane<All<T>>;

/// A receiving side of a [`Broadcast`] whose process can't write to it: see
/// [`Broadcast::read_only`](Lane::read_only).
pub type Reader<T> = wait::Consumer<seq_ring::Consumer<T>, Naps>;

/// The sending side of a [`Broadcast`]. A push never fails.
pub type Publisher<T> = wait::Producer<seq_ring::Producer<T>, Heard>;

/// A receiving side of a [`Broadcast`].
pub type Subscriber<T> = wait::Consumer<seq_ring::Consumer<T>, Heard>;

/// The calls that the receiving sides of a broadcast have besides.
macro_rules! watches {
    ($($handle:ident)*) => {$(
        impl<T: Item> $handle<T> {
            /// The [position](Publisher::position) of the next item: how many were pushed before
            /// it. At first, where this side begins.
            pub fn position(&self) -> u64 {
                self.queue.position()
            }

            /// Items that were overwritten before this handle popped them.
            pub fn lost(&self) -> u64 {
                self.queue.lost()
            }
        }
    )*};
}

watches!(Subscriber Reader);

/// The state of the process on the other side, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// No process has taken that side yet.
    Absent,
    /// A process has it.
    Alive,
    /// The last such process has dropped its handle.
    Left,
    /// The last such process ended without that, or was killed.
    Died,
}

/// A queue in memory that processes share: for items of type `T`, or for byte records if `T` is
/// `[u8]`.
pub struct Lane<T: Carried + ?Sized> {
    link: Arc<Link>,
    sizes: Sizes,
    items: PhantomData<fn(&T) -> &T>,
}

impl<T: Carried + ?Sized> Lane<T> {
    /// Makes a lane for at least `capacity` items, or bytes of records. A record may take a quarter
    /// of them: see [`create_for_records`](Lane::create_for_records).
    ///
    /// # Errors
    ///
    /// [`Limit`](Error::Limit) if a limit leaves too little memory. If the capacity is 0 or too
    /// large, or if the system has no memory files.
    pub fn create(capacity: usize) -> Result<Self, Error> {
        Self::of(Sizes { capacity, longest: 0 }, Named::of::<T>())
    }

    /// As [`create`](Self::create), for items that programs of other languages name. `longest` as
    /// in [`Sizes`].
    #[doc(hidden)]
    pub fn create_named(capacity: usize, longest: usize, named: Named<'_>) -> Result<Self, Error> {
        Self::of(Sizes { capacity, longest }, named)
    }

    fn of(sizes: Sizes, named: Named<'_>) -> Result<Self, Error> {
        let len = len::<T>(sizes)?;
        let file = file::create(len)?;
        let mapping = Arc::new(system("to map the lane", Mapping::new(file.as_fd(), len))?);
        let link = Arc::new(Link { mapping, file, seats: T::seats(sizes) });
        link.header().write(&About::lane::<T>(sizes, len, named));
        // SAFETY: the new file has room for the queue, of zeros, and no other process has it yet.
        unsafe { T::found(&link, sizes) }?;
        Ok(Self { link, sizes, items: PhantomData })
    }

    /// Opens a lane that another process has made, by its descriptor.
    ///
    /// # Errors
    ///
    /// If the descriptor is not that of a lane, or the lane is for other items.
    pub fn open(file: impl AsFd) -> Result<Self, Error> {
        Self::open_named(file, Named::of::<T>())
    }

    /// As [`open`](Self::open), for items that programs of other languages name.
    #[doc(hidden)]
    pub fn open_named(file: impl AsFd, named: Named<'_>) -> Result<Self, Error> {
        Self::map(Self::prepare(file.as_fd(), named)?)
    }

    /// Opens the file of a lane anew. With what [`read`](Self::read) gives.
    fn prepare(file: BorrowedFd<'_>, named: Named<'_>) -> Result<(OwnedFd, Sizes, usize), Error> {
        // Before the file is opened anew: to open a device could have effects.
        file::sealed_len(file)?;
        let file = file::reopen(file)?;
        let (sizes, there) = Self::read(file.as_fd(), named)?;
        Ok((file, sizes, there))
    }

    /// Opens a lane whose descriptor this process has inherited: see [`give`](Self::give). The
    /// descriptor stays open, but programs that this process executes don't inherit it.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_number(number: RawFd) -> Result<Self, Error> {
        if number < 0 {
            return Err(Error::NotALane);
        }
        // SAFETY: it is not used as one that this process owns. If it isn't open, or is another
        // file, the calls of the system say so.
        let file = unsafe { BorrowedFd::borrow_raw(number) };
        let lane = Self::open(file)?;
        system("to keep the descriptor for this program", fcntl_setfd(file, FdFlags::CLOEXEC))?;
        Ok(lane)
    }

    /// The sizes that a lane was asked for, and its length, if it is for these items.
    fn read(file: BorrowedFd<'_>, named: Named<'_>) -> Result<(Sizes, usize), Error> {
        let there = file::sealed_len(file)?;
        file::check_filled(file, there)?;
        let about = About::read(file)?;
        let sizes = about.sizes().ok_or(Error::Corrupt)?;
        about.check(&About::lane::<T>(sizes, there, named))?;
        if len::<T>(sizes)? != there {
            return Err(Error::Corrupt);
        }
        Ok((sizes, there))
    }

    fn map((file, sizes, there): (OwnedFd, Sizes, usize)) -> Result<Self, Error> {
        let mapping = Arc::new(system("to map the lane", Mapping::new(file.as_fd(), there))?);
        let link = Arc::new(Link { mapping, file, seats: T::seats(sizes) });
        Ok(Self { link, sizes, items: PhantomData })
    }

    /// Takes the sending side.
    ///
    /// # Errors
    ///
    /// [`Taken`](Error::Taken) if a live process has it, [`Corrupt`](Error::Corrupt) if the last
    /// one can't have left the queue so.
    pub fn producer(&self) -> Result<T::Producer, Error> {
        let seat = self.take(Side::Producer)?;
        // SAFETY: the queue was made with these sizes, and a seat of the side is taken.
        unsafe { T::producer(&self.link, self.sizes, seat) }
    }

    /// Takes the receiving side.
    ///
    /// # Errors
    ///
    /// As [`producer`](Self::producer).
    pub fn consumer(&self) -> Result<T::Consumer, Error> {
        // SAFETY: as above.
        let begin = unsafe { T::begin(&self.link, self.sizes) }?;
        let seat = self.take(Side::Consumer)?;
        // SAFETY: as above.
        unsafe { T::consumer(&self.link, self.sizes, seat, begin) }
    }

    /// Takes a seat of a side, and marks the side taken.
    fn take(&self, side: Side) -> Result<Seat, Error> {
        let seats = self.link.seats[side as usize];
        let seat = seats.take(self.link.file.as_fd())?;
        let seat = seat.ok_or(match seats.count {
            1 => Error::Taken(side),
            n => Error::AllTaken(n as usize),
        })?;
        self.link.header().died[side as usize].store(0, Ordering::Relaxed);
        self.link.presence().take(side);
        Ok(seat)
    }

    /// Lets a child process inherit the lane. The child opens it by
    /// [`open_number`](Self::open_number) with the number that this gives.
    ///
    /// ```no_run
    /// use std::process::Command;
    ///
    /// let lane = corelane::shm::Lane::<u64>::create(1024)?;
    /// let mut child = Command::new("worker");
    /// let number = lane.give(&mut child)?;
    /// child.arg(number.to_string()).spawn().expect("it starts");
    /// # Ok::<(), corelane::shm::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no descriptor left.
    pub fn give(&self, child: &mut Command) -> Result<RawFd, Error> {
        let file = file::reopen(self.as_fd())?;
        let number = file.as_raw_fd();
        let inherit = move || fcntl_setfd(&file, FdFlags::empty()).map_err(Into::into);
        // SAFETY: it makes one call of the system, which is allowed in a child before `exec`.
        unsafe { child.pre_exec(inherit) };
        Ok(number)
    }
}

impl<R: OfRecords + ?Sized> Lane<R> {
    /// Makes a lane with room for `records` records of up to `longest` bytes. In [`Lanes`] at most
    /// 65,536 records fit, also if they are short.
    ///
    /// ```
    /// use corelane::shm::Lane;
    ///
    /// const FRAME: usize = 640 * 480 * 3;
    ///
    /// let lane = Lane::<[u8]>::create_for_records(FRAME, 8)?;
    /// assert_eq!(lane.producer()?.claim(FRAME).expect("there is room").len(), FRAME);
    /// # Ok::<(), corelane::shm::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn create_for_records(longest: usize, records: usize) -> Result<Self, Error> {
        if records > R::MOST {
            return Err(CapacityError::OutOfRange { asked: records, most: R::MOST }.into());
        }
        let longest = longest.max(1);
        let capacity = R::size_of_record(longest).saturating_mul(records);
        Self::of(Sizes { capacity, longest }, Named::of::<R>())
    }

    /// Length of the longest record, in bytes.
    pub fn max_len(&self) -> usize {
        R::max_len(self.sizes)
    }
}

/// For bindings, which keep records that other code still reads. Not stable.
#[doc(hidden)]
impl RecordConsumer {
    /// Keeps this record, and lets the next pop go on behind it. The record stays where it is until
    /// it is given back. From now on this handle's records are all kept and given back so.
    pub fn keep(record: Record<'_>) -> record_ring::Passed {
        record.keep()
    }

    /// Gives back all records up to this one, which is behind those that were given back.
    pub fn give_back(&mut self, passed: record_ring::Passed) {
        self.queue.give_back_passed(passed);
        Rings::ring(sealed::Bells::room(&self.bells));
    }
}

/// The records inside.
macro_rules! records {
    ($($handle:ident)*) => {$(
        impl $handle {
            /// Records that wait: a snapshot.
            pub fn records(&self) -> usize {
                self.queue.records()
            }
        }
    )*};
}

records! { RecordProducer RecordConsumer ManyRecordProducer ManyRecordConsumer }

/// The length of a lane in bytes.
fn len<T: Carried + ?Sized>(sizes: Sizes) -> Result<usize, Error> {
    const { assert!(T::ITEM.1 <= QUEUE_AT, "items of a lane are aligned to at most 4096 bytes") };
    Ok((QUEUE_AT + T::layout(sizes)?.size()).next_multiple_of(QUEUE_AT))
}

impl<T: Carried + ?Sized> AsFd for Lane<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.file.as_fd()
    }
}

impl<T: Carried + ?Sized> fmt::Debug for Lane<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lane").finish_non_exhaustive()
    }
}

/// The calls of the handles about their own side.
macro_rules! positions {
    ($([$($bounds:tt)*] $handle:ty: $what:literal;)*) => {$(
        impl<$($bounds)*> $handle {
            #[doc = concat!($what, " since the lane was made, by all processes that have had this side.")]
            ///
            /// The position at which a process continues that takes the side over.
            pub fn position(&self) -> u64 {
                self.queue.count()
            }
        }
    )*};
}

positions! {
    [T: Item] Producer<T>: "Items that have been pushed";
    [T: Item] Consumer<T>: "Items that have been popped";
    [] RecordProducer: "Records that have been committed";
    [] RecordConsumer: "Records that have been dropped";
    [T: Item] Publisher<T>: "Items that have been pushed";
}

/// The calls of the handles about the other side.
macro_rules! peers {
    ($($handle:ty)*) => {$(
        impl<Q, B: Sleeps> $handle {
            /// Checks whether a process has the other side. If all processes that had it are dead,
            /// the side is closed from now on.
            pub fn peer(&self) -> Peer {
                self.bells.own().peer()
            }

            /// The descriptor that has the lock of this handle's seat, if the bells know it. For
            /// bindings: a forked child closes it, and forgets the handle. Not stable.
            #[doc(hidden)]
            pub fn seat(&self) -> Option<RawFd> {
                self.bells.seat()
            }

            /// Whether a process has the other side: see [`peer`](Self::peer).
            pub fn has_peer(&self) -> bool {
                self.peer() == Peer::Alive
            }

            /// Waits until a process has the other side, for at most `timeout`. Returns `false`
            /// when the time is over. A process that comes and leaves again during the call counts:
            /// the items that it has pushed are there.
            pub fn wait_for_peer(&self, timeout: Duration) -> bool {
                // A time that the clock can't represent never comes.
                let until = Instant::now().checked_add(timeout);
                let bell = self.bells.own();
                let before = bell.epoch_of_peer();
                let has_come = || self.has_peer() || bell.epoch_of_peer() != before;
                let look = || if has_come() { Look::Done(()) } else { Look::NotYet };
                Habit::by(wait::Strategy::Sleep).wait(bell, until, look).is_some()
            }
        }
    )*};
}

peers! {
    wait::Producer<Q, B> wait::Consumer<Q, B>
    wait::bytes::Producer<Q, B> wait::bytes::Consumer<Q, B>
}
