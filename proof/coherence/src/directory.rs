//! The lines that cores hold: a directory that serves the requests for a line one after the other.

use rustc_hash::FxHashMap;

use crate::Time;
use crate::cache::Cache;
use crate::machine::{Costs, Distance, Machine, Protocol};

/// Lines are numbered page by page.
const PAGE: usize = 4096;
/// How many pages are found without a look into the map.
const RECENT: usize = 64;
/// No owner.
const NOBODY: u8 = u8::MAX;

/// The state of a line.
///
/// | state | owner | sharers | dirty |
/// |---|---|---|---|
/// | modified | c | c | yes |
/// | owned | c | c and others | yes |
/// | exclusive | c | c | no |
/// | shared | nobody | some | no |
/// | invalid | nobody | none | no |
///
/// A line that has left the last private cache is invalid, and in an L3.
#[derive(Debug, Clone)]
struct Line {
    /// The physical cores that hold a copy.
    sharers: u128,
    /// When the last request has been served.
    busy: Time,
    /// The cores that had a copy when the owner asked for the only copy. They keep their copies
    /// until `busy`.
    leaving: u128,
    left: Time,
    /// The cores whose copies were last on their way, and when the latest of these arrives.
    coming: u128,
    come: Time,
    owner: u8,
    /// The core from whose cache the line last went to the L3.
    left_from: u8,
    dirty: bool,
    /// Whether the owner has written to the line since it arrived. If so, no other core has a copy.
    written: bool,
}

impl Line {
    /// Whether a core that has to give up its copy still has it at that time.
    fn keeps(&self, bit: u128, at: Time) -> bool {
        self.leaving & bit != 0 && at < self.left
    }

    /// When a core that has a copy can use the copy.
    fn usable(&self, bit: u128, at: Time) -> Time {
        if self.coming & bit != 0 { at.max(self.come) } else { at }
    }

    /// A copy is on its way to a core.
    fn send(&mut self, bit: u128, at: Time, ready: Time) {
        if self.come <= at {
            self.coming = 0;
        }
        self.coming |= bit;
        self.come = self.come.max(ready);
    }
}

/// The purpose of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// A copy to read.
    Read,
    /// The only copy, for a write that is visible at once.
    Write,
    /// The same for a read-modify-write, behind all agents that wait for the line.
    Modify,
    /// The only copy, for a store that is visible when the line arrives: other cores keep their
    /// copies until then.
    WriteLater,
}

/// Why a request couldn't be served by the core's own cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Miss {
    Read,
    Write,
    Upgrade,
}

/// How a request was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reply {
    /// When the line has arrived. For a hit, when the core may use it.
    pub(crate) ready: Time,
    pub(crate) miss: Option<(Miss, Distance)>,
    /// Whether the other line of the pair was fetched as well.
    pub(crate) prefetched: bool,
}

/// The directory's data of a physical core.
#[derive(Debug)]
struct Place {
    bit: u128,
    l3_mates: u128,
    socket_mates: u128,
}

#[derive(Debug)]
pub(crate) struct Directory {
    costs: Costs,
    protocol: Protocol,
    pair_prefetcher: bool,
    line_shift: u32,
    places: Vec<Place>,
    /// Number of the first line of each page.
    pages: FxHashMap<usize, usize>,
    /// The same for some pages that were requested recently.
    recent: [(usize, usize); RECENT],
    lines: Vec<Line>,
    /// By physical core, if they can overflow.
    caches: Vec<Cache>,
}

impl Directory {
    pub(crate) fn new(machine: &Machine) -> Self {
        let topology = machine.topology;
        let place = |core| Place {
            bit: 1_u128 << core,
            l3_mates: topology.l3_mates(core),
            socket_mates: topology.socket_mates(core),
        };
        Self {
            costs: machine.costs,
            protocol: machine.protocol,
            pair_prefetcher: machine.pair_prefetcher,
            line_shift: machine.line.trailing_zeros(),
            places: (0..topology.physical_cores()).map(place).collect(),
            pages: FxHashMap::default(),
            recent: [(usize::MAX, 0); RECENT],
            lines: Vec::new(),
            caches: machine.private_cache.map_or_else(Vec::new, |size| {
                (0..topology.physical_cores()).map(|_| Cache::new(size, machine.line)).collect()
            }),
        }
    }

    /// Number of the line that `address` is in.
    ///
    /// Pages are numbered by first touch, so that the numbers don't depend on their addresses.
    pub(crate) fn line_of(&mut self, address: usize) -> usize {
        let untouched = Line {
            sharers: 0,
            busy: Time::ZERO,
            leaving: 0,
            left: Time::ZERO,
            coming: 0,
            come: Time::ZERO,
            owner: NOBODY,
            left_from: NOBODY,
            dirty: false,
            written: false,
        };
        let (page, within) = (address / PAGE, (address % PAGE) >> self.line_shift);
        let recent = &mut self.recent[page % RECENT];
        if recent.0 != page {
            let first = *self.pages.entry(page).or_insert_with(|| {
                let first = self.lines.len();
                self.lines.resize(first + (PAGE >> self.line_shift), untouched);
                first
            });
            *recent = (page, first);
        }
        recent.1 + within
    }

    /// Whether `core` could write to the line at once.
    pub(crate) fn is_free_and_owned(&self, line: usize, core: usize, at: Time) -> bool {
        let line = &self.lines[line];
        line.sharers == self.places[core].bit && line.busy <= at
    }

    /// Until when the line is busy, if a core has to wait for it.
    pub(crate) fn busy_until(
        &self,
        line: usize,
        core: usize,
        what: Request,
        at: Time,
    ) -> Option<Time> {
        let (line, bit) = (&self.lines[line], self.places[core].bit);
        let has_it = match what {
            Request::Read => line.sharers & bit != 0 || line.keeps(bit, at),
            Request::Write | Request::WriteLater => line.sharers == bit,
            Request::Modify => false,
        };
        (!has_it).then_some(line.busy)
    }

