//! The ordering table: each queue's models as the sources are, and with one ordering weaker at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use corelane_models::{Model, Run, Site, Strength, Weakening, all, big, canary, seeded};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use super::outcome::{Evidence, QueueTable, SeededBug, SiteVerdict, Verification, Weakened};
use super::unreached;
use super::worker::{self, Answer, Job};
use crate::failure::Failure;
use crate::interrupt;

/// How long it may take that Ctrl-C, of which a process has died, is noticed here as well.
const A_MOMENT: Duration = Duration::from_millis(500);

/// What a model did, or why it failed.
type Outcome = Result<Run, String>;

/// An outcome, and how many seconds it took.
type Timed<O> = (O, f64);

/// Makes the ordering tables of `queues`, or of as many as there is time for before Ctrl-C.
///
/// The big models are run only `with_big`.
pub(crate) fn verify(queues: &[&str], with_big: bool) -> Result<Verification, Failure> {
    let begin = Instant::now();
    let mut verification = Verification::new(find_seeded_bugs(queues)?);
    let big = if with_big { big() } else { Vec::new() };
    let models = all().into_iter().chain(canary()).chain(big);
    let mut tables = observe(models.filter(|model| queues.contains(&model.queue)).collect())?;
    weaken(&mut tables)?;
    verification.queues = tables.into_iter().filter_map(Observed::table).collect();
    let complete = !interrupt::requested();
    // The sites of a broken queue are not known.
    let complete_and_sound = complete && verification.is_sound();
    if complete_and_sound && queue_ids().iter().all(|id| queues.contains(id)) {
        verification.unreached = Some(unreached::lines(&verification.queues));
    }
    verification.end(begin.elapsed().as_secs_f64(), !complete);
    Ok(verification)
}

/// Ids of all queues that have models.
pub(crate) fn queue_ids() -> Vec<&'static str> {
    let mut ids: Vec<_> = all().iter().map(|model| model.queue).collect();
    let mut seen = BTreeSet::new();
    ids.retain(|id| seen.insert(*id));
    ids
}

