//! The threads that move items between the channel of a handle and the engine.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use corelane::channel::{self, Select};

use crate::codec::{Codec, split};
use crate::engine::{Engine, Link};
use crate::error::{End, OpenError};
use crate::fill::Fill;
use crate::protocol::{BINDINGS, Deliver, Id, Packet, Receive};

/// How long the drop of a receiver waits for its thread.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What wakes a pump besides its channel.
#[derive(Debug)]
pub(crate) enum Event {
    Packet(Packet),
    /// The program of a sender waits until all is taken.
    Awaited,
    /// The handle was dropped.
    Dropped,
}

/// How often a pump looks whether its program has taken items, while a sender waits for that.
const LOOK: Duration = Duration::from_micros(200);
/// The same, if the program has long taken none.
const LONG_LOOK: Duration = Duration::from_millis(5);

/// A random number, without the number of a binding.
pub(crate) fn id() -> Id {
    getrandom::u64().expect("the system has random numbers") & !BINDINGS
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
    /// Calls that wait until all is taken.
    awaiting: AtomicUsize,
    /// Items that were sent at most once, and don't come.
    lost: AtomicU64,
    given: Mutex<Given>,
}

/// Items that are in a receiver's channel or were, and those that its program has confirmed.
#[derive(Debug, Default)]
struct Given {
    items: u64,
    confirmed: u64,
    /// Those that the program had taken when it dropped its handle.
    at_drop: Option<u64>,
}

#[derive(Debug, Default)]
struct Known {
    /// Other ends that are there, and whether there was ever one.
    others: usize,
    has_met: bool,
    /// Another end may have this one's place.
    may_be_refused: bool,
    /// Why the channel has ended.
    end: Option<End>,
    /// The thread is over.
    is_over: bool,
}

/// A pump, as its thread sees it.
pub(crate) struct Running {
    link: Link,
    events: channel::Receiver<Event>,
    shared: Arc<Shared>,
    began: Instant,
    gives_up_after: Duration,
    /// Other ends that are there, and whether they may refuse this one.
    noted: (usize, bool),
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
        let running = Running {
            link: engine.link(name, id, is_sender, &tx)?,
            events,
            shared: shared.clone(),
            began: Instant::now(),
            gives_up_after,
            noted: (0, false),
            alone_since: None,
        };
        let thread = thread::Builder::new().name(format!("corelane {name}")).spawn(move || {
            let _guard = Guard(running.shared.clone());
            let mut running = running; // ends before the guard says so
            work(&mut running);
        });
        thread.map_err(|error| OpenError::Engine(error.to_string()))?;
        Ok(Self { shared, events: tx })
    }

    /// Why the channel has ended.
    pub(crate) fn end(&self) -> Option<End> {
        self.shared.known.lock().expect("no thread panics with it").end.clone()
    }

    /// Items that the thread has taken from its sender, and of which it doesn't know that they were
    /// received.
    pub(crate) fn untaken(&self) -> u64 {
        self.shared.untaken.load(Ordering::SeqCst)
    }

    /// Receivers tell at once what they have taken, until the result is dropped.
    pub(crate) fn awaits(&self) -> Awaits<'_> {
        self.shared.awaiting.fetch_add(1, Ordering::SeqCst);
        let _ = self.events.send(Event::Awaited);
        Awaits(&self.shared)
    }

    /// Items that were sent to this receiver at most once, and don't come.
    pub(crate) fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::SeqCst)
    }

    /// The program has done with all that its channel has given, but for those that are in it.
    pub(crate) fn confirm<T>(&self, channel: &channel::Receiver<T>) {
        let mut given = self.shared.given.lock().expect("no thread panics with it");
        given.confirmed = given.items - channel.len() as u64;
    }

    /// The program drops its receiver. Waits a moment for the last packets, since the program may end
    /// at once: the sender else doesn't know what was received.
    pub(crate) fn drop_receiver<T>(&self, channel: &channel::Receiver<T>) {
        let mut given = self.shared.given.lock().unwrap_or_else(PoisonError::into_inner);
        // Clones get nothing that other receivers get, too.
        channel.close();
        let left: Vec<T> = channel.try_iter().collect();
        given.at_drop = Some(given.items - left.len() as u64);
        drop(given);
        drop(left);
        let _ = self.events.send(Event::Dropped);
        self.wait(LAST_WORDS, |known| known.is_over);
    }

    /// Waits until the thread has ended. Returns why it has, or why it hasn't.
    pub(crate) fn wait_for_end(&self, timeout: Duration) -> End {
        self.wait(timeout, |known| known.is_over);
        let known = self.shared.known.lock().expect("no thread panics with it");
        match &known.end {
            Some(end) => end.clone(),
            None if known.may_be_refused => End::Taken,
            None if !known.has_met => End::NoReceiver,
            None if known.others == 0 => End::Silent,
            None => End::TimedOut,
        }
    }

    /// Waits until `number` other ends are there. Returns whether they are.
    pub(crate) fn wait_for_others(&self, number: usize, timeout: Duration) -> bool {
        self.wait(timeout, |known| known.others >= number || known.end.is_some());
        self.shared.known.lock().expect("no thread panics with it").others >= number
    }

    fn wait(&self, timeout: Duration, is_so: impl Fn(&Known) -> bool) {
        let known = self.shared.known.lock().expect("no thread panics with it");
        let waited = self.shared.changed.wait_timeout_while(known, timeout, |known| !is_so(known));
        drop(waited.expect("as above"));
    }
}

