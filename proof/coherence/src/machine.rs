//! The simulated hardware: cores, distances and costs.

use crate::Time;

/// Most virtual cores that a machine can have.
pub const MAX_CORES: usize = 128;

/// The hardware of a simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The number of cores, and their places.
    pub topology: Topology,
    /// The times of accesses.
    pub costs: Costs,
    /// The state of a dirty line after another core has read it.
    pub protocol: Protocol,
    /// The store buffer of a core.
    pub store_buffer: StoreBuffer,
    /// Accesses that a core can begin while an earlier load waits for its line, as out-of-order
    /// processors with branch prediction do. With 0, each load keeps its core until it is done.
    pub lookahead: usize,
    /// Work that counts as one access of the lookahead.
    pub work_per_access: Time,
    /// Lines that a core can wait for at once, when it looks ahead.
    pub fills: usize,
    /// Whether a read miss fetches the other line of the aligned pair as well, as the "spatial
    /// prefetcher" of Intel's cores does. It fetches no line that is dirty in another cache.
    pub pair_prefetcher: bool,
    /// Size of a cache line in bytes, a power of two from 16 to 2048.
    pub line: usize,
    /// The private cache of a physical core. If `None`, it never overflows. L3 caches never
    /// overflow.
    pub private_cache: Option<PrivateCache>,
    /// A run is given up when no thread has written for this time plus the longest piece of work. A
    /// first touch of a line and the end of a thread count as writes.
    pub patience: Time,
}

/// The places of the cores.
///
/// Virtual cores are numbered as in Linux: first one thread of every physical core, socket by
/// socket and within these L3 by L3, then the second threads in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology {
    /// Number of sockets.
    pub sockets: usize,
    /// Number of L3 caches in a socket.
    pub l3_per_socket: usize,
    /// Number of physical cores that share an L3.
    pub cores_per_l3: usize,
    /// Number of virtual cores that share a physical core and its private cache.
    pub threads_per_core: usize,
}

/// The times of accesses. Latencies are from the request to its end, including the lookups in
/// nearer caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Costs {
    /// A load that hits a private cache, or is forwarded from the core's store buffer. With
    /// [lookahead](Machine::lookahead), how long it keeps the core from the next access.
    pub hit: Time,
    /// A store that needn't wait, and its entry into the cache if the core owns the line.
    pub store: Time,
    /// A read-modify-write of a line that the core owns. The line is held for this time.
    pub rmw: Time,
    /// A full fence when no store is buffered.
    pub fence: Time,
    /// One turn of a spin loop.
    pub pause: Time,
    /// A line from the L3 next to the core.
    pub l3: Time,
    /// A line from, or an invalidation of, a core that shares the L3.
    pub same_l3: Time,
    /// The same with another L3 of the socket.
    pub same_socket: Time,
    /// The same with another socket.
    pub other_socket: Time,
    /// A line that no cache holds.
    pub memory: Time,
}

/// The state of a dirty line after another core has read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// It is written back; later readers get it from a shared cache.
    Mesi,
    /// Its owner keeps it, and serves later readers.
    Moesi,
    /// As MOESI, but a line that its owner has written to since it arrived moves to the first core
    /// that reads it, as if that core were about to write to it. Current AMD processors seem to do
    /// this.
    Migratory,
}

/// The store buffer of a core. Stores enter the cache in program order (TSO).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreBuffer {
    /// Number of stores. With 0, each store keeps its core until it is done.
    pub entries: usize,
    /// Whether a line is requested as soon as a store to it is issued, if the line isn't busy then,
    /// so that misses overlap. Otherwise the line is requested when all earlier stores are done.
    pub early_ownership: bool,
}

/// The private caches of a physical core, simulated as one. A line that leaves it goes to the L3.
/// The least recently used line leaves first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrivateCache {
    /// Its size.
    pub bytes: usize,
    /// Number of places for a line.
    pub ways: usize,
}

impl PrivateCache {
    /// Number of sets of [`ways`](Self::ways) lines.
    pub(crate) fn sets(self, line: usize) -> usize {
        self.bytes / line / self.ways.max(1)
    }
}

/// The distance of a line's source, or of the farthest copy that had to be invalidated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// The L3 next to the core.
    L3,
    /// A core that shares the L3.
    SameL3,
    /// Another L3 of the socket.
    SameSocket,
    /// Another socket.
    OtherSocket,
    /// Memory.
    Memory,
}

impl Distance {
    /// All distances, the nearest first.
    pub const ALL: [Self; 5] =
        [Self::L3, Self::SameL3, Self::SameSocket, Self::OtherSocket, Self::Memory];
}

