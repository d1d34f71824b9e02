//! The conclusion of the quick run: the fastest as a picture, and which queue to take for what, with
//! the reason and the line of Rust to write.

use corelane_report::plot::{BarRow, bars};
use corelane_report::{Block, Document, Media, short, times};

use crate::advice::{LEAST_ROUNDS, is_ahead, is_choice, is_usual};
use crate::calls::call;
use crate::catalogue::{self, EntryKind};
use crate::kinds::{Test, WORD};
use crate::page::bar;
use crate::results::{CellResult, Results, best_peer, comparable};
use crate::stats::Group;
use crate::suite::spsc::quick::GROUP;

/// Most queues of corelane in the picture, and most peers.
const ROWS: usize = 5;
/// Longest bar, in characters.
const BAR: f64 = 38.0;
/// Relative difference for which the usual queue is still taken, and no other one is mentioned.
const LEVEL: f64 = 1.1;

/// The results of a test with one set of parameters in the rounds of a group, the fastest first.
struct Ranking<'a> {
    group: Group,
    results: Vec<&'a CellResult>,
}

impl Results {
    /// The results as a document that begins with the conclusion, and the conclusion alone.
    pub fn quick_documents(&self) -> [Document; 2] {
        let conclusion = self.conclusion();
        let mut alone = Document::new("", "");
        alone.fact(Media::TERMINAL, "Machine", self.machine_in_a_line());
        alone.summary = conclusion.clone();
        let more = "`lane --all` prints all tables. Several threads: `lane bench mpmc`; threads and tasks that wait: \
                    `lane bench wait`; all queues: `lane list`.";
        alone.summary.push(Block::Paragraph(more.into()));
        let mut all = self.document();
        all.summary = conclusion;
        [all, alone]
    }

    fn machine_in_a_line(&self) -> String {
        let machine = &self.machine;
        let place = |group| {
            let place = match (machine.same_core, group) {
                (true, _) => "shared",
                (false, Group::Near) => "near",
                (false, Group::Far) => "far",
            };
            let flag = self.line_rtt(group).map_or(f64::NAN, |quartiles| quartiles.median);
            format!("{place}, {} ns for a flag and back", short(flag))
        };
        let places: Vec<_> = self.groups().map(place).collect();
        let is_virtual = if machine.virtual_machine { ", virtual" } else { "" };
        let cores: Vec<_> = machine.cores.iter().map(usize::to_string).collect();
        let (cpu, cpus) = (&machine.cpu, machine.cpus);
        let debug = if machine.optimised { "" } else { "; NOT OPTIMISED, build with --release" };
        let (cores, places) = (cores.join(" and "), places.join("; "));
        format!("{cpu}, {cpus} CPUs{is_virtual}; cores {cores}: {places}{debug}")
    }

    fn conclusion(&self) -> Vec<Block> {
        let rankings = self.rankings();
        let mut blocks = picture(self, &rankings);
        let unranked = self.unranked(&rankings);
        blocks.extend((!unranked.is_empty()).then(|| Block::Note(unranked.join(" "))));
        let mut made = String::new();
        for purpose in PURPOSES {
            let of_purpose: Vec<_> = rankings.iter().filter(|one| purpose.has(one)).collect();
            let advice = measured(self, &purpose, &of_purpose).unwrap_or_else(|| usual(&purpose));
            blocks.push(Block::Paragraph(advice.sentence + ":"));
            blocks.push(Block::Code(purpose.code(&advice.call, &mut made)));
        }
        blocks
    }

    /// The tables that have enough rounds; first those of the group with most rounds.
    fn rankings(&self) -> Vec<Ranking<'_>> {
        let mut groups: Vec<_> = self.groups().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(self.rounds_of(*group).count()));
        let ranking = |group| {
            self.tables(group).into_iter().filter_map(move |mut results| {
                results.retain(|result| rounds(result, group) >= LEAST_ROUNDS);
                (!results.is_empty()).then_some(Ranking { group, results })
            })
        };
        groups.into_iter().flat_map(ranking).collect()
    }

    /// What the picture and the advice leave out.
    fn unranked(&self, rankings: &[Ranking<'_>]) -> Vec<String> {
        let mut notes = Vec::new();
        for group in self.groups().filter(|group| rankings.iter().all(|one| one.group != *group)) {
            let all = self.results.iter().map(|result| rounds(result, group));
            let most = all.max().unwrap_or_default();
            let ending = if most == 1 { "" } else { "s" };
            let name = self.place(group).split(':').next().unwrap_or_default();
            notes.push(format!(
                "{name}: not ranked, since a rank needs {LEAST_ROUNDS} rounds and this run had {most} round{ending}."
            ));
        }
        notes.extend(self.origin.is_interrupted().then(|| "Interrupted before its end.".into()));
        notes
    }
}

