//! Lanes between two nodes of this process.

use std::thread;
use std::time::{Duration, Instant};

use corelane_net::{Codec, End, Malformed, Node, OpenError};

use nodes::nodes;

mod nodes;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn items_come_in_order_and_the_end_is_told() {
    let (here, there) = nodes();
    let rx = here.lane::<u64>("numbers").window(64).receiver().unwrap();
    let tx = there.lane::<u64>("numbers").window(64).sender().unwrap();
    let sends = thread::spawn(move || {
        for n in 0..100_000 {
            tx.send(n).unwrap();
        }
        tx.finish(10 * SECOND)
    });
    assert!(rx.iter().eq(0..100_000));
    assert_eq!(sends.join().unwrap(), Ok(()));
    assert_eq!((rx.end(), rx.ended()), (Some(End::Closed), Ok(())));
}

#[test]
fn records_of_any_length_come() {
    let (here, there) = nodes();
    let tx = here.records("log").sender().unwrap();
    let rx = there.records("log").receiver().unwrap();
    let lens = [0, 1, 7, 100, 70_000, 0, 1_000_000, 3];
    for (i, len) in lens.into_iter().enumerate() {
        tx.send(vec![i as u8; len]).unwrap();
    }
    drop(tx);
    let got: Vec<_> = rx.iter().collect();
    assert!(got.iter().map(Vec::len).eq(lens));
    assert!(got.iter().enumerate().all(|(i, bytes)| bytes.iter().all(|&byte| byte == i as u8)));
}

#[test]
fn a_slow_receiver_is_felt_within_the_window() {
    let (here, there) = nodes();
    let rx = here.lane::<u32>("slow").window(100).receiver().unwrap();
    let tx = there.lane::<u32>("slow").window(100).sender().unwrap();
    let mut sent = 0;
    while tx.send_timeout(sent, SECOND / 2).is_ok() {
        sent += 1;
    }
    assert_eq!(u64::from(sent), tx.untaken());
    assert!((50..=100).contains(&sent), "{sent} items");
    for n in 0..60 {
        assert_eq!(rx.recv(), Ok(n));
    }
    let begin = Instant::now();
    tx.send(sent).unwrap();
    assert!(begin.elapsed() < SECOND / 2);
    let unconfirmed = tx.finish(SECOND / 10).unwrap_err();
    assert_eq!(unconfirmed.end, End::TimedOut);
    assert!(unconfirmed.items >= u64::from(sent) + 1 - 60, "{unconfirmed}");
    assert_eq!(rx.iter().last(), Some(sent));
}

#[test]
fn a_program_that_waits_for_each_item_is_quick() {
    let (here, there) = nodes();
    let rx = here.lane::<u64>("waits").receiver().unwrap();
    let tx = there.lane::<u64>("waits").sender().unwrap();
    assert!(tx.wait_for_receiver(10 * SECOND));
    thread::spawn(move || rx.iter().for_each(drop));
    let begin = Instant::now();
    for n in 0..200 {
        tx.send(n).unwrap();
        assert!(tx.wait_until_received(10 * SECOND));
    }
    assert!(begin.elapsed() < 3 * SECOND, "{:?}", begin.elapsed());
}

#[test]
fn windows_of_one_item_work() {
    let (here, there) = nodes();
    let rx = here.lane::<u8>("one").window(1).receiver().unwrap();
    let tx = there.lane::<u8>("one").window(1).sender().unwrap();
    assert!(tx.wait_for_receiver(10 * SECOND));
    let begin = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| (0..100).for_each(|n| tx.send(n).unwrap()));
        (0..100).for_each(|n| assert_eq!(rx.recv(), Ok(n)));
    });
    assert!(begin.elapsed() < 2 * SECOND, "{:?}", begin.elapsed());
}

