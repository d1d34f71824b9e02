//! The options that all suites have.

use clap::Args;
use corelane_report::{FileArgs, Positive, PositiveReal};

use crate::catalogue::{Entry, Measured};
use crate::stats::Group;

/// The common options of all measurements.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// How often everything is measured [default: 15, or as often as 2.5 minutes allow].
    #[arg(long, value_name = "N")]
    pub rounds: Option<Positive>,

    /// Longest `line_rtt` in nanoseconds at which two cores count as near.
    #[arg(long, value_name = "NS", default_value_t = PositiveReal(Group::FAR_ABOVE_NS))]
    pub far_above: PositiveReal,

    /// Also measure all peers, when queues are named.
    #[arg(long, overrides_with = "no_peers")]
    pub peers: bool,

    /// Measure no peers.
    #[arg(long, overrides_with = "peers")]
    pub no_peers: bool,

    /// Where the results go.
    #[command(flatten)]
    pub files: FileArgs,
}

impl RunArgs {
    /// What is to be measured of `all`: the `named` ones; without names those that are measured
    /// `by_default`.
    pub(crate) fn choose<K>(
        &self,
        all: &'static [Measured<K>],
        named: &[String],
        by_default: impl Fn(&Measured<K>) -> bool,
    ) -> Vec<&'static Measured<K>> {
        let is_wanted = |entry: &Entry| match entry.is_peer() {
            true => !self.no_peers && (named.is_empty() || self.peers),
            false => named.is_empty(),
        };
        let is_chosen = |one: &&Measured<K>| {
            let is_named = named.iter().any(|id| id == one.entry.info.id);
            is_named || (is_wanted(&one.entry) && by_default(one))
        };
        all.iter().filter(is_chosen).collect()
    }
}
