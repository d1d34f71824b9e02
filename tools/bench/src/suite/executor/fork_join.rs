//! Computations that fork and join: Fibonacci numbers, whose calls do nothing else, the sum of a
//! slice, and scopes of tasks that take a while.
//!
//! To add a peer: implement [`Engine`], and add a line to [`entries`].

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

use corelane::steal::fork_join::{Fork, Options, Pool};

use super::{Grain, Measurable, entry};
use crate::catalogue::EntryKind;
use crate::kinds::Test;
use crate::params::Length;
use crate::peers::of_std;
use crate::sample::Sample;
use crate::suite::executor::Computation;
use crate::suite::executor::ExecutorSetting;

pub(super) fn entries() -> Vec<Measurable> {
    let ours = EntryKind::Ours { items: "calls" };
    let mut entries = vec![entry(
        ("corelane-fork-join", "steal::fork_join"),
        ours,
        measure::<Ours>,
        forks_or_spawns,
    )];
    entries.extend(peers::entries());
    let std = of_std();
    let alone = |setting: &ExecutorSetting| forks_or_spawns(setting) && setting.workers == 1;
    entries.push(entry(
        ("calls", "no pool: one call after the other"),
        std,
        measure::<Calls>,
        alone,
    ));
    entries
}

/// What runs two calls, at once if it can.
trait Engine: Sized {
    /// What tasks have at hand.
    type Handle<'a>;

