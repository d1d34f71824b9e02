//! The bounds on preemptions that a search has found for each model, so that it isn't made again.
//!
//! The search tries bounds that turn out to have too many executions, which takes as long as all
//! others together. A line of `found-bounds.txt` has a model's name and, for each run of its
//! program, the bound and the number of executions: `2:310`, or `all:84`. If a run has another
//! number, the model or its queue has changed, and the search is made. This writes the file, whose
//! path is relative to the package:
//!
//! ```console
//! $ CORELANE_FOUND=found-bounds.txt cargo test -p corelane-models --test models
//! ```

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// A run of a model's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The bound on preemptions, if there is one.
    pub preemptions: Option<usize>,
    /// How many executions there are.
    pub executions: usize,
}

impl Run {
    fn parse(text: &str) -> Self {
        let parsed = text.split_once(':').and_then(|(bound, executions)| {
            let preemptions = if bound == "all" { None } else { Some(bound.parse().ok()?) };
            Some(Self { preemptions, executions: executions.parse().ok()? })
        });
        parsed.unwrap_or_else(|| panic!("found-bounds.txt has {text}, which is no run"))
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.preemptions {
            Some(bound) => write!(f, "{bound}:{}", self.executions),
            None => write!(f, "all:{}", self.executions),
        }
    }
}

/// The runs of the models, by name.
static FOUND: LazyLock<HashMap<&str, Vec<Run>>> = LazyLock::new(|| {
    let lines = include_str!("../found-bounds.txt").lines();
    let of_model = |line: &'static str| {
        let (name, runs) = line.split_once(' ')?;
        Some((name, runs.split(' ').map(Run::parse).collect()))
    };
    lines.filter_map(of_model).collect()
});

std::thread_local! {
    /// The runs of this thread's model that are still to come.
    static TO_COME: RefCell<VecDeque<Run>> = const { RefCell::new(VecDeque::new()) };
}

/// The runs of a model. None if there was no search.
pub(crate) fn of(model: &str) -> &'static [Run] {
    FOUND.get(model).map_or(&[], Vec::as_slice)
}

/// Calls `explore`, whose runs are to be these.
pub(crate) fn with<R>(runs: &[Run], explore: impl FnOnce() -> R) -> R {
    TO_COME.set(runs.iter().copied().collect());
    let explored = explore();
    TO_COME.take();
    explored
}

/// The next run of this thread's model. None if the search has to be made.
pub(crate) fn next() -> Option<Run> {
    TO_COME.with_borrow_mut(VecDeque::pop_front)
}

/// The model has changed.
pub(crate) fn is_old() {
    TO_COME.take();
}
