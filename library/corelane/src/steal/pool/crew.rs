//! The state that the workers of a pool share, and how a worker finds its next task.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::task::{Context, Poll, Waker, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::idle::Idle;
use super::injector::Injector;
use super::panics::keep_first;
use super::queue::{Own, Victim};
use super::victims::Victims;
use super::{Counts, Options, Order, PanicPayload};
use crate::memory::{AtomicU64, Mutex, Ordering};
use crate::pad::Padded;
use crate::queue::{CapacityError, TryPopError, TryPushError};
use crate::steal::bwos::Loot;
use crate::wait::thread::Habit;

/// What the workers share.
pub(in crate::steal) struct Crew<T> {
    victims: Box<[Victim<T>]>,
    pub(super) injector: Injector<T>,
    pub(in crate::steal) idle: Idle,
    counts: Box<[Padded<Counted>]>,
    /// One of [`WORKS`], [`ENDS`] and [`ENDED`].
    phase: AtomicU64,
    /// The payload of the first panic.
    panic: Mutex<Option<PanicPayload>>,
}

/// The workers of a crew.
type Locals<T> = Box<[Local<T>]>;

/// Workers take tasks.
const WORKS: u64 = 0;
/// As above, and when all tasks are done they end.
const ENDS: u64 = 1;
/// Workers end, and take no further tasks.
const ENDED: u64 = 2;

/// The counts of a worker. Only this worker writes them.
#[derive(Default)]
struct Counted {
    tasks: Count,
    stolen: Count,
    seized: Count,
    injected: Count,
    sleeps: Count,
}

struct Count(AtomicU64);

