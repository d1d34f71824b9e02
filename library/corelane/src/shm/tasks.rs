//! Futures: one thread of the process sleeps at the words of all lanes for which tasks wait, and
//! wakes the tasks.
//!
//! The other process need not know of tasks: it wakes the thread that sleeps at the word. So one
//! thread sleeps at many words (`futex_waitv(2)`). A descriptor for each lane would cost the other
//! process another system call, and `io_uring`, which could wait as well, is disabled on many
//! systems.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::future::poll_fn;
use core::mem::{forget, swap, take};
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::thread::ClockId;
use rustix::thread::futex::{self, WaitFlags, WaitPtr, WaitvFlags};
use rustix::time::{Timespec, clock_gettime};

use super::bells::{Bell, LAST_LOOK, Link, ONE, Sleeps, UNFENCED, Word};
use super::{Item, RecordConsumer, RecordProducer, Side};
use crate::bytes::ClaimError;
use crate::bytes::record::{Claims as _, Records as _};
use crate::memory::{AtomicU32, AtomicU64, Barrier, Mutex, Ordering};
use crate::queue::{self, TryPopError, TryPushError};
use crate::record_ring;
use crate::unwind::quietly;
use crate::wait;
use crate::wait::Closed;
use crate::wait::sealed::Rings as _;
use crate::wait::word;

/// Most words at which a thread sleeps, besides its own.
const MOST: usize = 127;
/// Without `futex_waitv`, which Linux has since 5.16, the thread looks at this interval.
const POLLS: Duration = Duration::from_millis(1);

/// A task that waits.
struct Sleeper {
    id: u64,
    /// In the memory that `link` keeps mapped.
    word: NonNull<AtomicU32>,
    link: Arc<Link>,
    /// The side that the task has.
    side: Side,
    waker: Waker,
    /// When the task looks again, because another process may be dead, and the time until then.
    next_look: (Instant, Duration),
    asleep: word::Sleeper,
}

// SAFETY: it points into memory that `link` keeps mapped and that any thread may use.
unsafe impl Send for Sleeper {}

impl Sleeper {
    /// Whether the task must look: it was woken, or the other side is gone, or it may have missed a
    /// wake-up.
    fn is_due(&mut self, now: Instant) -> bool {
        // SAFETY: see `word`.
        if self.asleep.is_rung(unsafe { self.word.as_ref() }) {
            return true;
        }
        let (next, interval) = self.next_look;
        if now < next {
            return false;
        }
        self.link.bury(self.side.other());
        let interval = (2 * interval).min(LAST_LOOK);
        self.next_look = (now + interval, interval);
        // Also because a process may have died before it rang the bell.
        true
    }
}

/// A thread that sleeps for tasks.
struct Watch {
    sleepers: Mutex<Vec<Sleeper>>,
    /// Changes with the sleepers. The thread sleeps here, too.
    changes: AtomicU32,
}

/// All threads that sleep for tasks, and the process that has them. They never end.
static WATCHES: Mutex<(u32, Vec<Arc<Watch>>)> = Mutex::new((0, Vec::new()));

impl Watch {
    /// Lets a thread sleep for a task. `None` if the system gives no thread.
    fn add(sleeper: Sleeper) -> Option<Arc<Self>> {
        let mut watches = WATCHES.lock();
        let (process, watches) = &mut *watches;
        if *process != std::process::id() {
            // A forked child has no thread of its parent.
            forget(take(watches));
            *process = std::process::id();
        }
        let has_room = |watch: &&Arc<Self>| watch.sleepers.lock().len() < MOST;
        let watch = match watches.iter().find(has_room) {
            Some(watch) => watch.clone(),
            None => {
                let watch = Self::start()?;
                watches.push(watch.clone());
                watch
            }
        };
        watch.sleepers.lock().push(sleeper);
        watch.changed();
        Some(watch)
    }

    fn start() -> Option<Arc<Self>> {
        let (sleepers, changes) = (Mutex::new(Vec::new()), AtomicU32::new(0));
        let watch = Arc::new(Self { sleepers, changes });
        let runs = watch.clone();
        let started = thread::Builder::new().name("corelane-shm".into()).spawn(move || runs.run());
        started.ok().map(|_| watch)
    }

