//! A queue between threads, for objects.

use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use corelane::channel::{
    self, Receiver, RecvTimeoutError, SendTimeoutError, Sender, TryRecvError, TrySendError,
};
use parking_lot::{Condvar, Mutex};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::{closed, empty, full};
use crate::lane::MANY;
use crate::patience::Patience;

/// Most messages of a queue with a limit: it has its memory from the beginning.
const MOST: usize = 1 << 24;

/// A queue between threads of one process, for objects of any type, as `queue.Queue`.
///
/// `maxsize` objects fit, or any number if it is 0. Any number of threads put and get; objects come
/// out in the order in which they were put.
///
/// >>> import corelane
/// >>> queue = corelane.Queue(maxsize=10)
/// >>> queue.put("first"); queue.put("second")
/// >>> queue.get(), queue.get_many()
/// ('first', ['second'])
/// >>> queue.get(timeout=0.01)
/// Traceback (most recent call last):
///     ...
/// _queue.Empty: the queue is empty
#[pyclass(frozen, module = "corelane")]
pub(crate) struct Queue {
    tx: Sender<Py<PyAny>>,
    rx: Receiver<Py<PyAny>>,
    maxsize: usize,
    /// Objects for which `task_done` was not called.
    unfinished: Mutex<u64>,
    finished: Condvar,
}

const CLOSED: &str = "the queue is closed";

#[pymethods]
impl Queue {
    #[new]
    #[pyo3(signature = (maxsize=0))]
    fn new(maxsize: isize) -> PyResult<Self> {
        // As in the standard library, a number that isn't positive is no limit.
        let maxsize = usize::try_from(maxsize).unwrap_or(0);
        if maxsize > MOST {
            return Err(PyValueError::new_err(format!(
                "maxsize={maxsize}: at most {MOST}, or 0 for no limit"
            )));
        }
        let (tx, rx) = if maxsize == 0 { channel::unbounded() } else { channel::bounded(maxsize) };
        Ok(Self { tx, rx, maxsize, unfinished: Mutex::new(0), finished: Condvar::new() })
    }

    /// Append an object. Waits while the queue is full, for at most `timeout` seconds.
    #[pyo3(signature = (item, block=true, timeout=None))]
    fn put(
        &self,
        py: Python<'_>,
        item: Py<PyAny>,
        block: bool,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let patience = Patience::new(block, timeout)?;
        // Before the object can be got and done.
        *self.unfinished.lock() += 1;
        let put = self.send(py, item, patience);
        if put.is_err() {
            self.one_less();
        }
        put
    }

    /// As `put`, without waiting.
    fn put_nowait(&self, py: Python<'_>, item: Py<PyAny>) -> PyResult<()> {
        self.put(py, item, false, None)
    }

    /// Append objects in order, and return their number. Waits as `put`; when the time is over, some
    /// of them may have been put.
    #[pyo3(signature = (items, block=true, timeout=None))]
    fn put_many(
        &self,
        items: &Bound<'_, PyAny>,
        block: bool,
        timeout: Option<f64>,
    ) -> PyResult<usize> {
        let (py, mut done) = (items.py(), 0);
        let patience = Patience::new(block, timeout)?;
        for item in items.try_iter()? {
            *self.unfinished.lock() += 1;
            if let Err(error) = self.send(py, item?.unbind(), patience) {
                self.one_less();
                if done == 0 {
                    return Err(error);
                }
                break;
            }
            done += 1;
        }
        Ok(done)
    }

