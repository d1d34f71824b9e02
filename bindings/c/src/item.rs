//! Handles of queues for items, whatever the queue and the size.

use std::slice;
use std::time::{Duration, Instant};

use corelane::shm::Peer;
use corelane::wait::{self, Bells, Closed, Strategy};
use corelane::{LendItems, LendSlots, TryPopError, TryPushError};

use crate::meets::Meets;
use crate::size::{read, write};
use crate::status::{Patience, Status};

/// The calls of a sending handle.
pub(crate) trait Sends {
    /// # Safety
    ///
    /// An item can be read at `item`.
    unsafe fn push(&mut self, item: *const u8, timeout: i64) -> Status;

    /// Pushes up to `n` items, and returns their number.
    ///
    /// # Safety
    ///
    /// `n` items can be read at `items`.
    unsafe fn push_many(&mut self, items: *const u8, n: usize, timeout: i64) -> usize;

    /// Up to `n` free slots in a row, if the queue lends slots. 0 if none is free.
    fn lend(&mut self, n: usize) -> Result<(*mut u8, usize), Status>;

    /// Pushes the first `n` lent slots.
    fn publish(&mut self, n: usize) -> Status;

    fn capacity(&self) -> usize;
    fn len(&mut self) -> usize;
    fn is_closed(&self) -> bool;
    fn size(&self) -> usize;
    fn position(&self) -> u64;
    fn peer(&self) -> Option<Peer>;
    fn wait_for_peer(&self, timeout: Duration) -> bool;
    fn another(&self) -> Option<Box<dyn Sends>>;
    fn by(self: Box<Self>, strategy: Strategy) -> Box<dyn Sends>;
}

/// The calls of a receiving handle.
pub(crate) trait Receives {
    /// # Safety
    ///
    /// An item may be written at `into`.
    unsafe fn pop(&mut self, into: *mut u8, timeout: i64) -> Status;

    /// Pops up to `n` items, and returns their number. Waits for the first one.
    ///
    /// # Safety
    ///
    /// `n` items may be written at `into`.
    unsafe fn pop_many(&mut self, into: *mut u8, n: usize, timeout: i64) -> usize;

    /// Up to `n` items in a row, in place, if the queue lends them. 0 if there is none.
    fn peek(&mut self, n: usize) -> Result<(*mut u8, usize), Status>;

    /// Pops the first `n` items that were lent.
    fn release(&mut self, n: usize) -> Status;

    fn capacity(&self) -> usize;
    fn len(&mut self) -> usize;
    fn is_closed(&self) -> bool;
    fn size(&self) -> usize;
    fn lost(&self) -> u64;
    fn position(&self) -> u64;
    fn peer(&self) -> Option<Peer>;
    fn wait_for_peer(&self, timeout: Duration) -> bool;
    fn another(&self) -> Option<Box<dyn Receives>>;
    fn by(self: Box<Self>, strategy: Strategy) -> Box<dyn Receives>;
}

/// How the slots of a queue are lent.
pub(crate) trait Loans<Q> {
    fn lend(_: &mut Q, _: usize) -> Result<(*mut u8, usize), Status> {
        Err(Status::Invalid)
    }

    /// # Safety
    ///
    /// `lend` has lent as many, and nothing was pushed or popped since.
    unsafe fn settle(_: &mut Q, _: usize) {}
}

/// A queue that lends none.
pub(crate) struct Copies;
/// A queue that lends its slots.
pub(crate) struct Lends;

impl<Q> Loans<Q> for Copies {}

impl<P: LendSlots<Item = [u8; N]>, B: Bells, const N: usize> Loans<wait::Producer<P, B>> for Lends {
    fn lend(tx: &mut wait::Producer<P, B>, n: usize) -> Result<(*mut u8, usize), Status> {
        let n = LendSlots::lendable(tx, n);
        if n == 0 {
            return Err(LendSlots::refusal(tx).into());
        }
        // SAFETY: as many can be lent.
        let slots = unsafe { LendSlots::lend(tx, n) }.0;
        Ok((slots.as_mut_ptr().cast(), slots.len()))
    }

    unsafe fn settle(tx: &mut wait::Producer<P, B>, n: usize) {
        // SAFETY: the caller's contract. Any bytes are an item.
        unsafe { LendSlots::publish(tx, n) };
    }
}

impl<C: LendItems<Item = [u8; N]>, B: Bells, const N: usize> Loans<wait::Consumer<C, B>> for Lends {
    fn lend(rx: &mut wait::Consumer<C, B>, n: usize) -> Result<(*mut u8, usize), Status> {
        // Read before the look, so that the look finds all that was pushed before.
        let closed = rx.is_closed();
        let n = LendItems::lendable(rx, n);
        if n == 0 {
            return Err(if closed { Status::Closed } else { Status::Empty });
        }
        // SAFETY: as many can be lent.
        let items = unsafe { LendItems::lend(rx, n) }.0;
        Ok((items.as_mut_ptr().cast(), items.len()))
    }