/// A call that waits until all is taken.
pub(crate) struct Awaits<'a>(&'a Shared);

impl Drop for Awaits<'_> {
    fn drop(&mut self) {
        self.0.awaiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Says that the thread is over, also if it panics.
struct Guard(Arc<Shared>);

impl Drop for Guard {
    fn drop(&mut self) {
        // A poisoned lock: what it holds is whole.
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.0.changed.notify_all();
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

    /// Ends the channel, which `close` does, and says why.
    fn ended(&self, end: End, close: impl FnOnce()) {
        // A call that finds the channel closed asks why, and waits here.
        let mut known = self.shared.known.lock().expect("no thread panics with it");
        close();
        (known.others, known.end) = (0, Some(end));
        self.shared.changed.notify_all();
    }

    /// The latest time of the next look, when nothing comes.
    fn until(&self, time: Duration) -> Instant {
        let gives_up = self.alone_since.map(|since| since.saturating_add(self.gives_up_after));
        // At least now and then: not each time is a time of the clock.
        let most = self.now() + Duration::from_secs(3600);
        self.began + gives_up.map_or(time, |gives_up| gives_up.min(time)).min(most)
    }

    /// Notes how many other ends there are, and whether they may refuse this one. An end, if there was
    /// none for too long.
    fn note(&mut self, others: usize, may_be_refused: bool) -> Result<(), End> {
        let now = self.now();
        if (others, may_be_refused) != self.noted {
            self.noted = (others, may_be_refused);
            let mut known = self.shared.known.lock().expect("no thread panics with it");
            (known.others, known.may_be_refused) = self.noted;
            known.has_met |= others > 0;
            self.shared.changed.notify_all();
        }
        if others > 0 {
            self.alone_since = None;
            return Ok(());
        }
        let since = *self.alone_since.get_or_insert(now);
        if now.saturating_sub(since) < self.gives_up_after {
            return Ok(());
        }
        Err(if may_be_refused { End::Taken } else { End::Silent })
    }

    fn send(&mut self, packet: &Packet) -> Result<(), End> {
        self.link.send(packet).map_err(End::Engine)
    }
}

/// Moves items from a program to its receivers.
pub(crate) fn send<T>(pump: &mut Running, mut outbox: impl Fill<T>, front: &channel::Receiver<T>) {
    let work = || loop {
        match send_once(pump, &mut outbox, front) {
            Ok(has_room) => wait_to_send(pump, outbox.state(), has_room, front),
            Err(end) => return end,
        }
    };
    let end = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        // What the codec was at is counted, and not in the state.
        End::Engine("the lane's thread has panicked".into())
    });
    if !matches!(end, End::Engine(_)) {
        pump.shared.untaken.store(outbox.untaken(), Ordering::SeqCst);
    }
    if end == End::Closed {
        for farewell in outbox.state().farewells() {
            let _ = pump.send(&farewell);
        }
    }
    pump.ended(end, || front.close());
}

