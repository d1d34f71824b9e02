// Above 500 lines: an access changes clocks, buffers and lines, which are one state.

//! The clocks, the events, and the effects of each access.
//!
//! Threads and store buffers take turns: the earliest always goes first. So an access changes the
//! directory and memory at its own time, before all later events. With [another
//! schedule](crate::Schedule), the thread or store buffer that has a turn counts as delayed until
//! then.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::mem;
use std::panic::Location;

use rustc_hash::FxHashMap;

use crate::Time;
use crate::buffer::{Buffer, Bytes, Entry, Found, Span};
use crate::chance::Chance;
use crate::directory::{Directory, Miss, Reply, Request};
use crate::machine::Machine;
use crate::report::{CoreReport, Counters, Deadlock, Report, Site, SiteReport, Stuck};
use crate::schedule::{Agent, Schedule, Turns};

/// Number of an access's place in the source. Its costs are charged to this place.
pub(crate) type SiteId = u32;

/// Instead of a number, for an access that isn't counted.
const UNCOUNTED: SiteId = SiteId::MAX;

/// The turn of a thread or store buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Time,
    /// Decides between events of the same time: first the rank, then chance, then the agent's
    /// index.
    order: u64,
}

impl Event {
    fn new(at: Time, rank: Rank, chance: u32, agent: Agent) -> Self {
        let order = (rank as u64) << 48 | u64::from(chance) << 16 | agent.index() as u64;
        Self { at, order }
    }

    fn agent(self) -> Agent {
        Agent::from_index(self.order as u16 as usize)
    }
}

/// The order of events of the same time: a core uses a line that has arrived before the line goes
/// on to agents that wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Buffer,
    Thread,
    Waiter,
}

/// The event that a thread waits for, other than a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A free entry in its store buffer.
    Room,
    /// Its store buffer to be empty.
    Empty,
}

/// The next step of the simulation.
#[derive(Debug)]
pub(crate) enum Step {
    /// Resume the thread of this core.
    Resume(usize),
    /// All threads and stores have ended.
    End,
    /// Give up.
    Deadlock,
}

/// A virtual core.
#[derive(Debug, Default)]
struct Core {
    /// Its physical core.
    physical: usize,
    clock: Time,
    buffer: Buffer,
    wait: Option<Wait>,
    ahead: Ahead,
    runs: bool,
    ended: Option<Time>,
    last_site: Option<SiteId>,
    /// For how long the thread has worked or paused since its last access.
    busy: Time,
    counters: Vec<Counters>,
    /// Since when accesses are not counted, if they aren't; and for how long they were not counted
    /// before.
    uncounted_since: Option<Time>,
    uncounted: Time,
}

impl Core {
    /// The place to charge for an access at `site` now.
    fn charged(&self, site: SiteId) -> SiteId {
        if self.uncounted_since.is_some() { UNCOUNTED } else { site }
    }
}

/// Loads that a core has begun and not waited for.
#[derive(Debug, Default)]
struct Ahead {
    /// The loads and the work, the oldest first.
    begun: VecDeque<Begun>,
    /// The number of accesses that these count for.
    length: usize,
    /// When all of them are done.
    done: Time,
    /// When the lines arrive that the core waits for.
    fills: Vec<Time>,
    /// Whether the thread has just waited in a loop. The core can't have guessed the end of the
    /// loop, so the thread needs its next loads at once.
    surprised: bool,
}

/// An access, or work, that a core has begun and not waited for.
#[derive(Debug, Clone, Copy)]
struct Begun {
    /// When it is done.
    done: Time,
    site: SiteId,
    /// The number of accesses that it counts for.
    length: usize,
}

