//! Tasks on two threads: 256 empty ones that are spawned and awaited, and two that wake each other.

use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use futures_lite::future::block_on;

use crate::pair::nanoseconds;
use crate::{Case, Row};

const WORKERS: usize = 2;
/// Tasks, or round trips, between two looks at the clock.
const TASKS: u64 = 256;
/// Length of the warm-up and of the measurement.
const LENGTHS: [Duration; 2] = [Duration::from_millis(8), Duration::from_millis(30)];

/// One task sets it, and another one waits for it.
#[derive(Default)]
struct Signal(Mutex<(bool, Option<Waker>)>);

impl Signal {
    fn set(&self) {
        let mut state = self.0.lock().expect("no panic");
        state.0 = true;
        let waker = state.1.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits until it is set, and takes that back.
    async fn wait(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock().expect("no panic");
            if state.0 {
                state.0 = false;
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// Repeats `$batch` for the warm-up, and for the measurement. Nanoseconds of one of its `TASKS`.
macro_rules! repeat {
    ($batch:block) => {
        async move {
            let mut value = 0.0;
            for length in LENGTHS {
                let (begin, mut items) = (Instant::now(), 0);
                while begin.elapsed() < length {
                    $batch
                    items += TASKS;
                }
                value = nanoseconds(begin.elapsed()) / items as f64;
            }
            value
        }
    };
}

/// `$spawn` spawns a task; awaited, it is the result of the task.
macro_rules! spawn_join {
    (|$task:ident| $spawn:expr) => {
        repeat!({
            let mut tasks = Vec::with_capacity(TASKS as usize);
            for _ in 0..TASKS {
                let $task = async {};
                tasks.push($spawn);
            }
            for task in tasks {
                let _ = task.await;
            }
        })
    };
}

macro_rules! ping_pong {
    (|$task:ident| $spawn:expr) => {
        repeat!({
            let (there, back) = (Arc::new(Signal::default()), Arc::new(Signal::default()));
            let (ask, answer) = (Arc::clone(&there), Arc::clone(&back));
            let $task = async move {
                for _ in 0..TASKS {
                    ask.wait().await;
                    answer.set();
                }
            };
            let other = $spawn;
            for _ in 0..TASKS {
                there.set();
                back.wait().await;
            }
            let _ = other.await;
        })
    };
}

fn on_tokio(task: impl Future<Output = f64> + Send + 'static) -> f64 {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).build();
    let runtime = runtime.expect("there are threads");
    runtime.block_on(runtime.spawn(task)).expect("it doesn't panic")
}

fn on_ours(task: impl Future<Output = f64> + Send + 'static) -> f64 {
    let executor = corelane_executor::Executor::new(WORKERS).expect("there are threads");
    executor.block_on(executor.spawn(task)).expect("it doesn't panic")
}

type Smol = async_executor::Executor<'static>;

fn on_smol<F: Future<Output = f64> + Send + 'static>(task: impl FnOnce(Arc<Smol>) -> F) -> f64 {
    let executor = Arc::new(Smol::new());
    let (end, ended) = async_channel::bounded::<()>(1);
    let (done, result) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            let (executor, ended) = (&executor, ended.clone());
            scope.spawn(move || block_on(executor.run(ended.recv())));
        }
        let task = executor.spawn(task(Arc::clone(&executor)));
        done.send(block_on(task)).expect("it is received");
        drop(end);
    });
    result.recv().expect("it was sent")
}

const SPAWN_JOIN: Case = "spawn-join";
const PING_PONG: Case = "ping-pong";

pub const ROWS: &[Row] = &[
    (SPAWN_JOIN, "corelane-executor", || {
        on_ours(spawn_join!(|task| corelane_executor::spawn(task)))
    }),
    (SPAWN_JOIN, "tokio", || on_tokio(spawn_join!(|task| tokio::spawn(task)))),
    (SPAWN_JOIN, "async-executor", || on_smol(|executor| spawn_join!(|task| executor.spawn(task)))),
    (PING_PONG, "corelane-executor", || on_ours(ping_pong!(|task| corelane_executor::spawn(task)))),
    (PING_PONG, "tokio", || on_tokio(ping_pong!(|task| tokio::spawn(task)))),
    (PING_PONG, "async-executor", || on_smol(|executor| ping_pong!(|task| executor.spawn(task)))),
];
