//! The peer in Rust.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use corelane::shm::{Carried, Consumer, Error, Lane, Producer, RecordConsumer, RecordProducer};
use corelane_peers::{Kind, Tick, words};

const PATIENCE: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peer in Rust: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let [role, kind, descriptor, items] = arguments else {
        return Err("use: peer push|pop items|records DESCRIPTOR ITEMS".to_owned());
    };
    let number = |text: &String| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
    let (descriptor, items) = (number(descriptor)? as i32, number(items)?);
    match (role.as_str(), kind.parse()?) {
        ("push", Kind::Items) => {
            push(&mut side(&open::<Tick>(descriptor)?, Lane::producer)?, items)
        }
        ("pop", Kind::Items) => pop(&mut side(&open::<Tick>(descriptor)?, Lane::consumer)?, items),
        ("push", Kind::Records) => {
            push_records(&mut side(&open::<[u8]>(descriptor)?, Lane::producer)?, items)
        }
        ("pop", Kind::Records) => {
            pop_records(&mut side(&open::<[u8]>(descriptor)?, Lane::consumer)?, items)
        }
        (role, _) => Err(format!("no role {role}: push or pop")),
    }
}

fn open<T: Carried + ?Sized>(descriptor: i32) -> Result<Lane<T>, String> {
    Lane::open_number(descriptor).map_err(|error| error.to_string())
}

/// Takes a side, which the system may still give back after a kill.
fn side<T: Carried + ?Sized, S>(
    lane: &Lane<T>,
    take: impl Fn(&Lane<T>) -> Result<S, Error>,
) -> Result<S, String> {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        match take(lane) {
            Err(Error::Taken(_)) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(1))
            }
            taken => return taken.map_err(|error| error.to_string()),
        }
    }
}

const ALONE: &str = "no peer has come";

fn push(tx: &mut Producer<Tick>, items: u64) -> Result<(), String> {
    while tx.position() < items {
        if tx.push(Tick::new(tx.position())).is_err() && !tx.wait_for_peer(PATIENCE) {
            return Err(ALONE.to_owned());
        }
    }
    Ok(())
}

fn pop(rx: &mut Consumer<Tick>, items: u64) -> Result<(), String> {
    while rx.position() < items {
        let next = rx.position();
        match rx.pop() {
            Some(tick) if tick == Tick::new(next) => {}
            Some(tick) => return Err(format!("{tick:?} instead of item {next}")),
            None if rx.wait_for_peer(PATIENCE) => {}
            None => return Err(ALONE.to_owned()),
        }
    }
    Ok(())
}

fn push_records(tx: &mut RecordProducer, items: u64) -> Result<(), String> {
    while tx.position() < items {
        let next = tx.position();
        let Ok(mut claim) = tx.claim(8 * words(next)) else {
            if tx.wait_for_peer(PATIENCE) {
                continue;
            }
            return Err(ALONE.to_owned());
        };
        claim.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&next.to_ne_bytes()));
        claim.commit();
    }
    Ok(())
}

fn pop_records(rx: &mut RecordConsumer, items: u64) -> Result<(), String> {
    while rx.position() < items {
        let next = rx.position();
        if let Some(record) = rx.pop() {
            let is_next = |word: &[u8]| *word == next.to_ne_bytes();
            if record.len() != 8 * words(next) || !record.chunks_exact(8).all(is_next) {
                return Err(format!("{:?} instead of record {next}", &*record));
            }
            continue;
        }
        if !rx.wait_for_peer(PATIENCE) {
            return Err(ALONE.to_owned());
        }
    }
    Ok(())
}