fn rounds(result: &CellResult, group: Group) -> usize {
    result.groups.get(&group).map_or(0, |summary| summary.value.n)
}

impl Ranking<'_> {
    fn first(&self) -> &CellResult {
        self.results[0]
    }

    fn bytes(&self) -> usize {
        self.first().params.spsc().map_or(WORD, |setting| setting.bytes())
    }

    fn is_field(&self) -> bool {
        self.first().params.spsc().is_some_and(|setting| setting.is_field())
    }

    fn find(&self, queue: &str) -> Option<&CellResult> {
        self.results.iter().copied().find(|result| result.queue == queue)
    }

    /// Where its handles and items are, after "takes … ns".
    fn place(&self) -> String {
        let handles = if self.is_field() { " in a field of a struct" } else { " in a loop" };
        match self.bytes() {
            WORD => handles.into(),
            bytes => format!("{handles} with {bytes} bytes"),
        }
    }
}

/// The picture: the fastest queues and peers that move words one by one.
fn picture(results: &Results, rankings: &[Ranking<'_>]) -> Vec<Block> {
    let is_shown = |one: &&Ranking<'_>| PURPOSES[0].has(one) && one.bytes() == WORD;
    let Some(first) = rankings.iter().find(is_shown) else { return Vec::new() };
    let group = first.group;
    let mut shown: Vec<_> =
        rankings.iter().filter(is_shown).filter(|one| one.group == group).collect();
    // What most programs have decides.
    shown.sort_by_key(|one| !one.is_field());
    let ranking = shown[0];
    let few = |is_peer| {
        let fits = move |r: &&CellResult| r.peer == is_peer && (is_peer || is_choice(r));
        comparable(&ranking.results).into_iter().filter(fits).take(ROWS)
    };
    let mut rows: Vec<_> = few(false).chain(few(true)).collect();
    rows.sort_by(|a, b| f64::total_cmp(&a.median(group), &b.median(group)));
    let most = rows.last().map_or(1.0, |row| row.median(group));
    let other = shown.get(1);
    let line = |row: &&CellResult| {
        let value = row.median(group);
        let beside = other.and_then(|other| other.find(&row.queue));
        let beside = beside.map(|beside| short(beside.median(group))).unwrap_or_default();
        let (label, bar) = (row.kept_label(), character_bar(value / most * BAR));
        format!("{label:<25}{:>6}{beside:>7}  {bar}", short(value))
    };
    let lines: Vec<_> = rows.iter().map(line).collect();
    let head = |one: &Ranking<'_>| if one.is_field() { "field" } else { "loop" };
    let columns = other.map(|other| head(other)).unwrap_or_default();
    let columns = format!("{:<25}{:>6}{columns:>7}", "ns an item", head(ranking));
    let floor = first.first().floor_of(results, group);
    let floor_words = floor.map_or_else(String::new, |(_, floor)| {
        format!(" The cores alone need {} (floor).", short(floor))
    });
    let rounds = rounds(ranking.first(), group);
    let place = match group {
        Group::Near => "near",
        Group::Far => "far",
    };
    let caption = format!(
        "Words one by one between {place} cores, handles in a field of a struct or in a loop; medians of {rounds} \
         rounds.{floor_words}"
    );
    let drawn: Vec<BarRow> = rows.iter().filter_map(|row| bar(row, group)).collect();
    let svg = bars(&drawn, ranking.first().test.unit(), floor);
    let lines = format!("{columns}\n{}", lines.join("\n"));
    vec![
        Block::Note(caption),
        Block::On(Media::TERMINAL, vec![Block::Code(lines)]),
        Block::On(Media::PAGE, vec![Block::Figures(vec![svg])]),
    ]
}

/// A bar of so many characters, to an eighth.
fn character_bar(length: f64) -> String {
    let eighths = (length * 8.0).round().max(1.0) as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{rest}", "█".repeat(eighths / 8))
}

/// What a queue is taken for.
struct Purpose {
    test: Test,
    batch: usize,
    words: &'static str,
    /// What is measured.
    measured: &'static str,
}

const PURPOSES: [Purpose; 3] = [
    Purpose { test: Test::Stream, batch: 1, words: "For items one by one", measured: "an item" },
    Purpose {
        test: Test::Stream,
        batch: GROUP,
        words: "For items in groups",
        measured: "an item of a group of 32",
    },
    Purpose {
        test: Test::Rtt,
        batch: 1,
        words: "For questions and answers",
        measured: "a round trip",
    },
];

/// What to take.
struct Advice {
    sentence: String,
    /// The function that makes the queue.
    call: String,
}

impl Purpose {
    fn has(&self, ranking: &Ranking<'_>) -> bool {
        let first = ranking.first();
        let batch = first.params.spsc().map(|setting| setting.batch);
        first.test == self.test && batch == Some(self.batch)
    }

    /// The beginning of a sentence.
    fn take(&self, queue: &str) -> (String, String) {
        let module = catalogue::find(queue).map_or("", |entry| entry.module);
        let call = call(queue, module);
        (format!("{} take `{call}` ({queue})", self.words), call)
    }

    /// The line to write. `made` is the function that made the handles of the lines before.
    fn code(&self, call: &str, made: &mut String) -> String {
        let pair = format!("let (mut tx, mut rx) = corelane::{call}::<u64>(4096)?;");
        let is_made = std::mem::replace(made, call.into()) == call;
        match (self.test, self.batch) {
            (Test::Rtt, _) => {
                format!("let (mut ask, mut asked) = corelane::{call}::<u64>(64)?; // and one back")
            }
            (_, 1) => pair,
            _ => {
                let slices = "let pushed = tx.push_slice(&items); // and rx.pop_slice(&mut items)";
                if is_made { slices.into() } else { format!("{pair}\n{slices}") }
            }
        }
    }
}

/// The advice of a run that has no ranks for this purpose: the library's own.
fn usual(purpose: &Purpose) -> Advice {
    let (take, call) = purpose.take("linering");
    let choose = catalogue::find("linering").map_or("by default", |entry| entry.info.choose);
    let sentence = format!(
        "{take}, which is there {choose}; this run is too short to say how fast it is here"
    );
    Advice { sentence, call }
}

/// The advice by the measured numbers: the queue that is never far behind the best.
fn measured(results: &Results, purpose: &Purpose, rankings: &[&Ranking<'_>]) -> Option<Advice> {
    let queue = never_far_behind(rankings)?;
    let (take, call) = purpose.take(&queue);
    let mut groups: Vec<Group> = rankings.iter().map(|one| one.group).collect();
    groups.dedup();
    let reason = |group: &Group| {
        let of_group = rankings.iter().filter(|one| one.group == *group && one.bytes() == WORD);
        let of_group: Vec<_> = of_group.copied().collect();
        let place = if groups.len() > 1 { format!("{}, ", group.name()) } else { String::new() };
        reason(results, purpose, &queue, &of_group).map(|reason| place + &reason)
    };
    let reasons: Vec<_> = groups.iter().filter_map(reason).collect();
    let but = ahead(&queue, rankings).map(|but| format!("; but {but}")).unwrap_or_default();
    Some(Advice { sentence: format!("{take}: {}{but}", reasons.join("; ")), call })
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
    let is_as_good = |(behind, queue): &&(f64, String)| {
        let result = rankings[0].find(queue);
        *behind <= least * LEVEL && result.is_some_and(is_usual)
    };
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
fn reason(
    results: &Results,
    purpose: &Purpose,
    queue: &str,
    rankings: &[&Ranking<'_>],
) -> Option<String> {
    let value = |one: &&Ranking<'_>| {
        let value = short(one.find(queue)?.median(one.group));
        let place = if rankings.len() > 1 { one.place() } else { String::new() };
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
    let first = rankings.first()?;
    if let (Test::Rtt, Some((_, floor))) =
        (purpose.test, first.first().floor_of(results, first.group))
    {
        text += &format!(", and a flag without a queue {}", short(floor));
    }
    (!values.is_empty()).then_some(text)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_eighths() {
        assert_eq!([0.0, 0.5, 1.0, 2.25].map(character_bar), ["▏", "▌", "█", "██▎"]);
    }
}
