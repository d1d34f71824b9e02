//! The file of a lane: memory that processes map, and whose locks say which of them live.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::fs::{
    FallocateFlags, MemfdFlags, Mode, OFlags, SealFlags, fallocate, fcntl_add_seals,
    fcntl_get_seals, fstat, memfd_create, open,
};
use rustix::io::retry_on_intr;

use super::error::{Error, system};
use super::limits;

/// No process can make the file shorter or longer, or remove these seals.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Bytes that one call allocates. On some systems a signal undoes a whole call. A piece is small
/// enough for the time between frequent signals.
const PIECE: usize = 256 << 10;

/// A new file of `len` bytes, which are zeros.
pub(super) fn create(len: usize) -> Result<OwnedFd, Error> {
    limits::check(len as u64)?;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = system("a memory file (memfd_create)", memfd_create("corelane", flags))?;
    // So the system reports here, and not at an access, if there is no memory.
    for from in (0..len).step_by(PIECE) {
        let piece = PIECE.min(len - from) as u64;
        let fill = || fallocate(&file, FallocateFlags::empty(), from as u64, piece);
        system("memory for the lane (fallocate)", retry_on_intr(fill))?;
    }
    system("to seal the lane", fcntl_add_seals(&file, SEALS))?;
    Ok(file)
}

/// The length of a file that can't become shorter.
pub(super) fn sealed_len(file: BorrowedFd<'_>) -> Result<usize, Error> {
    match fcntl_get_seals(file) {
        Ok(seals) if seals.contains(SealFlags::SHRINK) => {}
        _ => return Err(Error::NotALane),
    }
    let len = system("the length of the lane (fstat)", fstat(file))?.st_size;
    usize::try_from(len).map_err(|_| Error::NotALane)
}

/// Refuses a file whose memory is not allocated yet.
pub(super) fn check_filled(file: BorrowedFd<'_>, len: usize) -> Result<(), Error> {
    /// Bytes of a block, as the system counts them.
    const BLOCK: u64 = 512;
    let blocks = system("the memory of the lane (fstat)", fstat(file))?.st_blocks;
    let is_filled =
        u64::try_from(blocks).is_ok_and(|blocks| blocks.saturating_mul(BLOCK) >= len as u64);
    if is_filled { Ok(()) } else { Err(Error::Corrupt) }
}

/// The same file with locks of its own: a passed descriptor shares its locks with the process that
/// has passed it.
pub(super) fn reopen(file: BorrowedFd<'_>) -> Result<OwnedFd, Error> {
    reopen_for(file, OFlags::RDWR)
}

/// The same, for reading only.
pub(super) fn reopen_to_read(file: BorrowedFd<'_>) -> Result<OwnedFd, Error> {
    reopen_for(file, OFlags::RDONLY)
}

fn reopen_for(file: BorrowedFd<'_>, access: OFlags) -> Result<OwnedFd, Error> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = access | OFlags::CLOEXEC;
    system("to open the lane's descriptor anew (/proc/self/fd)", open(path, flags, Mode::empty()))
}

/// The seats of a side: bytes of the file, whose locks say that they are taken.
#[derive(Debug, Clone, Copy)]
pub struct Seats {
    pub(super) first: u32,
    pub(super) count: u32,
    /// Whether one byte is a seat for any number of handles.
    pub(super) is_shared: bool,
}

impl Seats {
    /// One of them.
    pub(super) fn only(self, number: u32) -> Self {
        Self { first: self.first + number, count: 1, ..self }
    }

    /// Whether a live process has one of them. `file` must not be one that has taken a seat.
    pub(super) fn are_taken(self, file: BorrowedFd<'_>) -> bool {
        let mut found = bytes(self.first, self.count, libc::F_WRLCK);
        // If the system can't tell, the process counts as alive.
        lock(file, libc::F_OFD_GETLK, &mut found).is_err() || found.l_type != libc::F_UNLCK as i16
    }

    /// Takes the first one that is free. `None` if live processes have all of them.
    ///
    /// # Errors
    ///
    /// If the system refuses the lock.
    pub(super) fn take(self, file: BorrowedFd<'_>) -> Result<Option<Seat>, Error> {
        let file = reopen(file)?;
        let kind = if self.is_shared { libc::F_RDLCK } else { libc::F_WRLCK };
        for number in 0..self.count {
            let byte = self.first + number;
            match lock(file.as_fd(), libc::F_OFD_SETLK, &mut bytes(byte, 1, kind)) {
                Ok(()) => return Ok(Some(Seat { file, byte, number })),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(source) => {
                    return Err(Error::System { call: "a lock of the lane (fcntl)", source });
                }
            }
        }
        Ok(None)
    }
}

/// A seat, which this process has until it ends or drops this.
///
/// It is a lock of an open file description on one byte of the file. The kernel releases it when
/// the process ends, however it ends.
#[derive(Debug)]
pub struct Seat {
    /// Has the lock.
    file: OwnedFd,
    byte: u32,
    /// Which of the side's seats it is.
    pub(super) number: u32,
}

impl Seat {
    /// The descriptor that has the lock.
    pub(super) fn descriptor(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // This works also if a child process that was just forked has the description, too. It
        // can't fail.
        let mut free = bytes(self.byte, 1, libc::F_UNLCK);
        let _ = lock(self.file.as_fd(), libc::F_OFD_SETLK, &mut free);
    }
}

/// The lock of these bytes, or its end.
fn bytes(first: u32, count: u32, kind: i32) -> libc::flock {
    libc::flock {
        l_type: kind as i16,
        l_whence: libc::SEEK_SET as i16,
        l_start: first.into(),
        l_len: count.into(),
        l_pid: 0,
    }
}

fn lock(file: BorrowedFd<'_>, command: i32, lock: &mut libc::flock) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the command reads and writes one `flock`.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, lock) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
