//! How the handles of a channel reach the queue.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::{Cell, UnsafeCell};
use core::fmt;
// Of the real world: loom's threads, and simulated ones, share one thread of the system and so its
// index.
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{self, OnceLock, PoisonError};

use crate::carrier::{By, Use};
use crate::memory::Mutex;

/// What kind of handle it is: [`Shared`] or [`Exclusive`].
pub trait Access: sealed::Access {}

/// Handles that many threads may use at once, and that can be cloned.
///
/// Each thread that uses a handle has a part of its own in the channel, which all clones of the
/// handle share.
#[derive(Debug)]
pub struct Shared;

/// A handle that one thread at a time may use. It takes a little less time for each call.
#[derive(Debug)]
pub struct Exclusive;

impl Access for Shared {}
impl Access for Exclusive {}

pub(super) mod sealed {
    use core::ops::Deref;

    use crate::carrier::Use;

    /// Where a handle has its end of the queue.
    pub trait Access {
        type Of<H: Send>;
        /// How a future borrows a handle.
        type Ref<'a, H: 'a>: Deref<Target = H>;

        fn new<H: Send>(end: H) -> Self::Of<H>;

        /// Uses the end for the calling thread. `work` must not use the same handle, or run code
        /// that does.
        fn with<H: Clone + Send, R>(of: &Self::Of<H>, work: impl Use<H, Output = R>) -> R;

        /// One more end.
        fn another<H: Clone + Send>(of: &Self::Of<H>) -> H;
    }
}

/// What one call at a time uses. If a call panics, it can't be used any more. A `RefCell` would
/// also keep what its destructor needs at hand, in each call.
pub struct OneUse<H> {
    is_used: Cell<bool>,
    value: UnsafeCell<H>,
}

impl<H> OneUse<H> {
    fn new(value: H) -> Self {
        Self { is_used: Cell::new(false), value: UnsafeCell::new(value) }
    }

    #[inline(always)]
    fn with<R>(&self, work: impl Use<H, Output = R>) -> R {
        assert!(!self.is_used.replace(true), "the handle is in use");
        // SAFETY: no other use has begun and not ended: threads don't share it, and a use in `work`
        // panics.
        let result = work.run(unsafe { &mut *self.value.get() });
        self.is_used.set(false);
        result
    }
}

impl<H> fmt::Debug for OneUse<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneUse").finish_non_exhaustive()
    }
}

impl sealed::Access for Exclusive {
    type Of<H: Send> = OneUse<H>;
    type Ref<'a, H: 'a> = &'a mut H;

    fn new<H: Send>(end: H) -> OneUse<H> {
        OneUse::new(end)
    }

    #[inline(always)] // a call would cost more than the work
    fn with<H: Clone + Send, R>(of: &OneUse<H>, work: impl Use<H, Output = R>) -> R {
        of.with(work)
    }

    fn another<H: Clone + Send>(of: &OneUse<H>) -> H {
        of.with(By(|end: &mut H| end.clone()))
    }
}

impl sealed::Access for Shared {
    type Of<H: Send> = Arc<PerThread<H>>;
    type Ref<'a, H: 'a> = &'a H;

    fn new<H: Send>(end: H) -> Arc<PerThread<H>> {
        Arc::new(PerThread::new(end))
    }

    #[inline(always)] // a call would cost more than the work
    fn with<H: Clone + Send, R>(of: &Arc<PerThread<H>>, work: impl Use<H, Output = R>) -> R {
        match of.get(Index::of_this_thread()) {
            Some(end) => end.with(work),
            None => {
                // Not a call that does the work: a message would then be in memory, and not in a
                // register.
                let (end, _borrowed) = of.new_end();
                end.with(work)
            }
        }
    }

    fn another<H: Clone + Send>(of: &Arc<PerThread<H>>) -> H {
        of.first.lock().clone()
    }
}

/// An end for each thread that uses one, by the thread's index.
pub struct PerThread<H: Send> {
    /// The one that is cloned.
    first: Mutex<H>,
    /// Those of the first threads: most channels have no others.
    few: [(AtomicUsize, Place<H>); 4],
    /// Those of others, which most channels don't have.
    many: Branches<H>,
}

