// Above 500 lines: one protocol with its proof: records, nodes and scans are judged together.

//! Hazard pointers: what a thread may still be reading is not freed.
//!
//! A queue that is a list has a [`Domain`], and each of its handles has a [`Hazard`]. The hazard publishes the node that the
//! handle uses. A node that has been taken out of the list is *retired*. A scan takes all retired nodes, reads all hazards,
//! frees each node that no hazard has, and puts the other nodes back.
//!
//! Public only for the crates that check the queues, and not stable. It comes from M. M. Michael: *Hazard Pointers: Safe
//! Memory Reclamation for Lock-Free Objects* (IEEE TPDS 2004).
//!
//! # Why no node is freed too early
//!
//! 1. *A hazard that counts is seen.* [`Hazard::protect`] stores a node's address, has a fence, and reads the source again.
//!    A scan takes retired nodes, has a fence, and reads the hazards. If the handle's fence is first, the scan reads that
//!    address. If the scan's fence is first, the handle reads that the source has gone on, and does not use the node.
//! 2. *An access is over before the node is freed.* A hazard changes with a release store, which the scan acquires.
//! 3. *A scan misses no record that is in use all the time.* Records form a list, newest first. A scan that stands on a record
//!    which another thread takes out goes on along `older`, and that leads to all records that were older and are still in
//!    the list. If the record is used again, it is the newest, and the scan sees all of them once more.
//! 4. *A record that is missed is not in use any more, or came later.* Taking a record out comes after all accesses of its
//!    handle, and the lock orders it before all later changes of the list, one of which the scan has acquired. A handle that
//!    came after the scan's fence reads that the source has gone on, as in 1.
//!
//! # What it costs
//!
//! - A handle takes a lock for a moment when it is made and dropped. No other call does.
//! - A scan walks the records of those handles that are alive, and takes time in proportion to (h + n) log h, for h hazards and
//!   n retired nodes. The next scan comes when about h + n nodes, up to a constant factor, have been retired
//!   or left. So a node costs O(log h) on average, also after many handles have been made and dropped.
//! - A record has 128 bytes. Those of dropped handles are used again, and freed with the queue.
//! - A retired node is linked by a word of its own, so that retiring allocates nothing. A scan that finds no memory for a
//!   sorted list of hazards walks the records for each node.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Deref;
use core::ptr::{NonNull, null_mut};

use crate::memory::{AtomicPtr, AtomicU64, Freed, Made, Mutex, Ordering, UnsafeCell, fence, limit};
use crate::region::{try_box, try_empty_box};

/// A node that hazards protect.
#[derive(Debug)]
pub struct Guarded<N> {
    node: N,
    /// The next retired node. Only the thread that has retired this one, or has taken it for a scan, uses the link.
    behind: UnsafeCell<*mut Self>,
    made: Made,
}

impl<N> Guarded<N> {
    /// `node`, if there is memory for it.
    pub fn new(node: N) -> Option<Box<Self>> {
        let behind = UnsafeCell::new(null_mut());
        try_box(Self { node, behind, made: Made::now() }).ok()
    }

    /// A node that `write` writes, part by part, as it may be too large for the stack.
    ///
    /// # Safety
    ///
    /// `write` fills all of its place.
    pub unsafe fn written(write: impl FnOnce(*mut N)) -> Option<Box<Self>> {
        let mut place = try_empty_box::<Self>()?;
        let this = place.as_mut_ptr();
        // SAFETY: the place is the box's, and all parts are written: the first one by the caller's word.
        unsafe {
            write(&raw mut (*this).node);
            (&raw mut (*this).behind).write(UnsafeCell::new(null_mut()));
            (&raw mut (*this).made).write(Made::now());
            Some(place.assume_init())
        }
    }

    /// Frees a retired node.
    ///
    /// # Safety
    ///
    /// It comes from a box, and no thread uses it.
    unsafe fn free(this: *mut Self, freed: &Freed<Self>) {
        // SAFETY: the caller's.
        unsafe {
            (*this).made.ends();
            freed.add(this);
        }
    }

    /// The retired node that this one is linked to, or null.
    fn next_retired(&self) -> *mut Self {
        // SAFETY: only this thread uses the link.
        self.behind.with(|link| unsafe { *link })
    }

    /// Links this retired node to the one `behind`.
    fn link(&self, behind: *mut Self) {
        // SAFETY: only this thread uses the link.
        self.behind.with_mut(|link| unsafe { *link = behind });
    }
}

impl<N> Deref for Guarded<N> {
    type Target = N;

    #[inline]
    #[track_caller]
    fn deref(&self) -> &N {
        self.made.is_before_now();
        &self.node
    }
}

