//! Ports of the switch.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::iter::from_fn;
use std::os::fd::BorrowedFd;
use std::pin::Pin;

use corelane::workload::{Probe, Recorder, Side};
use corelane_report::Failure;
use vswitch_core::{Frame, Port};

use crate::ring::{Receiving, Ring, Sending};

/// The next packet of a port.
pub type NextPacket<'a> = Pin<Box<dyn Future<Output = Option<Frame>> + 'a>>;

/// What the switch sleeps at.
#[expect(missing_debug_implementations, reason = "futures have none")]
pub enum Next<'a> {
    /// The next packet. `None` if none will come. No packet is lost if the future is dropped.
    Packet(NextPacket<'a>),
    /// A file from which packets can be read.
    File(BorrowedFd<'a>),
}

/// A port at which the switch can sleep.
pub trait Sleepy: Port<Packet = Frame> + Send {
    /// What tells of the next packet.
    fn next(&mut self) -> Next<'_>;

    /// Whether the client is gone, and all its packets are pulled.
    fn is_gone(&mut self) -> bool;

    /// Whether [`next`](Self::next) gives a file.
    fn has_file(&self) -> bool {
        false
    }

    /// Called when the port's file has packets: `pull` looks there only then.
    fn set_ready(&mut self) {}
}

/// A port in a box.
pub type AnyPort = Box<dyn Sleepy>;

impl fmt::Debug for dyn Sleepy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Port")
    }
}

/// The switch's side of a pair of rings. Its client is a thread.
#[derive(Debug)]
pub struct RingPort {
    tx: Sending,
    rx: Receiving,
    /// Watches what the switch pulls.
    probe: Option<Probe>,
}

/// The client's side of a pair of rings.
#[derive(Debug)]
pub struct RingClient {
    /// To the switch.
    pub tx: Sending,
    /// From the switch.
    pub rx: Receiving,
    /// Watches what the client sends.
    pub probe: Option<Probe>,
}

impl RingPort {
    /// Both sides of a port.
    ///
    /// # Errors
    ///
    /// If the rings can't have this capacity.
    pub fn pair(ring: Ring, capacity: usize) -> Result<(Self, RingClient), Failure> {
        let ((to_switch, from_client), (to_client, from_switch)) =
            (ring.open(capacity)?, ring.open(capacity)?);
        let client = RingClient { tx: to_switch, rx: from_switch, probe: None };
        Ok((Self { tx: to_client, rx: from_client, probe: None }, client))
    }

    /// The same, of which the ring to the switch is watched.
    ///
    /// # Errors
    ///
    /// As [`pair`](Self::pair).
    pub fn watched(
        ring: Ring,
        capacity: usize,
        recorder: &Recorder,
    ) -> Result<(Self, RingClient), Failure> {
        let (mut port, mut client) = Self::pair(ring, capacity)?;
        recorder.describe(size_of::<Frame>(), client.tx.capacity());
        port.probe = Some(recorder.probe(Side::Consumer));
        client.probe = Some(recorder.probe(Side::Producer));
        Ok((port, client))
    }
}

impl Port for RingPort {
    type Packet = Frame;

    fn pull(&mut self, most: usize, into: &mut Vec<Frame>) {
        let before = into.len();
        self.probe.iter_mut().for_each(Probe::begins);
        into.extend(self.rx.pop_iter().take(most));
        self.probe.iter_mut().for_each(|probe| probe.moved(into.len() - before));
    }

    fn push(&mut self, from: &mut VecDeque<Frame>) {
        push(&mut self.tx, from);
    }
}

impl Sleepy for RingPort {
    fn next(&mut self) -> Next<'_> {
        Next::Packet(Box::pin(self.rx.pop_async()))
    }

    fn is_gone(&mut self) -> bool {
        self.rx.is_closed() && self.rx.is_empty()
    }
}

impl Port for RingClient {
    type Packet = Frame;

    fn pull(&mut self, most: usize, into: &mut Vec<Frame>) {
        into.extend(self.rx.pop_iter().take(most));
    }

    fn push(&mut self, from: &mut VecDeque<Frame>) {
        push(&mut self.tx, from);
    }
}

fn push(tx: &mut Sending, from: &mut VecDeque<Frame>) {
    let count = from.len();
    // A packet is taken from the list only if there is a slot for it. The others stay there.
    let _ = tx.push_iter(from_fn(|| from.pop_front()).take(count));
    tx.flush();
}
