//! The switch with ports in memory, one step at a time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use vswitch_core::clients::Client;
use vswitch_core::{Frame, Mac, Options, Overflow, Packet, Port, Switch};

/// A wire with limited room in either direction.
#[derive(Clone, Default)]
struct Wire {
    to_switch: Rc<RefCell<VecDeque<Frame>>>,
    to_client: Rc<RefCell<VecDeque<Frame>>>,
    room: Rc<RefCell<usize>>,
}

impl Wire {
    fn with_room(room: usize) -> Self {
        Self { room: Rc::new(RefCell::new(room)), ..Self::default() }
    }

    fn send(&self, to: Mac, from: Mac) {
        let bytes = [to.to_bytes(), from.to_bytes()].concat();
        self.to_switch.borrow_mut().push_back(Frame::of(&[bytes, vec![0; 48]].concat()));
    }

    /// The sources of the packets that have come.
    fn received(&self) -> Vec<Mac> {
        self.to_client.borrow_mut().drain(..).map(|frame| frame.addresses()[1]).collect()
    }

    /// The client's side.
    fn mirrored(&self) -> Self {
        let Self { to_switch, to_client, .. } = self.clone();
        Self { to_switch: to_client, to_client: to_switch, ..Self::with_room(64) }
    }
}

impl Port for Wire {
    type Packet = Frame;

    fn pull(&mut self, most: usize, into: &mut Vec<Frame>) {
        let mut from = self.to_switch.borrow_mut();
        let count = most.min(from.len());
        into.extend(from.drain(..count));
    }

    fn push(&mut self, from: &mut VecDeque<Frame>) {
        let mut to = self.to_client.borrow_mut();
        let count = (*self.room.borrow() - to.len()).min(from.len());
        to.extend(from.drain(..count));
    }
}

fn switch_with<const N: usize>(options: Options) -> (Switch<Wire>, [Wire; N]) {
    let wires = [(); N].map(|()| Wire::with_room(4));
    let mut switch = Switch::new(options);
    for wire in &wires {
        switch.attach(wire.clone());
    }
    (switch, wires)
}

/// So many turns at the same time.
fn turns(switch: &mut Switch<Wire>, count: Range<usize>, now: u64) {
    for _ in count {
        switch.turn(now);
    }
}

const A: Mac = Mac::local(1);
const B: Mac = Mac::local(2);
const C: Mac = Mac::local(3);

#[test]
fn unknown_addresses_are_flooded_and_learned() {
    let (mut switch, [a, b, c]) = switch_with(Options::default());
    a.send(B, A);
    assert_eq!(switch.turn(0), 3, "one came, two went");
    assert_eq!([&a, &b, &c].map(Wire::received), [vec![], vec![A], vec![A]]);
    b.send(A, B);
    switch.turn(0);
    assert_eq!([&a, &b, &c].map(Wire::received), [vec![B], vec![], vec![]]);
    // B goes to another port.
    c.send(A, B);
    a.send(B, A);
    switch.turn(0);
    switch.turn(0);
    a.send(B, A);
    switch.turn(0);
    assert_eq!(c.received().last(), Some(&A));
    assert_eq!(switch.table().len(), 2);
    assert_eq!(switch.turn(0), 0, "nothing moves");
}

#[test]
fn a_packet_for_all_is_one_packet() {
    let (mut switch, [a, b, c]) = switch_with(Options::default());
    a.send(Mac::BROADCAST, A);
    switch.turn(0);
    let copies = [b, c].map(|wire| wire.to_client.borrow_mut().pop_front().expect("it came"));
    assert_eq!(copies[0].as_ptr(), copies[1].as_ptr());
    let [mut first, second] = copies;
    assert!(first.bytes_mut().is_none());
    drop(second);
    assert!(first.bytes_mut().is_some(), "the switch has kept none");
}

#[test]
fn packets_for_the_same_port_and_from_groups_are_harmless() {
    let (mut switch, [a, b]) = switch_with(Options::default());
    a.send(A, A);
    a.send(B, Mac::BROADCAST);
    a.to_switch.borrow_mut().push_back(Frame::of(&[1, 2, 3]));
    switch.turn(0);
    assert_eq!(a.received(), []);
    assert_eq!(b.received().len(), 1, "the others have met their own port");
    a.send(Mac::BROADCAST, B);
    switch.turn(0);
    assert_eq!(b.received(), [B]);
}