#[test]
fn a_sender_hears_that_the_receiver_was_dropped() {
    let (here, there) = nodes();
    let rx = here.lane::<u64>("dropped").window(16).receiver().unwrap();
    let tx = there.lane::<u64>("dropped").window(16).sender().unwrap();
    tx.send(1).unwrap();
    assert_eq!(rx.recv(), Ok(1));
    drop(rx);
    let begin = Instant::now();
    while tx.send(2).is_ok() {
        assert!(begin.elapsed() < SECOND);
    }
    assert_eq!(tx.end(), Some(End::Closed));
}

#[test]
fn an_end_without_another_one_gives_up() {
    let (here, there) = nodes();
    let rx = here.lane::<u64>("alone").gives_up_after(SECOND / 5).receiver().unwrap();
    assert!(rx.recv().is_err());
    assert_eq!((rx.end(), rx.ended()), (Some(End::Silent), Err(End::Silent)));
    let tx = there.lane::<u64>("lonely").window(2).gives_up_after(SECOND / 5).sender().unwrap();
    while tx.send(1).is_ok() {}
    assert_eq!(tx.end(), Some(End::Silent));
    assert!(tx.end().unwrap().to_string().contains("silent"));
}

#[test]
fn ends_that_differ_say_so() {
    let (here, there) = nodes();
    let rx = here.lane::<u32>("differs").receiver().unwrap();
    let tx = there.lane::<u64>("differs").sender().unwrap();
    assert!(rx.recv().is_err());
    assert_eq!(rx.end(), Some(End::Differs));
    let begin = Instant::now();
    while tx.end().is_none() {
        assert!(begin.elapsed() < 10 * SECOND);
        thread::yield_now();
    }
    assert!(tx.end() == Some(End::Differs));
}

#[test]
fn a_second_end_of_a_name_gives_up() {
    let (here, there) = nodes();
    let times = SECOND / 5;
    let rx = here.lane::<u64>("twice").patience(times).receiver().unwrap();
    let tx = there.lane::<u64>("twice").patience(times).sender().unwrap();
    tx.send(1).unwrap();
    assert_eq!(rx.recv(), Ok(1));
    let second = there.lane::<u64>("twice").patience(times).sender().unwrap();
    second.send(2).unwrap();
    let begin = Instant::now();
    while second.end().is_none() {
        assert!(begin.elapsed() < 10 * SECOND);
        thread::yield_now();
    }
    assert_eq!(second.end(), Some(End::Taken));
    assert!(rx.is_empty());
    // Not only after twice the patience.
    let impatient = there.lane::<u64>("twice").patience(times).gives_up_after(times);
    let impatient = impatient.sender().unwrap();
    while impatient.send(4).is_ok() {}
    assert_eq!(impatient.end(), Some(End::Taken));
    let third = there.lane::<u64>("twice").patience(times).sender().unwrap();
    third.send(5).unwrap();
    assert_eq!(third.finish(times).unwrap_err().end, End::Taken);
    // The first one goes on.
    tx.send(3).unwrap();
    assert_eq!(rx.recv(), Ok(3));
}

#[test]
fn what_is_refused_names_the_mend() {
    for address in ["", "nowhere", ":7447", "host:", "host:0", "host:port", "a\"b:1"] {
        let error = Node::connect(address).unwrap_err();
        assert!(matches!(&error, OpenError::Address { .. }), "{error}");
        assert!(error.to_string().contains("10.0.0.2:7447"));
    }
    let node = Node::listen("127.0.0.1:0").unwrap();
    for (address, mend) in [
        (node.address(), "another program listens there: end it, or take another port"),
        ("192.0.2.1:7447", "this machine has no such address"),
        ("nohost.invalid:7447", "the host isn't known"),
    ] {
        let error = Node::listen(address).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{address}: {mend}")), "{error}");
        assert!(!error.contains(".rs:"), "{error}");
    }
    let error = Node::connect("nohost.invalid:7447").unwrap_err().to_string();
    assert!(error.contains("the host isn't known"), "{error}");
    for name in ["", "a//b", "/a", "a*", "a?b", "a/", "a b", "a.b", "\u{e9}", "a\0", "@a"] {
        assert!(matches!(node.lane::<u8>(name).sender(), Err(OpenError::Name(_))), "{name}");
    }
    assert!(node.lane::<u8>("a/b-C_9").sender().is_ok());
    for (window, is_right) in [(1, true), (1 << 24, true), ((1 << 24) + 1, false)] {
        assert_eq!(node.lane::<u8>("a").window(window).sender().is_ok(), is_right);
    }
    assert_eq!(node.lane::<u8>("a").window(0).sender().unwrap_err(), OpenError::Window);
}

