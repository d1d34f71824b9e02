//! The results of a verification, in the shape of the JSON file.

use std::collections::BTreeMap;

use corelane_models::{Site, Strength, source};
use corelane_report::Origin;
use serde::Serialize;

/// Version of the JSON file's shape.
const SCHEMA: u32 = 1;

/// All results.
#[derive(Debug, Serialize)]
pub(crate) struct Verification {
    #[serde(flatten)]
    pub(crate) origin: Origin,
    pub(crate) seconds: f64,
    /// The seeded bugs, and whether the models find them.
    pub(crate) seeded_bugs: Vec<SeededBug>,
    pub(crate) queues: Vec<QueueTable>,
    /// Orderings in the sources that no model reaches; only if all queues were verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unreached: Option<Vec<UnreachedLine>>,
}

/// A mechanism that is broken on purpose.
#[derive(Debug, Serialize)]
pub(crate) struct SeededBug {
    pub(crate) queue: String,
    pub(crate) bug: String,
    pub(crate) found: bool,
}

/// The ordering table of one queue.
#[derive(Debug, Serialize)]
pub(crate) struct QueueTable {
    pub(crate) queue: String,
    pub(crate) models: usize,
    /// How many of the models are run only with few preemptions, because they have too many
    /// executions.
    pub(crate) bounded_models: usize,
    /// Executions of all models, with the orderings of the source.
    pub(crate) executions: usize,
    /// Processor time of all runs, including runs with weaker orderings.
    pub(crate) seconds: f64,
    pub(crate) weakened_runs: usize,
    /// The model that fails without any weakening, if one does. Then no ordering is weakened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<Evidence>,
    pub(crate) sites: Vec<SiteVerdict>,
    /// Needed orderings, of those stronger than relaxed.
    pub(crate) score: Option<f64>,
}

/// A model that failed.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Evidence {
    pub(crate) model: String,
    pub(crate) why: String,
}

/// One atomic access, and whether its ordering is needed.
#[derive(Debug, Serialize)]
pub(crate) struct SiteVerdict {
    #[serde(flatten)]
    pub(crate) site: Site,
    pub(crate) function: String,
    pub(crate) source: String,
    pub(crate) verdict: Verdict,
    #[serde(flatten)]
    pub(crate) evidence: Option<Evidence>,
    pub(crate) weakened: Vec<Weakened>,
}

/// Whether an ordering could be weaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// With each weaker ordering a model fails.
    Needed,
    /// With some weaker ordering no model fails.
    Survives,
    /// There is no weaker ordering.
    Relaxed,
}

impl Verdict {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Needed => "needed",
            Self::Survives => "survives",
            Self::Relaxed => "relaxed",
        }
    }
}

/// One weakening of one site.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Weakened {
    pub(crate) to: Strength,
    #[serde(flatten)]
    pub(crate) evidence: Option<Evidence>,
}

/// A line of the library's sources.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct UnreachedLine {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) source: String,
}

impl UnreachedLine {
    pub(crate) fn is_relaxed(&self) -> bool {
        let names = |strength: &Strength| self.source.contains(&format!("Ordering::{strength}"));
        Strength::ALL.iter().filter(|strength| names(strength)).eq([&Strength::Relaxed])
    }
}

impl Verification {
    pub(crate) fn new(seeded_bugs: Vec<SeededBug>) -> Self {
        Self {
            origin: Origin::now("lane verify", SCHEMA),
            seconds: 0.0,
            seeded_bugs,
            queues: Vec::new(),
            unreached: None,
        }
    }

    pub(crate) fn ended(self, seconds: f64) -> Self {
        Self { origin: Origin::now("lane verify", SCHEMA), seconds, ..self }
    }

    /// Shares the results of a line between the queues that use it: the line has one ordering for
    /// all of them.
    pub(crate) fn share_evidence(&mut self) {
        let mut failing = BTreeMap::new();
        for site in self.queues.iter().flat_map(|queue| &queue.sites) {
            for step in &site.weakened {
                if let Some(evidence) = &step.evidence {
                    let place = (site.site.clone(), step.to);
                    failing.entry(place).or_insert_with(|| evidence.clone());
                }
            }
        }
        let sound = self.queues.iter_mut().filter(|queue| queue.failure.is_none());
        sound.for_each(|queue| queue.judge_again(&failing));
    }

    /// Whether every queue passes its models and every seeded bug is found.
    pub(crate) fn is_sound(&self) -> bool {
        self.queues.iter().all(|queue| queue.failure.is_none())
            && self.seeded_bugs.iter().all(|bug| bug.found)
    }

    pub(crate) fn total(&self, of: impl Fn(&QueueTable) -> usize) -> usize {
        self.queues.iter().map(of).sum()
    }
}

impl QueueTable {
    pub(crate) fn new(queue: &str, models: usize) -> Self {
        Self {
            queue: queue.to_owned(),
            models,
            bounded_models: 0,
            executions: 0,
            seconds: 0.0,
            weakened_runs: 0,
            failure: None,
            sites: Vec::new(),
            score: None,
        }
    }

    pub(crate) fn count(&self, verdict: Verdict) -> usize {
        self.sites.iter().filter(|site| site.verdict == verdict).count()
    }

