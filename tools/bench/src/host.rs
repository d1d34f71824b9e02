//! The machine that was measured.

use std::fs;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use core_affinity::CoreId;
use corelane_report::list;
use serde::{Deserialize, Serialize};

/// How long the load of other programs is observed.
const LOOK: Duration = Duration::from_millis(200);
/// Share of the processors' time that other programs may take.
const QUIET: f64 = 0.1;

static CPU_INFO: LazyLock<String> =
    LazyLock::new(|| fs::read_to_string("/proc/cpuinfo").unwrap_or_default());

/// The properties of the machine that a reader of the numbers needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Host {
    pub(crate) cpu: String,
    pub(crate) cpus: usize,
    /// Size of the last-level cache, as the kernel prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_level_cache: Option<String>,
    /// Whether this is a virtual machine, whose cores may move.
    pub(crate) virtual_machine: bool,
    pub(crate) arch: String,
    pub(crate) os: String,
    /// Cores in the order in which threads are given them: first a producer's, then a consumer's.
    pub(crate) cores: Vec<usize>,
    /// Whether these are one core.
    pub(crate) same_core: bool,
    /// Share of the processors' time that other programs took when the run began. Only on Linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) others: Option<f64>,
    /// Whether `lane` was compiled with optimisations.
    pub(crate) optimised: bool,
}

impl Host {
    pub(crate) fn describe(cores: &[CoreId]) -> Self {
        Self {
            cpu: cpu_field("model name").unwrap_or("unknown processor").to_owned(),
            cpus: thread::available_parallelism().map_or(1, usize::from),
            last_level_cache: cache_size(3).or_else(|| cache_size(2)),
            virtual_machine: cpu_has("hypervisor"),
            arch: std::env::consts::ARCH.into(),
            os: operating_system(),
            cores: cores.iter().map(|core| core.id).collect(),
            same_core: cores.iter().all(|core| *core == cores[0]),
            others: None,
            optimised: !cfg!(debug_assertions),
        }
    }

    /// Observes the load of other programs for a moment, and warns if it is too high.
    pub(crate) fn look_for_others(&mut self) {
        let before = processor_times();
        thread::sleep(LOOK);
        self.others = busy_share(before, processor_times());
        if let Some(warning) = self.warning() {
            eprintln!("{warning}");
        }
    }

    /// A warning if other programs take too much time.
    pub(crate) fn warning(&self) -> Option<String> {
        let percent = 100.0 * self.others.filter(|share| *share > QUIET)?;
        Some(format!(
            "warning: other programs take {percent:.0} % of the processors; measure when it is quiet"
        ))
    }

    /// The machine in a line, and the threads' cores if they have some.
    pub(crate) fn summary(&self, pins: bool) -> String {
        let cache = self.last_level_cache.as_ref().map(|size| format!(", {size} cache"));
        let virtual_machine = if self.virtual_machine { ", virtual" } else { "" };
        let cores = match (self.same_core, &self.cores[..]) {
            _ if !pins => "no thread is pinned".into(),
            (true, [core, ..]) => format!("all threads on core {core} (same core)"),
            (false, [a, b]) => format!("producer on core {a}, consumer on core {b}"),
            (_, cores) => format!("threads on cores {}", list(cores)),
        };
        let debug = if self.optimised { "" } else { "; NOT OPTIMISED, build with --release" };
        format!(
            "{} ({} CPUs{}{virtual_machine}), {}, {}; {cores}{debug}",
            self.cpu,
            self.cpus,
            cache.unwrap_or_default(),
            self.arch,
            self.os,
        )
    }
}

/// All processors' time so far, in ticks: the total, and the idle time.
fn processor_times() -> Option<[u64; 2]> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let times = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let times: Vec<u64> = times.take(8).filter_map(|time| time.parse().ok()).collect();
    // Idle, and idle while the disk is at work.
    Some([times.iter().sum(), times.get(3)? + times.get(4)?])
}

fn busy_share(before: Option<[u64; 2]>, after: Option<[u64; 2]>) -> Option<f64> {
    let ([all, idle], [all_after, idle_after]) = (before?, after?);
    let (all, idle) = (all_after.checked_sub(all)?, idle_after.saturating_sub(idle));
    (all > 0).then(|| 1.0 - idle.min(all) as f64 / all as f64)
}

/// Whether the processor lists `flag`. Only on Linux.
pub(crate) fn cpu_has(flag: &str) -> bool {
    cpu_field("flags").is_some_and(|flags| flags.split_whitespace().any(|have| have == flag))
}

fn cpu_field(name: &str) -> Option<&'static str> {
    CPU_INFO
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

fn cache_size(level: u8) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size");
    fs::read_to_string(path).ok().map(|size| size.trim().replace('K', " KiB"))
}

fn operating_system() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} {}", std::env::consts::OS, release.trim()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_idle_is_busy() {
        assert_eq!(busy_share(Some([100, 50]), Some([200, 125])), Some(0.25));
        assert_eq!(busy_share(Some([100, 50]), Some([100, 50])), None);
        assert_eq!(busy_share(None, Some([100, 50])), None);
        let mut host = Host::describe(&[CoreId { id: 0 }]);
        host.others = Some(0.25);
        assert!(host.warning().is_some_and(|text| text.contains("25 %")));
        host.others = Some(0.05);
        assert_eq!(host.warning(), None);
    }

    #[test]
    fn cores_are_told_if_threads_have_some() {
        let host = Host::describe(&[0, 1].map(|id| CoreId { id }));
        assert!(host.summary(true).contains("producer on core 0, consumer on core 1"));
        assert!(host.summary(false).contains("no thread is pinned"));
    }
}