    /// Until when the line is busy.
    pub(crate) fn busy(&self, line: usize) -> Time {
        self.lines[line].busy
    }

    /// Keeps the line busy until then.
    pub(crate) fn hold(&mut self, line: usize, until: Time) {
        self.lines[line].busy = until;
    }

    /// Serves the request of physical core `core`.
    pub(crate) fn request(&mut self, line: usize, core: usize, what: Request, at: Time) -> Reply {
        let reply = self.serve(line, core, what, at);
        if !self.caches.is_empty() {
            self.make_room(line, core);
            if reply.prefetched {
                self.make_room(line ^ 1, core);
            }
        }
        reply
    }

    /// A line has arrived at a core, or is used there. If there is no room for it, another line
    /// goes to the L3.
    fn make_room(&mut self, line: usize, core: usize) {
        let (lines, bit) = (&mut self.lines, self.places[core].bit);
        let has = |line: usize| lines[line].sharers & bit != 0;
        let Some(goes) = self.caches[core].take_in(line, has) else { return };
        let held = &mut lines[goes];
        if held.sharers & bit == 0 {
            return;
        }
        held.sharers &= !bit;
        held.left_from = core as u8;
        if held.owner == core as u8 {
            (held.owner, held.dirty, held.written) = (NOBODY, false, false);
        }
    }

    fn serve(&mut self, line: usize, core: usize, what: Request, at: Time) -> Reply {
        let held = &mut self.lines[line];
        if held.sharers == self.places[core].bit {
            // No other core is involved: the line is busy with a request of this core.
            held.dirty |= what != Request::Read;
            held.written |= what != Request::Read;
            return Reply { ready: at.max(held.busy), miss: None, prefetched: false };
        }
        match what {
            Request::Read => self.read(line, core, at),
            Request::Write | Request::Modify => self.write(line, core, at, false),
            Request::WriteLater => self.write(line, core, at, true),
        }
    }

    fn read(&mut self, line: usize, core: usize, at: Time) -> Reply {
        let place = &self.places[core];
        let held = &mut self.lines[line];
        if held.sharers & place.bit != 0 || held.keeps(place.bit, at) {
            let ready = held.usable(place.bit, at);
            return Reply { ready, miss: None, prefetched: false };
        }
        let source = source(held, place);
        let ready = at.max(held.busy) + self.costs.transfer(source);
        // Clean copies are sent to many cores at a time. Other requests keep the line busy.
        if held.owner != NOBODY || held.sharers == 0 {
            held.busy = ready;
        }
        share(held, place.bit, core, self.protocol);
        held.send(place.bit, at, ready);
        let prefetched = self.pair_prefetcher && self.prefetch(line ^ 1, core, at, ready);
        Reply { ready, miss: Some((Miss::Read, source)), prefetched }
    }

    /// Fetches a line without a request, if the line is neither dirty nor busy.
    fn prefetch(&mut self, line: usize, core: usize, at: Time, ready: Time) -> bool {
        let place = &self.places[core];
        let Some(held) = self.lines.get_mut(line) else { return false };
        if held.sharers & place.bit != 0 || held.dirty || held.busy > at {
            return false;
        }
        share(held, place.bit, core, self.protocol);
        held.send(place.bit, at, ready);
        if held.sharers == place.bit {
            held.busy = ready;
        }
        true
    }

    fn write(&mut self, line: usize, core: usize, at: Time, later: bool) -> Reply {
        let place = &self.places[core];
        let held = &mut self.lines[line];
        let others = held.sharers & !place.bit;
        let miss = if held.sharers & place.bit != 0 { Miss::Upgrade } else { Miss::Write };
        let from = if others == 0 { source(held, place) } else { farthest(others, place) };
        let ready = at.max(held.busy) + self.costs.transfer(from);
        *held = Line {
            sharers: place.bit,
            busy: ready,
            leaving: if later { others } else { 0 },
            left: ready,
            coming: 0,
            come: Time::ZERO,
            owner: core as u8,
            left_from: held.left_from,
            dirty: true,
            written: true,
        };
        Reply { ready, miss: Some((miss, from)), prefetched: false }
    }
}

/// The distance of the cache or memory that serves a read.
fn source(line: &Line, place: &Place) -> Distance {
    if line.owner != NOBODY {
        return farthest(1_u128 << line.owner, place);
    }
    let sharers = match (line.sharers, line.left_from) {
        (0, NOBODY) => return Distance::Memory,
        (0, core) => 1_u128 << core,
        (sharers, _) => sharers,
    };
    match sharers {
        sharers if sharers & place.l3_mates != 0 => Distance::L3,
        sharers if sharers & place.socket_mates != 0 => Distance::SameSocket,
        _ => Distance::OtherSocket,
    }
}

/// How far the farthest of `others` is.
fn farthest(others: u128, place: &Place) -> Distance {
    if others & !place.socket_mates != 0 {
        Distance::OtherSocket
    } else if others & !place.l3_mates != 0 {
        Distance::SameSocket
    } else {
        Distance::SameL3
    }
}

/// Gives a copy, perhaps the only one, to another core.
fn share(line: &mut Line, bit: u128, core: usize, protocol: Protocol) {
    let migrates = protocol == Protocol::Migratory && line.written;
    if line.sharers == 0 || migrates {
        line.sharers = 0;
        line.owner = core as u8;
    } else if protocol == Protocol::Mesi || !line.dirty {
        line.owner = NOBODY;
        line.dirty = false;
    }
    line.sharers |= bit;
    line.written = false;
}
