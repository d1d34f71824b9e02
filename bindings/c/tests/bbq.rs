//! The calls of `bbq` as C makes them.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::thread;

use corelane_c::*;

/// The handles of a queue, as C has them.
struct Handles(*mut BbqProducer, *mut BbqConsumer);

fn create(capacity: usize) -> (Box<BbqProducer>, Box<BbqConsumer>) {
    let Handles(tx, rx) = &mut Handles(null_mut(), null_mut());
    // SAFETY: both places can be written.
    assert_eq!(unsafe { corelane_bbq_create(capacity, tx, rx) }, Status::Ok);
    // SAFETY: the call has made them, and the tests destroy each once.
    unsafe { (Box::from_raw(*tx), Box::from_raw(*rx)) }
}

/// The item with this number; the queue never reads what it points to.
fn item(number: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(number)
}

fn pop(rx: &mut BbqConsumer) -> Result<usize, Status> {
    let mut popped = item(0);
    // SAFETY: the place can be written.
    match unsafe { corelane_bbq_pop(Some(rx), &mut popped) } {
        Status::Ok => Ok(popped.addr()),
        status => {
            assert!(popped.is_null(), "written without an item");
            Err(status)
        }
    }
}

fn push_slice(tx: &mut BbqProducer, items: &[*mut c_void]) -> usize {
    // SAFETY: an item is a pointer, and the slice has as many as the call is told.
    unsafe { corelane_bbq_push_slice(Some(tx), items.as_ptr().cast(), items.len()) }
}

fn pop_slice(rx: &mut BbqConsumer, into: &mut [*mut c_void]) -> usize {
    // SAFETY: an item is a pointer, and the slice has as many places as the call is told.
    unsafe { corelane_bbq_pop_slice(Some(rx), into.as_mut_ptr().cast(), into.len()) }
}

#[test]
fn items_go_through_in_order_and_closing_is_told() {
    let (mut tx, mut rx) = create(16);
    let capacity = corelane_bbq_producer_capacity(Some(&tx));
    assert!(capacity >= 16 && corelane_bbq_consumer_capacity(Some(&rx)) == capacity);
    assert_eq!(pop(&mut rx), Err(Status::Empty));
    let mut pushed = 0;
    while corelane_bbq_push(Some(&mut tx), item(pushed + 1)) == Status::Ok {
        pushed += 1;
    }
    assert_eq!(corelane_bbq_push(Some(&mut tx), item(1)), Status::Full);
    assert!(pushed >= capacity && !corelane_bbq_consumer_is_closed(Some(&rx)));
    assert_eq!(pop(&mut rx), Ok(1));
    corelane_bbq_producer_destroy(Some(tx));
    assert!(corelane_bbq_consumer_is_closed(Some(&rx)));
    assert!((2..=pushed).all(|number| pop(&mut rx) == Ok(number)));
    assert_eq!(pop(&mut rx), Err(Status::Closed));
    corelane_bbq_consumer_destroy(Some(rx));
}

#[test]
fn producers_learn_that_consumers_are_gone() {
    let (mut tx, rx) = create(1);
    corelane_bbq_consumer_destroy(Some(rx));
    assert!(corelane_bbq_producer_is_closed(Some(&tx)));
    let answers = std::iter::repeat_with(|| corelane_bbq_push(Some(&mut tx), item(1)));
    assert_eq!(answers.take(100).last(), Some(Status::Closed));
    corelane_bbq_producer_destroy(Some(tx));
}

#[test]
fn slices_move_as_many_as_fit() {
    let (mut tx, mut rx) = create(16);
    let items: Vec<_> = (1..=100).map(item).collect();
    let fit = push_slice(&mut tx, &items);
    assert!((16..100).contains(&fit));
    let mut into = [item(0); 10];
    assert_eq!((pop_slice(&mut rx, &mut into), &into[..]), (10, &items[..10]));
    let mut rest = [item(0); 100];
    assert_eq!(pop_slice(&mut rx, &mut rest), fit - 10);
    assert_eq!(rest[..fit - 10], items[10..fit]);
    corelane_bbq_producer_destroy(Some(tx));
    corelane_bbq_consumer_destroy(Some(rx));
}