/// Where a hazard is published.
#[derive(Debug)]
#[repr(align(128))]
struct Record<N> {
    /// The protected node, or null.
    node: AtomicPtr<Guarded<N>>,
    /// The record that was made, or used again, before this one.
    older: AtomicPtr<Self>,
    /// The record after this one; of a record that is not in use, another such. Behind the lock.
    newer: UnsafeCell<*mut Self>,
}

/// How often there is a scan. It costs a step for each hazard and for each node that it can't free.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// Steps that it costs besides.
    pub overhead: u64,
    /// Steps that it may cost for each node that a handle has left.
    pub steps: u64,
    /// Whether a handle that is dropped has left a node that is worth a scan.
    pub at_drop: bool,
}

/// The hazards of a queue's handles, and its retired nodes. The domain frees both with the queue.
#[derive(Debug)]
pub struct Domain<N> {
    /// The node retired last.
    retired: AtomicPtr<Guarded<N>>,
    /// Steps that a scan may cost now. There is no scan while the number is negative.
    credit: AtomicU64,
    /// The record of the newest hazard.
    newest: AtomicPtr<Record<N>>,
    /// A record that is not in use, or null. The lock is for all changes of records.
    unused: Mutex<*mut Record<N>>,
    costs: Costs,
    freed: Freed<Guarded<N>>,
}

// SAFETY: a domain frees nodes, which may be another thread's. Its cells are behind its lock.
unsafe impl<N: Send> Send for Domain<N> {}
// SAFETY: as above.
unsafe impl<N: Send> Sync for Domain<N> {}

impl<N> Domain<N> {
    /// One without hazards.
    pub fn new(costs: Costs) -> Self {
        Self {
            retired: AtomicPtr::new(null_mut()),
            credit: AtomicU64::new(0),
            newest: AtomicPtr::new(null_mut()),
            unused: Mutex::new(null_mut()),
            costs,
            freed: Freed::new(),
        }
    }

    /// A record for one more hazard, if there is memory for it.
    fn join(&self) -> Option<NonNull<Record<N>>> {
        let mut unused = self.unused.lock();
        let record = match NonNull::new(*unused) {
            Some(record) => record,
            None => {
                let (node, older) = (AtomicPtr::new(null_mut()), AtomicPtr::new(null_mut()));
                let new = Record { node, older, newer: UnsafeCell::new(null_mut()) };
                NonNull::from(Box::leak(try_box(new).ok()?))
            }
        };
        // SAFETY: records are freed with the domain. Their cells are behind the lock.
        unsafe {
            *unused = record.as_ref().newer.with_mut(|newer| newer.replace(null_mut()));
            // Relaxed: behind the lock.
            let before = self.newest.load(Ordering::Relaxed);
            // Release ↔ Acquire in `hazards`, if a scan stands on this record: the record before it is ready.
            record.as_ref().older.store(before, Ordering::Release);
            if let Some(before) = before.as_ref() {
                before.newer.with_mut(|newer| *newer = record.as_ptr());
            }
        }
        // Release ↔ Acquire in `hazards`: the record is ready.
        self.newest.store(record.as_ptr(), Ordering::Release);
        Some(record)
    }

    /// Takes back the record of a hazard that is not in use any more.
    fn leave(&self, record: NonNull<Record<N>>) {
        // SAFETY: records are freed with the domain.
        let Record { node, older, newer } = unsafe { record.as_ref() };
        // Release ↔ Acquire in `hazards`: this handle does not use the node any more.
        node.store(null_mut(), Ordering::Release);
        let mut unused = self.unused.lock();
        // Relaxed: behind the lock.
        let before = older.load(Ordering::Relaxed);
        // SAFETY: as above. Cells are behind the lock.
        let after = unsafe {
            let after = newer.with_mut(|newer| newer.replace(*unused));
            if let Some(before) = before.as_ref() {
                before.newer.with_mut(|newer| *newer = after);
            }
            after.as_ref()
        };
        *unused = record.as_ptr();
        // Release ↔ Acquire in `hazards`: what the handle did with its nodes is over.
        after.map_or(&self.newest, |after| &after.older).store(before, Ordering::Release);
    }

