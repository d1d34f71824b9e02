//! Clients in threads, over every ring.

#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use corelane::channel;
use vswitch::port::{RingClient, RingPort};
use vswitch::ring::Ring;
use vswitch::switching::{Attach, Running, run};
use vswitch_core::clients::Client;
use vswitch_core::{Frame, Options, Overflow};

/// Clients of each switch.
const CLIENTS: u32 = 3;
/// Packets that each client gets at least.
const PACKETS: u64 = 500;

/// A switch and its clients until each client has got some packets.
fn exchange(ring: Ring, options: Options, spins: bool) {
    let (attach, attached) = channel::unbounded();
    let done = AtomicU32::new(0);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (port, client) = RingPort::pair(ring, 64).expect("there is memory");
                let port = Attach { name: number.to_string(), port: Box::new(port) };
                attach.send(port).expect("the switch is there");
                let done = &done;
                scope.spawn(move || serve(client, number, done))
            })
            .collect();
        // Without a client the switch goes on, until the time is over.
        let until = Some(Instant::now() + Duration::from_secs(60));
        let running = Running { options, spins, until, sources: None };
        let switch = scope.spawn(move || run(&running, &attached, |_| ()));
        let ends: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        drop(attach);
        assert!(ends.iter().all(Result::is_ok), "a client has failed");
        let ports = switch.join().expect("it does not panic").expect("it has a bell");
        assert_eq!(ports.len(), CLIENTS as usize);
        for port in ports {
            assert_eq!(port.dropped, 0, "{port:?}");
        }
    });
}

/// A client that answers as long as others wait for it.
fn serve(port: RingClient, number: u32, done: &AtomicU32) {
    let mut client = Client::new(port, number, CLIENTS, 4);
    client.introduce();
    let (until, mut is_done) = (Instant::now() + Duration::from_secs(60), false);
    while done.load(Ordering::Relaxed) < CLIENTS {
        if client.exchange() == 0 {
            thread::yield_now();
        }
        if !is_done && client.tally().received >= PACKETS {
            is_done = true;
            done.fetch_add(1, Ordering::Relaxed);
        }
        assert!(Instant::now() < until, "{:?}", client.tally());
    }
    let tally = client.tally();
    // Before the switch knows a client, packets for it go to others, too.
    assert_eq!((tally.lost, tally.reordered), (0, 0), "{tally:?}");
}

/// One test, because it counts all frames of the process.
#[test]
fn every_ring_forwards_in_order_and_no_frame_is_left() {
    for name in Ring::names() {
        let ring = Ring::find(name).expect("it is listed");
        exchange(ring, Options::of(8), false);
        assert_eq!(Frame::allocated(), 0, "{name} has kept frames");
    }
    let ring = Ring::find("linering").expect("it is listed");
    let overflow = Overflow::Wait { patience: 1000 };
    exchange(ring, Options { overflow, ..Options::of(1) }, false);
    exchange(ring, Options::of(32), true);
    assert_eq!(Frame::allocated(), 0);
}
