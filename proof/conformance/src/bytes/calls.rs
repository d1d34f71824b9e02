//! Any sequence of calls by many handles in one thread, compared with a model.
//!
//! Tests and a fuzzer make random sequences.

use std::collections::VecDeque;
use std::mem;
use std::slice::IterMut;

use corelane::block::bytes::queue_with;
use corelane::bytes::{Claim, ClaimError, Consumer, Producer, Record};
use corelane::{CapacityError, Config, Memory, TryPopError};

use super::{fill, is_record};

/// Bytes of a granule, by which a queue counts.
const GRANULE: usize = 16;

/// A queue, the calls on it, and its end.
#[derive(Debug, Clone)]
pub struct Case {
    /// Bytes that the queue is asked for.
    pub capacity: usize,
    /// Bytes asked for a block, if any.
    pub block: Option<usize>,
    /// First value of the counters.
    pub first: u64,
    /// The calls.
    pub calls: Vec<Call>,
    /// Which side is dropped first, with its unfinished claims or records.
    pub end: End,
}

/// A call. An index selects a claim or record of the driver, modulo their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Claims so many bytes.
    Claim(usize),
    /// Commits a claim.
    Commit(usize),
    /// Commits some of a claim's bytes: the second number, modulo the claim's length plus 1.
    CommitLen(usize, usize),
    /// Aborts a claim.
    Abort(usize),
    /// Forgets a claim.
    ForgetClaim(usize),
    /// Pushes so many bytes.
    Push(usize),
    /// Pops a record and keeps it.
    Pop,
    /// Drops a record.
    Release(usize),
    /// Forgets a record.
    ForgetRecord(usize),
}

/// Which side is dropped first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The producers; then all records are popped.
    Producers,
    /// The consumers; then records are pushed until the queue is closed.
    Consumers,
    /// Both, with records left behind.
    Both,
}

impl Case {
    /// The case that these bytes encode. All bytes encode a case.
    pub fn decode(bytes: &[u8]) -> Self {
        let mut bytes = bytes.iter().map(|byte| usize::from(*byte));
        let mut byte = || bytes.next();
        let (shape, block) = (byte().unwrap_or(0), byte().unwrap_or(0));
        let first = byte().unwrap_or(0) as u64;
        let end = [End::Producers, End::Consumers, End::Both][byte().unwrap_or(0) % 3];
        let mut calls = Vec::new();
        while let Some(kind) = byte() {
            let mut number = || byte().unwrap_or(0);
            calls.push(match kind % 16 {
                0 => Call::Claim(number() + number()),
                1 | 2 => Call::Claim(number()),
                3 | 4 => Call::Commit(number()),
                5 => Call::CommitLen(number(), number()),
                6 => Call::Abort(number()),
                7..=9 => Call::Push(number()),
                10..=12 => Call::Pop,
                13 => Call::Release(number()),
                14 => Call::Release(0),
                _ => match number() {
                    253.. => Call::ForgetClaim(number()),
                    250..253 => Call::ForgetRecord(number()),
                    _ => Call::Pop,
                },
            });
        }
        Self {
            capacity: 1 + 4 * shape,
            block: (block > 0).then_some(2 * block),
            first: 0_u64.wrapping_sub(first),
            calls,
            end,
        }
    }

    /// Makes the calls, and checks every answer.
    ///
    /// # Errors
    ///
    /// If the queue is refused.
    ///
    /// # Panics
    ///
    /// If an answer is wrong.
    pub fn run(&self) -> Result<(), CapacityError> {
        let config = Config::new(self.capacity).memory(Memory::Heap).first(self.first);
        let config = self.block.map_or(config, |bytes| config.block(bytes));
        let (tx, rx) = queue_with(config)?;
        // A claim keeps its handle, so each call gets its own handle.
        let (mut txs, mut rxs) = (vec![tx; self.calls.len() + 1], vec![rx; self.calls.len() + 1]);
        let model = Model::new(&txs[0]);
        let mut driver = Driver {
            model,
            txs: txs.iter_mut(),
            rxs: rxs.iter_mut(),
            claims: Vec::new(),
            records: Vec::new(),
        };
        for call in &self.calls {
            driver.call(*call);
        }
        let mut model = driver.finish();
        match self.end {
            End::Producers => {
                let mut rx = rxs.swap_remove(0);
                drop(txs);
                model.drains(&mut rx);
            }
            End::Consumers => {
                let mut tx = txs.swap_remove(0);
                drop(rxs);
                model.is_refused(&mut tx);
            }
            End::Both => {}
        }
        Ok(())
    }
}

