//! The switch's thread.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use corelane::channel;
use corelane_report::{Failure, interrupt};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::{read, write};
use rustix::time::Timespec;
use serde::Serialize;
use vswitch_core::{Counters, Frame, Options, Switch};

use crate::port::{AnyPort, Next, NextPacket};

/// Turns without a packet after which the thread sleeps.
const IDLE: u32 = 30;
/// Turns between two looks at the clock.
const TURNS: u32 = 32;
/// Time between two looks for new ports, for clients that have gone, and for the end.
const LOOK: Duration = Duration::from_millis(50);
/// How long it sleeps if packets wait for room, which rings no bell.
const NAP: Duration = Duration::from_micros(50);

/// A new port.
#[derive(Debug)]
pub struct Attach {
    /// Its name for people.
    pub name: String,
    /// The switch's side.
    pub port: AnyPort,
}

/// What the switch does besides.
#[derive(Debug, Clone)]
pub struct Running {
    /// How it forwards.
    pub options: Options,
    /// Whether it never sleeps.
    pub spins: bool,
    /// When it ends.
    pub until: Option<Instant>,
    /// Captures that are not read yet: if there is nothing else, the switch ends with the last one.
    pub sources: Option<Arc<AtomicUsize>>,
}

/// Former ports that are reported one by one. Those before them are reported as one.
const FORMER: usize = 100;

/// What a port has carried.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PortReport {
    /// Its name.
    pub name: String,
    /// Whether the client was there at the end.
    pub attached: bool,
    /// Packets that the client has sent.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that the client has got.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Packets for the client that were dropped.
    pub dropped: u64,
    /// Packets of the client that went to all other ports.
    pub flooded: u64,
    /// Packets of the client that went to no port.
    pub filtered: u64,
}

/// A port of the switch, or a former one.
struct Known {
    name: String,
    /// `None` if it has left.
    number: Option<usize>,
    counters: Arc<Counters>,
}

/// Forwards until the end, which comes at the latest when all clients have gone and no other can
/// come. Returns what each port has carried.
///
/// # Errors
///
/// If the system has no descriptor left.
pub fn run(
    running: &Running,
    attach: &channel::Receiver<Attach>,
    mut tell: impl FnMut(&[PortReport]),
) -> Result<Vec<PortReport>, Failure> {
    let no_bell = |error| Failure::Run(format!("the system gives no descriptor: {error}"));
    let bell = Bell::new().map_err(no_bell)?;
    let mut thread = Thread {
        switch: Switch::new(running.options),
        known: Vec::new(),
        earlier: None,
        attach,
        begin: Instant::now(),
        now: 0,
        bell: Arc::new(bell),
        is_complete: false,
    };
    let (mut idle, mut next_look, mut next_tell) = (0, Instant::now(), Instant::now());
    loop {
        let (mut moved, is_read) = (0, running.is_read());
        for _ in 0..TURNS {
            let turn = thread.switch.turn(thread.now);
            moved += turn;
            idle = if turn == 0 { idle + 1 } else { 0 };
            if turn == 0 {
                std::hint::spin_loop();
            }
        }
        if thread.look_at_files() {
            idle = 0;
        }
        let now = thread.look_at_the_clock();
        if now >= next_look {
            next_look = now + LOOK;
            thread.look_for_changes();
            let is_alone = thread.is_complete && thread.switch.ports().next().is_none();
            if is_alone
                || running.is_over(now, is_read && moved == 0 && !thread.switch.has_waiting())
            {
                break;
            }
        }
        if now >= next_tell {
            next_tell = now + Duration::from_secs(1);
            thread.switch.expire(thread.now);
            tell(&thread.report());
        }
        if idle > IDLE && !running.spins {
            match thread.switch.has_waiting() {
                true => std::thread::sleep(NAP),
                false => thread.sleep(next_look.saturating_duration_since(now)),
            }
        }
    }
    Ok(thread.report())
}

impl Running {
    /// Whether all captures are read, and there is nothing else.
    fn is_read(&self) -> bool {
        // Acquire ↔ Release of the reading threads: then turns find all their packets.
        self.sources.as_ref().is_some_and(|sources| sources.load(Ordering::Acquire) == 0)
    }

    fn is_over(&self, now: Instant, is_done: bool) -> bool {
        interrupt::requested() || self.until.is_some_and(|until| now >= until) || is_done
    }
}

/// What the thread has.
struct Thread<'a> {
    switch: Switch<AnyPort>,
    known: Vec<Known>,
    /// What former ports have carried that are no longer known.
    earlier: Option<PortReport>,
    attach: &'a channel::Receiver<Attach>,
    begin: Instant,
    /// Milliseconds since the begin.
    now: u64,
    bell: Arc<Bell>,
    /// Whether no more ports will come.
    is_complete: bool,
}

/// What ends a sleep.
enum Woken {
    Packet(usize, Frame),
    /// A client has gone.
    Gone,
    /// These devices have packets, or the time is over.
    Files(Vec<usize>),
}

/// Files at which the thread sleeps.
#[derive(Default)]
struct Files<'a> {
    numbers: Vec<usize>,
    files: Vec<PollFd<'a>>,
}

