//! What a program does between its calls: read from a file of the recorder, or from a capture.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use corelane_report::short;

use super::args::WorkloadArgs;
use crate::kinds::TeamSize;
use crate::schedule;
use crate::stats::Quartiles;

/// Steps of a thread that are replayed, again and again: the last ones of the file. More would fill
/// the caches.
const STEPS: usize = 4096;
/// Longer times between calls are shortened to this: the queue is empty in them anyway.
const LONGEST_NS: u64 = 10_000_000;
/// Items that a queue must hold if the file doesn't say it.
const CAPACITY: usize = 1024;
/// Calls that a measurement should have.
const CALLS: f64 = 400.0;

/// A call, and the thread's own time before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    /// For an item of a consumer: its part of the time after its call.
    pub(crate) own_ns: u64,
    /// Time in which the thread sleeps besides.
    pub(crate) asleep_ns: u64,
    pub(crate) items: usize,
    pub(crate) bytes: usize,
}

/// A workload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Workload {
    /// The file's name.
    pub(crate) name: String,
    pub(crate) capacity: usize,
    /// Whether steps begin at fixed times, as packets do, and not after the step before.
    pub(crate) has_times: bool,
    pub(crate) producers: Vec<Vec<Step>>,
    pub(crate) consumers: Vec<Vec<Step>>,
}

impl Workload {
    /// The workload in a file. The error is one line.
    pub(crate) fn read(args: &WorkloadArgs) -> Result<Self, String> {
        let path = &args.workload;
        Self::of_file(path, args).map_err(|reason| {
            format!(
                "can't replay {}: {reason}; give a file of corelane::workload::Recorder, or a capture",
                path.display()
            )
        })
    }

    fn of_file(path: &Path, args: &WorkloadArgs) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (mut file, mut start) = (BufReader::new(file), [0; MAGIC.len()]);
        let is_text = file.read_exact(&mut start).is_ok() && start == MAGIC.as_bytes();
        if !is_text {
            let again = File::open(path).map_err(|error| error.to_string())?;
            let packets =
                corelane_capture::read(BufReader::new(again)).map_err(|error| error.to_string())?;
            let arrivals = schedule::replay(&packets, args.speedup.0, Duration::MAX);
            return Ok(Self::of_times(name, &arrivals, args.service.unwrap_or_default()));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(|error| error.to_string())?;
        text.parse::<Self>().map(|workload| Self { name, ..workload })
    }

    /// The packets of a capture, from one producer to one consumer.
    fn of_times(name: String, arrivals: &[schedule::Arrival], service: Duration) -> Self {
        let from = arrivals.len().saturating_sub(STEPS);
        let before = [0].into_iter().chain(arrivals.iter().map(|arrival| arrival.at_ns));
        let steps = arrivals.iter().zip(before).map(|(arrival, before)| Step {
            own_ns: arrival.at_ns - before,
            asleep_ns: 0,
            items: 1,
            bytes: arrival.bytes as usize,
        });
        let own_ns = service.as_nanos() as u64;
        Self {
            name,
            capacity: CAPACITY,
            has_times: true,
            producers: vec![steps.skip(from).collect()],
            consumers: vec![vec![Step { own_ns, asleep_ns: 0, items: 1, bytes: 0 }]],
        }
    }

    pub(crate) fn size(&self) -> TeamSize {
        TeamSize { producers: self.producers.len(), consumers: self.consumers.len() }
    }

    /// The items that most calls of producers move.
    pub(crate) fn batch(&self) -> usize {
        let items = self.producers.iter().flatten().map(|step| step.items as f64);
        Quartiles::of(items).map_or(1, |items| items.median as usize).max(1)
    }

    /// As long as enough calls of a producer take.
    pub(crate) fn length(&self) -> Duration {
        let per_call = |steps: &Vec<Step>| {
            let all: u64 = steps.iter().map(|step| step.own_ns + step.asleep_ns).sum();
            all as f64 / steps.len() as f64
        };
        let longest = self.producers.iter().map(per_call).fold(0.0, f64::max);
        Duration::from_secs_f64((CALLS * longest / 1e9).clamp(0.02, 0.4))
    }

    /// One line for a person.
    pub(crate) fn summary(&self) -> String {
        let TeamSize { producers, consumers } = self.size();
        let threads = |n: usize, side| format!("{n} {side}{}", if n == 1 { "" } else { "s" });
        let bytes = self.producers.iter().flatten().map(|step| step.bytes as f64);
        let bytes = Quartiles::of(bytes).map_or(0.0, |bytes| bytes.median);
        let times = if self.has_times { "from item to item" } else { "between calls" };
        format!(
            "{}, {}, items of {bytes} bytes; {times} a producer takes {} ns, for an item a consumer {} ns",
            threads(producers, "producer"),
            threads(consumers, "consumer"),
            times_of(&self.producers),
            times_of(&self.consumers),
        )
    }
}

/// Median and quartiles of own times.
fn times_of(threads: &[Vec<Step>]) -> String {
    let times = threads.iter().flatten().map(|step| step.own_ns as f64);
    Quartiles::of(times)
        .map_or_else(String::new, |times| format!("{} ({})", short(times.median), times.spread()))
}

/// The first line.
const MAGIC: &str = "corelane workload 1\n";

impl FromStr for Workload {
    type Err = String;