#[test]
fn what_a_dropped_receiver_had_not_taken_is_not_confirmed() {
    let (here, there) = nodes();
    let rx = here.lane::<u64>("left").receiver().unwrap();
    let tx = there.lane::<u64>("left").sender().unwrap();
    (0..20).for_each(|n| tx.send(n).unwrap());
    assert_eq!(rx.recv(), Ok(0));
    drop(rx);
    let unconfirmed = tx.finish(10 * SECOND).unwrap_err();
    assert!(unconfirmed.items >= 19, "{unconfirmed}");
    assert_eq!(unconfirmed.end, End::Closed);
}

#[test]
fn a_receiver_that_is_closed_ends_at_once() {
    let (here, there) = nodes();
    let rx = here.lane::<u64>("closed").receiver().unwrap();
    let tx = there.lane::<u64>("closed").sender().unwrap();
    tx.send(1).unwrap();
    assert_eq!(rx.recv(), Ok(1));
    rx.close();
    let begin = Instant::now();
    while tx.end().is_none() {
        assert!(begin.elapsed() < 2 * SECOND);
        thread::yield_now();
    }
    assert_eq!((tx.end(), rx.end()), (Some(End::Closed), Some(End::Closed)));
}

#[test]
fn ends_with_different_windows_go_on() {
    for (sends, receives) in [(4096, 100), (10, 4096)] {
        let (here, there) = nodes();
        let rx = here.lane::<u64>("windows").window(receives).receiver().unwrap();
        let tx = there.lane::<u64>("windows").window(sends).sender().unwrap();
        assert!(rx.wait_for_sender(10 * SECOND));
        let begin = Instant::now();
        let sending = thread::spawn(move || {
            (0..10_000).for_each(|n| tx.send(n).unwrap());
            tx.finish(10 * SECOND)
        });
        assert!(rx.iter().eq(0..10_000));
        assert_eq!(sending.join().unwrap(), Ok(()));
        assert!(begin.elapsed() < 8 * SECOND, "{:?}", begin.elapsed());
    }
}

#[test]
fn what_is_not_received_is_counted() {
    let (here, _) = nodes();
    let tx = here.lane::<u64>("counted").sender().unwrap();
    for n in 0..100 {
        tx.send(n).unwrap();
        assert!(tx.untaken() > n);
    }
    let unconfirmed = tx.finish(SECOND / 10).unwrap_err();
    assert_eq!((unconfirmed.items, &unconfirmed.end), (100, &End::NoReceiver));
    assert!(unconfirmed.to_string().contains("no receiver has come"));
}

#[test]
fn what_came_before_a_silence_is_received() {
    let (here, there) = nodes();
    let patience = SECOND / 5;
    let lane = here.lane::<u64>("silence").window(64).patience(patience);
    let rx = lane.gives_up_after(patience).receiver().unwrap();
    let tx = there.lane::<u64>("silence").window(64).patience(patience).sender().unwrap();
    (0..32).for_each(|n| tx.send(n).unwrap());
    while tx.untaken() == 32 && rx.len() < 24 {
        thread::yield_now();
    }
    drop(there); // a clone is the sender's
    std::mem::forget(tx);
    drop(here);
    assert!(rx.iter().take(32).eq(0..32));
}

