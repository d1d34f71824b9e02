//! hyper reads and writes sockets.

use std::io::{IoSlice, Result, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_lite::AsyncWrite;
use hyper::rt::ReadBufCursor;

use super::{Direction, Socket};

/// Streams whose `Read` only reads the descriptor.
pub trait Stream: AsFd + Unpin {}

impl Stream for TcpStream {}
impl Stream for UnixStream {}

impl<T: Stream> hyper::rt::Read for Socket<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        // SAFETY: the system only fills it.
        let room = unsafe { buffer.as_mut() };
        let bytes = room.len();
        let read = |socket: &T| Ok(rustix::io::read(socket, &mut *room)?.0.len());
        let read = ready!(self.poll_bytes(Direction::Read, context, bytes, read))?;
        // SAFETY: the system has filled as many bytes.
        unsafe { buffer.advance(read) };
        Poll::Ready(Ok(()))
    }
}

impl<T: Stream> hyper::rt::Write for Socket<T>
where
    for<'a> &'a T: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        AsyncWrite::poll_write(self, context, bytes)
    }

    // `is_write_vectored` is false: hyper copies the body behind the headers. For short bodies this
    // takes less time than a vectored call. For long bodies users call hyper's `writev(true)`.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        AsyncWrite::poll_write_vectored(self, context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        AsyncWrite::poll_flush(self, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        AsyncWrite::poll_close(self, context)
    }
}
