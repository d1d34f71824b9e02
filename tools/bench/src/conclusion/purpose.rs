//! The advice of the conclusion: what to take for what.

use corelane_report::{Block, short, times};

use super::Ranking;
use crate::advice::{is_ahead, is_choice};
use crate::calls::call;
use crate::catalogue::{self, EntryKind};
use crate::kinds::{Test, WORD};
use crate::results::{CellResult, Results, best_peer, comparable};
use crate::suite::spsc::quick::GROUP;

/// Relative difference for which the usual queue is still taken, and no other one is mentioned.
const LEVEL: f64 = 1.1;
/// The queue that is taken if nothing says otherwise.
const USUAL: &str = "linering";

/// What a queue is taken for.
pub(super) struct Purpose {
    test: Test,
    batch: usize,
    words: &'static str,
    /// What is measured.
    measured: &'static str,
}

/// Items one by one.
pub(super) const STREAM: Purpose =
    Purpose { test: Test::Stream, batch: 1, words: "For items one by one", measured: "an item" };

const GROUPS: Purpose = Purpose {
    test: Test::Stream,
    batch: GROUP,
    words: "For items in groups",
    measured: "an item of a group of 32",
};

const ROUND_TRIPS: Purpose = Purpose {
    test: Test::Rtt,
    batch: 1,
    words: "For questions and answers",
    measured: "a round trip",
};

/// A sentence and the line to write for each purpose.
pub(super) fn blocks(results: &Results, rankings: &[Ranking<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut made = String::new();
    for purpose in [STREAM, GROUPS, ROUND_TRIPS] {
        let of_purpose: Vec<_> = rankings.iter().filter(|one| purpose.has(one)).collect();
        let queue = never_far_behind(&of_purpose);
        let reason = match &queue {
            Some(queue) => reason(results, &purpose, queue, &of_purpose),
            None => usual_reason(),
        };
        let queue = queue.as_deref().unwrap_or(USUAL);
        let call = call(queue, catalogue::find(queue).map_or("", |entry| entry.module));
        let sentence = format!("{} take `{call}` ({queue}): {reason}:", purpose.words);
        blocks.push(Block::Paragraph(sentence));
        blocks.push(Block::Code(purpose.code(&call, made == call)));
        made = call;
    }
    blocks
}

impl Purpose {
    pub(super) fn has(&self, ranking: &Ranking<'_>) -> bool {
        let first = ranking.first();
        let batch = first.params.spsc().map(|setting| setting.batch);
        first.test == self.test && batch == Some(self.batch)
    }

    /// Whether it is measured with handles in several places.
    fn has_places(&self) -> bool {
        (self.test, self.batch) == (Test::Stream, 1)
    }

    /// The line to write, unless lines before have made the handles.
    fn code(&self, call: &str, is_made: bool) -> String {
        let pair = format!("let (mut tx, mut rx) = corelane::{call}::<u64>(4096)?;");
        let slices = "let pushed = tx.push_slice(&items); // and rx.pop_slice(&mut items)";
        match (self.test, self.batch) {
            (Test::Rtt, _) => {
                format!("let (ask, asked) = corelane::{call}::<u64>(64)?; // and one back")
            }
            (_, 1) => pair,
            _ if is_made => slices.into(),
            _ => format!("{pair}\n{slices}"),
        }
    }
}

/// The reason of a run that has no ranks: the library's own.
fn usual_reason() -> String {
    let choose = catalogue::find(USUAL).map_or("", |entry| entry.info.choose);
    let choose = choose.trim_start_matches("by default: ");
    format!("it is the default {choose} (this run is too short to rank)")
}

/// The reason by the measured numbers: those of the first group, and in brief those of the other.
fn reason(results: &Results, purpose: &Purpose, queue: &str, rankings: &[&Ranking<'_>]) -> String {
    let mut parts = Vec::new();
    let mut places = Vec::new();
    for of_group in rankings.chunk_by(|a, b| a.group == b.group) {
        let is_only = of_group.len() == rankings.len();
        let mut shown: Vec<_> =
            of_group.iter().filter(|one| one.bytes() == WORD).copied().collect();
        if shown.is_empty() {
            shown = of_group.to_vec();
        }
        let group = of_group[0].group.name();
        let before = std::mem::replace(&mut places, shown.iter().map(|one| one.place()).collect());
        parts.push(match parts.is_empty() {
            true if is_only => values(results, purpose, queue, &shown),
            true => format!("{group}, {}", values(results, purpose, queue, &shown)),
            false => format!("{group} {}", values_in_brief(queue, &shown, before != places)),
        });
    }
    parts.extend(ahead(queue, rankings).map(|ahead| format!("but {ahead}")));
    parts.join("; ")
}

/// The queue of corelane for items of any type that is least behind the best one where it is most
/// behind; the usual one if it is about as good.
fn never_far_behind(rankings: &[&Ranking<'_>]) -> Option<String> {
    let behind = |queue: &String| {
        let behind = |one: &&Ranking<'_>| {
            let best = candidates(one).next()?;
            Some(one.find(queue)?.median(one.group) / best.median(one.group))
        };
        let all: Option<Vec<f64>> = rankings.iter().map(behind).collect();
        Some(all?.into_iter().fold(1.0, f64::max))
    };
    let queues = candidates(rankings.first()?).map(|result| result.queue.clone());
    let mut all: Vec<_> = queues.filter_map(|queue| Some((behind(&queue)?, queue))).collect();
    all.sort_by(|a, b| f64::total_cmp(&a.0, &b.0));
    let (least, best) = all.first()?;
    let is_as_good = |(behind, queue): &&(f64, String)| *behind <= least * LEVEL && queue == USUAL;
    Some(all.iter().find(is_as_good).map_or(best, |(_, queue)| queue).clone())
}

/// The queues of corelane that may be advised, the fastest first.
fn candidates<'a>(ranking: &Ranking<'a>) -> impl Iterator<Item = &'a CellResult> + use<'a> {
    let is_for_any = |result: &&CellResult| {
        let kind = catalogue::find(&result.queue).map(|entry| &entry.kind);
        is_choice(result) && matches!(kind, Some(EntryKind::Ours { items: "items of any type" }))
    };
    comparable(&ranking.results).into_iter().filter(is_for_any)
}

/// Values of a queue and of the best peers in one group.
fn values(results: &Results, purpose: &Purpose, queue: &str, rankings: &[&Ranking<'_>]) -> String {
    let value = |one: &&Ranking<'_>| {
        let value = short(one.find(queue)?.median(one.group));
        let place = if purpose.has_places() { one.place() } else { String::new() };
        Some(format!("{value} ns{place}"))
    };
    let peer = |one: &&Ranking<'_>| {
        let peer = best_peer(&one.results)?;
        Some(format!("{} ({})", short(peer.median(one.group)), peer.queue))
    };
    let values: Vec<_> = rankings.iter().filter_map(value).collect();
    let peers: Vec<_> = rankings.iter().filter_map(peer).collect();
    let mut text = format!("{} takes {}", purpose.measured, values.join(" and "));
    if !peers.is_empty() {
        let ending = if peers.len() > 1 { "s" } else { "" };
        text += &format!(", with the best peer{ending} {}", peers.join(" and "));
    }
    let floor = |one: &&Ranking<'_>| one.first().floor_of(results, one.group);
    let floor = rankings.first().and_then(floor).filter(|_| purpose.test == Test::Rtt);
    let floor = floor.map(|(_, floor)| format!(", and a flag without a queue {}", short(floor)));
    text + &floor.unwrap_or_default()
}

