//! Computations that fork and join.

use std::hint::spin_loop;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use corelane::steal::fork_join::{Fork, Options, Pool};
use corelane::wait::Strategy;

fn pool(workers: usize) -> Pool {
    Pool::new(Options::new(workers)).unwrap()
}

fn fibonacci(fork: &Fork, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = fork.join(|fork| fibonacci(fork, n - 1), |fork| fibonacci(fork, n - 2));
    a + b
}

#[test]
fn all_numbers_of_workers_and_ways_to_wait_compute_the_same() {
    for strategy in [Strategy::Adaptive, Strategy::Sleep, Strategy::Yield] {
        for workers in 1..=4 {
            let pool = Pool::new(Options::new(workers).strategy(strategy)).unwrap();
            for _ in 0..20 {
                assert_eq!(pool.run(|fork| fibonacci(fork, 18)), 2584);
            }
        }
    }
}

#[test]
fn a_queue_that_is_full_makes_joins_run_alone() {
    fn deep(fork: &Fork, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let (below, one) = fork.join(|fork| deep(fork, n - 1), |_| 1);
        below + one
    }
    for workers in 1..=3 {
        let pool = Pool::new(Options::new(workers).capacity(64)).unwrap();
        assert_eq!(pool.run(|fork| deep(fork, 1000)), 1000);
    }
}

/// Sorts as one would in parallel: the halves are borrowed.
#[test]
fn tasks_borrow() {
    fn sort(fork: &Fork, items: &mut [u64]) {
        if items.len() < 100 {
            return items.sort_unstable();
        }
        let (left, middle, right) = {
            let middle = items.len() / 2;
            let (left, item, right) = items.select_nth_unstable(middle);
            (left, *item, right)
        };
        fork.join(|fork| sort(fork, left), |fork| sort(fork, right));
        assert!(left.iter().all(|&item| item <= middle));
    }
    let mut items: Vec<u64> =
        (0..100_000_u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20).collect();
    let mut sorted = items.clone();
    sorted.sort_unstable();
    pool(3).run(|fork| sort(fork, &mut items));
    assert!(items == sorted);
}

/// The first half makes small joins until the other half is done, which another worker must have
/// got: the first one pops more often than a thief can seize.
#[test]
fn a_worker_that_joins_all_the_time_gives_its_oldest_task() {
    let pool = pool(2);
    for _ in 0..200 {
        let is_done = AtomicBool::new(false);
        pool.run(|fork| {
            fork.join(
                |fork| {
                    while !is_done.load(Ordering::Relaxed) {
                        fork.join(|_| (), |_| ());
                    }
                },
                |_| is_done.store(true, Ordering::Relaxed),
            )
        });
    }
}

/// A worker whose second half was stolen runs what is there until it is done: here the only other
/// worker waits for one of these tasks.
#[test]
fn waiting_worker_never_helps() {
    let pool = pool(2);
    for _ in 0..200 {
        let is_done = AtomicBool::new(false);
        let has_begun = AtomicBool::new(false);
        pool.run(|fork| {
            fork.join(
                |_| wait_for(&has_begun),
                |fork| {
                    has_begun.store(true, Ordering::Relaxed);
                    fork.join(|_| wait_for(&is_done), |_| is_done.store(true, Ordering::Relaxed));
                },
            )
        });
    }
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::Relaxed) {
        spin_loop();
    }
}

/// Runs both on two workers: `a` begins when `b` has.
fn at_once<A, B: Send>(fork: &Fork, a: impl FnOnce() -> A, b: impl FnOnce() -> B + Send) -> (A, B) {
    let has_begun = AtomicBool::new(false);
    fork.join(
        |_| {
            wait_for(&has_begun);
            a()
        },
        |_| {
            has_begun.store(true, Ordering::Relaxed);
            b()
        },
    )
}

fn message(call: impl FnOnce()) -> &'static str {
    let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("it panics");
    panic.downcast_ref::<&str>().expect("a message")
}

