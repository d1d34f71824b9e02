//! Threads as coroutines, and the machine that runs them.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::panicking;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};

use crate::engine::{Engine, Step};
use crate::inside::{Inside, begin_thread, end_thread};
use crate::machine::Machine;
use crate::report::{Deadlock, Report};
use crate::schedule::Schedule;

/// Bytes of a thread's stack. Only touched pages take memory.
const STACK: usize = 512 << 10;

type Thread = Coroutine<(), (), ()>;

/// Most stacks that are kept for later simulations.
const KEPT: usize = 64;

thread_local! {
    /// Stacks of threads that have ended. Mapping a stack takes longer than a short run.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

fn take_stack() -> DefaultStack {
    let kept = STACKS.with_borrow_mut(Vec::pop);
    kept.unwrap_or_else(|| DefaultStack::new(STACK).expect("there is memory for a thread's stack"))
}

/// Keeps the stack of a thread that has ended. Other threads are unwound.
fn finish(thread: Thread) {
    if !thread.done() {
        return;
    }
    let stack = thread.into_stack();
    STACKS.with_borrow_mut(|stacks| {
        if stacks.len() < KEPT {
            stacks.push(stack);
        }
    });
}

/// A machine and its threads.
///
/// ```
/// use std::cell::UnsafeCell;
/// use std::rc::Rc;
///
/// use coherence::{Machine, Simulation, Time, load, pause, store};
///
/// let word = Rc::new(UnsafeCell::new(0_u64));
/// let mut simulation = Simulation::new(Machine::i7(), 1);
/// let written = word.clone();
/// // SAFETY: the word outlives the run, and only simulated threads touch it.
/// simulation.spawn(0, move || unsafe { store(written.get(), 1) });
/// let read = word.clone();
/// simulation.spawn(1, move || {
///     // SAFETY: as above.
///     while unsafe { load(read.get()) } == 0 {
///         pause(1);
///     }
/// });
/// let report = simulation.run()?;
/// assert!(report.core(1).unwrap().total.misses() > 0);
/// # Ok::<(), coherence::Deadlock>(())
/// ```
pub struct Simulation {
    engine: Engine,
    threads: Vec<Option<Thread>>,
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation").field("engine", &self.engine).finish_non_exhaustive()
    }
}

impl Simulation {
    /// A simulation of `machine`, without threads. The same seed gives the same run. Another seed
    /// gives another order of threads and store buffers that are due at the same time.
    ///
    /// # Panics
    ///
    /// If the machine has no cores or more than [`MAX_CORES`](crate::MAX_CORES), or if the size of
    /// its lines is not allowed.
    pub fn new(machine: Machine, seed: u64) -> Self {
        machine.check();
        let threads = (0..machine.topology.cores()).map(|_| None).collect();
        Self { engine: Engine::new(machine, seed), threads }
    }

    /// Lets threads and store buffers take turns by another schedule. The seed determines all
    /// choices, so the same seed gives the same run.
    ///
    /// # Panics
    ///
    /// If there are threads already.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.engine.set_schedule(schedule);
        self
    }

    /// Lets a virtual core run `thread`, from time 0 on.
    ///
    /// Only calls of this crate take time: a thread that loops without an access, a
    /// [`pause`](crate::pause) or [`work`](crate::work) never ends.
    ///
    /// # Panics
    ///
    /// If there is no such core, or if it has a thread already.
    pub fn spawn(&mut self, core: usize, thread: impl FnOnce() + 'static) {
        self.engine.start(core);
        let body = move |yielder: &Yielder<(), ()>, ()| {
            begin_thread(yielder);
            thread();
            end_thread();
        };
        self.threads[core] = Some(Coroutine::with_stack(take_stack(), body));
    }

    /// Runs all threads to their ends.
    ///
    /// # Errors
    ///
    /// If no thread writes for the machine's [`patience`](Machine::patience). Then the threads are
    /// unwound, and their destructors aren't simulated.
    ///
    /// # Panics
    ///
    /// If a thread panics, inside of another simulation, or while the caller is being unwound. Then
    /// destructors aren't simulated either.
    pub fn run(self) -> Result<Report, Deadlock> {
        assert!(!panicking(), "nothing can be simulated during a panic");
        let Self { engine, mut threads } = self;
        let inside = Inside::new(engine);
        let step_all = || step_all(&inside, &mut threads);
        let end = inside.enter(|| catch_unwind(AssertUnwindSafe(step_all)));
        let engine = inside.leave();
        // The remaining threads are unwound here, outside of the simulation, where accesses go to
        // memory directly.
        threads.into_iter().flatten().for_each(finish);
        match end {
            Ok(Step::End) if engine.all_have_ended() => Ok(engine.report()),
            Ok(_) => Err(engine.deadlock()),
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// Lets threads take turns until all have ended, or the run is given up.
fn step_all(inside: &Inside, threads: &mut [Option<Thread>]) -> Step {
    loop {
        let core = match inside.next() {
            Step::Resume(core) => core,
            end => return end,
        };
        threads[core].as_mut().expect("a thread that is due exists").resume(());
    }
}
