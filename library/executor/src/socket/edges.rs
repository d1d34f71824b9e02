//! Linux: one more `epoll`, to which each socket is added once, and which async-io's reactor watches as it watches a socket.

use std::io::Result;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use async_io::Async;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{AddressFamily, SocketType, sockopt};
use slab::Slab;

use super::Direction;

/// Events that are taken at once.
const EVENTS: usize = 1024;

/// A socket that has been added.
#[derive(Debug)]
pub(super) struct Registered<T: AsFd> {
    socket: T,
    edges: &'static Edges,
    source: Arc<Source>,
    is_tcp: bool,
}

impl<T: AsFd> Registered<T> {
    pub(super) fn new(socket: T) -> Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let edges = Edges::get()?;
        let is_tcp = is_tcp(socket.as_fd());
        let source = edges.add(socket.as_fd())?;
        Ok(Self { socket, edges, source, is_tcp })
    }

    pub(super) fn get_ref(&self) -> &T {
        &self.socket
    }

    /// Takes the event, if one has come. The first one has come when the socket is added.
    pub(super) fn poll(&self, direction: Direction, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.source.poll(direction, context).map(Ok)
    }

    /// There may be more without a new event.
    pub(super) fn put_back(&self, direction: Direction) {
        let mut sides = lock(&self.source.sides);
        let side = &mut sides[direction as usize];
        side.is_ready = true;
        // Another task may have come to wait meanwhile.
        let other = side.waker.take();
        drop(sides);
        other.into_iter().for_each(Waker::wake);
    }

    /// Whether there is a new event before there is more, if a call has done less than it could. Messages, and Unix sockets with descriptors in their streams, have more.
    pub(super) fn is_done_when_short(&self, direction: Direction) -> bool {
        self.is_tcp && !lock(&self.source.sides)[direction as usize].is_last
    }
}

fn is_tcp(socket: BorrowedFd<'_>) -> bool {
    let is_stream = sockopt::socket_type(socket) == Ok(SocketType::STREAM);
    let is_ip = sockopt::socket_domain(socket)
        .is_ok_and(|domain| matches!(domain, AddressFamily::INET | AddressFamily::INET6));
    is_stream && is_ip
}

impl<T: AsFd> Drop for Registered<T> {
    fn drop(&mut self) {
        self.edges.remove(self.socket.as_fd(), &self.source);
    }
}

/// What is known of a socket. Others don't share its cache lines.
#[derive(Debug)]
#[repr(align(128))]
struct Source {
    key: usize,
    /// To read and to write.
    sides: Mutex<[Side; 2]>,
}

#[derive(Debug, Default)]
struct Side {
    /// An event has come.
    is_ready: bool,
    /// What ends the stream, or interrupts it, was reported with the last event, and is not reported again.
    is_last: bool,
    /// Of the task that waits.
    waker: Option<Waker>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Source {
    fn new(key: usize) -> Self {
        Self { key, sides: Mutex::default() }
    }

    fn poll(&self, direction: Direction, context: &mut Context<'_>) -> Poll<()> {
        let mut sides = lock(&self.sides);
        let side = &mut sides[direction as usize];
        if mem::take(&mut side.is_ready) {
            return Poll::Ready(());
        }
        let other = side.waker.take_if(|waker| !waker.will_wake(context.waker()));
        side.waker.get_or_insert_with(|| context.waker().clone());
        drop(sides);
        // Another task waits, too: they wait in turn.
        other.into_iter().for_each(Waker::wake);
        Poll::Pending
    }

    /// An event has come. Returns the wakers of those that wait for it.
    fn set(&self, flags: EventFlags) -> [Option<Waker>; 2] {
        let mut sides = lock(&self.sides);
        let mut set = |direction, more: EventFlags, last: EventFlags| {
            let side = &mut sides[direction as usize];
            side.is_last |= flags.intersects(last);
            side.is_ready |= flags.intersects(more | last);
            side.waker.take_if(|_| side.is_ready)
        };
        let gone = EventFlags::HUP | EventFlags::ERR;
        [
            set(Direction::Read, EventFlags::IN, gone | EventFlags::RDHUP | EventFlags::PRI),
            set(Direction::Write, EventFlags::OUT, gone),
        ]
    }
}

/// The events of all sockets of the process.
#[derive(Debug)]
struct Edges {
    epoll: Async<OwnedFd>,
    sources: Mutex<Slab<Arc<Source>>>,
}

impl Edges {
    fn get() -> Result<&'static Self> {
        static EDGES: OnceLock<Arc<Edges>> = OnceLock::new();
        if let Some(edges) = EDGES.get() {
            return Ok(edges);
        }
        let epoll = Async::new_nonblocking(epoll::create(epoll::CreateFlags::CLOEXEC)?)?;
        let made = Arc::new(Self { epoll, sources: Mutex::default() });
        let edges = EDGES.get_or_init(|| Arc::clone(&made));
        if Arc::ptr_eq(edges, &made) {
            made.wake();
        }
        Ok(edges)
    }

    fn add(&self, socket: BorrowedFd<'_>) -> Result<Arc<Source>> {
        let mut sources = lock(&self.sources);
        let entry = sources.vacant_entry();
        let source = Arc::new(Source::new(entry.key()));
        let data = EventData::new_u64(source.key as u64);
        let flags = EventFlags::IN | EventFlags::PRI | EventFlags::OUT | EventFlags::RDHUP;
        epoll::add(&self.epoll, socket, data, flags | EventFlags::ET)?;
        entry.insert(Arc::clone(&source));
        Ok(source)
    }

    fn remove(&self, socket: BorrowedFd<'_>, source: &Source) {
        // The next socket with this key may get an event of this one, if that is on its way: then it calls the system once in vain.
        _ = epoll::delete(&self.epoll, socket);
        let removed = lock(&self.sources).remove(source.key);
        drop(removed);
    }

    /// Takes all events.
    fn take(&self) {
        let mut events = Vec::with_capacity(EVENTS);
        let mut wakers = Vec::new();
        loop {
            events.clear();
            let at_once = Default::default();
            let room = rustix::buffer::spare_capacity(&mut events);
            // Interrupted: async-io says at once that there are some.
            if epoll::wait(&self.epoll, room, Some(&at_once)).is_err() {
                return;
            }
            let sources = lock(&self.sources);
            for event in &events {
                let source = sources.get(event.data.u64() as usize);
                wakers.extend(
                    source.into_iter().flat_map(|source| source.set(event.flags)).flatten(),
                );
            }
            drop(sources);
            for waker in wakers.drain(..) {
                // As in async-io: a waker that panics keeps none from being woken.
                _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
            }
            if events.len() < EVENTS {
                return;
            }
        }
    }
}

/// There are events.
impl Wake for Edges {
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut context = Context::from_waker(&waker);
        loop {
            self.take();
            // Ready: they have come meanwhile.
            if !matches!(self.epoll.poll_readable(&mut context), Poll::Ready(Ok(()))) {
                return;
            }
        }
    }
}
