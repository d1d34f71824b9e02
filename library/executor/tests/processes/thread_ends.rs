//! Thread-local values that own an executor, or use one when they are dropped.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use corelane_executor::io::Timer;
use corelane_executor::{Executor, JoinError, spawn, spawn_blocking, spawn_local, yield_now};

pub const PROGRAMS: &[(&str, fn())] = &[
    ("thread_local_owner::of_the_main_thread", of_the_main_thread),
    ("thread_local_owner::of_another_thread", of_another_thread),
    ("thread_local_owner::a_destructor_uses_it", a_destructor_uses_it),
    ("thread_local_owner::a_destructor_makes_it", a_destructor_makes_it),
    ("thread_local_owner::a_workers_destructor_spawns", a_workers_destructor_spawns),
    ("thread_local_owner::a_destructor_cancels_a_long_chain", a_destructor_cancels_a_long_chain),
];

thread_local! {
    static EXECUTOR: Executor = Executor::new(2).unwrap();
}

fn use_it(executor: &Executor) {
    let sum = executor.block_on(async {
        let tasks: Vec<_> = (0..10).map(|n| spawn(async move { n })).collect();
        let mut sum = spawn_local(async { 1 }).await.unwrap();
        for task in tasks {
            sum += task.await.unwrap();
        }
        Timer::after(Duration::from_millis(1)).await;
        yield_now().await;
        sum + spawn_blocking(|| 1).await.unwrap()
    });
    assert_eq!(sum, 47);
}

fn of_the_main_thread() {
    EXECUTOR.with(|executor| {
        use_it(executor);
        drop(executor.spawn(std::future::pending::<()>()));
    });
}

fn of_another_thread() {
    thread::spawn(of_the_main_thread).join().unwrap();
}

/// Calls it when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

type AtEnd = RefCell<Option<OnDrop<Box<dyn FnMut()>>>>;

thread_local! {
    static AT_END: AtEnd = const { RefCell::new(None) };
}

/// The thread calls it at its end, when the thread-local values that are first used later are gone.
fn at_end(call: impl FnMut() + 'static) {
    AT_END.set(Some(OnDrop(Box::new(call))));
}

fn a_destructor_uses_it() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    thread::spawn(move || {
        let executor = Arc::new(Executor::new(1).unwrap());
        let (own, done) = (Arc::clone(&executor), Arc::clone(&counter));
        at_end(move || {
            use_it(&own);
            let task = own.spawn(async { 5 });
            assert_eq!(own.block_on(task).unwrap(), 5);
            done.fetch_add(1, Ordering::Relaxed);
        });
        use_it(&executor);
    })
    .join()
    .unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

fn a_destructor_makes_it() {
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || {
        at_end(move || {
            let executor = Executor::new(1).unwrap();
            use_it(&executor);
            drop(executor.spawn(std::future::pending::<()>()));
            executor.shutdown();
            tx.send(()).unwrap();
        });
        use_it(&Executor::new(1).unwrap());
    })
    .join()
    .unwrap();
    rx.recv().unwrap();
}

/// A worker's thread ends after its executor: then there is no worker for the task.
fn a_workers_destructor_spawns() {
    let (tx, rx) = mpsc::channel();
    let executor = Executor::new(1).unwrap();
    executor.block_on(async move {
        let leaves = async move {
            let other = Executor::new(1).unwrap();
            at_end(move || {
                let task = spawn(async { 1 });
                let call = spawn_blocking(|| 1);
                let outputs = other.block_on(async { (task.await, call.await) });
                assert!(matches!(outputs.0, Err(JoinError::Cancelled)));
                assert!(matches!(outputs.1, Err(JoinError::Cancelled)));
                use_it(&other);
                tx.send(()).unwrap();
            });
        };
        spawn(leaves).await.unwrap();
    });
    executor.shutdown();
    rx.recv().unwrap();
}

/// Each task awaits the next one: to cancel them needs no stack, also at the end of the thread.
fn a_destructor_cancels_a_long_chain() {
    fn next(left: usize) -> corelane_executor::JoinHandle<()> {
        spawn(async move {
            match left {
                0 => std::future::pending().await,
                _ => _ = next(left - 1).await,
            }
        })
    }
    let all = 100_000;
    EXECUTOR.with(|executor| {
        executor.block_on(async move { drop(next(all)) });
        while executor.waiting() <= all {
            thread::yield_now();
        }
    });
}
