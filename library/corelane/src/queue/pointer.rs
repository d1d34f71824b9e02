//! Handles behind a pointer are handles: `&mut P` and `Box<P>`, also of trait objects.

use alloc::boxed::Box;

use super::chunk::{LentItems, LentSlots};
use super::config::Backing;
use super::error::{TryPopError, TryPushError};
use super::handle::{Consumer, Producer, SingleConsumer, SingleProducer};

macro_rules! forward {
    ($([$handle:ident] $pointer:ty;)*) => {$(
        impl<$handle: Producer + ?Sized> Producer for $pointer {
            type Item = $handle::Item;

            #[inline]
            fn try_push(&mut self, item: Self::Item) -> Result<(), TryPushError<Self::Item>> {
                (**self).try_push(item)
            }

            fn capacity(&self) -> usize {
                (**self).capacity()
            }

            fn slack(&self) -> usize {
                (**self).slack()
            }

            fn is_closed(&self) -> bool {
                (**self).is_closed()
            }

            fn backing(&self) -> Backing {
                (**self).backing()
            }

            fn flush(&mut self) {
                (**self).flush();
            }

            fn push_slice(&mut self, items: &[Self::Item]) -> usize
            where
                Self::Item: Copy,
            {
                (**self).push_slice(items)
            }
        }

        impl<$handle: SingleProducer + ?Sized> SingleProducer for $pointer {
            fn free_slots(&mut self, wanted: usize) -> usize {
                (**self).free_slots(wanted)
            }

            unsafe fn lend(&mut self, n: usize) -> LentSlots<'_, Self::Item> {
                // SAFETY: the caller's.
                unsafe { (**self).lend(n) }
            }

            fn lendable(&mut self, wanted: usize) -> usize {
                (**self).lendable(wanted)
            }

            unsafe fn publish(&mut self, n: usize) {
                // SAFETY: the caller's.
                unsafe { (**self).publish(n) };
            }

            fn refusal(&self) -> TryPushError<()> {
                (**self).refusal()
            }

            fn is_full(&mut self) -> bool {
                (**self).is_full()
            }
        }

        impl<$handle: Consumer + ?Sized> Consumer for $pointer {
            type Item = $handle::Item;

            #[inline]
            fn try_pop(&mut self) -> Result<Self::Item, TryPopError> {
                (**self).try_pop()
            }

            fn capacity(&self) -> usize {
                (**self).capacity()
            }

            fn is_closed(&self) -> bool {
                (**self).is_closed()
            }

            fn backing(&self) -> Backing {
                (**self).backing()
            }

            fn lost(&self) -> u64 {
                (**self).lost()
            }

            fn pop_slice(&mut self, into: &mut [Self::Item]) -> usize
            where
                Self::Item: Copy,
            {
                (**self).pop_slice(into)
            }
        }

        // SAFETY: the handle that is pointed to lends its own items, and this adds nothing.
        unsafe impl<$handle: SingleConsumer + ?Sized> SingleConsumer for $pointer {
            fn available(&mut self, wanted: usize) -> usize {
                (**self).available(wanted)
            }

            unsafe fn lend(&mut self, n: usize) -> LentItems<'_, Self::Item> {
                // SAFETY: the caller's.
                unsafe { (**self).lend(n) }
            }

            fn lendable(&mut self, wanted: usize) -> usize {
                (**self).lendable(wanted)
            }

            unsafe fn release(&mut self, n: usize) {
                // SAFETY: the caller's.
                unsafe { (**self).release(n) };
            }

            fn len(&mut self) -> usize {
                (**self).len()
            }

            fn is_empty(&mut self) -> bool {
                (**self).is_empty()
            }

            fn look_again(&mut self, wanted: usize) -> Result<usize, TryPopError> {
                (**self).look_again(wanted)
            }
        }
    )*};
}

forward! {
    [H] &mut H;
    [H] Box<H>;
}