/// The state of a simulation, without the threads themselves.
#[derive(Debug)]
pub(crate) struct Engine {
    machine: Machine,
    directory: Directory,
    cores: Vec<Core>,
    /// The core whose thread runs.
    current: usize,
    events: BinaryHeap<Reverse<Event>>,
    /// An event that is due before the current thread continues.
    called: Option<Reverse<Event>>,
    chance: Chance,
    /// The turns, if time doesn't decide them. Then there are no events.
    turns: Option<Turns>,
    sites: Vec<&'static Location<'static>>,
    site_ids: FxHashMap<usize, SiteId>,
    /// The agents that wait for a line, in the order of their requests. The first has a turn when
    /// the line is free; the others have none.
    queues: FxHashMap<usize, VecDeque<Agent>>,
    accesses: u64,
    last_write: Time,
    /// The longest that a thread has worked or paused without an access.
    longest_work: Time,
    last_event: Time,
    /// The counters of accesses that aren't counted.
    ignored: Counters,
}

impl Engine {
    pub(crate) fn new(machine: Machine, seed: u64) -> Self {
        let topology = machine.topology;
        let core = |core| Core { physical: topology.physical(core), ..Core::default() };
        Self {
            directory: Directory::new(&machine),
            cores: (0..topology.cores()).map(core).collect(),
            machine,
            current: 0,
            events: BinaryHeap::new(),
            called: None,
            chance: Chance::new(seed),
            turns: None,
            sites: Vec::new(),
            site_ids: FxHashMap::default(),
            queues: FxHashMap::default(),
            accesses: 0,
            last_write: Time::ZERO,
            longest_work: Time::ZERO,
            last_event: Time::ZERO,
            ignored: Counters::default(),
        }
    }

    /// Sets another schedule. There are no threads yet.
    pub(crate) fn set_schedule(&mut self, schedule: Schedule) {
        assert!(self.cores.iter().all(|core| !core.runs), "the schedule comes before the threads");
        self.turns = Turns::new(schedule, self.cores.len(), self.chance.clone());
    }

    /// Starts a thread of this core at time 0.
    pub(crate) fn start(&mut self, core: usize) {
        let cores = self.cores.len();
        assert!(core < cores, "the machine has {cores} cores; there is no core {core}");
        assert!(!self.cores[core].runs, "core {core} has a thread already");
        self.cores[core].runs = true;
        self.schedule(Time::ZERO, Agent::Thread(core));
    }

    fn schedule(&mut self, at: Time, agent: Agent) {
        let rank = match agent {
            Agent::Buffer(_) => Rank::Buffer,
            Agent::Thread(_) => Rank::Thread,
        };
        self.schedule_as(rank, at, agent);
    }

    fn schedule_as(&mut self, rank: Rank, at: Time, agent: Agent) {
        match &mut self.turns {
            Some(turns) => turns.add(agent),
            None => self.events.push(Reverse(Event::new(at, rank, self.chance.any(), agent))),
        }
    }

    /// Handles events until it is a thread's turn.
    pub(crate) fn next(&mut self) -> Step {
        while let Some((at, agent)) = self.next_agent() {
            match agent {
                Agent::Buffer(core) => self.drain(core, at),
                Agent::Thread(_) if self.is_stuck(at) => {
                    self.last_event = at;
                    return Step::Deadlock;
                }
                Agent::Thread(core) => {
                    self.current = core;
                    return Step::Resume(core);
                }
            }
        }
        Step::End
    }

    /// The agent whose turn it is, and the time.
    fn next_agent(&mut self) -> Option<(Time, Agent)> {
        let Some(turns) = &mut self.turns else {
            let Reverse(event) = self.called.take().or_else(|| self.events.pop())?;
            return Some((event.at, event.agent()));
        };
        let agent = turns.next()?;
        if let Agent::Thread(core) = agent {
            let clock = &mut self.cores[core].clock;
            *clock = self.last_event.max(*clock);
            self.last_event = *clock;
        }
        Some((self.last_event, agent))
    }

    fn is_stuck(&self, now: Time) -> bool {
        self.turns.as_ref().map_or_else(|| now > self.deadline(), Turns::is_stuck)
    }

    fn deadline(&self) -> Time {
        self.last_write + self.machine.patience + self.longest_work
    }

