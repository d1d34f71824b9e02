//! Durable lanes, with a server of their own.

use std::time::{Duration, Instant};

use corelane::channel::SendTimeoutError;
use corelane_net::durable::Store;
use corelane_net::{Codec, End, Malformed, OpenError};

use server::Server;

mod server;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn items_come_in_order_and_only_once() {
    let Some(server) = Server::start("order") else { return };
    let store = server.store();
    let rx = store.lane::<u64>("numbers").receiver("reader").unwrap();
    let tx = store.lane::<u64>("numbers").sender("writer").unwrap();
    assert_eq!(tx.stored(), 0);
    let sends = std::thread::spawn(move || {
        (0..200_000).for_each(|n| tx.send(n).unwrap());
        tx.finish(20 * SECOND).unwrap();
    });
    for n in 0..200_000 {
        assert_eq!(rx.recv_timeout(10 * SECOND), Ok(n));
        rx.confirm();
    }
    sends.join().unwrap();
    assert_eq!(rx.unconfirmed(), 0);
    rx.finish(10 * SECOND).unwrap();
}

#[test]
fn what_was_not_confirmed_comes_again_to_the_next_program() {
    let Some(server) = Server::start("again") else { return };
    let store = server.store();
    let tx = store.records::<Vec<u8>>("records").sender("writer").unwrap();
    for n in 0..100_u8 {
        tx.send(vec![n; 1 + usize::from(n)]).unwrap();
        while tx.unstored() > 0 {
            std::thread::yield_now(); // a message each
        }
    }
    tx.finish(10 * SECOND).unwrap();
    let rx = store.records::<Vec<u8>>("records").receiver("reader").unwrap();
    for n in 0..40_u8 {
        assert_eq!(rx.recv_timeout(10 * SECOND).unwrap(), vec![n; 1 + usize::from(n)]);
    }
    rx.confirm();
    for n in 40..60_u8 {
        assert_eq!(rx.recv_timeout(10 * SECOND).unwrap()[0], n);
    }
    assert_eq!(rx.unconfirmed(), 20);
    rx.finish(10 * SECOND).unwrap();
    let rx = store.records::<Vec<u8>>("records").receiver("reader").unwrap();
    for n in 40..100_u8 {
        assert_eq!(rx.recv_timeout(10 * SECOND).unwrap()[0], n);
    }
    // The next sender begins behind what is stored.
    let tx = store.records::<Vec<u8>>("records").sender("writer").unwrap();
    assert_eq!(tx.stored(), 100);
}

#[test]
fn the_items_outlive_the_server() {
    let Some(mut server) = Server::start("server") else { return };
    let store = server.store();
    let tx = store.lane::<u64>("numbers").sender("writer").unwrap();
    (0..1000).for_each(|n| tx.send(n).unwrap());
    let begin = Instant::now();
    while tx.unstored() > 0 {
        assert!(begin.elapsed() < 10 * SECOND);
        std::thread::yield_now();
    }
    server.kill();
    (1000..2000).for_each(|n| tx.send(n).unwrap());
    server.start_again();
    tx.finish(20 * SECOND).unwrap();
    let rx = store.lane::<u64>("numbers").receiver("reader").unwrap();
    (0..2000).for_each(|n| assert_eq!(rx.recv_timeout(20 * SECOND), Ok(n)));
    rx.confirm();
    rx.finish(10 * SECOND).unwrap();
}

#[test]
fn several_senders_and_receivers_each_have_a_name() {
    let Some(server) = Server::start("several") else { return };
    let store = server.store();
    let names = ["east", "west", "north"];
    let receivers = ["one", "two"].map(|name| {
        let lane = store.lane::<[u32; 2]>("pairs");
        lane.receiver(name).unwrap()
    });
    let sends: Vec<_> = (0..3)
        .map(|sender| {
            let tx = store.lane::<[u32; 2]>("pairs").sender(names[sender as usize]).unwrap();
            std::thread::spawn(move || {
                (0..20_000).for_each(|n| tx.send([sender, n]).unwrap());
                tx.finish(20 * SECOND).unwrap();
            })
        })
        .collect();
    for rx in &receivers {
        let mut next = [0; 3];
        for _ in 0..60_000 {
            let [sender, n] = rx.recv_timeout(10 * SECOND).unwrap();
            assert_eq!(n, next[sender as usize]);
            next[sender as usize] += 1;
            rx.confirm();
        }
    }
    sends.into_iter().for_each(|sends| sends.join().unwrap());
}

