//! Work-stealing queues: an owner, and thieves that take what it has not come to.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use corelane::steal::bwos::{fifo, lifo};
use corelane::steal::chase_lev::{self, asymmetric};
use corelane::steal::{Stealer, Worker, run_queue};
use corelane::{CapacityError, Config, TryPopError};

/// A small generator of random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

macro_rules! each {
    ($queue:ident, $is_fifo:literal, $make:expr; $($test:ident)*) => {
        mod $queue {
            #[allow(unused_imports, reason = "each queue needs some of them")]
            use super::*;
            $(#[test] fn $test() { super::$test($make, $is_fifo); })*
        }
    };
}

/// Each test for each queue.
macro_rules! queue {
    (Lifo $id:ident: $($module:tt)+) => { queue!($id, false, $($module)+); };
    (Fifo $id:ident: $($module:tt)+) => { queue!($id, true, $($module)+); };
    ($id:ident, $is_fifo:literal, $($module:tt)+) => {
        each! {
            $id, $is_fifo, |config| $($module)+::queue_with(config).unwrap();
            one_thread_with_both_handles
            each_item_comes_once
            items_are_dropped_once
            full_queues_are_dropped
            a_panic_in_a_thief
            drop_panics_mid_batch
            thieves_go_on_without_the_owner
            room_for_what_was_promised
        }
    };
}

corelane::for_each_steal_queue!(queue);

/// Each test for each queue that grows.
macro_rules! growing {
    ($($id:ident: $module:ident;)*) => {$(
        each! {
            $id, false, |config| $module::unbounded_with(small(config)).unwrap();
            one_thread_with_both_handles
            each_item_comes_once
            items_are_dropped_once
            a_panic_in_a_thief
            drop_panics_mid_batch
            thieves_go_on_without_the_owner
            it_grows
        }
    )*};
}

growing! {
    growing_abp: chase_lev;
    growing_abp_asymmetric: asymmetric;
}

/// The queue soon grows, and its positions wrap.
fn small(mut config: Config) -> Config {
    config.capacity = 1;
    config.first(u64::MAX - 5)
}

/// A queue starts just below the number at which the numbers of blocks in words wrap, and positions
/// of 32 bits.
fn about_to_wrap(config: Config, block: usize) -> Config {
    config.lenient().block(block).first(((1 << 40) - 3) << block.ilog2())
}

/// All calls by one thread, beside a plain deque: what is in the queue is known, so what a call
/// finds is, too.
fn one_thread_with_both_handles<W: Worker<Item = u64>>(make: fn(Config) -> W, is_fifo: bool) {
    // `held`: items that the FIFO owner pushes into a block before it grants it.
    for (block, held) in [(1, 0), (2, 0), (2, 1), (8, 0), (8, 3), (8, 9)] {
        for capacity in [1, 5, 64] {
            let mut worker = make(about_to_wrap(Config::new(capacity), block).batch(held));
            let thief = worker.stealer();
            let mut all = VecDeque::new();
            let mut random = Random(capacity as u64 + 1);
            let mut next = 0;
            for _ in 0..50_000 {
                assert_eq!(thief.is_empty(), all.is_empty());
                match random.below(9) {
                    0..3 => match worker.try_push(next) {
                        Ok(()) => {
                            all.push_back(next);
                            next += 1;
                        }
                        // FIFO: slots behind the owner's next item are not free.
                        Err(_) => assert!(all.len() >= if is_fifo { 1 } else { capacity }),
                    },
                    3..6 => {
                        let expected = if is_fifo { all.pop_front() } else { all.pop_back() };
                        assert_eq!(worker.try_pop().ok(), expected);
                    }
                    action => {
                        let most = 1 + random.below(3) as usize;
                        let stolen = match action {
                            6 => thief.try_steal_some(most),
                            7 => thief.try_seize(most),
                            _ => thief.try_steal_sampled(random.0, most),
                        };
                        // What can't be stolen is in the owner's block, or held.
                        assert!(action != 6 || stolen.is_ok() || all.len() <= block + held);
                        for item in stolen.into_iter().flatten() {
                            let at = all.iter().position(|&other| other == item);
                            let at = at.expect("nobody else has taken it");
                            assert!(is_fifo || at == 0, "the oldest");
                            all.remove(at);
                        }
                    }
                }
            }
            while let Ok(item) = worker.try_pop() {
                assert_eq!(Some(item), if is_fifo { all.pop_front() } else { all.pop_back() });
            }
            assert!(all.is_empty());
        }
    }
}

/// An owner and two thieves. Each item comes once, and what a FIFO thief gets is in order.
fn each_item_comes_once<W: Worker<Item = u64>>(make: fn(Config) -> W, is_fifo: bool)
where
    W::Stealer: Send + 'static,
{
    for (capacity, block, held) in [(4, 1, 0), (16, 2, 1), (16, 4, 0), (256, 32, 5)] {
        let items = 300_000;
        let mut worker = make(about_to_wrap(Config::new(capacity), block).batch(held));
        let is_done = Arc::new(AtomicBool::new(false));
        let thieves: Vec<_> = (0..2)
            .map(|number| {
                let (thief, is_done) = (worker.stealer(), Arc::clone(&is_done));
                thread::spawn(move || {
                    let (mut stolen, mut seized) = (Vec::new(), Vec::new());
                    let mut random = Random(number + 7);
                    while !is_done.load(Ordering::Relaxed) {
                        match thief.try_steal_some(1 + random.below(4) as usize) {
                            Ok(loot) => stolen.extend(loot),
                            Err(_) if random.below(8) == 0 => {
                                if let Ok(loot) = thief.try_seize(3) {
                                    seized.extend(loot);
                                }
                            }
                            Err(_) => thread::yield_now(),
                        }
                    }
                    assert!(!is_fifo || stolen.is_sorted());
                    (stolen, seized)
                })
            })
            .collect();
        let (mut own, mut next, mut random) = (Vec::new(), 0, Random(5));
        while next < items {
            for _ in 0..random.below(2 * capacity as u64) {
                if next == items || worker.try_push(next).is_err() {
                    break;
                }
                next += 1;
            }
            for _ in 0..random.below(2 * capacity as u64) {
                let Ok(item) = worker.try_pop() else { break };
                own.push(item);
            }
            if random.below(20) == 0 {
                thread::yield_now();
            }
        }
        while let Ok(item) = worker.try_pop() {
            own.push(item);
        }
        is_done.store(true, Ordering::Relaxed);
        assert!(!is_fifo || own.is_sorted());
        let mut all = own;
        let (mut stolen_at_all, mut seized_at_all) = (0, 0);
        for thief in thieves {
            let (stolen, seized) = thief.join().unwrap();
            stolen_at_all += stolen.len();
            seized_at_all += seized.len();
            all.extend(stolen.into_iter().chain(seized));
        }
        all.sort_unstable();
        assert_eq!(worker.try_pop(), Err(TryPopError::Empty));
        assert!(all.into_iter().eq(0..items), "an item is lost, or came twice");
        eprintln!("{capacity}: {stolen_at_all} stolen, {seized_at_all} seized of {items}");
    }
}

/// Items that count their drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn items_are_dropped_once<W: Worker<Item = Counted>>(make: fn(Config) -> W, _: bool) {
    for (pops, steals, seizes) in [(0, 0, 0), (3, 0, 2), (1, 5, 0), (7, 3, 3), (0, 30, 30)] {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut worker = make(Config::new(20).lenient().block(4));
        let thief = worker.stealer();
        for _ in 0..18 {
            assert!(worker.try_push(Counted(Arc::clone(&drops))).is_ok());
        }
        (0..pops).for_each(|_| drop(worker.try_pop()));
        drop(thief.try_steal_some(steals).ok().and_then(|mut loot| loot.next()));
        drop(thief.try_seize(seizes));
        drop(worker);
        drop(thief);
        assert_eq!(drops.load(Ordering::Relaxed), 18);
    }
}

