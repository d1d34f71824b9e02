//! Tasks on workers, on one thread, and on threads of their own.

use std::cell::Cell;
use std::future::{Future, pending};
use std::net::{TcpListener, TcpStream};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use corelane_executor::io::{Async, Timer};
use corelane_executor::{
    Executor, JoinError, JoinHandle, spawn, spawn_blocking, spawn_local, step, yield_now,
};
use futures_lite::{AsyncReadExt, AsyncWriteExt};

fn executor(workers: usize) -> Executor {
    Executor::new(workers).expect("there are threads")
}

#[test]
fn tasks_spawn_tasks() {
    fn count(depth: u32) -> impl Future<Output = u64> + Send {
        let boxed: std::pin::Pin<Box<dyn Future<Output = u64> + Send>> = Box::pin(async move {
            if depth == 0 {
                return 1;
            }
            let (a, b) = (spawn(count(depth - 1)), spawn(count(depth - 1)));
            a.await.unwrap() + b.await.unwrap()
        });
        boxed
    }
    for workers in [1, 2, 5] {
        let executor = executor(workers);
        assert_eq!(executor.block_on(async { spawn(count(12)).await.unwrap() }), 1 << 12);
        assert_eq!(executor.waiting(), 0);
    }
}

#[test]
fn a_handle_may_be_shared() {
    fn check<T: Send + Sync + UnwindSafe + RefUnwindSafe>() {}
    check::<JoinHandle<Cell<u8>>>();
}

#[test]
fn a_panic_is_reported() {
    let executor = executor(2);
    let panicked = executor.block_on(async { spawn(async { panic!("on purpose") }).await });
    let error = panicked.unwrap_err();
    assert_eq!(error.to_string(), "the task panicked: on purpose");
    assert_eq!(executor.block_on(async { spawn_blocking(|| 3).await }).unwrap(), 3);
}

/// Says when it is dropped.
struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_cancelled_task_is_dropped_and_runs_no_more() {
    let executor = executor(2);
    let dropped = Arc::new(AtomicUsize::new(0));
    executor.block_on(async {
        for n in 0..2_000 {
            let (guard, runs) = (Guard(Arc::clone(&dropped)), Arc::new(AtomicBool::new(false)));
            let running = Arc::clone(&runs);
            let task = spawn(async move {
                let _guard = guard;
                loop {
                    running.store(true, Ordering::Relaxed);
                    yield_now().await;
                }
            });
            if n % 2 == 0 {
                yield_now().await;
            }
            assert!(matches!(task.cancel().await, Err::<(), _>(JoinError::Cancelled)));
            assert_eq!(dropped.load(Ordering::Relaxed), n + 1);
            runs.store(false, Ordering::Relaxed);
            assert_eq!(Arc::strong_count(&runs), 1);
        }
    });
}