/// An entry of the queue, in the order of claims.
#[derive(Debug, Clone, Copy)]
struct Entry {
    number: u64,
    /// Granules that were claimed.
    granules: usize,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Claimed,
    /// A record of so many bytes.
    Committed(usize),
    Aborted,
}

/// The queue's expected contents.
#[derive(Debug)]
struct Model {
    /// Entries that were claimed and not popped. An aborted entry stays until a consumer has
    /// skipped it.
    entries: VecDeque<Entry>,
    made: u64,
    /// Granules of popped records that are held.
    held: Vec<(u64, usize)>,
    /// The queue's capacity in granules, and the granules of a block.
    size: usize,
    block: usize,
}

impl Model {
    fn new(tx: &Producer) -> Self {
        let (size, block) = (tx.capacity() / GRANULE, tx.max_len() / GRANULE);
        assert!(block.is_power_of_two() && block <= size);
        Self { entries: VecDeque::new(), made: 0, held: Vec::new(), size, block }
    }

    /// Granules in use, at least.
    fn used(&self) -> usize {
        let entries: usize = self.entries.iter().map(|entry| entry.granules).sum();
        entries + self.held.iter().map(|(_, granules)| granules).sum::<usize>()
    }

    /// A claim for `len` bytes has got room.
    fn claimed(&mut self, len: usize) -> u64 {
        let (number, granules) = (self.made, len.div_ceil(GRANULE).max(1));
        self.made += 1;
        self.entries.push_back(Entry { number, granules, state: State::Claimed });
        // A consumer may have passed aborted entries already.
        let aborted = self.entries.iter().filter(|entry| entry.state == State::Aborted);
        let passed: usize = aborted.map(|entry| entry.granules).sum();
        assert!(self.used() - passed <= 2 * self.size, "more than fits");
        number
    }

    /// A claim for `len` bytes has not got room.
    fn refused(&mut self, len: usize, error: ClaimError) {
        let most = self.block * GRANULE;
        match error {
            ClaimError::TooLarge { len: named, most: told } => {
                assert!(len > most && (named, told) == (len, most));
                return;
            }
            ClaimError::Busy => assert!(!self.held.is_empty(), "no record is held"),
            ClaimError::Full => {}
            ClaimError::Closed => panic!("there are consumers"),
        }
        assert!(len <= most, "too large, even for an empty queue");
        // The claim has freed aborted entries.
        self.pass_aborted();
        let is_full = self.used() + len.div_ceil(GRANULE).max(1) > self.size;
        assert!(is_full || !self.held.is_empty(), "{error} for {len} bytes: {self:?}");
    }

    /// Claim `number` is over.
    fn settle(&mut self, number: u64, state: State) {
        let mut entries = self.entries.iter_mut();
        let entry = entries.find(|entry| entry.number == number).expect("claims aren't popped");
        entry.state = state;
    }

    /// Record `bytes` has been popped. Returns its number.
    fn popped(&mut self, bytes: &[u8]) -> u64 {
        self.pass_aborted();
        let entry = self.entries.pop_front().expect("a record out of nothing");
        let State::Committed(len) = entry.state else { panic!("{entry:?} is popped") };
        assert_eq!(len, bytes.len(), "length of {entry:?}");
        assert!(is_record(bytes, entry.number), "bytes of {entry:?}");
        assert!(bytes.as_ptr().addr().is_multiple_of(GRANULE));
        self.held.push((entry.number, entry.granules));
        entry.number
    }

    /// Nothing has been popped.
    fn not_popped(&mut self, error: TryPopError) {
        let is_unfinished = self.entries.iter().any(|entry| entry.state == State::Claimed);
        if is_unfinished {
            assert_eq!(error, TryPopError::Busy);
        } else {
            self.pass_aborted();
            assert!(self.entries.is_empty(), "{error}, but there is {:?}", self.entries);
            assert_ne!(error, TryPopError::Busy);
        }
    }

    fn pass_aborted(&mut self) {
        while self.entries.front().is_some_and(|entry| entry.state == State::Aborted) {
            self.entries.pop_front();
        }
    }

    /// Record `number` is dropped.
    fn released(&mut self, number: u64) {
        self.held.retain(|(held, _)| *held != number);
    }

