//! An owner and its thieves, and pools of threads that steal from each other. Items that are lost,
//! doubled or in a wrong order are an error of the run.

use coherence::Machine;
use corelane_sim::steal::Worker;
use corelane_sim::steal::bwos::fifo;
use corelane_sim::{CapacityError, TryPopError, TryPushError};
use corelane_simulate::{
    Failure, Policy, StealOrder, StealQueue, StealTask, Stealing, StealingRun, StealingThread,
    find_steal, steal_queues,
};

/// Two threads on each of two sockets, each with an L3 of its own.
const APART: [usize; 4] = [0, 4, 48, 52];

/// A task with small queues.
fn small(task: StealTask, cores: &[usize]) -> Stealing {
    let (warm_up, items) = (1024, 4096);
    let cores = cores.to_vec();
    Stealing { task, cores, capacity: 256, warm_up, items, ..Stealing::new(Machine::arm_96t()) }
}

fn run(queue: &StealQueue, stealing: &Stealing) -> StealingRun {
    queue.steal(stealing).unwrap_or_else(|error| panic!("{}: {error}", queue.id))
}

fn sum(run: &StealingRun, of: fn(&StealingThread) -> u64) -> u64 {
    run.threads.iter().map(of).sum()
}

#[test]
fn thieves_get_a_share_and_no_more() {
    for queue in steal_queues() {
        for (percent, cores) in [(5, &APART[..2]), (20, &APART[..2]), (20, &APART)] {
            for batch in [1, 4] {
                let task = small(StealTask::Share(percent), cores);
                let run = run(queue, &Stealing { batch, ..task });
                let stolen = 100.0 * run.stolen();
                assert!(
                    stolen > 0.0 && stolen < f64::from(percent) + 1.0,
                    "{}: {stolen}",
                    queue.id
                );
                // A thief may be in the middle of a call when counting begins or ends.
                let taken = sum(&run, |thread| thread.got + thread.stolen);
                assert!(taken.abs_diff(run.items) <= 16, "{}: {taken} of {}", queue.id, run.items);
                assert!(run.threads[1..].iter().all(|thread| thread.put + thread.got == 0));
            }
        }
    }
}

#[test]
fn an_owner_alone_misses_next_to_nothing() {
    for queue in steal_queues() {
        let run = run(queue, &small(StealTask::Share(0), &[0]));
        let misses = run.threads[0].core.total.misses();
        assert!(misses <= 4, "{}: {misses} misses", queue.id);
        assert_eq!(run.threads[0].put, run.threads[0].got, "{}", queue.id);
    }
}

#[test]
fn threads_of_a_pool_steal_from_each_other() {
    for queue in steal_queues() {
        for policy in [Policy::Rand, Policy::Seq, Policy::Last, Policy::Numa] {
            let run = run(queue, &small(StealTask::Pool(50, policy), &APART));
            assert!(run.threads.iter().all(|thread| thread.put > 0 && thread.got > 0));
            assert!(sum(&run, |thread| thread.stolen) > 0, "{} {policy:?}", queue.id);
            assert!(run.ops_per_s(&run.threads) > 0.0);
        }
        let alone = run(queue, &small(StealTask::Pool(0, Policy::Rand), &APART));
        assert_eq!(sum(&alone, |thread| thread.stolen + thread.failed), 0, "{}", queue.id);
    }
}

#[test]
fn the_same_task_does_the_same_again() {
    let queue = find_steal("bwos-fifo").expect("it is there");
    let did = |seed| {
        let task = small(StealTask::Pool(50, Policy::Rand), &APART);
        let run = run(queue, &Stealing { seed, ..task });
        (run.time, run.accesses, sum(&run, |thread| thread.stolen))
    };
    assert_eq!(did(3), did(3));
    assert_ne!(did(3), did(4));
}

/// Fig. 4.10: blocks keep a thief from the owner's lines.
#[test]
fn a_thief_disturbs_the_owner_of_blocks_less_than_that_of_a_shared_ring() {
    let misses = |id| {
        let queue = find_steal(id).expect("it is there");
        let task = StealTask::Share(10);
        let run =
            run(queue, &Stealing { task, cores: vec![0, 1], ..Stealing::new(Machine::x86_88t()) });
        run.threads[0].core.total.misses() as f64 / run.items as f64
    };
    let [blocks, shared] = ["bwos-fifo", "bbq-spmc"].map(misses);
    assert!(5.0 * blocks < shared, "{blocks} and {shared} misses per item");
}

/// A queue whose owner makes a mistake in one get.
struct Faulty {
    worker: fifo::Worker<u64>,
    fault: Fault,
    gets: u32,
    /// An item that comes later than it should.
    kept: Option<u64>,
}

#[derive(Clone, Copy)]
enum Fault {
    Loses,
    Doubles,
    Swaps,
}

/// The number of the get that is wrong.
const WRONG_GET: u32 = 100;

impl Faulty {
    fn new(capacity: usize, fault: Fault) -> Result<Self, CapacityError> {
        Ok(Self { worker: fifo::queue(capacity)?, fault, gets: 0, kept: None })
    }
}

impl Worker for Faulty {
    type Item = u64;
    type Stealer = fifo::Stealer<u64>;

    fn try_push(&mut self, item: u64) -> Result<(), TryPushError<u64>> {
        self.worker.try_push(item)
    }

    fn try_pop(&mut self) -> Result<u64, TryPopError> {
        if let Some(item) = self.kept.take() {
            return Ok(item);
        }
        self.gets += 1;
        match self.fault {
            _ if self.gets != WRONG_GET => {}
            Fault::Loses => drop(self.worker.try_pop()),
            Fault::Swaps => self.kept = self.worker.try_pop().ok(),
            Fault::Doubles => {
                let item = self.worker.try_pop()?;
                self.kept = Some(item);
                return Ok(item);
            }
        }
        self.worker.try_pop()
    }

    fn stealer(&self) -> fifo::Stealer<u64> {
        self.worker.stealer()
    }

    fn capacity(&self) -> usize {
        Worker::capacity(&self.worker)
    }
}

#[test]
fn wrong_gets_are_noticed() {
    use StealOrder::{Fifo, Lifo};
    let of = |order, new: fn(usize) -> Result<Faulty, CapacityError>| {
        let queue = StealQueue::of("faulty", order, new);
        queue.steal(&small(StealTask::Share(5), &APART[..2])).expect_err("a get was wrong")
    };
    let loses = of(Lifo, |capacity| Faulty::new(capacity, Fault::Loses));
    assert!(matches!(loses, Failure::Times { times: 0, .. }), "{loses}");
    let doubles = of(Lifo, |capacity| Faulty::new(capacity, Fault::Doubles));
    assert!(matches!(doubles, Failure::Times { times: 2, .. }), "{doubles}");
    let swaps = of(Fifo, |capacity| Faulty::new(capacity, Fault::Swaps));
    assert!(matches!(swaps, Failure::Order { .. }), "{swaps}");
}

#[test]
fn impossible_capacities_are_refused() {
    for queue in steal_queues() {
        for capacity in [0, usize::MAX] {
            assert!(queue.probe(capacity).is_err(), "{} of {capacity}", queue.id);
        }
    }
}
