//! Lanes to several receivers, and lanes at most once, between nodes of this process.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use corelane_net::{End, Lane, Node, Receiver, Sender};

use nodes::nodes;

mod nodes;

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// A lane whose ends are soon taken for dead.
fn lane(node: &Node, name: &str) -> Lane<u64> {
    node.lane(name).window(64).patience(SECOND / 2)
}

/// Takes all items, and waits after each one.
fn takes_all(rx: Receiver<u64>, wait: Duration) -> JoinHandle<Vec<u64>> {
    thread::spawn(move || rx.iter().inspect(|_| thread::sleep(wait)).collect())
}

fn sends(tx: Sender<u64>, items: u64) {
    (0..items).for_each(|n| tx.send(n).unwrap());
    assert_eq!(tx.finish(20 * SECOND), Ok(()));
}

#[test]
fn receivers_share_the_work() {
    let (here, there) = nodes();
    let fast = takes_all(lane(&here, "shared").receiver().unwrap(), Duration::ZERO);
    let slow = takes_all(lane(&here, "shared").receiver().unwrap(), 20 * MILLISECOND);
    let tx = lane(&there, "shared").sharing_sender().unwrap();
    assert!(tx.wait_for_receivers(2, 10 * SECOND));
    sends(tx, 5000);
    let (fast, slow) = (fast.join().unwrap(), slow.join().unwrap());
    assert!(fast.is_sorted() && slow.is_sorted());
    assert!(!slow.is_empty() && slow.len() < 500, "{} items of the slow one", slow.len());
    let all: BTreeSet<u64> = fast.iter().chain(&slow).copied().collect();
    assert_eq!((all.len(), fast.len() + slow.len()), (5000, 5000));
}

#[test]
fn others_get_what_a_receiver_had_taken_and_not_confirmed() {
    let (here, there) = nodes();
    let first = lane(&here, "confirmed").confirmed().receiver().unwrap();
    let tx = lane(&there, "confirmed").sharing_sender().unwrap();
    (0..10).for_each(|n| tx.send(n).unwrap());
    for n in 0..6 {
        assert_eq!(first.recv_timeout(10 * SECOND), Ok(n));
        if n == 3 {
            first.confirm();
        }
    }
    let begin = Instant::now();
    while tx.untaken() > 6 {
        assert!(begin.elapsed() < 10 * SECOND);
        thread::sleep(MILLISECOND);
    }
    assert!(!tx.wait_until_received(SECOND / 10));
    drop(first);
    let second = lane(&here, "confirmed").receiver().unwrap();
    (4..10).for_each(|n| assert_eq!(second.recv_timeout(10 * SECOND), Ok(n)));
    assert!(tx.wait_until_received(10 * SECOND));
}

#[test]
fn others_get_what_a_dropped_receiver_had_not_taken() {
    let (here, there) = nodes();
    let lives = lane(&here, "left").receiver().unwrap();
    let leaves = lane(&here, "left").receiver().unwrap();
    let tx = lane(&there, "left").sharing_sender().unwrap();
    assert!(tx.wait_for_receivers(2, 10 * SECOND));
    let sends = thread::spawn(move || sends(tx, 1000));
    let mut all: BTreeSet<u64> = leaves.iter().take(10).collect();
    drop(leaves);
    let lives = lives.iter().collect::<Vec<u64>>();
    sends.join().unwrap();
    let doubled = lives.iter().filter(|&&item| !all.insert(item)).count();
    assert_eq!(all.len(), 1000);
    assert!(doubled <= 10, "{doubled} items came twice");
}

#[test]
fn several_senders_share_several_receivers() {
    let (here, there) = nodes();
    let receivers = [0, 1].map(|_| lane(&here, "many").receiver_of_several().unwrap());
    let senders: Vec<_> = (0..3)
        .map(|_| {
            let tx = lane(&there, "many").sharing_sender().unwrap();
            assert!(tx.wait_for_receivers(2, 10 * SECOND));
            thread::spawn(move || sends(tx, 2000))
        })
        .collect();
    let taken = receivers.map(|rx| {
        thread::spawn(move || {
            let next = || rx.recv_timeout(SECOND).ok();
            std::iter::from_fn(next).collect::<Vec<u64>>()
        })
    });
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    let mut times = BTreeMap::new();
    for item in taken.into_iter().flat_map(|taken| taken.join().unwrap()) {
        *times.entry(item).or_insert(0) += 1;
    }
    assert!(times.len() == 2000 && times.values().all(|&n| n == 3), "{} items", times.len());
}

