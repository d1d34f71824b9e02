//! Lanes of messages: what `Lane`, `Lanes` and `mp.Queue` have in common.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use corelane::TryPopError;
use corelane::bytes::ClaimError;
use corelane::shm::{self, Carried, Error, Named};
use parking_lot::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::{of_claim, of_lane, of_pop, word_for};
use crate::fork;
use crate::lent::Claim;
use crate::object::{self, Form, Message};
use crate::patience::Patience;
use crate::sides::{Receiver, Records, Refused, Sender, Sides, Tx};

/// The name of what lanes of objects carry: programs in other languages don't take such a lane for
/// one of their own.
const OBJECTS: Named<'static> = Named { name: "python.objects", align: 8 };

/// From this length on, a message is copied without the interpreter.
const LARGE: usize = 256 << 10;

/// Most messages that `get_many` gets if its caller doesn't say.
pub(crate) const MANY: usize = 1000;

/// A lane of messages. `corelane.Lane` and others are its subclasses.
#[pyclass(frozen, subclass, module = "corelane._corelane")]
pub(crate) struct Lane {
    sides: Arc<Sides>,
    form: Form,
    /// Why the last message could not be made an object, if the call for it has given others.
    failed: Mutex<Option<PyErr>>,
}

/// A new lane, or the one of a descriptor.
fn made<T: Carried + ?Sized>(
    file: Option<RawFd>,
    size: usize,
    longest: usize,
    form: Form,
    of_bytes: Named<'static>,
) -> Result<shm::Lane<T>, Error> {
    let named = if form == Form::Objects { OBJECTS } else { of_bytes };
    match file {
        None => shm::Lane::create_named(size, longest, named),
        Some(file) if file < 0 => Err(Error::NotALane),
        Some(file) => {
            // SAFETY: it is not used as one that this process owns. If it isn't open, or is another
            // file, the calls of the system say so.
            shm::Lane::open_named(unsafe { BorrowedFd::borrow_raw(file) }, named)
        }
    }
}

#[pymethods]
impl Lane {
    #[new]
    #[pyo3(signature = (*, several, objects, size, longest, limit, stays_open, file))]
    #[allow(clippy::too_many_arguments, reason = "called by name, from the package only")]
    fn new(
        py: Python<'_>,
        several: bool,
        objects: bool,
        size: usize,
        longest: usize,
        limit: usize,
        stays_open: bool,
        file: Option<RawFd>,
    ) -> PyResult<Self> {
        let form = if objects { Form::Objects } else { Form::Bytes };
        let records = match several {
            false => made::<[u8]>(file, size, longest, form, Named::of::<[u8]>()).map(Records::One),
            true => made::<shm::Many<[u8]>>(file, size, longest, form, Named::of::<[u8]>())
                .map(Records::Several),
        };
        let limit = (limit > 0).then_some(limit);
        let records = records.map_err(|error| of_lane(py, error))?;
        Ok(Self { sides: Sides::new(records, stays_open, limit), form, failed: Mutex::new(None) })
    }

    /// The descriptor of the lane's memory, for `open` in another process. The lane keeps it.
    fn fileno(&self) -> RawFd {
        self.sides.records.as_fd().as_raw_fd()
    }

    /// Bytes of the longest message.
    #[getter]
    fn longest(&self) -> usize {
        match &self.sides.records {
            Records::One(lane) => lane.max_len(),
            Records::Several(lanes) => lanes.max_len(),
        }
    }

    /// Send a message. Waits while there is no room, for at most `timeout` seconds.
    ///
    /// When it returns, the message is in the lane: it is received also if this process is killed.
    /// Raises Full when the time is over, Closed if there is no room and all receivers have gone,
    /// ValueError for a message that is longer than the lane allows.
    #[pyo3(signature = (obj, block=true, timeout=None))]
    fn put(&self, obj: &Bound<'_, PyAny>, block: bool, timeout: Option<f64>) -> PyResult<()> {
        let py = obj.py();
        let patience = Patience::new(block, timeout)?;
        self.send(py, &*self.sender(py)?, &Message::new(self.form, obj)?, patience)
    }

    /// As `put`, without waiting.
    fn put_nowait(&self, obj: &Bound<'_, PyAny>) -> PyResult<()> {
        self.put(obj, false, None)
    }

    /// Send messages in order, and return their number. Waits as `put`: when the time is over, some
    /// may have been sent.
    #[pyo3(signature = (objs, block=true, timeout=None))]
    fn put_many(
        &self,
        objs: &Bound<'_, PyAny>,
        block: bool,
        timeout: Option<f64>,
    ) -> PyResult<usize> {
        let py = objs.py();
        let (patience, mut done) = (Patience::new(block, timeout)?, 0);
        for obj in objs.try_iter()? {
            let message = Message::new(self.form, &obj?)?;
            // Anew each time: the iterator may have forked.
            match self.send(py, &*self.sender(py)?, &message, patience) {
                Err(error) if done > 0 && is_full(py, &error) => break,
                sent => sent?,
            }
            done += 1;
        }
        Ok(done)
    }

