//! Writes down how a program uses a queue: how long each side works between its calls, how many
//! items a call moves, how long a call takes. `lane tune FILE` then measures which queue, capacity,
//! batch and wait this workload needs.
//!
//! Wrap the handles of the queue that the program has now, let it run, and save:
//!
//! ```
//! use corelane::workload::Recorder;
//! use corelane::{spsc, wait};
//!
//! let recorder = Recorder::new();
//! let (mut tx, mut rx) = wait::pair(recorder.pair(spsc::queue::<u64>(1024)?));
//! let producer = std::thread::spawn(move || tx.push_all(0..1000));
//! assert_eq!(rx.iter().sum::<u64>(), 499_500);
//! producer.join().unwrap().unwrap();
//! # let path = std::env::temp_dir().join(format!("workload-{}", std::process::id()));
//! # macro_rules! path { ($name:literal) => { &path } }
//! recorder.save(path!("jobs.workload"))?;
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The handles of other channels and crates are not wrapped; a [`Probe`] of each thread is called
//! around their calls.
//!
//! A call takes some 60 ns more while it is watched: two looks at the clock and a lock of its own.
//! `lane tune` takes the clock off. Each handle keeps its last 65,536 calls, a megabyte.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::memory::{ProcessorUse, processor_use};
use crate::queue::{self, TryPopError, TryPushError, answered_by, handles};
pub use crate::region::Side;

/// Calls that are kept of each handle: its last ones.
const KEPT: usize = 1 << 16;
/// Own time from which on the system is asked whether the thread was busy.
const LONG: Duration = Duration::from_micros(50);

/// Watches the handles of a queue. See the [module](self).
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug, Default)]
struct Shared {
    item_bytes: usize,
    capacity: usize,
    threads: Vec<(Side, Arc<Mutex<Calls>>)>,
}

type Calls = VecDeque<Call>;

/// A call that moved items.
#[derive(Debug, Clone, Copy)]
struct Call {
    /// Nanoseconds from the end of the last call that moved items to the begin of this one, in which
    /// the thread had a processor. A call begins with its first try.
    own_ns: u32,
    /// Nanoseconds of this time in which the thread slept. Time in which other threads had its
    /// processor is left out.
    asleep_ns: u32,
    /// Nanoseconds of the call, with all tries.
    call_ns: u32,
    items: u32,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Recorder {
    /// A recorder for one queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wraps the handles of a queue. To wait, wrap the result by [`wait::pair`](crate::wait::pair).
    pub fn pair<P, C>(&self, (tx, rx): (P, C)) -> (Producer<P>, Consumer<C>)
    where
        P: queue::Producer,
        C: queue::Consumer<Item = P::Item>,
    {
        self.describe(size_of::<P::Item>(), tx.capacity());
        let (sends, receives) = (self.probe(Side::Producer), self.probe(Side::Consumer));
        (Producer { queue: tx, probe: sends }, Consumer { queue: rx, probe: receives })
    }

    /// Says of a queue that is watched by probes how large its items are, in bytes, and how many it
    /// holds.
    pub fn describe(&self, item_bytes: usize, capacity: usize) {
        let mut shared = lock(&self.shared);
        (shared.item_bytes, shared.capacity) = (item_bytes, capacity);
    }

    /// A probe for one thread, which is called around the calls of its handle.
    pub fn probe(&self, side: Side) -> Probe {
        let calls = Arc::default();
        lock(&self.shared).threads.push((side, Arc::clone(&calls)));
        Probe {
            recorder: self.clone(),
            side,
            calls,
            ended: None,
            begun: None,
            last: None,
            in_calls: Duration::ZERO,
        }
    }

    /// Writes the kept calls into a file, for `lane tune`.
    ///
    /// # Errors
    ///
    /// If the file can't be written.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        self.write(&mut file)?;
        file.flush()
    }

    /// The same, into anything: first lines of a word and a number, then for each handle its side
    /// and a line for each call: nanoseconds of the thread's own work before it, nanoseconds asleep
    /// before it, nanoseconds of the call, items.
    ///
    /// # Errors
    ///
    /// If `into` fails.
    pub fn write(&self, into: &mut impl Write) -> io::Result<()> {
        let shared = lock(&self.shared);
        writeln!(into, "corelane workload 1")?;
        writeln!(into, "item {}\ncapacity {}", shared.item_bytes, shared.capacity)?;
        writeln!(into, "clock {}", clock_ns())?;
        for (side, calls) in &shared.threads {
            writeln!(into, "{side}")?;
            for Call { own_ns, asleep_ns, call_ns, items } in lock(calls).iter() {
                writeln!(into, "{own_ns} {asleep_ns} {call_ns} {items}")?;
            }
        }
        Ok(())
    }
}

