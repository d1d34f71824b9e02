//! Lanes that are handed over by a Unix socket.

use core::fmt;
use core::mem::MaybeUninit;
use std::fs::{self, File};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::getuid;

use super::error::{Error, system};
use super::{Carried, Lane};

/// How long a client may take to ask, and a process that listens at a path to begin.
const PATIENCE: Duration = Duration::from_secs(1);
/// What a client sends to ask for a lane.
const ASK: [u8; 1] = [1];
/// What the process that listens answers: the descriptor comes with it, or not.
const GIVEN: [u8; 1] = [1];
const REFUSED: [u8; 1] = [0];

/// A Unix socket at which other processes ask for lanes.
///
/// ```
/// use corelane::shm::{Lane, Listener};
///
/// let name = format!("example {}", std::process::id());
/// let listener = Listener::bind(&name)?;
/// let client = std::thread::spawn(move || {
///     // In another process:
///     let mut tx = Lane::<u64>::connect(&name)?.producer()?;
///     tx.push(7).unwrap();
///     Ok::<_, corelane::shm::Error>(())
/// });
/// let lane = Lane::<u64>::create(1024)?;
/// let mut rx = lane.consumer()?;
/// listener.hand_out(&lane)?;
/// assert_eq!(rx.pop(), Some(7));
/// client.join().unwrap()?;
/// # Ok::<(), corelane::shm::Error>(())
/// ```
pub struct Listener {
    socket: UnixListener,
    /// Removed with the listener.
    path: Option<PathBuf>,
    allows: Box<dyn Fn(&Client) -> bool + Send + Sync>,
}

/// The process that asks, as it was when it connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Client {
    /// Its process id. `None` if it is in another namespace, as of a container.
    pub process: Option<u32>,
    /// Its user.
    pub user: u32,
    /// Its group.
    pub group: u32,
}

impl Listener {
    /// Listens at a name that is in no file system, and vanishes with the process. Processes of other network namespaces, as of most
    /// containers, don't see it: they need a [path](Self::bind_path).
    ///
    /// # Errors
    ///
    /// If another process listens at this name.
    pub fn bind(name: &str) -> Result<Self, Error> {
        let bound = address(name).and_then(|address| UnixListener::bind_addr(&address));
        Ok(Self::new(system("to listen at the name", bound)?, None))
    }

    /// Listens at a path, where it makes a socket. If a process that was killed has left one there, it takes its place.
    ///
    /// # Errors
    ///
    /// If another process listens at this path, or the socket can't be made there.
    pub fn bind_path(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bound = bind_or_replace(path);
        Ok(Self::new(system("to listen at the path", bound)?, Some(path.to_owned())))
    }

    fn new(socket: UnixListener, path: Option<PathBuf>) -> Self {
        let own = getuid().as_raw();
        Self { socket, path, allows: Box::new(move |client| client.user == own) }
    }

    /// Chooses which processes get lanes. Without this, those of the same user.
    #[must_use]
    pub fn allow(mut self, allows: impl Fn(&Client) -> bool + Send + Sync + 'static) -> Self {
        self.allows = Box::new(allows);
        self
    }

    /// Waits for a process that asks for a lane, and gives it this one. Processes that are not allowed to have it are told so.
    ///
    /// # Errors
    ///
    /// If the system has no more descriptors.
    pub fn hand_out<T: Carried + ?Sized>(&self, lane: &Lane<T>) -> Result<Client, Error> {
        loop {
            let stream = match self.socket.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(source) => return Err(Error::System { call: "a connection", source }),
            };
            // What goes wrong with one client is no reason to stop.
            if let Ok(Some(client)) = self.serve(&stream, lane.as_fd()) {
                return Ok(client);
            }
        }
    }

    /// Gives a client the lane, if it asks and is allowed to have it.
    fn serve(&self, mut stream: &UnixStream, lane: BorrowedFd<'_>) -> io::Result<Option<Client>> {
        stream.set_read_timeout(Some(PATIENCE))?;
        // A process that only looks whether somebody listens doesn't ask.
        stream.read_exact(&mut [0])?;
        let client = client(stream)?;
        let is_allowed = (self.allows)(&client);
        send(stream, is_allowed.then_some(lane))?;
        Ok(is_allowed.then_some(client))
    }
}

impl<T: Carried + ?Sized> Lane<T> {
    /// Asks the process that listens at this name for a lane: see [`Listener::bind`]. Waits for its answer.
    ///
    /// Anybody may listen at a name. So the process must be of the same user, or of the root user.
    ///
    /// # Errors
    ///
    /// [`Refused`](Error::Refused) if the process gives this one no lane, or is of another user, or as [`open`](Self::open). If no process listens there.
    pub fn connect(name: &str) -> Result<Self, Error> {
        let stream = address(name).and_then(|address| UnixStream::connect_addr(&address));
        let stream =
            system("to connect to the name; start the process that listens there", stream)?;
        let user = system("the user of the process that listens", client(&stream))?.user;
        if user != getuid().as_raw() && user != 0 {
            return Err(Error::Refused);
        }
        Self::ask(&stream)
    }

    /// As [`connect`](Self::connect), for a path: see [`Listener::bind_path`]. The process may be of any user: the directory says whose sockets
    /// are in it.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_path(path: impl AsRef<Path>) -> Result<Self, Error> {
        let stream = UnixStream::connect(path);
        Self::ask(&system("to connect to the path; start the process that listens there", stream)?)
    }

    fn ask(mut stream: &UnixStream) -> Result<Self, Error> {
        let file = stream.write_all(&ASK).and_then(|()| receive(stream));
        let file = system("a lane from the process that listens", file)?;
        Self::open(file.ok_or(Error::Refused)?)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("path", &self.path).finish_non_exhaustive()
    }
}

fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("corelane/{name}"))
}

/// Makes a socket at `path`, also in the place of one at which nobody listens any more.
fn bind_or_replace(path: &Path) -> io::Result<UnixListener> {
    // One process at a time: another one may be about to replace the same socket.
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = File::open(directory.unwrap_or(Path::new(".")))?;
    let begin = Instant::now();
    while flock(&directory, FlockOperation::NonBlockingLockExclusive).is_err() {
        // Any process that may read the directory may hold its lock.
        if begin.elapsed() > PATIENCE {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        thread::sleep(Duration::from_millis(1));
    }
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
        bound => return bound,
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        _ => Err(io::ErrorKind::AddrInUse.into()),
    }
}

/// The process on the other side. Not by `rustix`, which takes process 0 of another namespace for an error.
fn client(stream: &UnixStream) -> io::Result<Client> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the call writes one `ucred`.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &mut len,
        )
    };
    match failed {
        0 => {
            let process = u32::try_from(found.pid).ok().filter(|process| *process != 0);
            Ok(Client { process, user: found.uid, group: found.gid })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sends a descriptor, or that there is none.
fn send(stream: &UnixStream, file: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let files: &[BorrowedFd<'_>] = file.as_slice();
    if file.is_some() {
        control.push(SendAncillaryMessage::ScmRights(files));
    }
    let answer = if file.is_some() { GIVEN } else { REFUSED };
    // Without a signal if the other process has gone.
    sendmsg(stream, &[IoSlice::new(&answer)], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives a descriptor. `None` if there is none.
fn receive(stream: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut answer = REFUSED;
    let mut answers = [IoSliceMut::new(&mut answer)];
    let received = loop {
        match recvmsg(stream, &mut answers, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            received => break received?,
        }
    };
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    }))
}