#[test]
fn addresses_age() {
    let (mut switch, [a, b, c]) = switch_with(Options { age: 5000, ..Options::default() });
    b.send(A, B);
    switch.turn(0);
    a.received();
    c.received();
    a.send(B, A);
    switch.turn(5000);
    assert_eq!([&b, &c].map(Wire::received), [vec![A], vec![]]);
    a.send(B, A);
    switch.turn(5001);
    assert_eq!([&b, &c].map(Wire::received), [vec![A], vec![A]]);
    switch.expire(20_000);
    assert!(switch.table().is_empty());
}

#[test]
fn without_room_packets_are_dropped_and_counted() {
    let mut switch = Switch::new(Options::default());
    let wires = [1, 4].map(Wire::with_room);
    let counters = wires.clone().map(|wire| switch.attach(wire).1);
    (0..3).for_each(|_| wires[1].send(A, B));
    switch.turn(0);
    let of = |at: usize| {
        let counters = &counters[at];
        [&counters.sent, &counters.received, &counters.dropped, &counters.flooded]
            .map(|counter| counter.get())
    };
    assert_eq!([of(0), of(1)], [[0, 1, 2, 0], [3, 0, 0, 3]]);
    assert_eq!(counters[1].sent_bytes.get(), 180);
    assert_eq!(counters[0].received_bytes.get(), 60);
}

#[test]
fn packets_wait_for_room_and_a_stuck_port_stops_nobody() {
    let overflow = Overflow::Wait { patience: 100 };
    let options = Options { batch: 2, overflow, ..Options::default() };
    let (mut switch, [a, b, c]) = switch_with(options);
    // The switch learns where A and C are.
    a.send(A, A);
    c.send(C, C);
    switch.turn(0);
    // A takes 4 packets, 2 wait in the switch, and 4 at B's port.
    (0..10).for_each(|_| b.send(A, B));
    turns(&mut switch, 0..10, 1);
    assert_eq!(a.received().len(), 4);
    turns(&mut switch, 0..10, 2);
    assert_eq!(a.received().len(), 4);
    turns(&mut switch, 0..10, 3);
    assert_eq!(a.received().len(), 2, "none is lost");
    // Now A stops. Packets of B for C wait behind those for A, and then come.
    (0..20).for_each(|_| b.send(A, B));
    b.send(C, B);
    turns(&mut switch, 0..30, 10);
    assert_eq!(c.received(), []);
    turns(&mut switch, 0..30, 110);
    assert_eq!(c.received(), [B]);
    // A goes on.
    a.received();
    b.send(A, B);
    switch.turn(111);
    assert_eq!(a.received(), [B]);
}

#[test]
fn a_port_that_leaves_is_forgotten() {
    let (mut switch, [a, b]) = switch_with(Options::default());
    a.send(A, A);
    switch.turn(0);
    assert!(switch.detach(0).is_some() && switch.detach(0).is_none());
    b.send(A, B);
    switch.turn(0);
    assert_eq!(a.received(), []);
    let (number, _) = switch.attach(a.clone());
    assert_eq!(number, 0, "the number is free");
    b.send(A, B);
    switch.turn(0);
    assert_eq!(a.received(), [B], "flooded");
}

#[test]
fn clients_get_what_is_for_them_in_order() {
    for exchange in [false, true] {
        let mut switch = Switch::new(Options::default());
        let wires = [(); 4].map(|()| Wire::with_room(if exchange { 64 } else { 2 }));
        let mut clients: Vec<_> = (0..4)
            .map(|number| Client::new(wires[number].mirrored(), number as u32, 4, 3))
            .collect();
        let mut dropped = Vec::new();
        for (wire, client) in wires.iter().zip(&mut clients) {
            dropped.push(switch.attach(wire.clone()).1);
            client.introduce();
        }
        for _ in 0..1000 {
            switch.turn(0);
            for client in &mut clients {
                if exchange {
                    client.exchange()
                } else {
                    client.flood()
                };
            }
        }
        let mut lost = 0;
        for (client, counters) in clients.iter().zip(&dropped) {
            let tally = client.tally();
            assert!(tally.received > 1000, "{tally:?}");
            assert_eq!((tally.reordered, tally.misdirected), (0, 0));
            assert!(tally.lost <= counters.dropped.get(), "{tally:?}");
            lost += tally.lost;
        }
        assert_eq!(lost == 0, exchange, "an exchange has room for all, and a flood has not");
    }
}
