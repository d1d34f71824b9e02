//! Many threads log lines, and one thread writes them.
//!
//! The writer takes all lines that are there, and flushes before it waits again. When the last
//! sender is dropped, the writer gets the rest of the lines, writes and flushes them, and ends.

use std::io::{BufWriter, Result, Write, stdout};
use std::thread;

use corelane::channel::mpsc;

fn main() -> Result<()> {
    let (log, lines) = mpsc::bounded::<String>(1024);
    let writer = thread::spawn(move || -> Result<usize> {
        let (mut out, mut batch, mut written) = (BufWriter::new(stdout()), Vec::new(), 0);
        while lines.recv_many(&mut batch, 256) > 0 {
            written += batch.len();
            batch.drain(..).try_for_each(|line| writeln!(out, "{line}"))?;
            out.flush()?;
        }
        Ok(written)
    });
    thread::scope(|s| {
        for id in 0..4 {
            let log = &log; // A sender of several threads can be shared or cloned.
            s.spawn(move || log.send_all((1..=5).map(|n| format!("thread {id}, line {n}"))));
        }
    });
    drop(log);
    assert_eq!(writer.join().expect("the writer does not panic")?, 20);
    Ok(())
}
