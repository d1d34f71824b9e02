//! Models of the queues: small concurrent programs that loom runs in every execution that the C11
//! memory model allows.
//!
//! A model is a function that panics if in some execution an item is lost, doubled, reordered, or
//! seen before it is ready. [`all`] lists them, and the tests of this crate run each.
//!
//! - `common` holds for every queue, `chunks` for those between one and one, `shared` for those with several
//!   handles on a side: a line in the library's registry brings a queue all of them. `lq` needs no others.
//! - A file per algorithm has the corners that its paper names.
//! - `seeded` has a copy of each algorithm's mechanism with a bug that must be found.
//!
//! Models have two threads, rings of one to eight slots, and counters that wrap on the way. A model
//! is run in all executions if these are fewer than three thousand, otherwise in those with at most
//! three preemptions, or two or one if these are too many as well: [`Exploration`] says which. Those in `shared`
//! have three threads, and at most two preemptions if not all; those in [`big`] have three, and minutes.
//!
//! # The ordering table
//!
//! Each run notes every atomic access with its place and ordering ([`Site`]). A model can be run again
//! with the ordering of one site weaker ([`Model::run_weakened`]). If no model fails then, the ordering
//! is too strong or a model is missing. `lane verify` does this for all sites of all queues.
//!
//! # What loom does not see, and what is done about it
//!
//! - *It hides executions* if a thread loads a variable before it stores to it (tokio-rs/loom#166,
//!   #392). Loads of the facade take turns, which brings them back; see `memory/loom.rs`.
//! - *It never fails a weak compare-and-swap without cause.* The facade does: a model is run once more for
//!   each weak compare-and-swap of each thread. In that run the compare-and-swap fails when the thread first
//!   executes it, and returns a value that a load may see there. (A strong one that fails always sees the newest.)
//! - *It takes sequentially consistent accesses for acquire and release.* The facade refuses them;
//!   a queue that needs more would use `fence(SeqCst)`, which loom takes for a little more than it is: it also orders like an
//!   acquire of all such fences before it. An acquire fence also acquires what other threads have read
//!   before it, if that happens before.
//! - *What reads and writes in one step sees the newest value in the order of execution.* So an order that
//!   matters only between such steps of two variables can't be shown to be needed.
//! - *It remembers [seven values](LOOM_KEEPS_VALUES) of a variable.* Runs count them, and the tests
//!   refuse models with more.
//! - *It is fair*: a thread that has waited never sees a value older than one it could see before.
//! - *Its condition variables* wake no thread without cause, and the one first that has waited longest.
//! - *It has five threads at most*, of which models use two or three.
//! - *Loads see stores that were already done*: there is no load buffering. That, compilers, and
//!   everything else that is not in a model are left to histories at full speed and to
//!   ThreadSanitizer.

mod b_queue;
mod batched_lamport;
mod big;
mod block;
mod bytes;
mod chunks;
mod common;
mod explore;
mod fast_forward;
mod hazard;
mod improved_fast_forward;
mod item;
mod lazy_lamport;
mod line_ring;
mod locked;
mod mc_ring;
mod narrow;
mod overwrite;
mod queue;
mod ring;
mod rings;
mod scq;
mod seeded;
mod seq_ring;
mod shared;
mod site;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod stacks;
mod thread;
mod unbounded;
mod watcher;

use std::collections::BTreeSet;
use std::fmt;

use std::panic::RefUnwindSafe;
use std::sync::Arc;

use corelane_loom::Queue;
use corelane_loom::list::michael_scott::Msq;
use corelane_loom::ring::{HeadTail, Ring};
use corelane_loom::scq::Scq;
use serde::{Deserialize, Serialize};

use item::{Cargo, Number, Ticket};
use overwrite::Pair;
use queue::{SharedSubject, SingleSubject};

pub use explore::{both, explore};
pub use seeded::{Seeded, canary, seeded};
pub use site::{Op, Site, Strength, source, source_name, sources};

/// Which slots of a queue a model is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items {
    /// Items of any type.
    Any,
    /// Tokens in slots of one word.
    Tokens,
}

