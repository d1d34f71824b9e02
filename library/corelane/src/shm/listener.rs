//! Lanes that are handed out at a Unix socket.

use alloc::vec::Vec;
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

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, fcntl_dupfd_cloexec, retry_on_intr};
use rustix::net::{
    self, AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, recv, recvmsg,
    sendmsg, socket_with,
};
use rustix::process::getuid;
use rustix::time::Timespec;

use super::error::{Error, system};
use super::{Carried, Lane, Named};
use crate::memory::Mutex;

/// How long a client may take to ask, and to open a lane; and how long a process at a path may take
/// until it listens.
const PATIENCE: Duration = Duration::from_secs(1);
/// Most clients that a listener waits for at a time. Each of them has a descriptor.
const MOST: usize = 64;
/// What a client sends to ask for a lane.
const ASK: [u8; 1] = [1];
/// What the process that listens answers: the descriptor comes with it, or not.
const OFFERED: [u8; 1] = [1];
const REFUSED: [u8; 1] = [0];
/// What the client sends when it has opened the lane.
const TAKEN: [u8; 1] = [2];
/// What the process that listens answers: the client has the lane. A client that doesn't hear it
/// gives the lane up.
const GIVEN: [u8; 1] = [2];

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
    /// Clients that are allowed and have not asked yet. The oldest is the first.
    silent: Mutex<Vec<Silent>>,
}

/// A client that is allowed and has not asked yet.
struct Silent {
    stream: UnixStream,
    client: Client,
    until: Instant,
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
    /// Listens at a name that is in no file system, and vanishes with the process. Processes of
    /// other network namespaces, as of most containers, don't see it: they need a
    /// [path](Self::bind_path).
    ///
    /// # Errors
    ///
    /// If another process listens at this name.
    pub fn bind(name: &str) -> Result<Self, Error> {
        let bound = address(name).and_then(|address| UnixListener::bind_addr(&address));
        Self::new(system("to listen at the name", bound)?, None)
    }

    /// Listens at a path, where it makes a socket. The socket of a killed process at this path is
    /// replaced.
    ///
    /// # Errors
    ///
    /// If another process listens at this path, or the socket can't be made there.
    pub fn bind_path(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bound = bind_or_replace(path);
        Self::new(system("to listen at the path", bound)?, Some(path.to_owned()))
    }

    fn new(socket: UnixListener, path: Option<PathBuf>) -> Result<Self, Error> {
        let own = getuid().as_raw();
        let allows = Box::new(move |client: &Client| client.user == own);
        let listener = Self { socket, path, allows, silent: Mutex::new(Vec::new()) };
        // Another process that has the socket may take a connection first.
        system("to listen without waiting", listener.socket.set_nonblocking(true))?;
        Ok(listener)
    }

    /// Chooses which processes get lanes. By default, those of the same user. `allows` is called as
    /// soon as a process connects, for one process at a time.
    #[must_use]
    pub fn allow(mut self, allows: impl Fn(&Client) -> bool + Send + Sync + 'static) -> Self {
        self.allows = Box::new(allows);
        self
    }

    /// Waits for a process that asks for a lane, and gives it this one. Returns when that process
    /// has opened the lane.
    ///
    /// Processes that are not allowed to have the lane are rejected as soon as they connect. An
    /// allowed process that doesn't ask delays no other. A process that asks has a second to open
    /// the lane. Several threads may hand out lanes.
    ///
    /// # Errors
    ///
    /// If the system has no more descriptors, or can't send one.
    pub fn hand_out<T: Carried + ?Sized>(&self, lane: &Lane<T>) -> Result<Client, Error> {
        self.give(&[lane.as_fd()])
    }

