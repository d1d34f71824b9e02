//! Lanes that are queues of the literature, between processes that trust each other.

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::thread;
use std::time::Duration;

use corelane::list::pooled::MsqPool;
use corelane::ring::{InOrder, Ring as Dpdk};
use corelane::rings::pooled::LcrqPool;
use corelane::shm::literature::{Consumer, Elcrq, Msq, Of, Placed, Producer, Ring};
use corelane::shm::{Carried, Lane, Lanes};
use corelane::wait::Strategy;
use corelane::{TryPopError, TryPushError};

use super::spawn;

/// An item: number `number` of a producer. Never 0.
trait Item: Send + 'static {
    fn new(from: u32, number: u32) -> Self;

    fn parts(&self) -> (u32, u32);
}

impl Item for u64 {
    fn new(from: u32, number: u32) -> Self {
        u64::from(from) << 32 | u64::from(number)
    }

    fn parts(&self) -> (u32, u32) {
        ((self >> 32) as u32, *self as u32)
    }
}

impl Item for NonZeroU64 {
    fn new(from: u32, number: u32) -> Self {
        NonZeroU64::new(Item::new(from, number)).expect("no process has the number 0")
    }

    fn parts(&self) -> (u32, u32) {
        self.get().parts()
    }
}

/// A queue, and what its lane carries.
trait Kind: Placed<Self::Carries, Producer: Send, Consumer: Send> + Sized + 'static {
    type Carries: Item;

    const NAME: &str;
}

impl Kind for Dpdk<InOrder> {
    type Carries = u64;
    const NAME: &str = "ring";
}

impl Kind for MsqPool {
    type Carries = u64;
    const NAME: &str = "msq";
}

impl Kind for LcrqPool {
    type Carries = NonZeroU64;
    const NAME: &str = "elcrq";
}

type LaneOf<Q> = Lane<Of<Q, <Q as Kind>::Carries>>;
type Tx<Q> = Producer<Q, <Q as Kind>::Carries>;
type Rx<Q> = Consumer<Q, <Q as Kind>::Carries>;

const SOME: u32 = 20_000;

/// The program of the other processes.
pub(super) fn child(role: &str, numbers: &str) {
    let (_, role) = role.split_once(' ').unwrap();
    let (kind, role) = role.split_once(' ').unwrap();
    match kind {
        "ring" => play::<Dpdk<InOrder>>(role, numbers),
        "msq" => play::<MsqPool>(role, numbers),
        "elcrq" => play::<LcrqPool>(role, numbers),
        other => panic!("no kind {other}"),
    }
}

fn play<Q: Kind>(role: &str, numbers: &str) {
    let lanes: Vec<_> = numbers
        .split(',')
        .map(|number| LaneOf::<Q>::open_number(number.parse().unwrap()).unwrap())
        .collect();
    let me = std::process::id();
    match role {
        "push some" => push_some::<Q>(&mut lanes[0].producer().unwrap(), me, SOME),
        "push some by two threads" => {
            let threads = [1 << 31, 0].map(|bit| {
                let tx = lanes[0].producer().unwrap();
                let mut tx = tx.strategy(Strategy::Sleep);
                thread::spawn(move || push_some::<Q>(&mut tx, me | bit, SOME))
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
        "push a few and sleep" => {
            let mut tx = lanes[0].producer().unwrap();
            push_some::<Q>(&mut tx, me, 5);
            thread::sleep(Duration::from_secs(100));
        }
        "pass on" => {
            let (rx, mut tx) = (lanes[0].consumer().unwrap(), lanes[1].producer().unwrap());
            for item in rx {
                tx.push(item).unwrap();
            }
        }
        other => panic!("no role {other}"),
    }
}

fn start<Q: Kind>(role: &str, lanes: &[&LaneOf<Q>]) -> std::process::Child {
    spawn(&format!("literature {} {role}", Q::NAME), lanes)
}

fn push_some<Q: Kind>(tx: &mut Tx<Q>, from: u32, n: u32) {
    tx.push_all((1..=n).map(|number| Item::new(from, number))).unwrap();
}

/// All items of a consumer. Those of a producer come in order.
fn take_all<Q: Kind>(rx: &mut Rx<Q>) -> Vec<(u32, u32)> {
    let items: Vec<_> = rx.iter().map(|item| item.parts()).collect();
    let mut last = HashMap::new();
    for (from, number) in &items {
        let before = last.insert(from, number);
        assert!(before < Some(number), "the items of a producer come in order");
    }
    items
}

/// Checks that all items of each producer are there, once.
fn check(mut items: Vec<(u32, u32)>, producers: usize) {
    items.sort_unstable();
    let len = items.len();
    items.dedup();
    assert_eq!(items.len(), len, "an item has come twice");
    assert_eq!(len, producers * SOME as usize);
}

/// Calls a function with each of the queues.
macro_rules! of_each {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            super::$name::<Dpdk<InOrder>>();
            super::$name::<MsqPool>();
            super::$name::<LcrqPool>();
        }
    )*};
}

fn items_of_several_processes_come_once<Q: Kind>() {
    for (consumers, capacity, strategy) in
        [(1, 64, Strategy::Sleep), (3, 4, Strategy::Adaptive), (2, 1024, Strategy::Spin)]
    {
        let lane = LaneOf::<Q>::create(capacity).unwrap();
        // Until all processes have pushed: one may end before the next begins.
        let tx = lane.producer().unwrap();
        let takers: Vec<_> = (0..consumers)
            .map(|_| {
                let mut rx = lane.consumer().unwrap().strategy(strategy);
                thread::spawn(move || take_all::<Q>(&mut rx))
            })
            .collect();
        let roles = ["push some", "push some by two threads"];
        let processes = roles.map(|role| start::<Q>(role, &[&lane]));
        processes.into_iter().for_each(|mut process| assert!(process.wait().unwrap().success()));
        drop(tx);
        check(takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect(), 3);
    }
}

