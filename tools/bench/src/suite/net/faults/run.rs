//! A run with random faults.

use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

use corelane_report::interrupt;

use super::Random;
use super::history::History;
use super::proxy::Proxy;
use crate::suite::net::Cell;
use crate::suite::net::ends::{Process, Said, Side, Task};
use crate::suite::net::engines::server::Server;
use crate::suite::net::place::Place;
use crate::suite::net::setting::{Faults, Guarantee};

const MILLISECOND: Duration = Duration::from_millis(1);
/// A run that doesn't end within this time hangs.
const HUNG: Duration = Duration::from_secs(10);

/// A fault.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Cut,
    HalfClose,
    Reset,
    Truncate,
    Stall,
    Refuse,
    Delay,
    LinkDown,
    KillSender,
    KillReceiver,
    KillServer,
}

impl Fault {
    /// Over a proxy.
    const OF_PROXY: [Self; 9] = [
        Self::Cut,
        Self::HalfClose,
        Self::Reset,
        Self::Truncate,
        Self::Stall,
        Self::Refuse,
        Self::Delay,
        Self::KillSender,
        Self::KillReceiver,
    ];
    /// Between namespaces.
    const OF_LINK: [Self; 3] = [Self::LinkDown, Self::KillSender, Self::KillReceiver];
}

/// A run.
pub(super) struct Run<'a> {
    cell: &'a Cell,
    random: Random,
    /// Where the sender connects.
    through: String,
    /// Where the receiver listens, or connects to a server.
    address: String,
    proxy: Option<Proxy>,
    sender: Process,
    receiver: Process,
    server: Option<Server>,
    history: History,
    faults: Faults,
    /// When the last item came, and the longest time without one.
    last: Option<Instant>,
    silence: Duration,
    has_finished: bool,
    has_ended: bool,
}

impl<'a> Run<'a> {
    pub(super) fn start(cell: &'a Cell, seed: u64) -> Result<Self, String> {
        let address = cell.place.address()?;
        let server = cell.server(&address)?;
        let proxy = match *cell.place {
            Place::Loopback => Some(Proxy::to(address.clone())?),
            Place::Namespaces(_) => None,
        };
        let mut history = History::new(cell.setting.guarantee);
        history.add_receiver();
        let through = proxy.as_ref().map_or(&address, |proxy| &proxy.address).clone();
        // With a server both ends connect.
        let address = if server.is_some() { through.clone() } else { address };
        let receiver = new_receiver(cell, &address)?;
        let sender = new_sender(cell, &through, history.add_sender())?;
        Ok(Self {
            cell,
            random: Random(seed),
            through,
            address,
            proxy,
            sender,
            receiver,
            server,
            history,
            faults: Faults { runs: 1, ..Faults::default() },
            last: None,
            silence: Duration::ZERO,
            has_finished: false,
            has_ended: false,
        })
    }

    /// Makes faults, and lets both ends come to an end. Returns what became of items, and the
    /// longest time without one.
    pub(super) fn go(mut self) -> Result<(Faults, Duration), String> {
        let comes = self.watch(HUNG, |run| run.last.is_some())?;
        let end = Instant::now() + MILLISECOND * (300 + self.random.below(900) as u32);
        while comes && Instant::now() < end && !interrupt::requested() {
            let pause = MILLISECOND * (10 + self.random.below(200) as u32);
            self.watch(pause, |_| false)?;
            self.make_fault()?;
            self.faults.faults += 1;
        }
        self.sender.stop();
        if !self.watch(HUNG, Self::is_over)? {
            self.faults.hung += 1;
        }
        Ok((self.faults.sum(self.history.verdict()), self.silence))
    }

    /// Whether both ends have come to an end. A durable lane has none: a receiver waits for the next
    /// sender.
    fn is_over(&self) -> bool {
        let is_durable = self.cell.setting.guarantee == Guarantee::Durable;
        self.has_finished && (self.has_ended || is_durable && self.history.has_last())
    }

