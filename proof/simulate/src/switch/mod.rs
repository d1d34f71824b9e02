//! A switch and its clients (paper 1, §6), each on a core: the sources of `apps/vswitch`.

mod packet;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use coherence::{Machine, Report, Simulation, Time, compute, count, now, pause};
use corelane_sim::{BoxedConsumer, BoxedProducer, Config};
use vswitch_core::clients::{Client, Tally};
use vswitch_core::{Options, Port, Switch};

use crate::failure::Failure;
use crate::handles::New;
use crate::item::Item;
use packet::{SimulatedPacket, discarded, reset};

/// The time of the switch's instructions for a packet: its table, and its lists.
const FORWARD: Time = Time::ns(15);
/// The time of a client's instructions for a packet: to build it, or to look at it.
const HANDLE: Time = Time::ns(10);
/// The time of the instructions of a call of a port.
const CALL: Time = Time::ns(3);
/// Most packets of a call.
const SLICE: usize = 32;

/// A switch, its clients, and their workload.
#[derive(Debug, Clone)]
pub struct Switching {
    /// The machine. The switch has its first physical core for itself.
    pub machine: Machine,
    /// Clients, each on a virtual core of its own.
    pub clients: usize,
    /// Whether clients send requests and answer them. Otherwise each sends as much as it can.
    pub exchange: bool,
    /// Packets that a client sends in one go: B_C.
    pub batch: usize,
    /// Most packets that the switch pulls from a port in one go: B_V.
    pub switch_batch: usize,
    /// Packets that each queue must hold.
    pub capacity: usize,
    /// Decides the order of threads and store buffers that are due at the same time.
    pub seed: u64,
    /// Time before packets are counted.
    pub warm_up: Time,
    /// Time in which packets are counted.
    pub time: Time,
}

impl Switching {
    /// The options of a queue with this capacity.
    pub fn config(capacity: usize) -> Config {
        Config::new(capacity)
    }

    /// Most clients on this machine.
    pub fn most_clients(machine: &Machine) -> usize {
        clients_cores(machine).count()
    }
}

/// The cores of clients: all but those of the first physical core.
fn clients_cores(machine: &Machine) -> impl Iterator<Item = usize> + use<> {
    let topology = machine.topology;
    (0..topology.cores()).filter(move |core| topology.physical(*core) != 0)
}

/// The cost of a switch.
#[derive(Debug, Clone)]
pub struct SwitchingRun {
    /// Packets that the switch has pulled while packets were counted.
    pub packets: u64,
    /// Those that it has dropped, as a client had no room, for each packet of the whole run.
    pub dropped: f64,
    /// The time in which packets were counted.
    pub time: Time,
    /// Cache misses of the switch for each packet.
    pub switch_misses: f64,
    /// Cache misses of all clients for each packet.
    pub client_misses: f64,
}

impl SwitchingRun {
    /// Packets that the switch has pulled, per second.
    pub fn packets_per_s(&self) -> f64 {
        self.packets as f64 * 1e9 / self.time.as_ns()
    }
}

/// One side of a port.
struct Ends<T> {
    tx: BoxedProducer<T>,
    rx: BoxedConsumer<T>,
    /// The time of instructions for a packet.
    each: Time,
}

impl<T: Item> Port for Ends<T> {
    type Packet = SimulatedPacket;

    fn pull(&mut self, most: usize, into: &mut Vec<SimulatedPacket>) {
        compute(CALL);
        let mut left = most;
        while left > 0 {
            let mut items = [T::of(0); SLICE];
            let wanted = left.min(SLICE);
            let popped = self.rx.pop_slice(&mut items[..wanted]);
            compute(self.each * popped as u64);
            into.extend(items[..popped].iter().map(|item| SimulatedPacket(item.number() as u32)));
            if popped < wanted {
                return;
            }
            left -= popped;
        }
    }

    fn push(&mut self, from: &mut VecDeque<SimulatedPacket>) {
        let before = from.len();
        compute(CALL);
        while !from.is_empty() {
            let count = from.len().min(SLICE);
            let items = from.iter().take(count).map(|packet| T::of(packet.0.into()));
            let pushed = self.tx.push_slice(&items.collect::<Vec<_>>());
            from.drain(..pushed);
            if pushed < count {
                break;
            }
        }
        if from.len() < before {
            self.tx.flush();
        }
    }
}

