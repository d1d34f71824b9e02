//! Bounded queues: too many items, and false full.

use super::log::Span;
use super::table::{Answer, Id, Table};
use super::witness::{Violation, Witness};

/// A moment at which more than `capacity` items were surely in the queue.
pub(super) fn overfull(table: &Table, capacity: usize) -> Option<Witness> {
    let surely_in = |id: &Id| table.push(*id).answered < table.stays_until(*id);
    let mut coming = table.sorted_by(|id| table.push(id).answered);
    coming.retain(surely_in);
    let mut going = table.sorted_by(|id| table.stays_until(id));
    going.retain(surely_in);
    let (mut gone, mut most, mut fullest) = (0, capacity, None);
    for (come, &id) in coming.iter().enumerate() {
        let now = table.push(id).answered;
        while table.stays_until(going[gone]) <= now {
            gone += 1;
        }
        if come + 1 - gone > most {
            most = come + 1 - gone;
            fullest = Some(come);
        }
    }
    let last = coming[fullest?];
    let now = table.push(last).answered;
    let first = coming.iter().find(|&&id| table.stays_until(id) > now).copied()?;
    Some(overfull_witness(table, capacity, most, [first, last]))
}

fn overfull_witness(table: &Table, capacity: usize, items: usize, ends: [Id; 2]) -> Witness {
    let [first, last] = ends.map(|id| table.value(id));
    let operations = ends.into_iter().flat_map(|id| table.show(id)).collect();
    Witness { violation: Violation::Overfull { capacity, items, first, last }, operations }
}

/// When items may have been pushed, and when they have surely been popped.
#[derive(Debug)]
struct Traffic<'a> {
    table: &'a Table,
    /// Calls of all pushes, sorted.
    coming: Vec<u64>,
    /// Answers of all pops, sorted.
    gone: Vec<u64>,
}

impl<'a> Traffic<'a> {
    fn new(table: &'a Table) -> Self {
        let mut coming: Vec<u64> = table.pushes.iter().map(|push| push.invoked).collect();
        let mut gone: Vec<u64> = table.pops.iter().map(|pop| pop.span.answered).collect();
        coming.sort();
        gone.sort();
        Self { table, coming, gone }
    }

    /// Most items that can be in the queue at some moment of a full answer.
    ///
    /// The number grows only when a push is called.
    fn most(&self, full: &Answer) -> usize {
        let Span { invoked, answered } = full.span;
        let mut most = self.most_at(full, invoked);
        let mut next = self.coming.partition_point(|&time| time <= invoked);
        while let Some(&time) = self.coming.get(next).filter(|&&time| time <= answered) {
            most = most.max(self.most_at(full, time));
            next += self.coming[next..].partition_point(|&other| other <= time);
        }
        most
    }

    /// Most items at the moment `time` of a full answer.
    fn most_at(&self, full: &Answer, time: u64) -> usize {
        // The thread's own earlier pushes are known from the order of its calls, other threads'
        // pushes from the clock.
        let own = self.table.pushes_of(full.thread);
        let before = full.next - own.start;
        let own_called = self.table.pushes[own].partition_point(|push| push.invoked <= time);
        let called = self.coming.partition_point(|&called| called <= time);
        let gone = self.gone.partition_point(|&answered| answered < time);
        (before + called - own_called).saturating_sub(gone)
    }
}

/// A full answer during whose call the queue can never have had `least` items.
pub(super) fn false_full(table: &Table, least: usize) -> Option<Witness> {
    if table.fulls.is_empty() {
        return None;
    }
    let traffic = Traffic::new(table);
    table.fulls.iter().find_map(|full| {
        let most = traffic.most(full);
        (most < least).then(|| {
            let operations = vec![full.show_full()];
            Witness { violation: Violation::FalseFull { most, least }, operations }
        })
    })
}

/// A full and an empty answer, neither of which can have been first, for one producer and one
/// consumer.
///
/// After p pushes the queue is full only before pop p − `least` + 1. After that pop it is empty
/// only if all visible items are popped.
pub(super) fn full_and_empty(table: &Table, least: usize) -> Option<Witness> {
    // A pending pop may have taken an item, or be another consumer's.
    if !table.is_single() || table.pending_pops > 0 {
        return None;
    }
    let producer = table.only_producer()?;
    let first_push = table.pushes_of(producer).start;
    table.fulls.iter().find_map(|full| {
        let (pushed, visible) = (full.next - first_push, full.hidden - first_push);
        // Pops and empties are those of the only consumer, so `next` counts its pops.
        let late = |popped: usize| popped + least > pushed;
        let empty = table.empties.get(table.empties.partition_point(|empty| !late(empty.next)))?;
        let violation = Violation::FullAndEmpty { pushed, popped: empty.next, least };
        let operations = vec![full.show_full(), empty.show_empty()];
        (empty.next < visible).then_some(Witness { violation, operations })
    })
}
