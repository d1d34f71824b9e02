//! Every queue by its id: one line here brings it tests, models, benchmarks and its page in reports.

use crate::queue::{CapacityError, Config, Consumer, Producer, SingleConsumer, SingleProducer};
use crate::slot::Token;

/// Both handles of a new queue.
pub type Built<P, C> = Result<(P, C), CapacityError>;

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

/// What a queue promises, in words, as `lane list` and the reports print it.
#[derive(Debug, Clone, Copy)]
pub struct Info {
    /// Short name used on command lines and in result files.
    pub id: &'static str,
    /// Name in the literature.
    pub name: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// Whom it is between.
    pub sides: Sides,
    /// Progress and order.
    pub guarantee: &'static str,
    /// Whether an item may stay invisible after its push has returned, until a flush.
    pub delayed: bool,
    /// Whether it is ever full.
    pub bounded: bool,
    /// How many items fit, for a ring of N slots.
    pub capacity: &'static str,
    /// When to use it.
    pub choose: &'static str,
    /// When not to.
    pub avoid: &'static str,
}

/// A single-producer single-consumer queue for items of any type.
pub trait SpscQueue {
    /// What it promises.
    const INFO: Info;
    /// Its sending side.
    type Producer<T: Send>: SingleProducer<Item = T> + Send;
    /// Its receiving side.
    type Consumer<T: Send>: SingleConsumer<Item = T> + Send;

    /// A queue for at least `config.capacity` items.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large.
    fn channel<T: Send>(config: Config) -> Built<Self::Producer<T>, Self::Consumer<T>>;
}

/// A single-producer single-consumer queue whose slots are one word, for tokens.
pub trait SpscTokenQueue {
    /// What it promises.
    const INFO: Info;
    /// Its sending side.
    type Producer<T: Token>: SingleProducer<Item = T> + Send;
    /// Its receiving side.
    type Consumer<T: Token>: SingleConsumer<Item = T> + Send;

    /// A queue for at least `config.capacity` tokens.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large.
    fn channel<T: Token>(config: Config) -> Built<Self::Producer<T>, Self::Consumer<T>>;
}

/// A queue for items of any type that may have several handles on one side at least.
pub trait MpmcQueue {
    /// What it promises.
    const INFO: Info;
    /// Whether a call spins until others of its side, who began before, are done. Then one that loses its core
    /// in the middle costs the others theirs.
    const TAKES_TURNS: bool = false;
    /// A sending side.
    type Producer<T: Send>: Producer<Item = T> + Send;
    /// A receiving side.
    type Consumer<T: Send>: Consumer<Item = T> + Send;

    /// A queue for at least `config.capacity` items.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large.
    fn channel<T: Send>(config: Config) -> Built<Self::Producer<T>, Self::Consumer<T>>;

    /// A clone of a sending side, if there may be several.
    fn another_producer<T: Send>(producer: &Self::Producer<T>) -> Option<Self::Producer<T>>;

    /// A clone of a receiving side, if there may be several.
    fn another_consumer<T: Send>(consumer: &Self::Consumer<T>) -> Option<Self::Consumer<T>>;
}

/// A queue for tokens that may have several handles on one side at least.
pub trait MpmcTokenQueue {
    /// What it promises.
    const INFO: Info;
    /// A sending side.
    type Producer<T: Token>: Producer<Item = T> + Send;
    /// A receiving side.
    type Consumer<T: Token>: Consumer<Item = T> + Send;

    /// A queue for at least `config.capacity` tokens, or of rings for so many.
    ///
    /// # Errors
    ///
    /// If the capacity is 0 or too large, or the machine can't do what the algorithm needs.
    fn channel<T: Token>(config: Config) -> Built<Self::Producer<T>, Self::Consumer<T>>;

    /// A clone of a sending side, if there may be several.
    fn another_producer<T: Token>(producer: &Self::Producer<T>) -> Option<Self::Producer<T>>;

    /// A clone of a receiving side, if there may be several.
    fn another_consumer<T: Token>(consumer: &Self::Consumer<T>) -> Option<Self::Consumer<T>>;
}

