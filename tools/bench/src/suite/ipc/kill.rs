//! Processes that are killed at random moments, and others that go on.

use std::time::{Duration, Instant};

use corelane::shm::{
    Carried, Consumer, Error, Lane, Peer, Producer, RecordConsumer, RecordProducer,
};
use hdrhistogram::Histogram;

use super::lane::{text, words, words_mut};
use super::{IpcKernel, Record, Role, Starter, number, record};
use crate::kinds::Test;
use crate::sample::{Kills, Sample, histogram};
use crate::suite::wait::Strategy;

/// Words of a record.
pub(super) const W: usize = 8;
/// Longest life of a process after it has its side.
const MOST_LIFE_US: u64 = 2000;
/// A process that does not go on within this time hangs.
pub(super) const HUNG: Duration = Duration::from_secs(10);

pub(super) fn kernel<K: Killed>() -> IpcKernel {
    IpcKernel {
        record_bytes: 8 * W,
        strategies: &[Strategy::Adaptive],
        tests: &[Test::Kill],
        measure: measure::<K>,
        peer: peer::<K>,
    }
}

/// A kind of lane whose processes are killed.
pub(super) trait Killed: 'static {
    type Carried: Carried + ?Sized;
    type Tx: Handle;
    type Rx: Handle;

    /// The capacity of a lane for `records` records.
    fn capacity(records: usize) -> usize;
    fn producer(lane: &Lane<Self::Carried>) -> Result<Self::Tx, Error>;
    fn consumer(lane: &Lane<Self::Carried>) -> Result<Self::Rx, Error>;
    /// Sends the record of a number, and waits for room if it may.
    fn push(tx: &mut Self::Tx, number: u64, may_wait: bool) -> bool;
    /// The number of the next record, which is in its turn `None` if the record is damaged.
    fn pop(rx: &mut Self::Rx, timeout: Duration) -> Option<Option<u64>>;
}

/// A handle of a lane.
pub(super) trait Handle {
    fn position(&self) -> u64;
    fn peer(&self) -> Peer;
    /// Waits for a process on the other side. False if none comes.
    fn meets_peer(&self) -> bool;
}

/// Items of 64 bytes.
pub(super) enum Items {}

/// Byte records of several lengths.
pub(super) enum Records {}

macro_rules! killed {
    ($kind:ident carries $carried:ty, $tx:ty, $rx:ty, $words:expr, $push:expr, $number:expr) => {
        impl Killed for $kind {
            type Carried = $carried;
            type Tx = $tx;
            type Rx = $rx;

            fn capacity(records: usize) -> usize {
                records * $words
            }

            fn producer(lane: &Lane<$carried>) -> Result<Self::Tx, Error> {
                lane.producer()
            }

            fn consumer(lane: &Lane<$carried>) -> Result<Self::Rx, Error> {
                lane.consumer()
            }

            fn push(tx: &mut Self::Tx, number: u64, may_wait: bool) -> bool {
                $push(tx, number, may_wait)
            }

            fn pop(rx: &mut Self::Rx, timeout: Duration) -> Option<Option<u64>> {
                rx.pop_timeout(timeout).ok().map(|record| $number(&record))
            }
        }

        killed!(@handle $tx);
        killed!(@handle $rx);
    };
    (@handle $handle:ty) => {
        impl Handle for $handle {
            fn position(&self) -> u64 {
                self.position()
            }

            fn peer(&self) -> Peer {
                self.peer()
            }

            fn meets_peer(&self) -> bool {
                self.wait_for_peer(HUNG)
            }
        }
    };
}

killed! {
    Items carries Record<W>, Producer<Record<W>>, Consumer<Record<W>>,
    1, push_item, |record: &Record<W>| number(record)
}
killed! {
    Records carries [u8], RecordProducer, RecordConsumer,
    8 * (W + 1), push_record, number_of_record
}

fn push_item(tx: &mut Producer<Record<W>>, number: u64, may_wait: bool) -> bool {
    match may_wait {
        true => tx.push(record(number)).is_ok(),
        false => tx.try_push(record(number)).is_ok(),
    }
}

/// Bytes of a record.
fn len(number: u64) -> usize {
    8 * (1 + number as usize % (2 * W))
}

fn push_record(tx: &mut RecordProducer, number: u64, may_wait: bool) -> bool {
    let claim = if may_wait { tx.claim(len(number)) } else { tx.try_claim(len(number)) };
    let Ok(mut claim) = claim else { return false };
    words_mut(&mut claim).fill(number);
    claim.commit();
    true
}

fn number_of_record(record: &[u8]) -> Option<u64> {
    number(words(record)).filter(|number| record.len() == len(*number))
}