#[test]
fn panics_come_out_of_the_join() {
    let pool = pool(2);
    let run = |call: &(dyn Fn(&Fork) + Sync)| message(|| pool.run(call));
    assert_eq!(run(&|fork| _ = fork.join(|_| panic!("a"), |_| ())), "a");
    assert_eq!(run(&|fork| _ = fork.join(|_| (), |_| panic!("b"))), "b");
    assert_eq!(run(&|fork| _ = at_once(fork, || panic!("a"), || ())), "a");
    assert_eq!(run(&|fork| _ = at_once(fork, || (), || panic!("b"))), "b");
    assert_eq!(run(&|fork| _ = at_once(fork, || panic!("a"), || panic!("b"))), "a");
    // It is as before.
    assert_eq!(pool.run(|fork| fibonacci(fork, 15)), 610);
}

/// Counts its drops.
struct Dropped<'a>(&'a AtomicU64);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn calls_and_outputs_are_dropped_once() {
    let pool = pool(2);
    let drops = AtomicU64::new(0);
    let dropped = || drops.swap(0, Ordering::Relaxed);
    let captured = || Dropped(&drops);
    fn output<'a>(held: &Dropped<'a>) -> Dropped<'a> {
        Dropped(held.0)
    }

    let held = captured();
    message(|| pool.run(|fork| _ = fork.join(|_| panic!("a"), move |_| _ = &held)));
    assert_eq!(dropped(), 1, "a call that was not run");

    let held = captured();
    drop(pool.run(|fork| fork.join(|_| (), move |_| output(&held))));
    assert_eq!(dropped(), 2, "a call that was run here");

    let held = captured();
    drop(pool.run(|fork| at_once(fork, || (), move || output(&held))));
    assert_eq!(dropped(), 2, "a call that another worker has run");

    let held = captured();
    message(|| pool.run(|fork| _ = at_once(fork, || panic!("a"), move || output(&held))));
    assert_eq!(dropped(), 2, "the output of a join that panics");
}

#[test]
fn a_scope_ends_when_all_tasks_are_done() {
    for workers in 1..=3 {
        let (pool, counted) = (pool(workers), AtomicU64::new(0));
        let count = || _ = counted.fetch_add(1, Ordering::Relaxed);
        let count = &count;
        let mut squares = vec![0; 5000];
        let output = pool.run(|fork| {
            fork.scope(|scope| {
                for (n, square) in squares.iter_mut().enumerate() {
                    scope.spawn(move |_| count());
                    scope.spawn(move |scope| {
                        scope.fork().join(|_| *square = n * n, |_| ());
                        scope.spawn(move |_| count());
                    });
                }
                "done"
            })
        });
        assert_eq!(output, "done");
        assert_eq!(counted.into_inner(), 10_000);
        assert!(squares.iter().enumerate().all(|(n, &square)| square == n * n));
    }
}

#[test]
fn a_panic_in_a_scope_comes_out_when_all_are_done() {
    let (pool, count) = (pool(2), AtomicU64::new(0));
    let spawn = |fork: &Fork, panics: bool| {
        fork.scope(|scope| {
            for n in 0..100 {
                let count = &count;
                scope.spawn(move |_| {
                    count.fetch_add(1, Ordering::Relaxed);
                    assert!(n != 50 || panics, "task");
                });
            }
            assert!(!panics, "scope");
        });
    };
    assert_eq!(message(|| pool.run(|fork| spawn(fork, true))), "scope");
    assert_eq!(message(|| pool.run(|fork| spawn(fork, false))), "task");
    assert_eq!(count.into_inner(), 200);
}

#[test]
fn several_threads_run_computations_at_once() {
    for workers in 1..=3 {
        compute_on_four_threads(workers);
    }
}

