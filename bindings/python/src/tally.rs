//! How many messages of a `JoinableQueue` are not done: a number that processes share.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::patience::Patience;

/// A number in memory that processes share. One can wait until it is 0.
#[pyclass(frozen, module = "corelane._corelane")]
pub(crate) struct Tally {
    file: OwnedFd,
    number: NonNull<AtomicU32>,
}

// SAFETY: the number is an atomic, which stays mapped.
unsafe impl Send for Tally {}
// SAFETY: as above.
unsafe impl Sync for Tally {}

const LEN: usize = 4096;

#[pymethods]
impl Tally {
    #[new]
    #[pyo3(signature = (file=None))]
    fn new(file: Option<RawFd>) -> PyResult<Self> {
        Ok(Self::of(file)?)
    }

    fn fileno(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    fn add(&self) {
        // Relaxed: the message that it is about is sent later.
        self.number().fetch_add(1, Ordering::Relaxed);
    }

    fn done(&self) -> PyResult<()> {
        let mut now = self.number().load(Ordering::Relaxed);
        loop {
            let Some(less) = now.checked_sub(1) else {
                return Err(PyValueError::new_err("task_done() called too many times"));
            };
            // Release ↔ Acquire in `wait`: what the task has done.
            match self.number().compare_exchange(now, less, Ordering::Release, Ordering::Relaxed) {
                Ok(_) if less > 0 => return Ok(()),
                Ok(_) => break,
                Err(found) => now = found,
            }
        }
        // SAFETY: the call reads no memory.
        unsafe { libc::syscall(libc::SYS_futex, self.number.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
        Ok(())
    }

    /// Waits until the number is 0.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        Patience::Endless.wait(py, |time| self.sleep(time)).map(drop)
    }
}

impl Tally {
    fn of(file: Option<RawFd>) -> io::Result<Self> {
        // SAFETY: the name is a string; a descriptor that isn't open is refused.
        let descriptor = unsafe {
            match file {
                None => libc::memfd_create(c"corelane-tally".as_ptr(), libc::MFD_CLOEXEC),
                Some(file) => libc::fcntl(file, libc::F_DUPFD_CLOEXEC, 0),
            }
        };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is new.
        let file = unsafe { OwnedFd::from_raw_fd(descriptor) };
        // SAFETY: a new mapping of a file that is long enough.
        let number = unsafe {
            if libc::ftruncate(descriptor, LEN as libc::off_t) != 0 {
                return Err(io::Error::last_os_error());
            }
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), LEN, access, libc::MAP_SHARED, descriptor, 0)
        };
        if number == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let number = NonNull::new(number.cast()).expect("no mapping is at address 0");
        Ok(Self { file, number })
    }

    fn number(&self) -> &AtomicU32 {
        // SAFETY: it stays mapped as long as this lives.
        unsafe { self.number.as_ref() }
    }

    fn sleep(&self, time: Duration) -> Option<()> {
        // Acquire ↔ Release in `done`.
        let now = self.number().load(Ordering::Acquire);
        if now == 0 {
            return Some(());
        }
        let time = libc::timespec {
            tv_sec: time.as_secs() as libc::time_t,
            tv_nsec: time.subsec_nanos().into(),
        };
        // SAFETY: the number is mapped, and the time lives during the call.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.number.as_ptr(),
                libc::FUTEX_WAIT,
                now,
                &raw const time,
            );
        }
        None
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        // SAFETY: it was mapped by `of`, and isn't used any more.
        unsafe { libc::munmap(self.number.as_ptr().cast(), LEN) };
    }
}
