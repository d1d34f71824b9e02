//! Parts of records in the lane's memory, which Python reads and writes in place.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::sides::{Claimed, Held, Sender};

/// Bytes of a received message, in the lane. They can be read as long as any view of them lives;
/// then the lane gets their room back.
#[pyclass(frozen, module = "corelane")]
pub(crate) struct Lent {
    held: Arc<Held>,
    start: usize,
    len: usize,
}

impl Lent {
    pub(crate) fn new<'py>(
        py: Python<'py>,
        held: &Arc<Held>,
        start: usize,
        len: usize,
    ) -> PyResult<Bound<'py, Self>> {
        Bound::new(py, Self { held: held.clone(), start, len })
    }
}

#[pymethods]
impl Lent {
    /// # Safety
    ///
    /// As Python calls it.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let this = slf.get();
        let bytes = &this.held.bytes()[this.start..this.start + this.len];
        // SAFETY: the view keeps this object, which keeps the record. Nobody writes to the record: if
        // this process dies, another one gets it.
        unsafe { fill(&slf, view, bytes.as_ptr().cast_mut(), this.len, true, flags) }
    }

    fn __len__(&self) -> usize {
        self.len
    }
}

/// # Safety
///
/// `view` is Python's, and the object keeps the memory.
unsafe fn fill(
    object: &Bound<'_, PyAny>,
    view: *mut ffi::Py_buffer,
    start: *mut u8,
    len: usize,
    is_read_only: bool,
    flags: c_int,
) -> PyResult<()> {
    if view.is_null() {
        return Err(PyBufferError::new_err("no view"));
    }
    let read_only = c_int::from(is_read_only);
    // SAFETY: the caller's contract.
    let filled = unsafe {
        ffi::PyBuffer_FillInfo(
            view,
            object.as_ptr(),
            start.cast(),
            len as ffi::Py_ssize_t,
            read_only,
            flags,
        )
    };
    if filled == 0 { Ok(()) } else { Err(PyErr::fetch(object.py())) }
}

/// Room for a message in the lane, from `Lane.claim`. Write into it by a memoryview or numpy, and
/// then commit it. As a context manager it is committed at the end, or given up if an exception
/// leaves the block.
#[pyclass(frozen, module = "corelane")]
pub(crate) struct Claim {
    sender: Arc<Sender>,
    claimed: Mutex<Option<Claimed>>,
    start: usize,
    len: usize,
    /// Bytes of the message before and behind these.
    around: [usize; 2],
    is_open: AtomicBool,
}

impl Claim {
    /// `start` is the address of the `len` bytes.
    pub(crate) fn new(
        sender: Arc<Sender>,
        claimed: Claimed,
        start: usize,
        len: usize,
        around: [usize; 2],
    ) -> Self {
        let (claimed, is_open) = (Mutex::new(Some(claimed)), AtomicBool::new(true));
        Self { sender, claimed, start, len, around, is_open }
    }

    fn end(&self, len: Option<usize>) -> bool {
        let claimed = self.claimed.lock().take();
        self.is_open.store(false, Ordering::Relaxed);
        let Some(claimed) = claimed else { return false };
        self.sender.end(claimed, len.map(|len| self.around[0] + len + self.around[1]))
    }
}

#[pymethods]
impl Claim {
    /// # Safety
    ///
    /// As Python calls it.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let this = slf.get();
        if !this.is_open.load(Ordering::Relaxed) {
            return Err(PyBufferError::new_err(
                "the claim has ended, or is that of this process's parent",
            ));
        }
        // SAFETY: the view keeps this object, which keeps the lane mapped.
        unsafe { fill(&slf, view, this.start as *mut u8, this.len, false, flags) }
    }

    fn __len__(&self) -> usize {
        self.len
    }

    /// Sends the first `length` bytes, or all. What is written later is not part of the message: don't
    /// write any more.
    #[pyo3(signature = (length=None))]
    fn commit(&self, py: Python<'_>, length: Option<usize>) -> PyResult<()> {
        let len = length.unwrap_or(self.len);
        if len != self.len && self.around[1] > 0 {
            return Err(PyValueError::new_err("an array is committed whole"));
        }
        if len > self.len {
            return Err(PyValueError::new_err(format!(
                "{len} bytes to commit of {} that were claimed",
                self.len
            )));
        }
        if py.detach(|| self.end(Some(len))) {
            Ok(())
        } else {
            Err(PyValueError::new_err("the claim has ended, or is that of this process's parent"))
        }
    }

    /// Gives the room up: nothing is sent.
    fn abort(&self) {
        self.end(None);
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        kind: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        self.end(kind.is_none().then_some(self.len));
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.end(None);
    }
}
