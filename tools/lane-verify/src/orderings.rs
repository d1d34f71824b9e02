//! The ordering table: each queue's models as the sources are, and with one ordering weaker at a
//! time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use corelane_models::{
    Exploration, Model, Site, Strength, Weakening, all, big, canary, seeded, source,
};
use corelane_report::{Failure, Progress, interrupt};
use rayon::prelude::*;

use crate::explored::Explored;
use crate::kept_table::{Kept, Known};
use crate::outcome::{Evidence, QueueTable, SeededBug, Verification, Weakened};
use crate::unreached;
use crate::worker::{self, Answer, Errand};

/// How long to wait for Ctrl-C here, after a process has ended: Ctrl-C may have ended it.
const A_MOMENT: Duration = Duration::from_millis(500);

/// The executions of a model, or why it failed.
type ModelOutcome = Result<Exploration, String>;

/// Makes the ordering tables of `queues`, or of the queues that are finished before Ctrl-C.
///
/// The big models are run only `with_big`. Weakenings that survived in `kept` are not tried again,
/// and models that passed in `explored` are run with weakenings only.
pub(crate) fn verify(
    queues: &[&str],
    with_big: bool,
    kept: &Kept,
    explored: &Explored,
) -> Result<Verification, Failure> {
    let begin = Instant::now();
    let mut verification = Verification::new(find_seeded_bugs(queues)?);
    let big = if with_big { big() } else { Vec::new() };
    let models: Vec<_> = all().into_iter().chain(canary()).chain(big).collect();
    for (number, &queue) in (1..).zip(queues) {
        let of_queue = models.iter().filter(|model| model.queue == queue).cloned().collect();
        let title = format!("{queue}, {number} of {}", queues.len());
        let earlier = &verification.queues;
        let table = Table { title, queue, models: of_queue, kept, explored, queues, earlier };
        let made = table.make()?;
        verification.queues.extend(made);
    }
    verification.share_evidence();
    // The sites of a broken queue are not known.
    let all_known = !interrupt::requested() && verification.is_sound();
    if all_known && queue_ids().iter().all(|id| queues.contains(id)) {
        verification.unreached = Some(unreached::lines(&verification.queues));
    }
    Ok(verification.ended(begin.elapsed().as_secs_f64()))
}

/// The queues that have models.
pub(crate) fn queue_ids() -> Vec<&'static str> {
    let mut ids: Vec<_> = all().iter().map(|model| model.queue).collect();
    let mut seen = BTreeSet::new();
    ids.retain(|id| seen.insert(*id));
    ids
}

fn find_seeded_bugs(queues: &[&str]) -> Result<Vec<SeededBug>, Failure> {
    let bugs: Vec<_> = seeded().into_iter().filter(|bug| queues.contains(&bug.queue)).collect();
    let found = in_parallel("seeded bugs", &bugs, |bug| {
        let (outcome, _) = ask(&bug.to_string(), Errand::Seeded { queue: bug.queue.to_owned() })?;
        let found = outcome.is_err();
        Ok(SeededBug { queue: bug.queue.to_owned(), bug: bug.bug.to_owned(), found })
    })?;
    Ok(found.unwrap_or_default())
}

/// A table to be made.
struct Table<'a> {
    title: String,
    queue: &'a str,
    models: Vec<Model>,
    kept: &'a Kept,
    explored: &'a Explored,
    queues: &'a [&'a str],
    /// Tables of this run, which may have sites of this queue.
    earlier: &'a [QueueTable],
}

/// An ordering that is to be weakened.
struct Attempt {
    weakening: Weakening,
    /// What an earlier queue of this run has shown.
    shown: Option<Evidence>,
    /// The models to be tried: the models that reach the ordering, first the models that failed
    /// before. Empty if the kept results answer it.
    models: Vec<String>,
}

/// The outcome of an attempt.
struct Tried {
    weakened: Weakened,
    runs: usize,
    seconds: f64,
}

