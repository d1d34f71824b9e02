//! Lanes of items of one type: records of numpy, and the items of programs in other languages.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

use corelane::shm::{self, Carried, Error, Item, Named, Peer, Watching};
use corelane::{TryPopError, TryPushError};
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::error::{NO_RECEIVER, NO_SENDER, closed, empty, full, of_lane, word_for};
use crate::fork::{self, Forks};
use crate::object::{contiguous, memory};
use crate::patience::Patience;
use crate::ready::Ready;
use crate::sides::{Owned, Seated, renew};

/// How many processes a lane of items is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    OneToOne,
    Several,
    Broadcast,
}

/// A lane, whatever the size of its items.
trait Sides: Send + Sync {
    fn producer(&self) -> Result<Box<dyn Sends>, Error>;
    fn consumer(&self) -> Result<Box<dyn Receives>, Error>;
    fn file(&self) -> BorrowedFd<'_>;
}

/// A sending handle.
trait Sends: Send {
    /// Pushes some of these items, and returns their number, at least 1. Waits for room for at most
    /// `time`.
    fn push(&mut self, items: &[u8], time: Duration) -> Result<usize, TryPushError<()>>;
    fn len(&mut self) -> usize;
    fn capacity(&self) -> usize;
    fn position(&self) -> Option<u64>;
    fn peer(&self) -> Peer;
    fn wait_for_peer(&self, time: Duration) -> bool;
    fn seat(&self) -> Option<RawFd>;
    fn watch(&self, waker: &Waker) -> Watching;
}

/// A receiving handle.
trait Receives: Send {
    /// Pops up to `n` items behind the others, at least 1. Waits for the first one for at most
    /// `time`.
    fn pop(&mut self, into: &mut Vec<u8>, n: usize, time: Duration) -> Result<(), TryPopError>;
    fn len(&mut self) -> usize;
    fn capacity(&self) -> usize;
    fn position(&self) -> Option<u64>;
    fn lost(&self) -> u64;
    fn peer(&self) -> Peer;
    fn wait_for_peer(&self, time: Duration) -> bool;
    fn seat(&self) -> Option<RawFd>;
    fn watch(&self, waker: &Waker) -> Watching;
}

/// Most items that are copied at once.
const SOME: usize = 64;

macro_rules! handles {
    ($($lane:ident: $tx:ident $sent:tt, $rx:ident $received:tt $lost:tt;)*) => {$(
        impl<const N: usize> Sides for shm::$lane<[u8; N]>
        where
            [u8; N]: Item,
        {
            fn producer(&self) -> Result<Box<dyn Sends>, Error> {
                Ok(Box::new(self.producer()?))
            }

            fn consumer(&self) -> Result<Box<dyn Receives>, Error> {
                Ok(Box::new(self.consumer()?))
            }

            fn file(&self) -> BorrowedFd<'_> {
                self.as_fd()
            }
        }

        impl<const N: usize> Sends for shm::$tx<[u8; N]>
        where
            [u8; N]: Item,
        {
            fn push(&mut self, items: &[u8], time: Duration) -> Result<usize, TryPushError<()>> {
                let (items, _) = items.as_chunks::<N>();
                let done = self.push_slice(items);
                if done > 0 || items.is_empty() {
                    return Ok(done);
                }
                let pushed = if time.is_zero() {
                    self.try_push(items[0])
                } else {
                    self.push_timeout(items[0], time)
                };
                match pushed {
                    Ok(()) => Ok(1),
                    Err(TryPushError::Full(_)) => Err(TryPushError::Full(())),
                    Err(TryPushError::Busy(_)) => Err(TryPushError::Busy(())),
                    Err(TryPushError::Closed(_)) => Err(TryPushError::Closed(())),
                }
            }

            fn len(&mut self) -> usize {
                Self::len(self)
            }

            fn capacity(&self) -> usize {
                Self::capacity(self)
            }

            fn position(&self) -> Option<u64> {
                handles!(@position self $sent)
            }

            fn peer(&self) -> Peer {
                Self::peer(self)
            }

            fn wait_for_peer(&self, time: Duration) -> bool {
                Self::wait_for_peer(self, time)
            }

            fn seat(&self) -> Option<RawFd> {
                Self::seat(self)
            }

            fn watch(&self, waker: &Waker) -> Watching {
                Self::watch(self, waker)
            }
        }

        impl<const N: usize> Receives for shm::$rx<[u8; N]>
        where
            [u8; N]: Item,
        {
            fn pop(&mut self, into: &mut Vec<u8>, n: usize, time: Duration) -> Result<(), TryPopError> {
                let (mut some, mut left) = ([[0; N]; SOME], n);
                while left > 0 {
                    let wanted = left.min(SOME);
                    let done = self.pop_slice(&mut some[..wanted]);
                    into.extend_from_slice(some[..done].as_flattened());
                    left -= done;
                    if done < wanted {
                        break;
                    }
                }
                if left == n && n > 0 {
                    let item = if time.is_zero() { self.try_pop() } else { self.pop_timeout(time) };
                    into.extend_from_slice(&item?);
                }
                Ok(())
            }

            fn len(&mut self) -> usize {
                Self::len(self)
            }

            fn capacity(&self) -> usize {
                Self::capacity(self)
            }

            fn position(&self) -> Option<u64> {
                handles!(@position self $received)
            }

            fn lost(&self) -> u64 {
                handles!(@lost self $lost)
            }

            fn peer(&self) -> Peer {
                Self::peer(self)
            }

            fn wait_for_peer(&self, time: Duration) -> bool {
                Self::wait_for_peer(self, time)
            }

            fn seat(&self) -> Option<RawFd> {
                Self::seat(self)
            }

            fn watch(&self, waker: &Waker) -> Watching {
                Self::watch(self, waker)
            }
        }
    )*};
    (@position $handle:ident yes) => { Some($handle.position()) };
    (@position $handle:ident no) => { None };
    (@lost $handle:ident yes) => { $handle.lost() };
    (@lost $handle:ident no) => { 0 };
}

