//! The pool of workers that steal each other's tasks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use corelane::steal::fork_join;
use corelane::steal::pool::{self, Local, Options, Order, Policy, Pool};

/// Orders, numbers of workers, and capacities of their queues.
fn all_options() -> impl Iterator<Item = Options> {
    [Order::Lifo, Order::Fifo].into_iter().flat_map(|order| {
        let sizes = [(1, 256), (2, 1), (2, 256), (3, 4), (8, 16)];
        sizes.map(|(workers, capacity)| Options::new(workers).order(order).capacity(capacity))
    })
}

/// Each task makes two others, down to a depth.
fn count_tree(options: Options, depth: u32) -> u64 {
    let count = AtomicU64::new(0);
    let split = |local: &mut Local<u32>, depth| {
        count.fetch_add(1, Ordering::Relaxed);
        if depth > 0 {
            local.push(depth - 1);
            local.push(depth - 1);
        }
    };
    pool::run(options, [depth], split).expect("there are threads");
    count.into_inner()
}

#[test]
fn each_task_runs_once() {
    for options in all_options() {
        for depth in [0, 1, 14] {
            assert_eq!(count_tree(options.clone(), depth), (2 << depth) - 1, "{options:?}");
        }
    }
}

#[test]
fn each_policy_finds_all() {
    let policies =
        [Policy::Random, Policy::Sequential, Policy::Last, Policy::BestOfTwo, Policy::BestOfMany];
    for policy in policies {
        for domains in [vec![], vec![0, 0, 1, 1], vec![0, 1, 0, 1], vec![0, 1, 2, 3]] {
            for samples in [false, true] {
                let domains = domains.clone();
                let options = Options::new(4).policy(policy).sample(samples).domains(domains);
                assert_eq!(count_tree(options, 12), (2 << 12) - 1);
            }
        }
    }
}

#[test]
fn no_tasks_at_all() {
    pool::run(Options::new(3), [], |_, (): ()| unreachable!()).unwrap();
    Pool::new(Options::new(3), |_, (): ()| unreachable!()).unwrap().finish();
    Pool::new(Options::new(3), |_, (): ()| unreachable!()).unwrap().cancel();
    Pool::new(Options::new(3), |_, (): ()| unreachable!()).unwrap().wait_until_idle();
}

/// Two tasks of one worker wait for each other: the other worker has to get one of them, though
/// they are in the block in which the first one works.
#[test]
fn work_hidden_in_owners_block() {
    for order in [Order::Lifo, Order::Fifo] {
        let meet = Barrier::new(2);
        let run = |local: &mut Local<u32>, left| match left % 3 {
            0 if left > 0 => {
                local.push(left - 1);
                local.push(left - 2);
            }
            0 => {}
            rest => {
                meet.wait();
                if rest == 1 {
                    local.push(left - 1);
                }
            }
        };
        pool::run(Options::new(2).order(order), [3 * 2000], run).unwrap();
    }
}

/// Tasks from outside come when all workers are about to sleep.
#[test]
fn idle_worker_not_woken() {
    for workers in [1, 2, 4] {
        let (tx, rx) = mpsc::channel();
        let pool = Pool::new(Options::new(workers), move |_, n: u64| tx.send(n).unwrap()).unwrap();
        for n in 0..20_000 {
            pool.push(n);
            let came = rx.recv_timeout(Duration::from_secs(20));
            assert_eq!(came, Ok(n), "all workers sleep");
            if n % 64 == 0 {
                thread::sleep(Duration::from_micros(n / 64));
            }
        }
        pool.finish();
    }
}

/// A task pushes another one and waits until that has run: a worker must be woken for it.
#[test]
fn a_push_by_a_worker_wakes_another() {
    for order in [Order::Lifo, Order::Fifo] {
        let (tx, rx) = mpsc::channel();
        let run = move |local: &mut Local<Option<mpsc::Sender<()>>>, answer| match answer {
            Some(answer) => mpsc::Sender::send(&answer, ()).unwrap(),
            None => {
                let (answer, answered) = mpsc::channel();
                local.push(Some(answer));
                let came = answered.recv_timeout(Duration::from_secs(20));
                tx.send(came.is_ok()).unwrap();
            }
        };
        let pool = Pool::new(Options::new(2).order(order), run).unwrap();
        for n in 0..2_000 {
            if n % 3 == 0 {
                pool.wait_until_idle();
            }
            pool.push(None);
            assert!(rx.recv().unwrap(), "the other worker sleeps");
        }
        pool.finish();
    }
}

#[test]
fn idle_means_that_all_is_done() {
    let done = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&done);
    let run = move |local: &mut Local<u32>, depth| {
        if depth > 0 {
            local.push(depth - 1);
            local.push(depth - 1);
        }
        counter.fetch_add(1, Ordering::Relaxed);
    };
    let pool = Pool::new(Options::new(3), run).unwrap();
    for round in 1..=300 {
        pool.push(5);
        pool.wait_until_idle();
        assert_eq!(done.load(Ordering::Relaxed), round * 63);
    }
}

#[test]
fn others_go_on_after_a_panic() {
    let done = AtomicU64::new(0);
    let run = || {
        pool::run(Options::new(2), 0..1000, |_, n| {
            assert!(n % 10 != 3, "task {}", n % 10);
            done.fetch_add(1, Ordering::Relaxed);
        })
    };
    let panicked = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    assert_eq!(*panicked.downcast::<String>().unwrap(), "task 3");
    assert_eq!(done.into_inner(), 900);
    let pool = Pool::new(Options::new(1), |_, ()| panic!("on purpose")).unwrap();
    pool.push(());
    assert!(catch_unwind(AssertUnwindSafe(|| pool.finish())).is_err());
}