    /// Whether the current thread may continue, because no other event is due. If not, it must
    /// stop, and is resumed when it may continue.
    pub(crate) fn is_due(&mut self) -> bool {
        let now = self.now();
        if self.turns.is_some() {
            self.schedule(now, Agent::Thread(self.current));
            return false;
        }
        let me = Agent::Thread(self.current);
        while let Some(&Reverse(next)) = self.events.peek() {
            if next.at > now {
                break;
            }
            let mine = Event::new(now, Rank::Thread, self.chance.any(), me);
            if next > mine {
                break;
            }
            if let Agent::Buffer(core) = next.agent() {
                self.events.pop();
                self.drain(core, next.at);
                continue;
            }
            self.called =
                self.events.peek_mut().map(|mut first| mem::replace(&mut *first, Reverse(mine)));
            return false;
        }
        if now > self.deadline() {
            self.schedule(now, Agent::Thread(self.current));
            return false;
        }
        true
    }

    /// The clock of the current thread.
    pub(crate) fn now(&self) -> Time {
        self.cores[self.current].clock
    }

    /// Advances the current thread's clock.
    fn spend(&mut self, time: Time) {
        self.cores[self.current].clock += time;
    }

    /// Notes that the current thread is busy for so long without an access, so it isn't stuck.
    fn be_busy(&mut self, time: Time) {
        let busy = &mut self.cores[self.current].busy;
        *busy += time;
        self.longest_work = self.longest_work.max(*busy);
    }

    /// Lets time pass in instructions that wait for no load.
    pub(crate) fn compute(&mut self, time: Time) {
        self.be_busy(time);
        self.spend(time);
    }

    /// Lets time pass in work that begins when all loads and all work before are done. A core that
    /// looks ahead continues meanwhile.
    pub(crate) fn work(&mut self, time: Time) {
        self.be_busy(time);
        let core = &self.cores[self.current];
        match core.last_site {
            Some(site) if self.machine.lookahead > 0 => {
                let site = core.charged(site);
                let done = core.ahead.done.max(core.clock) + time;
                let length = time.as_ps() / self.machine.work_per_access.as_ps().max(1);
                self.go_ahead(Begun { done, site, length: length as usize });
            }
            _ => self.spend(time),
        }
    }

    /// Lets the current thread wait until all its loads are done.
    pub(crate) fn await_loads(&mut self) {
        while self.await_oldest() {}
    }

    /// Lets the current thread wait for the oldest load or work that it has begun. False if there
    /// is none.
    fn await_oldest(&mut self) -> bool {
        let ahead = &mut self.cores[self.current].ahead;
        let Some(Begun { done, site, length }) = ahead.begun.pop_front() else { return false };
        ahead.length -= length;
        self.wait_until(done, site);
        true
    }

    /// Lets the current thread wait until then, and charges the time.
    pub(crate) fn wait_until(&mut self, done: Time, site: SiteId) {
        let core = self.current;
        let lost = done.max(self.now()) - self.now();
        self.counters(core, site).stall += lost;
        self.cores[core].clock += lost;
    }

    /// Lets the current thread continue, if it may, before `begun` is done.
    fn go_ahead(&mut self, begun: Begun) {
        let ahead = &mut self.cores[self.current].ahead;
        ahead.done = ahead.done.max(begun.done);
        ahead.length += begun.length;
        ahead.begun.push_back(begun);
        while self.cores[self.current].ahead.length > self.machine.lookahead {
            self.await_oldest();
        }
    }

    /// Lets turns of a spin loop pass.
    pub(crate) fn pause(&mut self, turns: u32) {
        self.await_loads();
        self.compute(self.machine.costs.pause * u64::from(turns));
        let core = self.current;
        self.cores[core].ahead.surprised = true;
        self.turns.iter_mut().for_each(|turns| turns.pause(core));
    }

    /// The current thread has passed a full fence.
    pub(crate) fn fenced(&mut self) {
        self.spend(self.machine.costs.fence);
    }

    /// Whether to count the current thread's accesses from now on.
    pub(crate) fn count(&mut self, on: bool) {
        let core = &mut self.cores[self.current];
        let now = core.clock;
        core.uncounted_since = match (on, core.uncounted_since.take()) {
            (true, Some(since)) => {
                core.uncounted += now - since;
                None
            }
            (true, None) => None,
            (false, since) => Some(since.unwrap_or(now)),
        };
    }

