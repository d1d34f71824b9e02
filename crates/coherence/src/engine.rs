//! The clocks, the events, and what each access does to them.
//!
//! Threads and store buffers take turns: the earliest always goes first. So whatever an access does to
//! the directory and to memory, it does at its own time, before anything that is later.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::panic::Location;

use rustc_hash::FxHashMap;

use crate::Time;
use crate::buffer::{Buffer, Bytes, Entry, Found, Span};
use crate::directory::{Directory, Miss, Reply, Request};
use crate::machine::Machine;
use crate::report::{CoreReport, Counters, Deadlock, Report, Site, SiteReport, Stuck};

/// Place of an access in the source, numbered.
pub(crate) type SiteId = u32;

/// What happens at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// The thread of this core goes on.
    Resume(usize),
    /// The oldest store of this core's buffer is in, or is to be sent.
    Drain(usize),
}

/// Time, then chance: that decides between events of the same time.
type Event = (Time, u32, What);

/// What a thread waits for that isn't a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A free entry in its store buffer.
    Room,
    /// Its store buffer to be empty.
    Empty,
}

/// What is to be done next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Let the thread of this core go on.
    Resume(usize),
    /// Everything has ended.
    End,
    /// Give up.
    Deadlock,
}

/// A virtual core.
#[derive(Debug, Default)]
struct Core {
    /// Which physical core it is part of.
    physical: usize,
    clock: Time,
    buffer: Buffer,
    wait: Option<Wait>,
    ahead: Ahead,
    runs: bool,
    ended: Option<Time>,
    last_site: Option<SiteId>,
    counters: Vec<Counters>,
    /// Since when nothing is counted, and for how long nothing was before.
    uncounted_since: Option<Time>,
    uncounted: Time,
}

/// Loads that a core has begun and not waited for.
#[derive(Debug, Default)]
struct Ahead {
    /// What the core has begun, the oldest first.
    begun: VecDeque<Begun>,
    /// How many accesses that counts for.
    length: usize,
    /// When all of them are.
    done: Time,
    /// When the lines come that the core waits for, the first to be asked for first.
    fills: VecDeque<Time>,
    /// Whether the thread has just waited for something: it can't have guessed that this would end, so
    /// what it loads next it needs at once.
    surprised: bool,
}

/// An access, or work, that a core has begun and not waited for.
#[derive(Debug, Clone, Copy)]
struct Begun {
    /// When it is done.
    done: Time,
    site: SiteId,
    /// How many accesses it counts for.
    length: usize,
}