impl Default for Count {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl Count {
    #[inline]
    fn add(&self, n: u64) {
        // Relaxed: one thread writes it, and it orders nothing.
        self.0.store(self.get() + n, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<T> Crew<T> {
    /// A crew and its workers.
    pub(in crate::steal) fn new(options: &Options) -> Result<(Arc<Self>, Locals<T>), CapacityError>
    where
        T: Send,
    {
        let workers = options.workers.max(1);
        let domains = options.domains_of_workers();
        let own = |_| Own::new(options.order, options.capacity);
        let queues: Box<[Own<T>]> = (0..workers).map(own).collect::<Result<_, _>>()?;
        let crew = Arc::new(Self {
            victims: queues.iter().map(Own::victim).collect(),
            injector: Injector::new(),
            idle: Idle::default(),
            counts: (0..workers).map(|_| Padded(Counted::default())).collect(),
            phase: AtomicU64::new(WORKS),
            panic: Mutex::new(None),
        });
        let local = |(number, queue)| Local {
            crew: Arc::clone(&crew),
            number,
            queue,
            victims: Victims::new(options.policy, number, workers, &domains),
            samples: options.samples,
            batch: if options.order == Order::Fifo {
                options.capacity.div_ceil(2).min(BATCH)
            } else {
                1
            },
            turns: 0,
            habit: Habit::by(options.strategy),
            has_last: false,
            state: State::Works,
        };
        let locals = queues.into_iter().enumerate().map(local).collect();
        Ok((crew, locals))
    }

    pub(in crate::steal) fn workers(&self) -> usize {
        self.victims.len()
    }

    /// Whether a worker could find a task, and no other worker is about to.
    fn has_more(&self) -> bool {
        let has_more = |victim: &Victim<T>| !victim.is_being_seized() && !victim.is_empty();
        !self.injector.is_empty() || self.victims.iter().any(has_more) || self.has_ended()
    }

    fn has_ended(&self) -> bool {
        // Relaxed: the lock of the sleepers orders it for a worker that would sleep otherwise.
        self.phase.load(Ordering::Relaxed) == ENDED
    }

    /// Pushes a task from outside.
    pub(in crate::steal) fn inject(&self, task: T) -> Result<(), T> {
        self.injector.push(task)?;
        self.idle.notify();
        Ok(())
    }

    /// Wakes a worker if there is a task.
    pub(in crate::steal) fn wake(&self) {
        self.idle.wake(|| self.has_more());
    }

    /// Lets the workers end when all tasks are done, and accepts no further tasks from outside.
    pub(in crate::steal) fn end_when_done(&self) {
        self.injector.close();
        let (from, to) = (WORKS, ENDS);
        _ = self.phase.compare_exchange(from, to, Ordering::Release, Ordering::Relaxed);
        // All workers may sleep already: then one of them has to find this out.
        self.idle.wake_all();
    }

    /// Lets the workers end after the tasks that they run.
    pub(in crate::steal) fn end_now(&self) {
        self.injector.close();
        self.phase.store(ENDED, Ordering::Relaxed);
        self.idle.wake_all();
    }

    /// A worker has found no task, and is about to sleep.
    fn tell_if_quiet(&self) {
        // In this order: no more tasks come from outside, none waits there, and no worker has one.
        // Another worker may be between its announcement and its look: it has taken no task since.
        // Acquire ↔ Release in `end_when_done`: the tasks pushed from outside.
        let is_ending = self.phase.load(Ordering::Acquire) == ENDS;
        let is_empty = self.injector.is_empty();
        if is_empty && self.idle.tell_if_quiet(self.workers()) && is_ending {
            self.end_now();
        }
    }

    /// Waits until all tasks are done.
    pub(in crate::steal) fn wait_until_quiet(&self) {
        self.idle.wait_until_quiet(self.workers(), || self.injector.is_empty());
    }

    /// Keeps the first panic.
    fn catch(&self, work: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
            keep_first(&self.panic, payload);
        }
    }

    /// Drops tasks that no worker has taken, when all have ended.
    pub(in crate::steal) fn drop_injected(&self) {
        self.catch(|| drop(self.injector.clear()));
    }

    pub(in crate::steal) fn take_panic(&self) -> Option<PanicPayload> {
        self.panic.lock().take()
    }

    pub(in crate::steal) fn counts(&self, worker: usize) -> Counts {
        let counted = &self.counts[worker];
        Counts {
            tasks: counted.tasks.get(),
            stolen: counted.stolen.get(),
            seized: counted.seized.get(),
            injected: counted.injected.get(),
            sleeps: counted.sleeps.get(),
        }
    }
}

/// Tasks that a worker steals at once, if it runs the oldest first.
const BATCH: usize = 16;
/// Tasks that a worker runs before its thread may do something else.
const AT_ONCE: u32 = 256;
/// After this number of its own tasks a worker looks for one from outside.
const TURNS: u32 = 61;

/// A worker, as its tasks see it: the tasks that they push are for this worker, unless another
/// worker steals them.
pub struct Local<T> {
    crew: Arc<Crew<T>>,
    number: usize,
    queue: Own<T>,
    victims: Victims,
    samples: bool,
    /// Tasks that it steals at once.
    batch: usize,
    turns: u32,
    habit: Habit,
    /// A task was pushed of which no other worker knows.
    has_last: bool,
    state: State,
}

/// What a worker does.
#[derive(Debug)]
enum State {
    /// It runs tasks of its own.
    Works,
    /// It has no task, and is counted as searching.
    Searches,
    /// It has announced that it sleeps, by this number. The thread that wakes it counts it as
    /// searching.
    Sleeps(u64),
}

impl<T> core::fmt::Debug for Local<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Local").field("worker", &self.number).finish_non_exhaustive()
    }
}

impl<T> Local<T> {
    /// Pushes a task. If the worker's queue is full, the task goes to the list for those from
    /// outside.
    #[inline]
    pub fn push(&mut self, task: T) {
        self.keep(task);
        self.crew.idle.notify();
    }

    /// Puts a task into the own queue, or, if that is full, into the list for those from outside.
    /// Whether the queue had room.
    #[inline]
    fn keep(&mut self, task: T) -> bool {
        let full = self.queue.try_push(task).err();
        let has_room = full.is_none();
        if let Some(full) = full {
            self.crew.injector.overflow(full.into_inner());
        }
        has_room
    }

