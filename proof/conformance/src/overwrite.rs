//! Queues that overwrite: popped items are whole and in order, and the popped and the lost items
//! together are the pushed items.

use corelane::{Config, Consumer, Producer, Queue, TryPopError, TryPushError};

use corelane_harness::rng::Rng;
use corelane_harness::threads::{Cores, Progress, Task, Together, all, scaled};
use corelane_history::Value;

/// A queue that overwrites, whose handles can be cloned.
pub trait Overwriting<T>:
    Queue<T, Producer: Producer<Item = T> + Clone, Consumer: Consumer<Item = T> + Clone>
{
}

impl<T, Q> Overwriting<T> for Q where
    Q: Queue<T, Producer: Producer<Item = T> + Clone, Consumer: Consumer<Item = T> + Clone>
{
}

/// An item of several equal words.
type Wide = [u64; 5];

fn wide(value: Value) -> Wide {
    [value.number(); 5]
}

/// The items that a consumer's thread has popped.
#[derive(Default)]
struct Seen {
    values: Vec<u64>,
    /// The last sequence number of each producer.
    last: [Option<u64>; 8],
    lost: u64,
}

impl Seen {
    fn note(&mut self, item: &Wide) {
        assert!(item.iter().all(|word| *word == item[0]), "an item in pieces: {item:x?}");
        let value = Value::of(item[0]);
        let last = &mut self.last[value.producer];
        assert!(*last < Some(value.sequence), "{value} after {last:?} of the same producer");
        *last = Some(value.sequence);
        self.values.push(item[0]);
    }
}

/// How threads use their handles.
#[derive(Debug, Clone, Copy)]
struct Habits {
    cores: Cores,
    /// Items that each producer pushes.
    each: u64,
    /// Most items of one call.
    slice: usize,
    /// Whether handles are cloned and dropped all the time.
    changing: bool,
}

/// Replaces a handle by its clone, now and then. The clone is made before the old handle is
/// dropped.
fn change<H: Clone>(handle: &mut H, rng: &mut Rng, habits: Habits) {
    if habits.changing && rng.below(3) == 0 {
        *handle = handle.clone();
    }
}

fn send(
    mut tx: impl Producer<Item = Wide> + Clone,
    producer: usize,
    habits: Habits,
    mut patience: Together,
) {
    let mut rng = Rng::new(100 + producer as u64);
    let mut next = 0;
    while next < habits.each {
        let n = 1 + rng.below(habits.slice) as u64;
        let end = habits.each.min(next + n);
        let items = (next..end).map(|sequence| wide(Value { producer, sequence }));
        let done = match n {
            1 => tx.try_push(wide(Value { producer, sequence: next })).is_ok().into(),
            _ => tx.push_slice(&items.collect::<Vec<_>>()),
        };
        next += done as u64;
        patience.after(done);
        change(&mut tx, &mut rng, habits);
    }
}

fn receive(
    mut rx: impl Consumer<Item = Wide> + Clone,
    number: usize,
    habits: Habits,
    mut patience: Together,
) -> Seen {
    let (mut rng, mut seen) = (Rng::new(number as u64), Seen::default());
    let mut items = vec![[0; 5]; habits.slice];
    loop {
        let before = seen.values.len();
        let n = 1 + rng.below(habits.slice);
        if n > 1 {
            let popped = rx.pop_slice(&mut items[..n]);
            items[..popped].iter().for_each(|item| seen.note(item));
        }
        match rx.try_pop() {
            Ok(item) => seen.note(&item),
            Err(TryPopError::Closed) => {
                seen.lost += rx.lost();
                return seen;
            }
            Err(_) => {}
        }
        patience.after(seen.values.len() - before);
        let lost = rx.lost();
        change(&mut rx, &mut rng, habits);
        // A clone has lost no item yet.
        seen.lost += lost - rx.lost();
    }
}

