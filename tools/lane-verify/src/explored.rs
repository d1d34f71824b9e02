//! What the tests of the models have explored, which saves the same work here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use corelane_models::Exploration;
use corelane_report::Failure;

use crate::kept_table::unusable;

/// The executions of models that passed, by the models' names.
pub(crate) type Explored = BTreeMap<String, Exploration>;

pub(crate) fn read(path: &Path) -> Result<Explored, Failure> {
    let written = "the file that CORELANE_EXPLORED named for cargo test -p corelane-models";
    let refused = |why: &str| unusable(path, why, written);
    let text = fs::read_to_string(path).map_err(|error| refused(&error.to_string()))?;
    let lines: Result<Explored, _> = text.lines().map(serde_json::from_str::<(_, _)>).collect();
    lines.map_err(|_| refused("it has other lines than those of models"))
}
