//! A queue that is chosen when the program runs, and a decorator that works on any handle.
//!
//! `cargo run --example any_queue -- llq`

use std::env;
use std::error::Error;
use std::thread;

use corelane::block::shared::Bbq;
use corelane::lamport::lazy::Llq;
use corelane::line_ring::LineRing;
use corelane::{Config, Producer, Queue, TryPopError, TryPushError};

/// Counts the pushes that found the queue full.
struct Counting<P> {
    inner: P,
    full: u64,
}

impl<P: Producer> Producer for Counting<P> {
    type Item = P::Item;

    fn try_push(&mut self, item: P::Item) -> Result<(), TryPushError<P::Item>> {
        let pushed = self.inner.try_push(item);
        self.full += u64::from(matches!(pushed, Err(TryPushError::Full(_))));
        pushed
    }

    fn capacity(&self) -> usize {
        self.inner.capacity()
    }

    fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let id = env::args().nth(1).unwrap_or_else(|| "linering".to_string());
    let config = Config::new(64);
    let (tx, mut rx) = match id.as_str() {
        "llq" => Llq::boxed(config)?,
        "linering" => LineRing::boxed(config)?,
        "bbq" => Bbq::boxed(config)?,
        _ => return Err("choose llq, linering or bbq".into()),
    };
    let mut tx = Counting { inner: tx, full: 0 };
    let producer = thread::spawn(move || {
        for mut number in 0..100_000_u64 {
            while let Err(error) = tx.try_push(number) {
                number = error.into_inner();
                thread::yield_now();
            }
        }
        tx.full
    });
    let mut sum = 0;
    loop {
        match rx.try_pop() {
            Ok(number) => sum += number,
            Err(TryPopError::Closed) => break,
            Err(_) => thread::yield_now(),
        }
    }
    let full = producer.join().expect("the producer does not panic");
    println!("{id}: the numbers add up to {sum}; the queue was full {full} times");
    Ok(())
}
