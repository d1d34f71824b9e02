//! Lanes of messages: what `Lane`, `Lanes` and `mp.Queue` have in common.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use corelane::TryPopError;
use corelane::bytes::ClaimError;
use corelane::shm::{self, Carried, Error, Named, Peer};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::{of_claim, of_lane, of_pop};
use crate::lent::Claim;
use crate::object::{self, Form, Message};
use crate::patience::Patience;
use crate::sides::{Receiver, Records, Refused, Sender, Sides, Tx};

/// The name of what lanes of objects carry: programs in other languages don't take such a lane for
/// one of their own.
const OBJECTS: Named<'static> = Named { name: "python.objects", align: 8 };

/// From this length on, a message is copied without the interpreter.
const LARGE: usize = 256 << 10;

/// A lane of messages. `corelane.Lane` and others are its subclasses.
#[pyclass(frozen, subclass, module = "corelane._corelane")]
pub(crate) struct Lane {
    sides: Arc<Sides>,
    form: Form,
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
            true => {
                made::<shm::Many<[u8]>>(file, size, longest, form, Named::of::<[u8]>()).map(Records::Several)
            }
        };
        let limit = (limit > 0).then_some(limit);
        let records = records.map_err(|error| of_lane(py, error))?;
        Ok(Self { sides: Sides::new(records, stays_open, limit), form })
    }

    /// The descriptor of the lane's memory.
    fn fileno(&self) -> RawFd {
        self.sides.records.as_fd().as_raw_fd()
    }

    #[getter]
    fn longest(&self) -> usize {
        match &self.sides.records {
            Records::One(lane) => lane.max_len(),
            Records::Several(lanes) => lanes.max_len(),
        }
    }

    #[pyo3(signature = (obj, block=true, timeout=None))]
    fn put(&self, obj: &Bound<'_, PyAny>, block: bool, timeout: Option<f64>) -> PyResult<()> {
        let py = obj.py();
        let patience = Patience::new(block, timeout)?;
        self.send(py, &*self.sender(py)?, &Message::new(self.form, obj)?, patience)
    }

    fn put_nowait(&self, obj: &Bound<'_, PyAny>) -> PyResult<()> {
        self.put(obj, false, None)
    }

    #[pyo3(signature = (objs, block=true, timeout=None))]
    fn put_many(&self, objs: &Bound<'_, PyAny>, block: bool, timeout: Option<f64>) -> PyResult<usize> {
        let py = objs.py();
        let (patience, sender) = (Patience::new(block, timeout)?, self.sender(py)?);
        let mut done = 0;
        for obj in objs.try_iter()? {
            match self.send(py, &sender, &Message::new(self.form, &obj?)?, patience) {
                Err(error) if done > 0 && is_full(py, &error) => break,
                sent => sent?,
            }
            done += 1;
        }
        Ok(done)
    }

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

    #[pyo3(signature = (*, copy=true))]
    fn get_nowait<'py>(&self, py: Python<'py>, copy: bool) -> PyResult<Bound<'py, PyAny>> {
        self.get(py, false, None, copy)
    }

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
        let (most, objects) = (most.unwrap_or(usize::MAX), PyList::empty(py));
        if most > 0 {
            objects.append(self.receive(py, &receiver, patience, copy)?)?;
        }
        while objects.len() < most
            && let Ok(held) = receiver.try_take()
        {
            objects.append(object::object(py, self.form, held, copy)?)?;
        }
        Ok(objects)
    }

    #[pyo3(signature = (length, block=true, timeout=None))]
    fn claim(&self, py: Python<'_>, length: usize, block: bool, timeout: Option<f64>) -> PyResult<Claim> {
        let patience = Patience::new(block, timeout)?;
        let head = object::head_of_bytes(self.form);
        self.claim_parts(py, &head, length, &[], patience)
    }

    #[pyo3(signature = (obj, block=true, timeout=None))]
    fn claim_like(&self, obj: &Bound<'_, PyAny>, block: bool, timeout: Option<f64>) -> PyResult<Claim> {
        let patience = Patience::new(block, timeout)?;
        let message = Message::new(self.form, obj)?;
        let (head, len, tail) = message.around_buffer()?;
        self.claim_parts(obj.py(), &head, len, tail, patience)
    }

    fn qsize(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        let (sends, receives) = self.sides.taken();
        if sends && !receives {
            let sender = self.sender(py)?;
            return Ok(sender.tx.try_lock().and_then(|tx| tx.len()));
        }
        Ok(self.receiver(py)?.rx().try_lock().map_or(Some(0), |rx| rx.len()))
    }

    /// What is known of the processes on the other side: "absent", "alive", "left" or "died".
    fn peer(&self, py: Python<'_>) -> PyResult<&'static str> {
        let (_, receives) = self.sides.taken();
        let peer = if receives {
            self.receiver(py)?.rx().lock().peer()
        } else {
            self.sender(py)?.tx.lock().peer()
        };
        Ok(match peer {
            Peer::Absent => "absent",
            Peer::Alive => "alive",
            Peer::Left => "left",
            Peer::Died => "died",
        })
    }

    /// Which sides this process has.
    fn sides(&self) -> (bool, bool) {
        self.sides.taken()
    }

    fn close_sender(&self) {
        self.sides.close_sender();
    }

    fn close_receiver(&self) {
        self.sides.close_receiver();
    }
}

impl Lane {
    fn sender(&self, py: Python<'_>) -> PyResult<Arc<Sender>> {
        self.sides.sender().map_err(|error| of_lane(py, error))
    }

    fn receiver(&self, py: Python<'_>) -> PyResult<Arc<Receiver>> {
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
            let Some(mut tx) = sender.tx.lock_for(time) else { return None };
            match attempt(&mut tx, time) {
                Err(Refused::By(ClaimError::Full | ClaimError::Busy)) => None,
                Err(Refused::By(ClaimError::Closed)) if self.sides.stays_open() => None,
                done => Some(done),
            }
        };
        let done = match py.detach(|| once(Duration::ZERO)) {
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
        let (sender, all) = (self.sender(py)?, head.len().saturating_add(len).saturating_add(tail.len()));
        let attempt = |tx: &mut Tx, time| {
            let (claimed, start) = tx.claim(all, time)?;
            // SAFETY: so many bytes are claimed.
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
        let held = match receiver.try_take() {
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