fn compute_on_four_threads(workers: usize) {
    let pool = Arc::new(pool(workers));
    let barrier = Arc::new(Barrier::new(4));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (pool, barrier) = (Arc::clone(&pool), Arc::clone(&barrier));
            thread::spawn(move || {
                barrier.wait();
                for _ in 0..50 {
                    assert_eq!(pool.run(|fork| fibonacci(fork, 14)), 377);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_panic_comes_out_of_a_run_on_another_thread() {
    let pool = &pool(2);
    let [is_in, may_end] = &[(); 2].map(|()| AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            pool.run(|_| {
                is_in.store(true, Ordering::Relaxed);
                wait_for(may_end);
            });
        });
        wait_for(is_in);
        assert_eq!(pool.run(|fork| fibonacci(fork, 10)), 55);
        assert_eq!(message(|| pool.run(|_| panic!("it"))), "it");
        may_end.store(true, Ordering::Relaxed);
    });
}

/// A task calls a function that runs its computation on the pool of the task.
#[test]
fn a_task_runs_a_computation_of_its_own_pool() {
    let (pool, other) = (&pool(1), &pool(1));
    let sum = pool.run(|fork| {
        let (a, b) = fork.join(
            |_| pool.run(|fork| fibonacci(fork, 10)),
            |_| other.run(|_| pool.run(|fork| fibonacci(fork, 10))),
        );
        a + b
    });
    assert_eq!(sum, 110);
}

#[test]
fn a_pool_tells_what_its_workers_do() {
    let pool = pool(2);
    assert_eq!(pool.workers(), 2);
    pool.run(|fork| {
        assert_eq!((fork.worker(), fork.workers()), (0, 2));
        at_once(fork, || (), || ());
    });
    let [own, other] = [0, 1].map(|worker| pool.counts(worker));
    assert_eq!(own.tasks, 0);
    assert_eq!((other.tasks, other.stolen + other.seized), (1, 1));
}

/// Fails if it takes too long.
fn ends(call: impl FnOnce() + Send + 'static) {
    let (tell, told) = mpsc::channel();
    let thread = thread::spawn(move || {
        call();
        tell.send(()).unwrap();
    });
    let in_time = told.recv_timeout(Duration::from_secs(60));
    assert!(in_time != Err(RecvTimeoutError::Timeout), "it hangs");
    thread.join().unwrap();
}

/// Workers of two pools wait for each other's pool.
#[test]
fn pools_call_each_other() {
    ends(|| {
        for (workers, strategy) in [
            ([2, 2], Strategy::Adaptive),
            ([2, 3], Strategy::Yield),
            ([1, 2], Strategy::Sleep),
            ([1, 1], Strategy::Adaptive),
        ] {
            let new = |workers| Pool::new(Options::new(workers).strategy(strategy)).unwrap();
            let pools = &workers.map(new);
            let call = |from: usize| {
                for _ in 0..200 {
                    let inner = |fork: &Fork| {
                        pools[from].run(|fork| fibonacci(fork, 3)) + fork.worker() as u64
                    };
                    pools[from].run(|fork| {
                        fork.join(|_| pools[1 - from].run(inner), |_| pools[1 - from].run(inner))
                    });
                }
            };
            thread::scope(|scope| (0..6).for_each(|n| _ = scope.spawn(move || call(n % 2))));
        }
    });
}

/// A task that another worker has stolen needs a worker of the pool in which its join was called.
#[test]
fn a_task_calls_the_pool_outside_of_its_own() {
    ends(|| {
        for (outer, inner) in [(1, 2), (2, 2), (3, 2)] {
            let (outer, inner) = (&pool(outer), &pool(inner));
            for _ in 0..20 {
                let call = |fork: &Fork| {
                    let slowly = || {
                        thread::sleep(Duration::from_millis(1));
                        outer.run(|fork| fibonacci(fork, 5))
                    };
                    let sums = fork.join(|_| slowly(), |_| outer.run(|fork| fibonacci(fork, 5)));
                    assert_eq!(sums, (5, 5));
                };
                outer.run(|_| inner.run(call));
            }
        }
    });
}

/// A pool of one worker is in use, and the other threads that call it are workers themselves.
#[test]
fn a_pool_of_one_worker_is_called_by_workers() {
    ends(|| {
        let (several, one) = (&pool(2), &pool(1));
        let computes = || one.run(|fork| fibonacci(fork, 5));
        for _ in 0..50 {
            let again = |fork: &Fork| at_once(fork, computes, computes);
            assert_eq!(several.run(|_| one.run(|_| several.run(again))), (5, 5));
        }
        let is_in = &AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                one.run(|_| {
                    is_in.store(true, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(5));
                });
                one.run(|_| thread::sleep(Duration::from_millis(5)));
            });
            wait_for(is_in);
            assert_eq!(several.run(|_| computes()), 5);
        });
    });
}

