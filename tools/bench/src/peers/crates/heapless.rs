//! heapless: a ring whose size is part of its type.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

use heapless::spsc::{Consumer, Producer, Queue};

use crate::link::{Link, Rx, Setup, Tx, Word};

/// Slots, of which one stays empty. The documentation asks for a power of two.
const SLOTS: usize = 4096;

pub(super) struct Heapless<T>(PhantomData<T>);

/// The memory of a queue, freed when both handles are gone.
struct Owner<T: Word>(NonNull<Queue<T, SLOTS>>);

// SAFETY: after the split the owner does nothing but free the queue; the handles are `Send`.
unsafe impl<T: Word> Send for Owner<T> {}
// SAFETY: as above; nothing can be done through a shared reference.
unsafe impl<T: Word> Sync for Owner<T> {}

impl<T: Word> Drop for Owner<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box, and both handles, which borrow it, are gone.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

pub(super) struct Sender<T: Word> {
    handle: Producer<'static, T>,
    _owner: Arc<Owner<T>>,
}

pub(super) struct Receiver<T: Word> {
    handle: Consumer<'static, T>,
    _owner: Arc<Owner<T>>,
}

impl<T: Word> Link for Heapless<T> {
    type Item = T;
    type Tx = Sender<T>;
    type Rx = Receiver<T>;

    fn open(setup: &Setup) -> Result<(Self::Tx, Self::Rx), String> {
        if setup.capacity != SLOTS && setup.capacity != SLOTS - 1 {
            return Err(format!("its capacity is compiled in, use --capacity {SLOTS}"));
        }
        let mut queue = NonNull::from(Box::leak(Box::new(Queue::new())));
        // SAFETY: nothing else refers to the queue, and the owner keeps it while a handle lives.
        let (tx, rx) = unsafe { queue.as_mut() }.split();
        let owner = Arc::new(Owner(queue));
        Ok((Sender { handle: tx, _owner: owner.clone() }, Receiver { handle: rx, _owner: owner }))
    }
}

impl<T: Word> Tx for Sender<T> {
    type Item = T;

    #[inline(always)]
    fn try_push(&mut self, item: T) -> bool {
        self.handle.enqueue(item).is_ok()
    }
}

impl<T: Word> Rx for Receiver<T> {
    type Item = T;

    #[inline(always)]
    fn try_pop(&mut self) -> Option<T> {
        self.handle.dequeue()
    }
}