/// Nanoseconds of a look at the clock.
fn clock_ns() -> u128 {
    const LOOKS: u32 = 1000;
    let begin = Instant::now();
    (1..LOOKS).for_each(|_| _ = core::hint::black_box(Instant::now()));
    begin.elapsed().as_nanos() / u128::from(LOOKS)
}

/// Watches the calls of one thread on one side.
///
/// ```
/// use std::sync::mpsc;
///
/// use corelane::workload::{Recorder, Side};
///
/// let recorder = Recorder::new();
/// recorder.describe(size_of::<u64>(), 64);
/// let (tx, rx) = mpsc::sync_channel(64);
/// let mut probe = recorder.probe(Side::Producer);
/// (0..10_u64).for_each(|n| probe.call(1, || tx.send(n)).unwrap());
/// # drop(rx);
/// ```
#[derive(Debug)]
pub struct Probe {
    recorder: Recorder,
    side: Side,
    calls: Arc<Mutex<Calls>>,
    /// When the last call that moved items ended.
    ended: Option<Instant>,
    /// When the call began that has not moved items yet.
    begun: Option<Instant>,
    /// The last look at what the thread has taken of its processor, and the time of calls since then.
    last: Option<(Instant, ProcessorUse)>,
    in_calls: Duration,
}

impl Probe {
    /// Makes a call that moves `items` items.
    #[inline]
    pub fn call<R>(&mut self, items: usize, call: impl FnOnce() -> R) -> R {
        self.begins();
        let result = call();
        self.moved(items);
        result
    }

    /// Says that a try begins, for calls of which it isn't known before how many items they move.
    #[inline]
    pub fn begins(&mut self) {
        self.begun.get_or_insert_with(Instant::now);
    }

    /// Says how many items the try has moved. If it moved none, the next try continues the call.
    #[inline]
    pub fn moved(&mut self, items: usize) {
        if items == 0 {
            return;
        }
        let now = Instant::now();
        let begun = self.begun.take().unwrap_or(now);
        // The first call has no own time before it.
        if let Some(ended) = self.ended.replace(now) {
            let (own, call) = (begun - ended, now - begun);
            let (busy, asleep) = if own < LONG { (own, Duration::ZERO) } else { self.parts(own) };
            self.in_calls += call;
            let ns = |time: Duration| time.as_nanos().try_into().unwrap_or(u32::MAX);
            let mut calls = lock(&self.calls);
            if calls.len() == KEPT {
                calls.pop_front();
            }
            calls.push_back(Call {
                own_ns: ns(busy),
                asleep_ns: ns(asleep),
                call_ns: ns(call),
                items: items.try_into().unwrap_or(u32::MAX),
            });
        }
    }

    /// The parts of a long time in which the thread was busy, and asleep. In the rest other threads
    /// had its processor.
    fn parts(&mut self, own: Duration) -> (Duration, Duration) {
        let Some(used) = processor_use() else { return (Duration::ZERO, own) };
        let now = Instant::now();
        let in_calls = core::mem::take(&mut self.in_calls);
        // Without a look before it is taken for busy.
        let Some((then, before)) = self.last.replace((now, used)) else {
            return (own, Duration::ZERO);
        };
        let away = (now - then).saturating_sub(used.busy.saturating_sub(before.busy));
        let away = away.saturating_sub(in_calls).min(own);
        let has_slept = used.sleeps > before.sleeps;
        (own - away, if has_slept { away } else { Duration::ZERO })
    }

    /// For one more handle of the side.
    fn again(&self) -> Self {
        self.recorder.probe(self.side)
    }
}

/// A sending side that is watched: from [`Recorder::pair`].
pub struct Producer<P> {
    queue: P,
    probe: Probe,
}

/// A receiving side that is watched: from [`Recorder::pair`].
pub struct Consumer<C> {
    queue: C,
    probe: Probe,
}

impl<P: queue::Producer> queue::Producer for Producer<P> {
    type Item = P::Item;

    #[inline]
    fn try_push(&mut self, item: P::Item) -> Result<(), TryPushError<P::Item>> {
        self.probe.begins();
        let pushed = self.queue.try_push(item);
        self.probe.moved(usize::from(pushed.is_ok()));
        pushed
    }

    answered_by!(handle: queue);

    fn len(&mut self) -> usize {
        self.queue.len()
    }

    fn is_full(&mut self) -> bool {
        self.queue.is_full()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(Self { queue: self.queue.try_clone()?, probe: self.probe.again() })
    }

    fn flush(&mut self) {
        self.queue.flush();
    }

    fn push_slice(&mut self, items: &[P::Item]) -> usize
    where
        P::Item: Copy,
    {
        self.probe.begins();
        let pushed = self.queue.push_slice(items);
        self.probe.moved(pushed);
        pushed
    }
}

impl<C: queue::Consumer> queue::Consumer for Consumer<C> {
    type Item = C::Item;

