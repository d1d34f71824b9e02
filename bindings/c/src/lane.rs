//! Lanes: queues in memory that processes share.

use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd};
use std::path::Path;

use corelane::shm::{self, Error, Item, Named};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::handle::{Consumer, Producer, give, take_back};
use crate::item::{Copies, Lends, Receives, Sends, receives, sends};
use crate::record::{RecordConsumer, RecordProducer};
use crate::size::with_size;
use crate::status::Status;

/// A lane: a queue in memory that processes share, whatever their languages. Take its sides by
/// `corelane_lane_producer` and `corelane_lane_consumer`. A process that is killed gives its side
/// back, and the next one continues there. Threads may share this handle.
#[allow(missing_debug_implementations, reason = "C has no use for it")]
pub struct Lane(Box<dyn Sides>);

/// A socket at which processes ask for a lane.
#[allow(missing_debug_implementations, reason = "C has no use for it")]
pub struct Listener(shm::Listener);

/// The kind of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum LaneKind {
    /// Items between one producer and one consumer.
    OneToOne = 0,
    /// Items between several producers and any number of consumers.
    Several = 1,
    /// Items of one producer, each of which all consumers get.
    Broadcast = 2,
    /// Byte records between one producer and one consumer.
    Records = 3,
}

/// What a lane carries. Both processes describe it in the same way, or the lane isn't opened.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Carried {
    /// The kind.
    pub kind: LaneKind,
    /// The name of the item's type, as in the program in another language: "Tick" for Rust's struct
    /// `Tick`, "u64" for a number. Not used for records.
    pub name: *const c_char,
    /// Bytes of an item: 1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64, 96, 128, 256, 512 or 1024.
    /// Not used for records.
    pub item_size: usize,
    /// The alignment of an item, at most 8. Not used for records.
    pub item_align: usize,
    /// Of `SEVERAL`: the number of producers that there may be at a time. Of `RECORDS`: bytes of the
    /// longest record. 0: 16 producers, or a quarter of the capacity. Not used to open a lane.
    pub most: usize,
}

trait Sides {
    fn producer(&self) -> Result<Producer, Status>;
    fn consumer(&self) -> Result<Consumer, Status>;
    fn record_producer(&self) -> Result<RecordProducer, Status>;
    fn record_consumer(&self) -> Result<RecordConsumer, Status>;
    fn file(&self) -> BorrowedFd<'_>;
    fn hand_out(&self, listener: &shm::Listener) -> Result<(), Error>;
}

/// What a lane for items and one for records answer to the other's calls.
macro_rules! has_no {
    ($($side:ident $handle:ident)*) => {$(
        fn $side(&self) -> Result<$handle, Status> {
            Err(Status::Invalid)
        }
    )*};
}

macro_rules! has_file {
    () => {
        fn file(&self) -> BorrowedFd<'_> {
            self.as_fd()
        }

        fn hand_out(&self, listener: &shm::Listener) -> Result<(), Error> {
            listener.hand_out(self).map(drop)
        }
    };
}

impl Sides for shm::Lane<[u8]> {
    has_no! { producer Producer consumer Consumer }
    has_file! {}

    fn record_producer(&self) -> Result<RecordProducer, Status> {
        Ok(RecordProducer::new(self.producer()?))
    }

    fn record_consumer(&self) -> Result<RecordConsumer, Status> {
        Ok(RecordConsumer::new(self.consumer()?))
    }
}

/// Implements `Sides` for a kind of lane for items.
macro_rules! of_items {
    ($($lane:ty, $loans:ty;)*) => {$(
        impl<const N: usize> Sides for $lane
        where
            [u8; N]: Item,
        {
            has_no! { record_producer RecordProducer record_consumer RecordConsumer }
            has_file! {}

            fn producer(&self) -> Result<Producer, Status> {
                let calls: Box<dyn Sends> = sends::<$loans, _, _, N>(self.producer()?, N);
                Ok(Producer::new(calls))
            }

            fn consumer(&self) -> Result<Consumer, Status> {
                let rx = self.consumer()?;
                let calls: Box<dyn Receives> = receives::<$loans, _, _, N>(rx, N);
                Ok(Consumer::new(calls))
            }
        }
    )*};
}

of_items! {
    shm::Lane<[u8; N]>, Lends;
    shm::Lanes<[u8; N]>, Copies;
    shm::Broadcast<[u8; N]>, Copies;
}

