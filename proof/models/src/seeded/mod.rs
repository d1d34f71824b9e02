//! Bugs that the models must find: a check that cannot fail is worthless.
//!
//! Each is the mechanism of one queue, reduced to the necessary, with a switch that breaks it. The
//! models pass with the switch off. So they find the bug and nothing else.

mod block;
mod bytes;
mod fast_forward;
mod handles;
mod lamport;
mod latest;
mod lease;
mod locked;
mod overwritten;
mod pooled;
mod relaxed;
mod ring;
mod rings;
mod rivals;
mod scq;
mod seat_ring;
mod shared_block;
mod steal;
mod task;
mod unbounded;

use std::fmt;

use crate::faaq::added_in_the_next_lap;
use crate::one_to_one::{attempts, producer_closes, transfer};
use crate::pooled::{nodes_come_back, rings_come_back};
use crate::shared::{two_consumers_and_one_item, two_producers};
use crate::wait::announced_while_rung;
use crate::{Exploration, Items, Model};
use bytes::Records;
use rings::Meetings;
use shared_block::{Block, Bug, Laps};

/// A mechanism with a bug that can be switched off, and a model of it.
#[derive(Debug, Clone, Copy)]
pub struct Seeded {
    /// Id of the queue that has the mechanism.
    pub queue: &'static str,
    /// What is wrong.
    pub bug: &'static str,
    /// Runs the model on the sound mechanism.
    pub sound: fn() -> Exploration,
    /// Runs the model on the broken mechanism. If this doesn't panic, the model misses the bug.
    pub broken: fn() -> Exploration,
}

impl fmt::Display for Seeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.queue, self.bug)
    }
}

/// A seeded bug for every queue.
pub fn seeded() -> Vec<Seeded> {
    macro_rules! seeded {
        ($($queue:literal, $bug:literal: $model:ident, $mechanism:ident::$name:ident;)*) => {
            vec![$(Seeded {
                queue: $queue,
                bug: $bug,
                sound: || $model(handles::of::<$mechanism::$name<false>>),
                broken: || $model(handles::of::<$mechanism::$name<true>>),
            }),*]
        };
    }
    let mut bugs = shared();
    bugs.push(Seeded {
        queue: "bbq-drop-old",
        bug: "uses an item that may have been overwritten",
        sound: overwritten::overwritten_while_read::<false>,
        broken: overwritten::overwritten_while_read::<true>,
    });
    bugs.push(Seeded {
        queue: "seqring",
        bug: "writes to a slot that another producer is still writing to",
        sound: overwritten::two_laps_in_a_slot::<false>,
        broken: overwritten::two_laps_in_a_slot::<true>,
    });
    bugs.extend(seeded! {
        "lq", "publishes with a relaxed store": transfer, lamport::Lamport;
        "llq", "looks again but does not compare again": attempts, lamport::Lazy;
        "blq", "publishes before it writes": transfer, lamport::Batched;
        "mcring", "never publishes a batch that is not full": producer_closes, lamport::McRing;
        "ffq", "clears a slot before it reads the item": transfer, fast_forward::FastForward;
        "iffq", "leaves the first lap unguarded": attempts, fast_forward::Improved;
        "biffq", "looks at the first slot of a batch only": transfer, fast_forward::Batch;
        "bqueue", "goes one slot past the full slot it has found": transfer, fast_forward::BQueue;
        "dspsc", "appends a node before it publishes the item": producer_closes, unbounded::Nodes;
        "uspsc", "leaves a ring that has received an item since it was found empty": producer_closes, unbounded::Rings;
        "bbq-spsc", "gives a block back before it is empty": transfer, block::Blocks;
        "linering", "stores to a line that it has given back": transfer, fast_forward::LineRing;
        "recordring", "shows a record before it has emptied the header behind it": transfer, fast_forward::RecordRing;
        "ring", "publishes its slot before slots that were taken earlier": two_producers, ring::HeadsAndTails;
        "ring-rts", "publishes as many slots as are finished, which may be others": two_producers, ring::RelaxedTails;
        "ring-hts", "takes a slot that another thread is using": two_producers, ring::OneAtATime;
        "lanes", "moves the head though another consumer has the item": two_consumers_and_one_item, ring::Claims;
        "scq", "finds no item and leaves the entry to be filled": two_producers, scq::Positions;
        "msq", "takes an item that is not its own yet": two_consumers_and_one_item, rings::List;
        "msq-pool", "takes a node that has been taken and given back meanwhile": nodes_come_back, pooled::FreeList;
        "lcrq-pool", "enters a ring that has been used again meanwhile": rings_come_back, pooled::CountedRings;
    });
    bugs.push(Seeded {
        queue: "faaq",
        bug: "takes a slot of the next lap by a late addition",
        sound: || added_in_the_next_lap(handles::of::<Laps<false>>, 1, 1),
        broken: || added_in_the_next_lap(handles::of::<Laps<true>>, 1, 1),
    });
    bugs.push(Seeded {
        queue: "seatring",
        bug: "lets consumers look at a record again without a trace",
        sound: seat_ring::set_back::<false>,
        broken: seat_ring::set_back::<true>,
    });
    bugs.push(Seeded {
        queue: "locked",
        bug: "wakes one of two waiting threads",
        sound: locked::two_wait::<false>,
        broken: locked::two_wait::<true>,
    });
    bugs.push(Seeded {
        queue: "lq",
        bug: "sleeps without a look after it has announced itself to the bell",
        sound: announced_while_rung::<false>,
        broken: announced_while_rung::<true>,
    });
    bugs.push(Seeded {
        queue: "bwos-lifo",
        bug: "uses a block again while a thief reads an item that it has taken",
        sound: steal::takeover_during_steal::<false>,
        broken: steal::takeover_during_steal::<true>,
    });
    bugs.push(Seeded {
        queue: "bwos-fifo",
        bug: "looks where the owner is before it marks the owner's block",
        sound: steal::seized_while_popped::<false>,
        broken: steal::seized_while_popped::<true>,
    });
    bugs.push(Seeded {
        queue: "abp",
        bug: "uses a slot again while a thief reads the item that it has claimed",
        sound: rivals::pushed_during_steal::<false>,
        broken: rivals::pushed_during_steal::<true>,
    });
    bugs.push(Seeded {
        queue: "abp",
        bug: "takes an item from the newest buffer, though it was claimed in an older one",
        sound: rivals::grown_during_steal::<false>,
        broken: rivals::grown_during_steal::<true>,
    });
    bugs.push(Seeded {
        queue: "abp-asymmetric",
        bug: "looks where the owner is before the fence",
        sound: rivals::popped_during_steal::<false>,
        broken: rivals::popped_during_steal::<true>,
    });
    bugs.push(Seeded {
        queue: "tokio-ring",
        bug: "gives slots back when a thief claims their items",
        sound: rivals::pushed_before_read::<false>,
        broken: rivals::pushed_before_read::<true>,
    });
    bugs.push(Seeded {
        queue: "leased",
        bug: "looks whether the holder is at work before it revokes the lease",
        sound: lease::revoked_in_use::<false>,
        broken: lease::revoked_in_use::<true>,
    });
    bugs.push(Seeded {
        queue: "leased",
        bug: "latest: drops a message though a receiver has made room",
        sound: latest::sent_while_received::<false>,
        broken: latest::sent_while_received::<true>,
    });
    bugs.extend(task::bugs());
    bugs.extend(relaxed::bugs());
    bugs
}

