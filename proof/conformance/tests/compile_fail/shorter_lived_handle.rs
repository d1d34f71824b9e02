//! 15 times error: lifetime may not live long enough

use corelane::fast_forward::{batched as batched_fast_forward, improved as improved_fast_forward};
use corelane::lamport::{batched as batched_lamport, lazy as lazy_lamport};
use corelane::slot::Flagged;
use corelane::{b_queue, block, fast_forward, lamport, line_ring, locked, mc_ring, mc_ring_sane, ring};

/// A producer with a shorter lifetime of items could push items that don't live long enough.
macro_rules! shorten {
    ($($name:ident: $producer:ty => $shorter:ty;)*) => {$(
        fn $name<'a>(tx: $producer) -> $shorter {
            tx
        }
    )*};
}

shorten! {
    lq: lamport::Producer<&'static str> => lamport::Producer<&'a str>;
    llq: lazy_lamport::Producer<&'static str> => lazy_lamport::Producer<&'a str>;
    blq: batched_lamport::Producer<&'static str> => batched_lamport::Producer<&'a str>;
    ffq: fast_forward::Producer<Flagged<&'static str>> => fast_forward::Producer<Flagged<&'a str>>;
    iffq: improved_fast_forward::Producer<Flagged<&'static str>>
        => improved_fast_forward::Producer<Flagged<&'a str>>;
    biffq: batched_fast_forward::Producer<Flagged<&'static str>>
        => batched_fast_forward::Producer<Flagged<&'a str>>;
    mcring: mc_ring::Producer<&'static str> => mc_ring::Producer<&'a str>;
    mcring_sane: mc_ring_sane::Producer<&'static str> => mc_ring_sane::Producer<&'a str>;
    bqueue: b_queue::Producer<Flagged<&'static str>> => b_queue::Producer<Flagged<&'a str>>;
    bbq_spsc: block::single::Producer<&'static str> => block::single::Producer<&'a str>;
    bbq_spmc: block::one_producer::Producer<&'static str> => block::one_producer::Producer<&'a str>;
    bbq: block::shared::Producer<&'static str> => block::shared::Producer<&'a str>;
    ring: ring::Producer<&'static str> => ring::Producer<&'a str>;
    locked: locked::Producer<&'static str> => locked::Producer<&'a str>;
    linering: line_ring::Producer<&'static str> => line_ring::Producer<&'a str>;
}

fn main() {}
