// Above 500 lines: one scenario a line, and what helpers they share.

//! Channels whose values every receiver gets.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use corelane::channel::task::broadcast::error::{RecvError, SendError, TryRecvError};
use corelane::channel::task::broadcast::{Receiver, Sender, WeakSender, channel};

use crate::polled::{Polled, lets_others_run, now};

const SOON: Duration = Duration::from_millis(20);

/// How a scenario receives.
type Receive = fn(&mut Receiver<u64>) -> Result<u64, TryRecvError>;

fn by_future(rx: &mut Receiver<u64>) -> Result<u64, TryRecvError> {
    now(rx.recv()).map_or(Err(TryRecvError::Empty), |received| received.map_err(of_try))
}

fn blocking(rx: &mut Receiver<u64>) -> Result<u64, TryRecvError> {
    match rx.len() {
        0 if !rx.is_closed() => Err(TryRecvError::Empty),
        _ => rx.blocking_recv().map_err(of_try),
    }
}

fn of_try(error: RecvError) -> TryRecvError {
    match error {
        RecvError::Closed => TryRecvError::Closed,
        RecvError::Lagged(missed) => TryRecvError::Lagged(missed),
    }
}

/// Plays a scenario. `a` is the first receiver.
///
/// `>1` sends 1, `>!` fails to; `+b` subscribes, `+ab` does so by `a`, `-b` drops; `X` drops the
/// sender. `a1` receives 1, `a_` finds nothing, `a~2` has missed two values, `a!` finds the end;
/// `a#2` is two values behind; `#2`: two values are in the channel; `@2`: there are two receivers.
fn play(capacity: usize, receive: Receive, scenario: &str) {
    let (tx, rx) = channel(capacity);
    let mut tx = Some(tx);
    let mut receivers = BTreeMap::from([('a', rx)]);
    let number = |text: &str| text.parse::<u64>().unwrap();
    for step in scenario.split_whitespace() {
        let (name, rest) = (step.chars().next().unwrap(), &step[1..]);
        let open = || tx.as_ref().unwrap();
        match (name, rest) {
            ('>', "!") => assert_eq!(open().send(0), Err(SendError(0))),
            ('>', value) => assert_eq!(open().send(number(value)), Ok(receivers.len())),
            ('#', n) => {
                assert_eq!(open().len() as u64, number(n), "{step} in {scenario}");
                assert_eq!(open().is_empty(), number(n) == 0);
            }
            ('@', n) => assert_eq!(open().receiver_count() as u64, number(n)),
            ('X', _) => tx = None,
            ('-', of) => drop(receivers.remove(&of.chars().next().unwrap())),
            ('+', names) => {
                let mut names = names.chars().rev();
                let new = names.next().unwrap();
                let rx = match names.next() {
                    Some(by) => receivers[&by].resubscribe(),
                    None => open().subscribe(),
                };
                receivers.insert(new, rx);
            }
            (name, behind) if behind.starts_with('#') => {
                assert_eq!(receivers[&name].len() as u64, number(&behind[1..]));
            }
            (name, what) => {
                let expected = match what {
                    "_" => Err(TryRecvError::Empty),
                    "!" => Err(TryRecvError::Closed),
                    _ if what.starts_with('~') => Err(TryRecvError::Lagged(number(&what[1..]))),
                    value => Ok(number(value)),
                };
                let received = receive(receivers.get_mut(&name).unwrap());
                assert_eq!(received, expected, "{step} in {scenario}");
            }
        }
    }
}

