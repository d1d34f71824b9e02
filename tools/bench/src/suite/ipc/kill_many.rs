//! Processes that push in lanes of their own, and processes that pop from all of them: all are
//! killed at random moments and replaced, while the others go on.

use std::collections::HashMap;
use std::process::Child;
use std::time::{Duration, Instant};

use corelane::shm::{Lanes, ManyConsumer, ManyProducer};
use hdrhistogram::Histogram;

use super::kill::{HUNG, Random, W, descriptors};
use super::lane::text;
use super::{IpcKernel, Peer, Record, Role, Starter};
use crate::kinds::Test;
use crate::sample::{Kills, Sample, histogram};
use crate::suite::wait::Strategy;

/// Processes that push.
const PUSHERS: usize = 2;
/// Processes that pass on what the others have pushed.
const PASSERS: usize = 2;
/// Longest time from one kill to the next.
const MOST_BETWEEN_US: u64 = 2000;

pub(super) fn kernel() -> IpcKernel {
    IpcKernel {
        record_bytes: 8 * W,
        strategies: &[Strategy::Adaptive],
        tests: &[Test::Kill],
        measure,
        peer,
    }
}

/// The record of a process: its id, a number, and words that follow from both.
fn record(process: u64, number: u64) -> Record<W> {
    let mut record = [process ^ number; W];
    (record[0], record[1]) = (process, number);
    record
}

struct Run<'a> {
    starter: &'a Starter<'a>,
    pushed: Lanes<Record<W>>,
    passed: Lanes<Record<W>>,
    rx: ManyConsumer<Record<W>>,
    /// Keeps all sides open while the processes of one are dead.
    open: Option<(ManyConsumer<Record<W>>, [ManyProducer<Record<W>>; 2])>,
    processes: Vec<Child>,
    /// The numbers that have come of each process, as bits.
    seen: HashMap<u64, Vec<u64>>,
    kills: Kills,
    /// Times in which a dead process's lane was opened and taken.
    opened: Histogram<u64>,
}

/// As `kill::measure`.
fn measure(starter: &Starter<'_>) -> Result<Sample, String> {
    let before = descriptors();
    let mut run = Run::new(starter)?;
    let (begin, mut random, mut passers_killed) = (Instant::now(), Random::new(), 0);
    while run.kills.kills == 0 || !starter.trial.length.is_over(run.kills.kills, begin) {
        if corelane_report::interrupt::requested() {
            break;
        }
        let at = random.next() as usize % run.processes.len();
        passers_killed += u64::from(at >= PUSHERS);
        run.kill(at, Duration::from_micros(random.next() % MOST_BETWEEN_US))?;
    }
    let mut kills = run.finish(passers_killed)?;
    kills.left_behind += descriptors().saturating_sub(before) as u64;
    Ok(Sample { kills: Some(kills), ..Sample::of(kills.reopen_ms_p99) })
}

impl<'a> Run<'a> {
    fn new(starter: &'a Starter<'a>) -> Result<Self, String> {
        let capacity = starter.trial.params.capacity;
        let pushed = Lanes::create_for_producers(PUSHERS + 1, capacity).map_err(text)?;
        let passed = Lanes::create_for_producers(PASSERS + 1, capacity).map_err(text)?;
        let rx = passed.consumer().map_err(text)?;
        let producers = [pushed.producer().map_err(text)?, passed.producer().map_err(text)?];
        let open = Some((pushed.consumer().map_err(text)?, producers));
        let (processes, seen, kills) = (Vec::new(), HashMap::new(), Kills::default());
        let opened = histogram();
        let mut run = Self { starter, pushed, passed, rx, open, processes, seen, kills, opened };
        run.processes = (0..PUSHERS + PASSERS).map(|at| run.start(at)).collect::<Result<_, _>>()?;
        Ok(run)
    }

    fn start(&self, at: usize) -> Result<Child, String> {
        let mut child = Starter::command()?;
        let pushed = self.pushed.give(&mut child).map_err(text)?;
        if at < PUSHERS {
            return self.starter.start(child, Role::GoOnSending, &[pushed]);
        }
        let passed = self.passed.give(&mut child).map_err(text)?;
        self.starter.start(child, Role::PassOn, &[pushed, passed])
    }

    /// Looks at what comes for this time, and then kills a process.
    fn kill(&mut self, at: usize, life: Duration) -> Result<(), String> {
        let end = Instant::now() + life;
        while Instant::now() < end {
            if let Ok(record) = self.rx.try_pop() {
                self.see(record);
            }
        }
        self.processes[at].kill().and_then(|()| self.processes[at].wait()).map_err(text)?;
        self.kills.kills += 1;
        let (lanes, begin) =
            (if at < PUSHERS { &self.pushed } else { &self.passed }, Instant::now());
        match Lanes::<Record<W>>::open(lanes).and_then(|lanes| lanes.producer()) {
            Ok(_) => self.opened.saturating_record(begin.elapsed().as_nanos() as u64),
            Err(_) => self.kills.left_behind += 1,
        }
        self.processes[at] = self.start(at)?;
        // The others go on.
        match self.rx.pop_timeout(HUNG) {
            Ok(record) => self.see(record),
            Err(_) => self.kills.hung += 1,
        }
        Ok(())
    }

    fn see(&mut self, found: Record<W>) {
        let [process, number, ..] = found;
        if found != record(process, number) {
            self.kills.lost += 1;
            return;
        }
        let bits = self.seen.entry(process).or_default();
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if bits.len() <= word {
            bits.resize(word + 1, 0);
        }
        self.kills.doubled += u64::from(bits[word] & bit != 0);
        bits[word] |= bit;
    }

    /// Ends all processes that push, takes what is left, and counts what is missing but what
    /// `in_hand` killed processes may have had.
    fn finish(mut self, in_hand: u64) -> Result<Kills, String> {
        for pusher in &mut self.processes[..PUSHERS] {
            pusher.kill().and_then(|()| pusher.wait()).map_err(text)?;
        }
        self.open = None;
        // Those that pass on find out that nobody pushes any more, and end. Then this side finds
        // out, too.
        while let Some(record) = self.rx.pop() {
            self.see(record);
        }
        for mut passer in self.processes.drain(PUSHERS..) {
            let status = passer.wait().map_err(text)?;
            self.kills.hung += u64::from(!status.success());
        }
        let missing = |bits: &Vec<u64>| {
            let last = bits.last().map_or(0, |word| u64::from(word.leading_zeros()));
            bits.iter().map(|word| u64::from(word.count_zeros())).sum::<u64>() - last
        };
        let missing: u64 = self.seen.values().map(missing).sum();
        self.kills.lost += missing.saturating_sub(in_hand);
        self.kills.reopen_ms_p99 = self.opened.value_at_quantile(0.99) as f64 / 1e6;
        Ok(self.kills)
    }
}

/// The processes that are killed.
fn peer(peer: &Peer) -> Result<(), String> {
    let open = |number| Lanes::<Record<W>>::open_number(number).map_err(text);
    let mut tx = open(*peer.links.last().ok_or("it has no lanes")?)?.producer().map_err(text)?;
    if peer.role == Role::GoOnSending {
        let process = u64::from(std::process::id());
        return (0..).try_for_each(|n| tx.push(record(process, n))).map_err(text);
    }
    let mut rx = open(peer.links[0])?.consumer().map_err(text)?;
    while let Some(record) = rx.pop() {
        tx.push(record).map_err(text)?;
    }
    Ok(())
}
