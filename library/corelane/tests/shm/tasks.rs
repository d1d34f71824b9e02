//! Tasks that wait at lanes.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use corelane::shm::{Lane, Lanes, ManyConsumer, Peer};
use corelane::wait::Strategy;
use futures_executor::block_on;
use futures_util::future::{Either, join_all, select};

use super::{Tick, lane, spawn};

/// One poll.
fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn tasks_wait_for_items_and_for_room() {
    let (there, back) = (lane(3), lane(3));
    let mut process = spawn("answer", &[&there, &back]);
    let (mut tx, mut rx) = (there.producer().unwrap(), back.consumer().unwrap());
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    threads.block_on(async {
        let sends = tokio::spawn(async move {
            for number in 0..2000 {
                tx.push_async(Tick::new(number)).await.unwrap();
            }
        });
        let receives = tokio::spawn(async move {
            for number in 0..2000 {
                assert_eq!(rx.pop_async().await, Some(Tick::new(number)));
            }
            // The other process leaves when it sees that this one has.
            assert_eq!(rx.pop_async().await, None);
            assert_eq!(rx.peer(), Peer::Left);
        });
        sends.await.unwrap();
        receives.await.unwrap();
    });
    assert!(process.wait().unwrap().success());
}

/// A waker panics, and what it panics with panics when it is dropped: other tasks are woken all the
/// same (rows `panicking_waker`, `destructor_of_result`).
#[test]
fn panicking_waker() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            if !thread::panicking() {
                panic!("dropped");
            }
        }
    }
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            std::panic::panic_any(Payload);
        }
    }
    let (bad, good) = (lane(3), lane(3));
    let (mut bad_tx, mut bad_rx) = (bad.producer().unwrap(), bad.consumer().unwrap());
    let mut sleeps = pin!(bad_rx.pop_async());
    let waker = Waker::from(Arc::new(Panics));
    assert!(sleeps.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    bad_tx.push(Tick::new(1)).unwrap();
    let (mut tx, mut rx) = (good.producer().unwrap(), good.consumer().unwrap());
    thread::scope(|s| {
        s.spawn(move || {
            // So that the task sleeps, and the other waker has panicked.
            thread::sleep(Duration::from_millis(50));
            tx.push(Tick::new(2)).unwrap();
        });
        assert_eq!(block_on(rx.pop_async()), Some(Tick::new(2)));
    });
}

/// More tasks than one thread can sleep for.
#[test]
fn many_tasks_wait_at_once() {
    let lanes: Vec<_> = (0..300).map(|_| Lane::<[u8]>::create(64).unwrap()).collect();
    let mut sides: Vec<_> = lanes.iter().map(|lane| lane.consumer().unwrap()).collect();
    let mut others: Vec<_> = lanes.iter().map(|lane| lane.producer().unwrap()).collect();
    thread::scope(|s| {
        s.spawn(|| {
            for round in 0..5_u8 {
                thread::sleep(Duration::from_millis(5));
                others.iter_mut().for_each(|tx| tx.push(&[round]).unwrap());
            }
            others.clear();
        });
        let totals = block_on(join_all(sides.iter_mut().map(|rx| async {
            let mut total = 0;
            while let Some(record) = rx.pop_async().await {
                total += u32::from(record[0]);
            }
            total
        })));
        assert_eq!(totals, [1 + 2 + 3 + 4; 300]);
    });
}

#[test]
fn a_task_waits_for_room_for_a_record() {
    let lane = Lane::<[u8]>::create(256).unwrap();
    let (mut tx, mut rx) = (lane.producer().unwrap(), lane.consumer().unwrap());
    let reads = thread::spawn(move || {
        let mut bytes = 0;
        while let Some(record) = rx.pop() {
            bytes += record.len();
            thread::sleep(Duration::from_micros(100));
        }
        bytes
    });
    block_on(async {
        for len in 0..500 {
            let mut claim = tx.claim_async(len % 50).await.unwrap();
            claim.fill(1);
            claim.commit();
        }
    });
    drop(tx);
    assert_eq!(reads.join().unwrap(), (0..500).map(|len| len % 50).sum());
}

#[test]
fn a_future_that_is_dropped_has_taken_nothing() {
    let lane = lane(2);
    let (mut tx, mut rx) = (lane.producer().unwrap(), lane.consumer().unwrap());
    for number in 0..100 {
        {
            let mut future = pin!(rx.pop_async());
            assert!(poll(future.as_mut()).is_pending() && poll(future.as_mut()).is_pending());
            tx.push(Tick::new(number)).unwrap();
        }
        assert_eq!(rx.try_pop(), Ok(Tick::new(number)));
    }
    let room = (0..).take_while(|&number| tx.try_push(Tick::new(number)).is_ok()).count() as u64;
    {
        let mut future = pin!(tx.push_async(Tick::new(9999)));
        assert!(poll(future.as_mut()).is_pending());
        assert_eq!(rx.pop(), Some(Tick::new(0)));
    }
    drop(tx);
    assert_eq!(rx.iter().map(Tick::checked).collect::<Vec<_>>(), Vec::from_iter(1..room));
}

#[test]
fn a_task_finds_out_that_the_other_process_was_killed() {
    let lane = lane(100);
    let mut rx = lane.consumer().unwrap();
    let mut process = spawn("push some and sleep", &[&lane]);
    block_on(async {
        assert_eq!(rx.pop_async().await, Some(Tick::new(0)));
        process.kill().unwrap();
        process.wait().unwrap();
        let begin = Instant::now();
        while rx.pop_async().await.is_some() {}
        assert_eq!(rx.peer(), Peer::Died);
        assert!(begin.elapsed() < Duration::from_secs(5));
    });
}