fn processes_pass_items_on<Q: Kind>() {
    let (there, back) = (LaneOf::<Q>::create(16).unwrap(), LaneOf::<Q>::create(16).unwrap());
    let (mut tx, mut rx) = (there.producer().unwrap(), back.consumer().unwrap());
    let processes = [0, 1].map(|_| start::<Q>("pass on", &[&there, &back]));
    let pushes = thread::spawn(move || push_some::<Q>(&mut tx, 7, SOME));
    assert!(rx.wait_for_peer(Duration::from_secs(20)));
    // Two processes pass them on, so they come in any order.
    check(rx.iter().map(|item| item.parts()).collect(), 1);
    pushes.join().unwrap();
    processes.into_iter().for_each(|mut process| assert!(process.wait().unwrap().success()));
}

fn sides_are_taken_again<Q: Kind>() {
    let lane = LaneOf::<Q>::create(4).unwrap();
    let item = |number| <Q::Carries as Item>::new(1, number);
    for _ in 0..30 {
        let (mut tx, mut other) = (lane.producer().unwrap(), lane.producer().unwrap());
        tx.try_push(item(1)).unwrap();
        drop(tx);
        other.try_push(item(2)).unwrap();
        let rx = lane.consumer().unwrap();
        assert!(!rx.is_closed() && rx.has_peer() && other.has_peer());
        drop((rx, other));
        let mut rx = lane.consumer().unwrap();
        assert!(rx.is_closed() && !rx.has_peer());
        assert_eq!(rx.len(), 2);
        assert_eq!(rx.iter().map(|item| item.parts().1).collect::<Vec<_>>(), [1, 2]);
        assert!(matches!(rx.try_pop(), Err(TryPopError::Closed)));
    }
}

fn a_push_without_consumers_is_closed<Q: Kind>() {
    let lane = LaneOf::<Q>::create(2).unwrap();
    let (mut tx, rx) = (lane.producer().unwrap(), lane.consumer().unwrap());
    drop(rx);
    let mut pushed = 0;
    let error = loop {
        match tx.try_push(Item::new(1, 1)) {
            Ok(()) => pushed += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, TryPushError::Closed(_)) && pushed >= tx.capacity());
    assert!(tx.push(Item::new(1, 2)).is_err());
}

/// A process that is killed outside of a call leaves its items, and the others go on.
fn killed_between_two_calls<Q: Kind>() {
    let lane = LaneOf::<Q>::create(64).unwrap();
    let mut rx = lane.consumer().unwrap();
    for _ in 0..3 {
        let mut process = start::<Q>("push a few and sleep", &[&lane]);
        assert!(rx.wait_for_peer(Duration::from_secs(20)));
        let five: Vec<_> = rx.iter().take(5).map(|item| item.parts().1).collect();
        assert_eq!(five, [1, 2, 3, 4, 5]);
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!(rx.pop().map(|item| item.parts()), None, "it finds that the producer is dead");
    }
    let mut tx = lane.producer().unwrap();
    let pushes = thread::spawn(move || push_some::<Q>(&mut tx, 9, SOME));
    check(take_all::<Q>(&mut rx), 1);
    pushes.join().unwrap();
}

/// A producer sleeps until there is room, and a consumer until there is an item.
fn handles_sleep<Q: Kind>() {
    let lane = LaneOf::<Q>::create(1).unwrap();
    let mut rx = lane.consumer().unwrap().strategy(Strategy::Sleep);
    let threads = [1, 2].map(|from| {
        let mut tx = lane.producer().unwrap().strategy(Strategy::Sleep);
        thread::spawn(move || {
            for number in 1..=200 {
                tx.push(Item::new(from, number)).unwrap();
                if number % 50 == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        })
    });
    let items: Vec<_> = rx.iter().map(|item| item.parts()).collect();
    assert_eq!(items.len(), 400);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

mod tests {
    use super::{Dpdk, InOrder, LcrqPool, MsqPool};

    of_each! {
        items_of_several_processes_come_once
        processes_pass_items_on
        sides_are_taken_again
        a_push_without_consumers_is_closed
        killed_between_two_calls
        handles_sleep
    }
}

#[test]
fn each_kind_is_opened_as_itself() {
    fn told<A: Carried, B: Carried>(lane: &Lane<A>) -> String {
        Lane::<B>::open(lane).unwrap_err().to_string()
    }
    type In<T> = Of<Dpdk<InOrder>, T>;
    let (ring, msq) = (Ring::<u64>::create(10).unwrap(), Msq::<u64>::create(10).unwrap());
    let elcrq = Elcrq::create(10).unwrap();
    let text = told::<_, Of<MsqPool, u64>>(&ring);
    assert!(text.contains("literature::Ring") && text.contains("literature::Msq"), "{text}");
    assert!(told::<_, In<u64>>(&elcrq).contains("literature::Elcrq"));
    assert!(told::<_, In<u64>>(&Lanes::<u64>::create(10).unwrap()).contains("Lanes"));
    assert!(told::<_, u64>(&msq).contains("carries items by a list"));
    assert!(Ring::<[u64; 2]>::open(&ring).is_err() && Ring::<u64>::create(0).is_err());
    assert!(Msq::<u64>::create(0).is_err() && Elcrq::create(usize::MAX).is_err());
    assert_eq!(ring.producer().unwrap().capacity(), 16);
}