#[test]
fn times_of_any_length_are_taken() {
    let (here, there) = nodes();
    for time in [Duration::ZERO, Duration::MAX] {
        let rx = here.lane::<u64>("times").patience(time).gives_up_after(Duration::MAX);
        let tx = there.lane::<u64>("times").patience(time).gives_up_after(Duration::MAX);
        let (rx, tx) = (rx.receiver().unwrap(), tx.sender().unwrap());
        tx.send(7).unwrap();
        assert_eq!(rx.recv_timeout(10 * SECOND), Ok(7));
        assert_eq!(tx.finish(10 * SECOND), Ok(()));
    }
}

#[test]
fn a_node_has_the_port_that_the_system_chose() {
    let here = Node::listen("localhost:0").unwrap();
    assert!(here.address().starts_with("localhost:"));
    assert!(!here.address().ends_with(":0"));
    let there = Node::connect(here.address()).unwrap();
    assert_eq!(there.address(), here.address());
    assert!(matches!(Node::connect("localhost:0"), Err(OpenError::Address { .. })));
    let rx = here.lane::<u64>("port").receiver().unwrap();
    assert!(there.lane::<u64>("port").sender().unwrap().send(7).is_ok());
    assert_eq!(rx.recv(), Ok(7));
}

#[test]
fn a_runtime_of_one_thread_has_nodes() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (here, there) = nodes();
        let rx = here.lane::<u64>("runtime").receiver().unwrap();
        let tx = there.lane::<u64>("runtime").sender().unwrap();
        drop((here, there));
        tx.send_async(7).await.unwrap();
        assert_eq!(rx.recv_async().await, Ok(7));
        tx.finish(10 * SECOND).unwrap();
        drop(Node::listen("127.0.0.1:0").unwrap());
    });
}

/// A codec that can't read what it writes.
struct Broken;

impl Codec<u8> for Broken {
    const LEN: Option<usize> = None;

    fn name() -> String {
        "broken".into()
    }

    fn encode(item: &u8, to: &mut Vec<u8>) {
        assert_ne!(*item, 13, "this one panics");
        to.push(*item);
    }

    fn decode(_: &[u8]) -> Result<u8, Malformed> {
        Err(Malformed)
    }
}

#[test]
fn both_ends_hear_that_an_item_cannot_be_read() {
    let (here, there) = nodes();
    let rx = here.lane_by::<u8, Broken>("broken").receiver().unwrap();
    let tx = there.lane_by::<u8, Broken>("broken").sender().unwrap();
    tx.send(1).unwrap();
    assert!(rx.recv().is_err());
    assert_eq!(rx.end(), Some(End::Malformed));
    assert_eq!(rx.ended(), Err(End::Malformed));
    let unconfirmed = tx.finish(5 * SECOND).unwrap_err();
    assert_eq!((unconfirmed.items, unconfirmed.end), (1, End::Closed));
}

#[test]
fn a_panic_of_a_codec_ends_the_lane_and_says_why() {
    let (here, _) = nodes();
    let tx = here.lane_by::<u8, Broken>("broken").sender().unwrap();
    let _ = tx.send(13);
    let begin = Instant::now();
    while tx.end().is_none() {
        assert!(begin.elapsed() < 5 * SECOND);
        thread::yield_now();
    }
    assert!(matches!(tx.end(), Some(End::Engine(reason)) if reason.contains("panicked")));
    assert!(tx.send(1).is_err()); // and doesn't wait
    assert!(tx.finish(SECOND).is_err());
}

#[cfg(feature = "serde")]
#[test]
fn values_of_serde_come() {
    use corelane_net::Postcard;
    type Value = (String, Vec<Option<i64>>);
    let (here, there) = nodes();
    let rx = here.lane_by::<Value, Postcard>("values").receiver().unwrap();
    let tx = there.lane_by::<Value, Postcard>("values").sender().unwrap();
    let values: Vec<Value> = (0..100).map(|n| (n.to_string(), vec![None, Some(-n)])).collect();
    values.iter().for_each(|value| tx.send(value.clone()).unwrap());
    drop(tx);
    assert!(rx.iter().eq(values));
}

