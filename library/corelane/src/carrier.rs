//! Carries an item between a caller and a slot.
//!
//! Each function that takes or returns an item by value has a copy of the item on the stack, and
//! without optimisation several. There are many functions between a user's call and a slot. So they
//! pass a carrier by reference, and a large item fits on the stack.

use core::mem::{MaybeUninit, needs_drop};
use core::ptr;

use crate::queue::{Consumer, Producer, TryPopError};

/// An item, or room for one: an `Option` that is filled and emptied in place.
pub(crate) struct Carrier<T> {
    item: MaybeUninit<T>,
    has_item: bool,
}

impl<T> Carrier<T> {
    #[inline(always)]
    pub(crate) fn empty() -> Self {
        Self { item: MaybeUninit::uninit(), has_item: false }
    }

    #[inline(always)]
    pub(crate) fn of(item: T) -> Self {
        Self { item: MaybeUninit::new(item), has_item: true }
    }

    #[inline(always)]
    pub(crate) fn has_item(&self) -> bool {
        self.has_item
    }

    /// The item, which is there.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> T {
        assert!(self.has_item, "there is an item");
        self.has_item = false;
        // SAFETY: the item was there, and is not any more.
        unsafe { ptr::read(self.item.as_ptr()) }
    }

    /// Moves the item, if there is one, to an empty carrier.
    pub(crate) fn move_to(&mut self, other: &mut Self) {
        if self.has_item {
            // SAFETY: the item is there, and is not any more.
            unsafe { other.fill(self.item.as_ptr()) };
            self.has_item = false;
        }
    }

    /// Moves the item to `slot`.
    ///
    /// # Safety
    ///
    /// There is an item. `slot` may be written.
    #[inline(always)]
    pub(crate) unsafe fn empty_into(&mut self, slot: *mut T) {
        debug_assert!(self.has_item);
        self.has_item = false;
        // SAFETY: the caller's contract. A slot is no part of a carrier.
        unsafe { ptr::copy_nonoverlapping(self.item.as_ptr(), slot, 1) };
    }

    /// Moves the item of `slot` here.
    ///
    /// # Safety
    ///
    /// There is no item here, and one in `slot`, which is not read again.
    #[inline(always)]
    pub(crate) unsafe fn fill(&mut self, slot: *const T) {
        debug_assert!(!self.has_item);
        // SAFETY: as in `empty_into`.
        unsafe { ptr::copy_nonoverlapping(slot, self.item.as_mut_ptr(), 1) };
        self.has_item = true;
    }
}

impl<T> Drop for Carrier<T> {
    #[inline(always)]
    fn drop(&mut self) {
        if needs_drop::<T>() && self.has_item {
            // SAFETY: the item is there.
            unsafe { self.item.assume_init_drop() };
        }
    }
}

/// One use of a handle. Unlike a closure or a function that is passed as an argument, its method
/// can always be inlined: then a small item stays in a register although it is passed by reference.
pub trait Use<H> {
    /// What it returns.
    type Output;
    /// Whether it asks [`may_begin`](Self::may_begin).
    const LOOKS: bool = false;

    /// Uses the handle.
    fn run(self, handle: &mut H) -> Self::Output;

    /// Whether to use the handle, if a [word](crate::lease) asks for attention.
    fn may_begin(&self) -> bool {
        true
    }
}

/// A use by a closure.
#[derive(Debug)]
pub struct By<F>(pub F);

impl<H, R, F: FnOnce(&mut H) -> R> Use<H> for By<F> {
    type Output = R;

    #[inline]
    fn run(self, handle: &mut H) -> R {
        (self.0)(handle)
    }
}

/// A push from a carrier. Returns twice whether there was room, since that is also whether anything
/// was done.
pub(crate) struct PushFrom<'a, T>(pub(crate) &'a mut Carrier<T>);

impl<P: Empties> Use<P> for PushFrom<'_, P::Item> {
    type Output = (bool, bool);

    #[inline(always)]
    fn run(self, tx: &mut P) -> (bool, bool) {
        let is_done = tx.push_from(self.0);
        (is_done, is_done)
    }
}

/// A push from a carrier, which calls no function.
pub(crate) struct PushQuickly<'a, T>(pub(crate) &'a mut Carrier<T>);

impl<P: Empties> Use<P> for PushQuickly<'_, P::Item> {
    type Output = bool;

    #[inline(always)]
    fn run(self, tx: &mut P) -> bool {
        tx.push_quickly(self.0)
    }
}

/// A pop into a carrier, which calls no function.
pub(crate) struct PopQuickly<'a, T>(pub(crate) &'a mut Carrier<T>);

impl<C: Fills> Use<C> for PopQuickly<'_, C::Item> {
    type Output = bool;

    #[inline(always)]
    fn run(self, rx: &mut C) -> bool {
        rx.pop_quickly(self.0)
    }
}

/// A pop into a carrier, and whether anything was done.
pub(crate) struct PopInto<'a, T>(pub(crate) &'a mut Carrier<T>);

impl<C: Fills> Use<C> for PopInto<'_, C::Item> {
    type Output = (Result<(), TryPopError>, bool);

    #[inline(always)]
    fn run(self, rx: &mut C) -> Self::Output {
        let popped = rx.pop_into(self.0);
        (popped, popped.is_ok())
    }
}

/// A producer that empties carriers.
pub(crate) trait Empties: Producer {
    /// As [`try_push`](Producer::try_push), of the item in the carrier, which stays there if there
    /// is no room. Returns whether there was room.
    fn push_from(&mut self, item: &mut Carrier<Self::Item>) -> bool;

    /// As [`push_from`](Self::push_from), but calls no function. `false` doesn't mean that the
    /// queue is full.
    fn push_quickly(&mut self, item: &mut Carrier<Self::Item>) -> bool;
}

/// A consumer that fills carriers.
pub(crate) trait Fills: Consumer {
    /// As [`try_pop`](Consumer::try_pop), into an empty carrier.
    fn pop_into(&mut self, item: &mut Carrier<Self::Item>) -> Result<(), TryPopError>;

    /// As [`pop_into`](Self::pop_into), but calls no function. Returns whether there is an item.
    /// `false` doesn't mean that the queue is empty.
    fn pop_quickly(&mut self, item: &mut Carrier<Self::Item>) -> bool;
}