    /// Listens to both ends for a time, or until it is over. Returns whether it is over.
    fn watch(&mut self, time: Duration, is_over: impl Fn(&Self) -> bool) -> Result<bool, String> {
        let until = Instant::now() + time;
        loop {
            let sent: Vec<_> = self.sender.news().collect();
            let taken: Vec<_> = self.receiver.news().collect();
            sent.into_iter().try_for_each(|said| self.hear(Side::Sender, said))?;
            taken.into_iter().try_for_each(|said| self.hear(Side::Receiver, said))?;
            if is_over(self) {
                return Ok(true);
            }
            if Instant::now() >= until || interrupt::requested() {
                return Ok(false);
            }
            thread::sleep(MILLISECOND);
        }
    }

    fn hear(&mut self, side: Side, said: Said) -> Result<(), String> {
        match said {
            Said::Failed(why) => return Err(format!("an end says: {why}")),
            Said::Taken(_) => {
                let now = Instant::now();
                let last = self.last.replace(now).unwrap_or(now);
                self.silence = self.silence.max(now - last);
            }
            Said::Finished(_) => self.has_finished = true,
            Said::Ended => self.has_ended = true,
            _ => {}
        }
        self.history.note(side, &said);
        Ok(())
    }

    fn choose(&mut self) -> Fault {
        let of_network = if self.proxy.is_some() { &Fault::OF_PROXY[..] } else { &Fault::OF_LINK };
        let of_server = self.server.as_ref().map(|_| Fault::KillServer);
        let all: Vec<_> = of_network.iter().copied().chain(of_server).collect();
        all[self.random.below(all.len() as u64) as usize]
    }

    fn make_fault(&mut self) -> Result<(), String> {
        match self.choose() {
            Fault::KillServer => {
                if let Some(server) = &mut self.server {
                    server.kill_and_start(&self.cell.place)?;
                }
            }
            Fault::KillSender => return self.kill_sender(),
            Fault::KillReceiver => return self.kill_receiver(),
            Fault::Cut => self.tell(|proxy| proxy.cut(Shutdown::Both)),
            Fault::HalfClose => self.tell(|proxy| proxy.cut(Shutdown::Read)),
            Fault::Reset => self.tell(Proxy::reset),
            Fault::Truncate => self.tell(Proxy::truncate),
            fault @ (Fault::Stall | Fault::Refuse | Fault::Delay | Fault::LinkDown) => {
                self.set(fault, true)?;
                // Also longer than the patience.
                let time = MILLISECOND * self.random.below(500) as u32;
                self.watch(time, |_| false)?;
                self.set(fault, false)?;
            }
        }
        Ok(())
    }

    fn tell(&self, what: impl FnOnce(&Proxy)) {
        if let Some(proxy) = &self.proxy {
            what(proxy);
        }
    }

    /// Begins or ends a fault that lasts.
    fn set(&self, fault: Fault, is_on: bool) -> Result<(), String> {
        match fault {
            Fault::Stall => self.tell(|proxy| proxy.stall(is_on)),
            Fault::Refuse => self.tell(|proxy| proxy.refuse(is_on)),
            Fault::Delay => {
                self.tell(|proxy| {
                    proxy.delay(if is_on { 5 * MILLISECOND } else { Duration::ZERO })
                });
            }
            _ => {
                if let Place::Namespaces(namespaces) = &*self.cell.place {
                    namespaces.set_link(!is_on)?;
                }
            }
        }
        Ok(())
    }

    fn kill_sender(&mut self) -> Result<(), String> {
        self.sender.kill();
        let said: Vec<_> = self.sender.rest().collect();
        said.into_iter().try_for_each(|said| self.hear(Side::Sender, said))?;
        self.sender = new_sender(self.cell, &self.through, self.history.add_sender())?;
        Ok(())
    }

    fn kill_receiver(&mut self) -> Result<(), String> {
        self.receiver.kill();
        let said: Vec<_> = self.receiver.rest().collect();
        said.into_iter().try_for_each(|said| self.hear(Side::Receiver, said))?;
        self.history.add_receiver();
        self.receiver = new_receiver(self.cell, &self.address)?;
        Ok(())
    }
}

fn new_sender(cell: &Cell, address: &str, first: u64) -> Result<Process, String> {
    let task = Task::SendUntilStopped { first };
    Process::start(&cell.place, Side::Sender, &cell.end(address, task))
}

fn new_receiver(cell: &Cell, address: &str) -> Result<Process, String> {
    let mut receiver =
        Process::start(&cell.place, Side::Receiver, &cell.end(address, Task::ReceiveAll))?;
    receiver.is_ready()?;
    Ok(receiver)
}