#[test]
fn null_is_answered() {
    let (mut tx, mut rx) = create(4);
    let (mut producer, mut consumer) = (null_mut(), null_mut());
    // SAFETY: NULL is allowed everywhere, other pointers are valid, and no call makes a handle.
    unsafe {
        assert_eq!(corelane_bbq_create(4, null_mut(), &mut consumer), Status::Invalid);
        assert_eq!(corelane_bbq_create(4, &mut producer, null_mut()), Status::Invalid);
        assert_eq!(corelane_bbq_create(0, &mut producer, &mut consumer), Status::Invalid);
        assert_eq!(corelane_bbq_create(usize::MAX, &mut producer, &mut consumer), Status::Invalid);
        assert!(producer.is_null() && consumer.is_null());
        assert_eq!(corelane_bbq_push_slice(None, null(), 1), 0);
        assert_eq!(corelane_bbq_push_slice(Some(&mut tx), null(), 1), 0);
        assert_eq!(corelane_bbq_pop_slice(None, null_mut(), 1), 0);
        assert_eq!(corelane_bbq_pop_slice(Some(&mut rx), null_mut(), 1), 0);
        assert_eq!(corelane_bbq_pop(None, &mut item(0)), Status::Invalid);
        assert_eq!(corelane_bbq_pop(Some(&mut rx), null_mut()), Status::Invalid);
    }
    assert_eq!(corelane_bbq_push(None, item(1)), Status::Invalid);
    assert_eq!(corelane_bbq_push(Some(&mut tx), null_mut()), Status::Invalid);
    assert_eq!(pop(&mut rx), Err(Status::Empty));
    assert_eq!(
        (corelane_bbq_producer_capacity(None), corelane_bbq_consumer_capacity(None)),
        (0, 0)
    );
    assert!(corelane_bbq_producer_is_closed(None) && corelane_bbq_consumer_is_closed(None));
    assert!(corelane_bbq_producer_clone(None).is_none());
    assert!(corelane_bbq_consumer_clone(None).is_none());
    corelane_bbq_producer_destroy(None);
    corelane_bbq_consumer_destroy(None);
    corelane_bbq_producer_destroy(Some(tx));
    corelane_bbq_consumer_destroy(Some(rx));
}

/// Two producers and two consumers: each item arrives once.
#[test]
fn clones_share_a_queue() {
    const EACH: usize = 10_000;
    let (mut tx, mut rx) = create(64);
    let other_tx = corelane_bbq_producer_clone(Some(&mut tx)).expect("a handle");
    let other_rx = corelane_bbq_consumer_clone(Some(&mut rx)).expect("a handle");
    let send = |mut tx: Box<BbqProducer>, from: usize| {
        for number in from..from + EACH {
            while corelane_bbq_push(Some(&mut tx), item(number)) != Status::Ok {
                thread::yield_now();
            }
        }
        corelane_bbq_producer_destroy(Some(tx));
    };
    let receive = |mut rx: Box<BbqConsumer>| {
        let mut popped = Vec::new();
        loop {
            match pop(&mut rx) {
                Ok(number) => popped.push(number),
                Err(Status::Closed) => break,
                Err(_) => thread::yield_now(),
            }
        }
        corelane_bbq_consumer_destroy(Some(rx));
        popped
    };
    let mut popped = thread::scope(|scope| {
        scope.spawn(|| send(tx, 1));
        scope.spawn(|| send(other_tx, 1 + EACH));
        let one = scope.spawn(|| receive(rx));
        let mut popped = receive(other_rx);
        popped.extend(one.join().expect("no panic"));
        popped
    });
    popped.sort_unstable();
    assert!(popped.into_iter().eq(1..=2 * EACH));
}