impl Costs {
    /// The time of a line from this distance.
    pub fn transfer(&self, distance: Distance) -> Time {
        match distance {
            Distance::L3 => self.l3,
            Distance::SameL3 => self.same_l3,
            Distance::SameSocket => self.same_socket,
            Distance::OtherSocket => self.other_socket,
            Distance::Memory => self.memory,
        }
    }
}

impl Topology {
    /// Number of physical cores.
    pub fn physical_cores(&self) -> usize {
        self.sockets * self.l3_per_socket * self.cores_per_l3
    }

    /// Number of virtual cores.
    pub fn cores(&self) -> usize {
        self.physical_cores() * self.threads_per_core
    }

    /// The physical core that a virtual core is a thread of.
    pub fn physical(&self, core: usize) -> usize {
        core % self.physical_cores()
    }

    /// Which physical cores share the L3 of this one.
    pub(crate) fn l3_mates(&self, physical: usize) -> u128 {
        group(physical, self.cores_per_l3)
    }

    /// Which physical cores share the socket of this one.
    pub(crate) fn socket_mates(&self, physical: usize) -> u128 {
        group(physical, self.l3_per_socket * self.cores_per_l3)
    }
}

/// The bits of the group of `size` that `member` is in.
fn group(member: usize, size: usize) -> u128 {
    (u128::MAX >> (128 - size)) << (member / size * size)
}

/// Presets: the machines of the papers, as far as they describe them.
///
/// A cost without a source is an **estimate** from processors of the same kind. No machine is
/// calibrated: trust the counts, and ratios of times rather than times.
impl Machine {
    /// "I7" of Maffione, Lettieri, Rizzo (2019), Table 2: an i7-3770K at 3.5 GHz, 4 cores, 8
    /// threads.
    ///
    /// L1 4 cycles, L3 30 cycles: 7-cpu.com, *Intel Ivy Bridge*. Dirty line of another core 75
    /// cycles: Intel, *Performance Analysis Guide for Core i7 and Xeon 5500* (an older core). 36
    /// stores, L2 of 256 KiB in 8 ways, pause about 10 cycles: Intel, *64 and IA-32 Architectures
    /// Optimization Reference Manual*.
    pub fn i7() -> Self {
        let cycles = |n| Time::cycles(n, 3500);
        Self {
            topology: Topology {
                sockets: 1,
                l3_per_socket: 1,
                cores_per_l3: 4,
                threads_per_core: 2,
            },
            costs: Costs {
                hit: cycles(4),
                store: cycles(1),
                rmw: cycles(20),
                fence: cycles(33),
                pause: cycles(10),
                l3: cycles(30),
                same_l3: cycles(75),
                same_socket: cycles(75),
                other_socket: cycles(75),
                memory: Time::ns(62),
            },
            protocol: Protocol::Mesi,
            store_buffer: StoreBuffer { entries: 36, early_ownership: true },
            lookahead: 0,
            work_per_access: Time::ns(1),
            fills: 10,
            pair_prefetcher: true,
            line: 64,
            private_cache: Some(PrivateCache { bytes: 256 << 10, ways: 8 }),
            patience: Time::ns(10_000_000),
        }
    }

    /// "XEON40" of Maffione, Lettieri, Rizzo (2019), Table 2: two E5-2640 at 2.4 GHz, 20 cores, 40
    /// threads; by cores and cache size the fourth generation of that name.
    ///
    /// Dirty line of another core 40.3 to 42.3 ns: Intel's Memory Latency Checker on an E5-2660 v4,
    /// quoted by J. McCalpin, *Core-to-Core Communication Latency in Skylake/Kaby Lake*,
    /// community.intel.com. 42 stores, L2 of 256 KiB in 8 ways, pause about 10 cycles: Intel's
    /// optimization manual.
    pub fn xeon40() -> Self {
        let cycles = |n| Time::cycles(n, 2400);
        Self {
            topology: Topology {
                sockets: 2,
                l3_per_socket: 1,
                cores_per_l3: 10,
                threads_per_core: 2,
            },
            costs: Costs {
                hit: cycles(4),
                store: cycles(1),
                rmw: cycles(20),
                fence: cycles(33),
                pause: cycles(10),
                l3: cycles(50),
                same_l3: Time::ns(41),
                same_socket: Time::ns(41),
                other_socket: Time::ns(120),
                memory: Time::ns(90),
            },
            store_buffer: StoreBuffer { entries: 42, early_ownership: true },
            ..Self::i7()
        }
    }

