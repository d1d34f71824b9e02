//! Executors that end: in tasks, with destructors that spawn, with long chains of tasks that await
//! each other.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use corelane_executor::pool::{Options, Order};
use corelane_executor::{Executor, spawn, spawn_local, yield_now};

/// Says when it is dropped.
struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn wait_for(count: &AtomicUsize, expected: usize) {
    let begin = Instant::now();
    while count.load(Ordering::Relaxed) != expected {
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "{} of {expected}",
            count.load(Ordering::Relaxed)
        );
        thread::yield_now();
    }
}

/// A task drops its own executor, in which others wait: more than fit into a worker's queue.
#[test]
fn in_one_of_its_tasks() {
    for workers in [1, 2] {
        let dropped = Arc::new(AtomicUsize::new(0));
        let executor = Executor::with(Options::new(workers).capacity(64)).unwrap();
        for _ in 0..1000 {
            let guard = Guard(Arc::clone(&dropped));
            drop(executor.spawn(async move {
                let _guard = guard;
                pending::<()>().await;
            }));
        }
        let executor = Arc::new(executor);
        let (own, guard) = (Arc::clone(&executor), Guard(Arc::clone(&dropped)));
        drop(executor.spawn(async move {
            let _guard = guard;
            // The last to own it.
            while Arc::strong_count(&own) > 1 {
                yield_now().await;
            }
            drop(own);
            // It waits only now.
            pending::<()>().await;
        }));
        drop(executor);
        wait_for(&dropped, 1001);
    }
}

/// Spawns a task when it is dropped.
struct Spawns(Arc<AtomicUsize>);

impl Drop for Spawns {
    fn drop(&mut self) {
        let guard = Guard(Arc::clone(&self.0));
        drop(spawn(async move { drop(guard) }));
    }
}

#[test]
fn with_destructors_that_spawn() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let executor = Executor::new(2).unwrap();
    for n in 0..100 {
        let spawns = Spawns(Arc::clone(&dropped));
        drop(executor.spawn(async move {
            let _spawns = spawns;
            if n % 2 == 0 {
                pending::<()>().await;
            }
            loop {
                yield_now().await;
            }
        }));
    }
    thread::sleep(Duration::from_millis(2));
    executor.shutdown();
    assert_eq!(dropped.load(Ordering::Relaxed), 100);
    // The same of a thread in `block_on`.
    struct SpawnsLocally;
    impl Drop for SpawnsLocally {
        fn drop(&mut self) {
            drop(spawn_local(async {}));
        }
    }
    Executor::new(1).unwrap().block_on(async {
        drop(spawn_local(async {
            let _spawns = SpawnsLocally;
            pending::<()>().await;
        }));
        yield_now().await;
    });
}

/// Each task awaits the next one: to cancel them needs no stack.
#[test]
fn with_a_long_chain() {
    fn next(left: usize, dropped: Arc<AtomicUsize>) -> corelane_executor::JoinHandle<()> {
        spawn(async move {
            let _guard = Guard(Arc::clone(&dropped));
            match left {
                0 => pending().await,
                _ => _ = next(left - 1, dropped).await,
            }
        })
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let executor = Executor::new(1).unwrap();
    let (counter, all) = (Arc::clone(&dropped), 100_000);
    executor.block_on(async move { drop(next(all, counter)) });
    while executor.waiting() <= all {
        thread::yield_now();
    }
    executor.shutdown();
    assert_eq!(dropped.load(Ordering::Relaxed), all + 1);
}

/// Tasks from outside are not held up by one that always has something to do, whatever order is
/// asked for.
#[test]
fn no_task_starves() {
    for order in [Order::Fifo, Order::Lifo] {
        let executor = Executor::with(Options::new(1).order(order)).unwrap();
        let (stop, yields) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (stopped, counter) = (Arc::clone(&stop), Arc::clone(&yields));
        let busy = executor.spawn(async move {
            while !stopped.load(Ordering::Relaxed) {
                counter.fetch_add(1, Ordering::Relaxed);
                yield_now().await;
            }
        });
        let tasks: Vec<_> = (0..1000).map(|_| executor.spawn(async {})).collect();
        executor.block_on(async {
            for task in tasks {
                task.await.unwrap();
            }
            stop.store(true, Ordering::Relaxed);
            busy.await.unwrap();
        });
    }
}