/// A tree of places. Each two bits of an index, the lowest first, choose a branch, until one is
/// free. A node never moves.
struct Node<H> {
    /// The owner of the place.
    index: usize,
    place: Place<H>,
    /// By the next two bits of the index.
    branches: Branches<H>,
}

type Branches<H> = [OnceLock<Box<Node<H>>>; 4];

fn no_branches<H>() -> Branches<H> {
    [const { OnceLock::new() }; 4]
}

impl<H> Node<H> {
    fn new(index: usize) -> Self {
        Self { index, place: OnceLock::new(), branches: no_branches() }
    }
}

/// The owner of a place that no thread has. No index: also a thread without an index, which looks
/// for 0, never finds it.
const FREE: usize = usize::MAX;

type Place<H> = OnceLock<Box<OfThread<OneUse<H>>>>;

/// What one thread at a time uses.
struct OfThread<E>(E);

// SAFETY: a reference comes from `PerThread::get` or `new_end` with the index of the calling
// thread. An index belongs to one thread at a time, and goes from one to another under a lock.
unsafe impl<E: Send> Sync for OfThread<E> {}

impl<H: Send> PerThread<H> {
    fn new(first: H) -> Self {
        Self {
            first: Mutex::new(first),
            few: [const { (AtomicUsize::new(FREE), OnceLock::new()) }; 4],
            many: no_branches(),
        }
    }

    /// The end of the thread with this index, if it has used one. Never that of another thread.
    #[inline(always)]
    fn get(&self, index: usize) -> Option<&OneUse<H>> {
        // Relaxed: a thread that has an index has written it, and no thread has the index `FREE`.
        let place = match self.few.iter().find(|(owner, _)| owner.load(Ordering::Relaxed) == index)
        {
            Some((_, place)) => place,
            None => self.of_many(index)?,
        };
        place.get().map(|end| &end.0)
    }

    fn of_many(&self, index: usize) -> Option<&Place<H>> {
        let (mut branches, mut bits) = (&self.many, index);
        loop {
            let node = branches[bits % 4].get()?;
            if node.index == index {
                return Some(&node.place);
            }
            (branches, bits) = (&node.branches, bits / 4);
        }
    }

    /// A place for the thread with this index.
    fn place(&self, index: usize) -> &Place<H> {
        // Relaxed, both: as in `get`. A place stays its owner's.
        let mine = |(owner, _): &&(AtomicUsize, Place<H>)| {
            owner.load(Ordering::Relaxed) == index
                || owner.compare_exchange(FREE, index, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if let Some((_, place)) = self.few.iter().find(mine) {
            return place;
        }
        let (mut branches, mut bits) = (&self.many, index);
        loop {
            let node = branches[bits % 4].get_or_init(|| Box::new(Node::new(index)));
            if node.index == index {
                return &node.place;
            }
            (branches, bits) = (&node.branches, bits / 4);
        }
    }
}

impl<H: Clone + Send> PerThread<H> {
    /// An end for the calling thread. A thread that is ending borrows an index, until the end has
    /// been used.
    #[cold]
    #[inline(never)]
    fn new_end(&self) -> (&OneUse<H>, Index) {
        let own = Index::begin();
        let borrowed = if own.is_some() { Index(0) } else { Index::new() };
        let new = || Box::new(OfThread(OneUse::new(self.first.lock().clone())));
        let place = self.place(own.unwrap_or(borrowed.0));
        (&place.get_or_init(new).0, borrowed)
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

std::thread_local! {
    /// The thread's index. 0 before it has one, and while its local variables are destroyed.
    static INDEX: Cell<usize> = const { Cell::new(0) };
    static OWNED: Index = {
        let index = Index::new();
        INDEX.set(index.0);
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
    fn of_this_thread() -> usize {
        // `try_with` is inlined, `get` is not.
        INDEX.try_with(Cell::get).unwrap_or(0)
    }

    /// The index of this thread, from now on until it ends. `None` if it is ending.
    fn begin() -> Option<usize> {
        OWNED.try_with(|index| index.0).ok()
    }

    #[cold]
    #[inline(never)]
    fn give_back(&self) {
        // Of the thread that ends, unless it is borrowed: then it is 0 already.
        INDEX.set(0);
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