#[test]
fn scenarios() {
    let scenarios = [
        (16, "a_ >1 a1 a_"),
        (16, "+b a_ b_ >1 a1 b1 a_ b_ >2 b2 a2"),
        (16, "+b >1 >2 a1 a2 >3 a3 b1 b2 b3 b_ a_"),
        (16, "+b >1 >2 a1 b1 -b -a >! @0"),
        (16, "-a >! +b >1 b1"),
        (16, "-a +b -b +c >2 c2 c_"),
        (2, "+b >1 >2 a1 >3 b~1 b2 a2 a3 >4 >5 b~1 >6 b~1 b5 b6"),
        (1, ">1 a1 a_"),
        (1, ">1 X a1 a!"),
        (1, ">1 >2 X a~1 a2 a! a!"),
        (2, ">1 >2 X a1 a2 a!"),
        (2, ">1 >2 >3 X a~1 a2 a3 a!"),
        (2, ">1 >2 >3 >4 X a~2 a3 a4 a!"),
        (2, ">1 >2 >3 a~1 a2 a3 a_"),
        (2, ">1 >2 a1 >3 a2 a3 a_ >4 >5 >6 >7 a~2 a6 a7 a_"),
        // The capacity is rounded up.
        (3, ">1 >2 >3 >4 a#4 a1 >5 >6 a#5 a~1 a#4 a3"),
        (3, ">1 +ab b_ a1 >2 b2 >3 a2 a3 a_ b3 b_"),
        (1, ">1 >2 +ab a~1 b_ a2 a_ b_"),
        (2, "X +ab b! a!"),
        (4, "+b #0 >1 >2 >3 #3 a1 a2 #3 b1 #2 >4 >5 >6 #4 a3 a4 a5 a6 #4 b~1 b3 #3"),
        (4, ">1 >2 +b >3 #3 -a #1 b3 #0"),
        (4, "+b >1 >2 a1 a2 #2 -b #0 @1"),
        (8, "+b +c @3 >1 -a >2 b1 c1 b2 c2 #0 X b! c!"),
    ];
    for (capacity, scenario) in scenarios {
        for receive in [Receiver::try_recv, by_future, blocking] {
            play(capacity, receive, scenario);
        }
    }
}

/// Numbers that look like chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % n
    }
}

/// Whatever happens, in whichever order, is what happens to a receiver that has a list of its own.
#[test]
fn each_receiver_is_as_if_it_had_its_own_list() {
    let mut chance = Chance(1);
    for capacity in [1, 2, 4, 8] {
        let (tx, rx) = channel(capacity);
        let mut receivers = vec![(rx, VecDeque::new(), 0)];
        for step in 0..20_000_u64 {
            let which = chance.below(receivers.len() as u64 + 1) as usize;
            let there = receivers.len();
            match (chance.below(16), receivers.get_mut(which)) {
                (0, _) if there < 4 => {
                    receivers.push((tx.subscribe(), VecDeque::new(), 0));
                }
                (1, Some(_)) if there > 1 => drop(receivers.swap_remove(which)),
                (2..9, Some((rx, list, missed))) => {
                    let expected = match (std::mem::take(missed), list.front()) {
                        (0, None) => Err(TryRecvError::Empty),
                        (0, Some(_)) => Ok(list.pop_front().unwrap()),
                        (missed, _) => Err(TryRecvError::Lagged(missed)),
                    };
                    assert_eq!(rx.try_recv(), expected);
                }
                (9.., _) => {
                    assert_eq!(tx.send(Arc::new(step)), Ok(receivers.len()));
                    for (_, list, missed) in &mut receivers {
                        list.push_back(Arc::new(step));
                        if list.len() > capacity {
                            list.pop_front();
                            *missed += 1;
                        }
                    }
                }
                _ => {}
            }
            let longest = receivers.iter().map(|(_, list, _)| list.len()).max().unwrap();
            assert_eq!((tx.len(), tx.is_empty()), (longest, longest == 0));
            for (rx, list, missed) in &receivers {
                assert_eq!(rx.len() as u64, list.len() as u64 + missed);
            }
        }
    }
}

#[test]
fn handles_are_counted() {
    fn is_sync<T: Send + Sync>(_: &T) {}
    let (tx, rx) = channel::<std::cell::Cell<u8>>(10);
    let weak = tx.downgrade();
    is_sync(&(&tx, &rx, &weak));
    let counts = |of: &WeakSender<_>| (of.strong_count(), of.weak_count());
    assert_eq!(counts(&weak), (1, 1));
    let (other, upgraded) = (weak.clone(), weak.upgrade().unwrap());
    assert_eq!((tx.strong_count(), tx.weak_count()), (2, 2));
    assert_eq!((rx.sender_strong_count(), rx.sender_weak_count()), (2, 2));
    assert!(tx.same_channel(&upgraded) && rx.same_channel(&tx.subscribe()));
    assert!(!tx.same_channel(&Sender::new(10)) && !rx.same_channel(&channel(1).1));
    drop((other, tx.clone(), upgraded));
    assert_eq!((counts(&weak), rx.is_closed()), ((1, 1), false));
    drop(tx);
    assert_eq!((counts(&weak), rx.is_closed()), ((0, 1), true));
    assert!(weak.upgrade().is_none());
}

