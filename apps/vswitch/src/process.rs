//! Ports for other processes: a lane of records in either direction.
//!
//! A packet is copied out of the lane and into the other one. The clients don't share memory with
//! each other, so none can change another's packets, and a client that is killed leaves no buffer
//! behind.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use corelane::bytes::ClaimError;
use corelane::channel;
use corelane::shm::{self, Lane, Listener, Peer, RecordConsumer, RecordProducer};
use vswitch_core::clients::{Client, Tally};
use vswitch_core::{Buffers, Frame, Port};

use crate::port::{Next, Sleepy};
use crate::switching::Attach;

/// Longest packet of a process, in bytes.
pub const LONGEST: usize = 10_240;
/// How long a process that has its lanes may take until it uses them.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connects to a switch that listens at `name`. Packets are records, which begin with the Ethernet
/// header.
///
/// # Errors
///
/// If no switch of the same user, or of the root user, listens there.
pub fn connect(name: &str) -> Result<(RecordProducer, RecordConsumer), shm::Error> {
    let (to_switch, to_client) = shm::connect_pair::<[u8], [u8]>(name)?;
    Ok((to_switch.producer()?, to_client.consumer()?))
}

/// Time between two greetings.
const GREETING: Duration = Duration::from_millis(20);

/// The lanes of a process, from either side: packets are copied out of one and into the other.
#[derive(Debug)]
struct Lanes {
    tx: RecordProducer,
    rx: RecordConsumer,
    buffers: Buffers,
}

impl Lanes {
    fn copy(buffers: &mut Buffers, record: &[u8]) -> Option<Frame> {
        let mut frame = buffers.take();
        frame.bytes_mut()?.get_mut(..record.len())?.copy_from_slice(record);
        frame.set_len(record.len());
        frame.set_ahead(0);
        Some(frame)
    }
}

impl Port for Lanes {
    type Packet = Frame;

    fn pull(&mut self, most: usize, into: &mut Vec<Frame>) {
        for _ in 0..most {
            let Ok(record) = self.rx.try_pop() else { break };
            into.extend(Self::copy(&mut self.buffers, &record));
        }
    }

    fn push(&mut self, from: &mut VecDeque<Frame>) {
        while let Some(frame) = from.pop_front() {
            match self.tx.try_push(frame.ethernet()) {
                Err(ClaimError::Full | ClaimError::Busy) => return from.push_front(frame),
                // A packet that is too long is dropped, and so is one for a process that is gone.
                _ => self.buffers.put(frame),
            }
        }
    }
}

/// The switch's side of the lanes of a process.
#[derive(Debug)]
pub struct ProcessPort {
    lanes: Lanes,
    since: Instant,
    /// Whether the last pull has found no packet.
    is_empty: bool,
}

impl ProcessPort {
    /// Gives each process that asks a pair of lanes with room for `capacity` packets, and gives the
    /// switch the port. If the system has no memory or descriptors left, it says so and tries again
    /// a second later. Never ends.
    pub fn serve(listener: &Listener, capacity: usize, attach: &channel::Sender<Attach>) -> ! {
        loop {
            if let Err(error) = Self::serve_one(listener, capacity, attach) {
                eprintln!("note: a process gets no port: {error}");
                thread::sleep(Duration::from_secs(1));
            }
        }
    }

    fn serve_one(
        listener: &Listener,
        capacity: usize,
        attach: &channel::Sender<Attach>,
    ) -> Result<(), shm::Error> {
        // Room for `capacity` packets of usual length.
        let open = || Lane::<[u8]>::create((capacity * 256).max(4 * LONGEST + 4096));
        let (to_switch, to_client) = (open()?, open()?);
        let (rx, tx) = (to_switch.consumer()?, to_client.producer()?);
        let client = listener.hand_out_pair(&to_switch, &to_client)?;
        let lanes = Lanes { tx, rx, buffers: Buffers::new(LONGEST) };
        let port = Self { lanes, since: Instant::now(), is_empty: false };
        let name = client.process.map_or("process".into(), |id| format!("process {id}"));
        // The switch takes ports as long as the process runs.
        let _ = attach.send(Attach { name, port: Box::new(port) });
        Ok(())
    }
}

impl Port for ProcessPort {
    type Packet = Frame;

    fn pull(&mut self, most: usize, into: &mut Vec<Frame>) {
        let before = into.len();
        self.lanes.pull(most, into);
        self.is_empty = into.len() == before;
    }

    fn push(&mut self, from: &mut VecDeque<Frame>) {
        self.lanes.push(from);
    }
}

impl Sleepy for ProcessPort {
    fn next(&mut self) -> Next<'_> {
        Next::Packet(Box::pin(async {
            let Lanes { rx, buffers, .. } = &mut self.lanes;
            let record = rx.pop_async().await?;
            Lanes::copy(buffers, &record)
        }))
    }

    fn is_gone(&mut self) -> bool {
        let peers = [self.lanes.rx.peer(), self.lanes.tx.peer()];
        let is_gone = |peer: &Peer| matches!(peer, Peer::Left | Peer::Died);
        let never_came = peers.contains(&Peer::Absent) && self.since.elapsed() > PATIENCE;
        never_came || (self.is_empty && peers.iter().any(is_gone))
    }
}

/// The part of a client.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Which client it is.
    pub number: u32,
    /// How many there are.
    pub clients: u32,
    /// Packets in one go.
    pub batch: usize,
    /// Whether it sends as much as it can, and answers nothing.
    pub floods: bool,
}

/// Sends requests and answers until `is_over`, as the clients of the paper do. It begins when all
/// other clients have ports.
pub fn play(
    (tx, rx): (RecordProducer, RecordConsumer),
    Part { number, clients, batch, floods }: Part,
    is_over: impl Fn() -> bool,
) -> Tally {
    let port = Lanes { tx, rx, buffers: Buffers::new(64) };
    let mut client = Client::new(port, number, clients, batch);
    while !floods && !client.has_heard_of_all() && !is_over() {
        client.greet();
        thread::sleep(GREETING);
        client.drain();
    }
    while !is_over() && client.port().rx.has_peer() {
        for _ in 0..100 {
            let moved = if floods { client.flood() } else { client.exchange() };
            if moved == 0 {
                thread::yield_now();
            }
        }
    }
    client.tally()
}
