//! Tasks that wait at lanes.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use corelane::shm::{Lane, Peer};
use futures_executor::block_on;
use futures_util::future::join_all;
use std::future::Future;

use super::{Tick, lane, spawn};

/// One poll.
fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
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