/// How a lane is reached.
#[derive(Clone, Copy)]
enum Way<'a> {
    New(usize),
    Descriptor(BorrowedFd<'a>),
    Socket(&'a Path),
}

impl Carried {
    fn named(&self) -> Option<Named<'_>> {
        if self.name.is_null() || !matches!(self.item_align, 1 | 2 | 4 | 8) {
            return None;
        }
        // SAFETY: by the contract of the calls, since it is not NULL.
        let name = unsafe { CStr::from_ptr(self.name) }.to_str().ok()?;
        Some(Named { name, align: self.item_align })
    }

    fn lane(&self, by: Way<'_>) -> Result<Lane, Status> {
        if self.kind == LaneKind::Records {
            return Ok(Lane(Box::new(self.records(by)?)));
        }
        let named = self.named().ok_or(Status::Invalid)?;
        let made = with_size!(self.item_size, N => {
            // Processes share the slots, so the item has exactly their size.
            if N != self.item_size {
                return Err(Status::Invalid);
            }
            match self.kind {
                LaneKind::OneToOne => self.of::<[u8; N]>(by, named).map(sides),
                LaneKind::Several => self.of::<shm::Many<[u8; N]>>(by, named).map(sides),
                _ => self.of::<shm::All<[u8; N]>>(by, named).map(sides),
            }
        });
        Ok(Lane(made.ok_or(Status::Invalid)??))
    }

    fn of<T: shm::Carried>(&self, by: Way<'_>, named: Named<'_>) -> Result<shm::Lane<T>, Error> {
        match by {
            Way::New(capacity) => shm::Lane::create_named(capacity, self.most(), named),
            Way::Descriptor(file) => shm::Lane::open_named(file, named),
            Way::Socket(path) => shm::Lane::connect_path_named(path, named),
        }
    }

    /// Only the lanes of several producers have such a number.
    fn most(&self) -> usize {
        if self.kind == LaneKind::Several { self.most } else { 0 }
    }

    fn records(&self, by: Way<'_>) -> Result<shm::Lane<[u8]>, Error> {
        match by {
            Way::New(capacity) if self.most == 0 => shm::Lane::create(capacity),
            Way::New(capacity) => {
                shm::Lane::create_for_records(self.most, capacity.div_ceil(self.most))
            }
            Way::Descriptor(file) => shm::Lane::open(file),
            Way::Socket(path) => shm::Lane::connect_path(path),
        }
    }
}

fn sides(lane: impl Sides + 'static) -> Box<dyn Sides> {
    Box::new(lane)
}

/// Gives C a lane, or another handle, that was made or not.
///
/// # Safety
///
/// `to` may be written.
unsafe fn answer<H>(to: *mut *mut H, made: Result<H, Status>) -> Status {
    match made {
        // SAFETY: the caller's contract.
        Ok(handle) => unsafe { give(to, handle) },
        Err(status) => status,
    }
}

/// Makes a lane for at least `capacity` items, or bytes of records. It has no name in any file
/// system, and vanishes with the last process that has it.
///
/// OK; INVALID; NO_MEMORY; SYSTEM. `corelane_last_error` says why.
///
/// # Safety
///
/// `what` is NULL, or has a name that is NULL or a string, and `lane` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_lane_create(
    what: Option<&Carried>,
    capacity: usize,
    lane: *mut *mut Lane,
) -> Status {
    match what {
        // SAFETY: by the caller's contract, since it is not NULL.
        Some(what) if !lane.is_null() => unsafe { answer(lane, what.lane(Way::New(capacity))) },
        _ => Status::Invalid,
    }
}

/// Opens a lane that another process has made, by a descriptor that this process has inherited or
/// got through a socket. The descriptor stays open, and is the caller's.
///
/// OK; INVALID; NOT_A_LANE; DIFFERS; CORRUPT; SYSTEM.
///
/// # Safety
///
/// As `corelane_lane_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_lane_open(
    what: Option<&Carried>,
    descriptor: c_int,
    lane: *mut *mut Lane,
) -> Status {
    match what {
        Some(_) if descriptor < 0 => Status::NotALane,
        Some(what) if !lane.is_null() => {
            // SAFETY: it is not used as one that this process owns. If it isn't open, or is another
            // file, the calls of the system say so.
            let file = unsafe { BorrowedFd::borrow_raw(descriptor) };
            // SAFETY: by the caller's contract, since it is not NULL.
            unsafe { answer(lane, what.lane(Way::Descriptor(file))) }
        }
        _ => Status::Invalid,
    }
}

/// Asks the process that listens at this path for a lane: see `corelane_listener_create`. Waits for
/// its answer.
///
/// As `corelane_lane_open`; REFUSED.
///
/// # Safety
///
/// As `corelane_lane_create`; `path` is NULL or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_lane_connect(
    what: Option<&Carried>,
    path: *const c_char,
    lane: *mut *mut Lane,
) -> Status {
    // SAFETY: the caller's contract.
    match (what, unsafe { path_of(path) }) {
        (Some(what), Some(path)) if !lane.is_null() => {
            // SAFETY: by the caller's contract, since it is not NULL.
            unsafe { answer(lane, what.lane(Way::Socket(path))) }
        }
        _ => Status::Invalid,
    }
}

