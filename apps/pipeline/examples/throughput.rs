//! Packets a second, of captures that are in memory: in one thread without queues, and through the
//! stages.
//!
//! `cargo run --release -p pipeline --example throughput -- FILE…`

use std::env;
use std::error::Error;
use std::time::Instant;

use corelane::line_ring::LineRing;
use corelane::wait::Strategy;
use pipeline::{Captures, Of, Packet, Parcel, Report, Settings, Source, run, run_inline};

/// Packets of a measurement, at least. The captures are repeated.
const PACKETS: usize = 1_000_000;
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<_> = env::args_os().skip(1).collect();
    let mut captures = Captures::open(&files, || false)?;
    let packets: Vec<Packet> =
        std::iter::from_fn(|| captures.next_packet(&mut ())).map(|packet| *packet).collect();
    if packets.is_empty() {
        return Err("name captures that hold packets".into());
    }
    let copies = PACKETS.div_ceil(packets.len());
    let all =
        || (0..copies).flat_map(|_| packets.iter().cloned().map(Box::new)).collect::<Vec<_>>();
    let measure = |name: &str, run: &dyn Fn(Vec<Parcel>) -> Report| {
        let rounds = (0..ROUNDS).map(|_| {
            let packets = all();
            let begin = Instant::now();
            let report = run(packets);
            report.packets as f64 / begin.elapsed().as_secs_f64() / 1e6
        });
        let mut rates: Vec<f64> = rounds.collect();
        rates.sort_by(f64::total_cmp);
        let [least, .., most] = rates[..] else { unreachable!("there are several rounds") };
        let median = rates[ROUNDS / 2];
        println!("{name:30} {median:6.2} million packets/s ({least:.2} to {most:.2})");
    };
    measure("inline", &|packets| run_inline(&mut packets.into_iter()));
    let usual = Strategy::Yield;
    for (threads, batch, wait) in [
        (1, 1, usual),
        (1, 32, usual),
        (1, 32, Strategy::Sleep),
        (1, 32, Strategy::Adaptive),
        (1, 256, usual),
        (2, 32, usual),
    ] {
        let settings = Settings { threads, batch, wait, ..Settings::default() };
        measure(&format!("{} stages, batch {batch}, {wait:?}", 3 + threads), &|packets| {
            let queue = Of::<LineRing>::default();
            run(&queue, &mut packets.into_iter(), &settings, |_| {}).expect("the capacity is usual")
        });
    }
    Ok(())
}
