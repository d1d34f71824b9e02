//! Large packets go through memory that both processes share, while receivers are stopped and killed.
//!
//! What must hold: each record comes whole, in order and without gap, also to a receiver that was stopped
//! in the middle of one, and when receivers that were killed have kept all of the memory.

use std::time::{Duration, Instant};

use corelane_net::{Bytes, Node, Sender};

use processes::{Process, say};

mod processes;

const MILLISECOND: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_millis(1500);
/// Two of them fill a packet.
const WORDS: usize = 15_000;
const ROUNDS: usize = 8;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[1..] {
        [end, address] if end == "--receive" => receive(address),
        _ => send(),
    }
}

fn receive(address: &str) {
    let node = Node::connect_shm(address).unwrap();
    let rx = node.records::<Bytes>("memory").patience(PATIENCE).confirmed().receiver().unwrap();
    for record in rx.iter() {
        let number = word(&record, 0);
        let is_whole = record.len() == 8 * WORDS && (0..WORDS).all(|i| word(&record, i) == number);
        assert!(is_whole, "record {number} is damaged");
        say(number);
        rx.confirm();
    }
}

fn word(record: &[u8], i: usize) -> u64 {
    u64::from_le_bytes(record[8 * i..][..8].try_into().unwrap())
}

fn send() {
    let node = Node::listen_shm("127.0.0.1:0").unwrap();
    let tx = node.records::<Bytes>("memory").patience(PATIENCE).sender().unwrap();
    let (mut sent, mut next) = (0, 0);
    for round in 0..ROUNDS {
        let mut receiver = Process::start(&["--receive", node.address()]);
        let mut said = Vec::new();
        while said.is_empty() {
            send_for(&tx, MILLISECOND, &mut sent);
            said.extend(receiver.said.try_iter());
        }
        for _ in 0..3 {
            send_for(&tx, 50 * MILLISECOND, &mut sent);
            receiver.signal("STOP");
            send_for(&tx, 400 * MILLISECOND, &mut sent);
            receiver.signal("CONT");
        }
        if round == ROUNDS - 1 {
            assert!(tx.wait_until_received(20_000 * MILLISECOND));
        } else {
            send_for(&tx, 50 * MILLISECOND, &mut sent);
        }
        said.extend(receiver.kill());
        assert!(said[0] <= next, "{} after {next}: records are lost", said[0]);
        assert!(said.windows(2).all(|two| two[1] == two[0] + 1), "a receiver has a gap");
        next = said.last().unwrap() + 1;
    }
    assert_eq!(next, sent);
    println!("{sent} records, {ROUNDS} receivers that were stopped and killed");
}

fn send_for(tx: &Sender<Bytes>, time: Duration, sent: &mut u64) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        let record: Vec<u8> = sent.to_le_bytes().repeat(WORDS);
        *sent += u64::from(tx.send_timeout(record.into(), MILLISECOND).is_ok());
    }
}
