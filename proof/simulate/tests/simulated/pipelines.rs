//! Threads in a row, with a queue between each and the next; and a thread alone.

use coherence::{Machine, Time, Topology};
use corelane_simulate::{Payload, Stream, all, find};

/// `threads` in a row on a small machine.
fn row(threads: usize) -> Stream {
    Stream {
        cores: (0..threads).collect(),
        capacity: 256,
        warm_up: 500,
        items: 1000,
        ..Stream::new(Machine::xeon40())
    }
}

/// A wrong order is an error.
#[test]
fn every_queue_passes_items_on_in_order() {
    for queue in all() {
        for (threads, burst) in [(1, 1), (1, 32), (2, 32), (3, 1), (3, 32), (12, 1), (12, 7)] {
            let stream = Stream { burst, ..row(threads) };
            let run = queue.stream(&stream).unwrap_or_else(|error| panic!("{}: {error}", queue.id));
            assert_eq!(run.sides.len(), threads.max(2), "{}", queue.id);
        }
    }
}

/// Lamport's queue with a slow producer costs three misses on either side of every queue.
#[test]
fn a_thread_in_the_middle_pays_for_both_sides() {
    let slow = [Time::ns(2000), Time::ZERO];
    let stream = Stream { machine: Machine::xeon40().counting(), loads: slow, ..row(5) };
    let run = find("lq").unwrap().stream(&stream).unwrap();
    let misses: Vec<_> = run.sides.iter().map(|side| side.misses_per_item().round()).collect();
    assert_eq!(misses, [3.0, 6.0, 6.0, 6.0, 3.0]);
}

/// A core finds its own writes in its cache.
#[test]
fn a_thread_alone_misses_nothing() {
    for queue in all() {
        for payload in [Payload::Embedded, Payload::Indirect] {
            let capacity = 16;
            let stream = Stream { payload, capacity, ..row(1) };
            let run = queue.stream(&stream).unwrap();
            for side in &run.sides {
                assert_eq!(side.core.total.misses(), 0, "{}", queue.id);
                assert!(side.core.total.hits > 0, "{}", queue.id);
            }
        }
    }
}

/// A row is as fast as its slowest thread.
#[test]
fn a_link_between_sockets_slows_the_row_down() {
    let near = find("lq").unwrap().stream(&row(10)).unwrap();
    let far = find("lq").unwrap().stream(&row(12)).unwrap();
    assert!(far.ns_per_item() > 1.5 * near.ns_per_item());
}

#[test]
fn a_row_may_have_128_threads() {
    let topology = Topology { sockets: 4, l3_per_socket: 2, cores_per_l3: 8, threads_per_core: 2 };
    let machine = Machine { topology, ..Machine::xeon40() };
    let stream = Stream { machine, warm_up: 100, items: 100, capacity: 64, ..row(128) };
    for id in ["lq", "biffq", "bqueue"] {
        assert_eq!(find(id).unwrap().stream(&stream).unwrap().sides.len(), 128);
    }
}

#[test]
#[should_panic(expected = "only two threads can take turns")]
fn three_threads_take_no_turns() {
    let _ = find("lq").unwrap().stream(&Stream { turns: true, ..row(3) });
}