    /// Whether a schedule other than time decides which agent takes the next step.
    pub(crate) fn has_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// The current thread has ended.
    pub(crate) fn end(&mut self) {
        self.await_loads();
        let now = self.now();
        self.cores[self.current].ended = Some(now);
        self.written(now);
    }

    /// Notes a write at that time.
    fn written(&mut self, at: Time) {
        self.last_write = self.last_write.max(at);
        self.turns.iter_mut().for_each(Turns::written);
    }

    /// The place to charge for an access there. Notes it as the current thread's last place.
    pub(crate) fn site(&mut self, location: &'static Location<'static>) -> SiteId {
        let sites = &mut self.sites;
        let id = *self.site_ids.entry(std::ptr::from_ref(location).addr()).or_insert_with(|| {
            sites.push(location);
            sites.len() as SiteId - 1
        });
        let core = &mut self.cores[self.current];
        core.last_site = Some(id);
        core.busy = Time::ZERO;
        core.charged(id)
    }

    /// The current thread's counters for a place.
    fn counters(&mut self, core: usize, site: SiteId) -> &mut Counters {
        if site == UNCOUNTED {
            return &mut self.ignored;
        }
        let counters = &mut self.cores[core].counters;
        if counters.len() <= site as usize {
            counters.resize(self.sites.len(), Counters::default());
        }
        &mut counters[site as usize]
    }

    /// Asks the directory on behalf of a core, and counts a miss.
    fn request(
        &mut self,
        core: usize,
        site: SiteId,
        line: usize,
        what: Request,
        at: Time,
    ) -> Reply {
        let reply = self.directory.request(line, self.cores[core].physical, what, at);
        let Some((miss, distance)) = reply.miss else { return reply };
        if distance == crate::Distance::Memory {
            self.written(at);
        }
        let counters = self.counters(core, site);
        match miss {
            Miss::Read => counters.read_misses += 1,
            Miss::Write => counters.write_misses += 1,
            Miss::Upgrade => counters.upgrades += 1,
        }
        counters.prefetches += u64::from(reply.prefetched);
        counters.transfers[distance as usize] += 1;
        reply
    }

    /// The part of `span` that the current thread finds in its store buffer.
    pub(crate) fn find(&self, span: Span) -> Found {
        self.cores[self.current].buffer.find(span)
    }

    /// Whether plain access to `span` has to wait for the current thread's store buffer.
    pub(crate) fn awaits_value_in(&self, span: Span) -> bool {
        self.cores[self.current].buffer.holds_value_in(span)
    }

    /// Counts a load that the store buffer has answered.
    pub(crate) fn forward(&mut self, site: SiteId) {
        self.accesses += 1;
        self.counters(self.current, site).hits += 1;
        self.spend(self.machine.costs.hit);
    }

    /// Whether stores wait in a buffer.
    pub(crate) fn buffers_stores(&self) -> bool {
        self.machine.store_buffer.entries > 0
    }

    /// Size of a line.
    pub(crate) fn line(&self) -> usize {
        self.machine.line
    }

    /// Whether the current thread has to stop and wait for its turn to ask for `line`. If so, it is
    /// resumed when it may try again.
    #[inline]
    pub(crate) fn must_queue(&mut self, line: usize, what: Request) -> bool {
        self.queues_up(Agent::Thread(self.current), line, what, self.now())
    }

    /// Whether an agent has to wait while other agents get `line`, one after the other.
    fn queues_up(&mut self, who: Agent, line: usize, what: Request, at: Time) -> bool {
        let physical = self.cores[who.core()].physical;
        let Some(busy) = self.directory.busy_until(line, physical, what, at) else { return false };
        let first = self.queues.get(&line).and_then(VecDeque::front);
        if self.turns.is_some() || busy <= at && first.is_none_or(|first| *first == who) {
            return false;
        }
        let queue = self.queues.entry(line).or_default();
        if queue.front() == Some(&who) || queue.is_empty() {
            if queue.is_empty() {
                queue.push_back(who);
            }
            self.call(who, busy);
        } else {
            queue.push_back(who);
        }
        true
    }

