//! Byte records of any length, written and read in place.

use std::ffi::c_void;
use std::time::Duration;
use std::{ptr, slice};

use corelane::bytes::ClaimError;
use corelane::shm::{self, Peer as Met};
use corelane::wait::bytes::{self, Claim, Claims, Records, Suspended};
use corelane::wait::{Bells, Local, Strategy};
use corelane::{CapacityError, TryPopError, record_ring};

use crate::handle::{Peer, give, take_back};
use crate::held::{Held, Opens};
use crate::meets::Meets;
use crate::status::{Patience, Status};

/// A sending handle of a queue or lane for byte records. It belongs to one thread at a time.
#[allow(missing_debug_implementations, reason = "C has no use for it")]
pub struct RecordProducer(pub(crate) Option<Box<dyn SendsRecords>>);

/// A receiving handle of a queue or lane for byte records. It belongs to one thread at a time.
#[allow(missing_debug_implementations, reason = "C has no use for it")]
pub struct RecordConsumer(pub(crate) Option<Box<dyn ReceivesRecords>>);

/// The calls of a sending handle.
pub(crate) trait SendsRecords {
    fn claim(&mut self, len: usize, patience: Patience) -> Result<*mut u8, Status>;
    fn commit(&mut self, len: usize) -> Status;
    fn push(&mut self, bytes: &[u8], patience: Patience) -> Status;
    fn max_len(&self) -> usize;
    fn is_closed(&self) -> bool;
    fn position(&self) -> u64;
    fn peer(&self) -> Option<Met>;
    fn wait_for_peer(&self, timeout: Duration) -> bool;
    fn another(&self) -> Option<Box<dyn SendsRecords>>;
    fn by(self: Box<Self>, strategy: Strategy) -> Box<dyn SendsRecords>;
}

/// The calls of a receiving handle.
pub(crate) trait ReceivesRecords {
    fn peek(&mut self, patience: Patience) -> Result<&[u8], Status>;
    fn release(&mut self) -> Status;
    fn is_closed(&self) -> bool;
    fn position(&self) -> u64;
    fn peer(&self) -> Option<Met>;
    fn wait_for_peer(&self, timeout: Duration) -> bool;
    fn another(&self) -> Option<Box<dyn ReceivesRecords>>;
    fn by(self: Box<Self>, strategy: Strategy) -> Box<dyn ReceivesRecords>;
}

/// A handle of which the side may have several, or not.
pub(crate) trait Another: Sized {
    fn another(&self) -> Option<Self> {
        None
    }
}

impl Another for bytes::Producer<record_ring::Producer, Local> {}
impl Another for bytes::Consumer<record_ring::Consumer, Local> {}
impl Another for shm::RecordProducer {}
impl Another for shm::RecordConsumer {}