    pub(crate) fn by_strength(&self) -> BTreeMap<Strength, usize> {
        let mut counts = Strength::ALL.map(|strength| (strength, 0)).into_iter().collect();
        let count = |counts: &mut BTreeMap<_, usize>, site: &SiteVerdict| {
            *counts.entry(site.site.ordering).or_default() += 1;
        };
        self.sites.iter().for_each(|site| count(&mut counts, site));
        counts
    }

    pub(crate) fn judge(&mut self, tried: BTreeMap<Site, Vec<Weakened>>) {
        let verdict = |(site, weakened)| SiteVerdict::new(site, weakened);
        self.sites = tried.into_iter().map(verdict).collect();
        self.count_needed();
    }

    /// Judges the surviving sites again, with the failures that other queues' models have found
    /// there.
    fn judge_again(&mut self, failing: &BTreeMap<(Site, Strength), Evidence>) {
        for site in self.sites.iter_mut().filter(|site| site.verdict == Verdict::Survives) {
            let mut weakened = site.weakened.clone();
            for step in weakened.iter_mut().filter(|step| step.evidence.is_none()) {
                step.evidence = failing.get(&(site.site.clone(), step.to)).cloned();
            }
            keep_reached(&site.site, &mut weakened);
            *site = SiteVerdict::new(site.site.clone(), weakened);
        }
        self.count_needed();
    }

    fn count_needed(&mut self) {
        let strong = self.strong();
        let needed = self.count(Verdict::Needed);
        // A queue without orderings stronger than relaxed has none that is too strong.
        self.score = Some(if strong == 0 { 1.0 } else { needed as f64 / strong as f64 });
    }

    pub(crate) fn strong(&self) -> usize {
        self.sites.len() - self.count(Verdict::Relaxed)
    }
}

/// Keeps the steps that are reached, from strong to weak, by steps with which no model fails. A
/// weaker ordering than a failing one need not fail.
fn keep_reached(site: &Site, weakened: &mut Vec<Weakened>) {
    let mut reached = site.ordering.weaker(site.op).to_vec();
    for step in weakened.iter().filter(|step| step.evidence.is_none()) {
        if reached.contains(&step.to) {
            reached.extend(step.to.weaker(site.op));
        }
    }
    weakened.retain(|step| reached.contains(&step.to));
}

impl SiteVerdict {
    /// The verdict on `site` from all weakenings that were tried.
    fn new(site: Site, weakened: Vec<Weakened>) -> Self {
        let verdict = match site.ordering {
            Strength::Relaxed => Verdict::Relaxed,
            _ if weakened.iter().all(|step| step.evidence.is_some()) => Verdict::Needed,
            _ => Verdict::Survives,
        };
        let evidence = weakened.iter().find_map(|step| step.evidence.clone());
        let (function, source) = (function(&site), text(&site));
        Self { site, function, source, verdict, evidence, weakened }
    }
}

pub(crate) fn text(site: &Site) -> String {
    let line = source(&site.file).and_then(|text| text.lines().nth(site.line as usize - 1));
    line.unwrap_or_default().trim().to_owned()
}

/// The name of a site's function: the last function that begins before the site.
pub(crate) fn function(site: &Site) -> String {
    let before = source(&site.file).unwrap_or_default().lines().take(site.line as usize);
    let name = |line: &str| {
        let (qualifiers, name) = line.trim().split_once("fn ")?;
        let is_item = qualifiers.split(' ').all(|word| !word.contains('/'));
        is_item.then(|| name.split(['(', '<']).next().unwrap_or_default().to_owned())
    };
    before.filter_map(name).last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use corelane_models::Op;

    use super::*;

    /// A queue whose only site is a read-modify-write, with these weakenings.
    fn queue(id: &str, tried: &[(Strength, bool)]) -> QueueTable {
        let ordering = Strength::AcqRel;
        let site = Site { file: "q.rs".into(), line: 1, column: 1, op: Op::Rmw, ordering };
        let evidence = || Evidence { model: format!("{id}::model"), why: "lost".into() };
        let step = |&(to, fails): &(_, bool)| Weakened { to, evidence: fails.then(evidence) };
        let mut table = QueueTable::new(id, 1);
        table.judge([(site, tried.iter().map(step).collect())].into());
        table
    }

    #[test]
    fn queues_that_share_a_line_share_its_results() {
        use Strength::{Acquire, Relaxed, Release};
        let mut verification = Verification::new(Vec::new());
        verification.queues = vec![
            queue("one", &[(Acquire, true), (Release, false), (Relaxed, true)]),
            queue("other", &[(Acquire, false), (Release, true), (Relaxed, false)]),
        ];
        assert!(verification.queues.iter().all(|queue| queue.score == Some(0.0)));
        verification.share_evidence();
        assert!(verification.queues.iter().all(|queue| queue.score == Some(1.0)));
        let weakened = &verification.queues[1].sites[0].weakened;
        let models = weakened.iter().map(|step| step.evidence.as_ref().map(|e| &*e.model));
        assert!(models.eq([Some("one::model"), Some("other::model")]));
    }

    #[test]
    fn an_ordering_without_evidence_survives() {
        let tried =
            [(Strength::Acquire, false), (Strength::Release, true), (Strength::Relaxed, true)];
        let mut verification = Verification::new(Vec::new());
        verification.queues = vec![queue("one", &tried), queue("other", &tried)];
        verification.share_evidence();
        assert!(verification.queues.iter().all(|queue| queue.count(Verdict::Survives) == 1));
    }
}