/// What the threads share outside of the simulated machine.
#[derive(Default)]
struct Aside {
    /// When the first counted turn began, and the packets until then; and the same of the end.
    pulled: Cell<[(Time, u64); 2]>,
    tallies: RefCell<Vec<Tally>>,
}

/// Runs `task` with queues that `new` makes.
pub(crate) fn run<T: Item>(task: &Switching, new: New<T>) -> Result<SwitchingRun, Failure> {
    reset();
    let (mut switch, mut counters) = (Switch::new(Options::of(task.switch_batch)), Vec::new());
    let mut simulation = Simulation::new(task.machine.clone(), task.seed);
    let aside = Rc::<Aside>::default();
    let mut clients = Vec::new();
    for number in 0..task.clients {
        let open = || new(Switching::config(task.capacity)).map_err(Failure::Capacity);
        let ((to_switch, from_client), (to_client, from_switch)) = (open()?, open()?);
        let of_switch = Ends { tx: to_client, rx: from_client, each: FORWARD };
        let of_client = Ends { tx: to_switch, rx: from_switch, each: HANDLE };
        counters.push(switch.attach(of_switch).1);
        clients.push(Client::new(of_client, number as u32, task.clients as u32, task.batch));
    }
    // Before the run, where it costs nothing: the switch learns where all clients are.
    clients.iter_mut().for_each(Client::introduce);
    switch.turn(0);
    let ends = task.warm_up + task.time;
    simulation.spawn(0, {
        let (task, aside, counters) = (task.clone(), aside.clone(), counters.clone());
        move || {
            let pulled = || counters.iter().map(|port| port.sent.get()).sum::<u64>();
            let pulled_by_now = || (now(), pulled());
            let mut first = None;
            while now() < ends {
                if first.is_none() && now() >= task.warm_up {
                    first = Some(pulled_by_now());
                }
                count(first.is_some());
                if switch.turn(0) == 0 {
                    pause(1);
                }
            }
            // A turn of many clients takes long, so time is counted from turn to turn.
            let last = pulled_by_now();
            aside.pulled.set([first.unwrap_or(last), last]);
        }
    });
    for (mut client, core) in clients.into_iter().zip(clients_cores(&task.machine)) {
        let (task, aside) = (task.clone(), aside.clone());
        simulation.spawn(core, move || {
            while now() < ends {
                count(now() >= task.warm_up);
                let moved = if task.exchange { client.exchange() } else { client.flood() };
                if moved == 0 {
                    pause(1);
                }
            }
            aside.tallies.borrow_mut().push(client.tally());
        });
    }
    let report = simulation.run().map_err(Failure::Stuck)?;
    let dropped = settle(task, &aside)?;
    let [(start, before), (end, after)] = aside.pulled.get();
    let packets = (after - before).max(1);
    let misses = |core: usize| Report::core(&report, core).map_or(0, |core| core.total.misses());
    let of_clients: u64 = clients_cores(&task.machine).take(task.clients).map(misses).sum();
    Ok(SwitchingRun {
        packets,
        dropped: dropped as f64 / after.max(1) as f64,
        time: (end - start).max(Time::ps(1)),
        switch_misses: misses(0) as f64 / packets as f64,
        client_misses: of_clients as f64 / packets as f64,
    })
}

/// The packets that the switch has dropped. Checks that no other packet was lost, and that none
/// came out of order.
fn settle(task: &Switching, aside: &Aside) -> Result<u64, Failure> {
    let tallies = aside.tallies.borrow();
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    let wrong = sum(|tally| tally.reordered + tally.misdirected);
    let lost = sum(|tally| tally.lost);
    // Those of the introductions, whose receiver is their sender.
    let dropped = discarded() - task.clients as u64;
    if wrong > 0 || lost > dropped {
        return Err(Failure::Packets { wrong, lost, dropped });
    }
    Ok(dropped)
}