#[test]
fn a_later_program_takes_a_name_over() {
    let Some(server) = Server::start("names") else { return };
    let store = server.store();
    let lane = || store.lane::<u64>("numbers");
    let (first, rx) = (lane().sender("writer").unwrap(), lane().receiver("reader").unwrap());
    first.send(0).unwrap();
    assert_eq!(rx.recv_timeout(10 * SECOND), Ok(0));
    rx.confirm();
    let second = lane().sender("writer").unwrap();
    assert_eq!(second.stored(), 1);
    let next = lane().receiver("reader").unwrap();
    // The first ones find out when they next have something to tell, or after a while.
    first.send(1).unwrap();
    let unconfirmed = first.finish(10 * SECOND).unwrap_err();
    assert_eq!((unconfirmed.items, unconfirmed.end), (1, End::Taken));
    while rx.recv_timeout(10 * SECOND).is_ok() {}
    assert_eq!(rx.end(), Some(End::Taken));
    assert_eq!(rx.ended(), Err(End::Taken));
    second.send(2).unwrap();
    // The first one's confirmation may have come too late.
    let items = std::iter::repeat_with(|| next.recv_timeout(10 * SECOND).unwrap());
    assert_eq!(items.into_iter().find(|&item| item != 0), Some(2));
}

#[test]
fn a_full_store_makes_senders_wait() {
    let Some(server) = Server::start("full") else { return };
    let store = server.store();
    let lane = || store.records::<Vec<u8>>("records").window(1).room(0); // the least: 4 MiB
    let rx = lane().receiver("reader").unwrap();
    let tx = lane().sender("writer").unwrap();
    let mut sent = 0;
    while let Ok(()) = tx.send_timeout(vec![7; 10_000], SECOND) {
        sent += 1;
    }
    assert!((350..600).contains(&sent), "{sent} records of 10,000 bytes");
    assert!(matches!(tx.send_timeout(vec![], SECOND / 10), Err(SendTimeoutError::Timeout(_))));
    // What is confirmed makes room, again and again.
    let sends = std::thread::spawn(move || {
        (0..1000).for_each(|_| tx.send(vec![7; 10_000]).unwrap());
        tx.finish(20 * SECOND).unwrap();
    });
    for _ in 0..sent + 1000 {
        assert_eq!(rx.recv_timeout(10 * SECOND).unwrap().len(), 10_000);
        rx.confirm();
    }
    sends.join().unwrap();
}

#[test]
fn a_server_that_acknowledges_before_it_syncs_is_refused() {
    let Some(server) = Server::start_with("unsynced", "max_mem: 1M") else { return };
    let connect = || Store::at(&server.address).monitor(&server.monitor);
    let refused = connect().connect().unwrap_err();
    assert!(matches!(&refused, OpenError::Unsynced { reason, .. } if reason.contains("120s")));
    assert!(refused.to_string().contains("sync_interval: always"), "{refused}");
    let silent = Store::at(&server.address).monitor("127.0.0.1:1").connect().unwrap_err();
    assert!(matches!(silent, OpenError::Unsynced { .. }), "{silent}");
    let store = connect().unsynced().connect().unwrap();
    assert_eq!(store.lane::<u64>("a.b").sender("x").unwrap_err(), OpenError::Name("a.b".into()));
    let tx = store.lane::<u64>("numbers").sender("writer").unwrap();
    tx.send(1).unwrap();
    tx.finish(10 * SECOND).unwrap();
    // Items of another type.
    let differs = store.lane::<u32>("numbers").receiver("reader").unwrap_err();
    assert_eq!(differs, OpenError::Differs);
    store.lane::<u64>("numbers").delete().unwrap();
    store.lane::<u32>("numbers").receiver("reader").unwrap();
}

#[test]
fn no_server_is_a_clear_error() {
    let error = Store::connect("127.0.0.1:1").unwrap_err();
    assert!(matches!(error, OpenError::Address { .. }), "{error}");
}

#[test]
fn what_another_server_of_the_machine_tells_is_not_believed() {
    let Some(synced) = Server::start("synced") else { return };
    let Some(server) = Server::start_with("not-synced", "max_mem: 1M") else { return };
    let refused = Store::at(&server.address).monitor(&synced.monitor).connect().unwrap_err();
    assert!(
        matches!(&refused, OpenError::Unsynced { reason, .. } if reason.contains("is another one")),
        "{refused}"
    );
}

#[test]
fn a_receiver_that_is_forgotten_makes_room() {
    let Some(server) = Server::start("forgotten") else { return };
    let store = server.store();
    let lane = || store.records::<Vec<u8>>("records").window(1).room(0);
    lane().forget_receiver("nobody").unwrap();
    let (slow, fast) = (lane().receiver("slow").unwrap(), lane().receiver("fast").unwrap());
    let tx = lane().sender("writer").unwrap();
    let mut sent = 0;
    while let Ok(()) = tx.send_timeout(vec![7; 10_000], SECOND)
        && fast.recv_timeout(SECOND).is_ok()
    {
        sent += 1;
        fast.confirm();
    }
    assert!((350..600).contains(&sent), "{sent} records of 10,000 bytes");
    fast.finish(10 * SECOND).unwrap();
    drop(slow);
    lane().forget_receiver("slow").unwrap();
    (0..1000).for_each(|n| {
        tx.send_timeout(vec![7; 10], 10 * SECOND).unwrap_or_else(|error| panic!("{n}: {error}"));
    });
    tx.finish(10 * SECOND).unwrap();
}

