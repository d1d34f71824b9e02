//! A verification on the terminal.

use comfy_table::{CellAlignment, Table, presets};
use corelane_models::Strength;

use super::outcome::{Evidence, QueueTable, SiteVerdict, Verdict, Verification, Weakened};

/// All there is to say; each site of each queue only `with_sites`.
pub(crate) fn render(verification: &Verification, with_sites: bool, written: &[String]) -> String {
    let mut text = format!("{}\n", totals(verification));
    for queue in &verification.queues {
        if let Some(failure) = &queue.failure {
            let (queue, model, why) = (&queue.queue, &failure.model, &failure.why);
            text.push_str(&format!("\n{queue} is broken: {model} fails: {why}\n"));
        }
        let survivors = queue.count(Verdict::Survives) > 0;
        if !queue.sites.is_empty() && (with_sites || survivors) {
            text.push_str(&format!("\n{}\n{}\n", queue.queue, sites(queue, with_sites)));
        }
    }
    text.push_str(&format!("\n{}\n", summary(verification)));
    if let Some(lines) = verification.unreached.as_deref().filter(|lines| !lines.is_empty()) {
        text.push_str("\nOrderings that no model comes by:\n");
        for line in lines {
            text.push_str(&format!("  {}:{}  {}\n", line.file, line.line, line.source));
        }
    }
    for path in written {
        text.push_str(&format!("\nWritten: {path}\n"));
    }
    text
}

/// One row for each queue.
fn totals(verification: &Verification) -> Table {
    let mut text = Table::new();
    text.load_style(presets::NOTHING);
    let names = Strength::ALL.map(|strength| strength.to_string());
    let begin = ["queue", "models", "executions"].map(str::to_owned);
    let end = ["needed", "score", "time"].map(str::to_owned);
    text.set_header(begin.into_iter().chain(names).chain(end));
    for queue in &verification.queues {
        let by_strength = queue.by_strength();
        let counts = Strength::ALL.map(|strength| by_strength[&strength].to_string());
        let begin = [queue.queue.clone(), queue.models.to_string(), queue.executions.to_string()];
        let needed = format!("{}/{}", queue.count(Verdict::Needed), queue.strong());
        let end = [needed, score(queue), format!("{:.0} s", queue.seconds)];
        text.add_row(begin.into_iter().chain(counts).chain(end));
    }
    for column in text.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    text
}

/// The score in per cent.
pub(crate) fn score(queue: &QueueTable) -> String {
    queue.score.map_or_else(|| "broken".into(), |score| format!("{:.0} %", score * 100.0))
}

/// One row for each site: for `all`, or for those that survive.
fn sites(queue: &QueueTable, all: bool) -> Table {
    let mut text = Table::new();
    text.load_style(presets::NOTHING);
    text.set_header(["where", "function", "access", "ordering", "verdict", "failing model"]);
    for site in queue.sites.iter().filter(|site| all || site.verdict == Verdict::Survives) {
        text.add_row([
            format!("{}:{}", site.site.file, site.site.line),
            site.function.clone(),
            site.site.op.to_string(),
            site.site.ordering.to_string(),
            site.verdict.name().to_owned(),
            failing_model(queue, site),
        ]);
    }
    text
}

/// What there is for the verdict, as far as a terminal is wide enough for it.
fn failing_model(queue: &QueueTable, site: &SiteVerdict) -> String {
    match (&site.evidence, site.verdict) {
        (_, Verdict::Survives) => shown_by(site),
        (Some(Evidence { model, .. }), _) => {
            model.strip_prefix(&format!("{}::", queue.queue)).unwrap_or(model).to_owned()
        }
        (None, _) => String::new(),
    }
}

/// What there is for the verdict, weakening by weakening.
pub(crate) fn shown_by(site: &SiteVerdict) -> String {
    let step = |step: &Weakened| match &step.evidence {
        Some(Evidence { model, why }) if site.weakened.len() == 1 => format!("{model}: {why}"),
        Some(Evidence { model, why }) => format!("as {}, {model}: {why}", step.to),
        None => format!("no model fails with {}", step.to),
    };
    site.weakened.iter().map(step).collect::<Vec<_>>().join("; ")
}

/// The result in a few words.
pub(crate) fn summary(verification: &Verification) -> String {
    let needed = verification.total(|queue| queue.count(Verdict::Needed));
    let strong = verification.total(QueueTable::strong);
    let mut text = format!(
        "{needed} of {strong} orderings stronger than Relaxed are needed.\n\
         {} models, {} executions, {} more runs with a weaker ordering, {:.0} s.",
        verification.total(|queue| queue.models),
        verification.total(|queue| queue.executions),
        verification.total(|queue| queue.weakened_runs),
        verification.seconds,
    );
    let bugs = verification.seeded_bugs.len();
    if bugs > 0 {
        let found = verification.seeded_bugs.iter().filter(|bug| bug.found).count();
        text.push_str(&format!("\n{found} of {bugs} seeded bugs found."));
    }
    for bug in verification.seeded_bugs.iter().filter(|bug| !bug.found) {
        text.push_str(&format!("\nNot found: {} {}.", bug.queue, bug.bug));
    }
    let bounded = verification.total(|queue| queue.bounded_models);
    if bounded > 0 {
        text.push_str(&format!(
            "\n{bounded} models have too many executions: of them those with few preemptions were run."
        ));
    }
    if verification.interrupted {
        text.push_str("\nInterrupted: queues that were not finished are left out.");
    }
    text
}
