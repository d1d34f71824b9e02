//! Waiting handles of all queues, with more threads than cores. The environment variable
//! `CORELANE_STRESS` scales the number of items.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use corelane::wait::{self, Closed};
use corelane::{
    Config, Consumer as _, Producer as _, Queue, SingleQueue, TryPopError, TryPushError, mpmc, spsc,
};

/// Items of each producer.
static ITEMS: LazyLock<u64> = LazyLock::new(|| {
    let scale = std::env::var("CORELANE_STRESS").map_or(1.0, |scale| scale.parse().unwrap());
    (3000.0 * scale) as u64
});

/// Producers push numbers with pauses, so that consumers sleep; consumers make pauses, too, so that
/// producers sleep. Each number comes once, and those of a producer come in order to each consumer.
/// In a k-FIFO queue a number may be up to 2k − 3 behind.
fn stream<P, C>(txs: Vec<wait::Producer<P>>, rxs: Vec<wait::Consumer<C>>)
where
    P: corelane::Producer<Item = u64> + Send + 'static,
    C: corelane::Consumer<Item = u64> + Send + 'static,
{
    let producers = txs.len() as u64;
    let mut threads = Vec::new();
    for (producer, mut tx) in (0..).zip(txs) {
        thread::spawn(move || {
            for n in 0..*ITEMS {
                if n % 997 == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
                tx.push(producer * *ITEMS + n + 1).unwrap();
            }
        });
    }
    for mut rx in rxs {
        threads.push(thread::spawn(move || {
            let mut last = vec![0; producers as usize];
            let behind = (rx.relaxation() as u64 - 1).saturating_mul(2);
            let mut sum = 0;
            for (i, number) in rx.iter().enumerate() {
                let producer = ((number - 1) / *ITEMS) as usize;
                let is_in_turn = last[producer] < number.saturating_add(behind);
                assert!(is_in_turn, "{number} after {}", last[producer]);
                last[producer] = last[producer].max(number);
                sum += number;
                if i % 1009 == 1008 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            sum
        }));
    }
    let sum: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let most = producers * *ITEMS;
    assert_eq!(sum, most * (most + 1) / 2);
}

fn config(capacity: usize) -> Config {
    Config::new(capacity)
}

fn single<Q: SingleQueue<u64>>()
where
    Q::Producer: Send + 'static,
    Q::Consumer: Send + 'static,
{
    for capacity in [2, 100] {
        let (tx, rx) = wait::pair(Q::with(config(capacity)).unwrap());
        stream(vec![tx], vec![rx]);
    }
}

fn shared<Q: Queue<u64>>()
where
    Q::Producer: Send + 'static,
    Q::Consumer: Send + 'static,
{
    for (capacity, producers, consumers) in [(2, 1, 1), (2, 3, 3), (100, 2, 1), (100, 1, 2)] {
        if !Q::INFO.sides.allow(producers, consumers) {
            continue;
        }
        let (tx, rx) = wait::pair(Q::with(config(capacity)).unwrap());
        let mut txs: Vec<_> = (1..producers).map(|_| tx.try_clone().unwrap()).collect();
        let mut rxs: Vec<_> = (1..consumers).map(|_| rx.try_clone().unwrap()).collect();
        txs.push(tx);
        rxs.push(rx);
        stream(txs, rxs);
    }
}

macro_rules! test {
    (single any $id:ident: $queue:ty) => {
        #[test]
        fn $id() {
            single::<$queue>();
        }
    };
    (shared any $id:ident: $queue:ty) => {
        #[test]
        fn $id() {
            shared::<$queue>();
        }
    };
    (relaxed any $id:ident: $queue:ty) => {
        #[test]
        fn $id() {
            shared::<$queue>();
        }
    };
    ($($other:tt)*) => {};
}

mod streams {
    use super::*;

    corelane::for_each_queue!(test);
}

#[test]
fn the_last_handle_of_the_other_side_wakes_all() {
    let (tx, rx) = wait::pair(mpmc::queue::<u64>(1).unwrap());
    let poppers: Vec<_> = (0..3)
        .map(|_| {
            let mut rx = rx.clone();
            thread::spawn(move || rx.pop())
        })
        .collect();
    thread::sleep(Duration::from_millis(20));
    drop(tx);
    poppers.into_iter().for_each(|popper| assert_eq!(popper.join().unwrap(), None));

    let (mut tx, rx) = wait::pair(spsc::queue::<u64>(1).unwrap());
    let pusher = thread::spawn(move || {
        let mut n = 0;
        loop {
            match tx.push(n) {
                Ok(()) => n += 1,
                Err(Closed(item)) => return (n, item),
            }
        }
    });
    thread::sleep(Duration::from_millis(20));
    drop(rx);
    let (n, item) = pusher.join().unwrap();
    assert_eq!(n, item, "the item that waited comes back");
}

#[test]
fn a_wait_ends_in_time() {
    let (mut tx, mut rx) = wait::pair(mpmc::queue::<u64>(1).unwrap());
    let time = Duration::from_millis(15);
    let begin = Instant::now();
    assert_eq!(rx.pop_timeout(time), Err(TryPopError::Empty));
    while tx.try_push(1).is_ok() {}
    assert_eq!(tx.push_timeout(7, time), Err(TryPushError::Full(7)));
    assert!(begin.elapsed() >= 2 * time);
    assert_eq!(rx.pop_timeout(Duration::ZERO), Ok(1));
    assert_eq!(rx.pop_timeout(Duration::MAX), Ok(1), "a time that never comes");
    let begin = Instant::now();
    assert_eq!(rx.iter().take(1).count(), 1);
    assert!(begin.elapsed() < Duration::from_secs(5));
    drop(tx);
    assert!(rx.pop_deadline(begin).is_ok(), "what is there comes also after the time");
    while rx.pop_timeout(time) == Ok(1) {}
    assert_eq!(rx.pop_timeout(time), Err(TryPopError::Closed));
}

#[test]
fn many_items_at_once() {
    let (mut tx, mut rx) = wait::pair(spsc::queue::<u64>(10).unwrap());
    let producer = thread::spawn(move || tx.push_all(0..1000));
    let mut items = Vec::new();
    while rx.pop_many(&mut items, 64) > 0 {}
    assert_eq!(items, (0..1000).collect::<Vec<_>>());
    producer.join().unwrap().unwrap();
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn one_side_may_be_a_task_and_the_other_a_thread() {
    let (mut tx, mut rx) = wait::pair(mpmc::queue::<u64>(4).unwrap());
    let task = thread::spawn(move || {
        block_on(async {
            for n in 0..*ITEMS {
                tx.push_async(n).await.unwrap();
            }
        });
    });
    assert_eq!(rx.iter().sum::<u64>(), *ITEMS * (*ITEMS - 1) / 2);
    task.join().unwrap();

    let (mut tx, mut rx) = wait::pair(mpmc::queue::<u64>(4).unwrap());
    let task = thread::spawn(move || {
        block_on(async {
            let mut sum = 0;
            while let Some(n) = rx.pop_async().await {
                sum += n;
            }
            sum
        })
    });
    tx.push_all(0..*ITEMS).unwrap();
    drop(tx);
    assert_eq!(task.join().unwrap(), *ITEMS * (*ITEMS - 1) / 2);
}

/// A future that was woken and is dropped passes its ring on, and takes no item along.
#[test]
fn a_dropped_future_loses_nothing() {
    let (mut tx, mut rx) = wait::pair(mpmc::queue::<u64>(4).unwrap());
    let mut other = rx.clone();
    let mut first = Box::pin(rx.pop_async());
    assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let popper = thread::spawn(move || other.pop());
    thread::sleep(Duration::from_millis(20));
    tx.push(1).unwrap(); // wakes `first`
    thread::sleep(Duration::from_millis(5));
    drop(first);
    assert_eq!(popper.join().unwrap(), Some(1));

    let mut full = 0;
    while tx.try_push(full).is_ok() {
        full += 1;
    }
    let mut push = Box::pin(tx.push_async(99));
    assert!(push.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(push);
    drop(tx);
    assert_eq!(rx.into_iter().count() as u64, full, "the item was dropped with its future");
}

/// An inbox of five queues, whose producers sleep now and then and end at different times.
#[test]
fn an_inbox_gets_all_items_of_all_queues() {
    let mut inbox = wait::Inbox::new();
    let mut threads = Vec::new();
    for producer in 0..5 {
        let mut tx = inbox.add(spsc::queue::<u64>(10).unwrap());
        threads.push(thread::spawn(move || {
            for n in 0..*ITEMS * (producer + 1) / 5 {
                if n % 197 == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
                tx.push(producer << 32 | n).unwrap();
            }
        }));
    }
    let mut next = [0; 5];
    for item in inbox.iter() {
        let producer = (item >> 32) as usize;
        assert_eq!(item & u64::from(u32::MAX), next[producer]);
        next[producer] += 1;
    }
    assert_eq!(next.map(|n| n * 5 / *ITEMS), [1, 2, 3, 4, 5]);
    assert_eq!(inbox.queues(), 0);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn an_inbox_takes_turns() {
    let mut inbox = wait::Inbox::new();
    let mut txs = [(); 2].map(|()| inbox.add(spsc::queue::<u64>(1000).unwrap()));
    for (n, tx) in (0..).zip(&mut txs) {
        (0..500).for_each(|_| tx.try_push(n).unwrap());
    }
    let first: Vec<_> = inbox.iter().take(100).collect();
    assert!(first.contains(&0) && first.contains(&1), "{first:?}");
}

/// A queue that ends takes the place of another one, which has an item.
#[test]
fn an_inbox_finds_items_while_queues_end() {
    for ended in 0..4 {
        let mut inbox = wait::Inbox::new();
        let mut txs: Vec<_> = (0..4).map(|_| inbox.add(spsc::queue::<u64>(10).unwrap())).collect();
        // The next look begins in the middle.
        txs[1].push(0).unwrap();
        assert_eq!(inbox.pop(), Some(0));
        drop(txs.remove(ended));
        for tx in &mut txs {
            tx.push(1).unwrap();
            assert_eq!(inbox.try_pop(), Ok(1));
        }
        assert_eq!(inbox.try_pop(), Err(TryPopError::Empty));
        assert_eq!(inbox.pop_timeout(Duration::from_millis(1)), Err(TryPopError::Empty));
        drop(txs);
        assert_eq!(inbox.pop(), None);
    }
}

#[test]
fn an_inbox_can_be_awaited() {
    let mut inbox = wait::Inbox::new();
    let mut tx = inbox.add(spsc::queue::<u64>(10).unwrap());
    let sends = thread::spawn(move || {
        for n in 0..10 {
            thread::sleep(Duration::from_millis(1));
            tx.push(n).unwrap();
        }
    });
    for n in 0..10 {
        assert_eq!(block_on(inbox.pop_async()), Some(n));
    }
    assert_eq!(block_on(inbox.pop_async()), None);
    sends.join().unwrap();
}

/// Chunks ring: both sides sleep in turns, for the first item of a chunk and for all of them.
#[test]
fn chunks_wait() {
    let (tx, rx) = wait::pair(spsc::queue::<u64>(64).unwrap());
    let (mut tx, mut rx) = (tx.strategy(wait::Strategy::Sleep), rx.strategy(wait::Strategy::Sleep));
    let sends = thread::spawn(move || {
        let mut next = 0;
        for n in (1..=32).cycle().take(500) {
            tx.wait_for_room(n).unwrap();
            let mut chunk = tx.write_chunk(n).unwrap();
            assert_eq!(chunk.len(), n);
            let slots = chunk.as_mut_slices();
            for item in slots.0.iter_mut().chain(slots.1) {
                (*item, next) = (next, next + 1);
            }
            chunk.commit_all();
        }
        next
    });
    let mut next = 0;
    for n in (1..=32).rev().cycle() {
        if rx.wait_for_items(n) == 0 {
            break;
        }
        for item in rx.read_chunk(n).unwrap() {
            assert_eq!(item, next);
            next += 1;
        }
    }
    assert_eq!(sends.join().unwrap(), next);
}

#[test]
fn waits_for_chunks_end_with_the_other_side() {
    let (mut tx, rx) = wait::pair(spsc::queue::<u64>(8).unwrap());
    while tx.try_push(0).is_ok() {}
    let waits = thread::spawn(move || tx.wait_for_room(8));
    thread::sleep(Duration::from_millis(5));
    drop(rx);
    assert_eq!(waits.join().unwrap(), Err(Closed(())));

    let (mut tx, mut rx) = wait::pair(spsc::queue::<u64>(8).unwrap());
    tx.push_all([1, 2, 3]).unwrap();
    let waits = thread::spawn(move || rx.wait_for_items(8));
    thread::sleep(Duration::from_millis(5));
    drop(tx);
    assert_eq!(waits.join().unwrap(), 3);
}

/// Threads sleep at records of all lengths; some claims are held for a while, and some are aborted.
#[test]
fn records_wait() {
    let (tx, rx) = wait::bytes::pair(corelane::bytes::queue(512).unwrap());
    let (tx, rx) = (tx.strategy(wait::Strategy::Sleep), rx.strategy(wait::Strategy::Sleep));
    let sends: Vec<_> = (0..3)
        .map(|producer: u8| {
            let mut tx = tx.clone();
            thread::spawn(move || {
                for n in 0..2000_usize {
                    let mut claim = tx.claim(n % 64 + 1).unwrap();
                    if n % 100 == 99 {
                        thread::yield_now();
                        claim.abort();
                        continue;
                    }
                    claim.fill(producer);
                    if n % 300 == 0 {
                        thread::sleep(Duration::from_millis(1));
                    }
                    claim.commit();
                }
            })
        })
        .collect();
    drop(tx);
    let receives: Vec<_> = (0..2)
        .map(|_| {
            let mut rx = rx.clone();
            thread::spawn(move || {
                let mut records = [0; 3];
                while let Some(record) = rx.pop() {
                    assert!(record.iter().all(|byte| *byte == record[0]));
                    records[usize::from(record[0])] += 1;
                    if records[0] % 500 == 0 {
                        thread::sleep(Duration::from_millis(1));
                    }
                }
                records
            })
        })
        .collect();
    drop(rx);
    sends.into_iter().for_each(|thread| thread.join().unwrap());
    let records = receives.into_iter().map(|thread| thread.join().unwrap());
    assert_eq!(records.reduce(|a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]), Some([1980; 3]));
}

#[test]
fn waits_for_records_end() {
    let (mut tx, mut rx) = wait::bytes::pair(corelane::bytes::queue(64).unwrap());
    let soon = Duration::from_millis(1);
    assert_eq!(rx.pop_timeout(soon).unwrap_err(), TryPopError::Empty);
    while tx.claim_timeout(16, soon).map(wait::bytes::Claim::commit).is_ok() {}
    assert!(matches!(tx.claim(100_000), Err(corelane::bytes::ClaimError::TooLarge { .. })));
    let waits = thread::spawn(move || tx.push(&[1; 16]));
    thread::sleep(soon);
    drop(rx.pop());
    // A block comes back with its last record.
    while !waits.is_finished() && rx.try_pop().is_ok() {}
    assert_eq!(waits.join().unwrap(), Ok(()));
    while rx.pop().is_some() {}
}

/// A pop that finds no record ready gives back a block, for which a producer waits.
#[test]
fn a_pop_without_a_record_wakes_a_producer() {
    let queue = corelane::bytes::queue_with(config(64).block(64)).unwrap();
    let (mut tx, mut rx) = wait::bytes::pair(queue);
    for _ in 0..3 {
        tx.push(&[1; 16]).unwrap();
        drop(rx.pop());
    }
    let mut other = tx.clone();
    // Leaves the rest of the first block unused.
    let held = tx.claim(32).unwrap();
    let waits = thread::spawn(move || other.claim(64).map(wait::bytes::Claim::commit));
    thread::sleep(Duration::from_millis(5));
    assert_eq!(rx.try_pop().map(drop), Err(TryPopError::Busy));
    assert_eq!(waits.join().unwrap(), Ok(()));
    held.commit();
}

/// A pop that passes the unused rest of a block gives the block back, also while its record is held.
#[test]
fn a_pop_wakes_a_producer_before_its_record_is_dropped() {
    let queue = corelane::bytes::queue_with(config(64).block(64)).unwrap();
    let (mut tx, mut rx) = wait::bytes::pair(queue);
    for _ in 0..3 {
        tx.push(&[1; 16]).unwrap();
        drop(rx.pop());
    }
    // Leaves the rest of the first block unused.
    tx.push(&[2; 64]).unwrap();
    let waits = thread::spawn(move || {
        let mut tx = tx.strategy(wait::Strategy::Sleep);
        tx.claim_timeout(64, Duration::from_secs(20)).map(wait::bytes::Claim::commit)
    });
    thread::sleep(Duration::from_millis(50));
    let held = rx.pop().unwrap();
    let begin = Instant::now();
    assert_eq!(waits.join().unwrap(), Ok(()));
    assert!(begin.elapsed() < Duration::from_secs(10), "nobody rang");
    assert_eq!(*held, [2; 64]);
}

/// A producer that waits for room first shows its items to a consumer that sleeps.
#[test]
fn a_wait_for_room_publishes() {
    let queue = corelane::mc_ring::queue_with::<u64>(config(8).batch(4)).unwrap();
    let (mut tx, rx) = wait::pair(queue);
    let sum = thread::spawn(move || rx.into_iter().sum::<u64>());
    for _ in 0..2 {
        tx.flush();
        thread::sleep(Duration::from_millis(5));
        tx.push_all([1, 2, 3]).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    tx.wait_for_room(tx.capacity()).unwrap();
    drop(tx);
    assert_eq!(sum.join().unwrap(), 12);
}

#[test]
fn queues_that_are_never_full_have_room() {
    let (mut tx, mut rx) = wait::pair(spsc::unbounded_queue::<u64>().unwrap());
    assert_eq!(tx.wait_for_room(1_000_000), Ok(()));
    tx.push_all(0..70_000).unwrap();
    assert_eq!(rx.wait_for_items(65_536), 65_536);
}