    unsafe fn settle(rx: &mut wait::Consumer<C, B>, n: usize) {
        // SAFETY: the caller's contract. Arrays of bytes need no drop.
        unsafe { LendItems::release(rx, n) };
    }
}

/// A handle of a queue with slots of N bytes, for items of `size` bytes.
struct Of<Q, L, const N: usize> {
    queue: Q,
    size: usize,
    /// Slots or items that are lent.
    lent: usize,
    loans: std::marker::PhantomData<L>,
}

impl<Q, L: Loans<Q>, const N: usize> Of<Q, L, N> {
    fn new(queue: Q, size: usize) -> Self {
        Self { queue, size, lent: 0, loans: std::marker::PhantomData }
    }

    fn lend(&mut self, n: usize) -> Result<(*mut u8, usize), Status> {
        self.lent = 0;
        // Slots of another size are no array of C's items.
        if self.size != N || n == 0 {
            return Err(Status::Invalid);
        }
        let (slots, lent) = L::lend(&mut self.queue, n)?;
        self.lent = lent;
        Ok((slots, lent))
    }

    fn settle(&mut self, n: usize) -> Status {
        if n > std::mem::take(&mut self.lent) {
            return Status::Invalid;
        }
        // SAFETY: as many are lent, and each other call ends the loan.
        unsafe { L::settle(&mut self.queue, n) };
        Status::Ok
    }
}

/// A sending handle for items of `size` bytes.
pub(crate) fn sends<L, P, B, const N: usize>(
    queue: wait::Producer<P, B>,
    size: usize,
) -> Box<dyn Sends>
where
    L: Loans<wait::Producer<P, B>> + 'static,
    P: corelane::Producer<Item = [u8; N]> + 'static,
    B: Bells + 'static,
    wait::Producer<P, B>: Meets,
{
    Box::new(Of::<_, L, N>::new(queue, size))
}

/// A receiving handle for items of `size` bytes.
pub(crate) fn receives<L, C, B, const N: usize>(
    queue: wait::Consumer<C, B>,
    size: usize,
) -> Box<dyn Receives>
where
    L: Loans<wait::Consumer<C, B>> + 'static,
    C: corelane::Consumer<Item = [u8; N]> + 'static,
    B: Bells + 'static,
    wait::Consumer<C, B>: Meets,
{
    Box::new(Of::<_, L, N>::new(queue, size))
}

impl<P, B, L, const N: usize> Sends for Of<wait::Producer<P, B>, L, N>
where
    L: Loans<wait::Producer<P, B>> + 'static,
    P: corelane::Producer<Item = [u8; N]> + 'static,
    B: Bells + 'static,
    wait::Producer<P, B>: Meets,
{
    unsafe fn push(&mut self, item: *const u8, timeout: i64) -> Status {
        self.lent = 0;
        // SAFETY: the caller's contract.
        match self.queue.try_push(unsafe { read::<N>(item, self.size) }) {
            Ok(()) => Status::Ok,
            Err(error) => self.push_later(error, timeout),
        }
    }

    unsafe fn push_many(&mut self, items: *const u8, n: usize, timeout: i64) -> usize {
        self.lent = 0;
        let patience = Patience::from(timeout);
        let until = deadline(patience);
        let mut done = 0;
        loop {
            // SAFETY: these are among the caller's items.
            done += unsafe { self.push_run(items.add(done * self.size), n - done) };
            if done == n || matches!(patience, Patience::None) {
                return done;
            }
            let left = until.map_or(timeout, |until| {
                until.saturating_duration_since(Instant::now()).as_nanos() as i64
            });
            // SAFETY: as above.
            if unsafe { self.push(items.add(done * self.size), left) } != Status::Ok {
                return done;
            }
            done += 1;
        }
    }

    fn lend(&mut self, n: usize) -> Result<(*mut u8, usize), Status> {
        self.lend(n)
    }

    fn publish(&mut self, n: usize) -> Status {
        self.settle(n)
    }

    fn capacity(&self) -> usize {
        self.queue.capacity()
    }

    fn len(&mut self) -> usize {
        self.queue.len()
    }

    fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    fn size(&self) -> usize {
        self.size
    }

    fn position(&self) -> u64 {
        Meets::position(&self.queue)
    }

    fn peer(&self) -> Option<Peer> {
        Meets::peer(&self.queue)
    }

    fn wait_for_peer(&self, timeout: Duration) -> bool {
        Meets::wait_for_peer(&self.queue, timeout)
    }

    fn another(&self) -> Option<Box<dyn Sends>> {
        let queue = corelane::Producer::try_clone(&self.queue)?;
        Some(Box::new(Self::new(queue, self.size)))
    }

    fn by(self: Box<Self>, strategy: Strategy) -> Box<dyn Sends> {
        Box::new(Self { queue: self.queue.strategy(strategy), ..*self })
    }
}

