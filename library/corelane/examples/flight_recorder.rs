//! A flight recorder: threads write events all the time. When something goes wrong, one thread
//! prints the events around it. The other threads continue meanwhile.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use corelane::overwrite;
use zerocopy::{Immutable, IntoBytes};

#[derive(Debug, Clone, Copy, PartialEq, IntoBytes, Immutable)]
#[repr(u8)]
enum Kind {
    Begin,
    End,
    Failed,
}

/// What happened: bytes without padding, so that it may be overwritten while it is copied.
#[derive(Clone, Copy, IntoBytes, Immutable)]
#[repr(C)]
struct Event {
    nanos: u64,
    request: u32,
    worker: u16,
    kind: Kind,
    is_retry: bool,
}

const WORKERS: u16 = 4;

fn main() -> Result<(), corelane::CapacityError> {
    let (recorder, mut events) = overwrite::queue::<Event>(1 << 16)?;
    let (start, has_failed, stop) =
        (Instant::now(), &AtomicBool::new(false), &AtomicBool::new(false));

    thread::scope(|s| {
        for worker in 0..WORKERS {
            let mut recorder = recorder.clone();
            s.spawn(move || {
                let mut record = |request, kind| {
                    let nanos = start.elapsed().as_nanos() as u64;
                    let is_retry = request % 10 == 9;
                    recorder.push(Event { nanos, request, worker, kind, is_retry });
                };
                for request in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    record(request, Kind::Begin);
                    black_box((0..2_000).map(black_box).sum::<u32>()); // the work
                    if worker == 2 && request == 20_000 {
                        record(request, Kind::Failed);
                        has_failed.store(true, Ordering::Release);
                    }
                    record(request, Kind::End);
                }
            });
        }

        while !has_failed.load(Ordering::Acquire) {
            thread::sleep(Duration::from_micros(100));
        }
        let mut last = Vec::new();
        let missed = events.snapshot(&mut last);
        stop.store(true, Ordering::Relaxed);

        println!("the last {} events; {missed} older ones are gone", last.len());
        let failed = last.iter().position(|event| event.kind == Kind::Failed);
        let around = failed.map_or(0..0, |at| at.saturating_sub(6)..last.len().min(at + 3));
        for Event { nanos, request, worker, kind, is_retry } in &last[around] {
            let (time, again) = (*nanos as f64 / 1e6, if *is_retry { " again" } else { "" });
            println!("{time:9.4} ms  worker {worker}  {kind:?} {request}{again}");
        }
    });
    Ok(())
}