    fn changed(&self) {
        // Relaxed: the lock orders the sleepers, and the kernel the sleep.
        self.changes.fetch_add(1, Ordering::Relaxed);
        let _ = futex::wake(&self.changes, futex::Flags::PRIVATE, 1);
    }

    /// Takes a new waker for a task, if it still waits here.
    fn update(&self, id: u64, waker: &Waker) -> bool {
        // Wakers are code of the user: they are cloned and dropped without the lock.
        let mut new = waker.clone();
        let mut sleepers = self.sleepers.lock();
        let found = sleepers.iter_mut().find(|sleeper| sleeper.id == id);
        found.map(|sleeper| swap(&mut sleeper.waker, &mut new)).is_some()
    }

    fn remove(&self, id: u64) {
        let mut sleepers = self.sleepers.lock();
        let found = sleepers.iter().position(|sleeper| sleeper.id == id);
        let removed = found.map(|at| sleepers.swap_remove(at));
        drop(sleepers);
        if removed.is_some() {
            // The thread must not sleep at a word whose memory may go.
            self.changed();
        }
    }

    fn run(&self) {
        loop {
            let changes = self.changes.load(Ordering::Relaxed);
            let (due, places, until) = self.look();
            if due.is_empty() {
                self.sleep(changes, &places, until);
                self.pass_on(&places);
            } else {
                for Sleeper { waker, .. } in due {
                    // A waker that panics must not keep the other tasks asleep.
                    quietly(|| waker.wake());
                }
            }
        }
    }

    /// Takes the tasks that must look. Returns where the thread sleeps for the other tasks, and
    /// until when.
    fn look(&self) -> (Vec<Sleeper>, Vec<Place>, Option<Instant>) {
        let (now, mut sleepers) = (Instant::now(), self.sleepers.lock());
        let (mut due, mut at) = (Vec::new(), 0);
        while at < sleepers.len() {
            match sleepers[at].is_due(now) {
                true => due.push(sleepers.swap_remove(at)),
                false => at += 1,
            }
        }
        let place = |sleeper: &Sleeper| Place {
            word: sleeper.word,
            value: sleeper.asleep.word,
            _link: sleeper.link.clone(),
        };
        let places = sleepers.iter().map(place).collect();
        (due, places, sleepers.iter().map(|sleeper| sleeper.next_look.0).min())
    }

    /// Sleeps until a word of a lane changes, or the sleepers do.
    fn sleep(&self, changes: u32, places: &[Place], until: Option<Instant>) {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if places.is_empty() {
            let _ = futex::wait(&self.changes, futex::Flags::PRIVATE, changes, None);
            return;
        }
        let mut all = Vec::with_capacity(places.len() + 1);
        all.push(wait_at(NonNull::from(&self.changes), changes, true));
        all.extend(places.iter().map(|place| wait_at(place.word, place.value, false)));
        let timeout = left.map(|left| {
            let now = clock_gettime(ClockId::Monotonic);
            let ns = now.tv_nsec + i64::from(left.subsec_nanos());
            Timespec {
                tv_sec: now.tv_sec + left.as_secs() as i64 + ns / 1_000_000_000,
                tv_nsec: ns % 1_000_000_000,
            }
        });
        match futex::waitv(&all, WaitvFlags::empty(), timeout.as_ref(), ClockId::Monotonic) {
            Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
            Err(_) => thread::sleep(POLLS),
        }
    }

    /// The thread may have been woken for a task that is gone. Then a thread that sleeps at the
    /// same word must be woken.
    fn pass_on(&self, places: &[Place]) {
        let sleepers = self.sleepers.lock();
        for place in places {
            // SAFETY: see `Place::word`.
            let word = unsafe { place.word.as_ref() };
            // Relaxed: the kernel orders a sleep and a wake-up.
            let is_changed = word.load(Ordering::Relaxed) != place.value;
            if is_changed && !sleepers.iter().any(|sleeper| sleeper.word == place.word) {
                let _ = futex::wake(word, futex::Flags::empty(), 1);
            }
        }
    }
}

/// A word at which the thread sleeps.
struct Place {
    /// In the memory that `_link` keeps mapped.
    word: NonNull<AtomicU32>,
    value: u32,
    _link: Arc<Link>,
}

