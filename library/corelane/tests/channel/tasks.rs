// Above 500 lines: what tasks do with channels, by helpers that all of these tests share.

//! Channels of `corelane::channel` in tasks, on several executors, with threads on the other side.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use corelane::channel::{
    Receiver, RecvError, Select, SendError, Sender, after, bounded, spsc, tick, unbounded,
};
use corelane::spsc::queue as spsc_queue;
use corelane::wait;

const MOMENT: Duration = Duration::from_millis(15);
const MANY: u64 = 3000;

type Task<'a, R> = Pin<Box<dyn Future<Output = R> + Send + 'a>>;

/// Runs a task on each executor.
fn on_each_executor<R: Send + 'static>(task: impl Fn() -> Task<'static, R>) -> [R; 4] {
    let current = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let executor = async_executor::Executor::new();
    [
        current.block_on(async { tokio::spawn(task()).await.unwrap() }),
        threads.block_on(async { tokio::spawn(task()).await.unwrap() }),
        futures_executor::block_on(executor.run(executor.spawn(task()))),
        futures_executor::block_on(task()),
    ]
}

/// A waker that counts.
#[derive(Default)]
pub(crate) struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Woken {
    pub(crate) fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

pub(crate) fn poll<F: Future + Unpin>(future: &mut F, woken: &Arc<Woken>) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(&Waker::from(woken.clone())))
}

/// Polls until the future sleeps: before, it lets other tasks run some times.
fn sleeps<F: Future + Unpin>(future: &mut F, woken: &Arc<Woken>) -> bool {
    loop {
        let before = woken.times();
        match poll(future, woken) {
            Poll::Ready(_) => return false,
            Poll::Pending if woken.times() == before => return true,
            Poll::Pending => {}
        }
    }
}

fn channels() -> [(Sender<u64>, Receiver<u64>); 4] {
    [bounded(0), bounded(1), bounded(64), unbounded()]
}

#[test]
fn a_task_receives_from_a_thread() {
    for which in 0..channels().len() {
        let sums = on_each_executor(|| {
            let (tx, rx) = channels()[which].clone();
            thread::spawn(move || tx.send_all(0..MANY).unwrap());
            Box::pin(async move {
                let mut expected = 0..;
                while let Ok(n) = rx.recv_async().await {
                    assert_eq!(Some(n), expected.next());
                }
                expected.start
            })
        });
        assert_eq!(sums, [MANY; 4]);
    }
}

#[test]
fn a_task_sends_to_a_thread() {
    for which in 0..channels().len() {
        let (sums, sum) = unbounded();
        on_each_executor(|| {
            let ((tx, rx), sums) = (channels()[which].clone(), sums.clone());
            thread::spawn(move || sums.send(rx.iter().sum::<u64>()).unwrap());
            Box::pin(async move {
                for n in 0..MANY {
                    tx.send_async(n).await.unwrap();
                }
            })
        });
        assert!(sum.iter().take(4).eq([MANY * (MANY - 1) / 2; 4]));
    }
}