impl<P, B, L, const N: usize> Of<wait::Producer<P, B>, L, N>
where
    P: corelane::Producer<Item = [u8; N]>,
    B: Bells,
{
    /// Pushes an item for which there was no room.
    #[cold]
    #[inline(never)]
    fn push_later(&mut self, refused: TryPushError<[u8; N]>, timeout: i64) -> Status {
        let waited = match Patience::from(timeout) {
            Patience::None => return refused.into(),
            Patience::For(time) => self.queue.push_timeout(refused.into_inner(), time),
            Patience::Forever => {
                let pushed = self.queue.push(refused.into_inner());
                pushed.map_err(|Closed(item)| TryPushError::Closed(item))
            }
        };
        Status::of(waited.map_err(Into::into))
    }

    /// Pushes as many as fit.
    ///
    /// # Safety
    ///
    /// `n` items can be read at `items`.
    unsafe fn push_run(&mut self, items: *const u8, n: usize) -> usize {
        if self.size == N {
            // SAFETY: the caller's contract.
            return self.queue.push_slice(unsafe { slice::from_raw_parts(items.cast(), n) });
        }
        // SAFETY: the caller's contract.
        let item = |i: usize| unsafe { read::<N>(items.add(i * self.size), self.size) };
        (0..n).take_while(|i| self.queue.try_push(item(*i)).is_ok()).count()
    }
}

/// When the time is over; `None` if it never is.
fn deadline(patience: Patience) -> Option<Instant> {
    match patience {
        Patience::For(time) => Instant::now().checked_add(time),
        Patience::None | Patience::Forever => None,
    }
}

impl<C, B, L, const N: usize> Receives for Of<wait::Consumer<C, B>, L, N>
where
    L: Loans<wait::Consumer<C, B>> + 'static,
    C: corelane::Consumer<Item = [u8; N]> + 'static,
    B: Bells + 'static,
    wait::Consumer<C, B>: Meets,
{
    unsafe fn pop(&mut self, into: *mut u8, timeout: i64) -> Status {
        self.lent = 0;
        let popped = match self.queue.try_pop() {
            Ok(item) => item,
            Err(error) => match self.pop_later(error, timeout) {
                Ok(item) => item,
                Err(error) => return error.into(),
            },
        };
        // SAFETY: the caller's contract.
        unsafe { write::<N>(popped, into, self.size) };
        Status::Ok
    }

    unsafe fn pop_many(&mut self, into: *mut u8, n: usize, timeout: i64) -> usize {
        self.lent = 0;
        // SAFETY: the caller's contract.
        let done = unsafe { self.pop_run(into, n) };
        // SAFETY: as above.
        if done > 0 || n == 0 || unsafe { self.pop(into, timeout) } != Status::Ok {
            return done;
        }
        // SAFETY: as above: these are among the caller's places.
        1 + unsafe { self.pop_run(into.add(self.size), n - 1) }
    }

    fn peek(&mut self, n: usize) -> Result<(*mut u8, usize), Status> {
        self.lend(n)
    }

    fn release(&mut self, n: usize) -> Status {
        self.settle(n)
    }

    fn capacity(&self) -> usize {
        self.queue.capacity()
    }

    fn len(&mut self) -> usize {
        self.queue.len()
    }

    fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    fn size(&self) -> usize {
        self.size
    }

    fn lost(&self) -> u64 {
        corelane::Consumer::lost(&self.queue)
    }

    fn position(&self) -> u64 {
        Meets::position(&self.queue)
    }

    fn peer(&self) -> Option<Peer> {
        Meets::peer(&self.queue)
    }

    fn wait_for_peer(&self, timeout: Duration) -> bool {
        Meets::wait_for_peer(&self.queue, timeout)
    }

    fn another(&self) -> Option<Box<dyn Receives>> {
        let queue = corelane::Consumer::try_clone(&self.queue)?;
        Some(Box::new(Self::new(queue, self.size)))
    }

    fn by(self: Box<Self>, strategy: Strategy) -> Box<dyn Receives> {
        Box::new(Self { queue: self.queue.strategy(strategy), ..*self })
    }
}

impl<C, B, L, const N: usize> Of<wait::Consumer<C, B>, L, N>
where
    C: corelane::Consumer<Item = [u8; N]>,
    B: Bells,
{
    /// Pops an item after there was none.
    #[cold]
    #[inline(never)]
    fn pop_later(&mut self, error: TryPopError, timeout: i64) -> Result<[u8; N], TryPopError> {
        match Patience::from(timeout) {
            Patience::None => Err(error),
            Patience::For(time) => self.queue.pop_timeout(time),
            Patience::Forever => self.queue.pop().ok_or(TryPopError::Closed),
        }
    }

    /// Pops as many as there are, up to `n`.
    ///
    /// # Safety
    ///
    /// `n` items may be written at `into`.
    unsafe fn pop_run(&mut self, into: *mut u8, n: usize) -> usize {
        let (queue, size) = (&mut self.queue, self.size);
        if size == N {
            // SAFETY: the caller's contract. The places are only written.
            return queue.pop_slice(unsafe { slice::from_raw_parts_mut(into.cast(), n) });
        }
        let mut done = 0;
        while done < n {
            let Ok(item) = queue.try_pop() else { break };
            // SAFETY: the caller's contract.
            unsafe { write::<N>(item, into.add(done * size), size) };
            done += 1;
        }
        done
    }
}