handles! {
    Lane: Producer yes, Consumer yes no;
    Lanes: ManyProducer no, ManyConsumer no no;
    Broadcast: Publisher yes, Subscriber yes yes;
}

impl Seated for Box<dyn Sends> {
    fn seat(&self) -> Option<RawFd> {
        (**self).seat()
    }
}

impl Seated for Box<dyn Receives> {
    fn seat(&self) -> Option<RawFd> {
        (**self).seat()
    }
}

/// Makes or opens a lane for items of this size.
fn lane<const N: usize>(
    shape: Shape,
    file: Option<RawFd>,
    capacity: usize,
    producers: usize,
    named: Named<'_>,
) -> Result<Box<dyn Sides>, Error>
where
    [u8; N]: Item,
{
    fn made<T: Carried>(
        file: Option<RawFd>,
        capacity: usize,
        producers: usize,
        named: Named<'_>,
    ) -> Result<shm::Lane<T>, Error> {
        match file {
            None => shm::Lane::create_named(capacity, producers, named),
            Some(file) if file < 0 => Err(Error::NotALane),
            Some(file) => {
                // SAFETY: it is not used as one that this process owns. If it isn't open, or is
                // another file, the calls of the system say so.
                shm::Lane::open_named(unsafe { BorrowedFd::borrow_raw(file) }, named)
            }
        }
    }
    Ok(match shape {
        Shape::OneToOne => Box::new(made::<[u8; N]>(file, capacity, 0, named)?),
        Shape::Several => Box::new(made::<shm::Many<[u8; N]>>(file, capacity, producers, named)?),
        Shape::Broadcast => Box::new(made::<shm::All<[u8; N]>>(file, capacity, 0, named)?),
    })
}

/// A lane of items. `corelane.ItemLane` and others are its subclasses.
#[pyclass(frozen, subclass, module = "corelane._corelane")]
pub(crate) struct Items {
    lane: Box<dyn Sides>,
    size: usize,
    sides: Arc<Taken>,
}

/// A handle that this process may have.
type Side<T> = Mutex<Option<Arc<Owned<T>>>>;

/// The sides that this process has taken.
#[derive(Default)]
pub(crate) struct Taken {
    sender: Side<Box<dyn Sends>>,
    receiver: Side<Box<dyn Receives>>,
    messages: Ready,
    room: Ready,
}

impl Forks for Taken {
    fn close(&self) {
        let (sender, receiver) = (self.sender.lock().take(), self.receiver.lock().take());
        drop((sender, receiver));
    }

    fn forget(&self) {
        self.messages.forget();
        self.room.forget();
        renew(&self.sender);
        renew(&self.receiver);
        self.close();
    }
}

