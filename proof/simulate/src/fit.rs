//! A machine made from measurements. Costs that can't be measured alone are chosen so that the
//! simulated floors take as long as the measured ones.

use coherence::{Costs, Machine, Protocol, StoreBuffer, Time, Topology};

use crate::floor::{block_handoff, line_rtt};

/// Measurements on two cores, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// A flag to the other core and one back.
    pub line_rtt: f64,
    /// A `u64`, in a block of 4 KiB that moves from one core to the other.
    pub block_handoff: f64,
    /// A push and a pop of an item, in a ring whose ends are both on one core.
    pub private_ring: f64,
    /// A locked instruction on a line that the core owns.
    pub rmw: f64,
    /// A full fence behind a store.
    pub fence: f64,
    /// A turn of a spin loop.
    pub pause: f64,
    /// Whether a line that one core has written to leaves it when another reads it.
    pub migratory: bool,
}

/// Cores of a fitted machine.
const CORES: [usize; 2] = [0, 1];
/// Picoseconds of an access that hits: a fraction of a cycle, because other accesses overlap with
/// it.
const HIT_PS: u64 = 80;
/// Accesses that a core runs ahead: a third of the 450 instructions that today's cores have in
/// flight.
const LOOKAHEAD: usize = 150;
/// Most lines that a fitted core can wait for at once.
const MOST_FILLS: u64 = 64;
/// Longest time that a line may need, in picoseconds.
const MOST_TRANSFER: u64 = 2_000_000;

impl Measured {
    /// The time of a push or a pop if all its accesses hit.
    pub fn call(&self) -> Time {
        Time::ps((self.private_ring / 2.0 * 1000.0) as u64)
    }

    /// Two cores on which the simulated floors take as long as measured.
    pub fn fit(&self) -> Machine {
        let with = |transfer: u64, fills: u64| self.machine(Time::ps(transfer), fills as usize);
        let transfer = least(1, MOST_TRANSFER, |transfer| {
            line_rtt(&with(transfer, 1), CORES) >= self.line_rtt
        });
        let fills = least(1, MOST_FILLS, |fills| {
            block_handoff(&with(transfer, fills), CORES) <= self.block_handoff
        });
        with(transfer, fills)
    }

    fn machine(&self, transfer: Time, fills: usize) -> Machine {
        let hit = Time::ps(HIT_PS);
        let ns = |ns: f64| Time::ps((ns * 1000.0).round().max(1.0) as u64);
        Machine {
            topology: Topology {
                sockets: 1,
                l3_per_socket: 1,
                cores_per_l3: 2,
                threads_per_core: 1,
            },
            costs: Costs {
                hit,
                store: hit,
                rmw: ns(self.rmw),
                fence: ns(self.fence),
                pause: ns(self.pause),
                l3: transfer,
                same_l3: transfer,
                same_socket: transfer,
                other_socket: transfer,
                memory: transfer * 3,
            },
            protocol: if self.migratory { Protocol::Migratory } else { Protocol::Moesi },
            store_buffer: StoreBuffer { entries: 64, early_ownership: true },
            lookahead: LOOKAHEAD,
            fills,
            pair_prefetcher: false,
            ..Machine::i7()
        }
    }
}

/// The least number from `low` to `high` for which `holds` is true; `high` if there is none.
/// `holds` must be true for all larger numbers.
fn least(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