    /// Remove the oldest object and return it. Waits while there is none, for at most `timeout`
    /// seconds.
    #[pyo3(signature = (block=true, timeout=None))]
    fn get(&self, py: Python<'_>, block: bool, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        let patience = Patience::new(block, timeout)?;
        match self.rx.try_recv() {
            Ok(item) => return Ok(item),
            Err(TryRecvError::Disconnected) => return Err(closed(py, CLOSED)),
            Err(TryRecvError::Empty) => {}
        }
        let wait = |time: Duration| match self.rx.recv_timeout(time) {
            Ok(item) => Some(Ok(item)),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(())),
        };
        match patience.wait(py, wait)? {
            Some(Ok(item)) => Ok(item),
            Some(Err(())) => Err(closed(py, CLOSED)),
            None => Err(empty(py, "the queue is empty")),
        }
    }

    /// As `get`, without waiting.
    fn get_nowait(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.get(py, false, None)
    }

    /// Remove up to `most` objects and return them. Waits for the first one only.
    #[pyo3(signature = (most=None, block=true, timeout=None))]
    fn get_many<'py>(
        &self,
        py: Python<'py>,
        most: Option<usize>,
        block: bool,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (most, items) = (most.unwrap_or(MANY), PyList::empty(py));
        if most > 0 {
            items.append(self.get(py, block, timeout)?)?;
        }
        while items.len() < most
            && let Ok(item) = self.rx.try_recv()
        {
            items.append(item)?;
        }
        Ok(items)
    }

    /// About how many objects are inside.
    fn qsize(&self) -> usize {
        self.rx.len()
    }

    /// Whether no object is inside, about.
    fn empty(&self) -> bool {
        self.rx.is_empty()
    }

    /// Whether `maxsize` objects are inside, about.
    fn full(&self) -> bool {
        self.tx.is_full()
    }

    /// The number of objects for which there is room, or 0 for no limit.
    #[getter]
    fn maxsize(&self) -> usize {
        self.maxsize
    }

    /// Say that work on an object from `get` is done: see `join`.
    fn task_done(&self) -> PyResult<()> {
        if *self.unfinished.lock() == 0 {
            return Err(PyValueError::new_err("task_done() called too many times"));
        }
        self.one_less();
        Ok(())
    }

    /// Wait until `task_done` was called for each object.
    fn join(&self, py: Python<'_>) -> PyResult<()> {
        let wait = |time| {
            let mut unfinished = self.unfinished.lock();
            if *unfinished > 0 {
                self.finished.wait_for(&mut unfinished, time);
            }
            (*unfinished == 0).then_some(())
        };
        Patience::Endless.wait(py, wait).map(drop)
    }

    /// From now on `put` raises `Closed`, and so does `get` when all objects have been got.
    fn close(&self) {
        self.tx.close();
    }

    /// A descriptor that can be read while objects may be there. Don't read it: a call of get_nowait
    /// that raises Empty makes it unreadable until the next object comes.
    fn ready_fd(&self) -> PyResult<RawFd> {
        // The channel keeps it.
        Ok(self.rx.ready_fd()?.as_raw_fd())
    }

    fn __repr__(&self) -> String {
        let (len, closed) = (self.rx.len(), if self.tx.is_closed() { ", closed" } else { "" });
        match self.maxsize {
            0 => format!("<corelane.Queue: {len} objects{closed}>"),
            most => format!("<corelane.Queue: {len} of {most} objects{closed}>"),
        }
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// The next object, until the queue is closed and empty.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match self.get(py, true, None) {
            Err(error) if error.is_instance_of::<pyo3::exceptions::PyBrokenPipeError>(py) => {
                Ok(None)
            }
            item => item.map(Some),
        }
    }
}

impl Queue {
    fn send(&self, py: Python<'_>, item: Py<PyAny>, patience: Patience) -> PyResult<()> {
        let item = match self.tx.try_send(item) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Full(item)) => item,
            Err(TrySendError::Disconnected(_)) => return Err(closed(py, CLOSED)),
        };
        let mut item = Some(item);
        let wait = |time: Duration| match self.tx.send_timeout(item.take()?, time) {
            Ok(()) => Some(Ok(())),
            Err(SendTimeoutError::Timeout(back)) => {
                item = Some(back);
                None
            }
            Err(SendTimeoutError::Disconnected(back)) => {
                item = Some(back);
                Some(Err(()))
            }
        };
        match patience.wait(py, wait)? {
            Some(Ok(())) => Ok(()),
            Some(Err(())) => Err(closed(py, CLOSED)),
            None => Err(full(py, "the queue is full")),
        }
    }

    fn one_less(&self) {
        let mut unfinished = self.unfinished.lock();
        *unfinished = unfinished.saturating_sub(1);
        if *unfinished == 0 {
            self.finished.notify_all();
        }
    }
}