    /// Reads what follows the first line.
    fn from_str(text: &str) -> Result<Self, String> {
        let (mut bytes, mut capacity, mut clock_ns) = (0, 0, 0);
        let (mut producers, mut consumers): (Vec<Vec<Step>>, Vec<Vec<Step>>) = Default::default();
        let mut is_producer = None;
        for (number, line) in (2..).zip(text.lines()) {
            let wrong = || format!("line {number} is no line of a workload");
            let word = |word: &str| word.parse::<u64>().map_err(|_| wrong());
            match *line.split(' ').collect::<Vec<_>>() {
                ["item", value] => bytes = word(value)? as usize,
                ["capacity", value] => capacity = word(value)? as usize,
                ["clock", value] => clock_ns = word(value)?,
                ["producer"] => (is_producer, _) = (Some(true), producers.push(Vec::new())),
                ["consumer"] => (is_producer, _) = (Some(false), consumers.push(Vec::new())),
                [own, asleep, _, items] => {
                    let items = (word(items)? as usize).max(1);
                    let thread = match is_producer.ok_or_else(wrong)? {
                        true => producers.last_mut().zip(Some(1)),
                        false => consumers.last_mut().zip(Some(items as u64)),
                    };
                    let (thread, parts) = thread.ok_or_else(wrong)?;
                    let own_ns = word(own)?.saturating_sub(clock_ns).min(LONGEST_NS) / parts;
                    let asleep_ns = word(asleep)?.min(LONGEST_NS) / parts;
                    thread.push(Step { own_ns, asleep_ns, items, bytes });
                }
                _ => return Err(wrong()),
            }
        }
        for (threads, side) in [(&mut producers, "producer"), (&mut consumers, "consumer")] {
            threads.retain(|steps| !steps.is_empty());
            threads
                .iter_mut()
                .for_each(|steps| drop(steps.drain(..steps.len().saturating_sub(STEPS))));
            if threads.is_empty() {
                return Err(format!("it has no calls of a {side}, record for longer"));
            }
            if threads.len() > TeamSize::MOST {
                return Err(format!("it has more than {} {side}s", TeamSize::MOST));
            }
        }
        let capacity = if (1..=1 << 20).contains(&capacity) { capacity } else { CAPACITY };
        Ok(Self { name: String::new(), capacity, has_times: false, producers, consumers })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use corelane::workload::Recorder;
    use corelane::{mpmc, spsc};

    use super::*;
    use crate::schedule::Arrival;

    fn recorded(recorder: &Recorder) -> Result<Workload, String> {
        let mut text = Vec::new();
        recorder.write(&mut text).expect("memory takes all");
        String::from_utf8(text).unwrap().strip_prefix(MAGIC).expect("its first line").parse()
    }

    #[test]
    fn a_recorded_workload_is_read() {
        let recorder = Recorder::new();
        let (mut tx, mut rx) = recorder.pair(spsc::queue::<[u8; 24]>(64).unwrap());
        for _ in 0..5 {
            assert_eq!(tx.push_slice(&[[0; 24]; 4]), 4);
            std::thread::sleep(Duration::from_millis(1));
            assert_eq!(rx.pop_slice(&mut [[0; 24]; 4]), 4);
        }
        let read = recorded(&recorder).expect("it is a workload");
        assert_eq!((read.size(), read.batch(), read.capacity), (TeamSize::ONE, 4, tx.capacity()));
        let [producer, consumer] = [&read.producers[0], &read.consumers[0]];
        assert_eq!((producer.len(), consumer.len()), (4, 4), "all calls but the first");
        let passed = |step: &Step| step.own_ns + step.asleep_ns;
        assert!(producer.iter().all(|step| step.bytes == 24));
        let [producer, consumer] = [producer, consumer].map(|all| all.iter().map(passed).max());
        assert!(producer >= Some(900_000) && consumer >= Some(200_000), "{read:?}");
        assert!(read.summary().starts_with("1 producer, 1 consumer, items of 24 bytes"));
    }

    #[test]
    fn handles_without_calls_are_no_threads() {
        let recorder = Recorder::new();
        let (mut tx, mut rx) = recorder.pair(mpmc::queue(16).unwrap());
        let _idle = (tx.clone(), rx.clone());
        assert!(recorded(&recorder).unwrap_err().contains("no calls of a producer"));
        (0..3).for_each(|n| tx.try_push(n).unwrap());
        assert!(recorded(&recorder).unwrap_err().contains("no calls of a consumer"));
        (0..3).for_each(|_| _ = rx.try_pop());
        assert_eq!(recorded(&recorder).expect("it is a workload").size(), TeamSize::ONE);
    }

    #[test]
    fn what_is_no_workload_is_refused() {
        let error = |text: &str| text.parse::<Workload>().unwrap_err();
        assert!(error("producer\n1 2 3\n").contains("line 3 is no line"));
        assert!(error("1 2 3 4\n").contains("line 2 is no line"));
        assert!(error("item x\n").contains("line 2"));
        assert!(error("").contains("no calls"));
    }

    #[test]
    fn packets_have_times_and_sizes() {
        let arrivals =
            [(0, 60), (500, 1500), (700, 40)].map(|(at_ns, bytes)| Arrival { at_ns, bytes });
        let read = Workload::of_times("a.pcap".into(), &arrivals, Duration::from_nanos(90));
        let steps = read.producers[0].iter().map(|step| (step.own_ns, step.bytes));
        assert_eq!(steps.collect::<Vec<_>>(), [(0, 60), (500, 1500), (200, 40)]);
        assert_eq!((read.consumers[0][0].own_ns, read.has_times), (90, true));
    }
}