/// Lets a thread for each handle push or pop until all items are pushed, and popped or lost.
fn stream<Q: Overwriting<Wide>>(
    config: Config,
    producers: usize,
    consumers: usize,
    habits: Habits,
) {
    let (tx, rx) = Q::with(config).expect("it is small");
    let progress = &Progress::of(producers + consumers);
    let mut tasks: Vec<Task<Option<Seen>>> = Vec::new();
    for (number, tx) in vec![tx; producers].into_iter().enumerate() {
        tasks.push(Box::new(move || {
            send(tx, number, habits, progress.patience(number));
            None
        }));
    }
    for (number, rx) in (producers..).zip(vec![rx; consumers]) {
        let work = move || Some(receive(rx, number, habits, progress.patience(number)));
        tasks.push(Box::new(work));
    }
    let seen: Vec<_> = all(habits.cores, tasks).into_iter().flatten().collect();
    let lost: u64 = seen.iter().map(|seen| seen.lost).sum();
    let mut values: Vec<_> = seen.into_iter().flat_map(|seen| seen.values).collect();
    let popped = values.len() as u64;
    assert_eq!(popped + lost, producers as u64 * habits.each, "items are lost, and not counted");
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len() as u64, popped, "an item comes twice");
}

/// All numbers of threads, in rings from the smallest on.
fn streams<Q: Overwriting<Wide>>(habits: Habits) {
    for (producers, consumers) in [(1, 1), (2, 1), (1, 2), (2, 2), (4, 4)] {
        for (capacity, block) in [(2, 1), (16, 1), (16, 8), (512, 64)] {
            let each = scaled(habits.each * capacity.min(64) as u64 / producers as u64);
            let config = Config::new(capacity).grouped(block);
            stream::<Q>(config, producers, consumers, Habits { each, ..habits });
        }
    }
}

/// Items one by one, on two cores.
pub fn singly_on_two_cores<Q: Overwriting<[u64; 5]>>() {
    streams::<Q>(Habits { cores: Cores::Two, each: 5_000, slice: 1, changing: false });
}

/// Single calls and slices mixed, on two cores.
pub fn mixed_on_two_cores<Q: Overwriting<[u64; 5]>>() {
    streams::<Q>(Habits { cores: Cores::Two, each: 5_000, slice: 40, changing: false });
}

/// All threads on one core.
pub fn mixed_on_one_core<Q: Overwriting<[u64; 5]>>() {
    streams::<Q>(Habits { cores: Cores::One, each: 800, slice: 40, changing: false });
}

/// Handles are cloned and dropped while others work.
pub fn handles_come_and_go<Q: Overwriting<[u64; 5]>>() {
    streams::<Q>(Habits { cores: Cores::Two, each: 2_000, slice: 6, changing: true });
}

/// One thread with two handles a side makes random calls, and knows each right answer.
pub fn random_calls<Q: Overwriting<u64>>(config: Config, seed: u64, calls: usize) {
    let (tx, rx) = Q::with(config).expect("it is small");
    let (mut txs, mut rxs) = ([tx.clone(), tx], [rx.clone(), rx]);
    let (mut rng, mut pushed, mut popped) = (Rng::new(seed), 0, 0);
    // The next item's number is at least this.
    let mut next = 0;
    for _ in 0..calls {
        let (tx, rx) = (&mut txs[rng.below(2)], &mut rxs[rng.below(2)]);
        let n = rng.below(2 * tx.slots());
        match rng.below(6) {
            0 | 1 => {
                assert_eq!(tx.try_push(pushed), Ok(()), "no push is stopped in the middle");
                pushed += 1;
            }
            2 => {
                let items: Vec<_> = (pushed..).take(n).collect();
                assert_eq!(tx.push_slice(&items), n);
                pushed += n as u64;
            }
            3 | 4 => match rx.try_pop() {
                Ok(item) => {
                    assert!((next..pushed).contains(&item), "{item} after {next} of {pushed}");
                    (next, popped) = (item + 1, popped + 1);
                }
                Err(error) => assert_eq!((error, next), (TryPopError::Empty, pushed)),
            },
            _ => {
                let mut into = vec![0; n];
                let done = rx.pop_slice(&mut into);
                for item in &into[..done] {
                    assert!((next..pushed).contains(item), "{item} after {next} of {pushed}");
                    next = item + 1;
                }
                popped += done as u64;
                assert!(done == n || next == pushed, "{done} of {n} though there were more");
            }
        }
        let lost: u64 = rxs.iter().map(|rx| rx.lost()).sum();
        assert_eq!(popped + lost, next, "each item before the next one is popped or lost");
        let kept = pushed.saturating_sub(rxs[0].capacity() as u64);
        assert!(lost <= kept, "{lost} lost of {pushed}: more than had to go");
        // What has been overwritten since the last pop is not among the lost.
        let left = (pushed - next) as usize;
        let counted = rxs[0].len();
        assert!((left.min(txs[0].capacity())..=left).contains(&counted), "{counted} of {left}");
        assert_eq!(rxs[1].is_empty(), left == 0);
        let sent = txs[0].len();
        assert!((counted..=counted + 64).contains(&sent), "{sent} sent, {counted} there");
    }
}