#[test]
fn capacities_that_are_refused() {
    for capacity in [0, usize::MAX / 2 + 1] {
        assert!(catch_unwind(|| channel::<()>(capacity)).is_err());
    }
}

#[test]
fn errors_say_what_tokios_say() {
    assert_eq!(SendError(1).to_string(), "channel closed");
    assert_eq!(RecvError::Closed.to_string(), "channel closed");
    assert_eq!(RecvError::Lagged(3).to_string(), "channel lagged by 3");
    assert_eq!(TryRecvError::Empty.to_string(), "channel empty");
    assert_eq!(TryRecvError::Closed.to_string(), "channel closed");
    assert_eq!(TryRecvError::Lagged(3).to_string(), "channel lagged by 3");
}

#[test]
fn a_send_wakes_all_that_wait_and_no_others() {
    let (tx, mut rx) = channel(16);
    let mut others = [tx.subscribe(), tx.subscribe()];
    let [other, third] = &mut others;
    let (mut a, mut b) = (Polled::new(rx.recv()), Polled::new(other.recv()));
    let mut begun_late = Polled::new(third.recv());
    assert!(a.sleeps() && b.sleeps());
    tx.send(1).unwrap();
    assert!(a.is_woken() && b.is_woken() && !begun_late.is_woken());
    for task in [&mut a, &mut b, &mut begun_late] {
        assert_eq!(task.poll(), std::task::Poll::Ready(Ok(1)));
    }
}

#[test]
fn the_last_sender_that_goes_wakes_all() {
    let (tx, mut rx) = channel::<()>(16);
    let mut other = tx.subscribe();
    let (mut a, mut b, second) = (Polled::new(rx.recv()), Polled::new(other.recv()), tx.clone());
    assert!(a.sleeps() && b.sleeps());
    drop(tx);
    assert!(!a.is_woken() && !b.is_woken() && a.sleeps());
    drop(second);
    assert!(a.is_woken() && b.is_woken());
    assert_eq!(a.poll(), std::task::Poll::Ready(Err(RecvError::Closed)));
    assert_eq!(b.poll(), std::task::Poll::Ready(Err(RecvError::Closed)));
}

#[test]
fn closed_waits_for_the_last_receiver() {
    let (tx, rx) = channel::<()>(1);
    let other = tx.subscribe();
    let mut closed = Polled::new(tx.closed());
    assert!(closed.sleeps());
    drop(rx);
    assert!(!closed.is_woken());
    drop(other);
    assert!(closed.is_woken());
    // A receiver comes before the task looks.
    let new = tx.subscribe();
    assert!(closed.sleeps());
    drop(new);
    assert!(closed.is_woken() && closed.poll().is_ready());
    assert!(now(tx.closed()).is_some() && now(Sender::<u8>::new(1).closed()).is_some());
}

