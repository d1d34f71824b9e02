//! Sender, receiver and server of a durable lane are killed at any moment. `CORELANE_KILLS` is the number
//! of kills, 20 if it isn't given.
//!
//! What must hold: the store has each number once, in order. All of which a sender knew that it was stored
//! are there. The next receiver begins with an item that no receiver has confirmed.

use std::time::{Duration, Instant};

use corelane_net::durable::Store;

use processes::{Process, say};
use random::Random;
use server::Server;

mod processes;
mod random;
mod server;

const MILLISECOND: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(60);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[1..] {
        [end, address, monitor] if end == "--send" => send(&connect(address, monitor)),
        [end, address, monitor] if end == "--receive" => receive(&connect(address, monitor)),
        _ => kill(),
    }
}

/// The server may be starting.
fn connect(address: &str, monitor: &str) -> Store {
    let begin = Instant::now();
    loop {
        match Store::at(address).monitor(monitor).connect() {
            Ok(store) => return store,
            Err(error) => assert!(begin.elapsed() < LONG, "{error}"),
        }
        std::thread::sleep(5 * MILLISECOND);
    }
}

/// Sends the numbers behind those that are stored, and says how many are.
fn send(store: &Store) {
    let begin = Instant::now();
    let tx = loop {
        match store.lane::<u64>("kills").gives_up_after(LONG).sender("numbers") {
            Ok(tx) => break tx,
            Err(error) => assert!(begin.elapsed() < LONG, "{error}"),
        }
    };
    let mut told = tx.stored();
    for n in tx.stored().. {
        tx.send(n).unwrap();
        if n % 50 == 0 {
            std::thread::sleep(MILLISECOND); // the receivers keep up
        }
        let stored = n + 1 - tx.unstored();
        if stored > told {
            told = stored;
            say(stored);
        }
    }
}

/// Says what comes, and confirms it then.
fn receive(store: &Store) {
    let begin = Instant::now();
    let rx = loop {
        match store.lane::<u64>("kills").gives_up_after(LONG).receiver("reader") {
            Ok(rx) => break rx,
            Err(error) => assert!(begin.elapsed() < LONG, "{error}"),
        }
    };
    for item in rx.iter() {
        say(item);
        rx.confirm();
    }
}

fn kill() {
    let Some(mut server) = Server::start("kills") else { return };
    let kills = std::env::var("CORELANE_KILLS").map_or(20, |n| n.parse().expect("a number"));
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let (address, monitor) = (server.address.clone(), server.monitor.clone());
    let start = |end: &str| Process::start(&[end, &address, &monitor]);
    // It confirms nothing, so that the store keeps all.
    let audit = || connect(&address, &monitor).lane::<u64>("kills").receiver("audit").unwrap();
    drop(audit());
    let (mut sender, mut receiver) = (start("--send"), start("--receive"));
    let (mut stored, mut taken, mut again, mut next) = (0, 0, 0, 0);
    let mut add = |item: u64, is_new: &mut bool| {
        if std::mem::take(is_new) {
            assert!(item <= next, "{item} after {next}: items are lost");
            again += next - item;
        } else {
            assert_eq!(item, next, "an item is lost, doubled or reordered");
        }
        (next, taken) = (item + 1, taken + 1);
        taken
    };
    let (mut is_new, mut count) = (false, 0);
    for number in 0..kills {
        let (begin, some) = (Instant::now(), count + random.below(2000));
        let time = MILLISECOND * random.below(150) as u32;
        while count < some || begin.elapsed() < time {
            if let Ok(item) = receiver.said.recv_timeout(20 * MILLISECOND) {
                count = add(item, &mut is_new);
            }
            stored = sender.said.try_iter().last().unwrap_or(stored);
            assert!(begin.elapsed() < LONG, "it hangs after {number} kills");
        }
        let which = random.below(4);
        if which == 0 || which == 3 {
            stored = sender.kill().last().copied().unwrap_or(stored);
        }
        if which == 1 || which == 3 {
            receiver.kill().into_iter().for_each(|item| count = add(item, &mut is_new));
            is_new = true;
        }
        if which == 2 {
            server.kill();
            std::thread::sleep(MILLISECOND * random.below(100) as u32);
            server.start_again();
        }
        if which == 0 || which == 3 {
            sender = start("--send");
        }
        if which == 1 || which == 3 {
            receiver = start("--receive");
        }
    }
    stored = sender.kill().last().copied().unwrap_or(stored);
    let rx = audit();
    for n in 0..stored {
        assert_eq!(rx.recv_timeout(LONG), Ok(n), "{stored} are stored");
    }
    println!("{kills} kills, {stored} items stored once, {taken} taken, {again} of them again");
}
