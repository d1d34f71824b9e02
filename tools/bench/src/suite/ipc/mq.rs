//! The system's message queues. They don't tell that the other side is gone, so a side that goes
//! makes the calls of the other one fail.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::process::Command;

use nix::mqueue::{MQ_OFlag, MqAttr, MqdT};
use nix::mqueue::{mq_open, mq_receive, mq_send, mq_set_nonblock, mq_unlink};
use nix::sys::stat::Mode;
use zerocopy::IntoBytes;

use super::lane::text;
use super::peers::{fresh, inherit};
use super::ping_pong::{self, Crowd, Many};
use super::system::{clones, take};
use super::{IpcKernel, Link, Linked, Rx, Tx, Wanted, number, peer, record};
use crate::peers::of_system;

/// Most messages of a queue, and most bytes of a message: the system's defaults.
const MESSAGES: usize = 10;
const BYTES: usize = 8 << 10;

struct Mq;

/// The sending or the receiving side.
struct Side<const SENDS: bool> {
    mq: MqdT,
    _file: File,
}

impl<const SENDS: bool> Side<SENDS> {
    fn of(file: File) -> Self {
        // SAFETY: it is the descriptor of a message queue. `_file` closes it, an `MqdT` does not.
        let mq = unsafe { MqdT::from_raw_fd(file.as_raw_fd()) };
        Self { mq, _file: file }
    }

    /// A side for each thread.
    fn all(file: &File, threads: usize) -> Result<Vec<Self>, String> {
        Ok(clones(file, threads)?.into_iter().map(Self::of).collect())
    }
}

/// A queue without a name.
fn create(bytes: usize, capacity: usize) -> nix::Result<File> {
    let name = format!("/lane-{}-{}", std::process::id(), fresh());
    let flags = MQ_OFlag::O_RDWR | MQ_OFlag::O_CREAT | MQ_OFlag::O_EXCL | MQ_OFlag::O_CLOEXEC;
    let limits = MqAttr::new(0, capacity.min(MESSAGES) as _, bytes as _, 0);
    let mode = Mode::S_IRUSR | Mode::S_IWUSR;
    let mq = mq_open(name.as_str(), flags, mode, Some(&limits))?;
    // The child inherits the descriptor, so the name can go at once: nothing is left behind.
    mq_unlink(name.as_str())?;
    // SAFETY: nothing else closes it.
    Ok(unsafe { File::from_raw_fd(mq.into_raw_fd()) })
}

/// A queue for messages of `bytes`, and the number of the descriptor by which the child opens it.
fn give(bytes: usize, capacity: usize, child: &mut Command) -> Result<(File, i32), String> {
    let file = create(bytes, capacity).map_err(text)?;
    let number = inherit(&file, child)?;
    Ok((file, number))
}

/// The other side shares the flag: its calls fail instead of sleeping. A call that sleeps already
/// needs a message, or room for one.
impl<const SENDS: bool> Drop for Side<SENDS> {
    fn drop(&mut self) {
        let _ = mq_set_nonblock(&self.mq);
        let _ = match SENDS {
            true => mq_send(&self.mq, &[], 0),
            false => mq_receive(&self.mq, &mut [0; BYTES], &mut 0).map(drop),
        };
    }
}

impl<const W: usize> Tx<W> for Side<true> {
    fn put(&mut self, number: u64) -> bool {
        mq_send(&self.mq, record::<W>(number).as_bytes(), 0).is_ok()
    }
}

impl<const W: usize> Rx<W> for Side<false> {
    fn get(&mut self) -> Option<u64> {
        let mut record = [0; W];
        let len = mq_receive(&self.mq, record.as_mut_bytes(), &mut 0).ok()?;
        number(&record).filter(|_| len == 8 * W)
    }
}

impl<const W: usize> Link<W> for Mq {
    type Tx = Side<true>;
    type Rx = Side<false>;

    fn to_child(of: Wanted, child: &mut Command) -> Result<(Self::Tx, i32), String> {
        let (file, number) = give(8 * W, of.capacity, child)?;
        Ok((Side::of(file), number))
    }

    fn from_child(of: Wanted, child: &mut Command) -> Result<(Self::Rx, i32), String> {
        let (file, number) = give(8 * W, of.capacity, child)?;
        Ok((Side::of(file), number))
    }

    fn open_tx(_: Wanted, number: i32) -> Result<Self::Tx, String> {
        Ok(Side::of(take(number)))
    }

    fn open_rx(_: Wanted, number: i32) -> Result<Self::Rx, String> {
        Ok(Side::of(take(number)))
    }
}

impl Crowd for Mq {
    type Tx = Side<true>;
    type Rx = Side<false>;

    fn to_child(of: Wanted, child: &mut Command) -> Many<Self::Tx> {
        let (file, number) = give(8, of.capacity, child)?;
        Ok((Side::all(&file, of.threads)?, number))
    }

    fn from_child(of: Wanted, child: &mut Command) -> Many<Self::Rx> {
        let (file, number) = give(8, of.capacity, child)?;
        Ok((Side::all(&file, of.threads)?, number))
    }

    fn open_tx(of: Wanted, number: i32) -> Result<Vec<Self::Tx>, String> {
        Side::all(&take(number), of.threads)
    }

    fn open_rx(of: Wanted, number: i32) -> Result<Vec<Self::Rx>, String> {
        Side::all(&take(number), of.threads)
    }
}

/// `None` if the system has none, or only smaller ones.
pub(super) fn entry() -> Option<Linked> {
    create(BYTES, MESSAGES).ok()?;
    let (id, name) = ("mq", "POSIX message queue");
    // Longer records are more than a message can have.
    let links = [IpcKernel::of::<1, Mq>(), IpcKernel::of::<8, Mq>(), IpcKernel::of::<128, Mq>()];
    let kernels = links.into_iter().chain([ping_pong::kernel::<Mq>()]).collect();
    Some(peer(id, name, of_system(), kernels))
}
