//! Models of the queues: small concurrent programs that loom runs in every execution that the C11
//! memory model allows.
//!
//! A model is a function that panics if in some execution an item is lost, doubled, reordered, or
//! seen before it is ready. [`all`] lists the models, and the tests of this crate run each.
//!
//! - `one_to_one` has models for every queue, `chunks` for queues between one producer and one
//!   consumer, `shared` for queues with several handles on a side. A line in the library's registry
//!   gives a queue all of these. `lq` needs no others.
//! - A file per algorithm has models of the special cases that its paper names.
//! - `seeded` has a copy of each algorithm's mechanism with a bug that must be found.
//!
//! Models have two threads, rings of one to eight slots, and counters that wrap meanwhile. A model
//! is run in all executions if there are fewer than three thousand. Otherwise it is run in all
//! executions with at most three preemptions, or two or one if there are still too many:
//! [`Exploration`] says which. The models in `shared` have three threads, and at most two
//! preemptions if not all. The models in [`big`] have three threads, and take minutes.
//!
//! # The ordering table
//!
//! Each run notes every atomic access with its place and ordering ([`Site`]). A model can be run
//! again with the ordering of one site weaker ([`Model::run_weakened`]). If no model fails then,
//! the ordering is too strong or a model is missing. `lane verify` does this for all sites of all
//! queues.
//!
//! # What loom does not see, and what is done about it
//!
//! - *It hides executions* if a thread loads a variable before it stores to it (tokio-rs/loom#166,
//!   #392). The facade's loads take turns, so these executions are run; see `memory/loom.rs`.
//! - *It never fails a weak compare-and-swap spuriously.* The facade does: a model is run once more
//!   for each weak compare-and-swap of each thread. In that run the compare-and-swap fails when the
//!   thread first executes it, and returns a value that a load could read. (A strong
//!   compare-and-swap that fails always reads the newest value.)
//! - *It treats sequentially consistent accesses as acquire and release.* The facade refuses them.
//!   A queue that needs more would use `fence(SeqCst)`, which loom makes a little too strong: it
//!   also acquires from all earlier fences of this kind. An acquire fence also acquires from the
//!   loads of other threads that happen before it.
//! - *A read-modify-write reads the newest value in the order of execution.* So an ordering that
//!   matters only between read-modify-writes of two variables can't be shown to be needed.
//! - *It remembers [seven values](LOOM_KEEPS_VALUES) of a variable.* Runs count the values, and the
//!   tests refuse models with more.
//! - *It is fair*: a thread that has waited never sees a value older than one it could see before.
//! - *Its condition variables* have no spurious wake-ups, and wake the thread first that has waited
//!   longest.
//! - *It has at most five threads*. Models use two or three.
//! - *Loads only see earlier stores*: there is no load buffering. Load buffering, compilers, and
//!   everything else that is not in a model are left to histories at full speed and to
//!   ThreadSanitizer.

mod b_queue;
mod batched_lamport;
mod big;
mod block;
mod bytes;
mod channel;
mod chunks;
mod cnq;
mod explore;
mod faaq;
mod fast_forward;
mod fork_join;
mod found;
mod hazard;
mod idle;
mod improved_fast_forward;
mod item;
mod lanes;
mod latest;
mod lazy_lamport;
mod lease;
mod line_ring;
mod locked;
mod mc_ring;
mod one_to_one;
mod overwrite;
mod pooled;
mod queue;
mod record_ring;
mod relaxed;
mod ring;
mod rings;
mod rivals;
mod scq;
mod seat_ring;
mod seeded;
mod seq_ring;
mod shared;
mod site;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod stacks;
mod steal;
mod task;
mod thread;
mod unbounded;
mod wait;
mod watcher;
mod weighed;
mod whole_lines;

use std::collections::BTreeSet;
use std::fmt;

use std::panic::RefUnwindSafe;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use item::{Cargo, Number, Ticket, Wide};
use overwrite::Pair;
use queue::{SharedSubject, SingleSubject};

