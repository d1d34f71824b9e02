//! A queue as a type: its handles, its constructor, and its properties.

use alloc::boxed::Box;

use super::config::Config;
use super::error::CapacityError;
use super::handle::{Consumer, Producer, SingleConsumer, SingleProducer};
use super::pointer::{BoxedConsumer, BoxedProducer};

/// Both handles of a new queue.
pub type Built<P, C> = Result<(P, C), CapacityError>;

/// A queue for items of type `T`, for code that is generic over queues.
///
/// Each algorithm implements it for a type without values, once for each kind of its slots.
///
/// ```
/// use corelane::{Config, Consumer, Producer, Queue, line_ring::LineRing, scq::Scq};
///
/// fn there_and_back<Q: Queue<u32>>() -> u32 {
///     let (mut tx, mut rx) = Q::with(Config::new(1)).unwrap();
///     tx.try_push(7).unwrap();
///     rx.try_pop().unwrap()
/// }
///
/// assert_eq!(there_and_back::<LineRing>(), 7);
/// assert_eq!(there_and_back::<Scq>(), 7);
/// ```
pub trait Queue<T> {
    /// The properties of the queue.
    const INFO: Info;
    /// A sending side.
    type Producer: Producer<Item = T> + Send;
    /// A receiving side.
    type Consumer: Consumer<Item = T> + Send;

    /// A queue for at least `config.capacity` items.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large, or the machine can't do what the algorithm needs.
    fn with(config: Config) -> Built<Self::Producer, Self::Consumer>;

    /// As [`with`](Self::with), with the handles in boxes. The types of the boxes are the same for
    /// all queues.
    ///
    /// ```
    /// use corelane::{Config, Consumer, Producer, Queue, block::shared::Bbq, line_ring::LineRing};
    ///
    /// let producers = std::env::args().count();
    /// let config = Config::new(64);
    /// let (mut tx, mut rx) = match producers {
    ///     1 => LineRing::boxed(config)?,
    ///     _ => Bbq::boxed(config)?,
    /// };
    /// tx.try_push(7).unwrap();
    /// assert_eq!(rx.try_pop(), Ok(7));
    /// # Ok::<(), corelane::CapacityError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`with`](Self::with).
    fn boxed(config: Config) -> Built<BoxedProducer<T>, BoxedConsumer<T>>
    where
        Self: 'static,
        T: 'static,
    {
        let (tx, rx) = Self::with(config)?;
        Ok((BoxedProducer::new(tx), BoxedConsumer::new(rx)))
    }
}

/// The only producer of a queue, in a box.
pub type BoxedSingleProducer<T> = Box<dyn SingleProducer<Item = T> + Send>;

/// The only consumer of a queue, in a box.
pub type BoxedSingleConsumer<T> = Box<dyn SingleConsumer<Item = T> + Send>;

/// A [`Queue`] between one producer and one consumer, which lend their slots.
pub trait SingleQueue<T>: Queue<T, Producer: SingleProducer, Consumer: SingleConsumer> {
    /// As [`boxed`](Queue::boxed), with handles that lend their slots.
    ///
    /// # Errors
    ///
    /// As [`with`](Queue::with).
    fn boxed_single(config: Config) -> Built<BoxedSingleProducer<T>, BoxedSingleConsumer<T>>
    where
        Self: 'static,
        T: 'static,
    {
        let (tx, rx) = Self::with(config)?;
        Ok((Box::new(tx), Box::new(rx)))
    }
}

impl<T, Q: Queue<T, Producer: SingleProducer, Consumer: SingleConsumer>> SingleQueue<T> for Q {}

/// How many handles a queue may have on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// One producer, one consumer.
    OneToOne,
    /// Several producers, one consumer.
    ManyToOne,
    /// One producer, several consumers.
    OneToMany,
    /// Several producers, several consumers.
    ManyToMany,
}

impl Sides {
    /// Whether there may be so many producers and consumers.
    pub fn allow(self, producers: usize, consumers: usize) -> bool {
        let many_producers = matches!(self, Self::ManyToOne | Self::ManyToMany);
        let many_consumers = matches!(self, Self::OneToMany | Self::ManyToMany);
        (producers == 1 || many_producers) && (consumers == 1 || many_consumers)
    }
}

/// The properties of a queue, in words, as `lane list` and the reports print them.
#[derive(Debug, Clone, Copy)]
pub struct Info {
    /// Short name used on command lines and in result files.
    pub id: &'static str,
    /// Id of the same algorithm with packed slots, if these slots are not packed.
    pub variant_of: Option<&'static str>,
    /// Name in the literature.
    pub name: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// How many handles each side may have.
    pub sides: Sides,
    /// Progress and order.
    pub guarantee: &'static str,
    /// Whether an item may stay invisible after its push has returned, until a flush.
    pub delayed: bool,
    /// Whether the queue can be full.
    pub bounded: bool,
    /// Whether a push overwrites items that were not popped in time.
    pub overwrites: bool,
    /// Whether items may leave out of turn, also if no call is unfinished:
    /// [`Consumer::relaxation`](crate::Consumer::relaxation) says how far.
    pub relaxed: bool,
    /// Whether a call spins until earlier calls of its side are finished. Then a thread that loses
    /// its core in the middle of a call makes the other threads of its side spin.
    pub takes_turns: bool,
    /// How many items fit when n are asked for.
    pub capacity: &'static str,
    /// When to use the queue: continues "Use it".
    pub choose: &'static str,
    /// When not to use it: continues "Don't use it".
    pub avoid: &'static str,
}

impl Info {
    /// Where a queue's description starts: a bounded ring between one producer and one consumer.
    pub const RING: Self = Self {
        id: "",
        variant_of: None,
        name: "",
        paper: "",
        sides: Sides::OneToOne,
        guarantee: "wait-free FIFO",
        delayed: false,
        bounded: true,
        overwrites: false,
        relaxed: false,
        takes_turns: false,
        capacity: "n, rounded up to a power of two",
        choose: "",
        avoid: "",
    };

    /// The same algorithm with slots for items of any type, where `self` describes its packed
    /// slots.
    pub const fn of_any(self, id: &'static str) -> Self {
        Self { id, variant_of: Some(self.id), ..self }
    }

    /// Id of the algorithm, the same for all kinds of slots.
    pub const fn algorithm(&self) -> &'static str {
        match self.variant_of {
            Some(id) => id,
            None => self.id,
        }
    }
}

/// A type without values that stands for a queue, and its `impl Queue`.
macro_rules! queue_type {
    ($(#[$doc:meta])* $queue:ident of [$($bounds:tt)*] $item:ty: $producer:ty, $consumer:ty = $with:path; $info:expr) => {
        $(#[$doc])*
        #[doc = "A [`Queue`](crate::Queue), for code that is generic over queues."]
        #[derive(Debug)]
        pub struct $queue;

        impl<$($bounds)*> $crate::queue::Queue<$item> for $queue {
            const INFO: $crate::queue::Info = $info;
            type Producer = $producer;
            type Consumer = $consumer;

            fn with(config: $crate::queue::Config) -> $crate::queue::Built<$producer, $consumer> {
                $with(config)
            }
        }
    };
}
pub(crate) use queue_type;
