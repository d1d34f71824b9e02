//! `block_on` inside `block_on`, and in tasks.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use corelane_executor::io::Timer;
use corelane_executor::{Executor, JoinError, spawn, spawn_local, yield_now};

pub const PROGRAMS: &[(&str, fn())] = &[
    ("nested_block_on::awaits_an_outer_task", awaits_an_outer_task),
    ("nested_block_on::woken_by_another_thread", woken_by_another_thread),
    ("nested_block_on::a_task_spawns_for_its_own", a_task_spawns_for_its_own),
    ("nested_block_on::by_the_only_worker", by_the_only_worker),
    ("nested_block_on::by_all_workers", by_all_workers),
];

fn executor(workers: usize) -> Executor {
    Executor::new(workers).unwrap()
}

fn awaits_an_outer_task() {
    let (first, second) = (executor(1), executor(1));
    let sum = first.block_on(async {
        let task = spawn_local(async {
            yield_now().await;
            1
        });
        let in_a_task = {
            let task = spawn_local(async { 4 });
            // The second one blocks the thread in a task.
            let second = executor(1);
            spawn_local(async move { second.block_on(task).unwrap() })
        };
        let sum = second.block_on(async {
            let own = spawn_local(async { 2 });
            task.await.unwrap() + first.block_on(own).unwrap()
        });
        sum + in_a_task.await.unwrap()
    });
    assert_eq!(sum, 7);
}

fn woken_by_another_thread() {
    let (first, second) = (executor(1), executor(1));
    first.block_on(async {
        for n in 0..100 {
            let task = spawn_local(async move {
                spawn(async move {
                    if n % 10 == 0 {
                        Timer::after(Duration::from_millis(1)).await;
                    }
                })
                .await
            });
            second.block_on(async {
                second.block_on(task).unwrap().unwrap();
            });
        }
    });
}

/// A task that runs while an inner `block_on` waits is still one of the outer: so are those that it
/// spawns.
fn a_task_spawns_for_its_own() {
    let (first, second) = (executor(1), executor(1));
    let worker = |executor: &Executor| {
        executor.block_on(async { spawn(async { thread::current().id() }).await.unwrap() })
    };
    let first_worker = worker(&first);
    let done = Rc::new(Cell::new(false));
    first.block_on(async {
        let spawned = Rc::new(RefCell::new(None));
        let (place, is_done) = (Rc::clone(&spawned), Rc::clone(&done));
        let task = spawn_local(async move {
            let own = spawn(async { thread::current().id() });
            assert_eq!(own.await.unwrap(), first_worker);
            *place.borrow_mut() = Some(spawn_local(async move {
                for _ in 0..1000 {
                    yield_now().await;
                }
                is_done.set(true);
            }));
        });
        second.block_on(task).unwrap();
        let spawned = spawned.borrow_mut().take().unwrap();
        spawned.await.unwrap();
    });
    assert!(done.get());
}

/// Nobody would run what it waits for.
fn by_the_only_worker() {
    let executor = Arc::new(executor(1));
    let own = Arc::clone(&executor);
    let task = executor.spawn(async move { own.block_on(async { spawn(async { 1 }).await }) });
    let Err(JoinError::Panicked(payload)) = executor.block_on(task) else { panic!("it can't") };
    assert!(payload.downcast_ref::<&str>().unwrap().contains("worker"));
    // The worker goes on, and may block for another executor, but not for its own in that one.
    let other = Arc::new(self::executor(1));
    let (own, inner) = (Arc::clone(&executor), Arc::clone(&other));
    let task = executor.spawn(async move {
        inner.block_on(async {
            let panicked = catch_unwind(AssertUnwindSafe(|| own.block_on(async {})));
            assert!(panicked.is_err());
            spawn(async { 2 }).await.unwrap()
        })
    });
    assert_eq!(executor.block_on(task).unwrap(), 2);
}

fn by_all_workers() {
    let executor = Arc::new(executor(3));
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let own = Arc::clone(&executor);
            executor.spawn(async move {
                own.block_on(async {
                    // Within it, it may do so again.
                    own.block_on(async { thread::sleep(Duration::from_millis(100)) });
                    spawn(async {}).await.unwrap();
                });
            })
        })
        .collect();
    let panicked =
        tasks.into_iter().filter_map(|task| executor.block_on(task).err()).collect::<Vec<_>>();
    assert!(panicked.len() <= 1, "{panicked:?}");
}
