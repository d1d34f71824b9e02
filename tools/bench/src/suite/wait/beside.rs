//! Processes that compute beside a measurement, as on a machine that other programs use, too.

use std::hint::black_box;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread;

use core_affinity::CoreId;
use corelane_report::Failure;
use serde::{Deserialize, Serialize};

/// The command that makes the program compute.
pub const COMPUTE: &str = "compute";

/// Processes that compute, which share the cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Beside {
    /// Number of processes.
    #[serde(rename = "busy")]
    pub(crate) processes: usize,
    /// Their nice value: below 0, they come before the measured threads.
    pub(crate) nice: i32,
}

/// The processes of a measurement. They end when this is dropped.
pub(crate) struct Processes(Vec<Child>);

impl Beside {
    /// Starts the processes, and returns when they compute. They take the cores in turn.
    pub(crate) fn start(self, cores: &[CoreId]) -> Result<Processes, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        // Each is kept at once, so that it is ended if the next one doesn't start.
        let mut all = Processes(Vec::with_capacity(self.processes));
        for core in cores.iter().cycle().take(self.processes) {
            // The end of its input ends it, even if this process is killed.
            let child = Command::new(&program)
                .args([COMPUTE, &core.id.to_string(), &format!("--nice={}", self.nice)])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn();
            all.0.push(child.map_err(|error| format!("no process that computes starts: {error}"))?);
        }
        for child in &mut all.0 {
            let started = child.stdout.as_mut().map(|out| out.read_exact(&mut [0]));
            started.and_then(Result::ok).ok_or_else(|| self.refused())?;
        }
        Ok(all)
    }

    fn refused(self) -> String {
        format!("the system refuses a nice value of {} (run it as root)", self.nice)
    }

    /// Whether the system allows the nice value. The error says why not.
    pub(crate) fn check(self) -> Result<(), String> {
        if self.nice == 0 {
            return Ok(());
        }
        // In a thread of its own: on Linux, the value is that of a thread.
        thread::spawn(move || set_nice(self.nice))
            .join()
            .ok()
            .flatten()
            .ok_or_else(|| self.refused())
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.stdin.take());
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}

#[cfg(target_os = "linux")]
fn set_nice(nice: i32) -> Option<()> {
    rustix::process::setpriority_process(None, nice).ok()
}

#[cfg(not(target_os = "linux"))]
fn set_nice(nice: i32) -> Option<()> {
    (nice == 0).then_some(())
}

/// Computes until its input ends: a process beside a measurement.
///
/// # Errors
///
/// If the system refuses the nice value.
pub fn compute(core: usize, nice: i32) -> Result<(), Failure> {
    core_affinity::set_for_current(CoreId { id: core });
    set_nice(nice)
        .ok_or_else(|| Failure::Run(format!("the system refuses a nice value of {nice}")))?;
    thread::spawn(|| {
        // The measurement begins when it is read.
        let _ = std::io::stdout().write_all(b".").and_then(|()| std::io::stdout().flush());
        let mut state = 1_u64;
        loop {
            state = black_box(state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
        }
    });
    std::io::stdin()
        .read_to_end(&mut Vec::new())
        .map_err(|error| Failure::Run(error.to_string()))?;
    std::process::exit(0)
}