/// What panics again when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the payload of a panic is dropped");
    }
}

#[test]
fn payloads_whose_drop_panics_harm_nobody() {
    ends(|| {
        let pool = pool(2);
        let tasks = |fork: &Fork| {
            at_once(fork, || (), || ());
            fork.scope(|scope| (0..3).for_each(|_| scope.spawn(|_| panic_any(Bomb))));
        };
        let scope = |fork: &Fork| {
            fork.scope(|scope| {
                scope.spawn(|_| panic_any(Bomb));
                panic_any(Bomb);
            });
        };
        let both = |fork: &Fork| _ = at_once(fork, || panic_any(Bomb), || panic_any(Bomb));
        for _ in 0..20 {
            for panics in [&tasks as &(dyn Fn(&Fork) + Sync), &scope, &both] {
                mem::forget(catch_unwind(AssertUnwindSafe(|| pool.run(panics))));
            }
        }
        assert_eq!(pool.run(|fork| fibonacci(fork, 10)), 55);
    });
}

/// The thread whose first call has panicked runs other tasks until the second one is done. They are
/// not part of the panic.
#[test]
fn tasks_of_others_do_not_run_while_a_thread_unwinds() {
    let pool = pool(2);
    let [has_begun, may_end, unwinds] = &[(); 3].map(|()| AtomicBool::new(false));
    let call = |fork: &Fork| {
        fork.scope(|scope| {
            scope.fork().join(
                |_| {
                    wait_for(has_begun);
                    scope.spawn(|_| {
                        unwinds.store(thread::panicking(), Ordering::Relaxed);
                        may_end.store(true, Ordering::Relaxed);
                    });
                    panic!("a");
                },
                |_| {
                    has_begun.store(true, Ordering::Relaxed);
                    wait_for(may_end);
                },
            );
        });
    };
    assert_eq!(message(|| pool.run(call)), "a");
    assert!(!unwinds.load(Ordering::Relaxed));
}

/// Computations with scopes inside, and tasks that sleep, on pools of all kinds, by several threads
/// at once.
#[test]
fn many_computations_on_many_pools() {
    fn tree(fork: &Fork, n: u64, seed: u64) -> u64 {
        if n < 2 {
            if seed % 512 == 0 {
                thread::sleep(Duration::from_micros(30));
            }
            return n;
        }
        let next = |of: u64| (seed ^ of).wrapping_mul(0x5851_F42D_4C95_7F2D) >> 13;
        if seed % 13 > 0 {
            let (a, b) =
                fork.join(|fork| tree(fork, n - 1, next(1)), |fork| tree(fork, n - 2, next(2)));
            return a + b;
        }
        let [a, b] = &[(); 2].map(|()| AtomicU64::new(0));
        fork.scope(|scope| {
            scope.spawn(move |scope| {
                let sum = tree(scope.fork(), n - 1, next(1));
                scope.spawn(move |_| a.store(sum, Ordering::Relaxed));
            });
            scope
                .spawn(move |scope| b.store(tree(scope.fork(), n - 2, next(2)), Ordering::Relaxed));
        });
        a.load(Ordering::Relaxed) + b.load(Ordering::Relaxed)
    }
    ends(|| {
        let strategies =
            [Strategy::Adaptive, Strategy::Sleep, Strategy::Yield, Strategy::SpinThenSleep(5)];
        for kind in 0..48 {
            let workers = [1, 2, 3, 8][kind % 4];
            let strategy = strategies[kind / 4 % 4];
            let options =
                Options::new(workers).strategy(strategy).capacity([1, 64, 2048][kind / 16]);
            let pool = &Pool::new(options).unwrap();
            thread::scope(|scope| {
                for thread in 0..3 {
                    let compute = move || {
                        for run in 0..100 {
                            assert_eq!(pool.run(|fork| tree(fork, 9, run * 31 + thread)), 34);
                        }
                    };
                    scope.spawn(compute);
                }
            });
        }
    });
}
