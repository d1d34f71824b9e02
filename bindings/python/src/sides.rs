//! A lane of messages, and the sides of it that this process has taken.

use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use corelane::TryPopError;
use corelane::bytes::ClaimError;
use corelane::record_ring::Passed;
use corelane::seat_ring;
use corelane::shm::{
    self, Error, Lanes, ManyRecordConsumer, ManyRecordProducer, Peer, RecordConsumer,
    RecordProducer, Watching,
};
use corelane::wait::bytes::Suspended;
use parking_lot::{Mutex, MutexGuard};
use pyo3::Python;

use crate::fork::{self, Forks, generation};
use crate::ready::Ready;

/// A lane of byte records.
pub(crate) enum Records {
    One(shm::Lane<[u8]>),
    Several(Lanes<[u8]>),
}

impl AsFd for Records {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::One(lane) => lane.as_fd(),
            Self::Several(lanes) => lanes.as_fd(),
        }
    }
}

/// A lane, and the sides that this process has. A side is taken by its first use.
pub(crate) struct Sides {
    pub(crate) records: Records,
    /// The process takes both sides at once, so that none is ever closed.
    stays_open: bool,
    /// Most messages that are inside.
    limit: Option<usize>,
    sender: Mutex<Option<Arc<Sender>>>,
    receiver: Mutex<Option<Arc<Receiver>>>,
    /// For programs that wait for descriptors: messages, and room.
    pub(crate) messages: Ready,
    pub(crate) room: Ready,
}

impl Sides {
    pub(crate) fn new(records: Records, stays_open: bool, limit: Option<usize>) -> Arc<Self> {
        let sides = Arc::new(Self {
            records,
            stays_open,
            limit,
            sender: Mutex::new(None),
            receiver: Mutex::new(None),
            messages: Ready::default(),
            room: Ready::default(),
        });
        fork::note(Arc::downgrade(&sides));
        sides
    }

    pub(crate) fn stays_open(&self) -> bool {
        self.stays_open
    }

    pub(crate) fn sender(&self) -> Result<Arc<Sender>, Error> {
        let mut sender = self.sender.lock();
        if let Some(sender) = &*sender {
            return Ok(sender.clone());
        }
        let tx = match &self.records {
            Records::One(lane) => Tx::One { tx: lane.producer()?, is_claimed: false },
            Records::Several(lanes) => {
                let tx = lanes.producer()?;
                Tx::Several(match self.limit {
                    Some(limit) => tx.limit(limit),
                    None => tx,
                })
            }
        };
        let made = Arc::new(Sender { tx: Owned::new(tx) });
        *sender = Some(made.clone());
        drop(sender);
        if self.stays_open {
            self.receiver()?;
        }
        Ok(made)
    }

    pub(crate) fn receiver(&self) -> Result<Arc<Receiver>, Error> {
        let mut receiver = self.receiver.lock();
        if let Some(receiver) = &*receiver {
            return Ok(receiver.clone());
        }
        let rx = match &self.records {
            Records::One(lane) => Rx::One { rx: lane.consumer()?, kept: VecDeque::new(), first: 0 },
            Records::Several(lanes) => Rx::Several(lanes.consumer()?),
        };
        let made = Arc::new(Receiver { rx: Owned::new(rx) });
        *receiver = Some(made.clone());
        drop(receiver);
        if self.stays_open {
            self.sender()?;
        }
        Ok(made)
    }

    /// The sides that this process has: whether it sends, and whether it receives.
    pub(crate) fn taken(&self) -> (bool, bool) {
        (self.sender.lock().is_some(), self.receiver.lock().is_some())
    }

    /// Gives the sending side back.
    pub(crate) fn close_sender(&self) {
        let sender = self.sender.lock().take();
        drop(sender);
    }

    /// Gives the receiving side back, when the messages that are lent have come back.
    pub(crate) fn close_receiver(&self) {
        let receiver = self.receiver.lock().take();
        drop(receiver);
    }
}

impl Forks for Sides {
    fn close(&self) {
        self.close_sender();
        self.close_receiver();
    }

