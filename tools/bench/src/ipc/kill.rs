//! Processes that are killed at random moments, and others that go on.

use std::time::{Duration, Instant};

use corelane::shm::{Consumer, Lane, Peer, Producer};
use hdrhistogram::Histogram;

use super::lane::text;
use super::{IpcKernel, Record, Role, Starter, number, record};
use crate::kinds::{Strategy, Test};
use crate::sample::{Kills, Sample, histogram};

/// Words of a record.
const W: usize = 8;
/// Longest life of a process after it has its side.
const MOST_LIFE_US: u64 = 2000;
/// A process that does not go on within this time hangs.
const HUNG: Duration = Duration::from_secs(10);

pub(super) fn kernel() -> IpcKernel {
    IpcKernel {
        record_bytes: 8 * W,
        strategy: Strategy::Adaptive,
        tests: &[Test::Kill],
        measure,
        peer,
    }
}

/// The numbers of the descriptors, pipes, sockets and memory files that this process has.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Kills processes that push, and processes that pop, in turn. The value is the time in milliseconds in which a lane is opened after a kill, at
/// the 99th percentile.
fn measure(starter: &Starter<'_>) -> Result<Sample, String> {
    let before = descriptors();
    let mut run = Run::new(starter)?;
    let begin = Instant::now();
    while run.kills.kills == 0 || !starter.trial.length.is_over(run.kills.kills, begin) {
        if corelane_report::interrupt::requested() {
            break;
        }
        match run.kills.kills % 2 {
            0 => run.kill_sender()?,
            _ => run.kill_receiver()?,
        }
    }
    let (mut kills, opened) = (run.kills, run.opened.clone());
    drop(run);
    kills.left_behind += descriptors().saturating_sub(before) as u64;
    kills.reopen_ms_p99 = opened.value_at_quantile(0.99) as f64 / 1e6;
    Ok(Sample { kills: Some(kills), ..Sample::of(kills.reopen_ms_p99) })
}

struct Run<'a> {
    starter: &'a Starter<'a>,
    /// From the processes that push.
    sent: (Lane<Record<W>>, Consumer<Record<W>>),
    /// To the processes that pass records on, and back.
    there: (Lane<Record<W>>, Producer<Record<W>>),
    back: (Lane<Record<W>>, Consumer<Record<W>>),
    /// The number that is expected next, of `sent` and of `back`.
    next: [u64; 2],
    kills: Kills,
    /// Times in which lanes were opened.
    opened: Histogram<u64>,
    random: u64,
}

impl<'a> Run<'a> {
    fn new(starter: &'a Starter<'a>) -> Result<Self, String> {
        let capacity = starter.trial.params.capacity;
        let lane = || Lane::create(capacity).map_err(text);
        let (sent, there, back) = (lane()?, lane()?, lane()?);
        let (rx, tx) = (sent.consumer().map_err(text)?, there.producer().map_err(text)?);
        let answers = back.consumer().map_err(text)?;
        Ok(Self {
            starter,
            sent: (sent, rx),
            there: (there, tx),
            back: (back, answers),
            next: [0; 2],
            kills: Kills::default(),
            opened: histogram(),
            random: 0x2545_f491_4f6c_dd1d,
        })
    }

    /// How long a process lives.
    fn life(&mut self) -> Instant {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        Instant::now() + Duration::from_micros(self.random % MOST_LIFE_US)
    }

    /// A record that came from the lane of this index. In-flight records may be missing, if a process that passes them on was killed.
    fn see(&mut self, lane: usize, record: &Record<W>, may_miss: u64) {
        match number(record) {
            Some(number) if number >= self.next[lane] => {
                let missing = number - self.next[lane];
                self.kills.lost += missing.saturating_sub(may_miss);
                self.next[lane] = number + 1;
            }
            Some(_) => self.kills.doubled += 1,
            None => self.kills.lost += 1,
        }
    }

