//! The parameters of `lane bench switch`, and what is said about its results.

use serde::{Deserialize, Serialize};

use crate::kinds::Test;
use crate::results::CellResult;
use crate::suite::{About, Suite};
use crate::table::{Column, LOST, PER_S, RATIO_PEER};

/// Clients of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct SwitchSetting {
    pub(crate) clients: u32,
    pub(crate) batch: usize,
    pub(crate) switch_batch: usize,
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "switch",
    heading: "A switch",
    reading: "The switch of the first paper, §6, which learns its table itself: one thread pulls packets from \
     all clients, and pushes each to the client to which it is addressed. Each client has a queue to the switch \
     and a queue from it. A packet counts when the switch has pulled it. × peer is a multiple of the best peer: \
     less is better.",
    ..About::NONE
};

impl Suite for SwitchSetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let Self { clients, batch, switch_batch } = self;
        let workload = match result.test {
            Test::Flooding => "flooding",
            _ => "requests and responses",
        };
        let capacity = result.params.capacity;
        let title = format!("{workload}, capacity {capacity}, the switch pulls {switch_batch}");
        let wait = result.params.wait.words();
        (title, Some(format!("{clients} clients send {batch} in one go, {wait}")))
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        (test.unit(), &[PER_S, RATIO_PEER, LOST])
    }

    fn legend(&self, _: Test) -> &'static str {
        "Medians with quartiles; less is better. M/s: million packets a second. × peer: of the best peer. lost: \
         packets that the switch dropped, as a client had no room."
    }

    fn column(&self, _: &CellResult) -> Option<String> {
        Some(format!("{} clients, {}", self.clients, self.batch))
    }
}
