//! The handles of replays: boxes that wait, so that a replay is compiled once for all queues.

use corelane::{BoxedConsumer, BoxedProducer, Config, Consumer, Producer, wait};

use super::plan::Candidate;
use super::setting::ReplaySetting;
use crate::payload::Parcel;
use crate::suite::pipeline::Maker;
use crate::suite::wait::{Receiver, Sender, Strategy};

/// A sending side.
pub(super) trait Put: Send {
    /// Waits for room for all numbers, or until all consumers are gone.
    fn put(&mut self, numbers: &[u64]);
}

/// A receiving side.
pub(super) trait Get: Send {
    /// Waits for at least one number. Returns how many it has put into `into`.
    fn get(&mut self, into: &mut [u64]) -> usize;
}

/// A handle for each thread.
pub(super) type Ends = (Vec<Box<dyn Put>>, Vec<Box<dyn Get>>);

/// The handles for a replay. The error says why there are none.
pub(super) fn open(
    candidate: &Candidate,
    capacity: usize,
    setting: &ReplaySetting,
) -> Result<Ends, String> {
    match candidate {
        Candidate::Queue(maker, _) => queue(*maker, capacity, setting),
        Candidate::Channel(kernel, _) => {
            let (txs, rxs) = kernel.handles(capacity, setting.size)?;
            let txs = txs.into_iter().map(|tx| Box::new(Single(tx)) as Box<dyn Put>);
            let rxs = rxs.into_iter().map(|rx| Box::new(Single(rx)) as Box<dyn Get>);
            Ok((txs.collect(), rxs.collect()))
        }
    }
}

fn queue(maker: Maker, capacity: usize, setting: &ReplaySetting) -> Result<Ends, String> {
    let (tx, rx) = maker(Config::new(capacity)).map_err(|error| error.to_string())?;
    let (tx, rx) = wait::pair((tx, rx));
    let how = match setting.strategy {
        Strategy::Spin => wait::Strategy::Spin,
        Strategy::Yield => wait::Strategy::Yield,
        other => other.of_handles().unwrap_or_default(),
    };
    let (tx, rx) = (tx.strategy(how), rx.strategy(how));
    let mut txs: Vec<Box<dyn Put>> = Vec::new();
    let mut rxs: Vec<Box<dyn Get>> = Vec::new();
    let buffer = || vec![Parcel::dangling(); setting.batch];
    let only = "one side has only one handle";
    for _ in 1..setting.size.producers {
        let handle = Producer::try_clone(&tx).ok_or(only)?;
        txs.push(Box::new(Batches { handle, buffer: buffer() }));
    }
    for _ in 1..setting.size.consumers {
        let handle = Consumer::try_clone(&rx).ok_or(only)?;
        rxs.push(Box::new(Batches { handle, buffer: buffer() }));
    }
    txs.push(Box::new(Batches { handle: tx, buffer: buffer() }));
    rxs.push(Box::new(Batches { handle: rx, buffer: buffer() }));
    Ok((txs, rxs))
}

/// A handle of a queue of pointers, which carries numbers in their place.
struct Batches<H> {
    handle: H,
    buffer: Vec<Parcel>,
}

impl Put for Batches<wait::Producer<BoxedProducer<Parcel>>> {
    fn put(&mut self, numbers: &[u64]) {
        let Self { handle, buffer } = self;
        for numbers in numbers.chunks(buffer.len()) {
            let parcels = &mut buffer[..numbers.len()];
            parcels.iter_mut().zip(numbers).for_each(|(parcel, n)| *parcel = Parcel::of_number(*n));
            let mut pushed = if parcels.len() > 1 { handle.push_slice(parcels) } else { 0 };
            while pushed < parcels.len() {
                if handle.push(parcels[pushed]).is_err() {
                    return;
                }
                pushed += 1;
                pushed += handle.push_slice(&parcels[pushed..]);
            }
        }
        handle.flush();
    }
}

impl Get for Batches<wait::Consumer<BoxedConsumer<Parcel>>> {
    fn get(&mut self, into: &mut [u64]) -> usize {
        let Self { handle, buffer } = self;
        let most = into.len().min(buffer.len());
        let mut popped = if most > 1 { handle.pop_slice(&mut buffer[..most]) } else { 0 };
        if popped == 0 {
            buffer[0] = handle.pop().expect("a producer is there");
            popped = 1;
            if most > 1 {
                popped += handle.pop_slice(&mut buffer[1..most]);
            }
        }
        into.iter_mut().zip(&buffer[..popped]).for_each(|(n, parcel)| *n = parcel.number());
        popped
    }
}

/// A handle of a channel.
struct Single<H: ?Sized>(Box<H>);

impl Put for Single<dyn Sender> {
    fn put(&mut self, numbers: &[u64]) {
        let _ = numbers.iter().all(|n| self.0.put(*n));
    }
}

impl Get for Single<dyn Receiver> {
    fn get(&mut self, into: &mut [u64]) -> usize {
        into[0] = self.0.get().expect("a sender is there");
        1
    }
}