#[test]
fn tasks_among_themselves() {
    for which in 0..channels().len() {
        let sums = on_each_executor(|| {
            let (tx, rx) = channels()[which].clone();
            let send = |id: u64| {
                let tx = tx.clone();
                async move {
                    for n in id * MANY..(id + 1) * MANY {
                        tx.send_async(n).await.unwrap();
                    }
                }
            };
            let receive = || {
                let rx = rx.clone();
                async move {
                    let mut sum = 0;
                    while let Ok(n) = rx.recv_async().await {
                        sum += n;
                    }
                    sum
                }
            };
            let all =
                futures_util::future::join5(send(0), send(1), receive(), receive(), receive());
            Box::pin(async move {
                let (.., a, b, c) = all.await;
                a + b + c
            })
        });
        assert_eq!(sums, [MANY * (2 * MANY - 1); 4]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_on_many_threads() {
    for (tx, rx) in channels() {
        let senders: Vec<_> = (0..4)
            .map(|id| {
                let tx = tx.clone();
                tokio::spawn(async move {
                    for n in id * MANY..(id + 1) * MANY {
                        tx.send_async(n).await.unwrap();
                    }
                })
            })
            .collect();
        drop(tx);
        let receivers: Vec<_> = (0..4)
            .map(|_| {
                let rx = rx.clone();
                tokio::spawn(async move {
                    let mut sum = 0;
                    while let Ok(n) = rx.recv_async().await {
                        sum += n;
                    }
                    sum
                })
            })
            .collect();
        for sender in senders {
            sender.await.unwrap();
        }
        let mut sum = 0;
        for receiver in receivers {
            sum += receiver.await.unwrap();
        }
        assert_eq!(sum, 4 * MANY * (4 * MANY - 1) / 2);
    }
}

#[test]
fn a_future_ends_with_the_other_side() {
    let woken = Arc::new(Woken::default());
    for capacity in [0, 1] {
        let (tx, rx) = bounded::<u8>(capacity);
        let mut receive = rx.recv_async();
        assert!(sleeps(&mut receive, &woken));
        let before = woken.times();
        drop(tx);
        assert!(woken.times() > before);
        assert_eq!(poll(&mut receive, &woken), Poll::Ready(Err(RecvError)));

        let (tx, rx) = bounded(capacity);
        (0..capacity).for_each(|_| tx.send(0).unwrap());
        let mut send = tx.send_async(7);
        assert!(sleeps(&mut send, &woken));
        let before = woken.times();
        drop(rx);
        assert!(woken.times() > before);
        assert_eq!(poll(&mut send, &woken), Poll::Ready(Err(SendError(7))));
    }
}

/// A future moves to another task.
#[test]
fn the_last_waker_is_woken() {
    for capacity in [0, 1] {
        let ((tx, rx), [old, new]) =
            (bounded(capacity), [(); 2].map(|()| Arc::new(Woken::default())));
        let mut receive = rx.recv_async();
        assert!(sleeps(&mut receive, &old) && sleeps(&mut receive, &new));
        let before = new.times();
        tx.send(1).unwrap();
        assert!(new.times() > before);
        assert_eq!(poll(&mut receive, &new), Poll::Ready(Ok(1)));
    }
}

/// Futures are polled some times and dropped, in all states that a wait has.
#[test]
fn a_dropped_future_loses_nothing() {
    for (tx, rx) in channels() {
        let counts = on_each_executor(|| {
            let (other_tx, tx, rx) = (tx.clone(), tx.clone(), rx.clone());
            thread::spawn(move || other_tx.send_all(0..MANY).unwrap());
            Box::pin(async move {
                let mut expected = 0;
                while expected < MANY {
                    let mut receive = rx.recv_async();
                    for polls in 0..expected % 9 {
                        if let Poll::Ready(n) = futures_util::poll!(&mut receive) {
                            assert_eq!(n, Ok(expected));
                            expected += 1;
                            break;
                        }
                        (0..polls).for_each(|_| thread::yield_now());
                    }
                    drop(receive);
                    if expected % 9 == 0 && expected < MANY {
                        assert_eq!(rx.recv_async().await, Ok(expected));
                        expected += 1;
                    }
                }
                assert!(rx.is_empty() && !tx.is_closed());
                expected
            })
        });
        assert_eq!(counts, [MANY; 4]);
    }
}

#[test]
fn a_dropped_send_sends_nothing_or_has_ended() {
    for which in 0..3 {
        let counts = on_each_executor(|| {
            let (tx, rx) = channels()[which].clone();
            let receiver = thread::spawn(move || rx.iter().collect::<Vec<_>>());
            Box::pin(async move {
                let mut sent = Vec::new();
                for n in 0..MANY {
                    let mut send = tx.send_async(n);
                    for _ in 0..n % 8 {
                        if futures_util::poll!(&mut send).is_ready() {
                            sent.push(n);
                            break;
                        }
                    }
                    if n % 8 == 7 && sent.last() != Some(&n) {
                        send.await.unwrap();
                        sent.push(n);
                    }
                }
                drop(tx);
                (sent, receiver.join().unwrap())
            })
        });
        for (sent, received) in counts {
            // A send of a rendezvous may have met its receiver although its future was dropped
            // before it said so.
            let mut received = received.into_iter();
            assert!(
                sent.iter().all(|n| received.any(|r| r == *n)),
                "each one that was sent, in order"
            );
        }
    }
}

/// A future that was woken passes its message on when it is dropped.
#[test]
fn a_dropped_future_wakes_another_waiter() {
    for capacity in [0, 4] {
        let woken = Arc::new(Woken::default());
        let (tx, rx) = bounded(capacity);
        let mut first = rx.recv_async();
        assert!(sleeps(&mut first, &woken));
        let by = Duration::from_secs(5);
        let (thread_rx, select_rx) = (rx.clone(), rx.clone());
        let thread = thread::spawn(move || thread_rx.recv_timeout(by));
        thread::sleep(MOMENT);
        tx.send(1).unwrap();
        assert!(woken.times() > 0);
        drop(first);
        assert_eq!(thread.join().unwrap(), Ok(1));

        let mut first = rx.recv_async();
        assert!(sleeps(&mut first, &woken));
        let begin = Instant::now();
        let thread = thread::spawn(move || {
            let mut select = Select::new();
            select.recv(&select_rx);
            select.ready_timeout(by)
        });
        thread::sleep(MOMENT);
        tx.send(2).unwrap();
        drop(first);
        assert_eq!(thread.join().unwrap(), Ok(0));
        assert!(begin.elapsed() < by, "the select is woken");
        assert_eq!(rx.try_recv(), Ok(2));
    }
}

/// Many waits that are given up in another order than they came take about as long as in the same
/// order.
#[test]
fn quadratic_leave() {
    const WAITS: usize = 100_000;
    fn time_of<W>(wait: impl FnMut() -> W, is_shuffled: bool) -> Duration {
        let mut waits: Vec<_> = std::iter::repeat_with(wait).map(Some).take(WAITS).collect();
        let begin = Instant::now();
        for i in 0..WAITS {
            // A prime number: each place comes once.
            let place = if is_shuffled { i * 61_981 % WAITS } else { i };
            drop(waits[place].take().expect("it comes once"));
        }
        begin.elapsed()
    }
    fn check<W>(mut wait: impl FnMut() -> W) {
        let in_order = time_of(&mut wait, false);
        assert!(in_order < Duration::from_secs(5), "{in_order:?}");
        let shuffled = time_of(&mut wait, true);
        let most = 10 * in_order + Duration::from_millis(300);
        assert!(shuffled < most, "{shuffled:?}, and in order {in_order:?}");
    }
    fn asleep<F: Future + Unpin>(mut future: F) -> F {
        let woken = Arc::new(Woken::default());
        assert!(sleeps(&mut future, &woken));
        future
    }
    for capacity in [0, 1] {
        let (tx, rx) = bounded::<u8>(capacity);
        check(|| asleep(rx.recv_async()));
        (0..capacity).for_each(|_| tx.send(0).unwrap());
        check(|| asleep(tx.send_async(1)));
    }
}

/// A task whose channel is always ready, and a task that waits for its turn.
#[test]
fn always_ready_task() {
    const MOST: usize = 1_000_000;
    /// The steps of a task until another one has run.
    fn lets_others_run<F: Future>(what: &str, mut step: impl FnMut(usize) -> F) {
        let others = [
            tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
                let other = tokio::spawn(async {});
                steps(&mut step, || other.is_finished()).await
            }),
            {
                let has_run = Cell::new(false);
                let executor = async_executor::LocalExecutor::new();
                executor.spawn(async { has_run.set(true) }).detach();
                // The calling task is polled before all others.
                let calling = steps(&mut step, || has_run.get());
                futures_executor::block_on(executor.run(calling))
            },
        ];
        assert!(others.into_iter().all(|steps| steps < MOST), "{what}: {others:?}");
    }
    async fn steps<F: Future>(step: impl FnMut(usize) -> F, is_done: impl Fn() -> bool) -> usize {
        let mut step = step;
        for n in 0..MOST {
            if is_done() {
                return n;
            }
            step(n).await;
        }
        MOST
    }
    let full = || {
        let (tx, rx) = unbounded();
        tx.send_all(0..4 * MOST).unwrap();
        (tx, rx)
    };
    let ((tx, rx), (_other_tx, other_rx)) = (full(), full());
    lets_others_run("receives", |_| rx.recv_async());
    lets_others_run("sends", |n| tx.send_async(n));
    lets_others_run("two receives", |_| {
        futures_util::future::select(rx.recv_async(), other_rx.recv_async())
    });
    lets_others_run("a select", |_| {
        let (rx, other_rx) = (&rx, &other_rx);
        async move {
            let mut select = Select::new();
            _ = (select.recv(rx), select.recv(other_rx));
            select.ready_async().await
        }
    });
    let (meet_tx, meet_rx) = bounded(0);
    lets_others_run("meetings", |n| {
        futures_util::future::join(meet_tx.send_async(n), meet_rx.recv_async())
    });
    let pair = wait::pair(spsc_queue(8).unwrap());
    let pair = futures_util::lock::Mutex::new(pair);
    lets_others_run("pushes and pops", |n| {
        let pair = &pair;
        async move {
            let (tx, rx) = &mut *pair.lock().await;
            tx.push_async(n).await.unwrap();
            assert_eq!(rx.pop_async().await, Some(n));
        }
    });
    let mut inbox = wait::Inbox::new();
    let inbox_tx = inbox.add(spsc_queue(8).unwrap());
    let inbox = futures_util::lock::Mutex::new((inbox_tx, inbox));
    lets_others_run("an inbox", |n| {
        let inbox = &inbox;
        async move {
            let (tx, inbox) = &mut *inbox.lock().await;
            tx.try_push(n).unwrap();
            assert_eq!(inbox.pop_async().await, Some(n));
        }
    });
}

/// Futures that are polled once, and dropped when they are not ready: none of them loses a message,
/// and sooner or later one is ready.
#[test]
fn futures_that_are_polled_once() {
    use futures_util::FutureExt;
    let (tx, rx) = bounded(1);
    let (mut in_vain, mut longest) = (0, 0);
    for n in 0..100_000_000 {
        let mut tries = 0;
        while tx.send_async(n).now_or_never().is_none() {
            tries += 1;
        }
        let received = loop {
            match rx.recv_async().now_or_never() {
                Some(received) => break received,
                None => tries += 1,
            }
        };
        assert_eq!(received, Ok(n));
        assert_eq!((tx.try_send(n), rx.try_recv()), (Ok(()), Ok(n)), "calls don't count");
        (in_vain, longest) = (in_vain + tries, tries.max(longest));
        if n >= 10_000 && in_vain > 0 {
            break;
        }
    }
    assert!(in_vain > 0 && longest <= 16, "{in_vain} in vain, up to {longest} in a row");
}

/// In a destructor of a thread's local variable.
#[test]
fn a_thread_that_ends_polls_futures() {
    struct Polls(Sender<u64>, Receiver<u64>);
    impl Drop for Polls {
        fn drop(&mut self) {
            let woken = Arc::new(Woken::default());
            for n in 0..1000 {
                let (mut send, mut receive) = (self.0.send_async(n), self.1.recv_async());
                while poll(&mut send, &woken).is_pending() {}
                while poll(&mut receive, &woken).is_pending() {}
            }
            self.0.send(1000).unwrap();
        }
    }
    std::thread_local! {
        static POLLS: RefCell<Option<Polls>> = const { RefCell::new(None) };
    }
    let (tx, rx) = bounded(1);
    let polls = Polls(tx, rx.clone());
    thread::spawn(|| POLLS.set(Some(polls))).join().unwrap();
    assert_eq!(rx.recv(), Ok(1000), "the destructor has ended");
}

/// A send that was polled, and is kept: it has a ring at most, which goes on when it is dropped,
/// and no room.
#[test]
fn a_kept_send_holds_no_room() {
    let [first, second, third] = [(); 3].map(|()| Arc::new(Woken::default()));
    let (tx, rx) = bounded(1);
    tx.send(0).unwrap();
    let (mut kept, mut behind) = (tx.send_async(1), tx.send_async(2));
    assert!(sleeps(&mut kept, &first) && sleeps(&mut behind, &second));
    assert_eq!(rx.recv(), Ok(0));
    assert_eq!((first.times(), second.times()), (1, 0), "in the order in which they came");
    // Calls that don't sleep take the room.
    assert_eq!((tx.try_send(3), rx.recv()), (Ok(()), Ok(3)));
    assert_eq!(second.times(), 1, "the next ring");
    assert_eq!(poll(&mut behind, &second), Poll::Ready(Ok(())));
    let mut last = tx.send_async(4);
    assert!(sleeps(&mut last, &third));
    drop(kept);
    assert_eq!(third.times(), 1, "its ring");
    assert_eq!(rx.recv(), Ok(2));
    assert_eq!(poll(&mut last, &third), Poll::Ready(Ok(())));
    assert_eq!((rx.recv(), rx.is_empty()), (Ok(4), true));
    // A meeting takes the message of a future that is kept.
    let (tx, rx) = bounded(0);
    let mut kept = tx.send_async(1);
    assert!(sleeps(&mut kept, &first));
    assert_eq!(rx.recv(), Ok(1));
    assert_eq!(poll(&mut kept, &first), Poll::Ready(Ok(())));
}

#[test]
fn futures_that_own_their_handles() {
    let [sum, ..] = on_each_executor(|| {
        let (tx, rx) = bounded(0);
        Box::pin(async move {
            let receiver = tx.clone().into_send_async(40_u64);
            let (sent, received) =
                futures_util::future::join(receiver, rx.clone().into_recv_async()).await;
            sent.unwrap();
            received.unwrap()
        })
    });
    assert_eq!(sum, 40);
    // Exclusive handles, in tasks that may go to another thread.
    fn movable<F: Future + Send>(future: F) -> F {
        future
    }
    let (mut tx, mut rx) = spsc::bounded(1);
    let sends = movable(async move {
        for n in 0..MANY {
            tx.send_async(n).await.unwrap();
        }
    });
    let receives = movable(async { while rx.recv_async().await.is_ok() {} });
    futures_executor::block_on(futures_util::future::join(sends, receives));
    assert_eq!(rx.recv(), Err(RecvError));
}

#[tokio::test]
async fn with_the_select_of_tokio() {
    let ((tx, rx), (stop, stopped)) = (bounded(1), bounded::<()>(1));
    let sender = thread::spawn(move || {
        (0..100).for_each(|n| tx.send(n).unwrap());
        drop(stop);
        tx
    });
    let mut sum = 0;
    loop {
        tokio::select! {
            biased;
            n = rx.recv_async() => sum += n.unwrap(),
            _ = stopped.recv_async() => break,
        }
    }
    assert_eq!(sum, 4950);
    drop(sender.join().unwrap());
}

#[test]
fn the_clock_wakes_tasks() {
    on_each_executor(|| {
        Box::pin(async {
            let begin = Instant::now();
            let due = after(MOMENT).recv_async().await.unwrap();
            assert!(due >= begin + MOMENT);
            let ticks = tick(MOMENT);
            for _ in 0..2 {
                ticks.recv_async().await.unwrap();
            }
            assert!(begin.elapsed() >= 3 * MOMENT);
        })
    });
}

#[test]
fn a_select_waits_in_a_task() {
    let (tx, rx) = bounded::<u8>(1);
    let (other_tx, other_rx) = bounded::<u8>(0);
    let mut select = Select::new();
    let (first, second) = (select.recv(&rx), select.recv(&other_rx));
    for (tx, index) in [(&tx, first), (&other_tx, second)] {
        thread::scope(|s| {
            s.spawn(|| {
                thread::sleep(MOMENT);
                tx.send(1).unwrap();
            });
            assert_eq!(futures_executor::block_on(select.ready_async()), index);
            select.select().recv(if index == first { &rx } else { &other_rx }).unwrap();
        });
    }
    let (sent, begin) = (bounded::<()>(1), Instant::now());
    let clock = after(MOMENT);
    let mut select = Select::new();
    select.recv(&sent.1);
    select.recv(&clock);
    let woken = thread::spawn({
        let tx = sent.0.clone();
        move || {
            thread::sleep(200 * MOMENT); // in case the clock does not wake the task
            tx.send(()).unwrap();
        }
    });
    assert_eq!(futures_executor::block_on(select.ready_async()), 1);
    assert!(begin.elapsed() >= MOMENT && !woken.is_finished(), "{:?}", begin.elapsed());
}

#[cfg(feature = "futures")]
mod streams_and_sinks {
    use futures_util::stream::FusedStream;
    use futures_util::{SinkExt, StreamExt, stream};

    use super::*;

    #[test]
    fn a_stream_of_messages() {
        for which in 0..channels().len() {
            let sums = on_each_executor(|| {
                let (tx, rx) = channels()[which].clone();
                thread::spawn(move || tx.send_all(0..MANY).unwrap());
                Box::pin(async move {
                    assert_eq!(
                        rx.stream().take(10).collect::<Vec<_>>().await,
                        Vec::from_iter(0..10)
                    );
                    let mut stream = rx.into_stream();
                    let sum = stream.by_ref().fold(0, |sum, n| async move { sum + n }).await;
                    assert!(stream.is_terminated() && stream.next().await.is_none());
                    sum
                })
            });
            assert_eq!(sums, [MANY * (MANY - 1) / 2 - 45; 4]);
        }
    }

    #[test]
    fn a_sink_for_messages() {
        for which in 0..channels().len() {
            on_each_executor(|| {
                let (tx, rx) = channels()[which].clone();
                let receiver = thread::spawn(move || rx.iter().eq(0..MANY));
                Box::pin(async move {
                    let mut sink = tx.sink();
                    for n in 0..10 {
                        sink.send(n).await.unwrap();
                    }
                    drop(sink);
                    let mut sink = tx.into_sink();
                    sink.send_all(&mut stream::iter(10..MANY).map(Ok)).await.unwrap();
                    sink.close().await.unwrap();
                    drop(sink);
                    assert!(receiver.join().unwrap());
                })
            });
        }
    }

    #[test]
    fn a_sink_without_receivers_fails() {
        let (tx, rx) = bounded(1);
        let mut sink = tx.into_sink();
        futures_executor::block_on(async {
            sink.send(1).await.unwrap();
            sink.feed(2).await.unwrap();
            assert!(futures_util::poll!(sink.flush()).is_pending(), "there is no room");
            assert_eq!(rx.recv(), Ok(1));
            sink.flush().await.unwrap();
            assert_eq!(rx.recv(), Ok(2));
            drop(rx);
            assert_eq!(sink.send(3).await, Err(SendError(3)));
        });
    }
}

/// A send that was ready sends nothing again.
#[test]
fn polled_after_it_was_ready() {
    let (tx, rx) = bounded(2);
    let mut send = std::pin::pin!(tx.send_async(Box::new(7)));
    let mut poll = || send.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll().is_ready());
    let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll().is_ready()));
    assert!(again.is_err());
    assert_eq!((rx.try_recv().ok(), rx.try_recv().ok()), (Some(Box::new(7)), None));
}
