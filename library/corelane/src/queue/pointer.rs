//! Handles behind a pointer are handles: `&mut P` and `Box<P>`, also of trait objects, and boxes
//! that can be cloned.

use alloc::boxed::Box;

use super::calls::handles;
use super::chunk::{LentItems, LentSlots};
use super::config::Backing;
use super::error::{TryPopError, TryPushError};
use super::handle::{Consumer, LendItems, LendSlots, Producer};

/// The calls of a trait, forwarded to the handle `$inner` of `$self`.
macro_rules! pass_on {
    (both: $self:ident => $inner:expr) => {
        fn capacity(&$self) -> usize {
            $inner.capacity()
        }

        fn slots(&$self) -> usize {
            $inner.slots()
        }

        fn len(&mut $self) -> usize {
            $inner.len()
        }

        fn is_empty(&mut $self) -> bool {
            $inner.is_empty()
        }

        fn is_full(&mut $self) -> bool {
            $inner.is_full()
        }

        fn is_closed(&$self) -> bool {
            $inner.is_closed()
        }

        fn backing(&$self) -> Backing {
            $inner.backing()
        }
    };
    (producer: $self:ident => $inner:expr) => {
        #[inline]
        fn try_push(&mut $self, item: Self::Item) -> Result<(), TryPushError<Self::Item>> {
            $inner.try_push(item)
        }

        pass_on!(both: $self => $inner);

        fn flush(&mut $self) {
            $inner.flush();
        }

        fn push_slice(&mut $self, items: &[Self::Item]) -> usize
        where
            Self::Item: Copy,
        {
            $inner.push_slice(items)
        }
    };
    (lend_slots: $self:ident => $inner:expr) => {
        fn free_up_to(&mut $self, wanted: usize) -> usize {
            $inner.free_up_to(wanted)
        }

        unsafe fn lend(&mut $self, n: usize) -> LentSlots<'_, Self::Item> {
            // SAFETY: the caller's contract.
            unsafe { $inner.lend(n) }
        }

        fn lendable(&mut $self, wanted: usize) -> usize {
            $inner.lendable(wanted)
        }

        unsafe fn publish(&mut $self, n: usize) {
            // SAFETY: the caller's contract.
            unsafe { $inner.publish(n) };
        }

        fn refusal(&$self) -> TryPushError<()> {
            $inner.refusal()
        }
    };
    (consumer: $self:ident => $inner:expr) => {
        #[inline]
        fn try_pop(&mut $self) -> Result<Self::Item, TryPopError> {
            $inner.try_pop()
        }

        pass_on!(both: $self => $inner);

        fn relaxation(&$self) -> usize {
            $inner.relaxation()
        }

        fn lost(&$self) -> u64 {
            $inner.lost()
        }

        fn pop_slice(&mut $self, into: &mut [Self::Item]) -> usize
        where
            Self::Item: Copy,
        {
            $inner.pop_slice(into)
        }
    };
    (lend_items: $self:ident => $inner:expr) => {
        fn filled_up_to(&mut $self, wanted: usize) -> usize {
            $inner.filled_up_to(wanted)
        }

        unsafe fn lend(&mut $self, n: usize) -> LentItems<'_, Self::Item> {
            // SAFETY: the caller's contract.
            unsafe { $inner.lend(n) }
        }

        fn lendable(&mut $self, wanted: usize) -> usize {
            $inner.lendable(wanted)
        }

        unsafe fn release(&mut $self, n: usize) {
            // SAFETY: the caller's contract.
            unsafe { $inner.release(n) };
        }

        fn look_again(&mut $self, wanted: usize) -> Result<usize, TryPopError> {
            $inner.look_again(wanted)
        }
    };
}

macro_rules! pointers {
    ($([$handle:ident] $pointer:ty;)*) => {$(
        impl<$handle: Producer + ?Sized> Producer for $pointer {
            type Item = $handle::Item;

            pass_on!(producer: self => (**self));
        }

        impl<$handle: LendSlots + ?Sized> LendSlots for $pointer {
            pass_on!(lend_slots: self => (**self));
        }

        impl<$handle: Consumer + ?Sized> Consumer for $pointer {
            type Item = $handle::Item;

            pass_on!(consumer: self => (**self));
        }

        // SAFETY: the handle behind the pointer lends its own items.
        unsafe impl<$handle: LendItems + ?Sized> LendItems for $pointer {
            pass_on!(lend_items: self => (**self));
        }
    )*};
}

pointers! {
    [H] &mut H;
    [H] Box<H>;
}

/// A producer that clones itself into a box.
trait CloneProducer: Producer + Send {
    fn boxed_clone(&self) -> Option<BoxedProducer<Self::Item>>;
}

impl<P: Producer + Send + 'static> CloneProducer for P {
    fn boxed_clone(&self) -> Option<BoxedProducer<P::Item>> {
        self.try_clone().map(BoxedProducer::new)
    }
}

/// A consumer that clones itself into a box.
trait CloneConsumer: Consumer + Send {
    fn boxed_clone(&self) -> Option<BoxedConsumer<Self::Item>>;
}

impl<C: Consumer + Send + 'static> CloneConsumer for C {
    fn boxed_clone(&self) -> Option<BoxedConsumer<C::Item>> {
        self.try_clone().map(BoxedConsumer::new)
    }
}

/// A producer of any queue, in a box, which can be cloned if the queue may have several producers.
///
/// [`Queue::boxed`](crate::Queue::boxed) makes one for a queue that is chosen at run time. Without
/// clones, `Box<dyn Producer<Item = T>>` suffices.
pub struct BoxedProducer<T>(Box<dyn CloneProducer<Item = T>>);

/// A consumer of any queue, in a box, which can be cloned if the queue may have several consumers.
///
/// See [`BoxedProducer`].
pub struct BoxedConsumer<T>(Box<dyn CloneConsumer<Item = T>>);

impl<T> BoxedProducer<T> {
    /// `producer` in a box.
    pub fn new(producer: impl Producer<Item = T> + Send + 'static) -> Self {
        Self(Box::new(producer))
    }
}

impl<T> BoxedConsumer<T> {
    /// `consumer` in a box.
    pub fn new(consumer: impl Consumer<Item = T> + Send + 'static) -> Self {
        Self(Box::new(consumer))
    }
}

impl<T> Producer for BoxedProducer<T> {
    type Item = T;

    pass_on!(producer: self => (*self.0));

    fn try_clone(&self) -> Option<Self> {
        // The handle in the box, not the box.
        (*self.0).boxed_clone()
    }
}

impl<T> Consumer for BoxedConsumer<T> {
    type Item = T;

    pass_on!(consumer: self => (*self.0));

    fn try_clone(&self) -> Option<Self> {
        // The handle in the box, not the box.
        (*self.0).boxed_clone()
    }
}

handles! {
    [T] BoxedProducer<T>: producer of T;
    [T] BoxedConsumer<T>: consumer of T;
}
