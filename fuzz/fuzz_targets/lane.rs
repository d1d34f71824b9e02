//! Random calls on a lane between processes, while another process writes random words into its
//! memory: nothing panics, and no access leaves the lane.

#![no_main]

use std::os::fd::AsFd;
use std::ptr::null_mut;

use corelane::shm::{Broadcast, Error, Lane, Lanes};
use libfuzzer_sys::fuzz_target;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The other process.
struct Liar {
    memory: *mut u64,
    words: usize,
}

impl Liar {
    fn new(lane: impl AsFd) -> Self {
        let len = rustix::fs::fstat(&lane).expect("it is a file").st_size as usize;
        let flags = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which only `lie` uses.
        let memory = unsafe { mmap(null_mut(), len, flags, MapFlags::SHARED, lane, 0) };
        Self { memory: memory.expect("it can be mapped").cast(), words: len / 8 }
    }

    /// Writes a word: one of the positions, or any.
    fn lie(&self, [place, number, kind]: [u8; 3]) {
        let (place, number) = (usize::from(place), u64::from(number));
        let at = if kind % 2 == 0 { 512 + place % 128 } else { place * self.words / 256 };
        let value = match kind / 2 % 5 {
            0 => number,
            1 => u64::MAX - number,
            2 => number << 32 | u64::from(u32::MAX),
            3 => number << 32 | number,
            _ => number * 0x0101_0101_0101_0101,
        };
        // SAFETY: it is inside the mapping. The library takes its memory for such that anybody may
        // write.
        unsafe { self.memory.add(at.min(self.words - 1)).write_volatile(value) };
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and isn't used any more.
        unsafe { munmap(self.memory.cast(), 8 * self.words) }.expect("it is mapped");
    }
}

/// Takes a side anew. `return`s if the side is corrupt.
macro_rules! take {
    ($side:ident = $taken:expr) => {
        drop($side);
        match $taken {
            Ok(taken) => $side = taken,
            Err(Error::Corrupt) => return,
            Err(error) => panic!("{error}"),
        }
    };
}

fn items(capacity: usize, calls: &[[u8; 4]]) {
    let lane = Lane::<[u64; 3]>::create(capacity).expect("it is small");
    let liar = Liar::new(&lane);
    let (mut tx, mut rx) = (lane.producer().expect("new"), lane.consumer().expect("new"));
    for &[call, a, b, c] in calls {
        match call % 8 {
            0 | 1 => _ = tx.try_push([a.into(); 3]),
            2 | 3 => _ = rx.try_pop(),
            4 => liar.lie([a, b, c]),
            5 => {
                _ = tx.push_slice(&[[b.into(); 3]; 8]);
                _ = rx.read_chunk(a.into()).map(|chunk| chunk.commit_all());
                _ = (tx.len(), rx.len(), tx.peer(), rx.peer(), tx.position(), rx.position());
            }
            6 => {
                take!(tx = lane.producer());
            }
            _ => {
                take!(rx = lane.consumer());
            }
        }
    }
}

fn records(capacity: usize, calls: &[[u8; 4]]) {
    let lane = Lane::<[u8]>::create(capacity).expect("it is small");
    let liar = Liar::new(&lane);
    let (mut tx, mut rx) = (lane.producer().expect("new"), lane.consumer().expect("new"));
    for &[call, a, b, c] in calls {
        match call % 8 {
            0 | 1 => {
                if let Ok(mut claim) = tx.try_claim(usize::from(a) % (tx.max_len() + 1)) {
                    claim.fill(b);
                    claim.commit();
                }
            }
            2 | 3 => _ = rx.try_pop().map(|record| record.iter().fold(0, |all, byte| all ^ byte)),
            4 => liar.lie([a, b, c]),
            5 => _ = (tx.peer(), rx.peer(), tx.position(), rx.position(), tx.is_closed()),
            6 => {
                take!(tx = lane.producer());
            }
            _ => {
                take!(rx = lane.consumer());
            }
        }
    }
}

/// Two producers and a consumer.
fn many(capacity: usize, calls: &[[u8; 4]]) {
    let lanes = Lanes::<[u64; 3]>::create_for_producers(2, capacity).expect("it is small");
    let liar = Liar::new(&lanes);
    let mut other = lanes.producer().expect("new");
    let (mut tx, mut rx) = (lanes.producer().expect("new"), lanes.consumer().expect("new"));
    for &[call, a, b, c] in calls {
        match call % 8 {
            0 => _ = tx.try_push([a.into(); 3]),
            1 => _ = other.push_slice(&[[a.into(); 3]; 5]),
            2 => _ = rx.try_pop(),
            3 => _ = rx.pop_slice(&mut [[0; 3]; 7]),
            4 => liar.lie([a, b, c]),
            5 => _ = (tx.len(), rx.len(), tx.has_peer(), rx.has_peer(), rx.is_empty()),
            6 => {
                take!(tx = lanes.producer());
            }
            _ => {
                take!(rx = lanes.consumer());
            }
        }
    }
}

fn all(capacity: usize, calls: &[[u8; 4]]) {
    let feed = Broadcast::<[u64; 3]>::create(capacity).expect("it is small");
    let liar = Liar::new(&feed);
    let (mut tx, mut rx) = (feed.producer().expect("new"), feed.consumer().expect("new"));
    let mut reader = Broadcast::<[u64; 3]>::read_only(&feed).expect("new");
    for &[call, a, b, c] in calls {
        match call % 8 {
            0 => _ = tx.try_push([a.into(); 3]),
            1 => _ = tx.push_slice(&[[a.into(); 3]; 5]),
            2 => _ = (rx.try_pop(), reader.try_pop()),
            3 => _ = (rx.pop_slice(&mut [[0; 3]; 7]), reader.pop_slice(&mut [[0; 3]; 7])),
            4 => liar.lie([a, b, c]),
            5 => _ = (tx.len(), rx.len(), rx.lost(), rx.position(), tx.position(), rx.is_empty()),
            6 => {
                take!(tx = feed.producer());
            }
            _ => {
                take!(rx = feed.consumer());
            }
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [kind, capacity, calls @ ..] = bytes else { return };
    let (calls, _) = calls.as_chunks();
    let capacity = usize::from(*capacity);
    match kind % 4 {
        0 => items(1 + capacity, calls),
        1 => records(1 + 8 * capacity, calls),
        2 => many(1 + capacity, calls),
        _ => all(1 + capacity, calls),
    }
});
