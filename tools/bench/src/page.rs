//! Results as a document.

use corelane_report::plot::{Bar, BarRow, Named, bars, named_points};
use corelane_report::{Block, Document, Media, Table, short};

use crate::kinds::Test;
use crate::results::{CellResult, Results, Round, best_peer};
use crate::stats::{Group, Quartiles};
use crate::suite::relaxed::frontier;
use crate::suite::spsc::grid;
use crate::{advice, headlines};

const READING: &str = "Bars are medians over rounds, whiskers the quartiles. The dashed line is the floor, \
    measured in the same rounds without any queue: `line_rtt` is two threads bouncing one flag each way, \
    `line_stream` is one thread writing lines and the other summing them, in blocks with a flag each, in the \
    fastest of several ways. `block_handoff` is one of them: blocks of 4 KiB in a ring of 32 KiB. \
    Near and far are rounds in which the two cores did or did not share a cache; they are never averaged.";

/// Largest ratio of a floor's upper quartile to its lower quartile.
const STEADY: f64 = 1.3;

impl Results {
    /// The results as a document.
    pub fn document(&self) -> Document {
        let mut document =
            Document::new("corelane: queues on this machine", "Queues on this machine");
        document.has_key = true;
        document.fact(Media::SCREENS, "Machine", self.machine());
        if let Some(warning) = self.machine.warning() {
            document.fact(Media::SCREENS, "Warning", warning);
        }
        self.origin.tell(&mut document);
        let rounds =
            format!("{} counted, queues interleaved. {}", self.rounds.len(), self.left_out());
        document.fact(Media::PAGE, "Rounds", rounds);
        for group in self.groups() {
            let place = Block::heading(2, self.place(group));
            document.add(Block::On(Media::TERMINAL, vec![place]));
            let title = Block::heading(2, headlines::of_group(self, group));
            document
                .add(Block::On(Media::PAGE, vec![title, Block::Note(self.place(group).into())]));
            document.add(Block::Note(self.floors(group)));
            document.blocks.extend(self.unsteady(group).map(Block::Paragraph));
            let tables = self.tables(group);
            // One legend for the tables that it explains.
            for tables in tables.chunk_by(|a, b| a[0].legend() == b[0].legend()) {
                let is_one_chart =
                    |a: &Vec<&CellResult>, b: &Vec<&CellResult>| a[0].titles().0 == b[0].titles().0;
                for tables in tables.chunk_by(is_one_chart) {
                    document.blocks.extend(self.comparison(tables, group));
                }
                let legend = Block::Note(tables[0][0].legend().into());
                document.add(Block::On(Media::TERMINAL, vec![legend]));
            }
            document.blocks.extend(grid::blocks(self, group));
            document.blocks.extend(frontier::blocks(self, group));
        }
        document.add(Block::On(Media::PAGE, self.floors_of_rounds()));
        document.summary = self.summary();
        let first = self.results.first();
        document.reading =
            format!("{READING} {}", first.map_or("", |result| result.suite().about().reading));
        document
    }

    /// The recommended queues, and circumstances that the numbers don't show.
    fn summary(&self) -> Vec<Block> {
        let mut blocks = advice::blocks(self);
        let recommends = self.results.iter().all(|result| result.suite().about().recommends);
        let values = self.results.iter().flat_map(|result| result.groups.values());
        let most = values.map(|summary| summary.value.n).max().unwrap_or_default();
        if recommends && blocks.is_empty() && most < advice::LEAST_ROUNDS {
            blocks.push(Block::Paragraph("Too few rounds to recommend a queue.".into()));
        }
        let left_out = self.left_out();
        if !left_out.is_empty() {
            blocks.push(Block::On(Media::TERMINAL, vec![Block::Paragraph(left_out)]));
        }
        blocks
    }