/// Filled to the last slot, also of the block that capacities don't count.
fn full_queues_are_dropped<W: Worker<Item = Counted>>(make: fn(Config) -> W, _: bool) {
    for (capacity, block) in [(1, 1), (2, 1), (7, 2), (20, 4)] {
        let drops = Arc::new(AtomicUsize::new(0));
        let mut worker = make(Config::new(capacity).lenient().block(block));
        let pushes = std::iter::repeat_with(|| worker.try_push(Counted(Arc::clone(&drops))));
        // The item that has no room is dropped, too.
        let pushed = pushes.take_while(Result::is_ok).count() + 1;
        drop(worker);
        assert_eq!(drops.load(Ordering::Relaxed), pushed);
    }
}

/// An item whose drop panics, if it says so.
struct Bomb(bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "the bomb");
    }
}

/// Slots come back though an item that a thief drops panics.
fn a_panic_in_a_thief<W: Worker<Item = Bomb>>(make: fn(Config) -> W, _: bool) {
    let mut worker = make(Config::new(4).lenient().block(2));
    let thief = worker.stealer();
    for _ in 0..10 {
        for _ in 0..2 {
            (0..2).for_each(|at| assert!(worker.try_push(Bomb(at == 0)).is_ok()));
        }
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            drop(thief.try_steal_some(2));
        }));
        assert!(panics.is_err());
        while let Ok(mut bomb) = worker.try_pop() {
            bomb.0 = false;
        }
    }
}