/// The handle of a side, which the first use takes.
fn taken<T: Seated + Send + 'static>(
    py: Python<'_>,
    side: &Side<T>,
    take: impl FnOnce() -> Result<T, Error>,
) -> PyResult<Arc<Owned<T>>> {
    if let Some(handle) = &*side.lock() {
        return Ok(handle.clone());
    }
    fork::takes_a_side(py)?;
    let mut side = side.lock();
    if let Some(handle) = &*side {
        return Ok(handle.clone());
    }
    let made = Owned::new(take().map_err(|error| of_lane(py, error))?);
    *side = Some(made.clone());
    Ok(made)
}

#[pymethods]
impl Items {
    #[new]
    #[pyo3(signature = (*, shape, size, align, name, capacity, producers, file))]
    #[allow(clippy::too_many_arguments, reason = "called by name, from the package only")]
    fn new(
        py: Python<'_>,
        shape: &str,
        size: usize,
        align: usize,
        name: &str,
        capacity: usize,
        producers: usize,
        file: Option<RawFd>,
    ) -> PyResult<Self> {
        let shape = match shape {
            "one" => Shape::OneToOne,
            "several" => Shape::Several,
            _ => Shape::Broadcast,
        };
        let named = Named { name, align };
        macro_rules! of_size {
            ($($n:literal)*) => {
                match size {
                    $($n => lane::<$n>(shape, file, capacity, producers, named),)*
                    _ => return Err(PyValueError::new_err(format!(
                        "items of {size} bytes: items have {}; pad the type, or send records by a Lane",
                        [$(stringify!($n)),*].join(", "),
                    ))),
                }
            };
        }
        let lane = of_size!(1 2 4 8 12 16 20 24 32 40 48 56 64 96 128 256 512 1024);
        let lane = lane.map_err(|error| of_lane(py, error))?;
        let sides = Arc::new(Taken::default());
        let forks: Weak<Taken> = Arc::downgrade(&sides);
        fork::note(forks);
        Ok(Self { lane, size, sides })
    }

    /// The descriptor of the lane's memory, for `open` in another process. The lane keeps it.
    fn fileno(&self) -> RawFd {
        self.lane.file().as_raw_fd()
    }

    /// Sends the items of a buffer, and returns their number.
    #[pyo3(signature = (items, block=true, timeout=None))]
    fn put_items(
        &self,
        items: &Bound<'_, PyAny>,
        block: bool,
        timeout: Option<f64>,
    ) -> PyResult<usize> {
        let py = items.py();
        let (patience, buffer) = (Patience::new(block, timeout)?, contiguous(items)?);
        let bytes = memory(&buffer);
        if !bytes.len().is_multiple_of(self.size) {
            return Err(PyValueError::new_err(format!(
                "{} bytes are no whole number of items of {} bytes",
                bytes.len(),
                self.size
            )));
        }
        let sender = self.sender(py)?;
        let (mut done, all) = (0, bytes.len() / self.size);
        while done < all {
            match self.push(py, &sender, &bytes[done * self.size..], patience)? {
                Ok(n) => done += n,
                Err(TryPushError::Closed(())) => return Err(closed(py, NO_RECEIVER)),
                Err(_) if done > 0 => break,
                Err(_) => return Err(full(py, "the lane is full")),
            }
        }
        Ok(done)
    }