pub use explore::{both, explore};
pub use found::Run;
pub use seeded::{Seeded, canary, seeded};
pub use site::{Op, Site, Strength, source, source_name, sources};

/// The kind of slots that a model's queue has.
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
    /// The kind of its slots.
    pub items: Items,
    /// What the program does.
    pub name: &'static str,
    run: Arc<dyn Fn() -> Exploration + Send + Sync + RefUnwindSafe>,
}

/// The executions of a model that were run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exploration {
    /// How many executions.
    pub executions: usize,
    /// The bound on preemptions, if there is one: a thread that could continue is interrupted at
    /// most so often.
    pub preemptions: Option<usize>,
    /// The runs of the program: one, and one more for each set of compare-and-swaps that fail
    /// spuriously.
    pub runs: Vec<Run>,
    /// Every atomic access, with the ordering that the source asks for.
    pub sites: BTreeSet<Site>,
    /// How many weak compare-and-swaps were also run with a spurious failure.
    pub spurious_failures: usize,
    /// The largest number of values that a variable had had when a thread read it, in one
    /// execution, while there were two threads. [loom keeps the last seven](LOOM_KEEPS_VALUES).
    pub most_values: usize,
    /// Whether the ordering that was to be weakened was reached.
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
        self.runs.extend(more.runs);
        self.sites.extend(more.sites);
        self.spurious_failures += more.spurious_failures;
        self.most_values = self.most_values.max(more.most_values);
        self.weakened |= more.weakened;
    }
}

/// Most executions of a model in which loom sees no access, neither of atomics nor of cells: loom
/// still chooses which of the two threads runs first.
pub const VACUOUS: usize = 2;

/// How many values of a variable loom remembers. A load never sees an older one.
pub const LOOM_KEEPS_VALUES: usize = 7;

/// An ordering that is to be weaker than in the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weakening {
    /// The access.
    pub site: Site,
    /// The ordering that the access gets.
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

    /// The same model of a variant of its queue that has no id.
    fn variant(self, of: &str) -> Self {
        Self { name: format!("{}_{of}", self.name).leak(), ..self }
    }

    /// Runs the model in all executions, within the bounds that were found before. Panics if an
    /// execution fails.
    pub fn run(&self) -> Exploration {
        self.run_within(found::of(&self.to_string()))
    }

    /// The same within these bounds, each for a run of its program. Without them, or if there are
    /// other numbers of executions, searches for bounds.
    pub fn run_within(&self, runs: &[Run]) -> Exploration {
        found::with(runs, || (self.run)())
    }

    /// Runs the model with a weaker ordering at one site. Panics if the ordering is too weak.
    pub fn run_weakened(&self, weakening: &Weakening) -> Exploration {
        watcher::with_weakening(weakening, || self.run_within(&[]))
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
    models.extend(record_ring::models());
    models.extend(lanes::models());
    models.extend(seat_ring::models());
    models.extend(steal::models());
    models.extend(idle::models());
    models.extend(fork_join::models());
    models.extend(rivals::models());
    models.extend(ring::models());
    models.extend(lease::models());
    models.extend(faaq::models());
    models.extend(scq::models());
    models.extend(locked::models());
    models.extend(unbounded::models());
    models.extend(rings::models());
    models.extend(pooled::models());
    models.extend(wait::models());
    models.extend(channel::models());
    models.extend(weighed::models());
    models.extend(latest::models());
    models.extend(task::models());
    models
}

