//! MCRingBuffer's deadlock (Wang, Zhang, Tang, Hua 2012, §2.5, Fig. 5).
//!
//! Two stages pass one request round and round through two rings. An item that waits for its batch
//! is invisible, and no other item fills the batch: both stages wait for ever. Both stages run in
//! one thread, step by step. The number of steps is limited, not the time.

use std::thread;
use std::time::Duration;

use corelane::{
    Config, Consumer, Producer, Queue, TryPopError, b_queue::BQueueAny, mc_ring::McRing,
    mc_ring_sane,
};

/// Times the request has to go round.
const ROUNDS: u64 = 100;
/// Far more steps than these rounds take.
const STEPS: u64 = 100 * ROUNDS;

/// A stage: it waits for the request from one ring and passes it on to the other ring.
struct Stage<Q: Queue<u64>> {
    from: Q::Consumer,
    to: Q::Producer,
    flushes: bool,
}

impl<Q: Queue<u64>> Stage<Q> {
    /// Looks at the ring once. If the request is there, passes it on and returns its number.
    fn step(&mut self) -> Option<u64> {
        let request = self.from.try_pop().ok()?;
        self.pass_on(request + 1);
        Some(request)
    }

    fn pass_on(&mut self, request: u64) {
        self.to.try_push(request).expect("there is only one request");
        if self.flushes {
            self.to.flush();
        }
    }
}

/// Two stages in a cycle.
fn cycle<Q: Queue<u64>>(flushes: bool) -> (Stage<Q>, Stage<Q>) {
    let ring = || Q::with(Config::new(64)).unwrap();
    let ((to_second, from_first), (to_first, from_second)) = (ring(), ring());
    (
        Stage { from: from_second, to: to_second, flushes },
        Stage { from: from_first, to: to_first, flushes },
    )
}

/// How often the request goes round in at most [`STEPS`] steps.
fn rounds<Q: Queue<u64>>(flushes: bool) -> u64 {
    let (mut first, mut second) = cycle::<Q>(flushes);
    first.pass_on(0);
    let mut rounds = 0;
    for _ in 0..STEPS {
        second.step();
        rounds += u64::from(first.step().is_some());
        if rounds == ROUNDS {
            break;
        }
    }
    rounds
}

#[test]
fn hangs_without_flush() {
    assert_eq!(rounds::<McRing>(false), 0);
}

#[test]
fn goes_round_with_flush() {
    assert_eq!(rounds::<McRing>(true), ROUNDS);
}

/// A queue that does not delay publication needs no flush.
#[test]
fn bqueue_needs_no_flush() {
    assert_eq!(rounds::<BQueueAny>(false), ROUNDS);
}

/// A full batch is published without a flush. So the cycle lacks items, not room.
#[test]
fn a_full_batch_needs_no_flush() {
    let (mut tx, mut rx) = McRing::with(Config::new(64).batch(8)).unwrap();
    for item in 0..7 {
        tx.try_push(item).unwrap();
    }
    assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    tx.try_push(7).unwrap();
    assert!(rx.pop_iter().eq(0..8));
}

/// A producer that is told full can wait, however small the ring and large the batch: the consumer
/// sees an item.
#[test]
fn a_full_ring_has_a_visible_item() {
    for capacity in 1..70 {
        for batch in [1, 2, 7, 64, 1000] {
            let (mut tx, mut rx) = McRing::with(Config::new(capacity).batch(batch)).unwrap();
            for item in 0..1000 {
                while tx.try_push(item).is_err() {
                    rx.try_pop().expect("a full ring shows something");
                }
            }
        }
    }
}

/// The timer of `mcring-sane` does not flush, it asks the producer to flush. So when a producer
/// stops pushing, its last items stay invisible (§2.6), until a push finds that the timer has
/// fired.
#[test]
fn the_timer_needs_a_push() {
    let config = Config::new(1 << 16).batch(1 << 15);
    let (mut tx, mut rx) = mc_ring_sane::queue_with(config).unwrap();
    // Items become visible as long as each push finds that the timer has fired. At last a push does
    // not.
    let stranded = (0..1 << 14).find(|&item| {
        tx.try_push(item).unwrap();
        rx.pop_iter().last() != Some(item)
    });
    let stranded = stranded.expect("the timer fires between any two pushes");
    for _ in 0..100 {
        // Long enough for the timer to fire. The result doesn't depend on the time.
        thread::sleep(Duration::from_micros(100));
        assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
    }
    let shown = (stranded + 1..1 << 14).find_map(|item| {
        tx.try_push(item).unwrap();
        thread::sleep(Duration::from_micros(100));
        rx.try_pop().ok()
    });
    assert_eq!(shown, Some(stranded), "pushes find in the end that the timer has fired");
}
