//! The queues that are measured, and the collections that are floors.

use std::collections::VecDeque;

use corelane::steal::Stealer;

use super::{Deque, Order, Stealing, Thief, other, ours, with};
use crate::peers::of_std;

/// Makes a queue one that is measured: its types, and how it is made, put to and got from.
macro_rules! deque {
    ($deque:ty, $thief:ty: |$capacity:ident| $new:expr, |$of:ident| $stealer:expr,
     |$to:ident, $item:ident| $put:expr, |$from:ident| $get:expr, |$victim:ident| $steal:expr $(, $more:item)*) => {
        impl Deque for $deque {
            type Thief = $thief;

            fn new($capacity: usize) -> Self {
                $new
            }

            fn thief(&self) -> Option<$thief> {
                let $of = self;
                $stealer
            }

            #[inline(always)]
            fn put(&mut self, $item: u64) -> bool {
                let $to = self;
                $put
            }

            #[inline(always)]
            fn get(&mut self) -> Option<u64> {
                let $from = self;
                $get
            }
        }

        impl Thief for $thief {
            #[inline(always)]
            fn steal(&self) -> Option<u64> {
                let $victim = self;
                $steal
            }

            $($more)*
        }
    };
}

const SMALL: &str = "there is memory for the queue";

/// Makes a queue of corelane one that is measured.
macro_rules! ours {
    ($order:ident $id:ident: $($module:tt)+) => {
        deque!($($module)+::Worker<u64>, $($module)+::Stealer<u64>: |n| $($module)+::queue(n).expect(SMALL), |worker| Some(worker.stealer()),
            |worker, item| worker.try_push(item).is_ok(), |worker| worker.try_pop().ok(), |thief| thief.try_steal().ok(),
            #[inline(always)]
            fn steal_sampled(&self, random: u64) -> Option<u64> {
                Stealer::try_steal_sampled(self, random, 1).ok()?.next()
            },
            fn len(&self) -> usize {
                Stealer::len(self)
            });
    };
}

corelane::for_each_steal_queue!(ours);

/// There are none.
enum None {}

impl Thief for None {
    fn steal(&self) -> Option<u64> {
        match *self {}
    }
}

/// A collection of one thread.
struct Alone<C>(C);

impl Deque for Alone<Vec<u64>> {
    type Thief = None;

    fn new(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    fn thief(&self) -> Option<None> {
        Option::None
    }

    #[inline(always)]
    fn put(&mut self, item: u64) -> bool {
        self.0.push(item);
        true
    }

    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        self.0.pop()
    }
}

impl Deque for Alone<VecDeque<u64>> {
    type Thief = None;

    fn new(capacity: usize) -> Self {
        Self(VecDeque::with_capacity(capacity))
    }

    fn thief(&self) -> Option<None> {
        Option::None
    }

    #[inline(always)]
    fn put(&mut self, item: u64) -> bool {
        self.0.push_back(item);
        true
    }

    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        self.0.pop_front()
    }
}

pub(super) fn entries() -> Vec<Stealing> {
    let mut entries = Vec::new();
    macro_rules! add {
        ($order:ident $id:ident: $($module:tt)+) => {
            entries.push(ours::<$($module)+::Worker<u64>>(Order::$order, $($module)+::INFO));
        };
    }
    corelane::for_each_steal_queue!(add);
    entries.extend([
        with::<Alone<Vec<u64>>>(other("vec", "Vec", of_std()), Order::Lifo, false),
        with::<Alone<VecDeque<u64>>>(other("vecdeque", "VecDeque", of_std()), Order::Fifo, false),
    ]);
    entries.extend(peers::entries());
    entries
}

mod peers {
    use crossbeam::deque as crossbeam;
    use st3::{fifo, lifo};

    use super::{Deque, Order, Stealing, Thief, other, with};
    use crate::peers::crates::kind;

    /// A queue of crossbeam, of either order.
    struct Crossbeam<const FIFO: bool>(crossbeam::Worker<u64>);

    impl<const FIFO: bool> Deque for Crossbeam<FIFO> {
        type Thief = crossbeam::Stealer<u64>;

        fn new(_: usize) -> Self {
            Self(if FIFO { crossbeam::Worker::new_fifo() } else { crossbeam::Worker::new_lifo() })
        }

        fn thief(&self) -> Option<Self::Thief> {
            Some(self.0.stealer())
        }

        #[inline(always)]
        fn put(&mut self, item: u64) -> bool {
            self.0.push(item);
            true
        }

        #[inline(always)]
        fn get(&mut self) -> Option<u64> {
            self.0.pop()
        }
    }

    impl Thief for crossbeam::Stealer<u64> {
        #[inline(always)]
        fn steal(&self) -> Option<u64> {
            crossbeam::Stealer::steal(self).success()
        }

        fn len(&self) -> usize {
            crossbeam::Stealer::len(self)
        }
    }

    /// st3 steals into a queue of the thief's own.
    pub(crate) struct Into<S, W>(S, W);

    deque!(lifo::Worker<u64>, Into<lifo::Stealer<u64>, lifo::Worker<u64>>: |n| Self::new(n), |worker| Some(Into(worker.stealer(), lifo::Worker::new(2))),
        |worker, item| worker.push(item).is_ok(), |worker| worker.pop(), |thief| thief.0.steal_and_pop(&thief.1, |_| 1).ok().map(|(item, _)| item));
    deque!(fifo::Worker<u64>, Into<fifo::Stealer<u64>, fifo::Worker<u64>>: |n| Self::new(n), |worker| Some(Into(worker.stealer(), fifo::Worker::new(2))),
        |worker, item| worker.push(item).is_ok(), |worker| worker.pop(), |thief| thief.0.steal_and_pop(&thief.1, |_| 1).ok().map(|(item, _)| item));

    pub(super) fn entries() -> Vec<Stealing> {
        let crossbeam = |id| other(id, "crossbeam-deque", kind("crossbeam-deque"));
        let st3 = |id| other(id, "st3", kind("st3"));
        vec![
            with::<Crossbeam<false>>(crossbeam("crossbeam-lifo"), Order::Lifo, true),
            with::<Crossbeam<true>>(crossbeam("crossbeam-fifo"), Order::Fifo, true),
            with::<lifo::Worker<u64>>(st3("st3-lifo"), Order::Lifo, true),
            with::<fifo::Worker<u64>>(st3("st3-fifo"), Order::Fifo, true),
        ]
    }
}