/// Returns whether there is room for more items.
fn send_once<T>(
    pump: &mut Running,
    outbox: &mut impl Fill<T>,
    front: &channel::Receiver<T>,
) -> Result<bool, End> {
    while let Ok(event) = pump.events.try_recv() {
        if let Event::Packet(packet) = event {
            outbox.state().on_packet(packet, pump.now());
        }
    }
    outbox.state().set_awaited(pump.shared.awaiting.load(Ordering::SeqCst) > 0);
    let has_room = loop {
        let has_room = outbox
            .fill(front, pump.link.packet_bytes(), &pump.shared.untaken)
            .map_err(|_| End::Malformed)?;
        let mut has_sent = false;
        while let Some(packet) = outbox.state().poll(pump.now()) {
            pump.send(&packet)?;
            has_sent = true;
        }
        let may_fill = has_room && !outbox.state().has_ended() && !front.is_empty();
        if !has_sent || !may_fill {
            break has_room;
        }
    };
    pump.shared.untaken.store(outbox.untaken(), Ordering::SeqCst);
    let state = outbox.state();
    if state.is_closed() || state.is_over() {
        return Err(End::Closed);
    }
    if state.has_differed() && state.receivers() == 0 {
        return Err(End::Differs);
    }
    if state.is_refused() {
        return Err(End::Taken);
    }
    let may_be_refused = state.may_be_refused(pump.now());
    pump.note(state.receivers(), may_be_refused)?;
    Ok(has_room)
}

fn wait_to_send<T>(
    pump: &Running,
    state: &impl Deliver,
    has_room: bool,
    front: &channel::Receiver<T>,
) {
    let until = pump.until(state.next_time());
    let mut select = Select::new();
    select.recv(&pump.events);
    // Also for the end, once.
    if has_room && !state.has_ended() {
        select.recv(front);
    }
    let _ = select.ready_deadline(until);
}

/// Moves items from a sender to the program.
pub(crate) fn receive<T, C: Codec<T>>(
    pump: &mut Running,
    mut state: impl Receive,
    behind: channel::Sender<T>,
    is_confirmed: bool,
) {
    let mut inbox = Inbox {
        behind,
        is_confirmed,
        waiting: VecDeque::new(),
        next: None,
        is_dropped: false,
        has_ended: false,
    };
    let mut look = LOOK;
    let work = || loop {
        if let Err(end) = receive_once::<T, C>(pump, &mut state, &mut inbox) {
            return end;
        }
        let mut time = state.next_time();
        if !inbox.waiting.is_empty() || state.is_short() {
            time = time.min(pump.now() + LOOK);
        } else if state.is_awaited() {
            time = time.min(pump.now() + look);
        } else if state.has_untaken() {
            time = time.min(pump.now() + state.times().quarter());
        }
        inbox.next = pump.events.recv_deadline(pump.until(time)).ok();
        look = if inbox.next.is_some() { LOOK } else { (2 * look).min(LONG_LOOK) };
    };
    let panicked = |_| End::Engine("the lane's thread has panicked".into());
    let end = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(panicked);
    let Inbox { behind, waiting, is_dropped, .. } = inbox;
    let must_answer = matches!(end, End::Closed | End::Malformed | End::Engine(_));
    if end != End::Closed {
        state.close();
    }
    if !must_answer {
        pump.events.close(); // nothing is read from it any more
    }
    if !is_dropped {
        // The program gets what came before the end.
        let _ = behind.send_all(waiting);
    }
    pump.ended(end, || drop(behind));
    if must_answer {
        answer(pump, &mut state);
    }
}

