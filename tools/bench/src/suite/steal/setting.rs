//! The parameters of `lane bench steal`, and what is said about its results.

use clap::ValueEnum;
use corelane_report::name;
use serde::{Deserialize, Serialize};

use crate::kinds::Test;
use crate::results::CellResult;
use crate::suite::{About, Suite};
use crate::table::{Column, RATIO_PEER, STOLEN};

/// An owner and its thieves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StealSetting {
    pub(crate) order: Order,
    pub(crate) thieves: usize,
    /// The share of the items that thieves take; `None` if they take what they find.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stolen_percent: Option<u8>,
    /// Of a pool, whose threads are all thieves, too.
    #[serde(flatten)]
    pub(crate) pool: Option<PoolSetting>,
}

/// Threads that have a queue each, and steal from each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct PoolSetting {
    pub(crate) threads: usize,
    /// What each thread attempts to steal in a round, of the capacity.
    pub(crate) balancing_percent: u8,
    pub(crate) policy: StealPolicy,
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "steal",
    heading: "Work stealing",
    reading: "The owner and its thief have a core each. A thief that finds nothing tries again \
     at once.",
    ..About::NONE
};

impl Suite for StealSetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let what = match result.test {
            Test::Owner => "owner, which puts until the queue is full and gets until it is empty",
            Test::HungryThief => "hungry-thief, an owner that puts 16 items and gets them",
            Test::Pool => "pool, threads with a queue each that steal from each other",
            _ => "stolen, an owner from which a thief takes a share",
        };
        let title = format!("{what}, {}, capacity {}", name(&self.order), result.params.capacity);
        let beside = match (self.pool, self.stolen_percent, self.thieves) {
            (Some(PoolSetting { threads, balancing_percent, policy }), ..) => {
                format!(
                    "{threads} threads, balancing factor {balancing_percent} %, policy {}",
                    name(&policy)
                )
            }
            (None, Some(percent), _) => format!("{percent} % stolen"),
            (None, None, 0) => "no thief".into(),
            (None, None, _) => "a thief that takes what it finds".into(),
        };
        (title, (result.test != Test::Owner).then_some(beside))
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        (test.unit(), if test == Test::Owner { &[RATIO_PEER] } else { &[RATIO_PEER, STOLEN] })
    }

    fn legend(&self, _: Test) -> &'static str {
        "Nanoseconds of the owner for each item that it puts, and gets unless it is stolen, or \
         of a thread of a pool for each that it gets or steals; less is better. × peer: of the \
         best peer, which may be a collection of one thread: vec, vecdeque."
    }
}

/// Which item the owner of a work-stealing queue gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The newest.
    Lifo,
    /// The oldest.
    Fifo,
}

/// How a thread of a pool chooses the queue from which it tries to steal first; then it goes round
/// the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum StealPolicy {
    /// At random.
    Rand,
    /// That of the next thread.
    Seq,
    /// That from which it has stolen last.
    Last,
    /// The longer one of two at random.
    BestOfTwo,
    /// The longest one of half of them.
    BestOfMany,
    /// At random, those of cores that share the last cache first.
    Numa,
    /// As rand, and from a block that is chosen at random, if it has items; queues without blocks
    /// as rand.
    RandProb,
    /// As numa, and as rand-prob.
    NumaProb,
}
