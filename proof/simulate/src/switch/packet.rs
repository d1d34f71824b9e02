//! Packets whose first line is simulated memory.

use std::cell::{Cell, RefCell};

use vswitch_core::clients::{Header, Writable};
use vswitch_core::{Mac, Packet};

/// Bytes of a packet's first line that hold its headers.
const HEADERS: usize = 48;
/// Packets that get memory together.
const BLOCK: usize = 1024;

/// Only the address matters: it is never written. Two lines, so that no packet is fetched with
/// another one.
#[repr(align(128))]
struct Line(#[expect(dead_code, reason = "only the address matters")] [u8; 128]);

/// The packets of a simulation, which runs on one thread of the host.
#[derive(Default)]
struct Memory {
    blocks: Vec<Box<[Line]>>,
    headers: Vec<Header>,
    /// Packets that were given up.
    free: Vec<u32>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
    /// Packets that the switch gave up.
    static DISCARDED: Cell<u64> = const { Cell::new(0) };
}

/// Frees all packets of the last simulation.
pub(super) fn reset() {
    MEMORY.with_borrow_mut(|memory| *memory = Memory::default());
    DISCARDED.set(0);
}

/// Packets that the switch gave up.
pub(super) fn discarded() -> u64 {
    DISCARDED.get()
}

/// A packet by its number.
#[derive(Debug)]
pub(super) struct SimulatedPacket(pub(super) u32);

const NO_HEADER: Header = Header { to: 0, from: 0, answers: false, number: 0 };

impl SimulatedPacket {
    fn line(&self) -> *const Line {
        let (block, line) = (self.0 as usize / BLOCK, self.0 as usize % BLOCK);
        MEMORY.with_borrow(|memory| &raw const memory.blocks[block][line])
    }

    /// The header, which costs nothing.
    fn known(&self) -> Header {
        MEMORY.with_borrow(|memory| memory.headers[self.0 as usize])
    }
}

impl Packet for SimulatedPacket {
    fn addresses(&self) -> [Mac; 2] {
        coherence::read(self.line(), HEADERS);
        let Header { to, from, .. } = self.known();
        [to, from].map(Mac::local)
    }

    fn bytes(&self) -> usize {
        60
    }

    /// A copy: clients send no packets to several others.
    fn share(&self) -> Self {
        let mut copy = Self::blank();
        copy.write(self.known());
        copy
    }

    fn discard(self) {
        DISCARDED.set(DISCARDED.get() + 1);
        MEMORY.with_borrow_mut(|memory| memory.free.push(self.0));
    }
}

impl Writable for SimulatedPacket {
    fn blank() -> Self {
        MEMORY.with_borrow_mut(|memory| {
            Self(memory.free.pop().unwrap_or_else(|| {
                let number = memory.headers.len();
                if number.is_multiple_of(BLOCK) {
                    memory.blocks.push((0..BLOCK).map(|_| Line([0; 128])).collect());
                }
                memory.headers.push(NO_HEADER);
                number as u32
            }))
        })
    }

    fn write(&mut self, header: Header) {
        coherence::write(self.line().cast_mut(), HEADERS);
        MEMORY.with_borrow_mut(|memory| memory.headers[self.0 as usize] = header);
    }

    fn header(&self) -> Header {
        coherence::read(self.line(), HEADERS);
        self.known()
    }
}