#[test]
fn all_receivers_of_a_broadcast_get_all_items() {
    let (here, there) = nodes();
    let receiver = || lane(&here, "all").receiver().unwrap();
    let fast = takes_all(receiver(), Duration::ZERO);
    let slow = takes_all(receiver(), MILLISECOND);
    let tx = lane(&there, "all").broadcast_sender().unwrap();
    assert!(tx.wait_for_receivers(2, 10 * SECOND));
    (0..500).for_each(|n| tx.send(n).unwrap());
    // A newcomer gets what is sent from now on.
    let late = takes_all(receiver(), Duration::ZERO);
    assert!(tx.wait_for_receivers(3, 10 * SECOND));
    (500..1000).for_each(|n| tx.send(n).unwrap());
    assert_eq!(tx.finish(20 * SECOND), Ok(()));
    assert!(fast.join().unwrap().into_iter().eq(0..1000));
    assert!(slow.join().unwrap().into_iter().eq(0..1000));
    let late = late.join().unwrap();
    assert!(late.last() == Some(&999) && late.windows(2).all(|pair| pair[0] + 1 == pair[1]));
}

#[test]
fn a_broadcast_without_receivers_waits() {
    let (here, there) = nodes();
    let tx = lane(&there, "nobody").broadcast_sender().unwrap();
    let mut sent = 0;
    while tx.send_timeout(sent, SECOND / 4).is_ok() {
        sent += 1;
    }
    assert!((32..=64).contains(&sent), "{sent} items");
    let rx = lane(&here, "nobody").receiver().unwrap();
    assert!(rx.iter().take(sent as usize).eq(0..sent));
    drop(rx);
    assert_eq!(tx.finish(SECOND / 4), Ok(())); // all were taken
}

#[test]
fn items_of_a_key_come_to_one_receiver_in_order() {
    const KEYS: u64 = 16;
    let (here, there) = nodes();
    let receiver = || takes_all(lane(&here, "keys").receiver().unwrap(), Duration::ZERO);
    let mut receivers = vec![receiver(), receiver()];
    let tx = lane(&there, "keys").sender_by_key(|item| item % KEYS).unwrap();
    assert!(tx.wait_for_receivers(2, 10 * SECOND));
    (0..2000).for_each(|n| tx.send(n).unwrap());
    receivers.push(receiver());
    assert!(tx.wait_for_receivers(3, 10 * SECOND));
    (2000..20_000).for_each(|n| tx.send(n).unwrap());
    assert_eq!(tx.finish(20 * SECOND), Ok(()));
    let taken: Vec<_> = receivers.into_iter().map(|taken| taken.join().unwrap()).collect();
    assert_eq!(taken.iter().map(Vec::len).sum::<usize>(), 20_000);
    assert!(taken.iter().all(|taken| !taken.is_empty() && taken.is_sorted()));
    for key in 0..KEYS {
        // Both before and after the newcomer: it has the key, or none of the others gives it away.
        let has = |taken: &&Vec<u64>| taken.iter().any(|n| n % KEYS == key && *n >= 10_000);
        assert_eq!(taken.iter().filter(has).count(), 1, "key {key}");
        let newcomer_has = taken[2].iter().any(|n| n % KEYS == key);
        let others = taken[..2].iter().filter(|taken| taken.iter().any(|n| n % KEYS == key));
        assert!(newcomer_has || others.count() == 1, "key {key}");
    }
}

#[test]
fn a_second_sharing_sender_of_plain_receivers_gives_up() {
    let (here, there) = nodes();
    let rx = lane(&here, "mine").receiver().unwrap();
    let tx = lane(&there, "mine").sharing_sender().unwrap();
    assert!(tx.wait_for_receiver(10 * SECOND));
    let second = lane(&there, "mine").sharing_sender().unwrap();
    let begin = Instant::now();
    while second.end().is_none() {
        assert!(begin.elapsed() < 10 * SECOND);
        thread::sleep(MILLISECOND);
    }
    assert_eq!(second.end(), Some(End::Taken));
    tx.send(7).unwrap();
    assert_eq!(rx.recv(), Ok(7));
}

/// Passes bytes on until it is cut.
struct Proxy {
    address: String,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    refuses: Arc<AtomicBool>,
}

