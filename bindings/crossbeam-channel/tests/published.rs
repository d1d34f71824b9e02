//! Published crates work with corelane's channels, which they take for those of `crossbeam-channel`.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::thread;

use bus::Bus;
use tracing_appender::non_blocking::NonBlockingBuilder;

/// What was written, for all its clones.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn tracing_appender_writes_all_lines_before_it_ends() {
    let written = Written::default();
    let (log, guard) =
        NonBlockingBuilder::default().lossy(false).buffered_lines_limit(16).finish(written.clone());
    thread::scope(|s| {
        for id in 0..4 {
            let mut log = log.clone();
            s.spawn(move || {
                for n in 0..1000 {
                    log.write_all(format!("{id} {n}\n").as_bytes()).expect("the writer is there");
                }
            });
        }
    });
    drop(guard); // Waits for the writer.

    let written = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    assert_eq!(written.lines().count(), 4000);
    for id in 0..4 {
        let of_thread = written.lines().filter_map(|line| line.strip_prefix(&format!("{id} ")));
        assert!(of_thread.eq((0..1000).map(|n| n.to_string())), "lines of thread {id}");
    }
}

#[test]
fn bus_broadcasts_in_order() {
    let mut bus = Bus::new(8);
    let receivers: Vec<_> = (0..3).map(|_| bus.add_rx()).collect();
    thread::scope(|s| {
        for mut rx in receivers {
            s.spawn(move || assert!(rx.iter().eq(0..10_000)));
        }
        (0..10_000).for_each(|n| bus.broadcast(n));
        drop(bus);
    });
}

#[test]
fn crossbeam_selects() {
    let (requests, next_request) = crossbeam::channel::unbounded();
    // It only compiles if this is a sender of corelane.
    let requests: corelane::channel::Sender<_> = requests;
    let (stop, stopped) = crossbeam::channel::bounded::<()>(0);
    thread::scope(|s| {
        s.spawn(|| {
            let mut sum = 0;
            loop {
                crossbeam::select! {
                    recv(next_request) -> request => sum += request.expect("`requests` is there"),
                    recv(stopped) -> _ => break,
                }
            }
            // Stopped, perhaps before it has seen all.
            assert_eq!(sum + next_request.try_iter().sum::<u64>(), 5050);
        });
        (1..=100).for_each(|n| requests.send(n).expect("`next_request` is there"));
        drop(stop);
    });
}