    /// The oldest message. Waits while there is none, for at most `timeout` seconds.
    ///
    /// With copy=False, arrays in the message lie in the lane: they are read-only, and the lane gets
    /// their room back when no view of them is left. Raises Empty when the time is over, Closed if all
    /// senders have gone and nothing is left.
    #[pyo3(signature = (block=true, timeout=None, *, copy=true))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        block: bool,
        timeout: Option<f64>,
        copy: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let patience = Patience::new(block, timeout)?;
        self.receive(py, &self.receiver(py)?, patience, copy)
    }

    /// As `get`, without waiting.
    #[pyo3(signature = (*, copy=true))]
    fn get_nowait<'py>(&self, py: Python<'py>, copy: bool) -> PyResult<Bound<'py, PyAny>> {
        self.get(py, false, None, copy)
    }

    /// Up to `most` messages, 1000 if it isn't given. Waits for the first one only.
    #[pyo3(signature = (most=None, block=true, timeout=None, *, copy=true))]
    fn get_many<'py>(
        &self,
        py: Python<'py>,
        most: Option<usize>,
        block: bool,
        timeout: Option<f64>,
        copy: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let (patience, receiver) = (Patience::new(block, timeout)?, self.receiver(py)?);
        let (most, objects) = (most.unwrap_or(MANY), PyList::empty(py));
        if most > 0 {
            objects.append(self.receive(py, &receiver, patience, copy)?)?;
        }
        while objects.len() < most
            && let Ok(held) = receiver.try_take()
        {
            match object::object(py, self.form, held, copy) {
                Ok(object) => objects.append(object)?,
                Err(error) => {
                    // For the next call: those before it would be lost.
                    *self.failed.lock() = Some(error);
                    break;
                }
            }
        }
        Ok(objects)
    }

    /// Room for a message of `length` bytes, to write in place. Waits as `put`.
    #[pyo3(signature = (length, block=true, timeout=None))]
    fn claim(
        &self,
        py: Python<'_>,
        length: usize,
        block: bool,
        timeout: Option<f64>,
    ) -> PyResult<Claim> {
        let patience = Patience::new(block, timeout)?;
        let head = object::head_of_bytes(self.form);
        self.claim_parts(py, &head, length, &[], patience)
    }

    /// Room for an array like this one, to write in place: see `claim_array`.
    #[pyo3(signature = (obj, block=true, timeout=None))]
    fn claim_like(
        &self,
        obj: &Bound<'_, PyAny>,
        block: bool,
        timeout: Option<f64>,
    ) -> PyResult<Claim> {
        let patience = Patience::new(block, timeout)?;
        let message = Message::new(self.form, obj)?;
        let (head, len, tail) = message.around_buffer()?;
        self.claim_parts(obj.py(), &head, len, tail, patience)
    }

    /// None if this process has no side yet.
    fn _qsize(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        let (sends, receives) = self.sides.taken();
        if receives || self.sides.stays_open() {
            // A thread that uses the handle waits for a message, most likely.
            return Ok(Some(self.receiver(py)?.rx().try_lock().map_or(0, |rx| rx.records())));
        }
        if !sends {
            return Ok(None);
        }
        let sender = self.sender(py)?;
        Ok(Some(py.detach(|| sender.tx.lock().records())))
    }

    /// What is known of the processes on the other side: "absent", "alive", "left" or "died".
    fn peer(&self, py: Python<'_>) -> PyResult<&'static str> {
        let (_, receives) = self.sides.taken();
        let peer = if receives {
            let receiver = self.receiver(py)?;
            py.detach(|| receiver.rx().lock().peer())
        } else {
            let sender = self.sender(py)?;
            py.detach(|| sender.tx.lock().peer())
        };
        Ok(word_for(peer))
    }

    /// Messages that were sent since the lane was made, by all processes that have had this side. Only
    /// a `Lane` counts them.
    fn sent(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        let sender = self.sender(py)?;
        Ok(py.detach(|| sender.tx.lock().position()))
    }

    /// Messages that were received since the lane was made, as `sent`.
    fn received(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        let receiver = self.receiver(py)?;
        Ok(py.detach(|| receiver.rx().lock().position()))
    }

    /// Wait until a process has the other side, for at most `timeout` seconds. Returns whether one
    /// has. Of a process that has no side yet, it takes the receiving one.
    #[pyo3(signature = (timeout=None))]
    fn wait_for_peer(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        let patience = Patience::new(true, timeout)?;
        let found = if self.sides.taken() == (true, false) {
            let sender = self.sender(py)?;
            patience.wait(py, |time| sender.tx.lock().wait_for_peer(time).then_some(()))?
        } else {
            let receiver = self.receiver(py)?;
            patience.wait(py, |time| receiver.rx().lock().wait_for_peer(time).then_some(()))?
        };
        Ok(found.is_some())
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

    /// Whether this process has the sending and the receiving side.
    fn sides(&self) -> (bool, bool) {
        self.sides.taken()
    }

    /// Give the sending side back. Receivers get what was sent, and then the end.
    fn close_sender(&self) {
        self.sides.close_sender();
    }

    /// Give the receiving side back. What is lent stays until its views are gone.
    fn close_receiver(&self) {
        self.sides.close_receiver();
    }
}

impl Lane {
    fn sender(&self, py: Python<'_>) -> PyResult<Arc<Sender>> {
        if !self.sides.taken().0 {
            fork::takes_a_side(py)?;
        }
        self.sides.sender().map_err(|error| of_lane(py, error))
    }

    fn receiver(&self, py: Python<'_>) -> PyResult<Arc<Receiver>> {
        if !self.sides.taken().1 {
            fork::takes_a_side(py)?;
        }
        self.sides.receiver().map_err(|error| of_lane(py, error))
    }

    fn send(
        &self,
        py: Python<'_>,
        sender: &Sender,
        message: &Message<'_>,
        patience: Patience,
    ) -> PyResult<()> {
        let (parts, len) = (message.parts()?, message.len());
        let attempt = |tx: &mut Tx, time| tx.send(len, time, |record| parts.write(record));
        if len >= LARGE {
            return self.patiently(py, sender, patience, attempt);
        }
        let sent = match sender.tx.try_lock() {
            Some(mut tx) => attempt(&mut tx, Duration::ZERO),
            None => Err(Refused::By(ClaimError::Busy)),
        };
        match sent {
            Err(Refused::By(ClaimError::Full | ClaimError::Busy)) => {
                self.patiently(py, sender, patience, attempt)
            }
            sent => sent.map_err(|error| of_refused(py, error)),
        }
    }

    /// Tries until there is room or the time is over.
    fn patiently<R: Send>(
        &self,
        py: Python<'_>,
        sender: &Sender,
        patience: Patience,
        attempt: impl Fn(&mut Tx, Duration) -> Result<R, Refused> + Sync,
    ) -> PyResult<R> {
        let once = |time: Duration| {
            let mut tx = sender.tx.lock_for(time)?;
            match attempt(&mut tx, time) {
                Err(Refused::By(ClaimError::Full | ClaimError::Busy)) => None,
                Err(Refused::By(ClaimError::Closed)) if self.sides.stays_open() => None,
                done => Some(done),
            }
        };
        let watch = |waker: &Waker| sender.tx.try_lock().map(|tx| tx.watch(waker));
        let done = match py.detach(|| once(Duration::ZERO)) {
            None if patience.is_none() && self.sides.room.arm(watch) => once(Duration::ZERO),
            None => patience.wait(py, once)?,
            done => done,
        };
        done.unwrap_or(Err(Refused::By(ClaimError::Full))).map_err(|error| of_refused(py, error))
    }

    fn claim_parts(
        &self,
        py: Python<'_>,
        head: &[u8],
        len: usize,
        tail: &[u8],
        patience: Patience,
    ) -> PyResult<Claim> {
        let (sender, all) =
            (self.sender(py)?, head.len().saturating_add(len).saturating_add(tail.len()));
        let attempt = |tx: &mut Tx, time| {
            let (claimed, start) = tx.claim(all, time)?;
            // SAFETY: the claim has room for all of `head`, `len` bytes and `tail`.
            unsafe {
                start.copy_from_nonoverlapping(head.as_ptr(), head.len());
                let behind = start.add(head.len() + len);
                behind.copy_from_nonoverlapping(tail.as_ptr(), tail.len());
            }
            Ok((claimed, start as usize + head.len()))
        };
        let (claimed, start) = self.patiently(py, &sender, patience, attempt)?;
        Ok(Claim::new(sender, claimed, start, len, [head.len(), tail.len()]))
    }

    fn receive<'py>(
        &self,
        py: Python<'py>,
        receiver: &Arc<Receiver>,
        patience: Patience,
        copy: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(error) = self.failed.lock().take() {
            return Err(error);
        }
        let watch = |waker: &Waker| receiver.rx().try_lock().map(|rx| rx.watch(waker));
        let held = match receiver.try_take() {
            Err(TryPopError::Empty | TryPopError::Busy)
                if patience.is_none() && self.sides.messages.arm(watch) =>
            {
                receiver.try_take()
            }
            Err(TryPopError::Empty | TryPopError::Busy) => {
                let waited = patience.wait(py, |time| match receiver.take(time) {
                    Err(TryPopError::Empty | TryPopError::Busy) => None,
                    Err(TryPopError::Closed) if self.sides.stays_open() => None,
                    done => Some(done),
                })?;
                waited.unwrap_or(Err(TryPopError::Empty))
            }
            done => done,
        };
        object::object(py, self.form, held.map_err(|error| of_pop(py, error))?, copy)
    }
}

fn of_refused(py: Python<'_>, error: Refused) -> PyErr {
    match error {
        Refused::By(error) => of_claim(py, error),
        Refused::Claimed => PyRuntimeError::new_err(
            "a claim of this lane is open: commit it or abort it before the next message",
        ),
    }
}

fn is_full(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance(py, &crate::error::full(py, "").get_type(py))
}