impl Another for bytes::Producer {
    fn another(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl Another for bytes::Consumer {
    fn another(&self) -> Option<Self> {
        Some(self.clone())
    }
}

type Sending<P, B> = Held<bytes::Producer<P, B>>;
type Receiving<C, B> = Held<bytes::Consumer<C, B>>;

impl<P: Claims, B: Bells> Opens for bytes::Producer<P, B> {
    type Open = Suspended<P::Allocated>;

    fn end(&mut self, open: Self::Open) {
        // SAFETY: the contract of `Opens`.
        drop(unsafe { self.resume(open) });
    }
}

impl<C: Records, B: Bells> Opens for bytes::Consumer<C, B> {
    type Open = Suspended<C::Found>;

    fn end(&mut self, open: Self::Open) {
        // SAFETY: the contract of `Opens`.
        drop(unsafe { self.resume(open) });
    }
}

fn claim<P: Claims, B: Bells>(
    tx: &mut bytes::Producer<P, B>,
    len: usize,
    patience: Patience,
) -> Result<Claim<'_, P, B>, ClaimError> {
    match patience {
        Patience::None => tx.try_claim(len),
        Patience::For(time) => tx.claim_timeout(len, time),
        Patience::Forever => tx.claim(len),
    }
}

impl<P, B> SendsRecords for Sending<P, B>
where
    P: Claims + 'static,
    B: Bells + 'static,
    bytes::Producer<P, B>: Meets + Another,
{
    fn claim(&mut self, len: usize, patience: Patience) -> Result<*mut u8, Status> {
        let mut claim = claim(self.free(), len, patience)?;
        let place = claim.as_mut_ptr();
        let open = claim.suspend();
        self.keep(open);
        Ok(place)
    }

    fn commit(&mut self, len: usize) -> Status {
        match self.take() {
            (tx, Some(open)) if len <= open.len() => {
                // SAFETY: it is the last claim, since each call that claims ends what is open.
                unsafe { tx.resume(open) }.commit_len(len);
                Status::Ok
            }
            (tx, Some(open)) => {
                tx.end(open);
                Status::Invalid
            }
            _ => Status::Invalid,
        }
    }

    fn push(&mut self, bytes: &[u8], patience: Patience) -> Status {
        Status::of(claim(self.free(), bytes.len(), patience).map_err(Into::into).map(
            |mut claim| {
                claim.copy_from_slice(bytes);
                claim.commit();
            },
        ))
    }

    fn max_len(&self) -> usize {
        self.get().max_len()
    }

    fn is_closed(&self) -> bool {
        self.get().is_closed()
    }

    fn position(&self) -> u64 {
        Meets::position(self.get())
    }

    fn peer(&self) -> Option<Met> {
        Meets::peer(self.get())
    }

    fn wait_for_peer(&self, timeout: Duration) -> bool {
        Meets::wait_for_peer(self.get(), timeout)
    }

    fn another(&self) -> Option<Box<dyn SendsRecords>> {
        Some(Box::new(Self::new(self.get().another()?)))
    }

    fn by(self: Box<Self>, strategy: Strategy) -> Box<dyn SendsRecords> {
        Box::new(Self::new(self.into_inner().strategy(strategy)))
    }
}

impl<C, B> ReceivesRecords for Receiving<C, B>
where
    C: Records + 'static,
    B: Bells + 'static,
    bytes::Consumer<C, B>: Meets + Another,
{
    fn peek(&mut self, patience: Patience) -> Result<&[u8], Status> {
        let rx = self.free();
        let record = match patience {
            Patience::None => rx.try_pop(),
            Patience::For(time) => rx.pop_timeout(time),
            Patience::Forever => rx.pop().ok_or(TryPopError::Closed),
        }?;
        let bytes = ptr::from_ref::<[u8]>(&record);
        let open = record.suspend();
        self.keep(open);
        // SAFETY: no producer writes the bytes while the record is not released, and this handle
        // is borrowed as long.
        Ok(unsafe { &*bytes })
    }

    fn release(&mut self) -> Status {
        match self.take() {
            (rx, Some(open)) => {
                rx.end(open);
                Status::Ok
            }
            _ => Status::Invalid,
        }
    }

    fn is_closed(&self) -> bool {
        self.get().is_closed()
    }

    fn position(&self) -> u64 {
        Meets::position(self.get())
    }

    fn peer(&self) -> Option<Met> {
        Meets::peer(self.get())
    }

    fn wait_for_peer(&self, timeout: Duration) -> bool {
        Meets::wait_for_peer(self.get(), timeout)
    }

    fn another(&self) -> Option<Box<dyn ReceivesRecords>> {
        Some(Box::new(Self::new(self.get().another()?)))
    }

    fn by(self: Box<Self>, strategy: Strategy) -> Box<dyn ReceivesRecords> {
        Box::new(Self::new(self.into_inner().strategy(strategy)))
    }
}

impl RecordProducer {
    pub(crate) fn new<P, B>(tx: bytes::Producer<P, B>) -> Self
    where
        P: Claims + 'static,
        B: Bells + 'static,
        bytes::Producer<P, B>: Meets + Another,
    {
        Self(Some(Box::new(Sending::new(tx))))
    }

    fn calls(&mut self) -> Option<&mut dyn SendsRecords> {
        match &mut self.0 {
            Some(calls) => Some(&mut **calls),
            None => None,
        }
    }
}

impl RecordConsumer {
    pub(crate) fn new<C, B>(rx: bytes::Consumer<C, B>) -> Self
    where
        C: Records + 'static,
        B: Bells + 'static,
        bytes::Consumer<C, B>: Meets + Another,
    {
        Self(Some(Box::new(Receiving::new(rx))))
    }