/// The seeded bugs of queues with several handles on a side.
fn shared() -> Vec<Seeded> {
    /// A number of no bug.
    const SOUND: u8 = u8::MAX;
    macro_rules! shared {
        ($($queue:literal, $bug:literal: $model:ident, $mechanism:ident<$which:path>;)*) => {
            vec![$(Seeded {
                queue: $queue,
                bug: $bug,
                sound: || $model(handles::of::<$mechanism<SOUND>>),
                broken: || $model(handles::of::<$mechanism<{ $which as u8 }>>),
            }),*]
        };
    }
    shared! {
        "bbq", "takes a count of n items for the first n slots": two_producers, Block<Bug::Gaps>;
        "bbq-mpsc", "counts items that it doesn't publish": two_producers, Block<Bug::Relaxed>;
        "bbq-spmc", "lets two consumers take one slot": two_consumers_and_one_item, Block<Bug::Shared>;
        "lcrq", "gives one position to two threads": two_consumers_and_one_item, Meetings<rings::Bug::TwoSteps>;
        "lprq", "publishes an item in a slot that has been given up": two_producers, Meetings<rings::Bug::ShownTooLate>;
        "bbq-bytes", "doesn't count what it skips": two_producers, Records<bytes::Bug::Uncounted>;
        "bbq-bytes", "takes another consumer's item": two_consumers_and_one_item, Records<bytes::Bug::TakenTwice>;
    }
}

/// A queue whose models fail: Lamport's, published with a relaxed store, under an id of its own.
///
/// It is not in [`all`](crate::all). It shows that a broken queue is detected, and how.
pub fn canary() -> Vec<Model> {
    let run = || transfer(handles::of::<lamport::Lamport<true>>);
    vec![Model::new("canary", Items::Any, "transfer", run)]
}
