//! The recommendation: one paragraph, computed from the measured numbers.

use std::collections::BTreeSet;

use crate::catalogue::{self, Kind};
use crate::number::{short, times};
use crate::results::{CellResult, Floor, Results, best_peer};
use crate::stats::Group;
use crate::suite::Suite;

/// Which queue to take for what, as far as the results tell.
pub(crate) fn paragraph<S: Suite>(results: &Results<S>) -> Option<String> {
    let picks = |group| {
        let tables = results.tables(group);
        tables.iter().filter_map(|table| Pick::of(results, table, group)).collect::<Vec<_>>()
    };
    let groups: Vec<_> = results.groups().map(|group| (group, picks(group))).collect();
    let mut text: Vec<_> =
        groups.iter().filter_map(|(group, picks)| sentence(results, *group, picks)).collect();
    text.extend(caveats(groups.iter().flat_map(|(_, picks)| picks)));
    (!text.is_empty()).then(|| text.join(" "))
}

/// What the library says against the queues that were picked.
fn caveats<'a, S: Suite>(picks: impl Iterator<Item = &'a Pick<'a, S>>) -> Option<String> {
    let picked: BTreeSet<_> = picks.map(|pick| pick.best.queue.as_str()).collect();
    let against = picked.iter().filter_map(|id| match &catalogue::find(id)?.kind {
        Kind::Ours { info, .. } => Some(format!("{id}: {}", info.avoid)),
        Kind::Peer { .. } => None,
    });
    let against: Vec<_> = against.collect();
    (!against.is_empty()).then(|| format!("When not to take them: {}.", against.join("; ")))
}

fn sentence<S: Suite>(results: &Results<S>, group: Group, picks: &[Pick<'_, S>]) -> Option<String> {
    let picks: Vec<_> = picks.iter().map(Pick::words).collect();
    let (rounds, all) = (results.rounds_of(group).count(), results.rounds.len());
    let distance = results.line_rtt(group)?.median;
    (!picks.is_empty()).then(|| {
        let distance = short(distance);
        let place = match (results.machine.same_core, group) {
            (true, _) => "With both threads on one core",
            (false, Group::Near) => "While the cores are near",
            (false, Group::Far) => "While the cores are far",
        };
        let begin = format!("{place} (line_rtt {distance} ns, {rounds} of {all} rounds):");
        format!("{begin} {}.", picks.join("; "))
    })
}

/// Whether an item is visible when its push returns, as with all peers. Queues that publish later are
/// faster and no answer to the same question.
fn publishes<S: Suite>(result: &CellResult<S>) -> bool {
    catalogue::find(&result.queue).is_none_or(|entry| match &entry.kind {
        Kind::Ours { info, .. } => !info.delayed,
        Kind::Peer { .. } => true,
    })
}

/// Relative difference that isn't worth a word.
const LEVEL: f64 = 0.02;

/// The best of one table.
struct Pick<'a, S: Suite> {
    best: &'a CellResult<S>,
    purpose: String,
    value: f64,
    peer: Option<(&'a str, f64)>,
    floor: Option<Floor>,
}

impl<'a, S: Suite> Pick<'a, S> {
    /// From a table with the fastest first. Only what needs no further words.
    fn of(results: &Results<S>, table: &[&'a CellResult<S>], group: Group) -> Option<Self> {
        let best = table.iter().copied().find(|result| !result.peer && publishes(result))?;
        Some(Self {
            best,
            purpose: S::purpose(best)?,
            value: best.median(group),
            peer: best_peer(table).map(|peer| (peer.queue.as_str(), peer.median(group))),
            floor: S::floor(results, best.test, group).filter(|_| S::ADVICE_NAMES_FLOOR),
        })
    }

    fn words(&self) -> String {
        let (queue, value, unit) = (&self.best.queue, short(self.value), S::unit(self.best.test));
        let peer = self.peer.map(|(name, peer)| self.against(name, peer));
        let floor = self.floor.map(|(name, floor)| {
            format!(", {} the {name} floor of {}", times(self.value / floor), short(floor))
        });
        format!(
            "{} take {queue} ({value} {unit}{}{})",
            self.purpose,
            peer.unwrap_or_default(),
            floor.unwrap_or_default()
        )
    }

    fn against(&self, name: &str, peer: f64) -> String {
        let peer_value = short(peer);
        if (peer / self.value - 1.0).abs() < LEVEL {
            format!(", level with the best peer, {name} at {peer_value}")
        } else if peer > self.value {
            format!(
                ", {} as fast as the best peer, {name} at {peer_value}",
                times(peer / self.value)
            )
        } else {
            let slower = times(self.value / peer);
            format!(", though the best peer, {name} at {peer_value}, is {slower} as fast")
        }
    }
}