    /// All that is protected, from the newest hazard to the oldest. Some are null.
    pub fn hazards(&self) -> impl Iterator<Item = *mut Guarded<N>> {
        // Acquire ↔ Release in `join` and `leave`.
        let mut next = self.newest.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: records are freed with the domain.
            let Record { node, older, .. } = unsafe { next.as_ref()? };
            // Acquire, as above.
            next = older.load(Ordering::Acquire);
            // Acquire ↔ Release in `publish` and `leave`: the handle does not use other nodes any more.
            Some(node.load(Ordering::Acquire))
        })
    }

    /// Frees `node` when no hazard protects it any more, in a later [`reclaim`](Self::reclaim).
    ///
    /// # Safety
    ///
    /// `node` comes from a box, and is retired once. No source leads to it any more.
    pub unsafe fn retire(&self, node: *mut Guarded<N>) {
        // SAFETY: the caller's: the node is this thread's to retire.
        unsafe { self.put(node, node) };
    }

    /// Puts retired nodes, which are linked from `first` to `last`, before the others.
    ///
    /// # Safety
    ///
    /// No other thread has them.
    unsafe fn put(&self, first: *mut Guarded<N>, last: *mut Guarded<N>) {
        // Relaxed: the exchange says whether it was up to date.
        let mut behind = self.retired.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller's. So nobody has freed it.
            unsafe { (*last).link(behind) };
            // Release ↔ the fence in `scan`: the links; and the source, which has gone on.
            match self.retired.compare_exchange(behind, first, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(found) => behind = found,
            }
        }
    }

    /// Takes all retired nodes, and returns the first of them, or null.
    fn take(&self) -> *mut Guarded<N> {
        // Relaxed: the exchange says whether it was up to date.
        let mut first = self.retired.load(Ordering::Relaxed);
        while !first.is_null() {
            // Relaxed: the fence in `scan` acquires, as it pairs with Release in `put`.
            match self.retired.compare_exchange(
                first,
                null_mut(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => break,
                Err(found) => first = found,
            }
        }
        first
    }

    /// Frees what was retired and no hazard protects, if there is credit for a scan. Each call gives credit for `left` nodes that
    /// a handle has left.
    pub fn reclaim(&self, left: u64) {
        let steps = left * self.costs.steps;
        // Relaxed: it is for the costs only.
        let credit = self.credit.fetch_add(steps, Ordering::Relaxed).wrapping_add(steps);
        if credit as i64 >= 0 {
            self.scan();
        }
    }

    fn scan(&self) {
        let mut next = self.take();
        if next.is_null() {
            return;
        }
        // SeqCst ↔ SeqCst in `publish`: either this thread reads the hazard, or that one a source that has gone on. It also
        // acquires, ↔ Release in `put`: the links of the nodes; and that their sources have gone on.
        fence(Ordering::SeqCst);
        let sorted = self.sorted_hazards();
        let is_protected = |node| match &sorted {
            Some(sorted) => sorted.binary_search(&node).is_ok(),
            None => self.hazards().any(|hazard| hazard == node),
        };
        let hazards = sorted.as_ref().map_or_else(|| self.hazards().count(), Vec::len);
        let mut cost = self.costs.overhead + hazards as u64;
        let (mut first, mut last) = (null_mut::<Guarded<N>>(), null_mut());
        while !next.is_null() {
            let node = next;
            // SAFETY: this thread has taken the node, and has not freed it yet.
            next = unsafe { (*node).next_retired() };
            if is_protected(node) {
                cost += 1;
                // SAFETY: as above.
                unsafe { (*node).link(first) };
                if first.is_null() {
                    last = node;
                }
                first = node;
            } else {
                // SAFETY: it came from a box. No source leads to it, and no handle uses it.
                unsafe { Guarded::free(node, &self.freed) };
            }
        }
        if !first.is_null() {
            // SAFETY: this thread has taken them.
            unsafe { self.put(first, last) };
        }
        // Relaxed: as in `reclaim`.
        self.credit.store(cost.wrapping_neg(), Ordering::Relaxed);
    }

    /// All that is protected, in order, if there is memory for it.
    fn sorted_hazards(&self) -> Option<Vec<*mut Guarded<N>>> {
        let mut sorted = Vec::new();
        for hazard in self.hazards() {
            sorted.try_reserve(1).ok()?;
            sorted.push(hazard);
        }
        sorted.sort_unstable();
        Some(sorted)
    }
}

impl<N> Drop for Domain<N> {
    fn drop(&mut self) {
        // Relaxed: dropping the handles has ordered what they did before this.
        let mut node = self.retired.load(Ordering::Relaxed);
        while !node.is_null() {
            // SAFETY: it came from a box and was retired once. All handles are gone.
            let retired = unsafe { Box::from_raw(node) };
            node = retired.next_retired();
        }
        let mut record = *self.unused.lock();
        while !record.is_null() {
            // SAFETY: it came from a box. All handles have left their records, of which each is here once.
            let unused = unsafe { Box::from_raw(record) };
            // SAFETY: no other thread is left.
            record = unused.newer.with(|newer| unsafe { *newer });
        }
    }
}

/// Nodes that a handle has retired and keeps until there are 64, so that it seldom touches the domain.
#[derive(Debug)]
pub struct Batch<N> {
    domain: NonNull<Domain<N>>,
    /// The first and the last of them, if there are any.
    first: *mut Guarded<N>,
    last: *mut Guarded<N>,
    len: u64,
}

// SAFETY: the nodes are this handle's to free, in any thread.
unsafe impl<N: Send> Send for Batch<N> {}

