//! What both sides have said, and whether it is what the guarantee promises.
//!
//! Each sender has its numbers, which begin at [`first`] of its place among the senders. A killed
//! process may have been about to say something.

use std::collections::HashSet;

use super::WINDOW;
use crate::suite::net::ends::{Said, Side};
use crate::suite::net::setting::{Faults, Guarantee};

/// Numbers of a sender.
const NUMBERS: u32 = 40;

/// The first number of a sender.
fn first(sender: usize) -> u64 {
    (sender as u64) << NUMBERS
}

fn sender_of(item: u64) -> usize {
    (item >> NUMBERS) as usize
}

/// What the ends of a run have said.
pub(super) struct History {
    guarantee: Guarantee,
    senders: Vec<Sender>,
    /// The items that each receiver has taken.
    receivers: Vec<Vec<u64>>,
}

#[derive(Default)]
struct Sender {
    /// Numbers below it are safe.
    acknowledged: u64,
    /// It has sent the numbers below it, and knows that all are safe.
    finished: Option<u64>,
}

impl History {
    pub(super) fn new(guarantee: Guarantee) -> Self {
        Self { guarantee, senders: Vec::new(), receivers: Vec::new() }
    }

    /// A new sender. Returns its first number.
    pub(super) fn add_sender(&mut self) -> u64 {
        let first = first(self.senders.len());
        self.senders.push(Sender { acknowledged: first, finished: None });
        first
    }

    /// A new receiver, in the place of the one before.
    pub(super) fn add_receiver(&mut self) {
        self.receivers.push(Vec::new());
    }

    /// Notes what the last process of a side has said.
    pub(super) fn note(&mut self, side: Side, said: &Said) {
        match (side, said) {
            (Side::Receiver, Said::Taken(item)) => {
                self.receivers.last_mut().expect("there is one").push(*item);
            }
            (Side::Sender, Said::Acknowledged(below)) => self.sender().acknowledged = *below,
            (Side::Sender, Said::Finished(below)) => {
                *self.sender() = Sender { acknowledged: *below, finished: Some(*below) };
            }
            _ => {}
        }
    }

    /// Whether the last item of the last sender was taken.
    pub(super) fn has_last(&self) -> bool {
        let last = self.senders.last().and_then(|sender| sender.finished?.checked_sub(1));
        let last = last.filter(|&last| sender_of(last) + 1 == self.senders.len());
        last.is_none_or(|last| self.receivers.iter().flatten().any(|&item| item == last))
    }

    fn sender(&mut self) -> &mut Sender {
        self.senders.last_mut().expect("there is one")
    }

    /// Whether the guarantee was kept.
    pub(super) fn verdict(&self) -> Faults {
        let (mut faults, mut seen) = (Faults::default(), HashSet::new());
        for items in &self.receivers {
            self.judge_order(items, &mut seen, &mut faults);
        }
        let mut excused = self.excused();
        for (number, sender) in self.senders.iter().enumerate() {
            faults.acknowledged += sender.acknowledged - first(number);
            faults.lost += self.missing(number, sender, &seen, &mut excused);
        }
        faults
    }

    /// The order in which a receiver has taken items.
    fn judge_order(&self, items: &[u64], seen: &mut HashSet<u64>, faults: &mut Faults) {
        let (mut own, mut again) = (HashSet::new(), 0);
        let mut last: Option<u64> = None;
        for &item in items {
            if !own.insert(item) {
                faults.doubled += 1;
                continue;
            }
            again += u64::from(seen.contains(&item));
            match last {
                Some(last) if item < last => faults.reordered += 1,
                // A hole that a receiver before has filled is still a hole.
                Some(last) if sender_of(item) == sender_of(last) && self.is_without_holes() => {
                    let hole = last + 1..item;
                    faults.lost += hole.filter(|missing| seen.contains(missing)).count() as u64;
                }
                _ => {}
            }
            last = last.max(Some(item));
        }
        // Of a durable lane all that wasn't confirmed, else what was under way to a killed receiver.
        let most = if self.guarantee == Guarantee::Durable { u64::MAX } else { WINDOW as u64 };
        let allowed = again.min(most);
        faults.again += allowed;
        faults.doubled += again - allowed;
        seen.extend(own);
    }

    /// A killed receiver may have taken an item that it hadn't said: the one behind its last. Of a
    /// durable lane it hadn't confirmed it.
    fn excused(&self) -> HashSet<u64> {
        if self.guarantee == Guarantee::Durable {
            return HashSet::new();
        }
        let killed = self.receivers.split_last().map_or(&[][..], |(_, killed)| killed);
        let next = |items: &Vec<u64>| items.iter().max().map_or(0, |last| last + 1);
        killed.iter().map(next).collect()
    }