/// An item that counts its drop, which may panic.
struct Fragile(Arc<AtomicUsize>, bool);

impl Drop for Fragile {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        assert!(!self.1, "on purpose");
    }
}

/// All other items are dropped, with the queue or by a thief, also if two destructors panic, and if
/// the thread unwinds already.
fn drop_panics_mid_batch<W: Worker<Item = Fragile>>(make: fn(Config) -> W, _: bool) {
    let panics = |call: &mut dyn FnMut()| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err()
    };
    for bad in [[3, 3], [3, 7], [0, 1]] {
        let filled = |block| {
            let drops = Arc::new(AtomicUsize::new(0));
            let mut worker = make(Config::new(12).lenient().block(block));
            for at in 0..12 {
                let item = Fragile(Arc::clone(&drops), bad.contains(&at));
                assert!(worker.try_push(item).is_ok());
            }
            (worker, drops)
        };
        for block in [2, 16] {
            let (worker, drops) = filled(block);
            let mut worker = Some(worker);
            assert!(panics(&mut || drop(worker.take())));
            assert_eq!(drops.load(Ordering::Relaxed), 12, "with the queue");

            let (worker, drops) = filled(block);
            let mut worker = Some(worker);
            assert!(panics(&mut || {
                let _worker = worker.take();
                panic!("before the queue is dropped");
            }));
            assert_eq!(drops.load(Ordering::Relaxed), 12, "while unwinding");

            let (worker, drops) = filled(block);
            let thief = worker.stealer();
            drop(worker);
            let mut steal = || match thief.try_steal_some(usize::MAX) {
                Ok(loot) => drop(loot),
                Err(error) => assert_eq!(error, TryPopError::Closed),
            };
            let panicked = (0..12).filter(|_| panics(&mut steal)).count();
            assert!((1..=2).contains(&panicked));
            assert_eq!(drops.load(Ordering::Relaxed), 12, "by a thief");
        }
    }
}

fn queues_that_are_too_large_are_refused<W: Worker<Item = u8>>(
    make: fn(Config) -> Result<W, CapacityError>,
) {
    for capacity in [0, 1 << (usize::BITS - 9), 1 << (usize::BITS - 2), usize::MAX] {
        for block in [1, 1024] {
            assert!(make(Config::new(capacity).lenient().block(block)).is_err());
        }
    }
}

#[test]
fn too_large() {
    macro_rules! check {
        ($order:ident $id:ident: $($module:tt)+) => {
            queues_that_are_too_large_are_refused($($module)+::queue_with);
        };
    }
    corelane::for_each_steal_queue!(check);
}

/// What was granted is not the owner's block.
#[test]
fn seizing_never_says_closed() {
    let mut worker = fifo::queue_with(Config::new(4).block(1)).unwrap();
    let thief = worker.stealer();
    worker.try_push(1).unwrap();
    worker.try_push(2).unwrap();
    assert_eq!(thief.try_seize(1).unwrap().next(), Some(1));
    drop(worker);
    assert_ne!(thief.try_seize(1).err(), Some(TryPopError::Closed));
    assert_eq!(thief.try_steal(), Ok(2));
    assert_eq!(thief.try_steal(), Err(TryPopError::Closed));
}

fn thieves_go_on_without_the_owner<W: Worker<Item = u64>>(make: fn(Config) -> W, _: bool) {
    let mut worker = make(Config::new(20).lenient().block(4));
    let thief = worker.stealer();
    assert_eq!(thief.try_steal(), Err(TryPopError::Empty));
    (0..10).for_each(|item| worker.try_push(item).unwrap());
    drop(worker);
    let mut all: Vec<_> = (0..10).map(|_| thief.clone().try_steal().unwrap()).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..10));
    assert_eq!(thief.try_steal(), Err(TryPopError::Closed));
}

/// An owner that pops finds room for as many items as were asked for, whatever thieves have taken.
fn room_for_what_was_promised<W: Worker<Item = u64>>(make: fn(Config) -> W, is_fifo: bool) {
    for capacity in [1, 7, 8, 9, 100, 1000, 10_000] {
        let mut worker = make(Config::new(capacity));
        let thief = worker.stealer();
        assert!(worker.capacity() >= capacity);
        for round in 0..20_u64 {
            (0..capacity as u64).for_each(|item| worker.try_push(item).unwrap());
            let steals = (0..round).filter(|_| thief.try_steal().is_ok()).count();
            if !is_fifo {
                (0..steals as u64).for_each(|item| worker.try_push(item).unwrap());
            }
            let pops = if is_fifo { capacity - steals } else { capacity };
            (0..pops).for_each(|_| assert!(worker.try_pop().is_ok()));
        }
    }
}