    fn calls(&mut self) -> Option<&mut dyn ReceivesRecords> {
        match &mut self.0 {
            Some(calls) => Some(&mut **calls),
            None => None,
        }
    }
}

/// Makes a queue between threads for byte records of any length, with room for at least `capacity`
/// bytes, and one handle of each side. `several`: any number of producers and consumers; otherwise
/// one of each, which is faster.
///
/// OK; INVALID; NO_MEMORY. Without OK the handles are not written.
///
/// # Safety
///
/// `producer` and `consumer` are NULL, or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_records_create(
    several: bool,
    capacity: usize,
    producer: *mut *mut RecordProducer,
    consumer: *mut *mut RecordConsumer,
) -> Status {
    if producer.is_null() || consumer.is_null() {
        return Status::Invalid;
    }
    match records(several, capacity) {
        // SAFETY: by the caller's contract, since neither is NULL.
        Ok((tx, rx)) => unsafe {
            give(producer, tx);
            give(consumer, rx)
        },
        Err(error) => error.into(),
    }
}

fn records(
    several: bool,
    capacity: usize,
) -> Result<(RecordProducer, RecordConsumer), CapacityError> {
    if several {
        let (tx, rx) = bytes::pair(corelane::bytes::queue(capacity)?);
        return Ok((RecordProducer::new(tx), RecordConsumer::new(rx)));
    }
    let (tx, rx) = bytes::pair(record_ring::queue(capacity)?);
    Ok((RecordProducer::new(tx), RecordConsumer::new(rx)))
}

/// Appends a copy of `len` bytes as a record. While there is no room, waits for at most `timeout`
/// nanoseconds: 0 doesn't wait, `CORELANE_FOREVER` has no limit.
///
/// OK; FULL; BUSY, only without waiting; CLOSED; TOO_LARGE; INVALID.
///
/// # Safety
///
/// `len` bytes can be read at `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_record_push(
    producer: Option<&mut RecordProducer>,
    bytes: *const c_void,
    len: usize,
    timeout: i64,
) -> Status {
    match producer.and_then(RecordProducer::calls) {
        Some(calls) if !bytes.is_null() => {
            // SAFETY: the caller's contract.
            let bytes = unsafe { slice::from_raw_parts(bytes.cast(), len) };
            calls.push(bytes, Patience::from(timeout))
        }
        _ => Status::Invalid,
    }
}

/// Lends room for a record of up to `len` bytes, and sets `bytes` to it. Write the record there, and
/// commit it. Waits as `corelane_record_push`. Any other call of the handle gives the room up.
///
/// OK; FULL; BUSY, only without waiting; CLOSED; TOO_LARGE; INVALID.
///
/// # Safety
///
/// `bytes` is NULL, or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_record_claim(
    producer: Option<&mut RecordProducer>,
    len: usize,
    bytes: *mut *mut c_void,
    timeout: i64,
) -> Status {
    match producer.and_then(RecordProducer::calls) {
        Some(calls) if !bytes.is_null() => {
            Status::of(calls.claim(len, Patience::from(timeout)).map(|room| {
                // SAFETY: by the caller's contract, since it is not NULL.
                unsafe { bytes.write(room.cast()) };
            }))
        }
        _ => Status::Invalid,
    }
}

/// Appends the first `len` bytes of the claimed room as a record.
///
/// OK; INVALID, also if fewer bytes are claimed: then the room is given up.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_commit(
    producer: Option<&mut RecordProducer>,
    len: usize,
) -> Status {
    producer.and_then(RecordProducer::calls).map_or(Status::Invalid, |calls| calls.commit(len))
}

/// Length of the longest record, in bytes. 0 of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_max_len(producer: Option<&mut RecordProducer>) -> usize {
    producer.and_then(RecordProducer::calls).map_or(0, |calls| calls.max_len())
}

/// Lends the oldest record in place. While there is none, waits for at most `timeout` nanoseconds: 0
/// doesn't wait, `CORELANE_FOREVER` has no limit. Release it when done. Any other call of the handle
/// that removes records releases it, too.
///
/// OK; EMPTY; BUSY, only without waiting; CLOSED; INVALID. Without OK nothing is written.
///
/// # Safety
///
/// `bytes` and `len` are NULL, or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_record_peek(
    consumer: Option<&mut RecordConsumer>,
    bytes: *mut *const c_void,
    len: *mut usize,
    timeout: i64,
) -> Status {
    match consumer.and_then(RecordConsumer::calls) {
        Some(calls) if !bytes.is_null() && !len.is_null() => {
            Status::of(calls.peek(Patience::from(timeout)).map(|record| {
                // SAFETY: by the caller's contract, since neither is NULL.
                unsafe {
                    bytes.write(record.as_ptr().cast());
                    len.write(record.len());
                }
            }))
        }
        _ => Status::Invalid,
    }
}