/// The state of a simulation, without the threads themselves.
#[derive(Debug)]
pub(crate) struct Engine {
    machine: Machine,
    directory: Directory,
    cores: Vec<Core>,
    /// The core whose thread is on.
    current: usize,
    events: BinaryHeap<Reverse<Event>>,
    random: u64,
    sites: Vec<&'static Location<'static>>,
    site_ids: FxHashMap<usize, SiteId>,
    accesses: u64,
    last_write: Time,
    longest_work: Time,
    last_event: Time,
    /// Where that goes which isn't counted.
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
            random: seed,
            sites: Vec::new(),
            site_ids: FxHashMap::default(),
            accesses: 0,
            last_write: Time::ZERO,
            longest_work: Time::ZERO,
            last_event: Time::ZERO,
            ignored: Counters::default(),
        }
    }

    /// A thread of this core is to start at time 0.
    pub(crate) fn start(&mut self, core: usize) {
        let cores = self.cores.len();
        assert!(core < cores, "the machine has {cores} cores; there is no core {core}");
        assert!(!self.cores[core].runs, "core {core} has a thread already");
        self.cores[core].runs = true;
        self.schedule(Time::ZERO, What::Resume(core));
    }

    fn schedule(&mut self, at: Time, what: What) {
        let chance = self.chance();
        self.events.push(Reverse((at, chance, what)));
    }

    /// A random number: SplitMix64 (Steele, Lea, Flood 2014).
    fn chance(&mut self) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z >> 32) as u32
    }

    /// Does what is due until it is a thread's turn.
    pub(crate) fn next(&mut self) -> Step {
        while let Some(Reverse((at, _, what))) = self.events.pop() {
            match what {
                What::Drain(core) => self.drain(core, at),
                What::Resume(_) if at > self.deadline() => {
                    self.last_event = at;
                    return Step::Deadlock;
                }
                What::Resume(core) => {
                    self.current = core;
                    return Step::Resume(core);
                }
            }
        }
        Step::End
    }

    fn deadline(&self) -> Time {
        self.last_write + self.machine.patience + self.longest_work
    }

    /// Whether the current thread may go on, because nothing else is due. If not, it is to stop, and
    /// is resumed when it may.
    pub(crate) fn is_due(&mut self) -> bool {
        let now = self.now();
        while let Some(&Reverse((at, chance, what))) = self.events.peek() {
            // A store that is in now has its line until now.
            let is_store = matches!(what, What::Drain(_));
            if at > now || (at == now && !is_store && chance > self.chance()) {
                break;
            }
            let What::Drain(core) = what else {
                self.schedule(now, What::Resume(self.current));
                return false;
            };
            self.events.pop();
            self.drain(core, at);
        }
        if now > self.deadline() {
            self.schedule(now, What::Resume(self.current));
            return false;
        }
        true
    }

    /// The clock of the current thread.
    pub(crate) fn now(&self) -> Time {
        self.cores[self.current].clock
    }

    /// Lets the current thread's clock go on.
    pub(crate) fn spend(&mut self, time: Time) {
        self.cores[self.current].clock += time;
    }

    /// As [`spend`](Self::spend), for work that writes nothing meanwhile. It begins when all loads and
    /// all work before are done; a core that looks ahead goes on meanwhile.
    pub(crate) fn work(&mut self, time: Time) {
        self.longest_work = self.longest_work.max(time);
        let core = &self.cores[self.current];
        match core.last_site {
            Some(site) if self.machine.lookahead > 0 => {
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

    /// Lets the current thread wait for what it has begun first. False if there's nothing.
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

    /// The current thread goes on before what it has begun is done, if it may.
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
        self.spend(self.machine.costs.pause * u64::from(turns));
        self.cores[self.current].ahead.surprised = true;
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

    /// The current thread has ended.
    pub(crate) fn end(&mut self) {
        let now = self.now();
        self.cores[self.current].ended = Some(now);
        self.written(now);
    }

    /// Something has changed at that time.
    fn written(&mut self, at: Time) {
        self.last_write = self.last_write.max(at);
    }

    /// The number of a place, which is from now on the current thread's last one.
    pub(crate) fn site(&mut self, location: &'static Location<'static>) -> SiteId {
        let sites = &mut self.sites;
        let id = *self.site_ids.entry(std::ptr::from_ref(location).addr()).or_insert_with(|| {
            sites.push(location);
            sites.len() as SiteId - 1
        });
        self.cores[self.current].last_site = Some(id);
        id
    }

    /// The current thread's counters for a place.
    fn counters(&mut self, core: usize, site: SiteId) -> &mut Counters {
        let core = &mut self.cores[core];
        if core.uncounted_since.is_some() {
            return &mut self.ignored;
        }
        let counters = &mut core.counters;
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

    /// What the current thread finds of `span` in its store buffer.
    pub(crate) fn find(&self, span: Span) -> Found {
        self.cores[self.current].buffer.find(span)
    }

    /// Whether plain access to `span` has to wait for the current thread's store buffer.
    pub(crate) fn awaits_value_in(&self, span: Span) -> bool {
        self.cores[self.current].buffer.holds_value_in(span)
    }

    /// A load that the store buffer has answered.
    pub(crate) fn forward(&mut self, site: SiteId) {
        self.accesses += 1;
        self.counters(self.current, site).hits += 1;
        self.spend(self.machine.costs.hit);
    }

    /// Size of a line.
    pub(crate) fn line(&self) -> usize {
        self.machine.line
    }

    /// When `line` can be sent to the current thread, if that needs it and has to wait.
    pub(crate) fn busy(&self, line: usize) -> Option<Time> {
        let now = self.now();
        self.directory
            .busy_until(line, self.cores[self.current].physical, now)
            .filter(|at| *at > now)
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
        if self.machine.lookahead == 0 || self.cores[core].ahead.surprised {
            self.settle(site, reply, hit);
            return;
        }
        self.counters(core, site).hits += u64::from(reply.miss.is_none());
        self.spend(hit);
        let ready = if reply.miss.is_some() { self.fill(reply.ready, site) } else { reply.ready };
        self.go_ahead(Begun { done: ready, site, length: 1 });
    }

    /// Lets the current thread wait until it can ask for another line, and says when that will come which
    /// would come at `ready` if it needn't wait.
    fn fill(&mut self, ready: Time, site: SiteId) -> Time {
        let (core, now) = (self.current, self.now());
        let fills = &mut self.cores[core].ahead.fills;
        let first = if fills.len() < self.machine.fills { None } else { fills.pop_front() };
        let late = first.map_or(now, |first| first.max(now)) - now;
        self.cores[core].ahead.fills.push_back(ready + late);
        self.wait_until(now + late, site);
        ready + late
    }

    /// The current thread reads plain data of one line.
    pub(crate) fn read_plain(&mut self, site: SiteId, span: Span) {
        self.cores[self.current].ahead.surprised = false;
        match self.find(span) {
            Found::Whole(_) => self.forward(site),
            Found::Part | Found::Nothing => {
                let line = self.line_of(span);
                self.read(site, line);
            }
        }
    }

    /// The current thread stores to a line, without a store buffer or past an empty one.
    fn write_through(&mut self, site: SiteId, line: usize) {
        let (core, now, store) = (self.current, self.now(), self.machine.costs.store);
        let reply = self.request(core, site, line, Request::Write, now);
        self.settle(site, reply, store);
        self.written(now);
    }

    /// Lets the current thread wait for what it asked for; `hit` is what that takes at least.
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
    pub(crate) fn read_modify_write(&mut self, site: SiteId, span: Span) {
        self.accesses += 1;
        let line = self.directory.line_of(span.address);
        let (core, rmw) = (self.current, self.machine.costs.rmw);
        let now = self.now();
        let mut reply = self.request(core, site, line, Request::Write, now);
        if reply.miss.is_some() {
            reply.ready += rmw;
        }
        self.settle(site, reply, rmw);
        let until = self.now();
        self.directory.hold(line, until);
    }

    /// The current thread's read-modify-write has changed the value.
    pub(crate) fn modified(&mut self) {
        self.written(self.now());
    }

    /// The current thread stores within a line; it has room in its buffer.
    ///
    /// `value` is what is to be written, and where, unless that is done already.
    pub(crate) fn store(&mut self, site: SiteId, span: Span, value: Option<(*mut u8, Bytes)>) {
        self.accesses += 1;
        let line = self.directory.line_of(span.address);
        let (now, core) = (self.now(), self.current);
        self.cores[core].ahead.surprised = false;
        let Core { physical, ref buffer, ref ahead, .. } = self.cores[core];
        let after = ahead.done;
        let entry = Entry { line, site, span, value, after, waited: false, charged: false };
        let free = || after <= now && self.directory.is_free_and_owned(line, physical, now);
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
        let busy = self.directory.busy_until(entry.line, self.cores[core].physical, now);
        if self.machine.store_buffer.early_ownership && busy.is_none_or(|at| at <= now) {
            let reply = self.request(core, entry.site, entry.line, Request::WriteLater, now);
            entry.charged = reply.miss.is_some();
        }
        let store = self.machine.costs.store;
        let (site, after) = (entry.site, entry.after);
        if self.cores[core].buffer.push(entry) {
            self.schedule(after.max(now + store), What::Drain(core));
        }
        self.spend(store);
        if self.machine.lookahead > 0 {
            self.go_ahead(Begun { done: now, site, length: 1 });
        }
    }

    /// What a core's store buffer does next: a store arrives in the cache, or the next one is sent.
    fn drain(&mut self, core: usize, at: Time) {
        self.last_event = at;
        self.arrive(core, at);
        self.wake(core, at);
        let Core { physical, ref mut buffer, .. } = self.cores[core];
        let Some(next) = buffer.next() else { return };
        let mut sent = next.after;
        if !next.waited {
            next.waited = true;
            let busy = self.directory.busy_until(next.line, physical, at);
            sent = sent.max(busy.unwrap_or(at));
        }
        match sent > at {
            true => self.schedule(sent, What::Drain(core)),
            false => self.send(core, at),
        }
    }

    /// Makes a store visible that has come into a core's cache.
    fn arrive(&mut self, core: usize, at: Time) {
        let mut buffer = std::mem::take(&mut self.cores[core].buffer);
        if buffer.arrive(at, |site| self.counters(core, site).hits += 1) {
            self.written(at);
        }
        self.cores[core].buffer = buffer;
    }

    /// Asks for the line of the oldest store of a core, which holds it until the store is in.
    fn send(&mut self, core: usize, at: Time) {
        let Some(&Entry { line, site, charged, .. }) = self.cores[core].buffer.send() else {
            return;
        };
        let reply = self.request(core, site, line, Request::WriteLater, at);
        let is_hit = reply.miss.is_none() && !charged;
        self.counters(core, site).hits += u64::from(is_hit);
        let until = reply.ready.max(at) + self.machine.costs.store;
        self.directory.hold(line, until);
        self.schedule(until, What::Drain(core));
    }

    /// Lets a core's thread go on if what it waits for has come.
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
            self.schedule(at, What::Resume(core));
        }
    }

    /// Whether the current thread has to stop and wait. If so it is resumed when it needn't any more.
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

    /// Makes all stores visible, whatever their time.
    pub(crate) fn write_all(&mut self) {
        self.cores.iter_mut().for_each(|core| core.buffer.write_all());
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
        Report { time: ended.max(self.last_event), accesses: self.accesses, cores }
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
