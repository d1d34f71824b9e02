//! Handles behind a pointer are handles: `&mut P` and `Box<P>`, also of trait objects, and boxes that can be cloned.

use alloc::boxed::Box;

use super::chunk::{LentItems, LentSlots};
use super::config::Backing;
use super::error::{TryPopError, TryPushError};
use super::handle::{Consumer, Producer, SingleConsumer, SingleProducer, debug_handle};

/// The calls of a trait, passed on to the handle `$inner` of `$self`.
macro_rules! pass_on {
    (producer: $self:ident => $inner:expr) => {
        #[inline]
        fn try_push(&mut $self, item: Self::Item) -> Result<(), TryPushError<Self::Item>> {
            $inner.try_push(item)
        }

        fn capacity(&$self) -> usize {
            $inner.capacity()
        }

        fn slack(&$self) -> usize {
            $inner.slack()
        }

        fn is_closed(&$self) -> bool {
            $inner.is_closed()
        }

        fn backing(&$self) -> Backing {
            $inner.backing()
        }

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
    (single_producer: $self:ident => $inner:expr) => {
        fn free_slots(&mut $self, wanted: usize) -> usize {
            $inner.free_slots(wanted)
        }

        unsafe fn lend(&mut $self, n: usize) -> LentSlots<'_, Self::Item> {
            // SAFETY: the caller's.
            unsafe { $inner.lend(n) }
        }

        fn lendable(&mut $self, wanted: usize) -> usize {
            $inner.lendable(wanted)
        }

        unsafe fn publish(&mut $self, n: usize) {
            // SAFETY: the caller's.
            unsafe { $inner.publish(n) };
        }

        fn refusal(&$self) -> TryPushError<()> {
            $inner.refusal()
        }

        fn is_full(&mut $self) -> bool {
            $inner.is_full()
        }
    };
    (consumer: $self:ident => $inner:expr) => {
        #[inline]
        fn try_pop(&mut $self) -> Result<Self::Item, TryPopError> {
            $inner.try_pop()
        }

        fn capacity(&$self) -> usize {
            $inner.capacity()
        }

        fn is_closed(&$self) -> bool {
            $inner.is_closed()
        }

        fn backing(&$self) -> Backing {
            $inner.backing()
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
    (single_consumer: $self:ident => $inner:expr) => {
        fn available(&mut $self, wanted: usize) -> usize {
            $inner.available(wanted)
        }

        unsafe fn lend(&mut $self, n: usize) -> LentItems<'_, Self::Item> {
            // SAFETY: the caller's.
            unsafe { $inner.lend(n) }
        }

        fn lendable(&mut $self, wanted: usize) -> usize {
            $inner.lendable(wanted)
        }

        unsafe fn release(&mut $self, n: usize) {
            // SAFETY: the caller's.
            unsafe { $inner.release(n) };
        }

        fn len(&mut $self) -> usize {
            $inner.len()
        }

        fn is_empty(&mut $self) -> bool {
            $inner.is_empty()
        }

        fn look_again(&mut $self, wanted: usize) -> Result<usize, TryPopError> {
            $inner.look_again(wanted)
        }
    };
}

macro_rules! handles {
    ($([$handle:ident] $pointer:ty;)*) => {$(
        impl<$handle: Producer + ?Sized> Producer for $pointer {
            type Item = $handle::Item;

            pass_on!(producer: self => (**self));
        }

        impl<$handle: SingleProducer + ?Sized> SingleProducer for $pointer {
            pass_on!(single_producer: self => (**self));
        }

        impl<$handle: Consumer + ?Sized> Consumer for $pointer {
            type Item = $handle::Item;

            pass_on!(consumer: self => (**self));
        }

        // SAFETY: the handle behind the pointer lends its own items.
        unsafe impl<$handle: SingleConsumer + ?Sized> SingleConsumer for $pointer {
            pass_on!(single_consumer: self => (**self));
        }
    )*};
}

handles! {
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
/// [`Queue::boxed`](crate::Queue::boxed) makes one of a queue that is chosen at run time. Where no clones are needed,
/// `Box<dyn Producer<Item = T>>` does as well.
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

debug_handle! {
    [T] BoxedProducer<T>, "BoxedProducer";
    [T] BoxedConsumer<T>, "BoxedConsumer";
}
