//! The conclusion of the quick run: the fastest as a picture, and which queue to take for what, with
//! the reason and the line of Rust to write.

mod picture;
mod purpose;

use std::cmp::Reverse;

use corelane_report::{Block, Document, Media, short};

use crate::advice::LEAST_ROUNDS;
use crate::kinds::WORD;
use crate::results::{CellResult, Results};
use crate::stats::Group;

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
        let more =
            "More: `lane --all` (tables), `lane bench mpmc`, `lane bench wait`, `lane list`.";
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
        let mut blocks = picture::blocks(self, &rankings);
        let notes = self.notes(&rankings);
        blocks.extend((!notes.is_empty()).then(|| Block::Note(notes.join(" "))));
        blocks.extend(purpose::blocks(self, &rankings));
        blocks
    }

    /// The tables that have enough rounds; first those of the group with most rounds.
    fn rankings(&self) -> Vec<Ranking<'_>> {
        let mut groups: Vec<_> = self.groups().collect();
        groups.sort_by_key(|group| Reverse(self.rounds_of(*group).count()));
        let ranking = |group| {
            // The last round may have been interrupted between two queues.
            self.tables(group).into_iter().filter_map(move |results| {
                let is_ranked = results.iter().all(|one| rounds(one, group) >= LEAST_ROUNDS);
                is_ranked.then_some(Ranking { group, results })
            })
        };
        groups.into_iter().flat_map(ranking).collect()
    }

    /// What the picture and the advice leave out, and what else the numbers don't show.
    fn notes(&self, rankings: &[Ranking<'_>]) -> Vec<String> {
        let mut notes = Vec::new();
        for group in self.groups().filter(|group| rankings.iter().all(|one| one.group != *group)) {
            let complete = |table: &Vec<&CellResult>| {
                table.iter().map(|result| rounds(result, group)).min().unwrap_or_default()
            };
            let most = self.tables(group).iter().map(complete).max().unwrap_or_default();
            let ending = if most == 1 { "" } else { "s" };
            let name = self.place(group).split(':').next().unwrap_or_default();
            notes.push(format!(
                "{name}: not ranked, since a rank needs {LEAST_ROUNDS} rounds and this run had {most} round{ending}."
            ));
        }
        let group = rankings.first().map(|one| one.group);
        if let Some(floor) = group.and_then(|group| self.unsteady_floors(group).into_iter().next())
        {
            notes.push(format!(
                "The machine's pace varied ({floor}): small differences mean nothing."
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

    /// Rounds of its first.
    fn rounds(&self) -> usize {
        rounds(self.first(), self.group)
    }

    /// Where the handles are.
    fn handles(&self) -> &'static str {
        if self.is_field() { "field" } else { "loop" }
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
        match (self.bytes(), self.is_field()) {
            (WORD, false) => " in a loop".into(),
            (WORD, true) => " in a field of a struct".into(),
            (bytes, false) => format!(" with items of {bytes} bytes in a loop"),
            (bytes, true) => format!(" with items of {bytes} bytes in a field"),
        }
    }
}