    fn kill_sender(&mut self) -> Result<(), String> {
        let mut child = Starter::command()?;
        let link = self.sent.0.give(&mut child).map_err(text)?;
        let mut child = self.starter.start(child, Role::GoOnSending, &[link])?;
        if !self.sent.1.wait_for_peer(HUNG) {
            self.kills.hung += 1;
        }
        let end = self.life();
        while Instant::now() < end {
            if let Ok(record) = self.sent.1.pop_timeout(Duration::from_micros(50)) {
                self.see(0, &record, 0);
            }
        }
        child.kill().and_then(|()| child.wait()).map_err(text)?;
        self.kills.kills += 1;
        // What it had sent is there, and then the end.
        let from = Instant::now();
        let peer = self.sent.1.peer();
        while let Ok(record) = self.sent.1.pop_timeout(HUNG) {
            self.see(0, &record, 0);
        }
        self.ended(peer, from);
        let begin = Instant::now();
        let tx = Lane::<Record<W>>::open(&self.sent.0).and_then(|lane| lane.producer());
        self.opened.saturating_record(begin.elapsed().as_nanos() as u64);
        match tx {
            // Nothing was sent twice, or is missing.
            Ok(tx) if tx.position() == self.next[0] => {}
            Ok(_) => self.kills.lost += 1,
            Err(_) => self.kills.left_behind += 1,
        }
        Ok(())
    }

    fn kill_receiver(&mut self) -> Result<(), String> {
        let mut child = Starter::command()?;
        let there = self.there.0.give(&mut child).map_err(text)?;
        let back = self.back.0.give(&mut child).map_err(text)?;
        let mut child = self.starter.start(child, Role::PassOn, &[there, back])?;
        if !self.there.1.wait_for_peer(HUNG) || !self.back.1.wait_for_peer(HUNG) {
            self.kills.hung += 1;
        }
        let end = self.life();
        // The process may be killed between the pop of a record and its push.
        let mut may_miss = 1;
        let mut see = |run: &mut Self, record| {
            let before = run.next[1];
            run.see(1, &record, may_miss);
            if run.next[1] > before + 1 {
                may_miss = 0;
            }
        };
        while Instant::now() < end {
            let next = self.there.1.position();
            let _ = self.there.1.try_push(record(next));
            if let Ok(record) = self.back.1.try_pop() {
                see(self, record);
            }
        }
        child.kill().and_then(|()| child.wait()).map_err(text)?;
        self.kills.kills += 1;
        let from = Instant::now();
        let _ = self.back.1.peer();
        while let Ok(record) = self.back.1.pop_timeout(HUNG) {
            see(self, record);
        }
        self.ended(self.there.1.peer(), from);
        let begin = Instant::now();
        let rx = Lane::<Record<W>>::open(&self.there.0).and_then(|lane| lane.consumer());
        self.opened.saturating_record(begin.elapsed().as_nanos() as u64);
        if rx.is_err() {
            self.kills.left_behind += 1;
        }
        Ok(())
    }

    /// After a kill: the lane must have said so, in time.
    fn ended(&mut self, peer: Peer, from: Instant) {
        if peer != Peer::Died || from.elapsed() >= HUNG {
            self.kills.hung += 1;
        }
    }
}

/// The processes that are killed.
fn peer(peer: &super::Peer) -> Result<(), String> {
    let links = &peer.links;
    let open = |number| Lane::<Record<W>>::open_number(number).map_err(text);
    match peer.role {
        Role::GoOnSending => {
            let mut tx = open(links[0])?.producer().map_err(text)?;
            while tx.push(record(tx.position())).is_ok() {}
        }
        Role::PassOn => {
            let mut rx = open(links[0])?.consumer().map_err(text)?;
            let mut tx = open(links[1])?.producer().map_err(text)?;
            while let Some(record) = rx.pop() {
                tx.push(record).map_err(|_| "nobody takes the records")?;
            }
        }
        _ => return Err("it is only killed".into()),
    }
    Ok(())
}