    /// Items of a sender that no receiver has taken, and should have.
    fn missing(
        &self,
        number: usize,
        sender: &Sender,
        seen: &HashSet<u64>,
        excused: &mut HashSet<u64>,
    ) -> u64 {
        if !self.is_without_holes() {
            // The last one is the latest.
            let last = sender.finished.filter(|&below| below > first(number));
            return u64::from(last.is_some_and(|below| !seen.contains(&(below - 1))));
        }
        let of_it = seen.iter().filter(|&&item| sender_of(item) == number);
        let highest = of_it.max().map_or(0, |item| item + 1);
        let all = first(number)..sender.acknowledged.max(highest);
        all.filter(|item| !seen.contains(item) && !excused.remove(item)).count() as u64
    }

    fn is_without_holes(&self) -> bool {
        self.guarantee != Guarantee::Latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The verdict on what receivers have taken, if a sender has finished with 10 items.
    fn verdict(guarantee: Guarantee, receivers: &[&[u64]]) -> Faults {
        let mut history = History::new(guarantee);
        history.add_sender();
        for items in receivers {
            history.add_receiver();
            items.iter().for_each(|&item| history.note(Side::Receiver, &Said::Taken(item)));
        }
        history.note(Side::Sender, &Said::Finished(10));
        history.verdict()
    }

    const CLEAN: Faults = Faults {
        runs: 0,
        faults: 0,
        acknowledged: 10,
        lost: 0,
        doubled: 0,
        reordered: 0,
        again: 0,
        hung: 0,
    };

    #[test]
    fn what_is_promised_is_clean() {
        let ordered = |receivers: &[&[u64]]| verdict(Guarantee::Ordered, receivers);
        assert_eq!(ordered(&[&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]), CLEAN);
        // The first receiver was killed: two items come again, or one was not said.
        let again = Faults { again: 2, ..CLEAN };
        assert_eq!(ordered(&[&[0, 1, 2, 3, 4, 5], &[4, 5, 6, 7, 8, 9]]), again);
        assert_eq!(ordered(&[&[0, 1, 2, 3, 4], &[6, 7, 8, 9]]), CLEAN);
        // The latest items.
        assert_eq!(verdict(Guarantee::Latest, &[&[0, 4, 5, 9]]), CLEAN);
    }

    #[test]
    fn each_mistake_is_found() {
        let ordered = |receivers: &[&[u64]]| verdict(Guarantee::Ordered, receivers);
        let lost = |lost| Faults { lost, ..CLEAN };
        assert_eq!(ordered(&[&[0, 1, 2, 5, 6, 7, 8, 9]]), lost(2));
        assert_eq!(ordered(&[&[0, 1, 2, 3, 4, 5, 6]]), lost(3));
        assert_eq!(ordered(&[&[2, 3, 4, 5, 6, 7, 8, 9]]), lost(2));
        assert_eq!(ordered(&[&[0, 1, 2, 3], &[6, 7, 8, 9]]), lost(1));
        let doubled = Faults { doubled: 1, ..CLEAN };
        assert_eq!(ordered(&[&[0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9]]), doubled);
        let reordered = Faults { reordered: 1, ..CLEAN };
        assert_eq!(ordered(&[&[0, 1, 3, 2, 4, 5, 6, 7, 8, 9]]), reordered);
        let hole = ordered(&[&[0, 1, 2, 3, 4, 5], &[2, 5, 6, 7, 8, 9]]);
        assert_eq!(hole, Faults { lost: 2, again: 2, ..CLEAN });
        assert_eq!(verdict(Guarantee::Latest, &[&[0, 4, 5, 8]]), lost(1));
        assert_eq!(verdict(Guarantee::Latest, &[&[4, 0, 9]]), Faults { reordered: 1, ..CLEAN });
    }

    #[test]
    fn what_a_killed_sender_knew_to_be_safe_must_come() {
        let mut history = History::new(Guarantee::Ordered);
        history.add_receiver();
        for (taken, acknowledged) in [(0..5, 5), (first(1)..first(1) + 5, first(1) + 7)] {
            history.add_sender();
            taken.for_each(|item| history.note(Side::Receiver, &Said::Taken(item)));
            history.note(Side::Sender, &Said::Acknowledged(acknowledged));
        }
        assert_eq!(history.verdict(), Faults { acknowledged: 12, lost: 2, ..Faults::default() });
    }
}