fn wait_at(word: NonNull<AtomicU32>, value: u32, is_private: bool) -> futex::Wait {
    let mut wait = futex::Wait::new();
    wait.val = value.into();
    wait.uaddr = WaitPtr::new(word.as_ptr().cast());
    wait.flags =
        if is_private { WaitFlags::SIZE_U32 | WaitFlags::PRIVATE } else { WaitFlags::SIZE_U32 };
    wait
}

/// One wait of a task with a handle. Dropped, it is given up.
struct Task<'a, H> {
    handle: &'a mut H,
    bell: fn(&H) -> &Bell,
    asleep: Option<word::Sleeper>,
    registered: Option<(Arc<Watch>, u64)>,
}

impl<H> Task<'_, H> {
    fn poll<R>(
        &mut self,
        context: &mut Context<'_>,
        look: &mut impl FnMut(&mut H) -> Option<R>,
    ) -> Poll<R> {
        if let Some(found) = look(self.handle) {
            return self.found(found);
        }
        let waits = |(watch, id): &(Arc<Watch>, u64)| watch.update(*id, context.waker());
        if self.registered.as_ref().is_some_and(waits) {
            return Poll::Pending;
        }
        self.rise(true);
        let bell = (self.bell)(self.handle);
        let asleep = bell.announce();
        self.asleep = Some(asleep);
        bell.look_after_peer();
        // Looks once more: an item may have come before the other side could see this sleeper, or
        // the other side may be dead.
        if let Some(found) = look(self.handle) {
            return self.found(found);
        }
        self.registered = register((self.bell)(self.handle), context.waker(), asleep);
        Poll::Pending
    }

    /// Ends the sleep, if there is one. A wake-up that is not used is passed on to another sleeper.
    fn rise(&mut self, uses_ring: bool) {
        let bell = (self.bell)(self.handle);
        let was_rung = self.asleep.take().is_some_and(|asleep| asleep.leave(bell.word()));
        if was_rung && !uses_ring {
            bell.ring();
        }
    }

    fn found<R>(&mut self, found: R) -> Poll<R> {
        self.rise(true);
        (self.bell)(self.handle).is_answered();
        Poll::Ready(found)
    }
}

impl<H> Drop for Task<'_, H> {
    fn drop(&mut self) {
        if let Some((watch, id)) = self.registered.take() {
            watch.remove(id);
        }
        self.rise(false);
    }
}

/// A task that waits for a lane, and doesn't borrow the handle: for bindings. Dropped, it is given
/// up. Not stable.
#[doc(hidden)]
pub struct Watching {
    registered: Option<(Arc<Watch>, u64)>,
    asleep: word::Sleeper,
    word: Word,
    /// Keeps the word mapped.
    _link: Arc<Link>,
}

impl Watching {
    /// Wakes `waker` when it is time to look. The caller looks once more after this call: what came
    /// before may wake nobody.
    fn new(bell: &Bell, waker: &Waker) -> Self {
        let asleep = bell.announce();
        bell.look_after_peer();
        let registered = register(bell, waker, asleep);
        // SAFETY: the link keeps the word mapped.
        let word = unsafe { Word::new(bell.word().into(), ONE, Barrier::between_processes()) };
        Self { registered, asleep, word, _link: bell.link.clone() }
    }
}

impl fmt::Debug for Watching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watching")
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some((watch, id)) = self.registered.take() {
            watch.remove(id);
        }
        if self.asleep.leave(self.word.get()) {
            // Perhaps for another sleeper.
            self.word.ring();
        }
    }
}

/// For bindings; not stable.
macro_rules! watched {
    ($($handle:ty)*) => {$(
        #[doc(hidden)]
        impl<Q, B: Sleeps> $handle {
            /// Wakes a task when it is time to look again: see [`Watching`].
            pub fn watch(&self, waker: &Waker) -> Watching {
                Watching::new(self.bells.own(), waker)
            }
        }
    )*};
}

watched! {
    wait::Producer<Q, B> wait::Consumer<Q, B>
    wait::bytes::Producer<Q, B> wait::bytes::Consumer<Q, B>
}

