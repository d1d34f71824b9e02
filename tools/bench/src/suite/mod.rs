//! The suites: what is measured between threads and processes. Each is a folder with the options of
//! its command (`args.rs`), the cells that they ask for (`plan.rs`), the parameters of a cell and
//! what is said about its result (`setting.rs`), and its kernels.
//!
//! To add a suite: a folder with its module here, a line in [`suites!`], and its tests in
//! [`Test`](crate::kinds::Test).

pub(crate) mod executor;
#[cfg_attr(not(target_os = "linux"), path = "ipc/none.rs")]
pub(crate) mod ipc;
pub(crate) mod mpmc;
#[cfg_attr(not(all(feature = "net", target_os = "linux")), path = "net/none.rs")]
pub(crate) mod net;
pub(crate) mod pipeline;
pub(crate) mod relaxed;
pub(crate) mod replay;
pub(crate) mod ring;
pub(crate) mod rings;
pub(crate) mod spsc;
pub(crate) mod steal;
pub(crate) mod switch;
pub(crate) mod wait;

use clap::Subcommand;
use corelane::Memory;
use corelane_report::{Failure, name};
use serde::Serialize;
use serde::de::Error;
use serde_json::Value;

use crate::kinds::Test;
use crate::plan::Plan;
use crate::results::{CellResult, Results};
use crate::stats::Group;
use crate::table::Column;
use crate::threads::Wait;
use wait::{Beside, Strategy};

/// What is said about a suite.
pub(crate) struct About {
    /// Its name on command lines and in results.
    pub(crate) name: &'static str,
    /// The heading of its results.
    pub(crate) heading: &'static str,
    /// How its results are read.
    pub(crate) reading: &'static str,
    /// What is measured: the heading of a table's first column.
    pub(crate) measured: &'static str,
    /// Whether queues are recommended by its results.
    pub(crate) recommends: bool,
    /// Whether threads sleep: then floors tell what waking them takes.
    pub(crate) sleeps: bool,
    /// Whether it pins threads to cores. Else only the threads of floors are pinned.
    pub(crate) pins: bool,
}

impl About {
    const NONE: Self = Self {
        name: "",
        heading: "",
        reading: "",
        measured: "queue",
        recommends: false,
        sleeps: false,
        pins: true,
    };
}

/// The parameters of a suite's measurements, beside the capacity and how threads wait.
pub(crate) trait Suite {
    fn about(&self) -> &'static About;

    /// The title of a chart, and of one of its tables if the chart has several.
    fn titles(&self, result: &CellResult) -> (String, Option<String>);

    /// The heading of the value of `test`, and the columns behind its quartiles.
    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        (test.unit(), &[])
    }

    /// The meaning of the columns of a table of `test`, in a line or two.
    fn legend(&self, test: Test) -> &'static str;

    /// The machine's own limit with which a result is compared, if there is one.
    fn floor(&self, results: &Results, test: Test, group: Group) -> Option<(&'static str, f64)> {
        _ = (results, test, group);
        None
    }

    /// Numbers of threads, or what else differs between the columns of a kept table.
    fn column(&self, result: &CellResult) -> Option<String> {
        self.titles(result).1
    }

    /// The purpose of the best queue of a table, if it needs no explanation. Only for suites that
    /// recommend queues.
    fn purpose(&self, result: &CellResult) -> Option<String> {
        _ = result;
        None
    }

    /// The condition, if a measurement has several in which a queue must be good: placement, items
    /// and handles.
    fn condition(&self) -> Option<String> {
        None
    }

    /// Forgets the condition.
    fn forget_condition(&mut self) {}

    /// How calls wait, if they do. Results of several strategies are compared.
    fn strategy(&self) -> Strategy {
        Strategy::Adaptive
    }

    /// The processes that compute beside.
    fn beside(&self) -> Option<Beside> {
        None
    }

    fn memory(&self) -> Memory {
        Memory::Heap
    }

    /// The k that the queue is asked for.
    fn relaxation(&self) -> Option<usize> {
        None
    }

    /// The name of a queue, with what tells it apart from others of its table.
    fn label(&self, queue: &str) -> String {
        match self.strategy() {
            Strategy::Adaptive => queue.to_owned(),
            strategy => format!("{queue} {}", name(&strategy)),
        }
    }

    /// Whether all queues are bounded, also those that other suites measure without a bound.
    fn bounds_all(&self) -> bool {
        false
    }

    /// The queue in which `queue` nests capsules, if its throughput is compared.
    fn tube<'a>(&self, queue: &'a str) -> Option<&'a str> {
        _ = queue;
        None
    }

    /// Whether results with these parameters are compared with each other.
    fn is_alike(&self, other: &Self) -> bool
    where
        Self: Sized + PartialEq,
    {
        self == other
    }
}