    /// As [`hand_out`](Self::hand_out), with two lanes, such as one for each direction. The process
    /// gets both or none, by [`connect_pair`].
    ///
    /// # Errors
    ///
    /// As [`hand_out`](Self::hand_out).
    pub fn hand_out_pair<T: Carried + ?Sized, U: Carried + ?Sized>(
        &self,
        first: &Lane<T>,
        second: &Lane<U>,
    ) -> Result<Client, Error> {
        self.give(&[first.as_fd(), second.as_fd()])
    }

    fn give(&self, lanes: &[BorrowedFd<'_>]) -> Result<Client, Error> {
        loop {
            let (stream, client) = self.next()?;
            if system("to send the lane", offer(&stream, lanes))? {
                return Ok(client);
            }
        }
    }

    /// The next client that asks. One thread waits for all clients, and the other threads wait for
    /// this thread.
    fn next(&self) -> Result<(UnixStream, Client), Error> {
        let mut silent = self.silent.lock();
        loop {
            let streams = silent.iter().map(|client| client.stream.as_fd());
            let mut ready: Vec<_> = streams.chain([self.socket.as_fd()]).map(input).collect();
            let until = silent.first().map(|client| client.until);
            system("to wait for clients (poll)", wait(&mut ready, until))?;
            let asks = ready.iter().position(|file| !file.revents().is_empty());
            match asks {
                Some(at) if at < silent.len() => {
                    let Silent { stream, client, .. } = silent.remove(at);
                    // It may have gone.
                    if has_sent(&stream) {
                        return Ok((stream, client));
                    }
                }
                Some(_) => self.accept(&mut silent)?,
                None => silent.retain(|client| client.until > Instant::now()),
            }
        }
    }

    /// Lets a client ask if it is allowed to have a lane. If there are too many clients, the oldest
    /// is dropped.
    fn accept(&self, silent: &mut Vec<Silent>) -> Result<(), Error> {
        let stream = match self.socket.accept() {
            Ok((stream, _)) => stream,
            Err(error) if is_over(&error) => return Ok(()),
            Err(source) => return Err(Error::System { call: "a connection", source }),
        };
        let client = system("the user of a process that asks", client(&stream))?;
        if !(self.allows)(&client) {
            // Without a wait: an error of one client is no reason to stop.
            let _ = send(&stream, REFUSED, &[]);
            return Ok(());
        }
        if silent.len() == MOST {
            silent.remove(0);
        }
        silent.push(Silent { stream, client, until: Instant::now() + PATIENCE });
        Ok(())
    }
}

/// Whether another process has taken the connection, or its client has gone.
fn is_over(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted)
}

