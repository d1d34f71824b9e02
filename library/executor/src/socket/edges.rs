//! Linux: one `epoll` for all sockets, to which each is added once. async-io's reactor watches it
//! like a socket.

use std::io::Result;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use async_io::Async;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{AddressFamily, SocketType, sockopt};
use slab::Slab;

use super::Direction;
use crate::panics::quietly;
use crate::reactor;

/// Events that are taken at once.
const EVENTS: usize = 1024;

/// A socket that has been added.
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

    /// Takes the event, if one has come. The first event comes when the socket is added.
    pub(super) fn poll(&self, direction: Direction, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.source.poll(direction, context).map(Ok)
    }

    /// There may be more without a new event.
    pub(super) fn put_back(&self, direction: Direction) {
        let mut sides = lock(&self.source.sides);
        let side = &mut sides[direction as usize];
        side.is_ready = true;
        // Other tasks may have begun to wait meanwhile.
        let waiting = mem::take(&mut side.waiting);
        drop(sides);
        waiting.wake();
    }

    /// Whether there is nothing more without a new event, if a call has done less than it could.
    /// This isn't so for a socket of messages, which may have the next message, nor for a Unix
    /// stream with descriptors, where a read ends at each descriptor.
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

/// The state of a socket, in cache lines of its own.
#[repr(align(128))]
struct Source {
    /// The number that the system reports with its events: the place among the sources, and a
    /// count, because places are reused.
    data: u64,
    /// To read and to write.
    sides: Mutex<[Side; 2]>,
}

#[derive(Default)]
struct Side {
    /// An event has come.
    is_ready: bool,
    /// The end of the stream, or an interrupt of it, was reported with the last event, and is not
    /// reported again.
    is_last: bool,
    waiting: Waiting,
}

/// The wakers of the tasks that wait.
#[derive(Default)]
struct Waiting {
    /// Mostly the only waker. `None` if there is none.
    first: Option<Waker>,
    others: Vec<Waker>,
}

/// If more tasks than this wait for one event, all are woken, to find out which of them still wait.
const MOST: usize = 1000;

impl Waiting {
    /// Adds a waker. Returns the wakers that may be stale, and must be woken.
    fn add(&mut self, waker: &Waker) -> Self {
        let is_there = self.first.iter().chain(&self.others).any(|other| other.will_wake(waker));
        let full = if self.others.len() < MOST { Self::default() } else { mem::take(self) };
        match &self.first {
            _ if is_there => {}
            None => self.first = Some(waker.clone()),
            Some(_) => self.others.push(waker.clone()),
        }
        full
    }

    fn wake(self) {
        for waker in self.first.into_iter().chain(self.others) {
            // As in async-io: all wakers are woken, even if one panics.
            quietly(|| waker.wake());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Source {
    fn new(place: usize) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self { data: u64::from(number) << 32 | place as u64, sides: Mutex::default() }
    }

    fn poll(&self, direction: Direction, context: &mut Context<'_>) -> Poll<()> {
        let mut sides = lock(&self.sides);
        let side = &mut sides[direction as usize];
        if mem::take(&mut side.is_ready) {
            return Poll::Ready(());
        }
        let full = side.waiting.add(context.waker());
        drop(sides);
        full.wake();
        Poll::Pending
    }

    /// An event has come. Returns the tasks that wait for it.
    fn set(&self, flags: EventFlags) -> [Waiting; 2] {
        let mut sides = lock(&self.sides);
        let mut set = |direction, more: EventFlags, last: EventFlags| {
            let side = &mut sides[direction as usize];
            side.is_last |= flags.intersects(last);
            if !flags.intersects(more | last) {
                return Waiting::default();
            }
            side.is_ready = true;
            mem::take(&mut side.waiting)
        };
        let gone = EventFlags::HUP | EventFlags::ERR;
        [
            set(Direction::Read, EventFlags::IN, gone | EventFlags::RDHUP | EventFlags::PRI),
            set(Direction::Write, EventFlags::OUT, gone),
        ]
    }
}

/// The place in an event's data.
fn place(data: u64) -> usize {
    data as u32 as usize
}

/// The events of all sockets of the process.
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
        let data = EventData::new_u64(source.data);
        let flags = EventFlags::IN | EventFlags::PRI | EventFlags::OUT | EventFlags::RDHUP;
        epoll::add(&self.epoll, socket, data, flags | EventFlags::ET)?;
        entry.insert(Arc::clone(&source));
        Ok(source)
    }

    fn remove(&self, socket: BorrowedFd<'_>, source: &Source) {
        // A forked process has the same `epoll`, in which the socket is its parent's.
        if !reactor::is_of_parent() {
            _ = epoll::delete(&self.epoll, socket);
        }
        let removed = lock(&self.sources).remove(place(source.data));
        drop(removed);
    }

    /// Takes all events.
    fn take(&self) {
        let mut events = Vec::with_capacity(EVENTS);
        let mut waiting = Vec::new();
        loop {
            events.clear();
            let room = rustix::buffer::spare_capacity(&mut events);
            // Interrupted: async-io reports at once that there are events.
            if epoll::wait(&self.epoll, room, Some(&Timespec::default())).is_err() {
                return;
            }
            let sources = lock(&self.sources);
            for event in &events {
                let data = event.data.u64();
                // An event of a socket that is gone may have been on its way.
                let source = sources.get(place(data)).filter(|source| source.data == data);
                let woken = source.into_iter().flat_map(|source| source.set(event.flags));
                waiting.extend(woken.filter(|waiting| waiting.first.is_some()));
            }
            drop(sources);
            waiting.drain(..).for_each(Waiting::wake);
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
        self.take();
        // If there are more events by now, async-io reports this at once.
        while let Poll::Ready(Ok(())) = self.epoll.poll_readable(&mut context) {}
    }
}
