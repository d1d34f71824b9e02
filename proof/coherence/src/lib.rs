//! A deterministic simulator of cores, caches and the coherence traffic between them.
//!
//! Threads are coroutines on one host thread, each on a virtual core with its own clock. They tell the
//! simulator of each access to memory, and the simulator tells what it would have cost: which line had
//! to come from how far, and how long the core waited. It charges that to the core and to the place in
//! the source.
//!
//! **Use it** to count the misses of an algorithm per operation and source line, and to see how they
//! grow with the number of cores or sockets, on machines one doesn't have.
//! **Don't** use it to predict times in nanoseconds: cores are simple, and costs are rounded.
//!
//! # The model
//!
//! - **Order.** The earliest thread or store buffer goes first; chance decides between
//!   those of the same time. So a run depends on the program, the [`Machine`] and the seed, and on
//!   nothing else, as long as the program's data lie in the same places of a page.
//! - **Cores** execute in order. A load keeps its core until the line is there; or, with
//!   [lookahead](Machine::lookahead), the core goes on, so that misses overlap, up to so many accesses, and
//!   not past a [`pause`], which says that the thread waits for what it loads: what it loads from then on,
//!   until it reads plain data or stores, it needs at once. A load of a busy line keeps its core until it
//!   is served. Stores become visible when all loads before them are done, and [`work`] begins then.
//!   Instructions other than accesses take no time, except by [`work`], [`compute`] and [`pause`].
//! - **Lines** are in one of the MESI or MOESI states, kept in a directory. A line serves one request at a
//!   time, in the order in which they are made; but clean copies are handed out side by side. A
//!   read-modify-write keeps the line until it is done.
//! - **Caches** are private to a physical core, and so shared by its threads. They have as much room as
//!   the [machine says](PrivateCache), or never overflow: then there are misses only for lines never
//!   touched, and for lines that others wrote to or read. What leaves a core's cache is in the L3, which
//!   never overflows.
//! - **Stores** wait in a buffer of their core and enter the cache in program order (TSO), those to the
//!   line that has just come together. An [atomic store](store) becomes visible to others when it does,
//!   and to its own core at once. Until a line comes to such a store, others keep their copies of it. A
//!   load sees what is there when its request is served. A
//!   [read-modify-write](rmw) and a [fence] wait for the buffer to be empty. So two threads that each
//!   store and then load what the other stored may both miss the other's store, as on real machines.
//!   Nothing else is reordered.
//! - **Sockets** differ in distance only. Memory is equally far from all.
//!
//! Instead of time, a [`Schedule`] can decide the order: by chance or by priorities, to look for bugs.
//! A schedule may hold up any thread or store for long, so it finds what could go wrong on machines that keep
//! stores in order, and the seed repeats it.
//!
//! A thread's call outside of a run acts on memory directly, so that data can be set up and torn down
//! by the same code that is simulated.

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
    compute, count, fence, forget, is_simulated, load, now, pause, read, rmw, store, work, write,
};
pub use machine::{
    Costs, Distance, MAX_CORES, Machine, PrivateCache, Protocol, StoreBuffer, Topology,
};
pub use report::{CoreReport, Counters, Deadlock, Report, Site, SiteReport, Stuck};
pub use schedule::Schedule;
pub use simulation::Simulation;
pub use time::Time;