    /// Pushes a task if the own queue has room. Whether it had.
    #[inline(never)]
    pub(in crate::steal) fn offer(&mut self, task: T) -> bool {
        let has_room = self.queue.lifo().try_push(task).is_ok();
        if has_room {
            self.crew.idle.notify();
        }
        has_room
    }

    /// Pops the next task of the own queue.
    #[inline(never)]
    pub(in crate::steal) fn pop(&mut self) -> Option<T> {
        self.queue.lifo().try_pop().ok()
    }

    /// Whether it is one of these workers.
    pub(in crate::steal) fn is_of(&self, crew: &Arc<Crew<T>>) -> bool {
        Arc::ptr_eq(&self.crew, crew)
    }

    /// Pushes a task that is likely to be the only one which the calling task pushes: no worker is
    /// woken for it. At the end of the calling task this worker runs it, or wakes another worker if
    /// it has others, too. Returns whether no other worker knows of it until then. If the calling
    /// task may run for long, another thread should then call [`Handle::wake`](super::Handle::wake)
    /// after a while.
    #[inline]
    pub fn push_last(&mut self, task: T) -> bool {
        if self.has_last {
            self.push(task);
            return false;
        }
        if !self.keep(task) {
            self.crew.idle.notify();
            return false;
        }
        self.has_last = true;
        self.crew.idle.light_fence();
        true
    }

    /// Pushes a task while none runs, and wakes no worker: this worker does so when it is polled.
    pub(in crate::steal) fn push_between(&mut self, task: T) {
        if !self.keep(task) {
            self.crew.idle.notify();
        }
        self.has_last = true;
    }

    /// The task that has called [`push_last`](Self::push_last) is over, and the next one was taken.
    fn end_last(&mut self) {
        self.has_last = false;
        self.crew.idle.notify_if(|| !self.crew.victims[self.number].is_empty());
    }

    /// The worker's number, from 0.
    pub fn worker(&self) -> usize {
        self.number
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.crew.workers()
    }

