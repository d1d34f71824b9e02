//! A handle in a field of a struct, as most programs keep it.

use corelane::{Consumer, Producer, TryPopError, TryPushError};

/// A handle beside other data. Each call goes through a method that isn't inlined, so the compiler
/// keeps no part of the handle in registers from one call to the next.
pub(crate) struct Field<H> {
    handle: H,
    /// Items that were pushed or popped.
    moved: u64,
}

impl<H> Field<H> {
    pub(crate) fn of(handle: H) -> Self {
        Self { handle, moved: 0 }
    }
}

impl<P: Producer> Field<P> {
    #[inline(never)]
    fn push(&mut self, item: P::Item) -> bool {
        let is_pushed = self.handle.try_push(item).is_ok();
        self.moved += u64::from(is_pushed);
        is_pushed
    }
}

impl<C: Consumer> Field<C> {
    #[inline(never)]
    fn pop(&mut self) -> Option<C::Item> {
        let item = self.handle.try_pop().ok();
        self.moved += u64::from(item.is_some());
        item
    }
}

impl<P: Producer<Item: Copy>> Producer for Field<P> {
    type Item = P::Item;

    #[inline(always)]
    fn try_push(&mut self, item: P::Item) -> Result<(), TryPushError<P::Item>> {
        if self.push(item) { Ok(()) } else { Err(TryPushError::Full(item)) }
    }

    fn capacity(&self) -> usize {
        self.handle.capacity()
    }

    fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }

    fn flush(&mut self) {
        self.handle.flush();
    }
}

impl<C: Consumer> Consumer for Field<C> {
    type Item = C::Item;

    #[inline(always)]
    fn try_pop(&mut self) -> Result<C::Item, TryPopError> {
        self.pop().ok_or(TryPopError::Empty)
    }

    fn capacity(&self) -> usize {
        self.handle.capacity()
    }

    fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }
}
