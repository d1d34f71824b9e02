//! What the tests of the models have explored, which saves the same work here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use corelane_models::Exploration;
use corelane_report::Failure;

/// The executions of models that passed, by the models' names.
pub(crate) type Explored = BTreeMap<String, Exploration>;

pub(crate) fn read(path: &Path) -> Result<Explored, Failure> {
    let refused = |why: &str| {
        let path = path.display();
        Failure::Usage(format!(
            "can't use {path} ({why}); name the file that CORELANE_EXPLORED named for cargo test -p corelane-models"
        ))
    };
    let text = fs::read_to_string(path).map_err(|error| refused(&error.to_string()))?;
    let lines: Result<Explored, _> = text.lines().map(serde_json::from_str::<(_, _)>).collect();
    lines.map_err(|_| refused("it has other lines than those of models"))
}
