//! `lane bench rings`: the rings of io_uring between three threads, and queues in their place: J.
//! Wang 2024, §2.6.3, Fig. 2.12.

mod args;
mod plan;
mod roles;
mod setting;
mod uring;

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

use corelane as world;
use corelane::block::shared::Bbq;
use corelane::block::single::BbqSpsc;
use corelane::lamport::lazy::Llq;
use corelane::line_ring::LineRing;
use corelane::{Config, Producer, Queue};

pub use self::args::RingsArgs;
pub use self::plan::check_entries;
use self::roles::{Batches, finish, reap, serve, submit};
pub(crate) use self::setting::RingsSetting;
pub use self::setting::paper_gain;
use self::uring::{Cqe, Sqe, Uring};
use crate::catalogue::{Entry, EntryKind, Measured};
use crate::params::{Length, Trial};
use crate::sample::Sample;
use crate::threads::{self, Task, Wait};

/// Fewest requests that warm up caches, branch predictors and adaptive queues.
const WARM_UP: u64 = 5_000;

/// Measures a queue in place of both rings, with batches of up to this size.
type RingsKernel = fn(&Trial<'_>, usize) -> Result<Sample, String>;

/// The rings of io_uring, and the queues that take their place.
fn entries() -> &'static [Measured<RingsKernel>] {
    static ENTRIES: LazyLock<Vec<Measured<RingsKernel>>> = LazyLock::new(|| {
        vec![ours::<BbqSpsc>(), ours::<Bbq>(), ours::<LineRing>(), ours::<Llq>(), io_uring()]
    });
    &ENTRIES
}

fn ours<Q: Queue<Sqe> + Queue<Cqe> + 'static>() -> Measured<RingsKernel> {
    Entry::ours(<Q as Queue<Sqe>>::INFO, "items of any type").of_type::<Q>().with(measure::<Q>)
}

fn io_uring() -> Measured<RingsKernel> {
    let kind = EntryKind::Peer { package: "io_uring", version: "in user space".into() };
    Entry::other(<Uring as Queue<Sqe>>::INFO, kind).with(measure::<Uring>)
}

/// Nanoseconds per request.
fn measure<Q: Queue<Sqe> + Queue<Cqe>>(trial: &Trial<'_>, batch: usize) -> Result<Sample, String> {
    let (capacity, wait) = (trial.params.capacity, trial.params.wait);
    let sq = <Q as Queue<Sqe>>::with(Config::new(capacity)).map_err(|error| error.to_string())?;
    let cq =
        <Q as Queue<Cqe>>::with(Config::new(2 * capacity)).map_err(|error| error.to_string())?;
    let ((to_kernel, from_application), (to_application, from_kernel)) = (sq, cq);
    let batches = |seed| Batches::new(batch, seed);
    let (mut sent, mut taken) = (None, None);
    // Boxes of tasks may share lines. So each handle moves to the stack of its thread.
    let tasks: [Box<dyn FnOnce() + Send + '_>; 3] = [
        Box::new(|| {
            let counts = reap(black_box(from_kernel), batches(2), pace(wait));
            taken = Some((counts, Instant::now()));
        }),
        Box::new(|| {
            serve(black_box(from_application), black_box(to_application), batches(1), pace(wait));
        }),
        Box::new(|| {
            let warm_up = WARM_UP.max(4 * capacity as u64);
            sent = Some(send(black_box(to_kernel), trial.length, warm_up, batches(0), wait));
        }),
    ];
    let cores = trial.cores.iter().cycle().map(|core| Some(*core));
    let tasks: Vec<Task<'_, ()>> = cores.zip(tasks).collect();
    threads::all(tasks, &|| ());
    let Sent { start, all, items } = sent.expect("its thread is done");
    let ([number, wrong], end) = taken.expect("its thread is done");
    if number != all || wrong > 0 {
        return Err(format!(
            "of {all} requests {number} were completed, {wrong} of them in another order or changed"
        ));
    }
    Ok(Sample::of((end - start).as_nanos() as f64 / items as f64))
}

/// When the measured requests began, all requests, and the measured ones.
struct Sent {
    start: Instant,
    all: u64,
    items: u64,
}

/// The submitting thread.
fn send(
    tx: impl Producer<Item = Sqe>,
    length: Length,
    warm_up: u64,
    batches: Batches,
    wait: Wait,
) -> Sent {
    let (warm_up, begin) = (length.warm_up(warm_up), Instant::now());
    let (tx, batches) = submit(tx, 0..warm_up, batches, pace(wait));
    let items = length.items(warm_up, begin.elapsed());
    let (start, all) = (Instant::now(), warm_up + items);
    let (tx, _) = submit(tx, warm_up..all, batches, pace(wait));
    finish(tx, pace(wait));
    Sent { start, all, items }
}

/// Waits if a call has moved nothing.
fn pace(wait: Wait) -> impl FnMut(usize) {
    let mut failed = 0;
    move |moved| match moved {
        0 => wait.pause(&mut failed),
        _ => failed = 0,
    }
}

#[cfg(test)]
mod tests {
    use corelane::Consumer;

    use super::*;

    /// A queue of either kind takes all that it has room for, and wraps.
    fn check<T: Copy + PartialEq + std::fmt::Debug>(
        (mut tx, mut rx): (impl Producer<Item = T>, impl Consumer<Item = T>),
        of: fn(u64) -> T,
    ) {
        for lap in 0..10 {
            let items: Vec<_> = (0..5).map(|at| of(10 * lap + at)).collect();
            assert_eq!(tx.push_slice(&items), 4);
            assert!(tx.try_push(items[4]).is_err());
            assert_eq!(rx.try_pop(), Ok(items[0]));
            let mut popped = [of(0); 3];
            assert_eq!(rx.pop_slice(&mut popped[..2]), 2);
            assert_eq!(rx.pop_slice(&mut popped[2..]), 1);
            assert_eq!(popped, items[1..4]);
            assert!(rx.try_pop().is_err());
        }
    }

    #[test]
    fn rings_are_full_and_empty() {
        check(<Uring as Queue<Sqe>>::with(Config::new(4)).unwrap(), Sqe::of);
        check(<Uring as Queue<Cqe>>::with(Config::new(3)).unwrap(), Cqe::of);
    }
}
