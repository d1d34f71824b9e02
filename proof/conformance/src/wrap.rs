//! Counters that start just below every width at which they could wrap.

use corelane::{Config, Consumer, Producer};

use crate::drops::Owned;
use crate::{Checked, Item, Ledger, Single, Subject};

/// Numbers at which a counter, a packed field or a lap ends.
fn ends(capacity: usize) -> impl Iterator<Item = u64> {
    let laps = [1, 2, 3].map(|laps| laps * capacity.next_power_of_two() as u64);
    // 0 stands for 2^64.
    [0, 1 << 63, 1 << 48, 1 << 32, 1 << 31, 1 << 16, 1 << 15, 1 << 8, 1 << 7]
        .into_iter()
        .chain(laps)
}

/// Queues whose counters start a little more than a lap, or less, before each of the [`ends`].
pub(crate) fn starts(capacity: usize) -> impl Iterator<Item = Config> {
    let config = move |first| Config::new(capacity).first(first);
    let before = [0, 1, 2, 3, 7, capacity as u64, capacity as u64 + 1];
    ends(capacity).flat_map(move |end| before.map(|n| config(end.wrapping_sub(n))))
}

/// Order, fill levels and all observers are right across every wrap, also in rings with as many
/// slots as a narrow counter has values, where full could look like empty (row
/// `counter_wrap_width`).
pub fn counter_wrap_width<T: Item + Copy>(subject: &Single<T>) {
    let wide = [1 << 8, 1 << 16].map(Config::new);
    for config in [1, 4, 20].into_iter().flat_map(starts).chain(wide) {
        let mut queue = Checked::open(subject, config);
        for _ in 0..4 {
            queue.fill();
            queue.observe();
            queue.drain();
            queue.observe();
            queue.turn(1);
        }
    }
}

/// Chunks, slices and iterators are right across every wrap.
pub fn batches_across_wraps<T: Item + Copy>(subject: &Single<T>) {
    for config in starts(12) {
        let mut queue = Checked::open(subject, config);
        for n in [1, 5, 12, 100] {
            queue.write_chunk(n, n);
            queue.read_chunk(n, n / 2);
            queue.push_slice(n);
            queue.pop_slice(n);
            queue.push_iter(n, false);
            queue.take_chunk(n, n / 2);
            queue.drain();
            queue.observe();
        }
    }
}

/// A consumer that slept while all lower bits of the counters wrapped still tells laps apart, and
/// so does a producer (row `aba_on_narrow_index`).
pub fn aba_on_narrow_index<T: Item + Copy>(subject: &Single<T>) {
    let mut queue = Checked::open(subject, Config::new(4));
    // The consumer loads the counters, then 2^17 items pass, in steps after which all low bits are
    // the same again.
    for laps in [1_usize << 8, 1 << 16] {
        queue.fill();
        queue.observe();
        queue.drain();
        for _ in 0..laps / queue.slots() {
            queue.push_iter(queue.slots(), true);
            queue.drain();
        }
        queue.observe();
        assert!(!queue.pop(), "an item of an earlier lap");
        queue.fill();
        assert!(!queue.push(), "a slot of an earlier lap");
        queue.drain();
    }
}

/// Items that are left in the queue across a wrap are dropped.
pub fn leftovers_across_wraps<T: Owned, P, C>(subject: &Subject<P, C>)
where
    P: Producer<Item = T>,
    C: Consumer<Item = T>,
{
    for config in starts(4) {
        let (mut tx, mut rx) = subject.open(config);
        let ledger = Ledger::new(10_000 + 2 * tx.slots());
        for _ in 0..2 {
            while tx.try_push(ledger.make()).is_ok() {}
            tx.flush();
            rx.pop_iter().take(3).for_each(drop);
        }
        drop((tx, rx));
        ledger.settle();
    }
}
