//! Batches: packets are written into lent slots and read in place, 32 for one update of the shared
//! counters.

use std::thread;

use corelane::{Config, Memory, TryPopError, lamport::batched};

/// A packet's headers.
#[derive(Clone, Copy)]
struct Packet {
    number: u32,
    length: u32,
}

const PACKETS: u32 = 1_000_000;
const BATCH: usize = 32;

fn main() -> Result<(), corelane::CapacityError> {
    // In mirrored memory a batch is always one slice, even across the end of the ring.
    let config = Config::new(4000).memory(Memory::Mirrored);
    let (mut tx, mut rx) = batched::queue_with::<Packet>(config)?;

    let bytes = thread::scope(|s| {
        s.spawn(move || {
            let mut packets =
                (0..PACKETS).map(|number| Packet { number, length: 60 + number % 1400 });
            let mut left = PACKETS as usize;
            while left > 0 {
                match tx.write_chunk_uninit(BATCH.min(left)) {
                    Ok(chunk) => left -= chunk.fill_from_iter(packets.by_ref()),
                    Err(_) => thread::yield_now(),
                }
            }
        });
        let reader = s.spawn(move || {
            let (mut expected, mut bytes) = (0, 0_u64);
            loop {
                match rx.read_chunk(BATCH) {
                    Ok(chunk) => {
                        let (packets, more) = chunk.as_slices();
                        for packet in packets.iter().chain(more) {
                            assert_eq!(packet.number, expected);
                            expected += 1;
                            bytes += u64::from(packet.length);
                        }
                        chunk.commit_all();
                    }
                    Err(TryPopError::Closed) => break bytes,
                    Err(_) => thread::yield_now(),
                }
            }
        });
        reader.join().expect("the reader does not panic")
    });

    println!("{PACKETS} packets, {bytes} bytes");
    Ok(())
}