#[test]
fn a_sender_of_the_latest_items_never_waits() {
    let (here, there) = nodes();
    let rx = here.lane::<u64>("latest").window(8).latest_receiver().unwrap();
    let tx = there.lane::<u64>("latest").window(8).latest_sender().unwrap();
    assert!(tx.wait_for_receiver(10 * SECOND));
    let begin = Instant::now();
    (0..10_000).for_each(|n| tx.send(n).unwrap());
    assert!(begin.elapsed() < SECOND);
    let last = thread::spawn(move || {
        let got: Vec<u64> = rx.iter().collect();
        assert!(got.is_sorted_by(|one, next| one < next), "{got:?}");
        (got.len() as u64, got.last().copied())
    });
    while tx.untaken() > 0 {
        thread::yield_now();
    }
    let dropped = tx.dropped();
    assert_eq!(tx.finish(10 * SECOND), Ok(()));
    assert_eq!(last.join().unwrap(), (10_000 - dropped, Some(9_999)));
    assert!(dropped > 0);
}

#[test]
fn a_lane_for_the_latest_items_is_another_one() {
    let (here, there) = nodes();
    let rx = here.lane::<u64>("kinds").latest_receiver().unwrap();
    let tx = there.lane::<u64>("kinds").sender().unwrap();
    assert!(rx.recv().is_err());
    assert_eq!(rx.end(), Some(End::Differs));
    drop(tx);
}

#[test]
fn items_of_several_senders_come_in_the_order_of_each() {
    let (here, there) = nodes();
    let rx = here.lane::<[u32; 2]>("several").window(64).receiver_of_several().unwrap();
    let senders: Vec<_> = (0..8)
        .map(|number| {
            let lane = there.lane::<[u32; 2]>("several").window(64);
            let tx = lane.sender().unwrap();
            thread::spawn(move || {
                (0..5000).for_each(|n| tx.send([number, n]).unwrap());
                tx.finish(20 * SECOND)
            })
        })
        .collect();
    let mut next = [0; 8];
    for [number, n] in rx.iter().take(8 * 5000) {
        assert_eq!(n, next[number as usize]);
        next[number as usize] += 1;
    }
    for sender in senders {
        assert_eq!(sender.join().unwrap(), Ok(()));
    }
    // The next one may come.
    let tx = there.lane::<[u32; 2]>("several").sender().unwrap();
    tx.send([9, 9]).unwrap();
    assert_eq!(rx.recv(), Ok([9, 9]));
    drop(rx);
    let begin = Instant::now();
    while tx.end().is_none() {
        assert!(begin.elapsed() < 2 * SECOND);
        thread::yield_now();
    }
    assert_eq!(tx.end(), Some(End::Closed));
}

#[test]
fn a_node_may_connect_before_the_other_one_listens() {
    let address = Node::listen("127.0.0.1:0").unwrap().address().to_owned();
    let there = Node::connect(&address).unwrap();
    let tx = there.lane::<u64>("early").sender().unwrap();
    tx.send(1).unwrap();
    thread::sleep(SECOND / 2);
    let here = Node::listen(&address).unwrap();
    let rx = here.lane::<u64>("early").receiver().unwrap();
    assert_eq!(rx.recv_timeout(5 * SECOND), Ok(1));
}

#[test]
fn a_program_that_confirms_in_batches_sees_the_end() {
    let (here, there) = nodes();
    let rx = here.lane::<u64>("batches").confirmed().receiver().unwrap();
    let tx = there.lane::<u64>("batches").sender().unwrap();
    let sends = thread::spawn(move || {
        (0..250).for_each(|n| tx.send(n).unwrap());
        tx.finish(10 * SECOND)
    });
    let mut items = 0;
    for _ in rx.iter() {
        items += 1;
        if items % 100 == 0 {
            rx.confirm();
        }
    }
    rx.confirm(); // the rest
    assert_eq!((items, sends.join().unwrap()), (250, Ok(())));
}
