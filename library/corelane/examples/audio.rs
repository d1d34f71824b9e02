//! An audio callback takes a block of samples every 2.7 ms, and never waits for the decoder that
//! writes them.
//!
//! The callback takes no lock, allocates nothing and wakes nobody: it has plain queues, and the
//! decoder looks for room once in a period. If samples are missing, the callback plays silence and
//! counts an underrun. A second queue brings the volume from the user interface.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use corelane::{CapacityError, spsc};

const BLOCK: usize = 128;
const BLOCKS: u32 = 150;
const PERIOD: Duration = Duration::from_nanos(BLOCK as u64 * 1_000_000_000 / 48_000);

fn main() -> Result<(), CapacityError> {
    let (mut decoded, mut samples) = spsc::queue::<f32>(8 * BLOCK)?;
    let (mut interface, mut volumes) = spsc::queue::<f32>(16)?;

    let callback = thread::spawn(move || {
        let (start, mut volume, mut underruns) = (Instant::now(), 1.0, 0);
        for n in 1..=BLOCKS {
            // The sound card's clock.
            thread::sleep((start + n * PERIOD).saturating_duration_since(Instant::now()));
            volume = volumes.pop_iter().last().unwrap_or(volume);
            let mut block = [0.0; BLOCK];
            underruns += u32::from(samples.pop_slice(&mut block) < BLOCK);
            block.iter_mut().for_each(|sample| *sample *= volume);
            black_box(&block); // The sound card plays the block.
        }
        (volume, underruns)
    }); // The callback's handles are dropped when it ends, which closes both queues.

    let decoder = thread::spawn(move || {
        let mut tone = (0..).map(|n| (n as f32 * 0.0576).sin());
        while !decoded.is_closed() {
            let _ = decoded.push_iter(tone.by_ref()); // Fills the queue.
            thread::sleep(PERIOD);
        }
    });

    for volume in [0.5, 0.0, 0.7] {
        interface.try_push(volume).expect("there is room");
        thread::sleep(20 * PERIOD);
    }
    let (volume, underruns) = callback.join().expect("the callback does not panic");
    decoder.join().expect("the decoder does not panic");
    println!("{BLOCKS} blocks played, {underruns} with silence, at last with volume {volume}");
    assert_eq!(volume, 0.7);
    Ok(())
}