/// A small generator of random numbers.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Self {
        Self(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// The numbers of the descriptors, pipes, sockets and memory files that this process has.
pub(super) fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

/// Kills processes that push, and processes that pop, in turn. The value is the time in
/// milliseconds in which a lane is opened after a kill, at the 99th percentile.
fn measure<K: Killed>(starter: &Starter<'_>) -> Result<Sample, String> {
    let before = descriptors();
    let mut run = Run::<K>::new(starter)?;
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

struct Run<'a, K: Killed> {
    starter: &'a Starter<'a>,
    /// From the processes that push.
    sent: (Lane<K::Carried>, K::Rx),
    /// To the processes that pass records on, and back.
    there: (Lane<K::Carried>, K::Tx),
    back: (Lane<K::Carried>, K::Rx),
    /// The number that is expected next, of `sent` and of `back`.
    next: [u64; 2],
    kills: Kills,
    /// Times in which lanes were opened.
    opened: Histogram<u64>,
    random: Random,
}

impl<'a, K: Killed> Run<'a, K> {
    fn new(starter: &'a Starter<'a>) -> Result<Self, String> {
        let capacity = starter.trial.params.capacity;
        let lane = || Lane::create(K::capacity(capacity)).map_err(text);
        let (sent, there, back) = (lane()?, lane()?, lane()?);
        let (rx, tx) = (K::consumer(&sent).map_err(text)?, K::producer(&there).map_err(text)?);
        let answers = K::consumer(&back).map_err(text)?;
        Ok(Self {
            starter,
            sent: (sent, rx),
            there: (there, tx),
            back: (back, answers),
            next: [0; 2],
            kills: Kills::default(),
            opened: histogram(),
            random: Random::new(),
        })
    }

    /// How long a process lives.
    fn life(&mut self) -> Instant {
        Instant::now() + Duration::from_micros(self.random.next() % MOST_LIFE_US)
    }

    /// A record that came from the lane of this index. In-flight records may be missing, if a
    /// process that passes them on was killed.
    fn see(&mut self, lane: usize, number: Option<u64>, may_miss: u64) {
        match number {
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
        if !self.sent.1.meets_peer() {
            self.kills.hung += 1;
        }
        let end = self.life();
        while Instant::now() < end {
            if let Some(number) = K::pop(&mut self.sent.1, Duration::from_micros(50)) {
                self.see(0, number, 0);
            }
        }
        child.kill().and_then(|()| child.wait()).map_err(text)?;
        self.kills.kills += 1;
        // What it had sent is there, and then the end.
        let from = Instant::now();
        let peer = self.sent.1.peer();
        while let Some(number) = K::pop(&mut self.sent.1, HUNG) {
            self.see(0, number, 0);
        }
        self.ended(peer, from);
        let begin = Instant::now();
        let tx = Lane::open(&self.sent.0).and_then(|lane| K::producer(&lane));
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
        if !self.there.1.meets_peer() || !self.back.1.meets_peer() {
            self.kills.hung += 1;
        }
        let end = self.life();
        // The process may be killed between the pop of a record and its push.
        let mut may_miss = 1;
        let mut see = |run: &mut Self, number| {
            let before = run.next[1];
            run.see(1, number, may_miss);
            if run.next[1] > before + 1 {
                may_miss = 0;
            }
        };
        while Instant::now() < end {
            let next = self.there.1.position();
            K::push(&mut self.there.1, next, false);
            if let Some(number) = K::pop(&mut self.back.1, Duration::ZERO) {
                see(self, number);
            }
        }
        child.kill().and_then(|()| child.wait()).map_err(text)?;
        self.kills.kills += 1;
        let from = Instant::now();
        let _ = self.back.1.peer();
        while let Some(number) = K::pop(&mut self.back.1, HUNG) {
            see(self, number);
        }
        self.ended(self.there.1.peer(), from);
        let begin = Instant::now();
        let rx = Lane::open(&self.there.0).and_then(|lane| K::consumer(&lane));
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
fn peer<K: Killed>(peer: &super::Peer) -> Result<(), String> {
    let open = |number| Lane::<K::Carried>::open_number(number).map_err(text);
    let mut tx = K::producer(&open(*peer.links.last().ok_or("it has no lane")?)?).map_err(text)?;
    match peer.role {
        Role::GoOnSending => {
            let mut next = tx.position();
            while K::push(&mut tx, next, true) {
                next += 1;
            }
        }
        Role::PassOn => {
            let mut rx = K::consumer(&open(peer.links[0])?).map_err(text)?;
            while let Some(number) = K::pop(&mut rx, Duration::MAX) {
                let number = number.ok_or("a record is damaged")?;
                if !K::push(&mut tx, number, true) {
                    return Err("nobody takes the records".into());
                }
            }
        }
        _ => return Err("it is only killed".into()),
    }
    Ok(())
}