    fn forget(&self) {
        self.messages.forget();
        self.room.forget();
        renew(&self.sender);
        renew(&self.receiver);
        self.close();
    }
}

/// In a forked child: a new lock with the same value. The old one may be taken, and threads of the
/// parent may wait for it.
pub(crate) fn renew<T>(lock: &Mutex<T>) {
    // SAFETY: this process has one thread, which does not have the lock, and the value is moved. All
    // of a lock may change behind a shared reference.
    unsafe {
        let value = lock.data_ptr().read();
        std::ptr::from_ref(lock).cast_mut().write(Mutex::new(value));
    }
}

/// A handle of a lane, of the process that has taken it.
pub(crate) struct Owned<T: Seated + 'static> {
    handle: Mutex<ManuallyDrop<T>>,
    generation: u64,
}

/// A handle that has a seat.
pub(crate) trait Seated {
    /// The descriptor that has the seat's lock.
    fn seat(&self) -> Option<RawFd>;
}

impl<T: Seated + Send + 'static> Owned<T> {
    /// Noted for children, with what is lent by it.
    pub(crate) fn new(handle: T) -> Arc<Self> {
        let handle = Mutex::new(ManuallyDrop::new(handle));
        let owned = Arc::new(Self { handle, generation: generation() });
        fork::note(Arc::downgrade(&owned));
        owned
    }

    /// Whether it is this process's, and not its parent's.
    pub(crate) fn is_own(&self) -> bool {
        self.generation == generation()
    }

    /// The handle, unless another thread uses it: it waits then, most likely.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, ManuallyDrop<T>>> {
        self.handle.try_lock()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, ManuallyDrop<T>> {
        self.handle.lock()
    }

    pub(crate) fn lock_for(&self, time: Duration) -> Option<MutexGuard<'_, ManuallyDrop<T>>> {
        self.handle.try_lock_for(time)
    }
}

impl<T: Seated + Send + 'static> Forks for Owned<T> {
    fn forget(&self) {
        renew(&self.handle);
        if let Some(seat) = self.handle.lock().seat() {
            // SAFETY: the handle is never used or dropped any more. The parent's descriptor stays.
            unsafe { libc::close(seat) };
        }
    }

    fn close(&self) {}
}

impl<T: Seated + 'static> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.generation == generation() {
            // SAFETY: it isn't used any more.
            unsafe { ManuallyDrop::drop(self.handle.get_mut()) };
        }
    }
}

/// The sending side.
pub(crate) struct Sender {
    pub(crate) tx: Arc<Owned<Tx>>,
}

impl Sender {
    /// Ends a claim: sends its first bytes, or none. False in a forked child: it is the parent's.
    pub(crate) fn end(&self, claimed: Claimed, len: Option<usize>) -> bool {
        let is_own = self.tx.is_own();
        if is_own {
            self.tx.lock().end(claimed, len);
        }
        is_own
    }
}

pub(crate) enum Tx {
    One {
        tx: RecordProducer,
        /// Whether a claim of it is open.
        is_claimed: bool,
    },
    Several(ManyRecordProducer),
}

/// Why nothing was sent.
pub(crate) enum Refused {
    By(ClaimError),
    /// A claim of this handle is open.
    Claimed,
}

impl From<ClaimError> for Refused {
    fn from(error: ClaimError) -> Self {
        Self::By(error)
    }
}

/// Room for a record, after a wait of at most some time.
macro_rules! claim {
    ($tx:ident, $len:expr, $time:expr) => {
        if $time.is_zero() { $tx.try_claim($len)? } else { $tx.claim_timeout($len, $time)? }
    };
}

/// A claim from one call of Python to a later one.
pub(crate) enum Claimed {
    One(Suspended<()>),
    Several(Suspended<seat_ring::Allocated>),
}

impl Seated for Tx {
    fn seat(&self) -> Option<RawFd> {
        match self {
            Self::One { tx, .. } => tx.seat(),
            Self::Several(tx) => tx.seat(),
        }
    }
}

