//! The threads that move items between the channel of a handle and the engine.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use corelane::channel::{self, Select, TrySendError};

use crate::codec::{Codec, put, split};
use crate::engine::{Engine, Link};
use crate::error::{End, OpenError};
use crate::protocol::{Id, Packet, Receiving, Sending};

/// What wakes a pump besides its channel.
#[derive(Debug)]
pub(crate) enum Event {
    Packet(Packet),
    /// The handle was dropped.
    Dropped,
}

/// Bytes of items in a packet, and one item more.
const PACKET: usize = 64 << 10;
/// How often a pump looks whether its program has taken items, while a sender waits for that.
const LOOK: Duration = Duration::from_micros(200);

/// A random number.
pub(crate) fn id() -> Id {
    getrandom::u64().expect("the system has random numbers")
}

/// A pump, as its handle sees it. Its drop tells the thread, and doesn't wait.
#[derive(Debug)]
pub(crate) struct Pump {
    shared: Arc<Shared>,
    events: channel::Sender<Event>,
}

#[derive(Debug, Default)]
struct Shared {
    known: Mutex<Known>,
    changed: Condvar,
    /// Items that the thread has taken from a sender, and the receiving program not.
    untaken: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    is_bound: bool,
    /// When the thread has ended: the items that were not received, and why.
    end: Option<(u64, End)>,
}

/// A pump, as its thread sees it.
pub(crate) struct Running {
    link: Link,
    events: channel::Receiver<Event>,
    shared: Arc<Shared>,
    began: Instant,
    gives_up_after: Duration,
    is_bound: bool,
    /// Since when there is no other end.
    alone_since: Option<Duration>,
}

impl Pump {
    /// Starts a thread that runs `work`, which says at its end why it ends.
    pub(crate) fn start(
        engine: &Engine,
        name: &str,
        id: Id,
        is_sender: bool,
        gives_up_after: Duration,
        work: impl FnOnce(&mut Running) + Send + 'static,
    ) -> Result<Self, OpenError> {
        let (tx, events) = channel::unbounded();
        let shared = Arc::<Shared>::default();
        let mut running = Running {
            link: engine.link(name, id, is_sender, &tx)?,
            events,
            shared: shared.clone(),
            began: Instant::now(),
            gives_up_after,
            is_bound: false,
            alone_since: None,
        };
        let thread = thread::Builder::new().name(format!("corelane {name}")).spawn(move || {
            work(&mut running);
        });
        thread.map_err(|error| OpenError::Engine(error.to_string()))?;
        Ok(Self { shared, events: tx })
    }

    /// Why the thread has ended, and the items that were not received.
    pub(crate) fn end(&self) -> Option<(u64, End)> {
        self.shared.known.lock().expect("no thread panics with it").end.clone()
    }

    /// Items that the thread has taken from its sender, and of which it doesn't know that they were
    /// received.
    pub(crate) fn untaken(&self) -> u64 {
        self.shared.untaken.load(Ordering::Relaxed)
    }

    /// Waits until the thread has ended.
    pub(crate) fn wait_for_end(&self, timeout: Duration) {
        self.wait(timeout, |known| known.end.is_some());
    }

    /// Waits for another end. Returns whether there is one.
    pub(crate) fn wait_until_bound(&self, timeout: Duration) -> bool {
        self.wait(timeout, |known| known.is_bound || known.end.is_some());
        self.shared.known.lock().expect("no thread panics with it").is_bound
    }

    fn wait(&self, timeout: Duration, is_so: impl Fn(&Known) -> bool) {
        let known = self.shared.known.lock().expect("no thread panics with it");
        let waited = self.shared.changed.wait_timeout_while(known, timeout, |known| !is_so(known));
        drop(waited.expect("as above"));
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        let _ = self.events.send(Event::Dropped);
    }
}

impl Running {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn at(&self, time: Duration) -> Instant {
        self.began + time
    }

    /// Says why the thread ends, before the channel does.
    fn ended(&self, items: u64, end: End) {
        let mut known = self.shared.known.lock().expect("no thread panics with it");
        (known.is_bound, known.end) = (false, Some((items, end)));
        self.shared.changed.notify_all();
    }

    /// Notes whether there is another end. `Silent` if there was none for too long.
    fn note(&mut self, is_bound: bool) -> Result<(), End> {
        let now = self.now();
        if is_bound != self.is_bound {
            self.is_bound = is_bound;
            self.shared.known.lock().expect("no thread panics with it").is_bound = is_bound;
            self.shared.changed.notify_all();
        }
        if is_bound {
            self.alone_since = None;
            return Ok(());
        }
        let since = *self.alone_since.get_or_insert(now);
        if now - since > self.gives_up_after { Err(End::Silent) } else { Ok(()) }
    }

    fn send(&mut self, packet: &Packet) -> Result<(), End> {
        self.link.send(packet).map_err(End::Engine)
    }
}

/// Moves items from a program to its receiver.
pub(crate) fn send<T, C: Codec<T>>(
    pump: &mut Running,
    mut state: Sending,
    front: &channel::Receiver<T>,
) {
    let end = loop {
        match send_once::<T, C>(pump, &mut state, front) {
            Ok(()) => wait_to_send(pump, &state, front),
            Err(end) => break end,
        }
    };
    pump.ended(state.untaken() + front.len() as u64, end);
    front.close();
}