/// A program to be run in all its executions.
#[derive(Clone)]
pub struct Model {
    /// Id of the queue's algorithm.
    pub queue: &'static str,
    /// Which of its slots.
    pub items: Items,
    /// What the program does.
    pub name: &'static str,
    run: Arc<dyn Fn() -> Exploration + Send + Sync + RefUnwindSafe>,
}

/// What was run of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exploration {
    /// How many executions.
    pub executions: usize,
    /// Only those in which a thread that could go on is interrupted at most so often, if there is a
    /// bound.
    pub preemptions: Option<usize>,
    /// Every atomic access, with the ordering that the source asks for.
    pub sites: BTreeSet<Site>,
    /// How many weak compare-and-swaps were also run with a failure that had no cause.
    pub spurious_failures: usize,
    /// Most values that a variable had had when it was read, in an execution, while there were two threads. [loom keeps
    /// the last seven](LOOM_KEEPS_VALUES).
    pub most_values: usize,
    /// Whether an ordering was weakened, as it was to be.
    pub weakened: bool,
}

impl Exploration {
    /// Adds executions of the same model.
    fn add(&mut self, more: Self) {
        self.executions += more.executions;
        self.preemptions = match (self.preemptions, more.preemptions) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.sites.extend(more.sites);
        self.spurious_failures += more.spurious_failures;
        self.most_values = self.most_values.max(more.most_values);
        self.weakened |= more.weakened;
    }
}

/// Most executions of a model of which loom sees nothing, neither atomics nor cells: which of the two
/// threads goes first is a choice nevertheless.
pub const VACUOUS: usize = 2;

/// How many values of a variable loom remembers. A load never sees an older one.
pub const LOOM_KEEPS_VALUES: usize = 7;

/// An ordering that is to be weaker than the source has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weakening {
    /// Where.
    pub site: Site,
    /// Which ordering it gets.
    pub to: Strength,
}

impl Model {
    /// A model of a queue. `run` panics if an execution goes wrong.
    pub fn new(
        queue: &'static str,
        items: Items,
        name: &'static str,
        run: impl Fn() -> Exploration + Send + Sync + RefUnwindSafe + 'static,
    ) -> Self {
        Self { queue, items, name, run: Arc::new(run) }
    }

    /// The same model, of a variant of its queue that has no id.
    fn variant(self, of: &str) -> Self {
        Self { name: format!("{}_{of}", self.name).leak(), ..self }
    }

    /// Runs the model in all executions. Panics if one goes wrong.
    pub fn run(&self) -> Exploration {
        (self.run)()
    }

    /// Runs the model with a weaker ordering at one site. Panics if that one is too weak.
    pub fn run_weakened(&self, weakening: &Weakening) -> Exploration {
        watcher::with_weakening(weakening, || self.run())
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Model({self})")
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = if self.items == Items::Tokens { "tokens::" } else { "" };
        write!(f, "{}::{tokens}{}", self.queue, self.name)
    }
}

impl fmt::Display for Exploration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} executions", self.executions)?;
        match self.preemptions {
            Some(most) => write!(f, " with at most {most} preemptions"),
            None => f.write_str(", which are all"),
        }
    }
}

/// All models of all queues.
pub fn all() -> Vec<Model> {
    let mut models = by_registry();
    models.extend(lazy_lamport::models());
    models.extend(batched_lamport::models());
    models.extend(mc_ring::models());
    models.extend(fast_forward::models());
    models.extend(improved_fast_forward::models());
    models.extend(b_queue::models());
    models.extend(line_ring::models());
    models.extend(block::models());
    models.extend(overwrite::models());
    models.extend(seq_ring::models());
    models.extend(bytes::models());
    models.extend(ring::models());
    models.extend(scq::models());
    models.extend(locked::models());
    models.extend(unbounded::models());
    models.extend(rings::models());
    models.retain(|model| !is_left_out(model));
    models
}