/// Removes the record that is lent.
///
/// OK; INVALID, also if none is lent.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_release(consumer: Option<&mut RecordConsumer>) -> Status {
    consumer.and_then(RecordConsumer::calls).map_or(Status::Invalid, |calls| calls.release())
}

/// As `corelane_producer_clone`.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_producer_clone(
    handle: Option<&mut RecordProducer>,
) -> *mut RecordProducer {
    let another = handle.and_then(RecordProducer::calls).and_then(|calls| calls.another());
    another
        .map_or(std::ptr::null_mut(), |calls| Box::into_raw(Box::new(RecordProducer(Some(calls)))))
}

/// As `corelane_producer_close`.
///
/// # Safety
///
/// NULL, or where the only pointer to a handle is, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_record_producer_close(handle: *mut *mut RecordProducer) {
    // SAFETY: the caller's contract.
    unsafe { take_back(handle) };
}

/// As `corelane_producer_position`, of records.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_producer_position(handle: Option<&mut RecordProducer>) -> u64 {
    handle.and_then(RecordProducer::calls).map_or(0, |calls| calls.position())
}

/// As `corelane_producer_is_closed`.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_producer_is_closed(handle: Option<&mut RecordProducer>) -> bool {
    handle.and_then(RecordProducer::calls).is_none_or(|calls| calls.is_closed())
}

/// As `corelane_producer_strategy`.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_producer_strategy(
    handle: Option<&mut RecordProducer>,
    how: crate::handle::Strategy,
) -> Status {
    let Some(handle) = handle else { return Status::Invalid };
    handle.0 = handle.0.take().map(|calls| calls.by(how.into()));
    Status::Ok
}

/// As `corelane_producer_peer`.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_producer_peer(handle: Option<&mut RecordProducer>) -> Peer {
    handle.and_then(RecordProducer::calls).and_then(|calls| calls.peer()).into()
}

/// As `corelane_producer_wait_for_peer`.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_producer_wait_for_peer(
    handle: Option<&mut RecordProducer>,
    timeout: i64,
) -> bool {
    let time = Patience::from(timeout).time();
    handle.and_then(RecordProducer::calls).is_some_and(|calls| calls.wait_for_peer(time))
}

/// As `corelane_producer_clone`.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_consumer_clone(
    handle: Option<&mut RecordConsumer>,
) -> *mut RecordConsumer {
    let another = handle.and_then(RecordConsumer::calls).and_then(|calls| calls.another());
    another
        .map_or(std::ptr::null_mut(), |calls| Box::into_raw(Box::new(RecordConsumer(Some(calls)))))
}

/// As `corelane_producer_close`.
///
/// # Safety
///
/// NULL, or where the only pointer to a handle is, or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn corelane_record_consumer_close(handle: *mut *mut RecordConsumer) {
    // SAFETY: the caller's contract.
    unsafe { take_back(handle) };
}

/// As `corelane_consumer_position`, of records.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_consumer_position(handle: Option<&mut RecordConsumer>) -> u64 {
    handle.and_then(RecordConsumer::calls).map_or(0, |calls| calls.position())
}

/// As `corelane_producer_is_closed`.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_consumer_is_closed(handle: Option<&mut RecordConsumer>) -> bool {
    handle.and_then(RecordConsumer::calls).is_none_or(|calls| calls.is_closed())
}

/// As `corelane_producer_strategy`.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_consumer_strategy(
    handle: Option<&mut RecordConsumer>,
    how: crate::handle::Strategy,
) -> Status {
    let Some(handle) = handle else { return Status::Invalid };
    handle.0 = handle.0.take().map(|calls| calls.by(how.into()));
    Status::Ok
}

/// As `corelane_producer_peer`.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_consumer_peer(handle: Option<&mut RecordConsumer>) -> Peer {
    handle.and_then(RecordConsumer::calls).and_then(|calls| calls.peer()).into()
}

/// As `corelane_producer_wait_for_peer`.
#[unsafe(no_mangle)]
pub extern "C" fn corelane_record_consumer_wait_for_peer(
    handle: Option<&mut RecordConsumer>,
    timeout: i64,
) -> bool {
    let time = Patience::from(timeout).time();
    handle.and_then(RecordConsumer::calls).is_some_and(|calls| calls.wait_for_peer(time))
}
