//! Without the feature `net` nothing is measured between machines. Kept results can be read.

use corelane_report::Failure;

use crate::plan::Plan;

mod args;
mod setting;

pub use self::args::NetArgs;
pub(crate) use self::setting::NetSetting;
pub(crate) use self::setting::{Faults, Offered};

/// The command that makes the program an end of a measurement.
pub const NET_END: &str = "net-end";

const MISSING: &str = match cfg!(target_os = "linux") {
    true => {
        "`lane bench net` needs the feature net, which takes minutes to build: cargo run --release --features net -- bench net"
    }
    false => "`lane bench net` needs Linux",
};

impl NetArgs {
    pub(crate) fn plan(&self) -> Result<Plan, Failure> {
        Err(Failure::Usage(MISSING.into()))
    }
}

/// Does nothing.
///
/// # Errors
///
/// Always.
pub fn be_net_end(_: &str) -> Result<(), Failure> {
    Err(Failure::Usage(MISSING.into()))
}
