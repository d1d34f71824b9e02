//! The recommendation: one paragraph, computed from the measured numbers.

use crate::cli::{PayloadKind, Test};
use crate::number::{short, times};
use crate::results::{CellResult, Results};
use crate::stats::Group;

/// Which queue to take for what, as far as the results tell.
pub(crate) fn paragraph(results: &Results) -> Option<String> {
    let groups: Vec<_> = results.groups().filter_map(|group| sentences(results, group)).collect();
    (!groups.is_empty()).then(|| groups.join(" "))
}

fn sentences(results: &Results, group: Group) -> Option<String> {
    let picks: Vec<_> = results
        .tables(group)
        .iter()
        .filter_map(|table| Pick::of(results, table, group))
        .map(|pick| pick.sentence())
        .collect();
    let (rounds, all) = (results.rounds_of(group).count(), results.rounds.len());
    let distance = results.line_rtt(group)?.median;
    (!picks.is_empty()).then(|| {
        let (name, distance) = (group.name(), short(distance));
        let begin = format!(
            "While the cores are {name} (line_rtt {distance} ns, {rounds} of {all} rounds):"
        );
        format!("{begin} {}.", picks.join("; "))
    })
}

/// The best of one table.
struct Pick<'a> {
    best: &'a CellResult,
    value: f64,
    peer: Option<(&'a str, f64)>,
    floor: Option<(&'static str, f64)>,
}

impl<'a> Pick<'a> {
    /// From a table with the fastest first. Only what needs no further words: numbers, no load.
    fn of(results: &Results, table: &[&'a CellResult], group: Group) -> Option<Self> {
        let of = |peer| table.iter().copied().find(|result| result.peer == peer);
        let best = of(false)?;
        let params = &best.params;
        let plain = params.payload == PayloadKind::U64 && params.regime == "free";
        plain.then(|| Self {
            best,
            value: best.median(group),
            peer: of(true).map(|peer| (peer.queue.as_str(), peer.median(group))),
            floor: results.floor(best.test, group),
        })
    }

    fn sentence(&self) -> String {
        let purpose = match (self.best.test, self.best.params.batch) {
            (Test::Stream, 1) => "to stream items one by one".to_owned(),
            (Test::Stream, batch) => format!("to stream in batches of {batch}"),
            (Test::Rtt, _) => "for the shortest round trip".to_owned(),
            (Test::OpenLoop, _) => "for the lowest median latency under this schedule".to_owned(),
        };
        let (queue, value, unit) = (&self.best.queue, short(self.value), self.best.test.unit());
        let peer = self.peer.map(|(name, peer)| self.against(name, peer));
        let floor = self.floor.map(|(name, floor)| {
            format!(", {} the {name} floor of {}", times(self.value / floor), short(floor))
        });
        format!(
            "{purpose} take {queue} ({value} {unit}{}{})",
            peer.unwrap_or_default(),
            floor.unwrap_or_default()
        )
    }

    fn against(&self, name: &str, peer: f64) -> String {
        let peer_value = short(peer);
        if peer >= self.value {
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
