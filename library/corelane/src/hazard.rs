// Above 500 lines: one protocol with its proof: records, nodes and scans are judged together.

//! Hazard pointers: a node is not freed while a thread may use it.
//!
//! A queue that is a list has a [`Domain`], and each of its handles has a [`Hazard`]. The hazard
//! publishes the node that the handle uses. A node that has been removed from the list is
//! *retired*. A scan takes all retired nodes, reads all hazards, frees each node that no hazard
//! protects, and puts the other nodes back.
//!
//! Public only for the crates that check the queues, and not stable. The technique comes from M. M.
//! Michael: *Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects* (IEEE TPDS 2004).
//!
//! # Why no node is freed too early
//!
//! 1. *A scan reads every hazard whose handle uses its node.* [`Hazard::protect`] stores the node's
//!    address, has a fence, and reads the source again. A scan takes retired nodes, has a fence,
//!    and reads the hazards. If the handle's fence is first, the scan reads the stored address. If
//!    the scan's fence is first, the handle reads that the source has moved on, and does not use
//!    the node.
//! 2. *An access is over before the node is freed.* A handle changes its hazard by a release store,
//!    and the scan's load acquires.
//! 3. *A scan misses no record that is in use during the whole scan.* Records form a list, newest
//!    first. If another thread removes the scan's current record, the scan continues at `older`,
//!    from which it reaches all older records that are still in the list. If the removed record is
//!    used again, it is the newest record, and the scan visits all older records once more.
//! 4. *A missed record is no longer in use, or was added after the scan's fence.* A record is
//!    removed after all accesses of its handle. The lock orders the removal before all later
//!    changes of the list, one of which the scan has acquired. A handle whose record was added
//!    after the scan's fence reads that the source has moved on, as in 1.
//!
//! # What it costs
//!
//! - A handle takes a lock for a moment when it is made and when it is dropped. No other call takes
//!   a lock.
//! - A scan visits the records of live handles, and takes time in proportion to (h + n) log h, for
//!   h hazards and n retired nodes. The next scan comes when about h + n nodes, up to a constant
//!   factor, have been retired or left. So a node costs O(log h) on average, also after many
//!   handles have been made and dropped.
//! - A record has 128 bytes. Records of dropped handles are reused, and freed with the queue.
//! - Each node has a word for its link, so that retiring allocates nothing. A scan that finds no
//!   memory for a sorted list of hazards visits the records for each node.

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
    /// The next retired node. Only the thread that has retired this node, or has taken it for a
    /// scan, uses the link.
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
        // SAFETY: the place is in the box, and all parts are written: the first part by the
        // caller's contract.
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
        // SAFETY: the caller's contract.
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
    /// The record that was added to the list before this one.
    older: AtomicPtr<Self>,
    /// The record that was added after this one. Of a record that is not in use: another unused
    /// record. Behind the lock.
    newer: UnsafeCell<*mut Self>,
}

/// How often a scan comes. It costs a step for each hazard and for each node that it can't free.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// Steps that a scan costs besides these.
    pub overhead: u64,
    /// Steps that a scan may cost for each node that a handle has left.
    pub steps: u64,
    /// Whether a handle that is dropped has left a node that is worth a scan.
    pub at_drop: bool,
}

/// The hazards of a queue's handles, and its retired nodes. The domain frees both with the queue.
#[derive(Debug)]
pub struct Domain<N> {
    /// The node retired last.
    retired: AtomicPtr<Guarded<N>>,
    /// Steps that a scan may cost now. No scan comes while the number is negative.
    credit: AtomicU64,
    /// The record of the newest hazard.
    newest: AtomicPtr<Record<N>>,
    /// The first unused record, or null. Its lock protects all changes of records.
    unused: Mutex<*mut Record<N>>,
    costs: Costs,
    freed: Freed<Guarded<N>>,
}

// SAFETY: a domain frees nodes, which may come from another thread. Its cells are behind its lock.
unsafe impl<N: Send> Send for Domain<N> {}
// SAFETY: as above.
unsafe impl<N: Send> Sync for Domain<N> {}

impl<N> Domain<N> {
    /// A domain without hazards.
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