/// Calls the macro `$with` once for each [`SpscQueue`](crate::SpscQueue), with an identifier and its type.
///
/// All that are bounded, but for `mcring-sane`, which brings a thread of its own and exists only to be measured.
#[macro_export]
macro_rules! for_each_spsc_queue {
    ($with:ident) => {
        $with!(lq, $crate::spsc::lamport::Lq);
        $with!(llq, $crate::spsc::lazy_lamport::Llq);
        $with!(blq, $crate::spsc::batched_lamport::Blq);
        $with!(ffq, $crate::spsc::fast_forward::Ffq);
        $with!(ffq_slip, $crate::spsc::fast_forward::FfqSlip);
        $with!(iffq, $crate::spsc::improved_fast_forward::Iffq);
        $with!(biffq, $crate::spsc::batched_fast_forward::Biffq);
        $with!(mcring, $crate::spsc::mc_ring::McRing);
        $with!(bqueue, $crate::spsc::b_queue::BQueue);
        $with!(linering, $crate::spsc::line_ring::LineRing);
        $with!(bbq_spsc, $crate::spsc::block::BbqSpsc);
    };
}

/// Calls the macro `$with` once for each [`SpscQueue`](crate::SpscQueue) that is never full, with an identifier and its
/// type.
#[macro_export]
macro_rules! for_each_unbounded_spsc_queue {
    ($with:ident) => {
        $with!(dspsc, $crate::spsc::linked::Dspsc);
        $with!(uspsc, $crate::spsc::segmented::Uspsc);
    };
}

/// Calls the macro `$with` once for each [`SpscTokenQueue`](crate::SpscTokenQueue), with an identifier and its type.
#[macro_export]
macro_rules! for_each_spsc_token_queue {
    ($with:ident) => {
        $with!(ffq, $crate::spsc::fast_forward::Ffq);
        $with!(ffq_slip, $crate::spsc::fast_forward::FfqSlip);
        $with!(iffq, $crate::spsc::improved_fast_forward::Iffq);
        $with!(biffq, $crate::spsc::batched_fast_forward::Biffq);
        $with!(bqueue, $crate::spsc::b_queue::BQueue);
    };
}

/// Calls the macro `$with` once for each [`MpmcQueue`](crate::MpmcQueue) that is bounded, with an identifier and its
/// type.
#[macro_export]
macro_rules! for_each_mpmc_queue {
    ($with:ident) => {
        $with!(bbq, $crate::mpmc::block::Bbq);
        $with!(bbq_mpsc, $crate::mpsc::block::BbqMpsc);
        $with!(bbq_spmc, $crate::spmc::block::BbqSpmc);
        $with!(bbq_bytes, $crate::bytes::BbqBytes);
        $with!(ring, $crate::mpmc::ring::Ring<$crate::mpmc::ring::InOrder>);
        $with!(ring_rts, $crate::mpmc::ring::Ring<$crate::mpmc::ring::RelaxedTail>);
        $with!(ring_hts, $crate::mpmc::ring::Ring<$crate::mpmc::ring::HeadTail>);
        $with!(scq, $crate::mpmc::scq::Scq);
        $with!(locked, $crate::mpmc::locked::Locked);
    };
}

/// Calls the macro `$with` once for each [`MpmcQueue`](crate::MpmcQueue) that is never full, with an identifier and its
/// type.
#[macro_export]
macro_rules! for_each_unbounded_mpmc_queue {
    ($with:ident) => {
        $with!(lcrq, $crate::mpmc::lcrq::Lcrq);
        $with!(lprq, $crate::mpmc::lprq::Lprq);
        $with!(msq, $crate::mpmc::michael_scott::Msq);
    };
}

/// Calls the macro `$with` once for each [`MpmcTokenQueue`](crate::MpmcTokenQueue), with an identifier and its type.
#[macro_export]
macro_rules! for_each_mpmc_token_queue {
    ($with:ident) => {
        $with!(lcrq, $crate::mpmc::lcrq::Lcrq);
    };
}
