//! A descriptor that can be read while it is time to look at the lane: for event loops.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::task::{Wake, Waker};

use corelane::shm::Watching;
use parking_lot::Mutex;

use crate::sides::renew;

/// Made by its first use.
#[derive(Default)]
pub(crate) struct Ready(Mutex<Option<Armed>>);

struct Armed {
    event: Arc<Event>,
    watching: Option<Watching>,
}

/// An `eventfd`.
struct Event(OwnedFd);

impl Event {
    fn new() -> io::Result<Self> {
        // SAFETY: the call has no conditions.
        match unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: it is new.
            descriptor => Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) })),
        }
    }

    fn set(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: eight bytes can be read. If it fails, the descriptor is set already.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    fn clear(&self) {
        let mut count = [0; 8];
        // SAFETY: eight bytes may be written. If it fails, the descriptor is clear already.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

impl Wake for Event {
    fn wake(self: Arc<Self>) {
        self.set();
    }
}

impl Ready {
    /// The descriptor, which can be read at first.
    pub(crate) fn descriptor(&self) -> io::Result<RawFd> {
        let mut armed = self.0.lock();
        if let Some(armed) = &*armed {
            return Ok(armed.event.0.as_raw_fd());
        }
        let event = Arc::new(Event::new()?);
        event.set();
        let descriptor = event.0.as_raw_fd();
        *armed = Some(Armed { event, watching: None });
        Ok(descriptor)
    }

    /// A look has found nothing: the descriptor can be read again when it is time for the next one.
    /// Returns whether to look once more, for what came meanwhile. False if no program has asked for
    /// the descriptor.
    pub(crate) fn arm(&self, watch: impl FnOnce(&Waker) -> Option<Watching>) -> bool {
        let mut armed = self.0.lock();
        let Some(Armed { event, watching }) = &mut *armed else { return false };
        // Its end may wake another sleeper at the lane, and must not wake the new one.
        *watching = None;
        event.clear();
        *watching = watch(&Waker::from(event.clone()));
        if watching.is_none() {
            // Another thread uses the handle.
            event.set();
        }
        true
    }

    /// In a forked child.
    pub(crate) fn forget(&self) {
        renew(&self.0);
        // The parent's thread watches; the descriptor is shared with the parent.
        if let Some(armed) = self.0.lock().take() {
            std::mem::forget(armed);
        }
    }
}
