//! Sockets that are registered with the system once.

#[cfg(target_os = "linux")]
mod edges;
#[cfg(target_os = "linux")]
use edges::Registered;
#[cfg(not(target_os = "linux"))]
mod asked;
#[cfg(not(target_os = "linux"))]
use asked::Registered;
#[cfg(feature = "hyper")]
mod hyper;

use std::fmt;
use std::future::poll_fn;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Result, Write};
use std::mem;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_io::Async;
use futures_lite::{AsyncRead, AsyncWrite};

use crate::{budget, reactor};

/// A socket that is registered with the system once. ([`Async`] registers before each wait.) It is
/// for connections with much traffic: with many events at once each message saves two system calls.
///
/// ```
/// use std::net::TcpListener;
///
/// use corelane_executor::{Executor, Socket, spawn};
/// use futures_lite::{AsyncReadExt, AsyncWriteExt};
///
/// let executor = Executor::new(2)?;
/// executor.block_on(async {
///     let listener = Socket::<TcpListener>::bind(([127, 0, 0, 1], 0))?;
///     let address = listener.get_ref().local_addr()?;
///     let client = spawn(async move {
///         let mut stream = Socket::connect(address).await?;
///         stream.write_all(b"ping").await
///     });
///     let (mut stream, _) = listener.accept().await?;
///     let mut received = String::new();
///     stream.read_to_string(&mut received).await?;
///     assert_eq!(received, "ping");
///     client.await.expect("it doesn't panic")
/// })?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// `T` is a socket of the standard library, or anything else that has a descriptor which the system
/// can wait for, such as a [`UnixStream`](std::os::unix::net::UnixStream) or a pipe:
/// [`new`](Self::new). Its `Read` and `Write` must do one call of the system each, and keep no
/// bytes themselves.
///
/// On Linux the system reports each event once (edge-triggered, by `epoll`). On other systems the
/// socket registers before each wait, as [`Async`] does. Events reach the socket by async-io's
/// reactor, so it works wherever [`Async`] does, not only on this executor. Any number of tasks may
/// use one socket. But on other systems than Linux, tasks that wait for the same event keep waking
/// each other. A forked process may drop its parent's sockets, but can't use them, and can't make
/// its own.
///
/// On this executor each read and write is a [step](crate::step): a task whose sockets always have
/// more lets other tasks run after 128 steps. Then a read or write is pending, although there are
/// bytes.
pub struct Socket<T: AsFd> {
    registered: Registered<T>,
}

/// The event for which a task waits.
#[derive(Clone, Copy)]
enum Direction {
    Read,
    Write,
}

impl<T: AsFd + fmt::Debug> fmt::Debug for Socket<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Socket").field(self.get_ref()).finish()
    }
}

impl<T: AsFd> AsFd for Socket<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<T: AsFd> Socket<T> {
    /// Registers a socket, and makes it non-blocking, also for its clones (`try_clone`).
    ///
    /// # Errors
    ///
    /// `PermissionDenied` if the system can't wait for it, as for a file; `AlreadyExists` if the
    /// same descriptor is in another `Socket`; or if there are no more descriptors, or
    /// registrations (`max_user_watches`), or the system refuses async-io its thread; `Unsupported`
    /// in a process that was forked from one with an executor. The socket is closed then.
    pub fn new(socket: T) -> Result<Self> {
        reactor::start()?;
        Ok(Self { registered: Registered::new(socket)? })
    }

    /// The socket, such as for its options.
    pub fn get_ref(&self) -> &T {
        self.registered.get_ref()
    }

    /// Calls `call`. While it returns [`WouldBlock`](ErrorKind::WouldBlock), waits for an event and
    /// calls it again; after `Interrupted` calls it again at once. So `call` should make one system
    /// call, and must have had no effect when it returns one of these errors.
    ///
    /// ```
    /// # use corelane_executor::Socket;
    /// # async fn receive(socket: Socket<std::net::UdpSocket>) -> std::io::Result<()> {
    /// let mut message = [0; 1500];
    /// let (bytes, sender) = socket.read_with(|socket| socket.recv_from(&mut message)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of `call`.
    pub async fn read_with<R>(&self, mut call: impl FnMut(&T) -> Result<R>) -> Result<R> {
        poll_fn(|context| self.poll(Direction::Read, context, &mut call, |_| true)).await
    }

    /// As [`read_with`](Self::read_with), for a call that writes: use `write`, and not `write_all`,
    /// which may have written a part when it returns `WouldBlock`.
    ///
    /// # Errors
    ///
    /// As [`read_with`](Self::read_with).
    pub async fn write_with<R>(&self, mut call: impl FnMut(&T) -> Result<R>) -> Result<R> {
        poll_fn(|context| self.poll(Direction::Write, context, &mut call, |_| true)).await
    }