/// The models that each queue gets by its line in the library's registry.
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
        (shared any leased: $queue:ty) => {
            let wide = SharedSubject::<Wide<Ticket>, Wide<Number>>::new::<$queue>();
            models.extend(without(lease::LEFT_OUT, of_bounded(wide)));
        };
        (shared any ring_hts: $queue:ty) => {
            models.extend(without(ring::LEFT_OUT, of_shared(SharedSubject::new::<$queue>())));
        };
        (shared any scq: $queue:ty) => {
            models.extend(without(scq::LEFT_OUT, of_shared(SharedSubject::new::<$queue>())));
        };
        (shared any lcrq_any: $queue:ty) => {
            models.extend(without(rings::LEFT_OUT, of_shared(SharedSubject::new::<$queue>())));
        };
        // These models never fill its rings.
        (shared any lcrq_pool_any: $queue:ty) => {
            models
                .extend(without(rings::LEFT_OUT, rings::of_queue(SharedSubject::new::<$queue>())));
        };
        (shared any lprq: $queue:ty) => {
            models.extend(without(rings::LEFT_OUT, of_shared(SharedSubject::new::<$queue>())));
        };
        (shared any msq: $queue:ty) => {
            models.extend(without(unbounded::LEFT_OUT, of_shared(SharedSubject::new::<$queue>())));
        };
        (shared any $id:ident: $queue:ty) => {
            models.extend(of_shared(SharedSubject::new::<$queue>()));
        };
        (relaxed any cnq: $queue:ty) => {
            models.extend(relaxed::of_queue(SharedSubject::new::<$queue>()));
            models.extend(cnq::models(SharedSubject::new::<$queue>()));
        };
        (relaxed any cnq_bbq: $queue:ty) => {
            models.extend(of_another_tube(SharedSubject::new::<$queue>()));
        };
        (relaxed any cnq_scq: $queue:ty) => {
            models.extend(of_another_tube(SharedSubject::new::<$queue>()));
        };
        (relaxed any cnq_ring: $queue:ty) => {
            models.extend(of_another_tube(SharedSubject::new::<$queue>()));
        };
        (relaxed any lldq: $queue:ty) => {
            let models_of_all = relaxed::of_queue(SharedSubject::new::<$queue>());
            models.extend(without(relaxed::LEFT_OUT_OF_LLDQ, models_of_all));
        };
        (relaxed any $id:ident: $queue:ty) => {
            models.extend(relaxed::of_queue(SharedSubject::new::<$queue>()));
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

/// Models of a nested queue over another tube.
fn of_another_tube(subject: SharedSubject<item::Ticket, item::Number>) -> Vec<Model> {
    without(relaxed::LEFT_OUT_OF_OTHER_TUBES, relaxed::of_queue(subject))
}

/// Models that every queue has, but for those that are left out of this queue: they would change a
/// variable more often than [loom remembers](LOOM_KEEPS_VALUES), or take long and test a part that
/// the queue doesn't have.
fn without(left_out: &[&str], mut models: Vec<Model>) -> Vec<Model> {
    models.retain(|model| !left_out.contains(&model.name));
    models
}

fn of_single<T: Cargo, N: Cargo + Copy>(subject: SingleSubject<T, N>) -> Vec<Model> {
    let SingleSubject { of, tickets, .. } = subject;
    if !of.info.bounded {
        return unbounded::of_queue(subject);
    }
    let mut models = one_to_one::models(of, tickets);
    models.extend(chunks::models(subject));
    models
}

fn of_shared(subject: SharedSubject<Ticket, Number>) -> Vec<Model> {
    if subject.of.info.bounded { of_bounded(subject) } else { rings::of_queue(subject) }
}

fn of_bounded<T: Cargo, N: Cargo + Copy>(subject: SharedSubject<T, N>) -> Vec<Model> {
    let SharedSubject { of, tickets, .. } = subject;
    let mut models = one_to_one::models(of, tickets);
    models.extend(shared::models(subject));
    models
}

/// Models of parts of different queues that work together, and long ones of one queue. Other models
/// show that the orderings are needed. So these are tests, and not in the table, which would repeat
/// the parts.
pub fn mixed() -> Vec<Model> {
    let mut models = ring::mixed();
    models.extend(unbounded::mixed());
    models.extend(fork_join::mixed());
    models
}

/// Models with one more thread. They take minutes each, too long to be in [`all`].
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