/// What the only handles count is right, whether the consumer keeps up or not.
pub fn counted<Q: Overwriting<u64>>() {
    let (mut tx, mut rx) = Q::with(Config::new(100)).expect("it is small");
    let (mut rng, mut pushed, mut next) = (Rng::new(1), 0, 0);
    for round in 0..3000 {
        // More pushes than pops, then more pops.
        let (pushes, pops) = if round / 300 % 2 == 0 { (5, 3) } else { (3, 5) };
        for _ in 0..rng.below(pushes) {
            assert_eq!(tx.try_push(pushed), Ok(()));
            pushed += 1;
        }
        for item in rx.pop_iter().take(rng.below(pops)) {
            next = item + 1;
        }
        let left = (pushed - next) as usize;
        let counted = rx.len();
        assert!((left.min(tx.capacity())..=left).contains(&counted), "{counted} of {left}");
        assert_eq!((rx.is_empty(), counted == 0), (left == 0, left == 0));
        let sent = tx.len();
        assert!((counted..=counted + 64).contains(&sent), "{sent} sent, {counted} there");
        assert_eq!(rx.is_full(), counted >= rx.capacity());
    }
}

/// Popped items of this type equal the pushed items, also through several handles.
pub fn items_come_out<Q: Overwriting<T>, T: Copy + PartialEq + std::fmt::Debug>(items: [T; 3]) {
    let (mut tx, mut rx) = Q::with(Config::new(4)).expect("it is small");
    let mut other = tx.clone();
    for item in items {
        assert!(tx.try_push(item).is_ok() && other.try_push(item).is_ok());
        assert_eq!((rx.try_pop(), rx.try_pop()), (Ok(item), Ok(item)));
    }
}

/// The drop of the last of several producers closes the queue. The items that are left are popped
/// before.
pub fn closed_by_the_last_producer<Q: Overwriting<u64>>() {
    let (mut tx, mut rx) = Q::with(Config::new(4)).expect("it is small");
    let other = tx.clone();
    tx.try_push(1).expect("a push makes room");
    drop(tx);
    assert!(!rx.is_closed());
    drop(other);
    assert_eq!((rx.try_pop(), rx.try_pop()), (Ok(1), Err(TryPopError::Closed)));
}

/// Pushes succeed without consumers, also after all consumers were dropped.
pub fn goes_on_without_consumers<Q: Overwriting<u64>>() {
    let (mut tx, rx) = Q::with(Config::new(4)).expect("it is small");
    drop(rx);
    let mut other = tx.clone();
    for i in 0..100 {
        assert_eq!(tx.try_push(i), Ok(()));
        assert!(!matches!(other.try_push(i), Err(TryPushError::Full(_))));
    }
    assert!(tx.is_closed());
}