    /// Gives a waiter a turn at that time.
    fn call(&mut self, who: Agent, at: Time) {
        if let Agent::Thread(core) = who {
            let clock = &mut self.cores[core].clock;
            *clock = at.max(*clock);
        }
        self.schedule_as(Rank::Waiter, at, who);
    }

    /// Removes an agent that has got `line` from the queue. The next waiter has its turn when the
    /// line is free again.
    fn leave_queue(&mut self, who: Agent, line: usize) {
        let Some(queue) = self.queues.get_mut(&line) else { return };
        if queue.front() != Some(&who) {
            return;
        }
        queue.pop_front();
        match queue.front() {
            Some(next) => {
                let next = *next;
                self.call(next, self.directory.busy(line));
            }
            None => {
                self.queues.remove(&line);
            }
        }
    }

    /// The line of `span`.
    pub(crate) fn line_of(&mut self, span: Span) -> usize {
        self.directory.line_of(span.address)
    }

    /// The current thread loads from memory.
    pub(crate) fn read(&mut self, site: SiteId, line: usize) {
        self.accesses += 1;
        let (core, now, hit) = (self.current, self.now(), self.machine.costs.hit);
        let reply = self.request(core, site, line, Request::Read, now);
        self.leave_queue(Agent::Thread(core), line);
        if self.machine.lookahead == 0 || self.cores[core].ahead.surprised {
            self.settle(site, reply, hit);
            return;
        }
        self.counters(core, site).hits += u64::from(reply.miss.is_none());
        self.spend(hit);
        let ready = if reply.miss.is_some() { self.fill(reply.ready, site) } else { reply.ready };
        self.go_ahead(Begun { done: ready, site, length: 1 });
    }

    /// Lets the current thread wait until it can ask for another line. Without the wait the line
    /// would arrive at `ready`. Returns when it arrives.
    fn fill(&mut self, ready: Time, site: SiteId) -> Time {
        let (core, now) = (self.current, self.now());
        let fills = &mut self.cores[core].ahead.fills;
        let first = (0..fills.len()).min_by_key(|fill| fills[*fill]);
        let free = first.filter(|_| fills.len() >= self.machine.fills);
        let late = free.map_or(now, |fill| fills.swap_remove(fill).max(now)) - now;
        fills.push(ready + late);
        self.wait_until(now + late, site);
        ready + late
    }

    /// Notes that the current thread's last wait is over, and it may run ahead again.
    pub(crate) fn guess_again(&mut self) {
        self.cores[self.current].ahead.surprised = false;
    }

    /// The current thread stores to a line, without a store buffer or past an empty one.
    fn write_through(&mut self, site: SiteId, line: usize) {
        let (core, now, store) = (self.current, self.now(), self.machine.costs.store);
        let reply = self.request(core, site, line, Request::Write, now);
        self.settle(site, reply, store);
        self.leave_queue(Agent::Thread(core), line);
        self.written(now);
    }

    /// Lets the current thread wait for the line that it asked for, at least for the time `hit`.
    fn settle(&mut self, site: SiteId, reply: Reply, hit: Time) {
        let (core, now) = (self.current, self.now());
        let ready = match reply.miss {
            Some(_) => reply.ready.max(now + hit),
            None => reply.ready + hit,
        };
        let counters = self.counters(core, site);
        counters.hits += u64::from(reply.miss.is_none());
        counters.stall += ready - now - hit;
        self.cores[core].clock = ready;
    }

    /// The current thread takes a line for a read-modify-write.
    pub(crate) fn read_modify_write(&mut self, site: SiteId, line: usize) {
        self.accesses += 1;
        let (core, rmw) = (self.current, self.machine.costs.rmw);
        let now = self.now();
        let mut reply = self.request(core, site, line, Request::Modify, now);
        if reply.miss.is_some() {
            reply.ready += rmw;
        }
        self.settle(site, reply, rmw);
        let until = self.now();
        self.directory.hold(line, until);
        self.leave_queue(Agent::Thread(core), line);
    }

    /// The current thread's read-modify-write has changed the value.
    pub(crate) fn modified(&mut self) {
        self.written(self.now());
    }