/// Offers a client the lanes. Whether it has taken them.
///
/// # Errors
///
/// If the system can't send the descriptor. A client that has gone is no error.
fn offer(stream: &UnixStream, lanes: &[BorrowedFd<'_>]) -> io::Result<bool> {
    let sent = send(stream, OFFERED, lanes);
    match sent {
        Ok(()) => {}
        Err(Errno::PIPE | Errno::CONNRESET) => return Ok(false),
        Err(error) => return Err(error.into()),
    }
    let mut ready = [input(stream.as_fd())];
    let until = Instant::now() + PATIENCE;
    while ready[0].revents().is_empty() && Instant::now() < until {
        wait(&mut ready, Some(until))?;
    }
    Ok(has_sent(stream) && send(stream, GIVEN, &[]).is_ok())
}

fn input(file: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(file, PollFlags::IN)
}

/// Waits until one of them has something to read, or until this time. May end sooner.
fn wait(files: &mut [PollFd<'_>], until: Option<Instant>) -> io::Result<()> {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let left = left.map(|left| Timespec {
        tv_sec: left.as_secs() as i64,
        tv_nsec: left.subsec_nanos().into(),
    });
    match poll(files, left.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a byte of the client is there. It is read.
fn has_sent(stream: &UnixStream) -> bool {
    matches!(recv(stream, &mut [0_u8; 1], RecvFlags::DONTWAIT), Ok((1, _)))
}

impl<T: Carried + ?Sized> Lane<T> {
    /// Asks the process that listens at this name for a lane: see [`Listener::bind`]. Waits for its
    /// answer.
    ///
    /// Any process may listen at a name. So the process must be of the same user, or of the root
    /// user.
    ///
    /// # Errors
    ///
    /// [`Refused`](Error::Refused) if the process gives this one no lane, or is of another user, or
    /// as [`open`](Self::open). If no process listens there.
    pub fn connect(name: &str) -> Result<Self, Error> {
        Self::ask(&connect_name(name)?, Named::of::<T>())
    }

    /// As [`connect`](Self::connect), for a path: see [`Listener::bind_path`]. The process may be
    /// of any user: the permissions of the directory decide which users can listen there.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub fn connect_path(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::connect_path_named(path, Named::of::<T>())
    }

    /// As [`connect_path`](Self::connect_path), for items that programs of other languages name.
    #[doc(hidden)]
    pub fn connect_path_named(path: impl AsRef<Path>, named: Named<'_>) -> Result<Self, Error> {
        Self::ask(&connect(|| UnixStream::connect(&path))?, named)
    }

    fn ask(stream: &UnixStream, named: Named<'_>) -> Result<Self, Error> {
        let [file] = ask(stream)?;
        let opened = Self::prepare(file.as_fd(), named)?;
        // Before it is mapped, which takes its time.
        take(stream)?;
        Self::map(opened)
    }
}

/// Asks the process that listens at this name for two lanes: see [`Listener::hand_out_pair`].
///
/// ```
/// use corelane::shm::{Lane, Listener, connect_pair};
///
/// let name = format!("example of two {}", std::process::id());
/// let listener = Listener::bind(&name)?;
/// let client = std::thread::spawn(move || {
///     // In another process:
///     let (requests, answers) = connect_pair::<u64, u64>(&name)?;
///     let (mut tx, mut rx) = (requests.producer()?, answers.consumer()?);
///     tx.push(6).unwrap();
///     Ok::<_, corelane::shm::Error>(rx.pop())
/// });
/// let (requests, answers) = (Lane::<u64>::create(64)?, Lane::<u64>::create(64)?);
/// let (mut rx, mut tx) = (requests.consumer()?, answers.producer()?);
/// listener.hand_out_pair(&requests, &answers)?;
/// tx.push(7 * rx.pop().unwrap()).unwrap();
/// assert_eq!(client.join().unwrap()?, Some(42));
/// # Ok::<(), corelane::shm::Error>(())
/// ```
///
/// # Errors
///
/// As [`Lane::connect`].
pub fn connect_pair<T: Carried + ?Sized, U: Carried + ?Sized>(
    name: &str,
) -> Result<(Lane<T>, Lane<U>), Error> {
    ask_for_pair(&connect_name(name)?)
}

/// As [`connect_pair`], for a path: see [`Lane::connect_path`].
///
/// # Errors
///
/// As [`Lane::connect`].
pub fn connect_pair_path<T: Carried + ?Sized, U: Carried + ?Sized>(
    path: impl AsRef<Path>,
) -> Result<(Lane<T>, Lane<U>), Error> {
    ask_for_pair(&connect(|| UnixStream::connect(&path))?)
}

fn ask_for_pair<T: Carried + ?Sized, U: Carried + ?Sized>(
    stream: &UnixStream,
) -> Result<(Lane<T>, Lane<U>), Error> {
    let [first, second] = ask(stream)?;
    let first = Lane::<T>::prepare(first.as_fd(), Named::of::<T>())?;
    let second = Lane::<U>::prepare(second.as_fd(), Named::of::<U>())?;
    take(stream)?;
    Ok((Lane::map(first)?, Lane::map(second)?))
}

const LANE: &str = "a lane from the process that listens";

/// Asks for so many lanes.
fn ask<const N: usize>(mut stream: &UnixStream) -> Result<[OwnedFd; N], Error> {
    let asked = stream.write_all(&ASK);
    match asked {
        // The listener has perhaps refused already.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        asked => system(LANE, asked)?,
    }
    let files = system(LANE, receive(stream))?.ok_or(Error::Refused)?;
    let found = files.len() as u64;
    let differs = |_| Error::Differs { field: "number of lanes", expected: N as u64, found };
    files.try_into().map_err(differs)
}

/// Takes the lanes.
fn take(mut stream: &UnixStream) -> Result<(), Error> {
    let taken = stream.write_all(&TAKEN).and_then(|()| stream.read_exact(&mut [0]));
    system("a lane from the process that listens; it doesn't wait for long", taken)
}

/// Connects to a process of the same user, or of the root user.
fn connect_name(name: &str) -> Result<UnixStream, Error> {
    let address = system("the name", address(name))?;
    let stream = connect(|| UnixStream::connect_addr(&address))?;
    let user = system("the user of the process that listens", client(&stream))?.user;
    if user != getuid().as_raw() && user != 0 {
        return Err(Error::Refused);
    }
    Ok(stream)
}

/// Connects, also if signals come.
fn connect(to: impl Fn() -> io::Result<UnixStream>) -> Result<UnixStream, Error> {
    use io::ErrorKind::{ConnectionRefused, Interrupted, NotFound};
    loop {
        let connected = to();
        let call = match connected.as_ref().map_err(io::Error::kind) {
            Err(Interrupted) => continue,
            Err(ConnectionRefused | NotFound) => "to connect; start the process that listens there",
            _ => "to connect to the process that listens",
        };
        return system(call, connected);
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

/// Makes a socket at `path`, also in the place of one at which no process listens any more.
fn bind_or_replace(path: &Path) -> io::Result<UnixListener> {
    // One process at a time: another one may be about to replace the same socket.
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = File::open(directory.unwrap_or(Path::new(".")))?;
    let begin = Instant::now();
    while let Err(error) = flock(&directory, FlockOperation::NonBlockingLockExclusive) {
        match error {
            Errno::WOULDBLOCK | Errno::INTR => {}
            error => return Err(error.into()),
        }
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
    match knock(path) {
        // A process listens, and has perhaps more connections than it can answer.
        Ok(()) | Err(Errno::AGAIN) => Err(io::ErrorKind::AddrInUse.into()),
        Err(Errno::CONNREFUSED) => {
            fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether a process listens. Doesn't wait for it.
fn knock(path: &Path) -> Result<(), Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    net::connect(&socket, &SocketAddrUnix::new(path)?)
}

/// The process on the other side. Not by `rustix`, which takes process 0 of another namespace for
/// an error.
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

/// Sends an answer, and descriptors with it. Never waits: a client has read what came before.
fn send(stream: &UnixStream, answer: [u8; 1], files: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(files));
    }
    // Without a signal if the other process has gone.
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(stream, &[IoSlice::new(&answer)], &mut control, flags)?;
    Ok(())
}

/// Receives one or two descriptors. `None` if the process that listens refuses.
fn receive(stream: &UnixStream) -> io::Result<Option<Vec<OwnedFd>>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut answer = REFUSED;
    let mut answers = [IoSliceMut::new(&mut answer)];
    let received =
        retry_on_intr(|| recvmsg(stream, &mut answers, &mut control, RecvFlags::CMSG_CLOEXEC))?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let files = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files.collect::<Vec<_>>()),
        _ => None,
    });
    match files {
        None if answer != REFUSED => Err(cut_off(stream)),
        files => Ok(files),
    }
}

/// Why a descriptor that was sent has not arrived. The system says only that the message was cut
/// off, so this tries to get another descriptor.
fn cut_off(stream: &UnixStream) -> io::Error {
    match fcntl_dupfd_cloexec(stream, 0) {
        Err(error) => error.into(),
        Ok(_) => io::Error::other("its descriptor has not arrived; allow this process to have it"),
    }
}