impl<N> Batch<N> {
    /// How many nodes are handed over together.
    const LEN: u64 = limit(64, 1);

    /// An empty one.
    ///
    /// # Safety
    ///
    /// The domain outlives the batch.
    pub unsafe fn new(domain: &Domain<N>) -> Self {
        Self { domain: domain.into(), first: null_mut(), last: null_mut(), len: 0 }
    }

    /// As [`Domain::retire`] and [`Domain::reclaim`].
    ///
    /// # Safety
    ///
    /// As for [`Domain::retire`].
    #[inline]
    pub unsafe fn retire(&mut self, node: *mut Guarded<N>) {
        // SAFETY: the caller's: the node is this handle's to retire.
        unsafe { (*node).link(self.first) };
        if self.len == 0 {
            self.last = node;
        }
        self.first = node;
        self.len += 1;
        if self.len == Self::LEN {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        // SAFETY: the domain outlives the batch.
        let domain = unsafe { self.domain.as_ref() };
        // SAFETY: the nodes were retired by this handle, and are linked.
        unsafe { domain.put(self.first, self.last) };
        domain.reclaim(self.len);
        (self.first, self.len) = (null_mut(), 0);
    }
}

impl<N> Drop for Batch<N> {
    fn drop(&mut self) {
        if self.len > 0 {
            self.hand_over();
        }
    }
}

/// A handle's hazard. It protects the node that a source led to when it was read last.
#[derive(Debug)]
pub struct Hazard<N> {
    domain: NonNull<Domain<N>>,
    record: NonNull<Record<N>>,
    node: *mut Guarded<N>,
}

// SAFETY: a hazard is a reference to nodes that other threads refer to as well.
unsafe impl<N: Send + Sync> Send for Hazard<N> {}

impl<N> Hazard<N> {
    /// Protects what `source` leads to. `None` if there is no memory for one more hazard.
    ///
    /// # Safety
    ///
    /// The domain outlives the hazard. Each source that this and [`protect`](Self::protect) get leads to a node that has not
    /// been retired in `domain`, and is freed in no other way.
    pub unsafe fn new(domain: &Domain<N>, source: &AtomicPtr<Guarded<N>>) -> Option<Self> {
        let record = domain.join()?;
        let mut this = Self { domain: domain.into(), record, node: null_mut() };
        this.protect(source);
        Some(this)
    }

    /// Protects what `source` leads to, in place of what it protected before. If it is the same, this takes no fence.
    #[inline]
    pub fn protect(&mut self, source: &AtomicPtr<Guarded<N>>) {
        // Relaxed: another node is read once more below. If it is the same, this thread has acquired it before.
        let mut found = source.load(Ordering::Relaxed);
        while found != self.node {
            self.publish(found);
            // Acquire ↔ Release of the source: the node is ready, also if another one had this address a moment ago.
            found = source.load(Ordering::Acquire);
        }
    }

    /// Protects `node`, which a protected node leads to, if `source` still leads to `from`. Otherwise it protects what
    /// `source` leads to, and the answer is `false`. It does not protect any more what it protected before.
    ///
    /// # Safety
    ///
    /// While `source` leads to `from`, `node` is not retired. `source` is as in [`new`](Self::new).
    #[inline]
    pub unsafe fn follow(
        &mut self,
        node: *mut Guarded<N>,
        source: &AtomicPtr<Guarded<N>>,
        from: *mut Guarded<N>,
    ) -> bool {
        self.publish(node);
        // Relaxed: if it is the same, this thread has acquired it before, and it is protected.
        let is_there = source.load(Ordering::Relaxed) == from;
        if !is_there {
            self.node = null_mut();
            self.protect(source);
        }
        is_there
    }

    /// Publishes that `node` is in use. It is protected if it has not been retired by then.
    #[inline]
    fn publish(&mut self, node: *mut Guarded<N>) {
        // SAFETY: records are freed with the domain.
        let record = unsafe { self.record.as_ref() };
        // Release ↔ Acquire in `Domain::hazards`: this handle does not use the node before any more.
        record.node.store(node, Ordering::Release);
        // SeqCst ↔ SeqCst in `Domain::scan`.
        fence(Ordering::SeqCst);
        self.node = node;
    }

    /// What it protects.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> &N {
        // SAFETY: it is protected, and so not freed.
        unsafe { &*self.node }
    }

    /// Where that is.
    #[inline]
    pub fn node(&self) -> *mut Guarded<N> {
        self.node
    }
}

impl<N> Drop for Hazard<N> {
    fn drop(&mut self) {
        // SAFETY: the domain outlives the hazard.
        let domain = unsafe { self.domain.as_ref() };
        domain.leave(self.record);
        if domain.costs.at_drop {
            domain.reclaim(1);
        }
    }
}
