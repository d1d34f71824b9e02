//! What the system offers between processes.

use std::fs::File;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use zerocopy::IntoBytes;

use super::lane::text;
use super::ping_pong::{self, Crowd, Many};
use super::{IpcKernel, Link, Linked, Links, Record, Rx, Tx, Wanted, number, peer, record};
use crate::peers::of_system;

/// Lets a child process inherit a descriptor, and returns its number.
pub(super) fn give(file: impl Into<OwnedFd>, child: &mut Command) -> i32 {
    let file: OwnedFd = file.into();
    let number = file.as_raw_fd();
    let inherit = move || fcntl_setfd(&file, FdFlags::empty()).map_err(Into::into);
    // SAFETY: it makes one call of the system, which is allowed in a child before `exec`.
    unsafe { child.pre_exec(inherit) };
    number
}

/// A descriptor that this process has inherited.
pub(super) fn take(number: i32) -> File {
    // SAFETY: the process that started this one has passed the descriptor for this only.
    unsafe { File::from_raw_fd(number) }
}

/// Reads a record.
pub(super) fn read<const W: usize>(from: &mut impl Read) -> Option<Record<W>> {
    let mut record = [0; W];
    from.read_exact(record.as_mut_bytes()).ok()?;
    Some(record)
}

/// Links whose ends are descriptors, `$open` as reader and writer.
macro_rules! files {
    ($link:ident: $rx:ty, $tx:ty, $open:expr) => {
        struct $link;

        impl<const W: usize> Link<W> for $link {
            type Tx = File;
            type Rx = File;

            fn to_child(_: Wanted, child: &mut Command) -> Result<(File, i32), String> {
                let (rx, tx): ($rx, $tx) = $open.map_err(text)?;
                Ok((File::from(OwnedFd::from(tx)), give(rx, child)))
            }

            fn from_child(_: Wanted, child: &mut Command) -> Result<(File, i32), String> {
                let (rx, tx): ($rx, $tx) = $open.map_err(text)?;
                Ok((File::from(OwnedFd::from(rx)), give(tx, child)))
            }

            fn open_tx(_: Wanted, number: i32) -> Result<File, String> {
                Ok(take(number))
            }

            fn open_rx(_: Wanted, number: i32) -> Result<File, String> {
                Ok(take(number))
            }
        }
    };
}

/// The same for several threads on each side, which share the descriptor.
macro_rules! shared_files {
    ($($link:ident)*) => {$(
        impl Crowd for $link {
                    type Tx = File;
            type Rx = File;

            fn to_child(of: Wanted, child: &mut Command) -> Many<File> {
                let (tx, number) = <Self as Link<1>>::to_child(of, child)?;
                Ok((clones(&tx, of.threads)?, number))
            }

            fn from_child(of: Wanted, child: &mut Command) -> Many<File> {
                let (rx, number) = <Self as Link<1>>::from_child(of, child)?;
                Ok((clones(&rx, of.threads)?, number))
            }

            fn open_tx(of: Wanted, number: i32) -> Result<Vec<File>, String> {
                clones(&take(number), of.threads)
            }

            fn open_rx(of: Wanted, number: i32) -> Result<Vec<File>, String> {
                clones(&take(number), of.threads)
            }
        }
    )*};
}

// Records of 8 bytes are written and read whole, also in a stream.
shared_files!(Pipe Stream Packets);

pub(super) fn clones(file: &File, n: usize) -> Result<Vec<File>, String> {
    (0..n).map(|_| file.try_clone().map_err(text)).collect()
}

impl<const W: usize> Tx<W> for File {
    fn put(&mut self, number: u64) -> bool {
        self.write_all(record::<W>(number).as_bytes()).is_ok()
    }
}

impl<const W: usize> Rx<W> for File {
    fn get(&mut self) -> Option<u64> {
        number(&read::<W>(self)?)
    }
}

fn sockets(kind: SocketType) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
}

files!(Pipe: PipeReader, PipeWriter, pipe());
files!(Stream: OwnedFd, OwnedFd, sockets(SocketType::STREAM));
files!(Packets: OwnedFd, OwnedFd, sockets(SocketType::SEQPACKET));

pub(super) fn entries() -> Vec<Linked> {
    fn entry<L: Links + Crowd>(id: &'static str, name: &'static str) -> Linked {
        let kernels = IpcKernel::each::<L>().into_iter().chain([ping_pong::kernel::<L>()]);
        peer(id, name, of_system(), kernels.collect())
    }
    vec![
        entry::<Pipe>("pipe", "pipe"),
        entry::<Stream>("unix-socket", "Unix stream socket"),
        entry::<Packets>("unix-seqpacket", "Unix socket of packets"),
    ]
}