fn find_seeded_bugs(queues: &[&str]) -> Result<Vec<SeededBug>, Failure> {
    let bugs: Vec<_> = seeded().into_iter().filter(|bug| queues.contains(&bug.queue)).collect();
    let found = in_parallel("seeded bugs", &bugs, |bug| {
        let (outcome, _) = ask(&bug.to_string(), Job::Seeded { queue: bug.queue.to_owned() })?;
        let found = outcome.is_err();
        Ok(SeededBug { queue: bug.queue.to_owned(), bug: bug.bug.to_owned(), found })
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// A queue whose models were run.
struct Observed {
    queue: &'static str,
    /// Model by model; none if it was not run because of Ctrl-C.
    runs: Vec<Option<(Model, Timed<Outcome>)>>,
    /// Site by site what was tried there; none if something was not.
    tried: BTreeMap<Site, Option<Vec<Weakened>>>,
    weakened_runs: usize,
    seconds: f64,
}

/// Runs `models`, and sorts them by queue.
fn observe(models: Vec<Model>) -> Result<Vec<Observed>, Failure> {
    let answers = in_parallel("models", &models, |model| {
        let name = model.to_string();
        Ok((*model, ask(&name, Job::Model { name: name.clone(), weakening: None })?))
    })?;
    let mut observed: Vec<Observed> = Vec::new();
    // The special models of a queue come after all common ones.
    for (model, answer) in models.iter().zip(answers) {
        match observed.iter_mut().find(|queue| queue.queue == model.queue) {
            Some(queue) => queue.runs.push(answer),
            None => observed.push(Observed::new(model.queue, answer)),
        }
    }
    observed.iter_mut().for_each(Observed::note_sites);
    Ok(observed)
}

impl Observed {
    fn new(queue: &'static str, first: Option<(Model, Timed<Outcome>)>) -> Self {
        let tried = BTreeMap::new();
        Self { queue, runs: vec![first], tried, weakened_runs: 0, seconds: 0.0 }
    }

    /// The runs that passed, those with the fewest executions first.
    fn passed<'a>(&'a self) -> Vec<(&'a Model, &'a Run)> {
        let run = |(model, (outcome, _)): &'a (Model, Timed<Outcome>)| {
            Some((model, outcome.as_ref().ok()?))
        };
        let passed = self.runs.iter().flatten().filter_map(run);
        let mut passed: Vec<_> = passed.collect();
        passed.sort_by_cached_key(|(model, run)| (run.executions, model.to_string()));
        passed
    }

    fn failure(&self) -> Option<Evidence> {
        self.runs.iter().flatten().find_map(|(model, (outcome, _))| {
            let why = outcome.as_ref().err()?.clone();
            Some(Evidence { model: model.to_string(), why })
        })
    }

    fn note_sites(&mut self) {
        self.seconds = self.runs.iter().flatten().map(|(_, (_, seconds))| seconds).sum();
        let sites = self.passed().into_iter().flat_map(|(_, run)| run.sites.clone());
        self.tried = sites.map(|site| (site, Some(Vec::new()))).collect();
    }

    /// The finished table, if nothing was left out.
    fn table(self) -> Option<QueueTable> {
        let failure = self.failure();
        if self.runs.iter().any(Option::is_none) && failure.is_none() {
            return None;
        }
        let passed = self.passed();
        let mut table = QueueTable {
            queue: self.queue.to_owned(),
            models: self.runs.len(),
            bounded_models: passed.iter().filter(|(_, run)| run.preemptions.is_some()).count(),
            executions: passed.iter().map(|(_, run)| run.executions).sum(),
            seconds: self.seconds,
            weakened_runs: self.weakened_runs,
            failure,
            sites: Vec::new(),
            score: None,
        };
        if table.failure.is_none() {
            let verdict = |(site, tried): (Site, Option<_>)| Some(SiteVerdict::new(site, tried?));
            table.sites = self.tried.into_iter().map(verdict).collect::<Option<_>>()?;
            table.rate();
        }
        Some(table)
    }
}

/// One ordering of one queue that is to be weakened.
struct Attempt {
    /// Which of the queues.
    queue: usize,
    weakening: Weakening,
    /// The models that come by, those with the fewest executions first.
    models: Vec<String>,
}

/// What came of an attempt.
struct Tried {
    weakened: Weakened,
    runs: usize,
    seconds: f64,
}

/// Weakens each ordering of each queue whose models pass, step by step as long as no model fails.
fn weaken(queues: &mut [Observed]) -> Result<(), Failure> {
    let mut attempts: Vec<_> = queues
        .iter()
        .enumerate()
        .filter(|(_, observed)| observed.failure().is_none())
        .flat_map(|(queue, observed)| {
            observed.tried.keys().flat_map(move |site| steps(queue, observed, site, site.ordering))
        })
        .collect();
    while !attempts.is_empty() {
        let tried = in_parallel("orderings", &attempts, try_weakening)?;
        let mut next = Vec::new();
        for (Attempt { queue, weakening: Weakening { site, to }, .. }, tried) in
            attempts.into_iter().zip(tried)
        {
            let survived = tried.as_ref().is_some_and(|tried| tried.weakened.evidence.is_none());
            queues[queue].note(&site, tried);
            if survived {
                next.extend(steps(queue, &queues[queue], &site, to));
            }
        }
        attempts = next;
    }
    Ok(())
}

impl Observed {
    fn note(&mut self, site: &Site, tried: Option<Tried>) {
        let steps = self.tried.get_mut(site).expect("the site was seen");
        let Some(tried) = tried else {
            *steps = None;
            return;
        };
        self.weakened_runs += tried.runs;
        self.seconds += tried.seconds;
        // Two ways may lead to one ordering.
        if let Some(steps) = steps
            && steps.iter().all(|step| step.to != tried.weakened.to)
        {
            steps.push(tried.weakened);
        }
    }
}

/// The attempts to weaken `site`, which is left with the ordering `from` by those before.
fn steps(queue: usize, observed: &Observed, site: &Site, from: Strength) -> Vec<Attempt> {
    let comes_by =
        |(model, run): (&Model, &Run)| run.sites.contains(site).then(|| model.to_string());
    let models: Vec<_> = observed.passed().into_iter().filter_map(comes_by).collect();
    let attempt = |&to| Attempt {
        queue,
        weakening: Weakening { site: site.clone(), to },
        models: models.clone(),
    };
    from.weaker(site.op).iter().map(attempt).collect()
}

/// Runs the models until one fails.
fn try_weakening(attempt: &Attempt) -> Result<Tried, Failure> {
    let weakened = Weakened { to: attempt.weakening.to, evidence: None };
    let mut tried = Tried { weakened, runs: 0, seconds: 0.0 };
    for name in &attempt.models {
        let weakening = Some(attempt.weakening.clone());
        let (outcome, seconds) = ask(name, Job::Model { name: name.clone(), weakening })?;
        tried.runs += 1;
        tried.seconds += seconds;
        match outcome {
            Ok(run) if run.weakened => {}
            Ok(_) => return Err(Failure::Run(format!("{name} did not come by what was weakened"))),
            Err(why) => {
                tried.weakened.evidence = Some(Evidence { model: name.clone(), why });
                break;
            }
        }
    }
    Ok(tried)
}

/// Runs `job`; `name` is for messages.
fn ask(name: &str, job: Job) -> Result<Timed<Outcome>, Failure> {
    let begin = Instant::now();
    let answer = worker::run(&job)
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

/// Does `work` for all `items`, on all cores, with a progress bar. What Ctrl-C cuts off is none.
fn in_parallel<T: Sync, R: Send>(
    what: &'static str,
    items: &[T],
    work: impl Fn(&T) -> Result<R, Failure> + Sync,
) -> Result<Vec<Option<R>>, Failure> {
    let style = ProgressStyle::with_template("{msg:<12} {bar:30} {pos}/{len} {eta} left")
        .expect("valid template");
    let progress = ProgressBar::new(items.len() as u64).with_style(style).with_message(what);
    let done = items.par_iter().map(|item| {
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
    });
    let done = done.collect();
    progress.finish_and_clear();
    done
}