    /// "x86-88T" of J. Wang, *High Performance and Dependable Asynchronous Communication on
    /// Multi-Core Systems* (2024), §3.9: two Xeon Gold 6266C, 44 cores, 88 threads; taken to run at
    /// 3.0 GHz.
    ///
    /// L3 15 ns, other socket 141 ns: ibid., §4.2.1. 56 stores, pause up to 140 cycles:
    /// Intel's optimization manual, Skylake. L2 of 1 MiB in 16 ways: Intel, ibid.
    pub fn x86_88t() -> Self {
        let cycles = |n| Time::cycles(n, 3000);
        Self {
            topology: Topology {
                sockets: 2,
                l3_per_socket: 1,
                cores_per_l3: 22,
                threads_per_core: 2,
            },
            costs: Costs {
                hit: cycles(5),
                store: cycles(1),
                rmw: cycles(18),
                fence: cycles(33),
                pause: cycles(140),
                l3: Time::ns(15),
                same_l3: Time::ns(48),
                same_socket: Time::ns(48),
                other_socket: Time::ns(141),
                memory: Time::ns(85),
            },
            store_buffer: StoreBuffer { entries: 56, early_ownership: true },
            private_cache: Some(PrivateCache { bytes: 1 << 20, ways: 16 }),
            ..Self::i7()
        }
    }

    /// "arm-96T" of J. Wang (2024), §4.6: a TaiShan 2280 v2 with two Kunpeng 920 of 48 cores, taken
    /// to run at 2.6 GHz, one thread each, in L3 groups of four (Chehab et al., *CLoF*, SOSP 2021).
    ///
    /// All costs are estimates. Stores are kept in order, as on all simulated machines; the real
    /// machine may reorder them.
    pub fn arm_96t() -> Self {
        let cycles = |n| Time::cycles(n, 2600);
        Self {
            topology: Topology {
                sockets: 2,
                l3_per_socket: 12,
                cores_per_l3: 4,
                threads_per_core: 1,
            },
            costs: Costs {
                hit: cycles(4),
                store: cycles(1),
                rmw: cycles(20),
                fence: cycles(20),
                pause: cycles(20),
                l3: Time::ns(15),
                same_l3: Time::ns(30),
                same_socket: Time::ns(65),
                other_socket: Time::ns(200),
                memory: Time::ns(110),
            },
            store_buffer: StoreBuffer { entries: 32, early_ownership: true },
            pair_prefetcher: false,
            private_cache: Some(PrivateCache { bytes: 512 << 10, ways: 8 }),
            ..Self::i7()
        }
    }

    /// All presets, by name.
    pub fn presets() -> [(&'static str, Self); 4] {
        [
            ("i7", Self::i7()),
            ("xeon40", Self::xeon40()),
            ("x86-88t", Self::x86_88t()),
            ("arm-96t", Self::arm_96t()),
        ]
    }

    /// This machine with loads and stores that keep their core until they are done, without
    /// prefetcher, and with caches that never overflow: the model in which the papers count misses.
    pub fn counting(self) -> Self {
        let store_buffer = StoreBuffer { entries: 0, early_ownership: false };
        Self { store_buffer, lookahead: 0, pair_prefetcher: false, private_cache: None, ..self }
    }

    /// Panics if no such machine can be simulated.
    pub(crate) fn check(&self) {
        let cores = self.topology.cores();
        assert!((1..=MAX_CORES).contains(&cores), "a machine has 1 to {MAX_CORES} virtual cores");
        let line = self.line;
        assert!(
            line.is_power_of_two() && (16..=2048).contains(&line),
            "lines have a power of two of 16 to 2048 bytes"
        );
        assert!(self.costs.hit > Time::ZERO, "an access takes time");
        assert!(self.fills > 0, "a core can wait for a line");
        let holds = |cache: PrivateCache| cache.ways > 0 && cache.sets(line) > 0;
        assert!(self.private_cache.is_none_or(holds), "a cache has room for a line in each way");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_have_the_papers_numbers_of_cores() {
        let machines = Machine::presets().map(|(_, machine)| machine);
        machines.iter().for_each(Machine::check);
        assert_eq!(machines.map(|machine| machine.topology.cores()), [8, 40, 88, 96]);
    }

    #[test]
    fn mates_are_bits_of_whole_groups() {
        let topology =
            Topology { sockets: 2, l3_per_socket: 2, cores_per_l3: 2, threads_per_core: 2 };
        assert_eq!(topology.l3_mates(5), 0b0011_0000);
        assert_eq!(topology.socket_mates(5), 0b1111_0000);
        assert_eq!(topology.physical(13), 5);
        assert_eq!(group(127, 128), u128::MAX);
    }
}
