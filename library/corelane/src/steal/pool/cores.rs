//! On which cores workers run.

use alloc::string::String;
use alloc::vec::Vec;
use std::io::Result;
use std::{format, fs};

/// Calls `start`, which starts threads. They run on one core only.
#[cfg(target_os = "linux")]
pub(super) fn on<R>(core: usize, start: impl FnOnce() -> Result<R>) -> Result<R> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    /// The cores that the calling thread may use.
    struct Before(CpuSet);
    impl Drop for Before {
        fn drop(&mut self) {
            // It had these cores before.
            _ = sched_setaffinity(None, &self.0);
        }
    }
    if core >= CpuSet::MAX_CPU {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut only = CpuSet::new();
    only.set(core);
    // A new thread gets the cores of the thread that starts it.
    let _before = Before(sched_getaffinity(None)?);
    sched_setaffinity(None, &only)?;
    start()
}

/// Calls `start`, which starts threads. They run on one core only.
#[cfg(not(target_os = "linux"))]
pub(super) fn on<R>(_: usize, _: impl FnOnce() -> Result<R>) -> Result<R> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// A number for each worker, the same for those whose cores share the last cache, as far as the
/// system reports it.
pub fn domains(workers: impl Iterator<Item = usize>) -> Vec<usize> {
    let caches: Vec<Option<String>> = workers.map(shared_by).collect();
    let first = |cache| caches.iter().position(|other| other == cache).expect("itself at least");
    caches.iter().map(first).collect()
}

/// The cores that share the last cache, or the socket, with this core, in the system's notation.
fn shared_by(core: usize) -> Option<String> {
    let cpu = format!("/sys/devices/system/cpu/cpu{core}");
    let last = ["cache/index3/shared_cpu_list", "topology/package_cpus_list"];
    last.iter().find_map(|file| fs::read_to_string(format!("{cpu}/{file}")).ok())
}
