//! What differs between kinds of queues: their tests. Rounds, results, tables and reports don't.

use std::fmt::Debug;
use std::time::Duration;

use core_affinity::CoreId;
use maud::{Markup, html};
use serde::Serialize;

use crate::catalogue::Entry;
use crate::cell::Length;
use crate::cli::RunArgs;
use crate::failure::Failure;
use crate::pair::Cores;
use crate::results::{CellResult, Floor, Results, Summary};
use crate::sink::Sink;
use crate::stats::Group;

/// A kind of queue with its tests.
pub(crate) trait Suite: Clone + Debug + Sized + 'static {
    /// Its name on command lines and in results.
    const NAME: &'static str;
    /// Whether the recommendation compares the best with the floor, too.
    const ADVICE_NAMES_FLOOR: bool = true;
    /// What is measured.
    type Test: Copy + Debug + PartialEq + Serialize;
    /// How; with the test the key of a result.
    type Params: Clone + Debug + PartialEq + Serialize;
    /// What one cell gives in one round.
    type Sample: Clone + Debug;
    /// What a summary has besides the quartiles of the value.
    type Details: Clone + Debug + Serialize;
    /// What all cells of a run share.
    type Context: Debug;

    /// Name of `test`.
    fn name(test: Self::Test) -> &'static str;
    /// What its values are.
    fn unit(test: Self::Test) -> &'static str;
    /// Opens the cell's queue and closes it again; the error says what is wrong with the set-up.
    fn probe(cell: &Cell<Self>) -> Result<(), String>;
    /// Runs a cell once; the error says what its queue did wrong.
    fn measure(plan: &Plan<Self>, cell: &Cell<Self>) -> Result<Self::Sample, String>;
    /// The value that medians are taken of; less is better.
    fn value(sample: &Self::Sample) -> f64;
    /// The rest of what the samples of a group say, of which there is one at least.
    fn details(samples: &[Self::Sample]) -> Self::Details;
    /// The floor that values of `test` are compared with, if there is one.
    fn floor(results: &Results<Self>, test: Self::Test, group: Group) -> Option<Floor>;

    /// What a table of results is about, in words.
    fn title(result: &CellResult<Self>) -> String;
    /// Names of its columns.
    fn header(test: Self::Test) -> &'static [&'static str];
    /// The columns after the queue's name.
    fn columns(
        test: Self::Test,
        summary: &Summary<Self>,
        beside: &Yardsticks,
    ) -> impl IntoIterator<Item = String>;
    /// What the best queue of such a table is good for, if that needs no further words.
    fn purpose(result: &CellResult<Self>) -> Option<String>;
    /// How to read a report.
    fn reading() -> Markup;

    /// Whether results with these parameters are shown in tables.
    fn has_table(_params: &Self::Params) -> bool {
        true
    }

    /// What is shown besides tables.
    fn more_text(_results: &Results<Self>, _group: Group) -> String {
        String::new()
    }

    /// What a report shows besides bars.
    fn more_html(_results: &Results<Self>, _group: Group) -> Markup {
        html! {}
    }

    /// Whether both tables belong into one chart.
    fn shares_chart(_one: &CellResult<Self>, _other: &CellResult<Self>) -> bool {
        false
    }

    /// What such a chart shows, and what one of its tables.
    fn chart_titles(result: &CellResult<Self>) -> (String, Option<String>) {
        (Self::title(result), None)
    }
}

/// What the values of a table are compared with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Yardsticks {
    /// The floor.
    pub(crate) floor: Option<f64>,
    /// The best peer that answers the same question.
    pub(crate) best_peer: Option<f64>,
}

/// Everything a run needs.
#[derive(Debug)]
pub(crate) struct Plan<S: Suite> {
    /// What is measured, with those next to each other that differ only in the queue.
    pub(crate) cells: Vec<Cell<S>>,
    /// How often each is measured.
    pub(crate) rounds: usize,
    /// No round begins after this long.
    pub(crate) budget: Option<Duration>,
    /// Where floors are measured.
    pub(crate) cores: Cores,
    /// Where threads run, in the order they are given cores.
    pub(crate) all_cores: Vec<CoreId>,
    /// Longest `line_rtt` that counts as near.
    pub(crate) far_above_ns: f64,
    /// What all cells share.
    pub(crate) context: S::Context,
    /// What the user should know about the choices made here.
    pub(crate) notes: Vec<String>,
    /// Where the results go as JSON.
    pub(crate) json: Option<Sink>,
    /// Where the report goes.
    pub(crate) html: Option<Sink>,
}

/// One queue, one test, one set of parameters.
#[derive(Debug)]
pub(crate) struct Cell<S: Suite> {
    /// What is measured.
    pub(crate) entry: &'static Entry,
    /// How.
    pub(crate) test: S::Test,
    /// With what parameters.
    pub(crate) params: S::Params,
    /// For how long.
    pub(crate) length: Length,
}

impl<S: Suite> Cell<S> {
    /// Whether both measure the same of different queues.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        self.test == other.test && self.params == other.params
    }
}

impl<S: Suite> Plan<S> {
    /// The plan without the cells whose queues can't have their set-up, with a note; refused if one of
    /// `named` can't. Files are opened last, so that a refusal leaves none behind.
    pub(crate) fn checked(mut self, named: &[String], run: &RunArgs) -> Result<Self, Failure> {
        self.drop_impossible(named)?;
        self.json = run.json.as_deref().map(Sink::open).transpose()?;
        self.html = run.html.as_deref().map(Sink::open).transpose()?;
        Ok(self)
    }

    fn drop_impossible(&mut self, named: &[String]) -> Result<(), Failure> {
        let mut possible = Vec::with_capacity(self.cells.len());
        for cell in self.cells.drain(..) {
            let Err(reason) = S::probe(&cell) else {
                possible.push(cell);
                continue;
            };
            let id = &cell.entry.id;
            if named.contains(id) {
                return Err(Failure::Usage(format!("{id} can't be measured: {reason}")));
            }
            let note = format!("{id} left out: {reason}");
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.cells = possible;
        if self.cells.is_empty() {
            let reasons = match self.notes.is_empty() {
                true => "choose other queues, or another --test".to_owned(),
                false => self.notes.join("; "),
            };
            return Err(Failure::Usage(format!("nothing to measure: {reasons}")));
        }
        Ok(())
    }
}