impl Tx {
    /// Sends a record of `len` bytes, which `write` writes. Waits for room for at most `time`.
    pub(crate) fn send(
        &mut self,
        len: usize,
        time: Duration,
        write: impl FnOnce(&mut [u8]),
    ) -> Result<(), Refused> {
        macro_rules! send {
            ($tx:ident) => {{
                let mut claim = claim!($tx, len, time);
                write(&mut claim);
                claim.commit();
            }};
        }
        match self {
            Self::One { is_claimed: true, .. } => return Err(Refused::Claimed),
            Self::One { tx, .. } => send!(tx),
            Self::Several(tx) => send!(tx),
        }
        Ok(())
    }

    /// Claims room for a record of `len` bytes, and says where it is.
    pub(crate) fn claim(
        &mut self,
        len: usize,
        time: Duration,
    ) -> Result<(Claimed, *mut u8), Refused> {
        match self {
            Self::One { is_claimed: true, .. } => Err(Refused::Claimed),
            Self::One { tx, is_claimed } => {
                let mut claim = claim!(tx, len, time);
                let start = claim.as_mut_ptr();
                *is_claimed = true;
                Ok((Claimed::One(claim.suspend()), start))
            }
            Self::Several(tx) => {
                let mut claim = claim!(tx, len, time);
                let start = claim.as_mut_ptr();
                Ok((Claimed::Several(claim.suspend()), start))
            }
        }
    }

    /// Ends a claim of this handle.
    fn end(&mut self, claimed: Claimed, len: Option<usize>) {
        macro_rules! end {
            ($tx:ident, $claimed:ident) => {{
                // SAFETY: it is a claim of this handle, which is ended once. The handle of a lane
                // between two processes has no other one.
                let claim = unsafe { $tx.resume($claimed) };
                match len {
                    Some(len) => claim.commit_len(len),
                    None => claim.abort(),
                }
            }};
        }
        match (self, claimed) {
            (Self::One { tx, is_claimed }, Claimed::One(claimed)) => {
                *is_claimed = false;
                end!(tx, claimed);
            }
            (Self::Several(tx), Claimed::Several(claimed)) => end!(tx, claimed),
            _ => unreachable!("a claim belongs to its handle"),
        }
    }

    pub(crate) fn watch(&self, waker: &Waker) -> Watching {
        match self {
            Self::One { tx, .. } => tx.watch(waker),
            Self::Several(tx) => tx.watch(waker),
        }
    }

    /// Messages that wait.
    pub(crate) fn records(&self) -> usize {
        match self {
            Self::One { tx, .. } => tx.records(),
            Self::Several(tx) => tx.records(),
        }
    }

    pub(crate) fn wait_for_peer(&self, time: Duration) -> bool {
        match self {
            Self::One { tx, .. } => tx.wait_for_peer(time),
            Self::Several(tx) => tx.wait_for_peer(time),
        }
    }

    pub(crate) fn position(&self) -> Option<u64> {
        match self {
            Self::One { tx, .. } => Some(tx.position()),
            Self::Several(_) => None,
        }
    }

    pub(crate) fn peer(&self) -> Peer {
        match self {
            Self::One { tx, .. } => tx.peer(),
            Self::Several(tx) => tx.peer(),
        }
    }
}

/// The receiving side.
pub(crate) struct Receiver {
    rx: Arc<Owned<Rx>>,
}

pub(crate) enum Rx {
    One {
        rx: RecordConsumer,
        /// Records that were lent, oldest first, and whether they have come back.
        kept: VecDeque<(Passed, bool)>,
        /// The number of the oldest one.
        first: u64,
    },
    Several(ManyRecordConsumer),
}

/// A record that is lent.
enum Kept {
    One(u64),
    Several(Suspended<seat_ring::Found>),
}

impl Seated for Rx {
    fn seat(&self) -> Option<RawFd> {
        match self {
            Self::One { rx, .. } => rx.seat(),
            Self::Several(rx) => rx.seat(),
        }
    }
}

