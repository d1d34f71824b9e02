//! The origin of results.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::{Document, Media, interrupt};

/// The beginning of every file of results.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Origin {
    schema: u32,
    command: String,
    unix_time: u64,
    /// Whether Ctrl-C ended the run early. The results that are there are complete.
    interrupted: bool,
}

impl Origin {
    /// The origin of a run of `program` that ends now.
    pub fn now(program: &str, schema: u32) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let arguments = std::env::args().skip(1);
        let command: Vec<_> = std::iter::once(program.to_owned()).chain(arguments).collect();
        Self {
            schema,
            command: command.join(" "),
            unix_time: now.as_secs(),
            interrupted: interrupt::requested(),
        }
    }

    /// Adds command and date to a page.
    pub fn tell(&self, document: &mut Document) {
        document.fact(Media::PAGE, "Command", format!("`{}`", self.command));
        document.fact(Media::PAGE, "Date", self.date());
    }

    /// The command that was given.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// When the run ended.
    pub fn date(&self) -> String {
        let when = UNIX_EPOCH + Duration::from_secs(self.unix_time);
        humantime::format_rfc3339_seconds(when).to_string()
    }

    /// Whether Ctrl-C ended the run early.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }
}
