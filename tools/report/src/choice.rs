//! What `lane tune` recommends, as programs read it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Failure;

/// A queue, and how it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The queue's id, as `lane list` has it.
    pub queue: String,
    /// The package, if it is another one than corelane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Items that it must hold.
    pub capacity: usize,
    /// Most items of a call.
    pub batch: usize,
    /// How threads wait: adaptive, spin, yield or sleep. Channels wait in their own way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<String>,
}

impl Choice {
    /// The best of corelane's queues in what `lane tune --json FILE` has written.
    ///
    /// # Errors
    ///
    /// If it is no such text: a line that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Tuned {
            ours: Choice,
        }
        let tuned: Tuned = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Ok(tuned.ours)
    }

    /// The same in a file.
    ///
    /// # Errors
    ///
    /// If the file can't be read, or is no such file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
        text.and_then(|text| Self::parse(&text)).map_err(|reason| {
            Failure::Usage(format!(
                "{}: {reason}; give a file that lane tune --json FILE has written",
                path.display()
            ))
        })
    }
}