    /// A record for a new hazard, if there is memory for it.
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
            // Release ↔ Acquire in `hazards`, of a scan whose current record is this one: the older
            // record is initialized.
            record.as_ref().older.store(before, Ordering::Release);
            if let Some(before) = before.as_ref() {
                before.newer.with_mut(|newer| *newer = record.as_ptr());
            }
        }
        // Release ↔ Acquire in `hazards`: the record is initialized.
        self.newest.store(record.as_ptr(), Ordering::Release);
        Some(record)
    }

    /// Takes back the record of a hazard that is no longer in use.
    fn leave(&self, record: NonNull<Record<N>>) {
        // SAFETY: records are freed with the domain.
        let Record { node, older, newer } = unsafe { record.as_ref() };
        // Release ↔ Acquire in `hazards`: this handle no longer uses the node.
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
        // Release ↔ Acquire in `hazards`: the handle's accesses to its nodes are over.
        after.map_or(&self.newest, |after| &after.older).store(before, Ordering::Release);
    }

    /// All protected nodes, from the newest hazard to the oldest. Some are null.
    pub fn hazards(&self) -> impl Iterator<Item = *mut Guarded<N>> {
        // Acquire ↔ Release in `join` and `leave`: the record is initialized; accesses under
        // removed records are over.
        let mut next = self.newest.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: records are freed with the domain.
            let Record { node, older, .. } = unsafe { next.as_ref()? };
            // Acquire, as above.
            next = older.load(Ordering::Acquire);
            // Acquire ↔ Release in `publish` and `leave`: the handle no longer uses other nodes.
            Some(node.load(Ordering::Acquire))
        })
    }

    /// Frees `node` when no hazard protects it any more, in a later [`reclaim`](Self::reclaim).
    ///
    /// # Safety
    ///
    /// `node` comes from a box, and is retired once. No source points to it any more.
    pub unsafe fn retire(&self, node: *mut Guarded<N>) {
        // SAFETY: the caller's contract: the node is this thread's to retire.
        unsafe { self.put(node, node) };
    }

    /// Adds retired nodes, which are linked from `first` to `last`, to the domain.
    ///
    /// # Safety
    ///
    /// No other thread has them.
    unsafe fn put(&self, first: *mut Guarded<N>, last: *mut Guarded<N>) {
        // Relaxed: the exchange fails if the value is out of date.
        let mut behind = self.retired.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller's contract: no other thread has the node, so the node has not been
            // freed.
            unsafe { (*last).link(behind) };
            // Release ↔ the fence in `scan`: the links, and the source, which has moved on.
            match self.retired.compare_exchange(behind, first, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(found) => behind = found,
            }
        }
    }

    /// Takes all retired nodes, and returns the first of them, or null.
    fn take(&self) -> *mut Guarded<N> {
        // Relaxed: the exchange fails if the value is out of date.
        let mut first = self.retired.load(Ordering::Relaxed);
        while !first.is_null() {
            // Relaxed: the fence in `scan` acquires ↔ Release in `put`.
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

    /// Frees the retired nodes that no hazard protects, if there is credit for a scan. Each call
    /// gives credit for `left` nodes that a handle has left.
    pub fn reclaim(&self, left: u64) {
        let steps = left * self.costs.steps;
        // Relaxed: the credit affects the costs only.
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
        // SeqCst ↔ SeqCst in `publish`: either this thread reads the hazard, or the publishing
        // thread reads that the source has moved on. The fence also acquires ↔ Release in `put`:
        // the nodes' links, and their sources, which have moved on.
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
                // SAFETY: the node came from a box. No source points to it, and no handle uses it.
                unsafe { Guarded::free(node, &self.freed) };
            }
        }
        if !first.is_null() {
            // SAFETY: this thread has taken these nodes.
            unsafe { self.put(first, last) };
        }
        // Relaxed: as in `reclaim`.
        self.credit.store(cost.wrapping_neg(), Ordering::Relaxed);
    }

    /// All protected nodes, sorted, if there is memory for the list.
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
        // Relaxed: the drop of the handles orders their accesses before this one.
        let mut node = self.retired.load(Ordering::Relaxed);
        while !node.is_null() {
            // SAFETY: the node came from a box and was retired once. All handles are gone.
            let retired = unsafe { Box::from_raw(node) };
            node = retired.next_retired();
        }
        let mut record = *self.unused.lock();
        while !record.is_null() {
            // SAFETY: the record came from a box. All handles have left their records, and each
            // record is in this list once.
            let unused = unsafe { Box::from_raw(record) };
            // SAFETY: no other thread is left.
            record = unused.newer.with(|newer| unsafe { *newer });
        }
    }
}

