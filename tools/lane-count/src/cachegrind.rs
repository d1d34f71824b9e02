//! Runs a loop under Valgrind's cachegrind, and reads what it has counted.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::{fs, io};

use corelane_report::{Failure, name};
use serde::{Deserialize, Serialize};

use crate::kernels::{IN_TURN, Kernel};

/// Rounds of the two runs whose difference is taken, so that what begins and ends a run is not
/// counted.
const ROUNDS: [u64; 2] = [500, 1000];

/// Counts of an item.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) instructions: f64,
    pub(crate) reads: f64,
    pub(crate) writes: f64,
}

impl Counts {
    /// Each count, with its name.
    pub(crate) fn each(&self) -> [(&'static str, f64); 3] {
        [("instructions", self.instructions), ("reads", self.reads), ("writes", self.writes)]
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            instructions: hundredths(self.instructions + other.instructions),
            reads: hundredths(self.reads + other.reads),
            writes: hundredths(self.writes + other.writes),
        }
    }
}

/// The counts of a run.
#[derive(Debug, Clone, Copy, Default)]
struct Total([u64; 3]);

impl Total {
    /// The counts of an item, of two runs.
    fn per_item(self, fewer: Self) -> Counts {
        let items = ((ROUNDS[1] - ROUNDS[0]) * IN_TURN) as f64;
        let [instructions, reads, writes] =
            [0, 1, 2].map(|i| hundredths((self.0[i] as f64 - fewer.0[i] as f64) / items));
        Counts { instructions, reads, writes }
    }

    fn add(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, n)| *sum += n);
    }
}

/// Two decimals: more differ from run to run.
fn hundredths(value: f64) -> f64 {
    (100.0 * value).round() / 100.0
}

/// Counts of each source file, most instructions first. Of all of them together: the sum.
pub(crate) type Files = Vec<(String, Counts)>;

/// Counts what an item costs.
///
/// # Errors
///
/// If there is no Valgrind, or it fails.
pub(crate) fn count(kernel: &Kernel) -> Result<Files, Failure> {
    let [fewer, more] = ROUNDS.map(|rounds| run(kernel, rounds));
    let (fewer, more) = (fewer?, more?);
    let mut files: Files = more
        .into_iter()
        .map(|(file, total)| {
            let before = fewer.get(&file).copied().unwrap_or_default();
            (file, total.per_item(before))
        })
        .collect();
    files.sort_by(|a, b| b.1.instructions.total_cmp(&a.1.instructions));
    Ok(files)
}

/// The counts of each file in one run.
fn run(kernel: &Kernel, rounds: u64) -> Result<BTreeMap<String, Total>, Failure> {
    let failure = |what: &str| Failure::Run(format!("valgrind, {}: {what}", kernel.queue));
    let out = tempfile::NamedTempFile::new().map_err(|error| failure(&error.to_string()))?;
    let program = std::env::current_exe().map_err(|error| failure(&error.to_string()))?;
    let mut file_option = OsString::from("--cachegrind-out-file=");
    file_option.push(out.path());
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=yes", "--quiet"])
        .arg(file_option)
        .arg(program)
        .args(["--loop", kernel.queue, "--call"])
        .arg(name(&kernel.call))
        .args(["--rounds", &rounds.to_string()])
        .stdin(Stdio::null())
        .output();
    let output = match output {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Failure::Usage(
                "there is no valgrind on the path; install it with `apt install valgrind` or `dnf install valgrind`"
                    .into(),
            ));
        }
        Err(error) => return Err(failure(&error.to_string())),
        Ok(output) => output,
    };
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(failure(text.trim()));
    }
    let text = fs::read_to_string(out.path()).map_err(|error| failure(&error.to_string()))?;
    read(&text).ok_or_else(|| failure("its file can't be read"))
}

/// Reads a file of cachegrind: the counts of each line, below the name of its source file.
fn read(text: &str) -> Option<BTreeMap<String, Total>> {
    let events = text.lines().find_map(|line| line.strip_prefix("events: "))?;
    let events: Vec<_> = events.split_whitespace().collect();
    let place = |name| events.iter().position(|event| *event == name);
    let places = [place("Ir")?, place("Dr")?, place("Dw")?];
    let (mut files, mut file) = (BTreeMap::<_, Total>::new(), String::new());
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("fl=") {
            file = short(path);
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            let counts: Vec<u64> =
                line.split_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
            let total = Total(places.map(|place| counts.get(place).copied().unwrap_or(0)));
            files.entry(file.clone()).or_default().add(total);
        }
    }
    Some(files)
}

/// The path of a source file in its package.
fn short(path: &str) -> String {
    let behind = |mark: &str| path.split_once(mark).map(|(_, rest)| rest);
    if let Some(rest) = behind("/library/corelane/src/") {
        return rest.into();
    }
    if let Some(rest) = behind("/tools/lane-count/src/") {
        return format!("the loop ({rest})");
    }
    if let Some(rest) = behind("/registry/src/").and_then(|rest| rest.split_once('/')) {
        return rest.1.into();
    }
    if path.contains("/rustc/") || path.contains("/rust/library/") || path.contains("/rustlib/") {
        return "std".into();
    }
    "the system".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_cachegrind_is_read() {
        let text = "desc: I1 cache\ncmd: x\nevents: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw\n\
            fl=/a/library/corelane/src/lease.rs\nfn=f\n12 5 0 0 2 0 0 1 0 0\n13 1 0 0 0 0 0 0 0 0\n\
            fl=/rustc/0/library/core/src/x.rs\nfn=f\n7 3 0 0 1 0 0 1 0 0\nsummary: 9 0 0 3 0 0 2 0 0\n";
        let files = read(text).unwrap();
        assert_eq!(files["lease.rs"].0, [6, 2, 1]);
        assert_eq!(files["std"].0, [3, 1, 1]);
        assert!(read("events: Ir").is_none());
    }
}
