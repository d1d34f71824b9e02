//! Writes down how a program uses its queue, for `lane tune`. One thread splits text into words,
//! another one counts them.
//!
//! `cargo run --release --example workload -- words.workload`, then
//! `cargo run --release -- tune words.workload`

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::thread;

use corelane::workload::Recorder;
use corelane::{spsc, wait};

const TEXT: &str =
    "a queue moves data between threads and a thread that waits for data waits at a queue";

fn main() -> Result<(), Box<dyn Error>> {
    let recorder = Recorder::new();
    let (mut tx, rx) = wait::pair(recorder.pair(spsc::queue::<Box<str>>(1024)?));
    let producer = thread::spawn(move || {
        for _ in 0..5000 {
            for word in TEXT.split(' ') {
                tx.push(word.into()).expect("the consumer is there");
            }
        }
    });
    let mut counts = HashMap::<Box<str>, u64>::new();
    rx.into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
    producer.join().expect("the producer does not panic");
    println!("{} words, {} different ones", counts.values().sum::<u64>(), counts.len());
    match env::args().nth(1) {
        Some(path) => recorder.save(path)?,
        None => println!("give a file to save the workload, for lane tune"),
    }
    Ok(())
}