/// Nodes that a handle has retired, and keeps until there are 64. So the handle seldom accesses the
/// domain.
#[derive(Debug)]
pub struct Batch<N> {
    domain: NonNull<Domain<N>>,
    /// The first and the last node, if there are any.
    first: *mut Guarded<N>,
    last: *mut Guarded<N>,
    len: u64,
}

// SAFETY: only this handle has the nodes, and any thread may free them.
unsafe impl<N: Send> Send for Batch<N> {}

impl<N> Batch<N> {
    /// How many nodes are handed over together.
    const LEN: u64 = limit(64, 1);

    /// An empty batch.
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
        // SAFETY: the caller's contract: the node is this handle's to retire.
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

/// A handle's hazard. It protects the node that it last read from a source.
#[derive(Debug)]
pub struct Hazard<N> {
    domain: NonNull<Domain<N>>,
    record: NonNull<Record<N>>,
    node: *mut Guarded<N>,
}

// SAFETY: a hazard is a reference to nodes that other threads refer to as well.
unsafe impl<N: Send + Sync> Send for Hazard<N> {}

impl<N> Hazard<N> {
    /// A hazard that protects the node `source` points to. `None` if there is no memory for another
    /// hazard.
    ///
    /// # Safety
    ///
    /// The domain outlives the hazard. Each source that this and [`protect`](Self::protect) get
    /// points to a node that has not been retired in `domain`, and is freed in no other way.
    pub unsafe fn new(domain: &Domain<N>, source: &AtomicPtr<Guarded<N>>) -> Option<Self> {
        let record = domain.join()?;
        let mut this = Self { domain: domain.into(), record, node: null_mut() };
        this.protect(source);
        Some(this)
    }

    /// Protects the node `source` points to, in place of the previous node. Needs no fence if this
    /// is the same node.
    #[inline]
    pub fn protect(&mut self, source: &AtomicPtr<Guarded<N>>) {
        // Relaxed: the same node has been acquired before. If it is another node, the source is
        // read again below.
        let mut found = source.load(Ordering::Relaxed);
        while found != self.node {
            self.publish(found);
            // Acquire ↔ Release of the source: the node is initialized, even if a freed node had
            // its address before.
            found = source.load(Ordering::Acquire);
        }
    }

    /// Protects `node`, which a protected node points to, if `source` still points to `from`.
    /// Otherwise protects the node `source` points to, and returns `false`. The previous node is no
    /// longer protected.
    ///
    /// # Safety
    ///
    /// While `source` points to `from`, `node` is not retired. `source` is as in
    /// [`new`](Self::new).
    #[inline]
    pub unsafe fn follow(
        &mut self,
        node: *mut Guarded<N>,
        source: &AtomicPtr<Guarded<N>>,
        from: *mut Guarded<N>,
    ) -> bool {
        self.publish(node);
        // Relaxed: `from` has been acquired by this thread before, and is protected.
        let is_there = source.load(Ordering::Relaxed) == from;
        if !is_there {
            self.node = null_mut();
            self.protect(source);
        }
        is_there
    }

    /// Publishes `node` as in use. The node is protected if it has not been retired by the time of
    /// the fence.
    #[inline]
    fn publish(&mut self, node: *mut Guarded<N>) {
        // SAFETY: records are freed with the domain.
        let record = unsafe { self.record.as_ref() };
        // Release ↔ Acquire in `Domain::hazards`: this handle no longer uses the previous node.
        record.node.store(node, Ordering::Release);
        // SeqCst ↔ SeqCst in `Domain::scan`: either the scan reads the hazard, or this thread reads
        // that the source has moved on.
        fence(Ordering::SeqCst);
        self.node = node;
    }

    /// The protected node.
    #[inline]
    #[track_caller]
    pub fn get(&self) -> &N {
        // SAFETY: the node is protected, so it isn't freed.
        unsafe { &*self.node }
    }

    /// The protected node's address.
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