    /// The current thread stores within a line; it has room in its buffer.
    ///
    /// `value` is the value to be written and its address, unless it is written already.
    pub(crate) fn store(&mut self, site: SiteId, span: Span, value: Option<(*mut u8, Bytes)>) {
        self.accesses += 1;
        let line = self.line_of(span);
        let (now, core) = (self.now(), self.current);
        self.guess_again();
        let Core { physical, ref buffer, ref ahead, .. } = self.cores[core];
        let after = ahead.done;
        let entry = Entry { line, site, span, value, after, charged: false };
        let by_time = self.turns.is_none();
        let free =
            || by_time && after <= now && self.directory.is_free_and_owned(line, physical, now);
        if self.machine.store_buffer.entries == 0 || (buffer.is_empty() && free()) {
            entry.write();
            self.write_through(site, line);
        } else {
            self.enqueue(entry);
        }
    }

    /// Puts a store into the current thread's buffer.
    fn enqueue(&mut self, mut entry: Entry) {
        let (now, core) = (self.now(), self.current);
        let (line, physical) = (entry.line, self.cores[core].physical);
        let busy = self.directory.busy_until(line, physical, Request::WriteLater, now);
        let is_free = busy.is_none_or(|at| at <= now && !self.queues.contains_key(&line));
        if self.machine.store_buffer.early_ownership && is_free {
            let reply = self.request(core, entry.site, entry.line, Request::WriteLater, now);
            entry.charged = reply.miss.is_some();
        }
        let store = self.machine.costs.store;
        let (site, after) = (entry.site, entry.after);
        if self.cores[core].buffer.push(entry) {
            self.schedule(after.max(now + store), Agent::Buffer(core));
        }
        self.spend(store);
        if self.machine.lookahead > 0 {
            self.go_ahead(Begun { done: now, site, length: 1 });
        }
    }

    /// The next step of a core's store buffer: a store arrives in the cache, or the next one is
    /// sent.
    fn drain(&mut self, core: usize, at: Time) {
        self.last_event = at;
        if self.turns.is_some() {
            return self.enter(core, at);
        }
        self.arrive(core, at);
        self.wake(core, at);
        let Some(&Entry { line, after, .. }) = self.cores[core].buffer.next() else { return };
        if after > at {
            self.schedule(after, Agent::Buffer(core));
        } else if !self.queues_up(Agent::Buffer(core), line, Request::WriteLater, at) {
            self.send(core, at);
        }
    }

    /// Sends the oldest store of a core, which arrives at once: a schedule can put steps between
    /// sending and arrival before both.
    fn enter(&mut self, core: usize, at: Time) {
        let Some(entry) = self.cores[core].buffer.pop() else {
            // A thread that panicked has made all stores visible.
            return self.wake(core, at);
        };
        let reply = self.request(core, entry.site, entry.line, Request::Write, at);
        let is_hit = reply.miss.is_none() && !entry.charged;
        self.counters(core, entry.site).hits += u64::from(is_hit);
        entry.write();
        self.written(at);
        self.wake(core, at);
        if !self.cores[core].buffer.is_empty() {
            self.schedule(at, Agent::Buffer(core));
        }
    }

    /// Makes a store visible that has arrived in a core's cache.
    fn arrive(&mut self, core: usize, at: Time) {
        let mut buffer = mem::take(&mut self.cores[core].buffer);
        let count = |entry: &Entry| {
            self.counters(core, entry.site).hits += u64::from(!entry.charged);
        };
        if buffer.arrive(at, count) {
            self.written(at);
        }
        self.cores[core].buffer = buffer;
    }

    /// Asks for the line of the oldest store of a core. The core holds the line until the store has
    /// entered the cache.
    fn send(&mut self, core: usize, at: Time) {
        let Some(&Entry { line, site, charged, .. }) = self.cores[core].buffer.send() else {
            return;
        };
        let reply = self.request(core, site, line, Request::WriteLater, at);
        let is_hit = reply.miss.is_none() && !charged;
        self.counters(core, site).hits += u64::from(is_hit);
        let until = reply.ready.max(at) + self.machine.costs.store;
        self.directory.hold(line, until);
        self.leave_queue(Agent::Buffer(core), line);
        self.schedule(until, Agent::Buffer(core));
    }