impl<'a> Files<'a> {
    /// Adds the file of a port, if it has one. Otherwise gives back what else there is.
    fn add(&mut self, number: usize, next: Next<'a>) -> Option<NextPacket<'a>> {
        match next {
            Next::Packet(packet) => Some(packet),
            Next::File(file) => {
                self.numbers.push(number);
                self.files.push(PollFd::from_borrowed_fd(file, PollFlags::IN));
                None
            }
        }
    }

    /// Sleeps at the files, and at one more. Returns the ports of those that have something.
    fn poll(&mut self, bell: Option<BorrowedFd<'a>>, most: Duration) -> Vec<usize> {
        let bell = bell.map(|bell| PollFd::from_borrowed_fd(bell, PollFlags::IN));
        self.files.extend(bell);
        let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        // A signal ends it too: then nothing is there.
        let _ = poll(&mut self.files, Some(&most));
        let ready = self.numbers.iter().zip(&self.files);
        let ready = ready.filter(|(_, file)| !file.revents().is_empty());
        let ready = ready.map(|(number, _)| *number).collect();
        self.files.truncate(self.numbers.len());
        ready
    }
}

/// Wakes the thread out of `poll`.
struct Bell(OwnedFd);

impl Bell {
    fn new() -> std::io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?))
    }

    /// Forgets earlier wake-ups.
    fn clear(&self) {
        let _ = read(&self.0, &mut [0; 8]);
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        let _ = write(&self.0, &1_u64.to_ne_bytes());
    }
}

impl Thread<'_> {
    fn look_at_the_clock(&mut self) -> Instant {
        let now = Instant::now();
        self.now = now.duration_since(self.begin).as_millis() as u64;
        now
    }

    /// Finds out which devices have packets. Whether any has.
    fn look_at_files(&mut self) -> bool {
        let mut files = Files::default();
        for (number, port) in self.switch.ports().filter(|(_, port)| port.has_file()) {
            files.add(number, port.next());
        }
        if files.numbers.is_empty() {
            return false;
        }
        let ready = files.poll(None, Duration::ZERO);
        self.set_ready(&ready);
        !ready.is_empty()
    }

    fn set_ready(&mut self, numbers: &[usize]) {
        let ports = self.switch.ports().filter(|(number, _)| numbers.contains(number));
        ports.for_each(|(_, port)| port.set_ready());
    }

    fn attach(&mut self, Attach { name, port }: Attach) {
        let (number, counters) = self.switch.attach(port);
        self.known.push(Known { name, number: Some(number), counters });
    }

    /// Takes new ports, and removes those whose clients have gone.
    fn look_for_changes(&mut self) {
        loop {
            match self.attach.try_recv() {
                Ok(attach) => self.attach(attach),
                Err(error) => {
                    self.is_complete = error.is_disconnected();
                    break;
                }
            }
        }
        let gone =
            self.switch.ports().filter_map(|(number, port)| port.is_gone().then_some(number));
        for number in gone.collect::<Vec<_>>() {
            if self.switch.has_held(number) {
                continue; // Its last packets still wait for room.
            }
            self.switch.detach(number);
            let of_port = self.known.iter_mut().filter(|known| known.number == Some(number));
            of_port.for_each(|known| known.number = None);
            self.forget();
        }
    }

    /// Adds the oldest former port to those that are reported as one, if there are too many.
    fn forget(&mut self) {
        let former = self.known.iter().filter(|known| known.number.is_none()).count();
        let oldest = self.known.iter().position(|known| known.number.is_none());
        if let Some(oldest) = oldest.filter(|_| former > FORMER) {
            let oldest = self.known.remove(oldest).report();
            let earlier = self.earlier.get_or_insert_with(|| PortReport {
                name: "earlier ports".into(),
                ..PortReport::default()
            });
            earlier.add(&oldest);
        }
    }

    /// Sleeps until a packet comes, a client goes, or the time is over.
    fn sleep(&mut self, most: Duration) {
        let woken = first(&mut self.switch, &self.bell, most);
        self.look_at_the_clock();
        match woken {
            Woken::Packet(number, packet) => self.switch.take(number, packet, self.now),
            Woken::Gone => self.look_for_changes(),
            Woken::Files(ready) => self.set_ready(&ready),
        }
    }

    fn report(&self) -> Vec<PortReport> {
        self.earlier.iter().cloned().chain(self.known.iter().map(Known::report)).collect()
    }
}

impl Known {
    fn report(&self) -> PortReport {
        let counters = &self.counters;
        PortReport {
            name: self.name.clone(),
            attached: self.number.is_some(),
            sent: counters.sent.get(),
            sent_bytes: counters.sent_bytes.get(),
            received: counters.received.get(),
            received_bytes: counters.received_bytes.get(),
            dropped: counters.dropped.get(),
            flooded: counters.flooded.get(),
            filtered: counters.filtered.get(),
        }
    }
}

impl PortReport {
    fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.dropped += other.dropped;
        self.flooded += other.flooded;
        self.filtered += other.filtered;
    }
}

/// Sleeps at all ports. If packets come to several of them, one packet is taken, and the others
/// stay in their queues.
fn first(switch: &mut Switch<AnyPort>, bell: &Arc<Bell>, most: Duration) -> Woken {
    bell.clear();
    let waker = Waker::from(bell.clone());
    let mut context = Context::from_waker(&waker);
    let (mut files, mut packets) = (Files::default(), Vec::new());
    for (number, port) in switch.ports() {
        packets.extend(files.add(number, port.next()).map(|packet| (number, packet)));
    }
    let mut look = || {
        packets.iter_mut().find_map(|(number, next)| match next.as_mut().poll(&mut context) {
            Poll::Ready(Some(packet)) => Some(Woken::Packet(*number, packet)),
            Poll::Ready(None) => Some(Woken::Gone),
            Poll::Pending => None,
        })
    };
    look().unwrap_or_else(|| {
        let ready = files.poll(Some(bell.0.as_fd()), most);
        let packet = if ready.is_empty() { look() } else { None };
        packet.unwrap_or(Woken::Files(ready))
    })
}