    /// The bytes of up to `most` items.
    #[pyo3(signature = (most, block=true, timeout=None))]
    fn get_items<'py>(
        &self,
        py: Python<'py>,
        most: usize,
        block: bool,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        let (patience, receiver) = (Patience::new(block, timeout)?, self.receiver(py)?);
        let mut into = Vec::new();
        match self.pop(py, &receiver, &mut into, most, patience)? {
            Ok(()) => Ok(PyByteArray::new(py, &into)),
            Err(TryPopError::Closed) => Err(closed(py, NO_SENDER)),
            Err(_) => Err(empty(py, "the lane is empty")),
        }
    }

    /// About how many items wait.
    fn qsize(&self, py: Python<'_>) -> PyResult<usize> {
        if self.sides.sender.lock().is_some() && self.sides.receiver.lock().is_none() {
            return Ok(self.sender(py)?.try_lock().map_or(0, |mut tx| tx.len()));
        }
        Ok(self.receiver(py)?.try_lock().map_or(0, |mut rx| rx.len()))
    }

    /// Items that always fit.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> PyResult<usize> {
        if self.sides.sender.lock().is_some() {
            return Ok(self.sender(py)?.lock().capacity());
        }
        Ok(self.receiver(py)?.lock().capacity())
    }

    /// Items that were sent since the lane was made, by all processes that have had this side.
    fn sent(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.sender(py)?.lock().position())
    }

    /// Items that were received since the lane was made, by all processes that have had this side.
    fn received(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        Ok(self.receiver(py)?.lock().position())
    }

    /// Items that were overwritten before this process got them.
    fn lost(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.receiver(py)?.lock().lost())
    }

    /// What is known of the processes on the other side: "absent", "alive", "left" or "died".
    fn peer(&self, py: Python<'_>) -> PyResult<&'static str> {
        let peer = if self.sides.receiver.lock().is_some() {
            self.receiver(py)?.lock().peer()
        } else {
            self.sender(py)?.lock().peer()
        };
        Ok(word_for(peer))
    }

    /// Wait until a process has the other side, for at most `timeout` seconds. Returns whether one
    /// has.
    #[pyo3(signature = (timeout=None))]
    fn wait_for_peer(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let patience = Patience::new(true, timeout)?;
        let found = if self.sides.sender.lock().is_some() {
            let sender = self.sender(py)?;
            patience.wait(py, |time| sender.lock().wait_for_peer(time).then_some(()))?
        } else {
            let receiver = self.receiver(py)?;
            patience.wait(py, |time| receiver.lock().wait_for_peer(time).then_some(()))?
        };
        Ok(found.is_some())
    }

    /// Whether this process has the sending and the receiving side.
    fn sides(&self) -> (bool, bool) {
        (self.sides.sender.lock().is_some(), self.sides.receiver.lock().is_some())
    }

    /// Take the sending side now, and not with the first put.
    fn take_sender(&self, py: Python<'_>) -> PyResult<()> {
        self.sender(py).map(drop)
    }

    /// Take the receiving side now, and not with the first get.
    fn take_receiver(&self, py: Python<'_>) -> PyResult<()> {
        self.receiver(py).map(drop)
    }

    /// Give the sending side back. Receivers get what was sent, and then the end.
    fn close_sender(&self) {
        let sender = self.sides.sender.lock().take();
        drop(sender);
    }

    /// Give the receiving side back. What is lent stays until its views are gone.
    fn close_receiver(&self) {
        let receiver = self.sides.receiver.lock().take();
        drop(receiver);
    }

    /// A descriptor that can be read while messages may be there: for select, epoll and event loops.
    /// Don't read it: a call of get_nowait that raises Empty makes it unreadable until then.
    fn ready_fd(&self) -> PyResult<RawFd> {
        Ok(self.sides.messages.descriptor()?)
    }

    /// As `ready_fd`, for room and put_nowait.
    fn room_fd(&self) -> PyResult<RawFd> {
        Ok(self.sides.room.descriptor()?)
    }
}

impl Items {
    fn sender(&self, py: Python<'_>) -> PyResult<Arc<Owned<Box<dyn Sends>>>> {
        taken(py, &self.sides.sender, || self.lane.producer())
    }

    fn receiver(&self, py: Python<'_>) -> PyResult<Arc<Owned<Box<dyn Receives>>>> {
        taken(py, &self.sides.receiver, || self.lane.consumer())
    }

    fn push(
        &self,
        py: Python<'_>,
        sender: &Owned<Box<dyn Sends>>,
        items: &[u8],
        patience: Patience,
    ) -> PyResult<Result<usize, TryPushError<()>>> {
        let once = |time: Duration| match sender.lock_for(time)?.push(items, time) {
            Err(TryPushError::Full(()) | TryPushError::Busy(())) => None,
            done => Some(done),
        };
        let watch = |waker: &Waker| sender.try_lock().map(|tx| tx.watch(waker));
        let done = match once(Duration::ZERO) {
            None if patience.is_none() && self.sides.room.arm(watch) => once(Duration::ZERO),
            None => patience.wait(py, once)?,
            done => done,
        };
        Ok(done.unwrap_or(Err(TryPushError::Full(()))))
    }

    fn pop(
        &self,
        py: Python<'_>,
        receiver: &Owned<Box<dyn Receives>>,
        into: &mut Vec<u8>,
        most: usize,
        patience: Patience,
    ) -> PyResult<Result<(), TryPopError>> {
        let mut once = |time: Duration| match receiver.lock_for(time)?.pop(into, most, time) {
            Err(TryPopError::Empty | TryPopError::Busy) => None,
            done => Some(done),
        };
        let watch = |waker: &Waker| receiver.try_lock().map(|rx| rx.watch(waker));
        let done = match once(Duration::ZERO) {
            None if patience.is_none() && self.sides.messages.arm(watch) => once(Duration::ZERO),
            None => patience.wait(py, once)?,
            done => done,
        };
        Ok(done.unwrap_or(Err(TryPopError::Empty)))
    }
}
