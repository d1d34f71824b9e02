//! rtrb: a ring for real-time audio, the nearest relative of our Lamport queues.

use std::marker::PhantomData;

use rtrb::{Consumer, Producer, RingBuffer};

use crate::link::{Link, Rx, Setup, Tx, Word};

pub(super) struct Rtrb<T>(PhantomData<T>);

impl<T: Word> Link for Rtrb<T> {
    type Item = T;
    type Tx = Producer<T>;
    type Rx = Consumer<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        Ok(RingBuffer::new(setup.capacity))
    }
}

impl<T: Word> Tx for Producer<T> {
    type Item = T;

    #[inline(always)]
    fn try_push(&mut self, item: T) -> bool {
        self.push(item).is_ok()
    }

    #[inline(always)]
    fn push_batch(&mut self, items: &[T]) -> usize {
        self.push_partial_slice(items).0.len()
    }
}

impl<T: Word> Rx for Consumer<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        self.pop().ok()
    }

    #[inline(always)]
    fn pop_batch(&mut self, into: &mut [T]) -> usize {
        self.pop_partial_slice(into).0.len()
    }
}
