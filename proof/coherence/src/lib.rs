//! A deterministic simulator of cores, caches and the coherence traffic between them.
//!
//! Threads are coroutines on one host thread, each on a virtual core with its own clock. They
//! report each access to memory to the simulator. The simulator computes its cost: which line came
//! from how far, and how long the core waited. It charges the cost to the core and to the place in
//! the source.
//!
//! **Use it** to count the misses of an algorithm per operation and source line, and to see how the
//! misses grow with the number of cores or sockets, on machines that you don't have. **Don't** use
//! it to predict times in nanoseconds: cores are simple, and costs are rounded.
//!
//! # The model
//!
//! - **Order.** The earliest thread or store buffer goes first; chance decides between agents of
//!   the same time. So a run depends only on the program, the [`Machine`] and the seed, as long as
//!   the program's data lie at the same places within pages.
//! - **Cores** execute in order. A load keeps its core until the line arrives. With
//!   [lookahead](Machine::lookahead) the core continues for as many accesses, so that misses
//!   overlap. It does not continue past a [`pause`], which says that the thread waits for the value
//!   that it loads: later loads keep the core, until the thread reads plain data or stores. A load
//!   of a busy line keeps its core until it is served. Stores become visible when all loads before
//!   them are done, and [`work`] begins then. Instructions other than accesses take no time, except
//!   by [`work`], [`compute`] and [`pause`].
//! - **Lines** are in one of the MESI or MOESI states, kept in a directory. A line serves one
//!   request at a time, in the order of requests; but clean copies are sent in parallel. A
//!   read-modify-write keeps the line until it is done.
//! - **Caches** are private to a physical core, and so shared by its threads. They have as much
//!   room as the [machine says](PrivateCache), or never overflow: then there are misses only for
//!   lines that were never touched, and for lines that other cores wrote to or read. A line that
//!   leaves a core's cache is in the L3, which never overflows.
//! - **Stores** wait in a buffer of their core and enter the cache in program order (TSO). Stores
//!   to the line that has just arrived enter together. An [atomic store](store) becomes visible to
//!   other cores when it enters the cache, and to its own core at once. Until the line arrives for
//!   a store, other cores keep their copies. A load reads the value at the time when its request is
//!   served. A [read-modify-write](rmw) and a [fence] wait for the buffer to be empty. So two
//!   threads that each store and then load the other's variable may both miss the other's store, as
//!   on real machines. Nothing else is reordered.
//! - **Sockets** differ in distance only. Memory is equally far from all.
//!
//! Instead of time, a [`Schedule`] can decide the order: by chance or by priorities, to look for
//! bugs. A schedule may delay any thread or store for long. So it finds bugs that can show on
//! machines that keep stores in order, and the seed repeats them.
//!
//! Outside of a run these calls access memory directly, so that the simulated code can also set up
//! and drop its data.

mod buffer;
mod cache;
mod chance;
mod directory;
mod engine;
mod inside;
mod machine;
mod report;
mod schedule;
mod simulation;
mod time;

pub use chance::Chance;
pub use inside::{
    compute, count, fence, fence_all, forget, is_simulated, load, now, pause, read, rmw, store,
    work, write,
};
pub use machine::{
    Costs, Distance, MAX_CORES, Machine, PrivateCache, Protocol, StoreBuffer, Topology,
};
pub use report::{CoreReport, Counters, Deadlock, Report, Site, SiteReport, Stuck};
pub use schedule::Schedule;
pub use simulation::Simulation;
pub use time::Time;
