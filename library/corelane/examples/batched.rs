//! Batches: packets are written into lent slots and read in place, 32 for one update of the shared
//! counters.

use std::thread;

use corelane::lamport::batched;
use corelane::{Config, Memory, wait};

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
    let (mut tx, mut rx) = wait::pair(batched::queue_with::<Packet>(config)?);

    let bytes = thread::scope(|s| {
        s.spawn(move || {
            let mut packets =
                (0..PACKETS).map(|number| Packet { number, length: 60 + number % 1400 });
            let mut left = PACKETS as usize;
            while left > 0 {
                let batch = BATCH.min(left);
                tx.wait_for_room(batch).expect("the reader is there");
                let chunk = tx.write_chunk_uninit(batch).expect("there is room");
                left -= chunk.fill_from_iter(packets.by_ref());
            }
        });
        let reader = s.spawn(move || {
            let (mut expected, mut bytes) = (0, 0_u64);
            while rx.wait_for_items(1) > 0 {
                let chunk = rx.read_chunk(BATCH).expect("there are packets");
                let (packets, more) = chunk.as_slices();
                for packet in packets.iter().chain(more) {
                    assert_eq!(packet.number, expected);
                    expected += 1;
                    bytes += u64::from(packet.length);
                }
                chunk.commit_all();
            }
            bytes
        });
        reader.join().expect("the reader does not panic")
    });

    println!("{PACKETS} packets, {bytes} bytes");
    Ok(())
}
