//! ringbuf: `HeapRb`, split into the caching handles its documentation recommends.

use std::marker::PhantomData;

use ringbuf::traits::{Consumer, Producer, Split};
use ringbuf::{HeapCons, HeapProd, HeapRb};

use crate::link::{Link, Rx, Setup, Tx, Word};

pub(super) struct Ringbuf<T>(PhantomData<T>);

impl<T: Word> Link for Ringbuf<T> {
    type Item = T;
    type Tx = HeapProd<T>;
    type Rx = HeapCons<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        Ok(HeapRb::new(setup.capacity).split())
    }
}

impl<T: Word> Tx for HeapProd<T> {
    type Item = T;

    #[inline(always)]
    fn try_push(&mut self, item: T) -> bool {
        Producer::try_push(self, item).is_ok()
    }

    #[inline(always)]
    fn push_batch(&mut self, items: &[T]) -> usize {
        self.push_slice(items)
    }
}

impl<T: Word> Rx for HeapCons<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        Consumer::try_pop(self)
    }

    #[inline(always)]
    fn pop_batch(&mut self, into: &mut [T]) -> usize {
        self.pop_slice(into)
    }
}