/// Lets a thread sleep for a task. If the system gives no thread, the task looks again and again.
fn register(bell: &Bell, waker: &Waker, asleep: word::Sleeper) -> Option<(Arc<Watch>, u64)> {
    static IDS: AtomicU64 = AtomicU64::new(0);
    let id = IDS.fetch_add(1, Ordering::Relaxed);
    let (next, interval) = bell.next_look.get();
    let now = Instant::now();
    let next_look = match next {
        Some(next) if asleep.is_fenced => (next, interval),
        _ => (now + UNFENCED, UNFENCED),
    };
    let watch = Watch::add(Sleeper {
        id,
        word: NonNull::from(bell.word()),
        link: bell.link.clone(),
        side: bell.sleeper,
        waker: waker.clone(),
        next_look,
        asleep,
    });
    if watch.is_none() {
        waker.wake_by_ref();
    }
    watch.map(|watch| (watch, id))
}

/// Waits in a task until a look finds something.
async fn until<H, R>(
    handle: &mut H,
    bell: fn(&H) -> &Bell,
    mut look: impl FnMut(&mut H) -> Option<R>,
) -> R {
    if let Some(found) = look(handle) {
        return found;
    }
    let mut task = Task { handle, bell, asleep: None, registered: None };
    poll_fn(|context| task.poll(context, &mut look)).await
}

impl<T: Item, C: queue::Consumer<Item = T>, B: Sleeps> wait::Consumer<C, B> {
    /// Removes the oldest item, in a task. Waits while the queue is empty. `None` as
    /// [`pop`](Self::pop).
    ///
    /// A thread of the process sleeps for all waiting tasks, so a wake-up of a task takes two. If
    /// the future is dropped before it is ready, it has taken no item.
    pub async fn pop_async(&mut self) -> Option<T> {
        let look = |rx: &mut Self| match rx.try_pop() {
            Ok(item) => Some(Some(item)),
            Err(TryPopError::Closed) => Some(None),
            Err(TryPopError::Empty | TryPopError::Busy) => None,
        };
        until(self, |rx| rx.bells.own(), look).await
    }
}

impl<T: Item, P: queue::Producer<Item = T>, B: Sleeps<Room = Bell>> wait::Producer<P, B> {
    /// Appends `item`, in a task. Waits while the queue is full.
    ///
    /// If the future is dropped before it is ready, the item is not pushed.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub async fn push_async(&mut self, item: T) -> Result<(), Closed<T>> {
        let look = |tx: &mut Self| match tx.try_push(item) {
            Ok(()) => Some(Ok(())),
            Err(TryPushError::Closed(item)) => Some(Err(Closed(item))),
            Err(TryPushError::Full(_) | TryPushError::Busy(_)) => None,
        };
        until(self, |tx| tx.bells.own(), look).await
    }
}

impl RecordConsumer {
    /// Removes the oldest record, in a task, and lends its bytes. Waits while there is none. `None`
    /// as [`pop`](wait::bytes::Consumer::pop).
    ///
    /// As [`pop_async`](wait::Consumer::pop_async) of items.
    pub async fn pop_async(
        &mut self,
    ) -> Option<wait::bytes::Record<'_, record_ring::Consumer, super::Bells>> {
        let look = |rx: &mut Self| match rx.queue.reserve(&mut false) {
            Ok(found) => Some(Some(found)),
            Err(TryPopError::Closed) => Some(None),
            Err(TryPopError::Empty | TryPopError::Busy) => None,
        };
        let found = until(self, |rx| rx.bells.own(), look).await?;
        Some(self.record(found))
    }
}

impl RecordProducer {
    /// Claims room for a record of `len` bytes, in a task. Waits while there is none.
    ///
    /// # Errors
    ///
    /// As [`claim`](wait::bytes::Producer::claim).
    pub async fn claim_async(
        &mut self,
        len: usize,
    ) -> Result<wait::bytes::Claim<'_, record_ring::Producer, super::Bells>, ClaimError> {
        let look = |tx: &mut Self| match tx.queue.allocate(len) {
            Err(ClaimError::Full | ClaimError::Busy) => None,
            done => Some(done),
        };
        until(self, |tx| tx.bells.own(), look).await?;
        Ok(self.claimed((), len))
    }

    /// Appends a copy of `bytes` as a record, in a task. Waits while there is no room.
    ///
    /// # Errors
    ///
    /// As [`push`](wait::bytes::Producer::push).
    pub async fn push_async(&mut self, bytes: &[u8]) -> Result<(), ClaimError> {
        self.claim_async(bytes.len()).await.map(|claim| claim.commit_copy(bytes))
    }
}
