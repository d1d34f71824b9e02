//! The system refuses threads.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use corelane::channel;
use corelane_executor::io::Timer;
use corelane_executor::{Executor, JoinError, spawn, spawn_blocking};

pub const PROGRAMS: &[(&str, fn())] = &[
    ("no_thread_to_be_had::fewer_threads", fewer_threads),
    ("no_thread_to_be_had::none_at_all", none_at_all),
    ("no_thread_to_be_had::a_thread_again", a_thread_again),
    ("no_thread_to_be_had::timers_of_channels", timers_of_channels),
    ("no_thread_to_be_had::no_executor", no_executor),
];

fn limit(threads: libc::rlim_t) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: they read and write `limit`. Only the soft limit changes.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NPROC, &mut limit), 0);
        limit.rlim_cur = threads.min(limit.rlim_max);
        assert_eq!(libc::setrlimit(libc::RLIMIT_NPROC, &limit), 0);
    }
}

/// Makes the system refuse all further threads. Where it can't be made to, the process ends well.
fn refuse_threads() {
    // SAFETY: the process only gives its rights away. There is no limit for root.
    unsafe {
        let unused = 61_234 + libc::getpid() as libc::uid_t;
        if libc::getuid() == 0 && libc::setresuid(unused, unused, unused) != 0 {
            eprintln!("skipped: root can't become another user");
            std::process::exit(0);
        }
    }
    limit(1);
    if thread::Builder::new().spawn(|| ()).is_ok() {
        eprintln!("skipped: there is no limit of threads");
        std::process::exit(0);
    }
}

/// Has as many threads for calls that block.
async fn start(threads: usize) {
    let meet = Arc::new(Barrier::new(threads));
    let calls: Vec<_> = (0..threads)
        .map(|_| {
            let meet = Arc::clone(&meet);
            spawn_blocking(move || _ = meet.wait())
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
}

fn fewer_threads() {
    Executor::new(2).unwrap().block_on(async {
        start(2).await;
        refuse_threads();
        let calls: Vec<_> = (0..200)
            .map(|n| {
                spawn_blocking(move || {
                    thread::sleep(Duration::from_millis(1));
                    n
                })
            })
            .collect();
        for (n, call) in calls.into_iter().enumerate() {
            assert_eq!(call.await.unwrap(), n);
        }
    });
}

fn assert_refused(output: Result<(), JoinError>) {
    assert!(matches!(output, Err(JoinError::NoThread)), "{output:?}");
}

struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

fn none_at_all() {
    Executor::new(2).unwrap().block_on(async {
        refuse_threads();
        for _ in 0..10 {
            assert_refused(spawn_blocking(|| ()).await);
            assert_refused(spawn_blocking(|| ()).cancel().await);
        }
        drop(spawn_blocking(|| ()));
        // What the call owns panics when it is dropped.
        let owned = PanicsOnDrop;
        assert_refused(spawn_blocking(move || drop(owned)).await);
    });
}

fn a_thread_again() {
    Executor::new(1).unwrap().block_on(async {
        refuse_threads();
        assert_refused(spawn_blocking(|| ()).await);
        limit(1000);
        assert_eq!(spawn_blocking(|| 3).await.unwrap(), 3);
    });
}

fn timers_of_channels() {
    let executor = Executor::new(1).unwrap();
    executor.block_on(async {
        refuse_threads();
        let tasks: Vec<_> = (1..20)
            .map(|n| {
                spawn(async move {
                    let ticks = channel::tick(Duration::from_millis(n));
                    ticks.recv_async().await.unwrap();
                    channel::after(Duration::from_millis(n)).recv_async().await.unwrap();
                    Timer::after(Duration::from_millis(n)).await;
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        limit(1000);
        channel::after(Duration::from_millis(1)).recv_async().await.unwrap();
    });
}

/// An error, and not a panic, also if only async-io gets no thread.
fn no_executor() {
    refuse_threads();
    assert!(Executor::new(1).is_err());
    for threads in 2..5 {
        limit(threads);
        if let Ok(executor) = Executor::new(1) {
            let timer = async { Timer::after(Duration::from_millis(1)).await };
            executor.block_on(async { spawn(timer).await }).unwrap();
        }
    }
    limit(1000);
    assert_eq!(Executor::new(1).unwrap().block_on(async { spawn(async { 1 }).await }).unwrap(), 1);
}
