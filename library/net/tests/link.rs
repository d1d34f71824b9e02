//! Lanes over a connection that is cut, stalls, and comes again. `CORELANE_FAULTS` is the number of
//! faults, 40 if it isn't given.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use corelane_net::Node;

use random::Random;

mod random;

const MILLISECOND: Duration = Duration::from_millis(1);

/// Passes bytes on, unless it is told not to.
#[derive(Clone)]
struct Proxy {
    address: String,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    stalls: Arc<AtomicBool>,
    refuses: Arc<AtomicBool>,
}

impl Proxy {
    fn to(target: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let proxy = Self {
            address: listener.local_addr().expect("it is bound").to_string(),
            streams: Arc::default(),
            stalls: Arc::default(),
            refuses: Arc::default(),
        };
        let this = proxy.clone();
        thread::spawn(move || {
            for from in listener.incoming().flatten() {
                if this.refuses.load(Ordering::Relaxed) {
                    continue; // closed
                }
                let Ok(to) = TcpStream::connect(&target) else { continue };
                this.pass(from.try_clone().unwrap(), to.try_clone().unwrap());
                this.pass(to, from);
            }
        });
        proxy
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream) {
        self.streams.lock().unwrap().push(from.try_clone().unwrap());
        let stalls = self.stalls.clone();
        thread::spawn(move || {
            let mut bytes = vec![0; 32 << 10];
            while let Ok(n @ 1..) = from.read(&mut bytes) {
                while stalls.load(Ordering::Relaxed) {
                    thread::sleep(MILLISECOND);
                }
                if to.write_all(&bytes[..n]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    }

    /// Cuts all connections, in one direction or both.
    fn cut(&self, how: Shutdown) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(how);
        }
    }
}

#[test]
fn no_fault_of_the_link_loses_doubles_or_reorders_an_item() {
    let free = TcpListener::bind("127.0.0.1:0").expect("there is a port").local_addr().unwrap();
    let here = Node::listen(&free.to_string()).unwrap();
    let proxy = Proxy::to(free.to_string());
    let there = Node::connect(&proxy.address).unwrap();
    let patience = 500 * MILLISECOND;
    let rx = here.lane::<u64>("faults").window(500).patience(patience).receiver().unwrap();
    let tx = there.lane::<u64>("faults").window(500).patience(patience).sender().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let sends = thread::spawn({
        let stop = stop.clone();
        move || {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                tx.send(n).unwrap();
                n += 1;
            }
            tx.finish(60 * 1000 * MILLISECOND).map(|()| n)
        }
    });
    let receives = thread::spawn(move || {
        let mut next = 0;
        for item in rx.iter() {
            assert_eq!(item, next);
            next += 1;
        }
        (next, rx.end())
    });
    let faults = std::env::var("CORELANE_FAULTS").map_or(40, |n| n.parse().expect("a number"));
    let mut random = Random(0x5DEE_CE66);
    for _ in 0..faults {
        thread::sleep(MILLISECOND * random.below(80) as u32);
        match random.below(5) {
            0 => proxy.cut(Shutdown::Read),
            1 => {
                proxy.stalls.store(true, Ordering::Relaxed);
                // Also longer than the patience.
                thread::sleep(MILLISECOND * random.below(800) as u32);
                proxy.stalls.store(false, Ordering::Relaxed);
            }
            2 => {
                proxy.refuses.store(true, Ordering::Relaxed);
                proxy.cut(Shutdown::Both);
                thread::sleep(MILLISECOND * random.below(800) as u32);
                proxy.refuses.store(false, Ordering::Relaxed);
            }
            _ => proxy.cut(Shutdown::Both),
        }
    }
    stop.store(true, Ordering::Relaxed);
    let sent = sends.join().unwrap().unwrap();
    let (received, end) = receives.join().unwrap();
    assert_eq!(sent, received);
    assert!(sent > 1000, "{sent} items in all");
    println!("{faults} faults, {sent} items, {end:?}");
}