impl Setting {
    /// The parameters of a measurement between machines.
    pub(crate) fn net(&self) -> Option<&net::NetSetting> {
        if let Self::Net(setting) = self { Some(setting) } else { None }
    }
}

/// A purpose, with how threads wait.
fn waiting(purpose: &str, wait: Wait) -> String {
    format!("{}, {},", purpose.trim_end_matches(','), wait.words())
}

/// The parameters and the options of all suites.
macro_rules! suites {
    ($($(#[doc = $doc:literal])* $suite:ident: $module:ident, $setting:ident, $args:ident;)*) => {
        /// The parameters of each suite.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub(crate) enum Setting {
            $($suite($module::$setting),)*
        }

        impl Setting {
            /// The parameters of a suite, as a file has them.
            pub(crate) fn read(suite: &str, params: Value) -> serde_json::Result<Self> {
                match suite {
                    $(stringify!($module) => serde_json::from_value(params).map(Self::$suite),)*
                    _ => Err(serde_json::Error::custom(format!("there is no suite {suite}"))),
                }
            }

            pub(crate) fn suite(&self) -> &dyn Suite {
                match self {
                    $(Self::$suite(setting) => setting,)*
                }
            }

            pub(crate) fn suite_mut(&mut self) -> &mut dyn Suite {
                match self {
                    $(Self::$suite(setting) => setting,)*
                }
            }

            pub(crate) fn is_alike(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$suite(setting), Self::$suite(other)) => setting.is_alike(other),)*
                    _ => false,
                }
            }
        }

        $(impl From<$module::$setting> for Setting {
            fn from(setting: $module::$setting) -> Self {
                Self::$suite(setting)
            }
        })*

        /// What to measure.
        #[derive(Debug, Subcommand)]
        pub enum BenchArgs {
            $($(#[doc = $doc])* $suite(Box<$module::$args>),)*
        }

        impl BenchArgs {
            /// The measurements that the options of a suite ask for.
            ///
            /// # Errors
            ///
            /// If the options can't be carried out.
            pub fn plan(&self) -> Result<Plan, Failure> {
                match self {
                    $(Self::$suite(args) => args.plan(),)*
                }
            }
        }
    };
}

suites! {
    /// One producer, one consumer.
    Spsc: spsc, SpscSetting, SpscArgs;
    /// Several producers, several consumers.
    Mpmc: mpmc, MpmcSetting, MpmcArgs;
    /// Threads in a ring, each of which copies a message, frees the original and passes the copy
    /// on.
    Ring: ring, RingSetting, RingArgs;
    /// Calls that wait for room and for items: threads that may sleep.
    Wait: wait, WaitSetting, WaitArgs;
    /// Between processes: lanes in shared memory, beside what the system offers.
    Ipc: ipc, IpcSetting, IpcArgs;
    /// Between machines: lanes over an engine, beside TCP, Zenoh, NATS and gRPC.
    Net: net, NetSetting, NetArgs;
    /// A switch between clients, each of which has a queue to it and a queue from it.
    Switch: switch, SwitchSetting, SwitchArgs;
    /// The rings of io_uring for requests and completions, and queues in their place.
    Rings: rings, RingsSetting, RingsArgs;
    /// Packets through stages, each on a thread, with a queue between two stages.
    Pipeline: pipeline, PipelineSetting, PipelineArgs;
    /// A workload that a program has recorded, or the packets of a capture.
    Replay: replay, ReplaySetting, ReplayArgs;
    /// Work stealing: an owner that puts and gets, and thieves.
    Steal: steal, StealSetting, StealArgs;
    /// Executors of async tasks.
    Executor: executor, ExecutorSetting, ExecutorArgs;
    /// Queues whose items may leave out of turn: throughput, how far out of turn, memory.
    Relaxed: relaxed, RelaxedSetting, RelaxedArgs;
}