/// A waker of `closed` finds a channel without receivers and values.
#[test]
fn a_waker_may_use_the_channel() {
    struct Looks(Sender<()>, AtomicUsize);
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            assert_eq!((self.0.receiver_count(), self.0.len()), (0, 0));
            assert!(self.0.is_empty() && self.0.send(()).is_err());
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }
    let (tx, rx) = channel(1);
    tx.send(()).unwrap();
    let looks = Arc::new(Looks(tx.clone(), AtomicUsize::new(0)));
    let waker = Waker::from(looks.clone());
    let mut closed = Box::pin(tx.closed());
    assert!(closed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(rx);
    assert_eq!(looks.1.load(Ordering::SeqCst), 1);

    /// Sends when it is dropped: when another waker takes its place, and when it was woken.
    struct Sends(Sender<()>);
    impl Wake for Sends {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Sends {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (tx, mut rx) = channel(16);
    for is_replaced in [true, false] {
        let mut recv = Box::pin(rx.recv());
        let waker = Waker::from(Arc::new(Sends(tx.clone())));
        assert!(recv.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        match is_replaced {
            true => drop(recv.as_mut().poll(&mut Context::from_waker(Waker::noop()))),
            false => drop(tx.send(())),
        }
        drop(recv);
        while rx.try_recv().is_ok() {}
    }
}

#[test]
fn a_task_that_is_always_ready_lets_others_run() {
    let (tx, mut rx) = channel(8);
    assert!(lets_others_run(async || {
        tx.send(()).unwrap();
        rx.recv().await.unwrap();
    }));
    drop(tx);
    assert!(lets_others_run(async || assert!(rx.recv().await.is_err())));
}

/// A value of which each copy is counted while it is there.
struct Counted {
    number: u64,
    there: Arc<AtomicUsize>,
}

/// Can't be cloned.
const UNIQUE: u64 = u64::MAX;

impl Counted {
    fn new(number: u64, there: &Arc<AtomicUsize>) -> Self {
        there.fetch_add(1, Ordering::SeqCst);
        Self { number, there: there.clone() }
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        assert!(self.number != UNIQUE, "this value can't be cloned");
        Self::new(self.number, &self.there)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.there.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn values_are_dropped_as_soon_as_nobody_needs_them() {
    let there = Arc::new(AtomicUsize::new(0));
    let count = || there.load(Ordering::SeqCst);
    let value = |number| Counted::new(number, &there);
    let (tx, mut rx) = channel(2);
    let mut other = tx.subscribe();
    assert!(tx.send(value(1)).is_ok() && count() == 1);
    assert_eq!(
        (rx.try_recv().map(|got| got.number).ok(), count()),
        (Some(1), 1),
        "a clone is gone"
    );
    let last = other.try_recv().ok();
    assert_eq!(count(), 1, "the last receiver has taken it");
    drop(last);
    assert_eq!(count(), 0);
    (0..4).for_each(|number| assert!(tx.send(value(number)).is_ok()));
    assert_eq!(count(), 2, "two are overwritten");
    drop(rx);
    assert_eq!(count(), 2, "the other receiver needs them");
    drop(other);
    assert_eq!(count(), 0, "no receiver needs them");
    assert!(tx.send(value(1)).is_err());
    let rx = tx.subscribe();
    assert!(tx.send(value(1)).is_ok());
    drop(tx);
    assert_eq!(count(), 1, "it is still to be received");
    drop(rx);
    assert_eq!(count(), 0);
}

#[test]
fn a_clone_that_panics_loses_the_value_of_its_receiver_only() {
    let there = Arc::new(AtomicUsize::new(0));
    let (tx, mut rx) = channel(2);
    let mut other = tx.subscribe();
    for number in [UNIQUE, 1] {
        assert!(tx.send(Counted::new(number, &there)).is_ok());
    }
    assert!(catch_unwind(AssertUnwindSafe(|| rx.try_recv().map(drop))).is_err());
    assert_eq!(rx.try_recv().ok().map(|got| got.number), Some(1));
    assert_eq!(
        other.try_recv().ok().map(|got| got.number),
        Some(UNIQUE),
        "it takes the value itself"
    );
    assert_eq!(other.try_recv().ok().map(|got| got.number), Some(1));
    assert_eq!(there.load(Ordering::SeqCst), 0);
}

/// Destructors that panic: all values are dropped, and the channel goes on.
#[test]
fn destructors_may_panic() {
    #[derive(Clone)]
    struct Breaks(#[expect(dead_code, reason = "it counts")] Arc<()>);
    impl Drop for Breaks {
        fn drop(&mut self) {
            if !thread::panicking() {
                panic!("it breaks");
            }
        }
    }
    let count = Arc::new(());
    let (tx, rx) = channel(2);
    (0..2).for_each(|_| assert!(tx.send(Breaks(count.clone())).is_ok()));
    let send = || tx.send(Breaks(count.clone())).is_ok();
    assert!(catch_unwind(AssertUnwindSafe(send)).is_err(), "of the value that is overwritten");
    assert_eq!(rx.len(), 3);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    assert_eq!((tx.receiver_count(), Arc::strong_count(&count)), (0, 1));
}

/// While a receiver is cloning, senders use all other slots, and other receivers get their values.
#[test]
fn a_send_waits_only_for_the_clone_of_what_it_overwrites() {
    struct Slow(u64, Arc<Barrier>);
    impl Clone for Slow {
        fn clone(&self) -> Self {
            if self.0 == 0 {
                self.1.wait();
                self.1.wait();
            }
            Self(self.0, self.1.clone())
        }
    }
    let barrier = Arc::new(Barrier::new(2));
    let (tx, mut rx) = channel(2);
    let mut slow = tx.subscribe();
    let send = |number| assert!(tx.send(Slow(number, barrier.clone())).is_ok());
    send(0);
    thread::scope(|s| {
        let got = s.spawn(|| slow.blocking_recv().map(|value| value.0));
        barrier.wait();
        send(1);
        let third = s.spawn(|| send(2));
        thread::sleep(SOON);
        assert!(!third.is_finished(), "it needs the slot");
        barrier.wait();
        third.join().unwrap();
        assert_eq!(got.join().unwrap(), Ok(0));
        assert!(matches!(rx.blocking_recv(), Err(RecvError::Lagged(1))));
        assert_eq!(
            [(); 2].map(|()| rx.blocking_recv().map(|value| value.0).ok()),
            [Some(1), Some(2)]
        );
    });
}

/// What a receiver gets: the numbers of each sender in order, each value once, or counted as missed.
#[derive(Default)]
struct Account {
    got: u64,
    missed: u64,
    last: BTreeMap<u64, u64>,
}

impl Account {
    /// False at the end.
    fn add(&mut self, received: Result<Counted, RecvError>) -> bool {
        match received {
            Ok(value) => {
                let (sender, number) = (value.number >> 32, value.number & 0xffff_ffff);
                let last = self.last.insert(sender, number);
                assert!(last.is_none_or(|last| last < number), "in order");
                self.got += 1;
            }
            Err(RecvError::Lagged(missed)) => self.missed += missed,
            Err(RecvError::Closed) => return false,
        }
        true
    }
}

/// Threads and tasks send and receive, and come and go.
#[test]
fn every_receiver_gets_every_value_or_counts_it_as_missed() {
    const EACH: u64 = 3000;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    for (capacity, senders) in [(1, 1), (2, 2), (64, 1), (64, 2), (8192, 2)] {
        let there = Arc::new(AtomicUsize::new(0));
        let (tx, rx) = channel(capacity);
        let in_threads: Vec<_> = (0..2).map(|_| tx.subscribe()).collect();
        let in_tasks = [rx, tx.subscribe()];
        let accounts: Vec<Account> = thread::scope(|s| {
            let mut running = Vec::new();
            for mut rx in in_threads {
                running.push(s.spawn(move || {
                    let mut account = Account::default();
                    while account.add(rx.blocking_recv()) {}
                    account
                }));
            }
            let tasks = in_tasks.map(|mut rx| {
                runtime.spawn(async move {
                    let mut account = Account::default();
                    while account.add(rx.recv().await) {}
                    account
                })
            });
            let come_and_go = tx.downgrade();
            s.spawn(move || {
                while let Some(mut rx) = come_and_go.upgrade().map(|tx| tx.subscribe()) {
                    let mut account = Account::default();
                    (0..20).take_while(|_| account.add(rx.blocking_recv())).for_each(drop);
                }
            });
            for sender in 0..senders {
                let (tx, there) = (tx.clone(), &there);
                s.spawn(move || {
                    for number in 0..EACH {
                        assert!(tx.send(Counted::new(sender << 32 | number, there)).is_ok());
                    }
                });
            }
            drop(tx);
            let tasks = tasks.map(|task| runtime.block_on(task).unwrap());
            running.into_iter().map(|thread| thread.join().unwrap()).chain(tasks).collect()
        });
        for account in accounts {
            assert_eq!(account.got + account.missed, senders * EACH);
            assert!(account.missed == 0 || capacity < 8192);
        }
        assert_eq!(there.load(Ordering::SeqCst), 0);
    }
}
