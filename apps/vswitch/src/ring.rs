//! Rings by name, whose handles wait.

use corelane::{
    BoxedSingleConsumer, BoxedSingleProducer, Built, Config, Queue, SingleQueue, for_each_queue,
    wait,
};
use corelane_report::{Failure, unknown};
use vswitch_core::Frame;

/// The sending side of a ring.
pub type Sending = wait::Producer<BoxedSingleProducer<Frame>>;
/// The receiving side of a ring.
pub type Receiving = wait::Consumer<BoxedSingleConsumer<Frame>>;

type New = fn(Config) -> Built<BoxedSingleProducer<Frame>, BoxedSingleConsumer<Frame>>;

/// A kind of rings.
#[derive(Debug, Clone, Copy)]
pub struct Ring {
    id: &'static str,
    new: New,
}

/// All rings between one producer and one consumer.
fn all() -> Vec<Ring> {
    let mut all = Vec::new();
    macro_rules! add {
        (single $items:ident $id:ident: $queue:ty) => {
            add_bounded::<$queue>(&mut all);
        };
        ($($other:tt)*) => {};
    }
    for_each_queue!(add);
    all
}

fn add_bounded<Q: SingleQueue<Frame> + 'static>(all: &mut Vec<Ring>) {
    let info = <Q as Queue<Frame>>::INFO;
    if info.bounded {
        all.push(Ring { id: info.id, new: Q::boxed_single });
    }
}

impl Ring {
    /// The ring with this name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn find(name: &str) -> Result<Self, Failure> {
        let (all, id) = (all(), name.replace('_', "-"));
        let found = all.iter().find(|ring| ring.id == id).copied();
        found.ok_or_else(|| unknown(name, all.iter().map(|ring| ring.id)))
    }

    /// The names of all rings.
    pub fn names() -> Vec<&'static str> {
        all().into_iter().map(|ring| ring.id).collect()
    }

    /// A new ring for at least `capacity` packets.
    ///
    /// # Errors
    ///
    /// If there is no memory for `capacity` packets.
    pub fn open(self, capacity: usize) -> Result<(Sending, Receiving), Failure> {
        let ring = (self.new)(Config::new(capacity)).map_err(|error| {
            Failure::Usage(format!("{}: {error}; choose another --capacity", self.id))
        });
        ring.map(wait::pair)
    }
}