#[test]
fn a_pause_is_no_silence() {
    let Some(mut server) = Server::start("pause") else { return };
    let store = server.store();
    let lane = || store.lane::<u64>("numbers").gives_up_after(2 * SECOND);
    let (tx, rx) = (lane().sender("writer").unwrap(), lane().receiver("reader").unwrap());
    for n in 0..2 {
        tx.send(n).unwrap();
        assert_eq!(rx.recv_timeout(10 * SECOND), Ok(n));
        std::thread::sleep(5 * SECOND / 2);
    }
    // Neither is a short outage after a long life.
    server.kill();
    std::thread::sleep(SECOND / 2);
    server.start_again();
    tx.send(2).unwrap();
    assert_eq!(rx.recv_timeout(10 * SECOND), Ok(2));
    assert_eq!((tx.end(), rx.end()), (None, None));
    // A long one is.
    server.kill();
    tx.send(3).unwrap();
    let unconfirmed = tx.finish(20 * SECOND).unwrap_err();
    assert_eq!((unconfirmed.items, unconfirmed.end), (1, End::Silent));
    assert!(rx.recv_timeout(20 * SECOND).is_err());
    assert_eq!(rx.end(), Some(End::Silent));
}

#[test]
fn large_items_need_no_large_room() {
    let Some(server) = Server::start("large") else { return };
    let store = server.store();
    let lane = || store.records::<Vec<u8>>("records").room(0);
    let (tx, rx) = (lane().sender("writer").unwrap(), lane().receiver("reader").unwrap());
    for len in [530_000, 1_048_450, 900_000, 1_000_000, 1_048_000, 10, 0] {
        tx.send_timeout(vec![1; len], 10 * SECOND).unwrap();
        assert_eq!(rx.recv_timeout(10 * SECOND).unwrap().len(), len);
        rx.confirm();
    }
    // Together they are too large for a message.
    let lens = [200_000, 900_000, 100, 1_000_000, 250_000, 1_040_000];
    lens.iter().for_each(|&len| tx.send_timeout(vec![2; len], 10 * SECOND).unwrap());
    for len in lens {
        assert_eq!(rx.recv_timeout(10 * SECOND).unwrap().len(), len);
        rx.confirm();
    }
    tx.send(vec![1; 1 << 20]).unwrap();
    let unconfirmed = tx.finish(10 * SECOND).unwrap_err();
    assert!(unconfirmed.to_string().contains("max_payload"), "{unconfirmed}");
}

#[test]
fn names_of_lanes_do_not_collide() {
    let Some(server) = Server::start("collide") else { return };
    let store = server.store();
    for name in ["a", "a-positions", "positions-a", "gap", "items"] {
        let tx = store.lane::<u64>(name).sender("writer").unwrap();
        tx.send(1).unwrap();
        tx.finish(10 * SECOND).unwrap();
    }
    for name in ["a-positions", "a", "items"] {
        store.lane::<u64>(name).delete().unwrap();
        store.lane::<u64>(name).delete().unwrap(); // it is gone
    }
    for name in ["positions-a", "gap"] {
        let rx = store.lane::<u64>(name).receiver("reader").unwrap();
        assert_eq!(rx.recv_timeout(10 * SECOND), Ok(1));
    }
}

/// A codec that refuses a number.
#[derive(Debug)]
struct Picky;

impl Codec<u64> for Picky {
    const LEN: Option<usize> = None;

    fn name() -> String {
        "picky".into()
    }

    fn encode(item: &u64, to: &mut Vec<u8>) {
        assert_ne!(*item, 13, "this panic is expected");
        to.extend_from_slice(&item.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Result<u64, Malformed> {
        bytes.try_into().map(u64::from_le_bytes).map_err(|_| Malformed)
    }
}

#[test]
fn a_codec_that_panics_loses_nothing_in_silence() {
    let Some(server) = Server::start("picky") else { return };
    let store = server.store();
    let tx = store.lane_by::<u64, Picky>("numbers").sender("writer").unwrap();
    let sent = (0..20).take_while(|&n| tx.send(n).is_ok()).count() as u64;
    let unconfirmed = tx.finish(10 * SECOND).unwrap_err();
    assert!(matches!(&unconfirmed.end, End::Engine(reason) if reason.contains("panicked")));
    let stored = store.lane_by::<u64, Picky>("numbers").sender("writer").unwrap().stored();
    assert_eq!(stored + unconfirmed.items, sent);
}