    #[inline]
    fn try_pop(&mut self) -> Result<C::Item, TryPopError> {
        self.probe.begins();
        let popped = self.queue.try_pop();
        self.probe.moved(usize::from(popped.is_ok()));
        popped
    }

    answered_by!(handle: queue);

    fn len(&mut self) -> usize {
        self.queue.len()
    }

    fn is_empty(&mut self) -> bool {
        self.queue.is_empty()
    }

    fn relaxation(&self) -> usize {
        self.queue.relaxation()
    }

    fn lost(&self) -> u64 {
        self.queue.lost()
    }

    fn try_clone(&self) -> Option<Self> {
        Some(Self { queue: self.queue.try_clone()?, probe: self.probe.again() })
    }

    fn pop_slice(&mut self, into: &mut [C::Item]) -> usize
    where
        C::Item: Copy,
    {
        self.probe.begins();
        let popped = self.queue.pop_slice(into);
        self.probe.moved(popped);
        popped
    }
}

impl<P: Clone> Clone for Producer<P> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), probe: self.probe.again() }
    }
}

impl<C: Clone> Clone for Consumer<C> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone(), probe: self.probe.again() }
    }
}

handles! {
    [P: queue::Producer] Producer<P>: producer of P::Item;
    [C: queue::Consumer] Consumer<C>: consumer of C::Item;
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::{mpmc, spsc};

    fn written(recorder: &Recorder) -> String {
        let mut text = Vec::new();
        recorder.write(&mut text).expect("memory takes all");
        String::from_utf8(text).expect("it is text")
    }

    /// The numbers of items of the calls of a handle.
    fn items(text: &str, handle: usize) -> Vec<u32> {
        let is_side = |line: &&str| ["producer", "consumer"].contains(line);
        let lines: Vec<_> = text.lines().skip(4).collect();
        let calls = lines.split(is_side).nth(handle + 1).expect("there are as many");
        calls.iter().map(|call| call.split(' ').nth(3).expect("items").parse().unwrap()).collect()
    }

    #[test]
    fn calls_that_move_items_are_kept_but_the_first() {
        let recorder = Recorder::new();
        let (mut tx, mut rx) = recorder.pair(spsc::queue::<u16>(4).expect("it is possible"));
        assert!(rx.try_pop().is_err());
        assert!((tx.try_push(1).is_ok(), tx.push_slice(&[2, 3])) == (true, 2));
        let fitting = (0..).find(|_| tx.try_push(4).is_err()).expect("it is bounded");
        assert_eq!((rx.try_pop(), rx.pop_slice(&mut [0; 2])), (Ok(1), 2));
        let text = written(&recorder);
        let capacity = tx.capacity();
        assert!(text.starts_with(&format!("corelane workload 1\nitem 2\ncapacity {capacity}\n")));
        assert_eq!(items(&text, 0)[..], [vec![2], vec![1; fitting]].concat());
        assert_eq!(items(&text, 1), [2]);
    }

    #[test]
    fn each_clone_has_calls_of_its_own() {
        let recorder = Recorder::new();
        let (mut tx, _rx) = recorder.pair(mpmc::queue(16).expect("it is possible"));
        let mut other = tx.clone();
        (0..3).for_each(|n| tx.try_push(n).expect("there is room"));
        (0..2).for_each(|n| other.try_push(n).expect("there is room"));
        let text = written(&recorder);
        assert_eq!([0, 1, 2].map(|handle| items(&text, handle).len()), [2, 0, 1]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn work_and_sleep_are_told_apart() {
        let recorder = Recorder::new();
        let mut probe = recorder.probe(Side::Producer);
        let long = Duration::from_millis(20);
        let work = || {
            let begin = processor_use().map(|used| used.busy).unwrap_or_default();
            while processor_use().is_some_and(|used| used.busy - begin < long) {}
        };
        let own: [&dyn Fn(); 4] = [&|| (), &work, &|| std::thread::sleep(long), &work];
        own.iter().for_each(|own| {
            own();
            probe.call(1, || ());
        });
        let text = written(&recorder);
        let call = |at: usize| {
            let line = text.lines().nth(5 + at).expect("there are three");
            let numbers: Vec<u64> = line.split(' ').map(|n| n.parse().unwrap()).collect();
            [numbers[0], numbers[1]].map(|ns| ns / 1_000_000)
        };
        let ([_, first], [busy, asleep], [again, no_sleep]) = (call(0), call(1), call(2));
        assert!(first == 0 && asleep >= 19 && again >= 19, "{text}");
        assert!(busy < 19 && no_sleep < 19, "{text}");
    }

    #[test]
    fn the_last_calls_are_kept() {
        let recorder = Recorder::new();
        let mut probe = recorder.probe(Side::Consumer);
        (0..=KEPT + 3).for_each(|call| probe.call(call, || ()));
        let kept = items(&written(&recorder), 0);
        assert_eq!((kept.len(), kept[0] as usize), (KEPT, 4));
    }
}