    /// Calls `call` until it would not block. `may_have_more` says whether the next call may
    /// succeed without a new event, too.
    fn poll<R>(
        &self,
        direction: Direction,
        context: &mut Context<'_>,
        mut call: impl FnMut(&T) -> Result<R>,
        may_have_more: impl Fn(&R) -> bool,
    ) -> Poll<Result<R>> {
        ready!(budget::poll_step(context));
        loop {
            // Takes the event: an event that comes during the call is a new one.
            ready!(self.registered.poll(direction, context))?;
            let unwound = PutBack(&self.registered, direction);
            let done = call(self.get_ref());
            mem::forget(unwound);
            match &done {
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                Err(_) => self.registered.put_back(direction),
                Ok(done) if may_have_more(done) => self.registered.put_back(direction),
                Ok(_) => {}
            }
            if !matches!(&done, Err(error) if error.kind() == ErrorKind::Interrupted) {
                return Poll::Ready(done);
            }
        }
    }

    /// As [`poll`](Self::poll), for a call that reads or writes up to this number of bytes.
    fn poll_bytes(
        &self,
        direction: Direction,
        context: &mut Context<'_>,
        bytes: usize,
        call: impl FnMut(&T) -> Result<usize>,
    ) -> Poll<Result<usize>> {
        if bytes == 0 {
            return Poll::Ready(Ok(0));
        }
        let may_have_more = |&done: &usize| {
            done == 0 || done == bytes || !self.registered.is_done_when_short(direction)
        };
        self.poll(direction, context, call, may_have_more)
    }
}

/// Puts the event back if a call panics.
struct PutBack<'a, T: AsFd>(&'a Registered<T>, Direction);

impl<T: AsFd> Drop for PutBack<'_, T> {
    fn drop(&mut self) {
        self.0.put_back(self.1);
    }
}

/// The bytes of the buffers that the system takes in one call.
fn sum(lengths: impl Iterator<Item = usize>) -> usize {
    /// As on Linux and other systems (`IOV_MAX`).
    const BUFFERS: usize = 1024;
    lengths.take(BUFFERS).sum()
}

impl Socket<TcpListener> {
    /// A listener at this address.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn bind(address: impl Into<SocketAddr>) -> Result<Self> {
        Self::new(TcpListener::bind(address.into())?)
    }

    /// The next connection.
    ///
    /// # Errors
    ///
    /// Those of the system. A server should continue after most of them: `ConnectionAborted`
    /// concerns one connection, and descriptors may be free again after a while.
    pub async fn accept(&self) -> Result<(Socket<TcpStream>, SocketAddr)> {
        let (stream, address) = self.read_with(TcpListener::accept).await?;
        Ok((Socket::new(stream)?, address))
    }
}

impl Socket<TcpStream> {
    /// Connects to this address.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub async fn connect(address: impl Into<SocketAddr>) -> Result<Self> {
        reactor::start()?;
        Self::new(Async::<TcpStream>::connect(address).await?.into_inner()?)
    }
}

impl<T: AsFd> AsyncRead for &Socket<T>
where
    for<'a> &'a T: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize>> {
        let room = buffer.len();
        self.poll_bytes(Direction::Read, context, room, |mut socket| socket.read(buffer))
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<Result<usize>> {
        let room = sum(buffers.iter().map(|buffer| buffer.len()));
        self.poll_bytes(Direction::Read, context, room, |mut socket| socket.read_vectored(buffers))
    }
}

impl<T: AsFd> AsyncWrite for &Socket<T>
where
    for<'a> &'a T: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        self.poll_bytes(Direction::Write, context, bytes.len(), |mut socket| socket.write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let all = sum(bytes.iter().map(|bytes| bytes.len()));
        self.poll_bytes(Direction::Write, context, all, |mut socket| socket.write_vectored(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        // Sockets have nothing to flush.
        let mut socket = self.get_ref();
        Poll::Ready(socket.flush())
    }

    /// Shuts down sending. The bytes that were written are still sent.
    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(shut_down(self.get_ref()))
    }
}

/// Shuts down sending. Does nothing for a descriptor that is not a socket, or not connected.
fn shut_down(socket: &impl AsFd) -> Result<()> {
    use rustix::io::Errno;
    match rustix::net::shutdown(socket, rustix::net::Shutdown::Write) {
        Err(Errno::NOTSOCK | Errno::NOTCONN) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl<T: AsFd + Unpin> AsyncRead for Socket<T>
where
    for<'a> &'a T: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut &*self).poll_read(context, buffer)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut &*self).poll_read_vectored(context, buffers)
    }
}

impl<T: AsFd + Unpin> AsyncWrite for Socket<T>
where
    for<'a> &'a T: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut &*self).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut &*self).poll_write_vectored(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut &*self).poll_flush(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut &*self).poll_close(context)
    }
}