    /// Runs tasks: ready when the pool ends. The context's waker is woken when there may be
    /// something to do again.
    pub(in crate::steal) fn poll(
        &mut self,
        context: &mut Context<'_>,
        run: impl Fn(&mut Self, T),
    ) -> Poll<()> {
        let crew = Arc::clone(&self.crew);
        for _ in 0..AT_ONCE {
            let Some(task) = ready!(self.next_until(context.waker(), || false)) else {
                self.drop_own();
                return Poll::Ready(());
            };
            crew.catch(|| run(self, task));
            self.count_task();
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// The next task. Pending if the worker sleeps: then the waker is woken when there may be
    /// something to do. `None` when it is over, or the pool ends.
    #[inline]
    pub(in crate::steal) fn next_until(
        &mut self,
        waker: &Waker,
        is_over: impl Fn() -> bool,
    ) -> Poll<Option<T>> {
        if matches!(self.state, State::Works) {
            if is_over() {
                return Poll::Ready(None);
            }
            if let Some(task) = self.take_own() {
                if self.has_last {
                    self.end_last();
                }
                return Poll::Ready(Some(task));
            }
            self.has_last = false;
            self.crew.idle.begin();
            self.state = State::Searches;
        }
        self.search(waker, &|crew| is_over() || crew.has_ended())
    }

    /// Looks everywhere, and goes to sleep if there is nothing.
    #[cold]
    #[inline(never)]
    fn search(&mut self, waker: &Waker, is_over: &dyn Fn(&Crew<T>) -> bool) -> Poll<Option<T>> {
        if let State::Sleeps(sleeper) = self.state {
            if self.crew.idle.still_sleeps(sleeper, waker) {
                // Its own thread may have pushed tasks meanwhile.
                if self.crew.victims[self.number].is_empty() && !is_over(&self.crew) {
                    return Poll::Pending;
                }
                self.crew.idle.withdraw(sleeper);
            }
            self.state = State::Searches;
            if let Some(own) = self.take_own() {
                return Poll::Ready(Some(self.found(own)));
            }
        }
        while !is_over(&self.crew) {
            if let Some(task) = self.look_for_a_while(is_over) {
                return Poll::Ready(Some(self.found(task)));
            }
            if is_over(&self.crew) {
                break;
            }
            if let Some(sleeper) = self.crew.idle.announce(waker, || self.crew.has_more()) {
                self.state = State::Sleeps(sleeper);
                self.counted().sleeps.add(1);
                self.crew.tell_if_quiet();
                return Poll::Pending;
            }
        }
        Poll::Ready(self.found(None))
    }

    /// The search ends.
    fn found<R>(&mut self, found: R) -> R {
        self.crew.idle.found(|| self.crew.has_more());
        self.state = State::Works;
        found
    }

    fn look_for_a_while(&mut self, is_over: &dyn Fn(&Crew<T>) -> bool) -> Option<T> {
        let mut awake = self.habit.begin();
        let found = loop {
            if let Some(task) = self.look() {
                break Some(task);
            }
            if is_over(&self.crew) || !awake.again() {
                break None;
            }
        };
        self.habit.end(&awake, found.is_some() || is_over(&self.crew));
        found
    }

    /// The pool ends: no worker runs the tasks that are left.
    fn drop_own(&mut self) {
        let crew = Arc::clone(&self.crew);
        while let Ok(task) = self.queue.try_pop() {
            crew.catch(|| drop(task));
        }
        // If a task of the pool has ended the pool, no other thread does this.
        crew.drop_injected();
    }

    /// The worker runs a task.
    pub(in crate::steal) fn count_task(&self) {
        self.counted().tasks.add(1);
    }

    fn counted(&self) -> &Counted {
        &self.crew.counts[self.number]
    }

    fn take_own(&mut self) -> Option<T> {
        if self.crew.has_ended() {
            return None;
        }
        self.turns += 1;
        if self.turns >= TURNS {
            self.turns = 0;
            if let Some(task) = self.take_injected(self.batch) {
                return Some(task);
            }
        }
        self.queue.try_pop().ok()
    }

    fn take_injected(&mut self, most: usize) -> Option<T> {
        let (crew, queue) = (&*self.crew, &mut self.queue);
        let mut more = 0;
        let task = crew.injector.take(crew.workers(), most, |task| {
            queue.try_push(task).map_err(TryPushError::into_inner)?;
            more += 1;
            Ok(())
        });
        if task.is_some() {
            self.counted().injected.add(1 + more);
        }
        task
    }

    /// One look: at the tasks from outside, at the tasks that other workers have granted, and at
    /// those in the blocks in which other workers work.
    fn look(&mut self) -> Option<T> {
        self.take_injected(self.batch)
            .or_else(|| if self.samples { self.sample() } else { None })
            .or_else(|| self.steal(Victim::try_steal_some, |counted| &counted.stolen))
            .or_else(|| self.steal(Victim::try_seize, |counted| &counted.seized))
    }

    /// A look at one block of each queue.
    fn sample(&mut self) -> Option<T> {
        let random = self.victims.random();
        self.steal(|victim, most| victim.try_steal_sampled(random, most), |counted| &counted.stolen)
    }

    fn steal(
        &mut self,
        steal: impl for<'a> Fn(&'a Victim<T>, usize) -> Result<Loot<'a, T>, TryPopError>,
        count: fn(&Counted) -> &Count,
    ) -> Option<T> {
        let (crew, batch) = (&*self.crew, self.batch);
        let len = |victim: usize| crew.victims[victim].len();
        let mut loot = self.victims.find(len, |victim| steal(&crew.victims[victim], batch).ok())?;
        count(&crew.counts[self.number]).add(loot.len() as u64);
        let first = loot.next();
        for task in loot {
            // A thief that is between taking and reading may keep all of the room in use.
            if let Err(full) = self.queue.try_push(task) {
                crew.injector.overflow(full.into_inner());
            }
        }
        first
    }
}
