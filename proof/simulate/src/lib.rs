//! The queues on simulated machines: how many cache misses an item costs, and which line of the
//! source causes them.
//!
//! The queues are the library's own sources, compiled against simulated memory (`corelane-sim`);
//! the machine is [`coherence`]'s. A [`Stream`] is the task of the two sides; [`all`] lists the
//! queues that can run it.
//!
//! ```
//! use corelane_simulate::{Stream, find};
//! use coherence::{Machine, Time};
//!
//! let loads = [Time::ns(0), Time::ns(500)];
//! let stream = Stream { capacity: 256, loads, ..Stream::new(Machine::i7().counting()) };
//! let run = find("lq").unwrap().stream(&stream)?;
//! // Lamport's queue with a fast producer: three misses per item and side.
//! assert_eq!([0, 1].map(|side| run.sides[side].misses_per_item().round()), [3.0, 3.0]);
//! # Ok::<(), corelane_simulate::Failure>(())
//! ```
//!
//! A [`Team`] is several producers and several consumers of one queue; [`team_queues`] lists the
//! queues.
//!
//! [`Switching`] is a switch between clients, each of which has a queue to it and a queue from it.
//!
//! [`Rings`] are three threads around the rings of io_uring; [`rings_queues`] lists what takes their
//! place.
//!
//! [`Stealing`] is the owner of a work-stealing queue and its thieves, or a pool of threads;
//! [`steal_queues`] lists the queues.
//!
//! The same queues can be tested: [`Queue::test`] runs whole chains of them under schedules that
//! look for bugs, and returns a seed that shows one. [`StealTest::test`] does so with owners and
//! thieves.
//!
//! # What is simulated
//!
//! All shared memory: each atomic, and each line of a slot that an item covers. Lent slots are
//! charged when they are lent. Private memory, in handles and private buffers, costs nothing, and
//! neither does computing. So the counts of misses are the algorithm's. Times include costs other
//! than misses only as far as [`Costs`](coherence::Costs) says.

pub mod account;
mod bench;
mod case;
mod chain;
mod failure;
mod fit;
mod floor;
mod handles;
mod item;
mod killed;
mod ledger;
mod passages;
mod pool;
mod queue;
mod rings;
mod rtt;
mod schedules;
mod several;
mod steal;
mod stream;
mod switch;
mod team;
mod trial;
mod worker;

pub use case::Case;
pub use corelane_history::{Disorder, Spread};
pub use failure::Failure;
pub use fit::Measured;
pub use floor::{block_handoff, line_rtt};
pub use killed::{Killed, Ring, test_killed};
pub use ledger::Counted;
pub use passages::Journey;
pub use queue::{Queue, all, all_shared, find, team_queues};
pub use rings::{Rings, RingsQueue, RingsRun, rings_queues};
pub use several::{Room, test_waiting_for_records};
pub use steal::{
    Policy, StealOrder, StealQueue, StealTask, StealTest, Stealing, StealingRun, StealingThread,
    find_steal, steal_queues, steal_tests,
};
pub use stream::{Payload, Side, Stream, StreamRun};
pub use switch::{Switching, SwitchingRun};
pub use team::{Member, Team, TeamRun, Workload, seats};
pub use trial::{Failed, THREADS, Tested, machine};