impl Table<'_> {
    fn make(&self) -> Result<Option<QueueTable>, Failure> {
        let outcomes = in_parallel(&format!("{}: models", self.title), &self.models, |model| {
            let name = model.to_string();
            if let Some(run) = self.explored.get(&name) {
                return Ok((name, Ok(run.clone()), 0.0));
            }
            let (outcome, seconds) =
                ask(&name, Errand::Model { name: name.clone(), weakening: None })?;
            Ok((name, outcome, seconds))
        })?;
        let Some(outcomes) = outcomes else { return Ok(None) };
        let mut table = QueueTable::new(self.queue, self.models.len());
        let mut passed = Vec::new();
        for (model, outcome, seconds) in outcomes {
            table.seconds += seconds;
            match outcome {
                Ok(run) => passed.push((model, run)),
                Err(why) => _ = table.failure.get_or_insert(Evidence { model, why }),
            }
        }
        table.bounded_models = passed.iter().filter(|(_, run)| run.preemptions.is_some()).count();
        table.executions = passed.iter().map(|(_, run)| run.executions).sum();
        if table.failure.is_some() {
            return Ok(Some(table));
        }
        passed.sort_by_cached_key(|(model, run)| (run.executions, model.clone()));
        Ok(self.weaken(&passed, &mut table)?.then_some(table))
    }

    /// Weakens each ordering, step by step as long as no model fails. `false` if Ctrl-C came first.
    ///
    /// `models` are tried in this order.
    fn weaken(
        &self,
        models: &[(String, Exploration)],
        table: &mut QueueTable,
    ) -> Result<bool, Failure> {
        let sites = models.iter().flat_map(|(_, run)| run.sites.clone());
        // A model may have accesses of its own.
        let sites = sites.filter(|site| source(&site.file).is_some());
        let mut tried: BTreeMap<Site, Vec<Weakened>> =
            sites.map(|site| (site, Vec::new())).collect();
        let mut attempts: Vec<_> =
            tried.keys().flat_map(|site| self.steps(models, site, site.ordering)).collect();
        while !attempts.is_empty() {
            let title = format!("{}: orderings", self.title);
            let Some(results) = in_parallel(&title, &attempts, Attempt::make)? else {
                return Ok(false);
            };
            let mut next = Vec::new();
            for (Attempt { weakening: Weakening { site, to }, .. }, result) in
                attempts.into_iter().zip(results)
            {
                table.weakened_runs += result.runs;
                table.seconds += result.seconds;
                if result.weakened.evidence.is_none() {
                    next.extend(self.steps(models, &site, to));
                }
                let tried = tried.get_mut(&site).expect("the site is one of them");
                // An ordering may be reached in two ways.
                if tried.iter().all(|step| step.to != to) {
                    tried.push(result.weakened);
                }
            }
            attempts = next;
        }
        table.judge(tried);
        Ok(true)
    }

    /// The attempts to weaken `site` by one step from the ordering `from`.
    fn steps(&self, models: &[(String, Exploration)], site: &Site, from: Strength) -> Vec<Attempt> {
        let come_by = models.iter().filter(|(_, run)| run.sites.contains(site));
        let models: Vec<_> = come_by.map(|(model, _)| model.as_str()).collect();
        let attempt = |&to| {
            let models = match self.kept.known(self.queue, site, to) {
                Known::Survives => Vec::new(),
                // `share_evidence` takes the other queue's result.
                Known::Fails(first) if self.are_of_others(&first) => Vec::new(),
                Known::Fails(first) => first_of(&models, &first),
                Known::New => models.clone(),
            };
            Attempt {
                weakening: Weakening { site: site.clone(), to },
                shown: self.shown(site, to),
                models: models.into_iter().map(str::to_owned).collect(),
            }
        };
        from.weaker(site.op).iter().map(attempt).collect()
    }

    /// The model of an earlier queue that failed with this ordering.
    fn shown(&self, site: &Site, to: Strength) -> Option<Evidence> {
        let verdicts = self.earlier.iter().flat_map(|table| &table.sites);
        let steps = verdicts.filter(|verdict| verdict.site == *site).flat_map(|v| &v.weakened);
        steps.filter(|step| step.to == to).find_map(|step| step.evidence.clone())
    }

    /// Whether these models are of other queues that are verified in this run.
    fn are_of_others(&self, models: &[&str]) -> bool {
        let of_another = |model: &&str| {
            let (queue, _) = model.split_once("::").unwrap_or_default();
            queue != self.queue && self.queues.contains(&queue)
        };
        models.iter().all(of_another)
    }
}

/// `models`, with the models in `first` at the front.
fn first_of<'a>(models: &[&'a str], first: &[&str]) -> Vec<&'a str> {
    let mut models = models.to_vec();
    models.sort_by_key(|model| !first.contains(model));
    models
}

impl Attempt {
    fn make(&self) -> Result<Tried, Failure> {
        let weakened = Weakened { to: self.weakening.to, evidence: self.shown.clone() };
        let mut tried = Tried { weakened, runs: 0, seconds: 0.0 };
        if self.shown.is_some() {
            return Ok(tried);
        }
        for name in &self.models {
            let weakening = Some(self.weakening.clone());
            let (outcome, seconds) = ask(name, Errand::Model { name: name.clone(), weakening })?;
            tried.runs += 1;
            tried.seconds += seconds;
            match outcome {
                Ok(run) if run.weakened => {}
                Ok(_) => {
                    let text = format!("{name} did not reach the weakened access");
                    return Err(Failure::Run(text));
                }
                Err(why) => {
                    tried.weakened.evidence = Some(Evidence { model: name.clone(), why });
                    break;
                }
            }
        }
        Ok(tried)
    }
}

/// Runs `errand`. Returns the outcome and the seconds that it took. `name` is for messages.
fn ask(name: &str, errand: Errand) -> Result<(ModelOutcome, f64), Failure> {
    let begin = Instant::now();
    let answer = worker::run(&errand)
        .map_err(|error| Failure::Run(format!("can't run a model in a process: {error}")))?;
    let outcome = match answer {
        Answer::Passed(run) => Ok(run),
        Answer::Failed { why } => Err(why),
        Answer::Undecided { why } => {
            return Err(Failure::Run(format!("{name} is undecided: {why}; run it again")));
        }
    };
    Ok((outcome, begin.elapsed().as_secs_f64()))
}

/// Does `work` for all `items`, on all cores, with a progress bar. None if Ctrl-C came first.
fn in_parallel<T: Sync, R: Send>(
    what: &str,
    items: &[T],
    work: impl Fn(&T) -> Result<R, Failure> + Sync,
) -> Result<Option<Vec<R>>, Failure> {
    let progress = Progress::new(items.len(), "{bar:30} {pos:>3}/{len:3} {msg}");
    progress.set_message(what.to_owned());
    let one = |item| {
        if interrupt::requested() {
            return Ok(None);
        }
        match work(item) {
            // Ctrl-C also ends the processes.
            Err(_) if interrupt::requested_within(A_MOMENT) => Ok(None),
            result => {
                progress.inc(1);
                result.map(Some)
            }
        }
    };
    let done: Result<Vec<Option<R>>, Failure> = items.par_iter().map(one).collect();
    progress.finish();
    Ok(done?.into_iter().collect())
}