/// A task that counts when it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn what_is_cancelled_is_dropped() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&ran);
    let run = move |local: &mut Local<(u32, Counted)>, (n, task): (u32, Counted)| {
        counter.fetch_add(1, Ordering::Relaxed);
        if n > 0 {
            (0..10).for_each(|_| local.push((0, Counted(Arc::clone(&task.0)))));
        }
    };
    let pool = Pool::new(Options::new(2).capacity(8), run).unwrap();
    let handle = pool.handle();
    for _ in 0..1000 {
        handle.push((1, Counted(Arc::clone(&dropped)))).unwrap();
    }
    pool.cancel();
    let ran = ran.load(Ordering::Relaxed);
    let all = dropped.load(Ordering::Relaxed);
    assert!((1000..=11_000).contains(&all) && ran <= all, "{ran} of {all}");
    assert!(handle.push((0, Counted(Arc::clone(&dropped)))).is_err());
    assert_eq!(Arc::strong_count(&dropped), 1, "nothing is left");
}

#[test]
fn a_dropped_pool_finishes() {
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&ran);
    let pool = Pool::new(Options::new(2), move |_, ()| {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let pool = pool.unwrap();
    (0..1000).for_each(|_| pool.push(()));
    drop(pool);
    assert_eq!(ran.load(Ordering::Relaxed), 1000);
}

/// A task that may have its own pool.
struct Owner(#[expect(dead_code, reason = "it is dropped")] Option<Pool<Owner>>);

#[test]
fn a_task_drops_its_pool() {
    for workers in [1, 2, 3] {
        let ran = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&ran);
        let run = move |_: &mut Local<Owner>, task: Owner| {
            counter.fetch_add(1, Ordering::Relaxed);
            drop(task);
        };
        let pool = Pool::new(Options::new(workers), run).unwrap();
        let handle = pool.handle();
        (0..100).for_each(|_| handle.push(Owner(None)).unwrap());
        handle.push(Owner(Some(pool))).unwrap();
        while ran.load(Ordering::Relaxed) != 101 {
            thread::yield_now();
        }
    }
}

/// What was pushed before the end runs, however the workers were about to sleep.
#[test]
fn finish_runs_all() {
    let ran = Arc::new(AtomicUsize::new(0));
    for round in 1..=3_000 {
        let counter = Arc::clone(&ran);
        let pool = Pool::new(Options::new(2), move |_, ()| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        let pool = pool.unwrap();
        (0..round % 300).for_each(|_| std::hint::spin_loop());
        pool.push(());
        pool.finish();
        assert_eq!(ran.load(Ordering::Relaxed), round);
    }
}

/// A panic whose payload panics, too, ends no worker.
#[test]
fn a_payload_that_panics() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            if !thread::panicking() {
                panic!("in a destructor");
            }
        }
    }
    let ran = AtomicUsize::new(0);
    let run = || {
        pool::run(Options::new(2), 0..10, |_, _| {
            ran.fetch_add(1, Ordering::Relaxed);
            std::panic::panic_any(Payload);
        })
    };
    let first = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    std::mem::forget(first);
    assert_eq!(ran.load(Ordering::Relaxed), 10);
}

#[test]
fn counts_tell_what_workers_do() {
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&ran);
    let pool = Pool::new(Options::new(2), move |local: &mut Local<u32>, n| {
        if n == 0 {
            counter.fetch_add(1, Ordering::Relaxed);
            return;
        }
        (0..100).for_each(|_| local.push(0));
        // The other worker takes one of them, however late it starts.
        while counter.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
    });
    let pool = pool.unwrap();
    pool.push(1);
    pool.wait_until_idle();
    let counts = || [pool.counts(0), pool.counts(1)];
    while counts().iter().any(|counts| counts.sleeps == 0) {
        thread::yield_now();
    }
    let counts = counts();
    assert_eq!(counts.iter().map(|counts| counts.tasks).sum::<u64>(), 101);
    assert!(counts.iter().all(|counts| counts.tasks > 0), "{counts:?}");
    assert!(counts.iter().any(|counts| counts.stolen + counts.seized > 0), "{counts:?}");
    assert_eq!(pool.waiting(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn workers_run_on_their_cores() {
    use rustix::thread::{CpuSet, sched_getaffinity};

    let cores_of_thread = || sched_getaffinity(None).unwrap();
    let before = cores_of_thread();
    let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| before.is_set(core)).collect();
    let options = Options::new(3).cores(all.iter().copied());
    let (tell, told) = mpsc::channel();
    let pool = Pool::new(options, move |local: &mut Local<()>, ()| {
        tell.send((local.worker(), cores_of_thread())).unwrap();
        thread::sleep(Duration::from_millis(1));
    })
    .unwrap();
    (0..30).for_each(|_| pool.push(()));
    pool.finish();
    for (worker, cores) in told {
        assert!(cores.count() == 1 && cores.is_set(all[worker % all.len()]), "{worker}");
    }
    assert!(cores_of_thread() == before);
    for core in [CpuSet::MAX_CPU - 1, usize::MAX] {
        assert!(Pool::new(Options::new(2).cores([core]), |_: &mut Local<()>, ()| ()).is_err());
        assert!(fork_join::Pool::new(Options::new(2).cores([core])).is_err());
    }
    assert!(cores_of_thread() == before);
}