/// Of two lanes one is busy, so the wait at the other one is given up again and again.
#[test]
fn a_task_that_selects_finds_out_that_a_process_was_killed() {
    let (busy, other) = (lane(4), lane(100));
    let (mut tx, mut rx) = (busy.producer().unwrap(), busy.consumer().unwrap());
    let mut dead = other.consumer().unwrap();
    let mut process = spawn("push some and sleep", &[&other]);
    assert!((0..10).all(|number| dead.pop() == Some(Tick::new(number))));
    process.kill().unwrap();
    process.wait().unwrap();
    let sends = thread::spawn(move || {
        while tx.push(Tick::new(0)).is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    });
    let begin = Instant::now();
    block_on(async {
        loop {
            assert!(begin.elapsed() < Duration::from_secs(5), "it never finds out");
            let item = match select(pin!(rx.pop_async()), pin!(dead.pop_async())).await {
                Either::Left(_) => continue,
                Either::Right((item, _)) => item,
            };
            assert_eq!(item, None);
            return;
        }
    });
    drop(rx);
    sends.join().unwrap();
}

/// A waker that counts, and may panic.
struct Wakes(AtomicU32, bool);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        assert!(!self.1, "a waker that panics");
    }
}

#[test]
fn the_last_waker_is_woken_also_after_one_that_panicked() {
    let wakers = [true, false, false].map(|panics| Arc::new(Wakes(AtomicU32::new(0), panics)));
    let [bad, first, second] = wakers.clone().map(Waker::from);
    let lanes = [lane(4), lane(4)];
    let mut tx = lanes.each_ref().map(|lane| lane.producer().unwrap());
    let [mut rx, mut other] = lanes.each_ref().map(|lane| lane.consumer().unwrap());
    let poll = |future: Pin<&mut dyn Future<Output = _>>, waker| {
        assert!(future.poll(&mut Context::from_waker(waker)).is_pending());
    };
    {
        let mut future = pin!(rx.pop_async());
        poll(future.as_mut(), &bad);
        tx[0].push(Tick::new(0)).unwrap();
        wait_until(|| wakers[0].0.load(Ordering::SeqCst) == 1);
    }
    // The task has moved to another executor.
    let mut future = pin!(other.pop_async());
    poll(future.as_mut(), &first);
    poll(future.as_mut(), &second);
    tx[1].push(Tick::new(1)).unwrap();
    wait_until(|| wakers[2].0.load(Ordering::SeqCst) == 1);
    assert_eq!(wakers[1].0.load(Ordering::SeqCst), 0);
}

fn wait_until(condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(10), "it never comes");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn records_may_be_held_while_a_task_waits_for_something_else() {
    let lane = Lane::<[u8]>::create(1000).unwrap();
    let (mut tx, mut rx) = (lane.producer().unwrap(), lane.consumer().unwrap());
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    threads.block_on(async {
        let sends = tokio::spawn(async move {
            for number in 0..200_u8 {
                let mut claim = tx.claim_async(1).await.unwrap();
                tokio::task::yield_now().await;
                claim[0] = number;
                claim.commit();
                tx.push_async(&[number]).await.unwrap();
            }
        });
        let reads = tokio::spawn(async move {
            let mut records = 0;
            while let Some(record) = rx.pop_async().await {
                tokio::task::yield_now().await;
                assert_eq!(*record, [(records / 2) as u8]);
                records += 1;
            }
            records
        });
        sends.await.unwrap();
        assert_eq!(reads.await.unwrap(), 400);
    });
}

/// Of several tasks that wait for items of many, some are given up: no ring is lost.
#[test]
fn tasks_wait_for_items_of_many() {
    let lanes = Lanes::<Tick>::create_for_producers(2, 2).unwrap();
    let pushes: Vec<_> = (0..2)
        .map(|number| {
            let mut tx = lanes.producer().unwrap();
            thread::spawn(move || {
                for i in 0..500 {
                    block_on(tx.push_async(Tick::new(2 * i + number))).unwrap();
                    if i % 50 == 0 {
                        thread::sleep(Duration::from_millis(1));
                    }
                }
            })
        })
        .collect();
    let pop = |mut rx: ManyConsumer<Tick>| async move {
        let mut numbers = Vec::new();
        loop {
            // Sometimes the first future is dropped while it waits.
            let is_given_up = numbers.len() % 3 == 0;
            let found = match is_given_up.then(|| poll(pin!(rx.pop_async()))) {
                Some(Poll::Ready(found)) => found,
                _ => rx.pop_async().await,
            };
            let Some(tick) = found else { return numbers };
            numbers.push(tick.checked());
        }
    };
    let tasks: Vec<_> = (0..4).map(|_| pop(lanes.consumer().unwrap())).collect();
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let tasks: Vec<_> = tasks.into_iter().map(|task| threads.spawn(task)).collect();
    // A thread sleeps beside the tasks.
    let mut rx = lanes.consumer().unwrap().strategy(Strategy::Sleep);
    let mut numbers: Vec<_> = rx.iter().map(Tick::checked).collect();
    for task in tasks {
        numbers.extend(threads.block_on(task).unwrap());
    }
    pushes.into_iter().for_each(|thread| thread.join().unwrap());
    numbers.sort_unstable();
    assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
}
