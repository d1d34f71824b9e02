//! The machine the numbers come from, as far as it tells.

use std::fs;
use std::sync::LazyLock;
use std::thread;

use core_affinity::CoreId;
use corelane_report::list;
use serde::Serialize;

static CPU_INFO: LazyLock<String> =
    LazyLock::new(|| fs::read_to_string("/proc/cpuinfo").unwrap_or_default());

/// What a reader of the numbers needs to know.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Host {
    pub(crate) cpu: String,
    pub(crate) cpus: usize,
    /// Size of the last-level cache, as the kernel prints it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_level_cache: Option<String>,
    /// Whether this is a virtual machine, whose cores may move.
    pub(crate) virtual_machine: bool,
    pub(crate) arch: &'static str,
    pub(crate) os: String,
    /// Cores in the order in which threads are given them: first a producer's, then a consumer's.
    pub(crate) cores: Vec<usize>,
    /// Whether these are one core, on which nothing is concurrent.
    pub(crate) same_core: bool,
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
            arch: std::env::consts::ARCH,
            os: operating_system(),
            cores: cores.iter().map(|core| core.id).collect(),
            same_core: cores.iter().all(|core| *core == cores[0]),
            optimised: !cfg!(debug_assertions),
        }
    }

    pub(crate) fn summary(&self) -> String {
        let cache = self.last_level_cache.as_ref().map(|size| format!(", {size} cache"));
        let virtual_machine = if self.virtual_machine { ", virtual" } else { "" };
        let cores = match (self.same_core, &self.cores[..]) {
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

/// Whether the processor lists `flag`. Only Linux tells.
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