    pub(crate) fn place(&self, group: Group) -> &'static str {
        match (self.machine.same_core, group) {
            (true, _) => "Same core: the threads take turns",
            (false, Group::Near) => "Near: the cores share a cache",
            (false, Group::Far) => "Far: the cores share no cache",
        }
    }

    /// One line on the rounds of a group and their floors.
    pub(crate) fn floors(&self, group: Group) -> String {
        let floor = |name, unit, quartiles: Option<Quartiles>| {
            quartiles.map_or_else(String::new, |q| {
                format!("; {name} {} {unit} ({})", short(q.median), q.spread())
            })
        };
        let rounds = self.rounds_of(group).count();
        let rounds = format!("{rounds} round{}", if rounds == 1 { "" } else { "s" });
        let [futex, one_core] = self.futex_rtt(group);
        format!(
            "{rounds}{}{}{}{}{}",
            floor("line_rtt", "ns", self.line_rtt(group)),
            floor("block_handoff", "ns/u64", self.block_handoff(group)),
            floor("line_stream", "ns/u64", self.line_stream(group)),
            floor("futex_rtt", "ns", futex),
            floor("futex_rtt on one core", "ns", one_core),
        )
    }

    /// A warning if the floors of a group differ much from round to round.
    fn unsteady(&self, group: Group) -> Option<String> {
        let floors = self.unsteady_floors(group);
        let warning = "warning: the machine's own pace varied from round to round";
        (!floors.is_empty()).then(|| {
            format!("{warning} ({}); differences of that size mean nothing", floors.join(", "))
        })
    }

    /// The floors of a group that differ much from round to round.
    pub(crate) fn unsteady_floors(&self, group: Group) -> Vec<String> {
        let spread = |(name, floor): (&str, Option<Quartiles>)| {
            let floor = floor.filter(|floor| floor.p75 > STEADY * floor.p25)?;
            Some(format!("{name} {} ns", floor.spread()))
        };
        let floors = [
            ("line_rtt", self.line_rtt(group)),
            ("block_handoff", self.block_handoff(group)),
            ("line_stream", self.line_stream(group)),
        ];
        floors.into_iter().filter_map(spread).collect()
    }

    fn left_out(&self) -> String {
        let mixed = match self.mixed_rounds {
            0 => String::new(),
            rounds => {
                format!("{rounds} mixed rounds left out: the cores moved between near and far. ")
            }
        };
        let mixed = match self.rounds.is_empty() && self.mixed_rounds > 0 {
            true => format!("{mixed}No round is left: measure again, with more --rounds. "),
            false => mixed,
        };
        match self.origin.is_interrupted() {
            true => format!("{mixed}Interrupted: fewer rounds than asked for."),
            false => mixed,
        }
    }

    fn comparison(&self, tables: &[Vec<&CellResult>], group: Group) -> Vec<Block> {
        let first = tables[0][0];
        // A chart has one floor, or none.
        let floors = || tables.iter().map(|table| table[0].floor_of(self, group));
        let floor =
            first.floor_of(self, group).filter(|floor| floors().all(|other| other == Some(*floor)));
        let mut rows = Vec::new();
        let mut numbers = Vec::new();
        for table in tables {
            let (_, heading) = table[0].titles();
            rows.extend(heading.clone().map(BarRow::Heading));
            rows.extend(table.iter().filter_map(|result| bar(result, group)));
            let title = vec![Block::heading(3, table[0].title())];
            numbers.push(Block::On(Media::TERMINAL, title));
            let heading = heading.map(|heading| Block::heading(4, heading));
            numbers.push(Block::On(Media::PAGE, heading.into_iter().collect()));
            let best_peer = best_peer(table).map(|peer| peer.median(group));
            numbers.push(Block::Table(self.table(table, group, best_peer)));
        }
        let (title, _) = first.titles();
        let chart = bars(&rows, first.test.unit(), floor);
        let headline = headlines::of_chart(tables, group).unwrap_or_else(|| title.clone());
        let mut head = vec![Block::heading(3, headline), Block::Note(title)];
        head.push(Block::Figures(vec![chart]));
        if first.test == Test::Cpu {
            head.extend(tables.iter().flat_map(|table| latency_and_cpu(table, group)));
        }
        vec![Block::On(Media::PAGE, head), Block::Folded("Numbers".into(), false, numbers)]
    }

    fn floors_of_rounds(&self) -> Vec<Block> {
        let sleeps = self.rounds.iter().any(|round| round.futex_rtt_ns.is_some());
        let row = |(number, round): (usize, &Round)| {
            let mut ns = vec![round.line_rtt_ns, round.block_handoff_ns_per_u64];
            ns.push(round.line_stream_ns_per_u64.unwrap_or(f64::NAN));
            ns.extend(round.futex_rtt_ns.into_iter().chain(round.futex_rtt_one_core_ns));
            let first = [(number + 1).to_string(), round.group.name().into()];
            first.into_iter().chain(ns.into_iter().map(short)).collect::<Vec<_>>()
        };
        let futex = ["futex_rtt ns", "futex_rtt on one core ns"];
        let names = ["round", "group", "line_rtt ns", "block_handoff ns/u64", "line_stream ns/u64"];
        let names = names.into_iter().chain(futex.into_iter().filter(|_| sleeps));
        let table = Table::new(names).with(self.rounds.iter().enumerate().map(row));
        let table = vec![Block::Table(table)];
        let folded = Block::Folded("Floors of each round".into(), false, table);
        vec![Block::heading(2, "Rounds"), folded]
    }
}

/// What a way to wait costs, and what it gains: a point for each way of each queue.
fn latency_and_cpu(table: &[&CellResult], group: Group) -> Vec<Block> {
    let point = |result: &&CellResult| {
        let summary = result.groups.get(&group)?;
        let at = [summary.value.median, summary.latency_ns?.p50 as f64];
        Some(Named { name: result.label(), is_peer: result.peer, at })
    };
    let points: Vec<_> = table.iter().filter_map(point).collect();
    let axes = ["processor time of an item, ns", "latency, p50, ns"];
    let (_, heading) = table[0].titles();
    let heading = heading.map(|heading| Block::heading(4, heading));
    heading.into_iter().chain([Block::Figures(vec![named_points(axes, &points)])]).collect()
}

pub(crate) fn bar(result: &CellResult, group: Group) -> Option<BarRow> {
    let value = result.groups.get(&group)?.value;
    let values = [value.p25, value.median, value.p75];
    Some(BarRow::Bar(Bar { label: result.label(), is_peer: result.peer || result.floor, values }))
}
