//! Destructors, and what tasks have panicked with, that panic.

use std::future::{Future, pending};
use std::panic::panic_any;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use corelane::channel::{self, oneshot};
use corelane_executor::{
    Executor, JoinError, JoinHandle, spawn, spawn_blocking, spawn_local, yield_now,
};

pub const PROGRAMS: &[(&str, fn())] = &[
    ("destructor_of_result::of_a_task_without_a_handle", of_a_task_without_a_handle),
    ("destructor_of_result::of_a_finished_task", of_a_finished_task),
    ("destructor_of_result::of_a_future_that_completes", of_a_future_that_completes),
    ("destructor_of_result::of_a_future_that_is_cancelled", of_a_future_that_is_cancelled),
    ("destructor_of_result::of_a_future_at_the_end", of_a_future_at_the_end),
    ("destructor_of_result::of_a_call_that_blocks", of_a_call_that_blocks),
    ("destructor_of_result::of_a_call_that_never_begins", of_a_call_that_never_begins),
    ("destructor_of_result::of_local_tasks", of_local_tasks),
    ("destructor_of_result::of_a_waker_of_a_timer", of_a_waker_of_a_timer),
];

/// Panics when it is dropped, with another one.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 {
            panic_any(Bomb(self.0 - 1));
        }
    }
}

fn bomb() -> Bomb {
    Bomb(3)
}

fn executor() -> Executor {
    std::panic::set_hook(Box::new(|_| ()));
    Executor::new(2).unwrap()
}

/// Has a destructor, and no other code.
struct Ready(#[expect(dead_code)] Bomb);

impl Future for Ready {
    type Output = u32;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        Poll::Ready(7)
    }
}

async fn still_works() {
    for _ in 0..20 {
        assert_eq!(spawn(async { 1 }).await.unwrap(), 1);
        assert_eq!(spawn_blocking(|| 2).await.unwrap(), 2);
    }
}

fn forget(panicked: JoinError) {
    let JoinError::Panicked(payload) = panicked else { panic!("{panicked:?}") };
    assert!(payload.is::<Bomb>());
    std::mem::forget(payload);
}

fn of_a_task_without_a_handle() {
    executor().block_on(async {
        drop(spawn(async {
            yield_now().await;
            bomb()
        }));
        drop(spawn(async {
            yield_now().await;
            panic_any(bomb())
        }));
        still_works().await;
    });
}

async fn finished<T>(handle: &JoinHandle<T>) {
    while !handle.is_finished() {
        yield_now().await;
    }
}

fn of_a_finished_task() {
    executor().block_on(async {
        let task = spawn(async { bomb() });
        finished(&task).await;
        drop(task);
        let task = spawn(async { panic_any(bomb()) });
        finished::<()>(&task).await;
        drop(task);
        let task = spawn(async { panic_any(bomb()) });
        forget(task.await.unwrap_err());
        still_works().await;
    });
}

fn of_a_future_that_completes() {
    executor().block_on(async {
        forget(spawn(Ready(bomb())).await.unwrap_err());
        forget(spawn_local(Ready(bomb())).await.unwrap_err());
        drop(spawn(Ready(bomb())));
        still_works().await;
    });
}

fn of_a_future_that_is_cancelled() {
    executor().block_on(async {
        for waits in [false, true] {
            let bomb = bomb();
            let task = spawn(async move {
                let _bomb = bomb;
                if waits {
                    pending::<()>().await;
                }
                loop {
                    yield_now().await;
                }
            });
            yield_now().await;
            assert!(matches!(task.cancel().await, Err::<(), _>(JoinError::Cancelled)));
        }
        still_works().await;
    });
}

fn of_a_future_at_the_end() {
    let executor = executor();
    let tasks: Vec<_> = (0..10)
        .map(|_| {
            let bomb = bomb();
            executor.spawn(async move {
                let _bomb = bomb;
                pending::<()>().await;
            })
        })
        .collect();
    while executor.waiting() < 10 {
        thread::yield_now();
    }
    executor.shutdown();
    let other = Executor::new(1).unwrap();
    for task in tasks {
        assert!(matches!(other.block_on(task), Err(JoinError::Cancelled)));
    }
    other.block_on(still_works());
}

/// Nobody wants what calls return or panic with that had begun before they were cancelled.
fn of_a_call_that_blocks() {
    executor().block_on(async {
        for panics in [false, true] {
            let (begun, begins) = oneshot();
            let (end, ends) = oneshot();
            let call = spawn_blocking(move || {
                begun.send(()).unwrap();
                ends.recv().unwrap();
                if panics { panic_any(bomb()) } else { bomb() }
            });
            begins.await.unwrap();
            assert!(matches!(call.cancel().await, Err(JoinError::Cancelled)));
            end.send(()).unwrap();
            let owned = bomb();
            let call = spawn_blocking(move || drop(owned));
            forget(call.await.unwrap_err());
        }
        still_works().await;
    });
}

/// A call that is cancelled before it begins.
fn of_a_call_that_never_begins() {
    executor().block_on(async {
        for _ in 0..1000 {
            let owned = bomb();
            let call = spawn_blocking(move || std::mem::forget(owned));
            if let Err(error) = call.cancel().await {
                assert!(matches!(error, JoinError::Cancelled));
            }
        }
        still_works().await;
    });
}

fn of_local_tasks() {
    executor().block_on(async {
        drop(spawn_local(async { bomb() }));
        drop(spawn_local(async { panic_any(bomb()) }));
        yield_now().await;
        let bomb = bomb();
        drop(spawn_local(async move {
            let _bomb = bomb;
            pending::<()>().await;
        }));
        yield_now().await;
    });
    Executor::new(1).unwrap().block_on(still_works());
}

/// A waker that panics.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic_any(bomb());
    }
}

/// The thread of all timers goes on.
fn of_a_waker_of_a_timer() {
    let executor = executor();
    for n in 1..5 {
        let time = Duration::from_millis(n);
        let timer = channel::after(time);
        let mut wait = pin!(timer.recv_async());
        let waker = Waker::from(Arc::new(Panics));
        assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        executor.block_on(async move {
            channel::after(2 * time).recv_async().await.unwrap();
            channel::tick(time).recv_async().await.unwrap();
        });
    }
}