impl Proxy {
    fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let streams = Arc::<Mutex<Vec<TcpStream>>>::default();
        let (kept, refuses) = (streams.clone(), Arc::<AtomicBool>::default());
        let is_refused = refuses.clone();
        thread::spawn(move || {
            for from in listener.incoming().flatten() {
                if is_refused.load(Ordering::Relaxed) {
                    continue; // closed
                }
                let Ok(to) = TcpStream::connect(&target) else { continue };
                for (mut from, mut to) in
                    [(from.try_clone().unwrap(), to.try_clone().unwrap()), (to, from)]
                {
                    kept.lock().unwrap().push(from.try_clone().unwrap());
                    thread::spawn(move || {
                        let mut bytes = vec![0; 32 << 10];
                        while let Ok(n @ 1..) = from.read(&mut bytes) {
                            if to.write_all(&bytes[..n]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self { address, streams, refuses }
    }

    fn cut(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// For ever: a process behind it is as good as dead.
    fn close(&self) {
        self.refuses.store(true, Ordering::Relaxed);
        self.cut();
    }
}

/// A node, and one that is connected to it by a proxy.
fn nodes_by_proxy() -> (Node, Proxy, Node) {
    let here = Node::listen("127.0.0.1:0").expect("there is a port");
    let proxy = Proxy::to(here.address().into());
    let there = Node::connect(&proxy.address).expect("it is an address");
    (here, proxy, there)
}

#[test]
fn at_most_once_what_a_cut_loses_is_counted() {
    let (here, proxy, there) = nodes_by_proxy();
    let rx = lane(&here, "once").at_most_once_receiver().unwrap();
    let tx = lane(&there, "once").at_most_once_sender().unwrap();
    assert!(tx.wait_for_receiver(10 * SECOND));
    let sends = thread::spawn(move || {
        let begin = Instant::now();
        let numbers = (0..).take_while(|_| begin.elapsed() < 3 * SECOND / 2);
        let sent = numbers.inspect(|&n| tx.send(n).unwrap()).count() as u64;
        assert_eq!(tx.finish(20 * SECOND), Ok(()));
        sent
    });
    let cuts = thread::spawn(move || {
        for _ in 0..4 {
            thread::sleep(300 * MILLISECOND);
            proxy.cut();
        }
        proxy
    });
    let taken: Vec<u64> = rx.iter().collect();
    let sent = sends.join().unwrap();
    drop(cuts.join().unwrap());
    assert!(taken.is_sorted_by(|one, next| one < next), "doubled or reordered");
    assert_eq!(taken.len() as u64 + rx.lost(), sent);
    assert!(taken.len() > 200, "{} of {sent}", taken.len());
}

#[test]
fn at_most_once_the_next_receiver_gets_only_what_was_not_sent() {
    let (here, proxy, there) = nodes_by_proxy();
    let tx = lane(&here, "next").at_most_once_sender().unwrap();
    let first = lane(&there, "next").at_most_once_receiver().unwrap();
    assert!(tx.wait_for_receiver(10 * SECOND));
    // The window holds.
    let mut sent = 0;
    while tx.send_timeout(sent, SECOND / 10).is_ok() {
        sent += 1;
    }
    assert!((32..=64).contains(&sent), "{sent} items");
    proxy.close();
    let next = lane(&here, "next").at_most_once_receiver().unwrap();
    let taken = takes_all(next, Duration::ZERO);
    assert_eq!(tx.finish(10 * SECOND), Ok(()));
    let first: Vec<u64> = std::iter::from_fn(|| first.recv_timeout(SECOND / 5).ok()).collect();
    let taken = taken.join().unwrap();
    assert_eq!(first.len(), 32, "half of the window");
    assert!(first.iter().chain(&taken).copied().eq(0..sent));
}

#[test]
fn others_get_what_a_receiver_that_is_cut_off_had_not_taken() {
    let (here, proxy, there) = nodes_by_proxy();
    let tx = lane(&here, "cut").sharing_sender().unwrap();
    let away = lane(&there, "cut").gives_up_after(SECOND).receiver().unwrap();
    let near = takes_all(lane(&here, "cut").receiver().unwrap(), Duration::ZERO);
    assert!(tx.wait_for_receivers(2, 10 * SECOND));
    let sends = thread::spawn(move || sends(tx, 1000));
    let mut all: BTreeSet<u64> = away.iter().take(10).collect();
    proxy.close();
    sends.join().unwrap();
    all.extend(near.join().unwrap());
    assert_eq!(all.len(), 1000);
}
