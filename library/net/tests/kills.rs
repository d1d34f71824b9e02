//! Both ends are processes that are killed at any moment. `CORELANE_KILLS` is the number of kills,
//! 20 if it isn't given.
//!
//! What must hold: items come to a receiver in order, without gap and double. The next receiver
//! begins with an item that no receiver has taken, or with one of the last that the one before had
//! taken. Everything of which a sender knew that it was received was.
//!
//! Receivers that share are killed, too: each item comes to one of them.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use corelane_net::Node;

use processes::{Process, say};
use random::Random;

mod processes;
mod random;

const MILLISECOND: Duration = Duration::from_millis(1);
const PATIENCE: Duration = Duration::from_millis(300);
const WINDOW: usize = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match &arguments[1..] {
        [end, address, first] if end == "--send" => send(address, first.parse().unwrap()),
        [end, address] if end == "--receive" => receive(&Node::listen(address).unwrap()),
        [end, address] if end == "--share" => receive(&Node::connect(address).unwrap()),
        _ => {
            let kills =
                std::env::var("CORELANE_KILLS").map_or(20, |n| n.parse().expect("a number"));
            kill(kills);
            kill_some_that_share(kills);
        }
    }
}

/// Sends the numbers from `first` on, and says which of them were received.
fn send(address: &str, first: u64) {
    let node = Node::connect(address).unwrap();
    let tx = node.lane::<u64>("kills").window(WINDOW).patience(PATIENCE).sender().unwrap();
    let mut told = 0;
    for n in first.. {
        tx.send(n).unwrap();
        let received = n + 1 - first - tx.untaken().min(n + 1 - first);
        if received > told {
            told = received;
            say(first + received);
        }
    }
}

fn receive(node: &Node) {
    let rx = node.lane::<u64>("kills").window(WINDOW).patience(PATIENCE).receiver().unwrap();
    rx.iter().for_each(say);
}

/// What the receivers have taken.
struct History {
    /// Where the items of the sender that lives begin, and what comes next.
    first: u64,
    next: u64,
    is_new: bool,
    taken: u64,
    doubled: u64,
}

impl History {
    fn add(&mut self, item: u64) {
        if self.is_new {
            assert!(item <= self.next, "{item} after {}: items are lost", self.next);
            self.doubled += self.next - item.max(self.first);
            self.is_new = false;
        } else if item != self.first {
            assert_eq!(item, self.next, "an item is lost, doubled or reordered");
        } // a new sender's first item, behind what a dead one had sent
        self.next = item + 1;
        self.taken += 1;
    }
}

/// An address of this machine that nothing listens at.
fn free() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn kill_some_that_share(kills: u64) {
    let (free, mut random) = (free(), Random(0x5DEE_CE66));
    let node = Node::listen(&free).unwrap();
    let lane = node.lane::<u64>("kills").window(WINDOW).patience(PATIENCE);
    let tx = lane.sharing_sender().unwrap();
    let start = || Process::start(&["--share", &free]);
    let mut receivers = [start(), start(), start()];
    assert!(tx.wait_for_receivers(3, Duration::from_secs(20)));
    let (mut sent, mut said) = (0, Vec::new());
    for _ in 0..kills {
        let end = Instant::now() + MILLISECOND * random.below(150) as u32;
        while Instant::now() < end {
            // All may be dead for a while.
            sent += u64::from(tx.send_timeout(sent, MILLISECOND).is_ok());
        }
        let receiver = &mut receivers[random.below(3) as usize];
        said.extend(receiver.kill());
        *receiver = start();
    }
    assert_eq!(tx.finish(Duration::from_secs(20)), Ok(()));
    said.extend(receivers.iter_mut().flat_map(Process::end));
    let all: BTreeSet<u64> = said.iter().copied().collect();
    assert!(all.iter().copied().eq(0..sent), "{} of {sent} items came", all.len());
    println!("{kills} kills, {sent} items shared, {} came twice", said.len() - all.len());
}

fn kill(kills: u64) {
    let (free, mut random) = (free(), Random(0x2545_F491_4F6C_DD1D));
    let mut below = |n| random.below(n);
    let mut receiver = Process::start(&["--receive", &free]);
    let mut sender = Process::start(&["--send", &free, "0"]);
    let mut history = History { first: 0, next: 0, is_new: true, taken: 0, doubled: 0 };
    let mut confirmed = 0;
    for number in 0..kills {
        // Both ends find each other, and something comes.
        let begin = Instant::now();
        let some = history.taken + below(2000);
        while history.taken < some {
            if let Ok(item) = receiver.said.recv_timeout(20 * MILLISECOND) {
                history.add(item);
            }
            confirmed = sender.said.try_iter().last().unwrap_or(confirmed);
            assert!(begin.elapsed() < Duration::from_secs(20), "it hangs after {number} kills");
        }
        if below(2) == 0 {
            receiver.kill().into_iter().for_each(|item| history.add(item));
            history.is_new = true;
            receiver = Process::start(&["--receive", &free]);
        } else {
            confirmed = sender.kill().last().copied().unwrap_or(confirmed);
            // What has arrived is still taken.
            let quiet = Instant::now();
            while history.next < confirmed || quiet.elapsed() < 50 * MILLISECOND {
                if let Ok(item) = receiver.said.recv_timeout(20 * MILLISECOND) {
                    history.add(item);
                }
                let waited = quiet.elapsed() < Duration::from_secs(5);
                assert!(waited, "{} of {confirmed} that were confirmed came", history.next);
            }
            history.first = history.next + 1_000_000;
            sender = Process::start(&["--send", &free, &history.first.to_string()]);
            confirmed = 0;
            if history.is_new {
                history.next = history.first;
            }
        }
    }
    println!(
        "{kills} kills, {} items, {} of them came to two receivers",
        history.taken, history.doubled
    );
}
