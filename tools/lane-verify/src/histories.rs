//! Histories: threads use a queue at full speed, and a monitor decides whether a queue can give
//! these answers.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use corelane_history::{HistorySubject, Summary, all_subjects};
use corelane_report::{Block, Document, Failure, Origin, Progress, Table, announce, interrupt};
use serde::Serialize;

/// Version of the JSON file's shape.
const SCHEMA: u32 = 2;

/// The results, in the shape of the JSON file.
#[derive(Debug, Serialize)]
pub(crate) struct Histories {
    #[serde(flatten)]
    origin: Origin,
    queues: Vec<QueueHistories>,
}

/// The results of one queue.
#[derive(Debug, Serialize)]
struct QueueHistories {
    queue: &'static str,
    histories: u64,
    operations: u64,
    empties: u64,
    fulls: u64,
    /// Items that no consumer popped, because the queue overwrites.
    overwritten: u64,
    /// Histories with a full and an empty answer that contradict each other.
    contradictory: u64,
    seconds: f64,
    /// Operations that contradict each other, if any. They end the check of the queue.
    violation: Option<String>,
}

pub(crate) fn queue_ids() -> Vec<&'static str> {
    let mut seen = BTreeSet::new();
    let ids = all_subjects().into_iter().map(|subject| subject.id);
    ids.filter(|id| seen.insert(*id)).collect()
}

/// Checks histories of each queue for `time`, or until Ctrl-C.
pub(crate) fn check(queues: &[&str], time: Duration) -> Result<Histories, Failure> {
    let is_asked_for = |subject: &HistorySubject| queues.contains(&subject.id);
    let subjects: Vec<_> = all_subjects().into_iter().filter(is_asked_for).collect();
    if !queues.iter().all(|queue| subjects.iter().any(|subject| subject.id == *queue)) {
        let known = "the canary has models only; name another queue, such as lq, or none for all";
        return Err(Failure::Usage(known.into()));
    }
    let all = time * subjects.len() as u32;
    announce(&format!("looks at the histories of {} queues", subjects.len()), all);
    let length = all.as_millis() as usize;
    let progress = Progress::new(length, "histories {bar:30} {percent:>3}% {msg:<10} {eta} left");
    let mut checked = Vec::new();
    for (number, subject) in subjects.iter().enumerate() {
        if interrupt::requested() {
            break;
        }
        progress.set_message(subject.id);
        let begin = Instant::now();
        let summary = subject.run(time, &mut |_| {
            let passed = begin.elapsed().min(time) + time * number as u32;
            progress.set_position(passed.as_millis() as usize);
            !interrupt::requested()
        });
        checked.push(QueueHistories::new(subject, &summary));
    }
    progress.finish();
    Ok(Histories::new(checked))
}

impl QueueHistories {
    fn new(subject: &HistorySubject, summary: &Summary) -> Self {
        Self {
            queue: subject.id,
            histories: summary.histories,
            operations: summary.operations,
            empties: summary.empties,
            fulls: summary.fulls,
            overwritten: summary.unpopped,
            contradictory: summary.contradictory,
            seconds: summary.seconds,
            violation: summary.violation.as_ref().map(ToString::to_string),
        }
    }
}

impl Histories {
    fn new(queues: Vec<QueueHistories>) -> Self {
        Self { origin: Origin::now("lane verify", SCHEMA), queues }
    }

    pub(crate) fn are_sound(&self) -> bool {
        self.queues.iter().all(|queue| queue.violation.is_none())
    }

    pub(crate) fn document(&self) -> Document {
        let mut document = Document::new("corelane: histories", "Histories of real threads");
        document.add(Block::Table(self.table()));
        for queue in &self.queues {
            if let Some(violation) = &queue.violation {
                let text = format!("{} is broken: {violation}", queue.queue);
                document.add(Block::Paragraph(text));
            }
        }
        let least = self.queues.iter().map(|queue| queue.operations).min();
        if let Some(least) = least.filter(|_| self.are_sound()) {
            document.add(Block::Paragraph(format!(
                "No queue lost or doubled an item, reordered items further than it may, or said full or empty \
                 although it wasn't, in {least} operations or more of each. In the histories counted as both, one side found a \
                 queue full while the other found it empty: each answer alone was right, and out of date."
            )));
        }
        if self.origin.is_interrupted() {
            document.add(Block::Paragraph("Interrupted: shorter than asked for.".into()));
        }
        document
    }

    fn table(&self) -> Table {
        let counts =
            ["operations", "histories", "empty", "full", "overwritten", "both", "time", "result"];
        let rows = self.queues.iter().map(|queue| {
            [
                queue.queue.to_owned(),
                queue.operations.to_string(),
                queue.histories.to_string(),
                queue.empties.to_string(),
                queue.fulls.to_string(),
                queue.overwritten.to_string(),
                queue.contradictory.to_string(),
                format!("{:.1} s", queue.seconds),
                if queue.violation.is_none() { "clean" } else { "BROKEN" }.to_owned(),
            ]
        });
        Table::new(["queue"].into_iter().chain(counts)).with(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_reported() {
        let subject = &all_subjects()[0];
        let summary = Summary { operations: 7, ..Summary::default() };
        let clean = QueueHistories::new(subject, &summary);
        let broken = QueueHistories { violation: Some("popped twice".into()), ..clean };
        let histories = Histories::new(vec![broken]);
        assert!(!histories.are_sound());
        let text = histories.document().to_text();
        assert!(text.contains("lq is broken: popped twice"), "{text}");
        assert!(text.contains("BROKEN") && !text.contains("No queue lost"), "{text}");
    }
}