fn send_once<T, C: Codec<T>>(
    pump: &mut Running,
    state: &mut Sending,
    front: &channel::Receiver<T>,
) -> Result<(), End> {
    while let Ok(event) = pump.events.try_recv() {
        if let Event::Packet(packet) = event {
            state.on_packet(packet, pump.now());
        }
    }
    loop {
        fill::<T, C>(state, front);
        let mut has_sent = false;
        while let Some(packet) = state.poll(pump.now()) {
            pump.send(&packet)?;
            has_sent = true;
        }
        if !has_sent || state.room() == 0 || front.is_empty() {
            break;
        }
    }
    pump.shared.untaken.store(state.untaken(), Ordering::Relaxed); // only for the user
    if state.is_closed() || state.is_over() {
        return Err(End::Closed);
    }
    if state.has_differed() && !state.has_receiver() {
        return Err(End::Differs);
    }
    if state.is_refused(pump.now()) {
        return Err(End::Taken);
    }
    pump.note(state.has_receiver())
}

/// Takes items from the program, while there is room.
fn fill<T, C: Codec<T>>(state: &mut Sending, front: &channel::Receiver<T>) {
    while state.room() > 0 {
        let (mut items, mut count) = (Vec::new(), 0);
        for item in front.try_iter().take(state.room() as usize) {
            put::<T, C>(&item, &mut items);
            count += 1;
            if items.len() >= PACKET {
                break;
            }
        }
        if count > 0 {
            state.push(items.into(), count);
            continue;
        }
        if front.is_disconnected() && front.is_empty() {
            state.end();
        }
        return;
    }
}

fn wait_to_send<T>(pump: &Running, state: &Sending, front: &channel::Receiver<T>) {
    let until = pump.at(state.next_time());
    let mut select = Select::new();
    select.recv(&pump.events);
    // A channel that is disconnected is always ready.
    if state.room() > 0 && !front.is_disconnected() {
        select.recv(front);
    }
    let _ = select.ready_deadline(until);
}

/// Moves items from a sender to the program.
pub(crate) fn receive<T, C: Codec<T>>(
    pump: &mut Running,
    mut state: Receiving,
    behind: channel::Sender<T>,
) {
    let mut inbox =
        Inbox { behind, waiting: VecDeque::new(), delivered: 0, next: None, is_dropped: false };
    loop {
        if let Err(end) = receive_once::<T, C>(pump, &mut state, &mut inbox) {
            pump.ended(0, end);
            return;
        }
        let mut time = state.next_time();
        if !inbox.waiting.is_empty() || state.is_short() {
            time = time.min(pump.now() + LOOK);
        }
        inbox.next = pump.events.recv_deadline(pump.at(time)).ok();
    }
}

/// Items that were delivered, and not taken.
struct Inbox<T> {
    behind: channel::Sender<T>,
    /// For which there is no room in the channel.
    waiting: VecDeque<T>,
    delivered: u64,
    /// What has woken the thread.
    next: Option<Event>,
    is_dropped: bool,
}

impl<T> Inbox<T> {
    fn on_event<C: Codec<T>>(
        &mut self,
        event: Event,
        state: &mut Receiving,
        now: Duration,
    ) -> Result<(), End> {
        let Event::Packet(packet) = event else {
            self.is_dropped = true;
            return Ok(());
        };
        let Some((data, known)) = state.on_packet(packet, now) else { return Ok(()) };
        let mut bytes = &data.items[..];
        for number in 0..data.count {
            let item = split::<T, C>(&mut bytes).map_err(|_| End::Malformed)?;
            if number >= known {
                let item = C::decode(item).map_err(|_| End::Malformed)?;
                self.waiting.push_back(item);
                self.delivered += 1;
            }
        }
        Ok(())
    }

    /// Gives the program what it has room for. Returns the number of items that it has taken in
    /// all.
    fn flush(&mut self) -> u64 {
        while let Some(item) = self.waiting.pop_front() {
            match self.behind.try_send(item) {
                Ok(()) => {}
                Err(TrySendError::Full(item)) => {
                    self.waiting.push_front(item);
                    break;
                }
                Err(TrySendError::Disconnected(_)) => break,
            }
        }
        self.delivered - (self.waiting.len() + self.behind.len()) as u64
    }
}

fn receive_once<T, C: Codec<T>>(
    pump: &mut Running,
    state: &mut Receiving,
    inbox: &mut Inbox<T>,
) -> Result<(), End> {
    while let Some(event) = inbox.next.take().or_else(|| pump.events.try_recv().ok()) {
        inbox.on_event::<C>(event, state, pump.now())?;
    }
    state.on_taken(inbox.flush());
    if inbox.is_dropped || inbox.behind.is_disconnected() {
        state.close();
    }
    while let Some(packet) = state.poll(pump.now()) {
        pump.send(&packet)?;
    }
    if state.is_over() || inbox.is_dropped {
        return Err(End::Closed);
    }
    if state.has_differed() && !state.has_sender() {
        return Err(End::Differs);
    }
    if state.is_refused(pump.now()) {
        return Err(End::Taken);
    }
    pump.note(state.has_sender())
}