/// The same in brief. Places are said if they are other ones than those said before.
fn values_in_brief(queue: &str, rankings: &[&Ranking<'_>], has_places: bool) -> String {
    let value = |one: &&Ranking<'_>| {
        let value = short(one.find(queue)?.median(one.group));
        let peer = best_peer(&one.results)
            .map(|peer| format!(" ({} {})", peer.queue, short(peer.median(one.group))));
        let place = if has_places { one.place() } else { String::new() };
        Some(format!("{value}{}{place}", peer.unwrap_or_default()))
    };
    rankings.iter().filter_map(value).collect::<Vec<_>>().join(" and ")
}

/// Where another one is most ahead, if it is.
fn ahead(queue: &str, rankings: &[&Ranking<'_>]) -> Option<String> {
    let ahead = |one: &&Ranking<'_>| {
        let taken = one.find(queue)?;
        let others = comparable(&one.results);
        let other = others.into_iter().find(|r| r.peer || is_choice(r))?;
        let ratio = taken.median(one.group) / other.median(one.group);
        let is_it = ratio > LEVEL && is_ahead(other, taken, one.group);
        let text = || format!("{} is {} as fast{}", other.queue, times(ratio), one.place());
        is_it.then(|| (ratio, text()))
    };
    let all = rankings.iter().filter_map(ahead);
    all.max_by(|a, b| f64::total_cmp(&a.0, &b.0)).map(|(_, text)| text)
}
