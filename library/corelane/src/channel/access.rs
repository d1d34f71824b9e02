//! How the handles of a channel reach the queue.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use core::ptr::{self, NonNull};
// Of the real world: loom's threads, and simulated ones, share one thread of the system and so its
// index.
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{self, OnceLock, PoisonError};

use crate::memory::Mutex;

/// The kind of a handle: [`Shared`] or [`Exclusive`].
pub trait Access: sealed::Access {}

/// Handles that many threads may use at once, and that can be cloned.
///
/// Each thread that uses a handle has an end of the queue of its own, for all clones of the handle.
#[derive(Debug)]
pub struct Shared;

/// A handle that one thread at a time may use. It takes a little less time for each call.
#[derive(Debug)]
pub struct Exclusive;

impl Access for Shared {}
impl Access for Exclusive {}

pub(super) mod sealed {
    use core::ops::Deref;

    /// Where a handle has its end of the queue.
    pub trait Access {
        /// Whether a user of the queue is never the only one.
        const IS_SHARED: bool;
        type Of<H: Send>;
        /// How a future borrows a handle.
        type Ref<'a, H: 'a>: Deref<Target = H>;

        fn new<H: Send>(end: H) -> Self::Of<H>;

        /// The end of the calling thread, if it is known at once.
        fn known<H: Send>(of: &Self::Of<H>) -> Option<&H>;

        /// Uses the end of the calling thread.
        fn with<H: Clone + Send, R>(of: &Self::Of<H>, work: impl FnOnce(&H) -> R) -> R;

        /// One more end.
        fn another<H: Clone + Send>(of: &Self::Of<H>) -> H;
    }
}

impl sealed::Access for Exclusive {
    const IS_SHARED: bool = false;
    type Of<H: Send> = H;
    type Ref<'a, H: 'a> = &'a mut H;

    fn new<H: Send>(end: H) -> H {
        end
    }

    #[inline(always)]
    fn known<H: Send>(of: &H) -> Option<&H> {
        Some(of)
    }

    #[inline(always)]
    fn with<H: Clone + Send, R>(of: &H, work: impl FnOnce(&H) -> R) -> R {
        work(of)
    }

    fn another<H: Clone + Send>(of: &H) -> H {
        of.clone()
    }
}

impl sealed::Access for Shared {
    const IS_SHARED: bool = true;
    type Of<H: Send> = Arc<PerThread<H>>;
    type Ref<'a, H: 'a> = &'a H;

    fn new<H: Send>(end: H) -> Arc<PerThread<H>> {
        Arc::new(PerThread::new(end))
    }

    #[inline(always)]
    fn known<H: Send>(of: &Arc<PerThread<H>>) -> Option<&H> {
        of.get(Index::of_this_thread())
    }

    #[inline(always)]
    fn with<H: Clone + Send, R>(of: &Arc<PerThread<H>>, work: impl FnOnce(&H) -> R) -> R {
        let (end, _borrowed) = match Self::known(of) {
            Some(end) => (end, Index(0)),
            None => of.slow_end(Index::of_this_thread().index),
        };
        work(end)
    }

    fn another<H: Clone + Send>(of: &Arc<PerThread<H>>) -> H {
        of.first.lock().clone()
    }
}

/// An end for each thread that uses one, by the thread's index.
pub struct PerThread<H: Send> {
    /// The one that is cloned.
    first: Mutex<H>,
    /// The ends of all threads.
    all: Branches<H>,
    /// The owners of the ends of `known`.
    owners: [AtomicUsize; KNOWN],
    /// Ends of the first threads, by the lowest bits of their indices. A place keeps its first
    /// owner.
    known: [AtomicPtr<H>; KNOWN],
}

/// Threads whose ends are found at once.
const KNOWN: usize = 16;

/// A tree of ends. Each two bits of an index, the lowest first, choose a branch, until one is free.
/// A node never moves.
struct Node<H> {
    /// The owner of the end.
    index: usize,
    end: OnceLock<OfThread<H>>,
    /// By the next two bits of the index.
    branches: Branches<H>,
}

type Branches<H> = [OnceLock<Box<Node<H>>>; 4];

fn no_branches<H>() -> Branches<H> {
    [const { OnceLock::new() }; 4]
}

impl<H> Node<H> {
    fn new(index: usize) -> Self {
        Self { index, end: OnceLock::new(), branches: no_branches() }
    }
}

/// The owner of a place that no thread has. It is no index, so a thread without an index, which
/// looks for 0, never finds it.
const FREE: usize = usize::MAX;

/// What one thread at a time uses.
struct OfThread<E>(E);

// SAFETY: a reference comes from `PerThread::get` or `slow_end` with the index of the calling
// thread. An index belongs to one thread at a time, and goes from one to another under a lock.
unsafe impl<E: Send> Sync for OfThread<E> {}

