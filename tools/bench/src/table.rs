//! The tables of results.

use corelane_report::{Row, Table, ratio, short, times};

use crate::results::{CellResult, Results};
use crate::sample::Summary;
use crate::stats::Group;

/// The values with which a result is compared.
#[derive(Clone, Copy)]
pub(crate) struct Yardsticks {
    floor: Option<f64>,
    best_peer: Option<f64>,
    /// The queue in which this one nests capsules.
    tube: Option<f64>,
}

/// Heading and content of a column beside the queue, the value and its quartiles.
pub(crate) type Column = (&'static str, fn(&Summary, Yardsticks) -> Option<String>);

/// A constant for each column.
macro_rules! columns {
    ($($name:ident: $heading:literal, |$summary:pat_param, $beside:pat_param| $cell:expr;)*) => {
        $(pub(crate) const $name: Column = ($heading, |$summary, $beside| Some($cell));)*
    };
}

columns! {
    TIMES_FLOOR: "× floor", |s, beside| times(s.value.median / beside.floor?);
    RATIO_FLOOR: "× floor", |s, beside| ratio(s.value.median / beside.floor?);
    RATIO_PEER: "× peer", |s, beside| ratio(s.value.median / beside.best_peer?);
    TIMES_TUBE: "× tube", |s, beside| times(beside.tube? / s.value.median);
    GAIN: "gain", |s, beside| times(beside.best_peer? / s.value.median);
    OVERHEAD: "overhead", |s, beside| short(s.value.median - beside.floor?);
    PER_S: "M/s", |s, _| short(s.items_per_s.or(s.messages_per_s)? / 1e6);
    LOST: "lost", |s, _| format!("{:.0} %", 100.0 * s.lost?);
    FAIR_P: "fair P", |s, _| format!("{:.2}", s.fairness?.producers);
    FAIR_C: "fair C", |s, _| format!("{:.2}", s.fairness?.consumers);
    FAILED: "failed", |s, _| short(s.failed?);
    RUN: "run", |s, _| short(s.run?);
    BATCH_P: "P batch", |s, _| short(s.perceived_batch?.producer);
    BATCH_C: "C batch", |s, _| short(s.perceived_batch?.consumer);
    P50: "p50 ns", |s, _| short(s.latency_ns?.p50 as f64);
    P99: "p99 ns", |s, _| short(s.latency_ns?.p99 as f64);
    P999: "p99.9 ns", |s, _| short(s.latency_ns?.p999 as f64);
    MAX: "max ns", |s, _| short(s.latency_ns?.max as f64);
    PUSH_P50: "push p50", |s, _| short(s.push_ns?.p50 as f64);
    PUSH_P99: "push p99", |s, _| short(s.push_ns?.p99 as f64);
    POP_P50: "pop p50", |s, _| short(s.pop_ns?.p50 as f64);
    POP_P99: "pop p99", |s, _| short(s.pop_ns?.p99 as f64);
    CPU: "cpu ns", |s, _| short(s.cpu_ns_per_item?);
    CPU_TX: "send", |s, _| short(s.cpu_ns?.producers);
    CPU_RX: "receive", |s, _| short(s.cpu_ns?.consumers);
    RX_SHARE: "of the core", |s, _| format!("{:.0} %", 100.0 * s.cpu_ns?.consumers / s.value.median);
    SLEEPS: "sleeps", |s, _| short(s.sleeps_per_item?);
    KILLS: "kills", |s, _| s.kills?.kills.to_string();
    KILLS_LOST: "lost", |s, _| s.kills?.lost.to_string();
    DOUBLED: "doubled", |s, _| s.kills?.doubled.to_string();
    HUNG: "hung", |s, _| s.kills?.hung.to_string();
    LEFT: "left behind", |s, _| s.kills?.left_behind.to_string();
    RUNS: "runs", |s, _| s.faults?.runs.to_string();
    FAULTS: "faults", |s, _| s.faults?.faults.to_string();
    ACKNOWLEDGED: "acknowledged", |s, _| s.faults?.acknowledged.to_string();
    FAULTS_LOST: "lost", |s, _| s.faults?.lost.to_string();
    FAULTS_DOUBLED: "doubled", |s, _| s.faults?.doubled.to_string();
    REORDERED: "reordered", |s, _| s.faults?.reordered.to_string();
    AGAIN: "again", |s, _| s.faults?.again.to_string();
    FAULTS_HUNG: "hung", |s, _| s.faults?.hung.to_string();
    OFFERED: "items/s", |s, _| format!("{:.0}", s.offered?.per_s);
    LOAD: "load", |s, _| s.offered?.of.words().to_owned();
    RATE: "items/s", |s, _| format!("{:.0}", 1e9 / s.value.median);
    LOST_PARTS: "lost", |s, _| format!("{:.1} %", 100.0 * s.lost?);
    STOLEN: "stolen", |s, _| format!("{:.1} %", 100.0 * s.stolen?);
    RANK_P99: "p99", |s, _| s.disorder?.rank_error.p99.to_string();
    RANK_CERTAIN: "certain", |s, _| s.certain?.rank_error.max.to_string();
    DELAY: "delay", |s, _| short(s.disorder?.delay.mean);
    DELAY_P99: "p99", |s, _| s.disorder?.delay.p99.to_string();
    DELAY_CERTAIN: "certain", |s, _| s.certain?.delay.max.to_string();
    ALLOCATIONS: "allocations", |s, _| s.allocations?.to_string();
    TRIPS: "trips/s", |s, _| short(1e9 / s.value.median);
    REQUESTS: "requests/s", |s, _| format!("{:.0}", 1e9 / s.value.median);
    P50_US: "p50 us", |s, _| format!("{:.0}", s.latency_ns?.p50 as f64 / 1e3);
    P99_US: "p99 us", |s, _| format!("{:.0}", s.latency_ns?.p99 as f64 / 1e3);
    P999_US: "p99.9 us", |s, _| format!("{:.0}", s.latency_ns?.p999 as f64 / 1e3);
}

impl Results {
    /// The results of one test and one set of parameters in the rounds of `group`.
    pub(crate) fn table(
        &self,
        results: &[&CellResult],
        group: Group,
        best_peer: Option<f64>,
    ) -> Table {
        let suite = results[0].suite();
        let (value, columns) = suite.columns(results[0].test);
        let headings = columns.iter().map(|(heading, _)| *heading);
        let mut table =
            Table::new([suite.about().measured, value, "p25–p75"].into_iter().chain(headings));
        for result in results {
            let Some(summary) = result.groups.get(&group) else { continue };
            let floor = result.floor_of(self, group).map(|(_, floor)| floor);
            let tube = suite.tube(&result.queue);
            let tube = results.iter().find(|other| Some(&*other.queue) == tube);
            let tube = tube.map(|tube| tube.median(group));
            let beside = Yardsticks { floor, best_peer, tube };
            let mut cells =
                vec![result.label(), short(summary.value.median), summary.value.spread()];
            cells.extend(columns.iter().map(|(_, cell)| cell(summary, beside).unwrap_or_default()));
            table.rows.push(Row { cells, is_quiet: result.peer || result.floor });
        }
        table
    }
}