/// # Safety
///
/// It is NULL or a string that lives for `'a`.
unsafe fn path_of<'a>(path: *const c_char) -> Option<&'a Path> {
    if path.is_null() {
        return None;
    }
    // SAFETY: the caller's contract.
    unsafe { CStr::from_ptr(path) }.to_str().ok().map(Path::new)
}

/// A descriptor of the lane that programs inherit which this process executes. A child opens it by
/// `corelane_lane_open`. The caller closes it, after `fork`. Less than 0: there is none.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_lane_descriptor(lane: Option<&Lane>) -> c_int {
    let Some(lane) = lane else { return -1 };
    // Opened anew: locks of this process must not stay while a child lives.
    let path = format!("/proc/self/fd/{}", lane.0.file().as_raw_fd());
    let Ok(file) = File::options().read(true).write(true).open(path) else { return -1 };
    match fcntl_setfd(&file, FdFlags::empty()) {
        Ok(()) => file.into_raw_fd(),
        Err(_) => -1,
    }
}

/// # Safety
///
/// `handle` is NULL, or may be written.
unsafe fn take<H>(
    lane: Option<&Lane>,
    handle: *mut *mut H,
    side: impl Fn(&dyn Sides) -> Result<H, Status>,
) -> Status {
    match lane {
        // SAFETY: by the caller's contract, since it is not NULL.
        Some(lane) if !handle.is_null() => unsafe { answer(handle, side(&*lane.0)) },
        _ => Status::Invalid,
    }
}

/// Takes a sending side of a lane for items. It may outlive the lane's handle.
///
/// OK; TAKEN, if live processes have all; CORRUPT; INVALID, also of a lane for records.
///
/// # Safety
///
/// `handle` is NULL, or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_lane_producer(
    lane: Option<&Lane>,
    handle: *mut *mut Producer,
) -> Status {
    // SAFETY: the caller's contract.
    unsafe { take(lane, handle, |lane| lane.producer()) }
}

/// Takes a receiving side of a lane for items: see `corelane_lane_producer`.
///
/// # Safety
///
/// `handle` is NULL, or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_lane_consumer(
    lane: Option<&Lane>,
    handle: *mut *mut Consumer,
) -> Status {
    // SAFETY: the caller's contract.
    unsafe { take(lane, handle, |lane| lane.consumer()) }
}

/// Takes the sending side of a lane for records: see `corelane_lane_producer`.
///
/// # Safety
///
/// `handle` is NULL, or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_lane_record_producer(
    lane: Option<&Lane>,
    handle: *mut *mut RecordProducer,
) -> Status {
    // SAFETY: the caller's contract.
    unsafe { take(lane, handle, |lane| lane.record_producer()) }
}

/// Takes the receiving side of a lane for records: see `corelane_lane_producer`.
///
/// # Safety
///
/// `handle` is NULL, or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_lane_record_consumer(
    lane: Option<&Lane>,
    handle: *mut *mut RecordConsumer,
) -> Status {
    // SAFETY: the caller's contract.
    unsafe { take(lane, handle, |lane| lane.record_consumer()) }
}

/// Closes the lane's handle, and sets the pointer to NULL. Sides that were taken go on.
///
/// # Safety
///
/// NULL, or where the only pointer to a lane is, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_lane_close(lane: *mut *mut Lane) {
    // SAFETY: the caller's contract.
    unsafe { take_back(lane) };
}

/// Listens at a path for processes of the same user that ask for a lane. The socket of a killed
/// process at this path is replaced.
///
/// OK; INVALID; SYSTEM.
///
/// # Safety
///
/// `path` is NULL or a string, and `listener` is NULL or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_listener_create(
    path: *const c_char,
    listener: *mut *mut Listener,
) -> Status {
    // SAFETY: the caller's contract.
    match unsafe { path_of(path) } {
        Some(path) if !listener.is_null() => {
            let made = shm::Listener::bind_path(path).map(Listener).map_err(Status::from);
            // SAFETY: by the caller's contract, since it is not NULL.
            unsafe { answer(listener, made) }
        }
        _ => Status::Invalid,
    }
}

/// Waits for a process that asks for a lane, and gives it this one. Several threads may do so.
///
/// OK; INVALID; SYSTEM.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_listener_hand_out(
    listener: Option<&Listener>,
    lane: Option<&Lane>,
) -> Status {
    match (listener, lane) {
        (Some(listener), Some(lane)) => {
            Status::of(lane.0.hand_out(&listener.0).map_err(Status::from))
        }
        _ => Status::Invalid,
    }
}

/// Closes the listener, and sets the pointer to NULL.
///
/// # Safety
///
/// NULL, or where the only pointer to a listener is, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_listener_close(listener: *mut *mut Listener) {
    // SAFETY: the caller's contract.
    unsafe { take_back(listener) };
}
