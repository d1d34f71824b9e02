//! The switch's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use corelane::channel;
use corelane_report::interrupt;
use serde::Serialize;
use vswitch_core::{Counters, Frame, Options, Switch};

use crate::port::{AnyPort, Next};

/// Turns without a packet after which the thread sleeps.
const IDLE: u32 = 200;
/// Turns between two looks at the clock.
const TURNS: u32 = 32;
/// Time between two looks for clients that have gone, and for the end.
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

/// What a port has carried.
#[derive(Debug, Clone, Serialize)]
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

/// Forwards until the end. Returns what each port has carried.
pub fn run(
    running: &Running,
    attach: &channel::Receiver<Attach>,
    mut tell: impl FnMut(&[PortReport]),
) -> Vec<PortReport> {
    let mut thread = Thread {
        switch: Switch::new(running.options),
        known: Vec::new(),
        attach,
        begin: Instant::now(),
        now: 0,
    };
    let (mut idle, mut next_look, mut next_tell) = (0, Instant::now(), Instant::now());
    loop {
        let mut moved = 0;
        for _ in 0..TURNS {
            let turn = thread.switch.turn(thread.now);
            moved += turn;
            idle = if turn == 0 { idle + 1 } else { 0 };
            if turn == 0 {
                std::hint::spin_loop();
            }
        }
        let now = thread.look_at_the_clock();
        if now >= next_look {
            next_look = now + LOOK;
            thread.look_for_changes();
            if running.is_over(now, moved == 0 && !thread.switch.has_waiting()) {
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
    thread.report()
}

impl Running {
    fn is_over(&self, now: Instant, is_idle: bool) -> bool {
        let is_read = |sources: &Arc<AtomicUsize>| sources.load(Ordering::Acquire) == 0;
        let is_done = is_idle && self.sources.as_ref().is_some_and(is_read);
        interrupt::requested() || self.until.is_some_and(|until| now >= until) || is_done
    }
}

/// What the thread has.
struct Thread<'a> {
    switch: Switch<AnyPort>,
    known: Vec<Known>,
    attach: &'a channel::Receiver<Attach>,
    begin: Instant,
    /// Milliseconds since the begin.
    now: u64,
}

/// What ends a sleep.
enum Woken {
    Packet(usize, Frame),
    Attach(Attach),
    /// A client has gone.
    Gone,
}

impl Thread<'_> {
    fn look_at_the_clock(&mut self) -> Instant {
        let now = Instant::now();
        self.now = now.duration_since(self.begin).as_millis() as u64;
        now
    }

    fn attach(&mut self, Attach { name, port }: Attach) {
        let (number, counters) = self.switch.attach(port);
        self.known.push(Known { name, number: Some(number), counters });
    }

    /// Takes new ports, and removes those whose clients have gone.
    fn look_for_changes(&mut self) {
        while let Ok(attach) = self.attach.try_recv() {
            self.attach(attach);
        }
        let gone =
            self.switch.ports().filter_map(|(number, port)| port.is_gone().then_some(number));
        for number in gone.collect::<Vec<_>>() {
            self.switch.detach(number);
            let of_port = self.known.iter_mut().filter(|known| known.number == Some(number));
            of_port.for_each(|known| known.number = None);
        }
    }

    /// Sleeps until a packet or a port comes, a client goes, or the time is over.
    fn sleep(&mut self, most: Duration) {
        let woken = first(&mut self.switch, self.attach, most);
        self.look_at_the_clock();
        match woken {
            Some(Woken::Packet(number, packet)) => self.switch.take(number, packet, self.now),
            Some(Woken::Attach(attach)) => self.attach(attach),
            Some(Woken::Gone) => self.look_for_changes(),
            None => {}
        }
    }

    fn report(&self) -> Vec<PortReport> {
        let report = |known: &Known| {
            let counters = &known.counters;
            PortReport {
                name: known.name.clone(),
                attached: known.number.is_some(),
                sent: counters.sent.get(),
                sent_bytes: counters.sent_bytes.get(),
                received: counters.received.get(),
                received_bytes: counters.received_bytes.get(),
                dropped: counters.dropped.get(),
                flooded: counters.flooded.get(),
                filtered: counters.filtered.get(),
            }
        };
        self.known.iter().map(report).collect()
    }
}

/// Sleeps at all ports. What comes to several of them at once stays in their queues.
fn first(
    switch: &mut Switch<AnyPort>,
    attach: &channel::Receiver<Attach>,
    most: Duration,
) -> Option<Woken> {
    let until = Instant::now() + most;
    let (parker, unparker) = parking::pair();
    let waker = Waker::from(unparker);
    let mut context = Context::from_waker(&waker);
    let mut ports: Vec<(usize, Next<'_>)> =
        switch.ports().map(|(number, port)| (number, port.next())).collect();
    let mut new = Box::pin(attach.recv_async());
    loop {
        for (number, next) in &mut ports {
            match next.as_mut().poll(&mut context) {
                Poll::Ready(Some(packet)) => return Some(Woken::Packet(*number, packet)),
                Poll::Ready(None) => return Some(Woken::Gone),
                Poll::Pending => {}
            }
        }
        if let Poll::Ready(Ok(attach)) = new.as_mut().poll(&mut context) {
            return Some(Woken::Attach(attach));
        }
        if !parker.park_deadline(until) {
            return None;
        }
    }
}