impl Rx {
    /// Takes the oldest record. Waits for it for at most `time`.
    fn take(&mut self, time: Duration) -> Result<(Kept, *const u8, usize), TryPopError> {
        macro_rules! pop {
            ($rx:ident) => {
                if time.is_zero() { $rx.try_pop() } else { $rx.pop_timeout(time) }
            };
        }
        match self {
            Self::One { rx, kept, first } => {
                let record = pop!(rx)?;
                let (start, len) = (record.as_ptr(), record.len());
                kept.push_back((RecordConsumer::keep(record), false));
                Ok((Kept::One(*first + kept.len() as u64 - 1), start, len))
            }
            Self::Several(rx) => {
                let record = pop!(rx)?;
                let (start, len) = (record.as_ptr(), record.len());
                Ok((Kept::Several(record.suspend()), start, len))
            }
        }
    }

    /// Gives a record back. The lane gets its room when all older ones have come back.
    fn give_back(&mut self, record: Kept) {
        match (self, record) {
            (Self::One { rx, kept, first }, Kept::One(number)) => {
                kept[(number - *first) as usize].1 = true;
                let mut last = None;
                while let Some((passed, true)) = kept.front() {
                    last = Some(*passed);
                    kept.pop_front();
                    *first += 1;
                }
                if let Some(passed) = last {
                    rx.give_back(passed);
                }
            }
            (Self::Several(rx), Kept::Several(record)) => {
                // SAFETY: a handle of such a lane may have several records, and this is one.
                drop(unsafe { rx.resume(record) });
            }
            _ => unreachable!("a record belongs to its handle"),
        }
    }

    pub(crate) fn watch(&self, waker: &Waker) -> Watching {
        match self {
            Self::One { rx, .. } => rx.watch(waker),
            Self::Several(rx) => rx.watch(waker),
        }
    }

    /// Messages that wait.
    pub(crate) fn records(&self) -> usize {
        match self {
            Self::One { rx, .. } => rx.records(),
            Self::Several(rx) => rx.records(),
        }
    }

    pub(crate) fn wait_for_peer(&self, time: Duration) -> bool {
        match self {
            Self::One { rx, .. } => rx.wait_for_peer(time),
            Self::Several(rx) => rx.wait_for_peer(time),
        }
    }

    pub(crate) fn position(&self) -> Option<u64> {
        match self {
            Self::One { rx, .. } => Some(rx.position()),
            Self::Several(_) => None,
        }
    }

    pub(crate) fn peer(&self) -> Peer {
        match self {
            Self::One { rx, .. } => rx.peer(),
            Self::Several(rx) => rx.peer(),
        }
    }
}

/// A record in the lane's memory. Its drop gives it back.
pub(crate) struct Held {
    receiver: Arc<Receiver>,
    record: Option<Kept>,
    start: *const u8,
    len: usize,
}

// SAFETY: the record is this process's until it is given back, and nothing writes to it.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Held {
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the record is initialised, and stays where it is until the drop.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // In a forked child the record is the parent's.
        if self.receiver.rx.is_own()
            && let Some(record) = self.record.take()
        {
            if let Some(mut rx) = self.receiver.rx.try_lock() {
                rx.give_back(record);
            } else {
                // A thread waits with the handle; others may run until it looks up.
                let rx = &self.receiver.rx;
                Python::attach(|py| py.detach(|| rx.lock().give_back(record)));
            }
        }
    }
}

impl Receiver {
    pub(crate) fn rx(&self) -> &Owned<Rx> {
        &self.rx
    }

    /// Takes the oldest record, without waiting. `Busy` if another thread uses the handle.
    pub(crate) fn try_take(self: &Arc<Self>) -> Result<Held, TryPopError> {
        match self.rx.try_lock() {
            Some(mut rx) => self.held(rx.take(Duration::ZERO)?),
            None => Err(TryPopError::Busy),
        }
    }

    /// Takes the oldest record. Waits for it for about `time`.
    pub(crate) fn take(self: &Arc<Self>, time: Duration) -> Result<Held, TryPopError> {
        match self.rx.lock_for(time) {
            Some(mut rx) => self.held(rx.take(time)?),
            None => Err(TryPopError::Busy),
        }
    }

    fn held(
        self: &Arc<Self>,
        (record, start, len): (Kept, *const u8, usize),
    ) -> Result<Held, TryPopError> {
        Ok(Held { receiver: self.clone(), record: Some(record), start, len })
    }
}