/// An owner that runs a long task has others before it. A thief gets one of them.
#[test]
fn work_hidden_in_owners_block() {
    fn check<W: Worker<Item = u64>>(mut worker: W) {
        let thief = worker.stealer();
        // Not in the first block.
        for item in 0..1000 {
            worker.try_push(item).unwrap();
            worker.try_pop().unwrap();
        }
        worker.try_push(1).unwrap();
        worker.try_push(2).unwrap();
        let first = worker.try_pop().unwrap();
        // The owner runs it, and it waits for the other one.
        assert_eq!(thief.try_steal(), Err(TryPopError::Empty));
        assert_eq!(thief.try_seize(usize::MAX).unwrap().next(), Some(3 - first));
        assert_eq!(worker.try_pop(), Err(TryPopError::Empty));
    }
    check(lifo::queue(256).unwrap());
    check(fifo::queue(256).unwrap());
}

#[test]
fn a_thief_leaves_half() {
    fn check<W: Worker<Item = u64>>(mut worker: W) {
        (0..8).for_each(|item| worker.try_push(item).unwrap());
        let thief = worker.stealer();
        assert!(thief.try_seize(usize::MAX).unwrap().eq(0..4));
        assert!(thief.try_seize(0).unwrap().eq(4..5), "at least one");
        drop(worker);
        assert!(thief.try_steal_some(usize::MAX).unwrap().eq(5..8));
    }
    check(lifo::queue(64).unwrap());
    check(fifo::queue(64).unwrap());
}

/// Without blocks a thief reaches all items, and gets half of them, but for `abp`, whose thieves
/// get one.
#[test]
fn a_thief_gets_half_without_seizing() {
    fn check<W: Worker<Item = u64>>(mut worker: W, half: u64) {
        (0..9).for_each(|item| worker.try_push(item).unwrap());
        let thief = worker.stealer();
        assert!(thief.try_steal_some(usize::MAX).unwrap().eq(0..half));
        assert!(thief.try_seize(1).unwrap().eq(half..half + 1));
        // Items that a thief doesn't look at are dropped, and their slots are free.
        drop(thief.try_steal_some(2));
        let pushed = (9..).take_while(|&item| worker.try_push(item).is_ok()).count();
        let left = std::iter::from_fn(|| worker.try_pop().ok()).count();
        assert_eq!(left, worker.capacity());
        assert!(pushed > 0 && thief.is_empty());
    }
    check(chase_lev::queue(16).unwrap(), 1);
    check(asymmetric::queue(16).unwrap(), 5);
    check(run_queue::queue(16).unwrap(), 5);
}

/// Another thief is busy while one has items that it has not read.
#[test]
fn one_thief_at_a_time() {
    let mut worker = run_queue::queue(4).unwrap();
    (0..4).for_each(|item| worker.try_push(item).unwrap());
    let (thief, other) = (worker.stealer(), worker.stealer());
    let mut loot = thief.try_steal_some(2).unwrap();
    assert_eq!(loot.next(), Some(0));
    assert_eq!(other.try_steal(), Err(TryPopError::Busy));
    assert_eq!(worker.try_pop(), Ok(2));
    assert!(worker.try_push(4).is_err(), "the slots are in use");
    drop(loot);
    (4..7).for_each(|item| worker.try_push(item).unwrap());
    assert_eq!(other.try_steal(), Ok(3));
}

/// Twice as often as there is room, with items of which some have been stolen.
fn it_grows<W: Worker<Item = u64>>(make: fn(Config) -> W, _: bool) {
    let mut worker = make(Config::new(1));
    let thief = worker.stealer();
    assert_eq!(worker.capacity(), usize::MAX);
    let (mut next, mut oldest) = (0, 0);
    for round in 0..12 {
        for _ in 0..1_u64 << round {
            worker.try_push(next).unwrap();
            next += 1;
        }
        for _ in 0..(1_u64 << round) / 4 {
            assert_eq!(thief.try_steal(), Ok(oldest));
            oldest += 1;
        }
    }
    let left: Vec<_> = std::iter::from_fn(|| worker.try_pop().ok()).collect();
    assert!(left.into_iter().rev().eq(oldest..next));
    assert_eq!(thief.try_steal(), Err(TryPopError::Empty));
}

#[test]
fn items_without_a_size() {
    fn check<W: Worker<Item = ()>>(mut worker: W) {
        let thief = worker.stealer();
        (0..100).for_each(|_| worker.try_push(()).unwrap());
        assert!(thief.try_steal().is_ok());
        assert_eq!(std::iter::from_fn(|| worker.try_pop().ok()).count(), 99);
    }
    check(fifo::queue(100).unwrap());
    check(chase_lev::unbounded(1).unwrap());
    check(asymmetric::queue(100).unwrap());
    check(run_queue::queue(100).unwrap());
}
