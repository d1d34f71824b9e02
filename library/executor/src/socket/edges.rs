//! Linux: one more `epoll`, to which each socket is added once, and which async-io's reactor watches as it watches a socket.

use std::io::Result;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use async_io::Async;
use rustix::event::epoll::{self, EventData, EventFlags};
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
}

impl<T: AsFd> Registered<T> {
    pub(super) fn new(socket: T) -> Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let edges = Edges::get()?;
        let source = edges.add(socket.as_fd())?;
        Ok(Self { socket, edges, source })
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
        lock(&self.source.sides)[direction as usize].set(State::Ready);
    }
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
    state: State,
    /// Of the task that waits.
    waker: Option<Waker>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    #[default]
    Nothing,
    /// An event has come.
    Ready,
    /// The last event has come: the system reports no further ones.
    Ended,
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
        if side.take() {
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
        let mut set = |direction, ready: EventFlags, ended: EventFlags| {
            let state = match (flags.intersects(ended), flags.intersects(ready)) {
                (true, _) => State::Ended,
                (false, true) => State::Ready,
                (false, false) => return None,
            };
            let side = &mut sides[direction as usize];
            side.set(state);
            side.waker.take()
        };
        let ended = EventFlags::HUP | EventFlags::ERR;
        [
            set(Direction::Read, EventFlags::IN | EventFlags::PRI, ended | EventFlags::RDHUP),
            set(Direction::Write, EventFlags::OUT, ended),
        ]
    }
}

impl Side {
    /// Takes the event, if one has come.
    fn take(&mut self) -> bool {
        let is_ready = self.state != State::Nothing;
        if self.state == State::Ready {
            self.state = State::Nothing;
        }
        is_ready
    }

    fn set(&mut self, state: State) {
        self.state = self.state.max(state);
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
