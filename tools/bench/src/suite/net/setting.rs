//! The parameters of `lane bench net`, and what is said about its results.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::kinds::Test;
use crate::results::{CellResult, Results};
use crate::stats::Group;
use crate::suite::{About, Suite};
use crate::table::{
    ACKNOWLEDGED, AGAIN, CPU, CPU_RX, CPU_TX, Column, FAULTS, FAULTS_DOUBLED, FAULTS_HUNG,
    FAULTS_LOST, LOAD, LOST_PARTS, OFFERED, P50_US, P99_US, P999_US, RATE, RATIO_FLOOR, RATIO_PEER,
    REORDERED, RUNS,
};

/// Sizes of items, in bytes.
pub(crate) const RECORD_BYTES: [usize; 7] = [8, 64, 256, 1024, 4096, 16 << 10, 64 << 10];

/// The floor of all others.
pub(super) const FLOOR: &str = "tcp";

/// What is promised about items that were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Guarantee {
    /// In order. The sender drops its oldest items for newer ones.
    Latest,
    /// In order, and items may be missing.
    AtMostOnce,
    /// All in order, as long as the connection lasts.
    Connected,
    /// All in order, as long as both programs live.
    Ordered,
    /// All in order, as soon as they are on a server's disk.
    Durable,
}

/// What moves the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Engine {
    /// A socket.
    Tcp,
    /// Zenoh, without a server.
    Zenoh,
    /// The same, with memory that both ends share.
    #[serde(rename = "zenoh-shm")]
    ZenohShm,
    /// A NATS server.
    Nats,
    /// The same, with its store.
    Jetstream,
    /// gRPC.
    Grpc,
}

/// Where both ends are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Between {
    /// On this machine, over the loopback.
    #[default]
    Loopback,
    /// In two network namespaces, over a link with a rate.
    Namespaces,
}

/// Two ends, each of which is a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NetSetting {
    pub(crate) guarantee: Guarantee,
    pub(crate) engine: Engine,
    pub(crate) record_bytes: usize,
    #[serde(default)]
    pub(crate) between: Between,
    /// Of the link between namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<String>,
}

/// At how many items per second a latency was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Offered {
    pub(crate) per_s: f64,
    pub(crate) of: OfferedOf,
}

/// Why a latency was measured at this number of items per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OfferedOf {
    /// It was asked for.
    Given,
    /// Half of what plain TCP carries.
    HalfOfTcp,
    /// Half of what the lane or peer itself carries, which is less.
    HalfOfItsOwn,
}

impl OfferedOf {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Given => "as given",
            Self::HalfOfTcp => "half of tcp",
            Self::HalfOfItsOwn => "half of its own",
        }
    }
}

/// What became of items in runs with faults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Faults {
    pub(crate) runs: u64,
    pub(crate) faults: u64,
    /// Items of which the sender was told that they are safe.
    pub(crate) acknowledged: u64,
    /// Items that are missing and should not be.
    pub(crate) lost: u64,
    /// Items that came twice, and should not.
    pub(crate) doubled: u64,
    /// Items that came too late.
    pub(crate) reordered: u64,
    /// Items that came again to the successor of a killed receiver, as the guarantee allows.
    pub(crate) again: u64,
    /// Runs that did not come to an end within ten seconds.
    pub(crate) hung: u64,
}

impl Faults {
    /// All of them together.
    pub(crate) fn sum(self, other: Self) -> Self {
        Self {
            runs: self.runs + other.runs,
            faults: self.faults + other.faults,
            acknowledged: self.acknowledged + other.acknowledged,
            lost: self.lost + other.lost,
            doubled: self.doubled + other.doubled,
            reordered: self.reordered + other.reordered,
            again: self.again + other.again,
            hung: self.hung + other.hung,
        }
    }
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "net",
    heading: "Between machines",
    reading: "Each end is a process that isn't pinned. `tcp` is a socket without a library: items \
     that wait are gathered into writes of 64 KiB. `nats`, `jetstream` and `durable` have a server, \
     which runs on the receiver's side, and whose processor time isn't counted.",
    measured: "lane",
    pins: false,
    ..About::NONE
};

impl Suite for NetSetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let what = match result.test {
            Test::Stream => "stream, one item per call",
            Test::Latency => "latency, items that are sent at random times",
            _ => "faults, connections that break and processes that are killed",
        };
        let between = match (self.between, &self.rate) {
            (Between::Namespaces, Some(rate)) => format!("two namespaces, {rate}"),
            _ => "two processes, loopback".into(),
        };
        (format!("{what}, {between}"), Some(format!("{} bytes", self.record_bytes)))
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        match test {
            Test::Stream => {
                (test.unit(), &[RATIO_FLOOR, RATIO_PEER, RATE, CPU, CPU_TX, CPU_RX, LOST_PARTS])
            }
            Test::Latency => (test.unit(), &[P50_US, P99_US, P999_US, OFFERED, LOAD, LOST_PARTS]),
            _ => (
                test.unit(),
                &[
                    RUNS,
                    FAULTS,
                    ACKNOWLEDGED,
                    FAULTS_LOST,
                    FAULTS_DOUBLED,
                    REORDERED,
                    AGAIN,
                    FAULTS_HUNG,
                ],
            ),
        }
    }

    fn legend(&self, test: Test) -> &'static str {
        match test {
            Test::Stream => {
                "Medians with quartiles; less is better. × floor: of plain TCP. × peer: of the best \
                 peer. cpu ns: processor time of an item in both processes; send, receive: in each. \
                 lost: items that did not come, where that is allowed."
            }
            Test::Latency => {
                "From the time at which an item should be sent until the receiving program has it; \
                 medians. items/s, load: the items per second, and what they were chosen by: compare \
                 rows of one load only. lost: items that did not come, where that is allowed."
            }
            _ => {
                "The longest time without an item, of a run; medians. acknowledged: items of which \
                 the sender was told that they are safe. lost, doubled, reordered: against the \
                 guarantee. again: to the successor of a killed receiver, as the guarantee allows. \
                 hung: runs that did not end within ten seconds."
            }
        }
    }

    fn floor(&self, results: &Results, test: Test, group: Group) -> Option<(&'static str, f64)> {
        // Latencies have loads that differ.
        if test != Test::Stream {
            return None;
        }
        let is_floor = |result: &&CellResult| {
            let suite = result.params.setting.net();
            result.queue == FLOOR
                && result.test == test
                && suite.is_some_and(|setting| self.is_alike(setting))
        };
        let floor = results.results.iter().find(is_floor)?.median(group);
        floor.is_finite().then_some((FLOOR, floor))
    }

    fn condition(&self) -> Option<String> {
        Some(format!("{} bytes", self.record_bytes))
    }

    /// A sender waits, or drops items.
    fn bounds_all(&self) -> bool {
        true
    }

    fn is_alike(&self, other: &Self) -> bool {
        *self == Self { guarantee: self.guarantee, engine: self.engine, ..other.clone() }
    }
}