    fn start(workers: usize) -> Self;
    fn run(&self, call: impl FnOnce(&mut Self::Handle<'_>) -> u64 + Send) -> u64;
    fn join(
        handle: &mut Self::Handle<'_>,
        a: impl FnOnce(&mut Self::Handle<'_>) -> u64 + Send,
        b: impl FnOnce(&mut Self::Handle<'_>) -> u64 + Send,
    ) -> u64;
    /// Spawns the tasks of a batch, and waits for them.
    fn scope(handle: &mut Self::Handle<'_>, grain: Grain);
}

/// Whether it is a computation, or tasks that need nothing of an executor.
fn forks_or_spawns(setting: &ExecutorSetting) -> bool {
    setting.computation.is_some() || setting.task_ns.is_some()
}

/// Nanoseconds for each join, or each task of a scope.
fn measure<E: Engine>(_: Test, length: Length, setting: &ExecutorSetting) -> Sample {
    let engine = E::start(setting.workers);
    let grain = setting.task_ns.map(Grain::of);
    let mut value = 0.0;
    for part in length.parts() {
        let (begin, mut joins) = (Instant::now(), 0);
        while !part.is_over(joins, begin) {
            joins += match (grain, setting.computation) {
                (Some(grain), _) => engine.run(|handle| {
                    E::scope(handle, grain);
                    grain.tasks
                }),
                (None, Some(Computation::Fibonacci)) => {
                    assert_eq!(engine.run(|handle| fibonacci::<E>(handle, OF)), FIBONACCI);
                    // For each call that is not a leaf.
                    FIBONACCI_AFTER - 1
                }
                (None, _) => {
                    let sum = engine.run(|handle| sum::<E>(handle, black_box(&NUMBERS)));
                    assert_eq!(sum, MANY * (MANY - 1) / 2);
                    MANY / LEAF - 1
                }
            };
        }
        value = begin.elapsed().as_nanos() as f64 / joins as f64;
    }
    Sample::of(value)
}

/// Which Fibonacci number.
const OF: u64 = 25;
const FIBONACCI: u64 = 75_025;
/// The next one.
const FIBONACCI_AFTER: u64 = 121_393;

fn fibonacci<E: Engine>(handle: &mut E::Handle<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    E::join(handle, |handle| fibonacci::<E>(handle, n - 1), |handle| fibonacci::<E>(handle, n - 2))
}

/// Numbers to add.
const MANY: u64 = 1 << 18;
/// Numbers that one task adds.
const LEAF: u64 = 1 << 10;

static NUMBERS: LazyLock<Vec<u64>> = LazyLock::new(|| (0..MANY).collect());

fn sum<E: Engine>(handle: &mut E::Handle<'_>, numbers: &[u64]) -> u64 {
    if numbers.len() as u64 <= LEAF {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    E::join(handle, |handle| sum::<E>(handle, left), |handle| sum::<E>(handle, right))
}

/// corelane's.
struct Ours(Pool);

impl Engine for Ours {
    type Handle<'a> = &'a Fork;

    fn start(workers: usize) -> Self {
        Self(Pool::new(Options::new(workers)).expect("the system has threads"))
    }

    fn run(&self, call: impl FnOnce(&mut &Fork) -> u64 + Send) -> u64 {
        self.0.run(|mut fork| call(&mut fork))
    }

    fn join(
        fork: &mut &Fork,
        a: impl FnOnce(&mut &Fork) -> u64 + Send,
        b: impl FnOnce(&mut &Fork) -> u64 + Send,
    ) -> u64 {
        let (a, b) = fork.join(|mut fork| a(&mut fork), |mut fork| b(&mut fork));
        a + b
    }

    fn scope(fork: &mut &Fork, grain: Grain) {
        fork.scope(|scope| (0..grain.tasks).for_each(|_| scope.spawn(move |_| grain.run())));
    }
}

/// Plain calls.
struct Calls;

impl Engine for Calls {
    type Handle<'a> = ();

    fn start(_: usize) -> Self {
        Self
    }

    fn run(&self, call: impl FnOnce(&mut ()) -> u64 + Send) -> u64 {
        call(&mut ())
    }

    fn join(
        (): &mut (),
        a: impl FnOnce(&mut ()) -> u64 + Send,
        b: impl FnOnce(&mut ()) -> u64 + Send,
    ) -> u64 {
        // Otherwise the compiler makes a loop of one of the calls.
        black_box(a(&mut ())) + black_box(b(&mut ()))
    }

    fn scope((): &mut (), grain: Grain) {
        (0..grain.tasks).for_each(|_| grain.run());
    }
}

mod peers {
    use std::num::NonZero;

    use super::{Engine, Grain, Measurable, entry, forks_or_spawns, measure};
    use crate::peers::crates::kind;

    pub(super) fn entries() -> [Measurable; 2] {
        [
            entry(("rayon", "join"), kind("rayon"), measure::<rayon::ThreadPool>, forks_or_spawns),
            entry(
                ("chili", "Scope::join"),
                kind("chili"),
                measure::<chili::ThreadPool>,
                |setting| setting.computation.is_some(),
            ),
        ]
    }

    impl Engine for rayon::ThreadPool {
        type Handle<'a> = ();

        fn start(workers: usize) -> Self {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
            pool.expect("the system has threads")
        }

        fn run(&self, call: impl FnOnce(&mut ()) -> u64 + Send) -> u64 {
            self.install(|| call(&mut ()))
        }

        fn join(
            (): &mut (),
            a: impl FnOnce(&mut ()) -> u64 + Send,
            b: impl FnOnce(&mut ()) -> u64 + Send,
        ) -> u64 {
            let (a, b) = rayon::join(|| a(&mut ()), || b(&mut ()));
            a + b
        }

        fn scope((): &mut (), grain: Grain) {
            rayon::scope(|scope| {
                (0..grain.tasks).for_each(|_| scope.spawn(move |_| grain.run()));
            });
        }
    }

    impl Engine for chili::ThreadPool {
        type Handle<'a> = chili::Scope<'a>;

        fn start(workers: usize) -> Self {
            let thread_count = NonZero::new(workers);
            Self::with_config(chili::Config { thread_count, ..Default::default() })
        }

        fn run(&self, call: impl FnOnce(&mut chili::Scope<'_>) -> u64 + Send) -> u64 {
            call(&mut self.scope())
        }

        fn join(
            scope: &mut chili::Scope<'_>,
            a: impl FnOnce(&mut chili::Scope<'_>) -> u64 + Send,
            b: impl FnOnce(&mut chili::Scope<'_>) -> u64 + Send,
        ) -> u64 {
            let (a, b) = scope.join(a, b);
            a + b
        }

        fn scope(_: &mut chili::Scope<'_>, _: Grain) {
            unreachable!("it has none, and is only asked to join");
        }
    }
}