    /// Resumes a core's thread if the event that it waits for has come.
    fn wake(&mut self, core: usize, at: Time) {
        let entries = self.machine.store_buffer.entries;
        let waiting = &mut self.cores[core];
        let left = waiting.buffer.len();
        let has_come = match waiting.wait {
            None => false,
            Some(Wait::Room) => left < entries,
            Some(Wait::Empty) => left == 0,
        };
        if has_come {
            waiting.wait = None;
            waiting.clock = waiting.clock.max(at);
            let at = waiting.clock;
            self.schedule(at, Agent::Thread(core));
        }
    }

    /// Whether the current thread has to stop and wait. If so, it is resumed when the event has
    /// come.
    pub(crate) fn must_wait(&mut self, wait: Wait) -> bool {
        let entries = self.machine.store_buffer.entries;
        let core = &mut self.cores[self.current];
        let must = match wait {
            Wait::Room => entries > 0 && core.buffer.len() >= entries,
            Wait::Empty => !core.buffer.is_empty(),
        };
        core.wait = must.then_some(wait);
        must
    }

    /// Charges the time since `since` as lost.
    pub(crate) fn stalled(&mut self, site: SiteId, since: Time) {
        let lost = self.now() - since;
        self.counters(self.current, site).stall += lost;
    }

    /// Stores of all threads to these bytes needn't be done any more.
    pub(crate) fn forget(&mut self, span: Span) {
        self.cores.iter_mut().for_each(|core| core.buffer.forget(span));
    }

    /// How many stores each core has made.
    pub(crate) fn stores(&self) -> Vec<u64> {
        self.cores.iter().map(|core| core.buffer.progress().1).collect()
    }

    /// Whether so many stores of each core are visible.
    pub(crate) fn are_visible(&self, stores: &[u64]) -> bool {
        self.cores.iter().zip(stores).all(|(core, &stores)| core.buffer.progress().0 >= stores)
    }

    /// Makes all stores visible, whatever their time.
    pub(crate) fn write_all(&mut self) {
        self.cores.iter_mut().for_each(|core| core.buffer.write_all());
    }

    /// Whether no thread waits any more.
    pub(crate) fn all_have_ended(&self) -> bool {
        self.cores.iter().all(|core| !core.runs || core.ended.is_some())
    }

    pub(crate) fn deadlock(&self) -> Deadlock {
        let stuck = |(core, state): (usize, &Core)| {
            let site = state.last_site.map(|id| Site::from(self.sites[id as usize]));
            (state.runs && state.ended.is_none()).then_some(Stuck { core, site })
        };
        let threads = self.cores.iter().enumerate().filter_map(stuck).collect();
        Deadlock { time: self.last_event, threads }
    }

    pub(crate) fn report(&self) -> Report {
        let core = |(core, state): (usize, &Core)| {
            let ended = state.ended?;
            let sites = self.by_site(state);
            let mut total = Counters::default();
            sites.iter().for_each(|site| total += site.counters);
            let counted = state.uncounted_since.unwrap_or(ended) - state.uncounted;
            Some(CoreReport { core, ended, counted, total, sites })
        };
        let cores: Vec<_> = self.cores.iter().enumerate().filter_map(core).collect();
        let ended = cores.iter().map(|core| core.ended).max().unwrap_or_default();
        let steps = self.turns.as_ref().map_or(0, Turns::steps);
        Report { time: ended.max(self.last_event), accesses: self.accesses, steps, cores }
    }

    /// Counters in the order of the source. The compiler may have several copies of one place.
    fn by_site(&self, core: &Core) -> Vec<SiteReport> {
        let place = |(id, counters): (usize, &Counters)| SiteReport {
            site: Site::from(self.sites[id]),
            counters: *counters,
        };
        let mut sites: Vec<_> = core.counters.iter().enumerate().map(place).collect();
        sites.sort_by_key(|report| report.site);
        sites.dedup_by(|next, kept| {
            let same = next.site == kept.site;
            if same {
                kept.counters += next.counters;
            }
            same
        });
        sites.retain(|report| report.counters != Counters::default());
        sites
    }
}