/// The models that every queue has by its line in the library's registry.
fn by_registry() -> Vec<Model> {
    let mut models = Vec::new();
    macro_rules! add {
        (single any uspsc: $queue:ty) => {
            models.extend(of_single(unbounded::uspsc()));
        };
        (single any $id:ident: $queue:ty) => {
            models.extend(of_single(SingleSubject::wide::<$queue>()));
        };
        (single token $id:ident: $queue:ty) => {
            models.extend(of_single(SingleSubject::tokens::<$queue>()));
        };
        (shared any $id:ident: $queue:ty) => {
            models.extend(of_shared(SharedSubject::new::<$queue>()));
        };
        (shared plain $id:ident: $queue:ty) => {
            let overwriting = SharedSubject::<Pair, Pair>::new::<$queue>();
            models.extend(shared::models_where_all_fits(overwriting));
        };
        ($($other:tt)*) => {};
    }
    corelane_loom::for_each_queue!(add);
    models
}

fn of_single<T: Cargo, N: Cargo + Copy>(subject: SingleSubject<T, N>) -> Vec<Model> {
    let SingleSubject { of, tickets, .. } = subject;
    if !of.info.bounded {
        return unbounded::of_queue(subject);
    }
    let mut models = common::models(of, tickets);
    models.extend(chunks::models(subject));
    models
}

fn of_shared(subject: SharedSubject<Ticket, Number>) -> Vec<Model> {
    let SharedSubject { of, tickets, .. } = subject;
    if !of.info.bounded {
        return rings::of_queue(subject);
    }
    let mut models = common::models(of, tickets);
    models.extend(shared::models(subject));
    models
}

/// Models of parts of different queues that work together. Each part's orderings are shown to be needed in its own queue's
/// models; so these are tests, and not in the table, where the parts would stand again.
pub fn mixed() -> Vec<Model> {
    let mut models = ring::mixed();
    models.extend(unbounded::mixed());
    models
}

/// Models with one thread more, which take too long to be among [`all`]: minutes each.
pub fn big() -> Vec<Model> {
    let mut models = Vec::new();
    macro_rules! add {
        (single any $id:ident: $queue:ty) => {
            let SingleSubject { of, tickets, .. } = SingleSubject::wide::<$queue>();
            models.extend(of.info.bounded.then(|| big::model(of, tickets)));
        };
        (single token $id:ident: $queue:ty) => {
            let SingleSubject { of, tickets, .. } = SingleSubject::tokens::<$queue>();
            models.extend(of.info.bounded.then(|| big::model(of, tickets)));
        };
        ($($other:tt)*) => {};
    }
    corelane_loom::for_each_queue!(add);
    models
}

/// Whether a model that every queue has is left out for one: it would change a variable more often than [loom
/// remembers](LOOM_KEEPS_VALUES), or is long and about what the queue doesn't have.
fn is_left_out(model: &Model) -> bool {
    let left_out: &[&str] = match model.queue {
        // Each call changes its side's only word twice.
        id if id == <Ring<HeadTail> as Queue<Ticket>>::INFO.id => &[
            "order_past_another_producer",
            "false_empty_behind_a_head",
            "producer_a_lap_behind",
            "another_producer_goes",
            "another_consumer_goes",
        ],
        // A call that finds no index to take makes both sides advance by a position, as often as the sides meet.
        id if id == <Scq as Queue<Ticket>>::INFO.id => &[
            "transfer",
            "transfer_three",
            "pool_of_buffers",
            "another_consumer_comes",
            "another_consumer_goes",
            "consumer_a_lap_behind",
            // It has no blocks, and a handle that is alone is like any other.
            "two_producers_in_a_block",
            "two_consumers_in_a_block",
            "two_consumers_empty_a_block",
            "another_producer_comes",
        ],
        // It has no blocks.
        "lcrq" | "lprq" => &[
            "two_producers_in_a_block",
            "two_consumers_in_a_block",
            "another_producer_comes",
            "another_consumer_comes",
        ],
        // Nor any room when the consumers have gone.
        id if id == <Msq as Queue<Ticket>>::INFO.id => &[
            "two_producers_in_a_block",
            "two_consumers_in_a_block",
            "another_producer_comes",
            "another_consumer_comes",
            "slices_of_two_producers",
            "slices_of_two_consumers",
            "handles_come_and_go",
            "false_empty_of_a_block",
            "false_empty_behind_a_head",
        ],
        _ => &[],
    };
    left_out.contains(&model.name)
}
