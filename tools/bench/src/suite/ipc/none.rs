//! Without shared memory there are no queues between processes.

use corelane_report::Failure;

use crate::catalogue::Measured;
use crate::kinds::Test;
use crate::params::Trial;
use crate::sample::Sample;
use crate::suite::wait::Strategy;

mod args;
mod pause;
mod plan;
mod setting;

pub use self::args::IpcArgs;
pub(crate) use self::setting::IpcSetting;

/// The command that makes the program a peer.
pub const PEER: &str = "ipc-peer";
pub(crate) const RECORD_BYTES: [usize; 5] = [8, 64, 1024, 16 << 10, 64 << 10];

pub(crate) const MOST_BYTES: usize = 4 << 20;

pub(crate) fn entries() -> &'static [Linked] {
    &[]
}

/// The measurements of a queue: there are none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IpcKernel {
    pub(crate) record_bytes: usize,
    pub(crate) strategy: Strategy,
}

impl IpcKernel {
    pub(crate) fn fits(&self, _: Test, _: &IpcSetting) -> bool {
        false
    }

    pub(crate) fn measure(
        &self,
        _: &str,
        _: Test,
        _: &Trial<'_>,
        _: &IpcSetting,
    ) -> Result<Sample, String> {
        Err("the system has no memory that processes share".into())
    }
}

pub(crate) type Linked = Measured<Vec<IpcKernel>>;

/// Does nothing.
///
/// # Errors
///
/// Always.
pub fn be_peer(_: &str) -> Result<(), Failure> {
    Err(Failure::Usage(format!("{PEER} is started by `lane bench ipc` only")))
}
