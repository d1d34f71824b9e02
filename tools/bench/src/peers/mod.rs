//! Queues of other crates, each used as its documentation recommends.
//!
//! Channels that can block are used through their non-blocking calls, like all other queues here:
//! both threads have a core of their own. Peers don't say whether the other side is gone: the
//! answer is always no.

pub(crate) mod crates;
#[cfg(feature = "dpdk")]
mod dpdk;

use std::sync::mpsc;

use corelane::{Queue, Sides};

use crate::catalogue::{Entry, EntryKind};
use crate::payload::{Indirect, Parcel, Payload};
use crate::queues::Subject;

/// The answers that peers don't give, and how their handles are cloned.
macro_rules! answers {
    ($($clone:ident)?) => {
        fn capacity(&self) -> usize {
            usize::MAX
        }

        fn is_closed(&self) -> bool {
            false
        }

        $(fn try_clone(&self) -> Option<Self> {
            Some(Self(self.0.$clone()))
        })?
    };
}

/// Makes `$tx` around a peer's sender a producer. `$push` returns whether it took the item.
macro_rules! producer {
    ($tx:ident($sender:ty) $(with $clone:ident)?: |$this:ident, $item:ident| $push:expr
     $(; slice |$slicer:ident, $items:ident| $slice:expr)?) => {
        struct $tx<T: Copy + Send + 'static>($sender);

        impl<T: Copy + Send + 'static> corelane::Producer for $tx<T> {
            type Item = T;

            #[inline(always)]
            fn try_push(&mut self, $item: T) -> Result<(), corelane::TryPushError<T>> {
                let $this = &mut self.0;
                if $push { Ok(()) } else { Err(corelane::TryPushError::Full($item)) }
            }

            $(#[inline(always)]
            fn push_slice(&mut self, $items: &[T]) -> usize {
                let $slicer = &mut self.0;
                $slice
            })?

            $crate::peers::answers!($($clone)?);
        }
    };
}

/// Makes `$rx` around a peer's receiver a consumer. `$pop` returns the item, if there is one.
macro_rules! consumer {
    ($rx:ident($receiver:ty) $(with $clone:ident)?: |$this:ident| $pop:expr
     $(; slice |$slicer:ident, $into:ident| $slice:expr)?) => {
        struct $rx<T: Copy + Send + 'static>($receiver);

        impl<T: Copy + Send + 'static> corelane::Consumer for $rx<T> {
            type Item = T;

            #[inline(always)]
            fn try_pop(&mut self) -> Result<T, corelane::TryPopError> {
                let $this = &mut self.0;
                $pop.ok_or(corelane::TryPopError::Empty)
            }

            $(#[inline(always)]
            fn pop_slice(&mut self, $into: &mut [T]) -> usize {
                let $slicer = &mut self.0;
                $slice
            })?

            $crate::peers::answers!($($clone)?);
        }
    };
}

/// A peer as a queue with these handles, made for `$capacity` items.
macro_rules! queue {
    ($queue:ident: $tx:ident, $rx:ident, |$capacity:ident| $open:expr; $($info:tt)*) => {
        struct $queue;

        impl<T: Copy + Send + Sync + 'static> corelane::Queue<T> for $queue {
            const INFO: corelane::Info = corelane::Info { $($info)*, ..corelane::Info::RING };
            type Producer = $tx<T>;
            type Consumer = $rx<T>;

            fn with(config: corelane::Config) -> corelane::Built<$tx<T>, $rx<T>> {
                let $capacity = config.capacity;
                let (tx, rx) = $open;
                Ok(($tx(tx), $rx(rx)))
            }
        }
    };
}

pub(crate) use answers;
pub(crate) use {consumer, producer, queue};

producer!(StdSyncSender(mpsc::SyncSender<T>) with clone: |tx, item| tx.try_send(item).is_ok());
producer!(StdSender(mpsc::Sender<T>) with clone: |tx, item| tx.send(item).is_ok());
consumer!(StdReceiver(mpsc::Receiver<T>): |rx| rx.try_recv().ok());
queue!(StdChannel: StdSyncSender, StdReceiver, |capacity| mpsc::sync_channel(capacity);
       id: "std-channel", name: "channel, sync_channel", sides: Sides::ManyToOne);
queue!(StdUnbounded: StdSender, StdReceiver, |_capacity| mpsc::channel();
       id: "std-unbounded", name: "channel, unbounded", sides: Sides::ManyToOne, bounded: false);

/// A peer of the standard library.
pub(crate) fn of_std() -> EntryKind {
    EntryKind::Peer { package: "std", version: "of the compiler".into() }
}

/// What the system offers.
pub(crate) fn of_system() -> EntryKind {
    EntryKind::Peer { package: "system", version: "of the machine".into() }
}

/// All peers.
pub(crate) fn entries() -> Vec<Subject> {
    let std = [peer::<u64, StdChannel>(of_std()), peer::<u64, StdUnbounded>(of_std())];
    let peers = crates::entries().into_iter().chain(std);
    #[cfg(feature = "dpdk")]
    let peers = peers.chain(dpdk::entries());
    peers.collect()
}

fn peer<N, Q>(kind: EntryKind) -> Subject
where
    N: Payload,
    Q: Queue<N> + Queue<Indirect> + Queue<Parcel> + 'static,
{
    let entry = Entry::other(<Q as Queue<N>>::INFO, kind);
    Subject::of::<N, Parcel, Q>(entry).with_spsc::<N, Q>()
}
