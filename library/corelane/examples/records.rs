//! Log lines of several lengths, from several threads into one file, without an allocation for
//! each.
//!
//! A line is formatted in the queue's memory, and written to the file from there.
//!
//! `cargo run --example records -- /tmp/log.txt`; without a path the lines are discarded.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::{env, thread};

use corelane::{bytes, wait};

const THREADS: usize = 3;
const LINES: usize = 20_000;
const LONGEST: usize = 120;

fn main() -> Result<(), Box<dyn Error>> {
    let mut file: Box<dyn Write> = match env::args().nth(1) {
        Some(path) => Box::new(BufWriter::new(File::create(path)?)),
        None => Box::new(io::sink()),
    };
    let (log, mut records) = wait::bytes::pair(bytes::queue(1 << 16)?);

    for thread in 0..THREADS {
        let mut log = log.clone();
        thread::spawn(move || {
            for n in 0..LINES {
                let Ok(mut claim) = log.claim(LONGEST) else { return };
                // Longer lines are cut off.
                let _ = writeln!(claim, "thread {thread}: request {n} took {:?} µs", n % 7 * 100);
                claim.commit_written();
            }
        });
    }
    drop(log); // The queue is closed when the last thread has ended.

    let (mut lines, mut length) = (0, 0);
    while let Some(record) = records.pop() {
        file.write_all(&record)?;
        (lines, length) = (lines + 1, length + record.len());
    }
    file.flush()?;
    println!("{lines} lines, {length} bytes");
    assert_eq!(lines, THREADS * LINES);
    Ok(())
}
