//! Up to four producers and four consumers, on two cores and on one core.

use corelane::{Config, Consumer, Info, Producer, Queue, TryPopError, TryPushError};

use super::{fewer, relaxations, shapes};
use crate::Any;
use corelane_harness::clones;
use corelane_harness::rng::Rng;
use corelane_harness::threads::{Cores, Progress, Task, Together, all, scaled};
use corelane_history::{Value, most_behind};

/// An item that carries the number of its producer, and its own number among that producer's items.
pub(super) trait Numbered: Copy + Send {
    fn of(value: Value) -> Self;

    /// The value that the item was made from, if the item is whole.
    fn value(&self) -> Option<Value>;
}

impl Numbered for u64 {
    fn of(value: Value) -> Self {
        value.number()
    }

    fn value(&self) -> Option<Value> {
        Some(Value::of(*self))
    }
}

/// How threads use their handles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Habits {
    pub(super) cores: Cores,
    /// Items that each producer pushes.
    pub(super) each: u64,
    /// Most items of one step. With 1, all calls are single calls.
    pub(super) step: usize,
    /// Whether handles are cloned and dropped all the time.
    pub(super) changing: bool,
}

/// The items of each producer that a consumer has popped.
pub(super) struct Seen {
    pub(super) values: Vec<Value>,
    /// The largest number of each producer, and one.
    pub(super) next: Vec<u64>,
    /// See [`most_behind`](fn@most_behind).
    most_behind: u64,
}

impl Seen {
    /// No items, of a queue with this relaxation.
    pub(super) fn new(producers: usize, k: usize) -> Self {
        Self { values: Vec::new(), next: vec![0; producers], most_behind: most_behind(k) }
    }

    /// Notes an item, whose number must be larger than the numbers of its producer before, or not
    /// too far behind them.
    pub(super) fn note(&mut self, item: &impl Numbered) {
        let value = item.value().expect("an item in pieces");
        let Some(next) = self.next.get_mut(value.producer) else { panic!("{value} is made up") };
        let is_in_turn = *next <= value.sequence.saturating_add(self.most_behind);
        assert!(is_in_turn, "{value} after number {} of the same producer", *next - 1);
        *next = (*next).max(value.sequence + 1);
        self.values.push(value);
    }
}

/// Checks that the items of all consumers are the pushed items.
pub(super) fn settle(producers: usize, each: u64, seen: Vec<Seen>) {
    let mut popped: Vec<_> = seen.into_iter().flat_map(|seen| seen.values).collect();
    popped.sort_unstable_by_key(|value| value.number());
    let pushed = (0..producers)
        .flat_map(|producer| (0..each).map(move |sequence| Value { producer, sequence }));
    for (popped, pushed) in popped.iter().zip(pushed) {
        assert_eq!(*popped, pushed, "an item is lost, comes twice, or is made up");
    }
    assert_eq!(popped.len() as u64, producers as u64 * each, "items are lost or made up");
}

/// Lets a thread for each handle of a new queue push or pop all items.
pub(super) fn stream<T: Numbered, P, C>(
    info: &Info,
    queue: (P, C),
    shape: (usize, usize),
    habits: Habits,
) where
    P: Producer<Item = T> + Send,
    C: Consumer<Item = T> + Send,
{
    let habits = Habits { each: fewer(info, habits.each), ..habits };
    let (txs, rxs) = clones(queue, shape);
    let producers = txs.len();
    let progress = &Progress::of(producers + rxs.len());
    let mut tasks: Vec<Task<Option<Seen>>> = Vec::new();
    for (number, tx) in txs.into_iter().enumerate() {
        tasks.push(Box::new(move || {
            send(tx, number, habits, progress.patience(number));
            None
        }));
    }
    for (number, rx) in (producers..).zip(rxs) {
        tasks.push(Box::new(move || {
            let seen = Seen::new(producers, rx.relaxation());
            let rng = Rng::new(number as u64);
            Some(receive(rx, seen, rng, habits, progress.patience(number)))
        }));
    }
    settle(producers, habits.each, all(habits.cores, tasks).into_iter().flatten().collect());
}

/// Whether the next step uses slices, and its number of items.
fn next_step(rng: &mut Rng, habits: Habits) -> (bool, usize) {
    let n = 1 + rng.below(habits.step);
    (habits.step > 1 && rng.below(2) == 0, n)
}