/// The last status may get lost: the sender gets it as long as it asks.
fn answer(pump: &mut Running, state: &mut impl Receive) {
    if !state.is_over() && !state.has_sender() {
        return;
    }
    let mut until = pump.now() + state.times().patience;
    loop {
        while let Some(packet) = state.poll(pump.now()) {
            if matches!(packet, Packet::Status(_)) {
                until = pump.now() + state.times().patience;
                if pump.send(&packet).is_err() {
                    return;
                }
            }
        }
        match pump.events.recv_deadline(pump.until(until)) {
            Ok(Event::Packet(Packet::Data(data))) if state.knows(data.sender) => {
                if data.is_farewell() && state.has_one_sender() {
                    return;
                }
                state.on_packet(Packet::Data(data), pump.now());
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}

/// Items that were delivered, and not taken.
struct Inbox<T> {
    behind: channel::Sender<T>,
    /// Whether the program confirms what it has taken.
    is_confirmed: bool,
    /// For which there is no room in the channel.
    waiting: VecDeque<T>,
    /// What has woken the thread.
    next: Option<Event>,
    is_dropped: bool,
    /// The channel is closed, since nothing more will come.
    has_ended: bool,
}

impl<T> Inbox<T> {
    fn on_event<C: Codec<T>>(
        &mut self,
        event: Event,
        state: &mut impl Receive,
        now: Duration,
    ) -> Result<(), End> {
        let packet = match event {
            Event::Packet(packet) => packet,
            Event::Dropped => {
                self.is_dropped = true;
                return Ok(());
            }
            Event::Awaited => return Ok(()), // of senders
        };
        let Some((data, known)) = state.on_packet(packet, now) else { return Ok(()) };
        let (mut bytes, mut number) = (&data.items[..], 0);
        if let Some(len) = C::LEN {
            // Those that are known need no look.
            bytes = bytes.get(len.saturating_mul(known as usize)..).ok_or(End::Malformed)?;
            number = known;
        }
        while number < data.count {
            let item = split::<T, C>(&mut bytes).map_err(|_| End::Malformed)?;
            if number >= known {
                let item = C::decode_shared(item, &data.items);
                self.waiting.push_back(item.map_err(|_| End::Malformed)?);
            }
            number += 1;
        }
        Ok(())
    }

    /// Gives the program what it has room for. Returns the number of items that it has taken in
    /// all.
    fn flush(&mut self, given: &Mutex<Given>) -> u64 {
        let mut given = given.lock().expect("no thread panics with it");
        // Only this thread fills the channel, so that no send waits.
        let room = self.behind.capacity().unwrap_or_default().saturating_sub(self.behind.len());
        let count = room.min(self.waiting.len());
        let mut tried = 0;
        let items = self.waiting.drain(..count).inspect(|_| tried += 1);
        let is_open = self.behind.send_all(items).is_ok();
        given.items += tried - u64::from(!is_open);
        let taken = given.at_drop.unwrap_or_else(|| given.items - self.behind.len() as u64);
        if self.is_confirmed { given.confirmed } else { taken }
    }
}

fn receive_once<T, C: Codec<T>>(
    pump: &mut Running,
    state: &mut impl Receive,
    inbox: &mut Inbox<T>,
) -> Result<(), End> {
    while let Some(event) = inbox.next.take().or_else(|| pump.events.try_recv().ok()) {
        inbox.on_event::<C>(event, state, pump.now())?;
    }
    pump.shared.lost.store(state.lost(), Ordering::SeqCst);
    let taken = inbox.flush(&pump.shared.given);
    inbox.is_dropped |= !inbox.has_ended && inbox.behind.is_disconnected();
    if inbox.is_confirmed && !inbox.has_ended && inbox.waiting.is_empty() && state.has_all() {
        // The program sees the end, and can confirm the last items.
        inbox.has_ended = true;
        inbox.behind.close();
    }
    state.on_taken(taken);
    if inbox.is_dropped {
        state.close();
    }
    while !state.is_over()
        && let Some(packet) = state.poll(pump.now())
    {
        pump.send(&packet)?;
    }
    if state.is_over() || inbox.is_dropped {
        return Err(End::Closed);
    }
    if state.has_differed() && !state.has_sender() {
        return Err(End::Differs);
    }
    if state.is_refused() {
        return Err(End::Taken);
    }
    pump.note(usize::from(state.has_sender()), state.may_be_refused(pump.now()))
}