#[test]
fn the_end_cancels_tasks_that_wait() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let first = executor(2);
    let handles: Vec<_> = (0..100)
        .map(|n| {
            let guard = Guard(Arc::clone(&dropped));
            first.spawn(async move {
                let _guard = guard;
                match n % 4 {
                    0 => pending::<()>().await,
                    1 => drop(Timer::after(Duration::from_secs(1000)).await),
                    2 => loop {
                        yield_now().await;
                    },
                    _ => pending_in_a_child().await,
                }
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(5));
    first.shutdown();
    assert_eq!(dropped.load(Ordering::Relaxed), 100);
    let second = executor(1);
    for handle in handles {
        assert!(matches!(second.block_on(handle), Err(JoinError::Cancelled)));
    }
}

async fn pending_in_a_child() {
    _ = spawn(pending::<()>()).await;
}

#[test]
fn a_dropped_handle_lets_the_task_go_on() {
    let executor = executor(1);
    let (tx, rx) = mpsc::channel();
    drop(executor.spawn(async move {
        yield_now().await;
        tx.send(7).unwrap();
    }));
    assert_eq!(rx.recv_timeout(Duration::from_secs(10)), Ok(7));
}

#[test]
fn local_tasks_stay_on_the_thread() {
    let executor = executor(2);
    let shared = Rc::new(Cell::new(0));
    let thread = thread::current().id();
    executor.block_on(async {
        let tasks: Vec<_> = (0..100)
            .map(|n| {
                let shared = Rc::clone(&shared);
                spawn_local(async move {
                    let remote = spawn(async move { n });
                    let n = remote.await.unwrap();
                    shared.set(shared.get() + n);
                    assert_eq!(thread::current().id(), thread);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        // This one is cancelled.
        let never = Rc::clone(&shared);
        drop(spawn_local(async move {
            pending::<()>().await;
            drop(never);
        }));
        yield_now().await;
    });
    assert_eq!((shared.get(), Rc::strong_count(&shared)), (4950, 1));
}

/// A task that blocks its worker until others are done, of its own executor and of another one.
#[test]
fn block_on_within_a_task() {
    let (first, second) = (Arc::new(executor(2)), Arc::new(executor(1)));
    let (inner, other) = (Arc::clone(&first), Arc::clone(&second));
    let task = first.spawn(async move {
        let own = inner.block_on(async { spawn(async { 1 }).await.unwrap() });
        let worker =
            other.block_on(async { spawn(async { thread::current().id() }).await.unwrap() });
        assert_ne!(worker, thread::current().id());
        own + spawn(async { 2 }).await.unwrap()
    });
    assert_eq!(second.block_on(task).unwrap(), 3);
}

/// A task that is always ready shares its worker.
#[test]
fn a_task_that_is_always_ready_lets_others_run() {
    let executor = executor(1);
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let busy = executor.spawn(async move {
        while !stopped.load(Ordering::Relaxed) {
            step().await;
        }
    });
    let stops = executor.spawn(async move { stop.store(true, Ordering::Relaxed) });
    executor.block_on(async {
        stops.await.unwrap();
        busy.await.unwrap();
    });
}

/// A worker that runs a long task keeps nothing from the others, though all of it was spawned on
/// that worker.
#[test]
fn a_long_task_hides_no_other() {
    let executor = executor(2);
    executor.block_on(async {
        spawn(async {
            for _ in 0..200 {
                let ran = Arc::new(AtomicBool::new(false));
                let runs = Arc::clone(&ran);
                drop(spawn(async move { runs.store(true, Ordering::Relaxed) }));
                let begin = Instant::now();
                while !ran.load(Ordering::Relaxed) {
                    assert!(begin.elapsed() < Duration::from_secs(10), "the other worker sleeps");
                    std::hint::spin_loop();
                }
            }
        })
        .await
        .unwrap();
    });
}

#[test]
fn timers_and_sockets() {
    let executor = executor(2);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    executor.block_on(async {
        let server = spawn(async move {
            let listener = Async::new(listener).unwrap();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                drop(spawn(async move {
                    let mut buffer = [0; 64];
                    while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                        stream.write_all(&buffer[..n]).await.unwrap();
                    }
                }));
            }
        });
        let clients = (0..20).map(|n: u8| {
            spawn(async move {
                let mut stream = Async::<TcpStream>::connect(address).await.unwrap();
                for round in 0..50 {
                    let sent = [n, round, 3];
                    stream.write_all(&sent).await.unwrap();
                    let mut received = [0; 3];
                    stream.read_exact(&mut received).await.unwrap();
                    assert_eq!(sent, received);
                    if round % 16 == 0 {
                        Timer::after(Duration::from_millis(1)).await;
                    }
                }
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.unwrap();
        }
        assert!(matches!(server.cancel().await, Err::<(), _>(JoinError::Cancelled)));
    });
}

/// Tasks that are spawned, woken from other threads, cancelled and panic at random: none is lost.
/// With `CORELANE_STRESS=250` there are 10⁷.
#[test]
fn tasks_end_in_all_ways() {
    let executor = executor(2);
    let dropped = Arc::new(AtomicUsize::new(0));
    let scale: f64 = std::env::var("CORELANE_STRESS").map_or(1.0, |scale| scale.parse().unwrap());
    let all = (400.0 * scale) as usize * 100;
    let mut random = 88_172_645_463_325_252_u64;
    let (mut done, mut cancelled, mut panicked) = (0, 0, 0);
    std::panic::set_hook(Box::new(|_| ()));
    executor.block_on(async {
        for _ in 0..all / 100 {
            let tasks: Vec<_> = (0..100)
                .map(|_| {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let (kind, guard) = (random >> 40, Guard(Arc::clone(&dropped)));
                    let task = spawn(async move {
                        let _guard = guard;
                        for _ in 0..kind % 4 {
                            yield_now().await;
                        }
                        if kind % 5 == 0 {
                            thread_woken().await;
                        }
                        assert!(kind % 7 != 0);
                    });
                    (kind, task)
                })
                .collect();
            for (kind, task) in tasks {
                let output = if kind % 3 == 0 { task.cancel().await } else { task.await };
                match output {
                    Ok(()) => done += 1,
                    Err(JoinError::Cancelled) => cancelled += 1,
                    Err(JoinError::Panicked(_)) => panicked += 1,
                    Err(JoinError::NoThread) => panic!("there are threads"),
                }
            }
        }
    });
    drop(std::panic::take_hook());
    assert_eq!(done + cancelled + panicked, all);
    assert!(done > 0 && cancelled > 0 && panicked > 0, "{done} {cancelled} {panicked}");
    assert_eq!(dropped.load(Ordering::Relaxed), all);
    // Calls that block go on when their tasks were cancelled.
    while executor.waiting() > 0 {
        thread::yield_now();
    }
}

/// Waits for a thread that blocks.
async fn thread_woken() {
    spawn_blocking(|| ()).await.unwrap();
}