impl<H: Send> PerThread<H> {
    fn new(first: H) -> Self {
        Self {
            first: Mutex::new(first),
            all: no_branches(),
            owners: [const { AtomicUsize::new(FREE) }; KNOWN],
            known: [const { AtomicPtr::new(ptr::null_mut()) }; KNOWN],
        }
    }

    /// The end of the thread with this index, if it is known. Never that of another thread.
    #[inline(always)]
    fn get(&self, Place { index, at }: Place) -> Option<&H> {
        // SAFETY: a place is below the number of places.
        unsafe { core::hint::assert_unchecked(at < KNOWN) };
        if self.owners[at].load(Ordering::Relaxed) != index {
            return None;
        }
        // SAFETY: a thread with this index has stored first the end, which lives as long as this,
        // and then the index. That thread was this one, or gave the index back under a lock.
        Some(unsafe { NonNull::new_unchecked(self.known[at].load(Ordering::Relaxed)).as_ref() })
    }

    /// The node of the thread with this index.
    fn node(&self, index: usize) -> &Node<H> {
        let (mut branches, mut bits) = (&self.all, index);
        loop {
            let node = branches[bits % 4].get_or_init(|| Box::new(Node::new(index)));
            if node.index == index {
                return node;
            }
            (branches, bits) = (&node.branches, bits / 4);
        }
    }

    /// Makes the end of the thread with this index known, if there is a place for it.
    fn make_known(&self, index: usize, end: &H) {
        let (at, end) = (Place::of(index).at, ptr::from_ref(end).cast_mut());
        // Relaxed, all: see `get`.
        let claimed = self.known[at].compare_exchange(
            ptr::null_mut(),
            end,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if claimed.is_ok() {
            self.owners[at].store(index, Ordering::Relaxed);
        }
    }
}

impl<H: Clone + Send> PerThread<H> {
    /// The end of the calling thread, which has this index, or none yet. A thread that is ending
    /// borrows an index, until the end has been used.
    #[cold]
    #[inline(never)]
    fn slow_end(&self, index: usize) -> (&H, Index) {
        let own = if index == 0 { Index::begin() } else { Some(index) };
        let borrowed = if own.is_some() { Index(0) } else { Index::new() };
        let index = own.unwrap_or(borrowed.0);
        let node = self.node(index);
        let end = match node.end.get() {
            Some(end) => &end.0,
            None => {
                let new = self.first.lock().clone();
                let end = &node.end.get_or_init(|| OfThread(new)).0;
                self.make_known(index, end);
                end
            }
        };
        (end, borrowed)
    }
}

impl<H: Send> fmt::Debug for PerThread<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerThread").finish_non_exhaustive()
    }
}

/// The index of a thread: from 1 on, and small. 0: none. One word, so that it stays in a register.
#[derive(Debug)]
pub struct Index(usize);

/// An index, and its place in `known`.
#[derive(Clone, Copy)]
struct Place {
    index: usize,
    at: usize,
}

impl Place {
    /// That of a thread without an index.
    const NONE: Self = Self::of(0);

    const fn of(index: usize) -> Self {
        Self { index, at: index % KNOWN }
    }
}

/// A place among `n`. Threads that run at the same time often have different ones.
#[inline]
pub(super) fn place_of_this_thread(n: usize) -> usize {
    let index = match Index::of_this_thread().index {
        0 => Index::begin().unwrap_or(0),
        index => index,
    };
    index % n
}

std::thread_local! {
    /// The thread's index. 0 before it has one, and while its local variables are destroyed.
    static INDEX: Cell<Place> = const { Cell::new(Place::NONE) };
    static OWNED: Index = {
        let index = Index::new();
        INDEX.set(Place::of(index.0));
        index
    };
}

/// Indices that were given back, and the number of all.
static INDICES: sync::Mutex<(Vec<usize>, usize)> = sync::Mutex::new((Vec::new(), 0));

fn indices() -> sync::MutexGuard<'static, (Vec<usize>, usize)> {
    INDICES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Index {
    fn new() -> Self {
        let (free, count) = &mut *indices();
        Self(free.pop().unwrap_or_else(|| {
            *count += 1;
            *count
        }))
    }

    #[inline(always)]
    fn of_this_thread() -> Place {
        // `try_with` is inlined, `get` is not.
        INDEX.try_with(Cell::get).unwrap_or(Place::NONE)
    }

    /// The index of this thread, from now on until the thread ends. `None` if the thread is ending.
    fn begin() -> Option<usize> {
        OWNED.try_with(|index| index.0).ok()
    }

    #[cold]
    #[inline(never)]
    fn give_back(&self) {
        // The index of the thread that ends. If it is borrowed, this is 0 already.
        INDEX.set(Place::NONE);
        indices().0.push(self.0);
    }
}

impl Drop for Index {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0 != 0 {
            self.give_back();
        }
    }
}
