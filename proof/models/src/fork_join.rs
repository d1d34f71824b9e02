//! A computation that waits for a task which another worker has stolen.

use std::sync::Arc;
use std::task::Waker;

use corelane_loom::memory::UnsafeCell;
use corelane_loom::steal::bwos::lifo;
use corelane_loom::steal::fork_join::latch::{Countdown, Latch};

use crate::explore::{both, explore, explore_four_times_preempted, explore_twice_preempted};
use crate::idle::Wakes;
use crate::item::Number;
use crate::queue::Of;
use crate::shared::{all_are_there, join};
use crate::steal::{SMALL, blocks_of, numbers, pop, push, seize};
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let of = Of::other(lifo::INFO);
    vec![
        of.model("latch_set_as_a_thread_sleeps", latch_set_as_a_thread_sleeps),
        of.model("latch_set_as_a_thread_looks", latch_set_as_a_thread_looks),
        of.model("countdown_of_two_tasks", countdown_of_two_tasks),
        of.model("given_by_an_owner_that_pops", given_by_an_owner_that_pops),
        of.model("given_or_popped_as_two_want_it", given_or_popped_as_two_want_it),
        of.model("given_where_another_item_was", given_where_another_item_was),
    ]
}

/// It takes some seconds, and needs no ordering that the others don't need.
pub(crate) fn mixed() -> Vec<Model> {
    let model = not_given_after_a_seizure_in_vain;
    vec![Of::other(lifo::INFO).model("not_given_after_a_seizure_in_vain", model)]
}

/// A task on the stack of the thread that waits for it.
struct Task {
    output: UnsafeCell<u64>,
    latch: Latch,
}

// SAFETY: loom checks at each access that accesses of several threads are ordered.
unsafe impl Sync for Task {}

impl Task {
    fn new() -> Arc<Self> {
        Arc::new(Self { output: UnsafeCell::new(0), latch: Latch::default() })
    }

    fn run(&self) {
        // SAFETY: as for `Sync`; the latch is there, and only this thread sets it.
        unsafe {
            self.output.with_mut(|output| *output = 1);
            Latch::set(&raw const self.latch);
        }
    }

    /// The latch is set: this thread has the task again, and the other one uses it no more.
    fn end(&self) {
        // SAFETY: as for `Sync`.
        self.output.with_mut(|output| assert_eq!(unsafe { *output }, 1));
        // It writes the waker.
        // SAFETY: only this thread calls it.
        assert!(!unsafe { self.latch.sleep(Waker::noop()) });
    }
}

/// The task ends while its thread falls asleep.
fn latch_set_as_a_thread_sleeps() -> Exploration {
    explore(|| {
        let task = Task::new();
        let other = task.clone();
        let wakes = Wakes::none();
        let wait = || {
            // SAFETY: only this thread calls it.
            if unsafe { task.latch.sleep(&wakes.clone().into()) } {
                wakes.wait_after(0);
                assert!(task.latch.is_set());
            }
            task.end();
        };
        both(move || other.run(), wait);
    })
}

/// The task ends while its thread looks, after it has told how it is woken.
fn latch_set_as_a_thread_looks() -> Exploration {
    explore(|| {
        let task = Task::new();
        let other = task.clone();
        let wait = || {
            // SAFETY: only this thread calls it.
            unsafe { task.latch.sleep(&Wakes::none().into()) };
            if task.latch.is_set() {
                task.end();
            }
        };
        both(move || other.run(), wait);
    })
}

/// What the tasks of a scope share. Each writes its own cell.
struct Scope {
    outputs: [UnsafeCell<u64>; 2],
    left: Countdown,
}

// SAFETY: loom checks at each access that accesses of several threads are ordered.
unsafe impl Sync for Scope {}

impl Scope {
    fn run(&self, task: usize) {
        // SAFETY: as for `Sync`; the task was counted in.
        unsafe {
            self.outputs[task].with_mut(|output| *output += 1);
            Countdown::count_out(&raw const self.left);
        }
    }
}

/// Two tasks of a scope are done, one of them on the thread that waits.
fn countdown_of_two_tasks() -> Exploration {
    explore(|| {
        let outputs = [0; 2].map(UnsafeCell::new);
        let scope = Arc::new(Scope { outputs, left: Countdown::default() });
        scope.left.count_in();
        scope.left.count_in();
        let other = scope.clone();
        let wakes = Wakes::none();
        let wait = || {
            scope.run(1);
            // SAFETY: the scope itself was there first.
            unsafe { Countdown::count_out(&raw const scope.left) };
            // SAFETY: only this thread calls it.
            if unsafe { scope.left.latch().sleep(&wakes.clone().into()) } {
                wakes.wait_after(0);
            }
            for output in &scope.outputs {
                // SAFETY: as for `Sync`.
                output.with_mut(|output| assert_eq!(unsafe { *output }, 1));
            }
        };
        both(move || other.run(0), wait);
    })
}

/// An owner that has pushed items, and a thief.
fn queue_of(items: u64) -> (lifo::Worker<Number>, lifo::Stealer<Number>) {
    let mut worker = lifo::queue_with(blocks_of(4)).expect(SMALL);
    assert_eq!(push(&mut worker, 0..items), items);
    let thief = worker.stealer();
    (worker, thief)
}

/// A thief always gets an item of an owner that pops, and has others.
fn given_by_an_owner_that_pops() -> Exploration {
    explore(|| {
        let (mut worker, thief) = queue_of(4);
        let (seized, mut all) = both(move || numbers(thief.try_seize(1)), || pop(&mut worker, 2));
        assert_eq!(seized, [0]);
        all.extend(seized);
        all.extend(pop(&mut worker, 1));
        all_are_there(all, 4);
    })
}

/// Two thieves want items of an owner that pops them.
fn given_or_popped_as_two_want_it() -> Exploration {
    explore_twice_preempted(|| {
        let (mut worker, thief) = queue_of(2);
        let thieves = [seize(&thief, 1), seize(&thief, 1)];
        let mut all = pop(&mut worker, 2);
        all.extend(join(thieves).concat());
        all.extend(pop(&mut worker, 2));
        all_are_there(all, 2);
    })
}

/// The thief knows only of an item that the owner has popped since, and is given the next one at
/// the same place.
fn given_where_another_item_was() -> Exploration {
    explore_four_times_preempted(|| {
        let (mut worker, thief) = queue_of(1);
        let (seized, mut all) = both(
            move || numbers(thief.try_seize(1)),
            || {
                let mut popped = pop(&mut worker, 1);
                assert_eq!(push(&mut worker, 1..3), 2);
                popped.extend(pop(&mut worker, 1));
                popped
            },
        );
        all.extend(seized);
        all.extend(pop(&mut worker, 2));
        all_are_there(all, 3);
    })
}

/// A thief has taken its mark back itself, when the owner was about to give it an item. It marks
/// the block again.
fn not_given_after_a_seizure_in_vain() -> Exploration {
    explore_four_times_preempted(|| {
        let (mut worker, thief) = queue_of(1);
        let seize_again = move || {
            let seized = numbers(thief.try_seize(1));
            if seized.is_empty() { numbers(thief.try_seize(1)) } else { seized }
        };
        let (seized, mut all) = both(seize_again, || {
            let mut popped = pop(&mut worker, 1);
            assert_eq!(push(&mut worker, 1..3), 2);
            popped.extend(pop(&mut worker, 2));
            popped
        });
        all.extend(seized);
        all.extend(pop(&mut worker, 3));
        all_are_there(all, 3);
    })
}