/// Pushes all items of the producer with this number.
fn send<T: Numbered>(
    mut tx: impl Producer<Item = T>,
    producer: usize,
    habits: Habits,
    mut patience: Together,
) {
    let mut rng = Rng::new(100 + producer as u64);
    let mut next = 0;
    while next < habits.each {
        let (by_slice, n) = next_step(&mut rng, habits);
        let end = habits.each.min(next + n as u64);
        let items = (next..end).map(|sequence| T::of(Value { producer, sequence }));
        let done = match by_slice {
            true => tx.push_slice(&items.collect::<Vec<_>>()),
            false => push_singly(&mut tx, items),
        };
        next += done as u64;
        patience.after(done);
        if habits.changing && rng.below(3) == 0 {
            // The clone is made before the old handle is dropped.
            tx.try_clone().into_iter().for_each(|clone| tx = clone);
        }
    }
}

/// Pushes items until one doesn't fit. Returns the number of pushed items.
fn push_singly<T>(tx: &mut impl Producer<Item = T>, items: impl Iterator<Item = T>) -> usize {
    let mut done = 0;
    for item in items {
        match tx.try_push(item) {
            Ok(()) => done += 1,
            Err(TryPushError::Closed(_)) => panic!("the consumers have given up"),
            Err(_) => break,
        }
    }
    done
}

/// Pops items until the queue is closed.
fn receive<T: Numbered>(
    mut rx: impl Consumer<Item = T>,
    mut seen: Seen,
    mut rng: Rng,
    habits: Habits,
    mut patience: Together,
) -> Seen {
    loop {
        let (by_slice, n) = next_step(&mut rng, habits);
        let before = seen.values.len();
        if by_slice {
            let mut items = vec![T::of(Value { producer: 0, sequence: 0 }); n];
            let done = rx.pop_slice(&mut items);
            items[..done].iter().for_each(|item| seen.note(item));
        } else {
            for _ in 0..n {
                match rx.try_pop() {
                    Ok(item) => seen.note(&item),
                    Err(TryPopError::Closed) => return seen,
                    Err(_) => break,
                }
            }
        }
        patience.after(seen.values.len() - before);
        if habits.changing && rng.below(3) == 0 {
            rx.try_clone().into_iter().for_each(|clone| rx = clone);
        }
    }
}

/// Streams with all shapes, in rings from the smallest on.
fn streams<P, C>(info: &Info, habits: Habits, open: impl Fn(Config) -> (P, C))
where
    P: Producer<Item = u64> + Send,
    C: Consumer<Item = u64> + Send,
{
    for (producers, consumers) in shapes(info) {
        for (capacity, group) in [(2, 1), (16, 1), (16, 8), (512, 64)] {
            let all = habits.each * capacity.min(64) as u64;
            let habits = Habits { each: scaled(all / producers as u64), ..habits };
            let queue = open(Config::new(capacity).grouped(group));
            stream(info, queue, (producers, consumers), habits);
        }
    }
}

/// [`streams`] of a queue in a box.
fn boxed(subject: &Any<u64>, habits: Habits) {
    streams(&subject.info, habits, |config| subject.open(config));
}

/// Items one by one, on two cores.
pub fn singly_on_two_cores(subject: &Any<u64>) {
    boxed(subject, Habits { cores: Cores::Two, each: 3_000, step: 1, changing: false });
}

/// The habits of [`mixed_on_two_cores`].
const MIXED: Habits = Habits { cores: Cores::Two, each: 3_000, step: 40, changing: false };

/// Single calls and slices mixed, on two cores.
pub fn mixed_on_two_cores(subject: &Any<u64>) {
    boxed(subject, MIXED);
}

/// The same through the queue's own handles: the compiler inlines their calls here, as it does for
/// users. An unbounded queue is tried with a limit as well.
pub fn inlined_on_two_cores<Q: Queue<u64> + 'static>() {
    streams(&Q::INFO, MIXED, |config| Q::with(config).expect("this capacity is possible"));
    if !Q::INFO.bounded {
        mixed_on_two_cores(&Any::of::<Q>());
    }
}

/// All threads on one core.
pub fn mixed_on_one_core(subject: &Any<u64>) {
    boxed(subject, Habits { cores: Cores::One, each: 800, step: 40, changing: false });
}

/// Queues with several k, on two cores.
pub fn mixed_for_every_relaxation(subject: &Any<u64>) {
    for config in relaxations(subject, 64) {
        for shape in [(4, 4), (2, 1), (1, 2), (1, 1)] {
            let habits = Habits { each: scaled(20_000 / shape.0 as u64), ..MIXED };
            stream(&subject.info, subject.open(config), shape, habits);
        }
    }
}

/// Handles are cloned and dropped while others work.
pub fn handles_come_and_go(subject: &Any<u64>) {
    boxed(subject, Habits { cores: Cores::Two, each: 2_000, step: 6, changing: true });
}
