//! What the handles of lanes know of other processes, and those of queues between threads don't.

use std::time::Duration;

use corelane::shm::{self, Peer};
use corelane::wait::{self, Local, bytes};

/// A handle that may be that of a lane.
pub(crate) trait Meets {
    /// Items that this side of the lane has pushed or popped.
    fn position(&self) -> u64 {
        0
    }

    /// The process on the other side. `None` between threads.
    fn peer(&self) -> Option<Peer> {
        None
    }

    fn wait_for_peer(&self, _: Duration) -> bool {
        true
    }
}

impl<P> Meets for wait::Producer<P, Local> {}
impl<C> Meets for wait::Consumer<C, Local> {}
impl<P> Meets for bytes::Producer<P, Local> {}
impl<C> Meets for bytes::Consumer<C, Local> {}

/// Implements it for a handle of lanes. `position` if the handle has one.
macro_rules! meets {
    ($($handle:ty [$($generic:tt)*] $($position:ident)?;)*) => {$(
        impl<$($generic)*> Meets for $handle {
            $(fn position(&self) -> u64 {
                <$handle>::$position(self)
            })?

            fn peer(&self) -> Option<Peer> {
                Some(<$handle>::peer(self))
            }

            fn wait_for_peer(&self, timeout: Duration) -> bool {
                <$handle>::wait_for_peer(self, timeout)
            }
        }
    )*};
}

meets! {
    shm::Producer<[u8; N]> [const N: usize] position;
    shm::Consumer<[u8; N]> [const N: usize] position;
    shm::ManyProducer<[u8; N]> [const N: usize];
    shm::ManyConsumer<[u8; N]> [const N: usize];
    shm::Publisher<[u8; N]> [const N: usize] position;
    shm::Subscriber<[u8; N]> [const N: usize] position;
    shm::RecordProducer [] position;
    shm::RecordConsumer [] position;
}