    /// All producers are gone.
    fn drains(&mut self, rx: &mut Consumer) {
        assert!(rx.is_closed());
        loop {
            match rx.try_pop() {
                Ok(record) => {
                    let number = self.popped(&record);
                    self.released(number);
                }
                Err(error) => {
                    self.not_popped(error);
                    assert_ne!(error, TryPopError::Empty);
                    return;
                }
            }
        }
    }

    /// All consumers are gone.
    fn is_refused(&mut self, tx: &mut Producer) {
        assert!(tx.is_closed());
        for len in (0..=tx.max_len()).rev().step_by(7).cycle() {
            match tx.try_claim(len) {
                Ok(claim) => {
                    let number = self.claimed(len);
                    self.settle(number, State::Committed(len));
                    claim.commit();
                }
                Err(error) => {
                    assert_eq!(error, ClaimError::Closed);
                    return;
                }
            }
        }
    }
}

/// Makes calls, and knows the expected contents.
struct Driver<'a> {
    model: Model,
    txs: IterMut<'a, Producer>,
    rxs: IterMut<'a, Consumer>,
    claims: Vec<(u64, Claim<'a>)>,
    records: Vec<(u64, Record<'a>)>,
}

/// Takes out one of `things`, if there are any.
fn one_of<T>(things: &mut Vec<T>, index: usize) -> Option<T> {
    let index = index.checked_rem(things.len())?;
    Some(things.swap_remove(index))
}

impl<'a> Driver<'a> {
    fn call(&mut self, call: Call) {
        match call {
            Call::Claim(len) => self.claim(len),
            Call::Push(len) => self.push(len),
            Call::Pop => self.pop(),
            Call::Commit(index) => {
                if let Some((number, claim)) = self.one_claim(index) {
                    self.model.settle(number, State::Committed(claim.len()));
                    claim.commit();
                }
            }
            Call::CommitLen(index, len) => {
                if let Some((number, claim)) = self.one_claim(index) {
                    let len = len % (claim.len() + 1);
                    self.model.settle(number, State::Committed(len));
                    claim.commit_len(len);
                }
            }
            Call::Abort(index) => {
                if let Some((number, claim)) = self.one_claim(index) {
                    self.model.settle(number, State::Aborted);
                    claim.abort();
                }
            }
            Call::ForgetClaim(index) => mem::forget(self.one_claim(index)),
            Call::Release(index) => {
                if let Some((number, record)) = self.one_record(index) {
                    self.model.released(number);
                    drop(record);
                }
            }
            Call::ForgetRecord(index) => mem::forget(self.one_record(index)),
        }
    }

    fn tx(&mut self) -> &'a mut Producer {
        self.txs.next().expect("there are as many as calls")
    }

    fn claim(&mut self, len: usize) {
        match self.tx().try_claim(len) {
            Ok(mut claim) => {
                assert_eq!(claim.len(), len);
                let number = self.model.claimed(len);
                fill(&mut claim, number);
                self.claims.push((number, claim));
            }
            Err(error) => self.model.refused(len, error),
        }
    }

    fn push(&mut self, len: usize) {
        let mut bytes = vec![0; len];
        fill(&mut bytes, self.model.made);
        match self.tx().try_push(&bytes) {
            Ok(()) => {
                let number = self.model.claimed(len);
                self.model.settle(number, State::Committed(len));
            }
            Err(error) => self.model.refused(len, error),
        }
    }

    fn pop(&mut self) {
        let rx = self.rxs.next().expect("there are as many as calls");
        match rx.try_pop() {
            Ok(record) => {
                let number = self.model.popped(&record);
                self.records.push((number, record));
            }
            Err(error) => {
                assert_ne!(error, TryPopError::Closed, "there are producers");
                self.model.not_popped(error);
            }
        }
    }

    /// A claim, whose bytes are still as they were written.
    fn one_claim(&mut self, index: usize) -> Option<(u64, Claim<'a>)> {
        let claim = one_of(&mut self.claims, index);
        assert!(claim.iter().all(|(number, claim)| is_record(claim, *number)));
        claim
    }

    /// A record, whose bytes are still as they were popped.
    fn one_record(&mut self, index: usize) -> Option<(u64, Record<'a>)> {
        let record = one_of(&mut self.records, index);
        assert!(record.iter().all(|(number, record)| is_record(record, *number)));
        record
    }

    /// Ends all claims and drops all records.
    fn finish(mut self) -> Model {
        while !self.claims.is_empty() {
            self.call(Call::Abort(0));
        }
        while !self.records.is_empty() {
            self.call(Call::Release(0));
        }
        self.model
    }
}
