//! Maffione, Lettieri, Rizzo (2019), Table 1: cache misses per item and side, counted and not
//! computed.
//!
//! As in the paper's model, a store keeps its core until it is done, and nothing is prefetched. N =
//! 256 slots, K = 8 of them to a line, H = 32, B = 32.

use coherence::{Machine, Time};
use corelane_simulate::{Stream, StreamRun, find};

/// Slots; slots to a line; slots that the producers of IFFQ check at once; items to a burst.
const N: f64 = 256.0;
const K: f64 = 8.0;
const H: f64 = 32.0;
const B: f64 = 32.0;

/// The speeds of the sides.
#[derive(Clone, Copy)]
enum Case {
    FastConsumer,
    FastProducer,
    Best,
}

use Case::{Best, FastConsumer, FastProducer};

/// Laps of the ring that are counted.
const LAPS: u64 = 40;

fn stream(case: Case, capacity: usize) -> Stream {
    let slow = Time::ns(400);
    let loads = match case {
        FastConsumer => [slow, Time::ZERO],
        FastProducer => [Time::ZERO, slow],
        Best => [Time::ZERO; 2],
    };
    Stream {
        capacity,
        loads,
        turns: matches!(case, Best),
        warm_up: 10 * 256,
        items: LAPS * capacity as u64,
        ..Stream::new(Machine::i7().counting())
    }
}

fn run(queue: &str, stream: &Stream) -> StreamRun {
    find(queue).unwrap().stream(stream).unwrap()
}

/// Checks that both sides' misses are within 2 % of these.
#[track_caller]
fn assert_misses(run: &StreamRun, expected: [f64; 2]) {
    for (side, expected) in run.sides.iter().zip(expected) {
        let found = side.misses_per_item();
        let error = (found / expected - 1.0).abs();
        assert!(error < 0.02, "{found} misses per item, not {expected}");
    }
}

/// Checks the three cases of a queue with `capacity` items in 256 slots.
#[track_caller]
fn check(queue: &str, capacity: usize, cases: [(Case, [f64; 2]); 3]) {
    for (case, expected) in cases {
        assert_misses(&run(queue, &stream(case, capacity)), expected);
    }
}

#[test]
fn lq() {
    let best = 1.0 / K + 2.0 / N;
    check("lq", 256, [(FastConsumer, [3.0; 2]), (FastProducer, [3.0; 2]), (Best, [best; 2])]);
}

/// K slots stay empty, so 1/N is 1/(N - K), as the paper's text has it.
#[test]
fn llq() {
    let n = N - K;
    let cases = [
        (FastConsumer, [2.0 + 1.0 / n; 2]),
        (FastProducer, [1.0 + 1.0 / K + 1.0 / n; 2]),
        (Best, [1.0 / K + 2.0 / n; 2]),
    ];
    check("llq", 248, cases);
}

/// Bursts that begin in the middle of a line: the worst case, for which the paper's formula holds.
#[test]
fn blq() {
    let n = N - K;
    let bursts = |case| Stream { burst: 32, first: 4, ..stream(case, 248) };
    let slots_and_write = (2.0 + ((B - 1.0) / K).ceil()) / B;
    assert_misses(&run("blq", &bursts(FastConsumer)), [slots_and_write + 1.0 / n; 2]);
    assert_misses(&run("blq", &bursts(FastProducer)), [1.0 / K + 1.0 / B + 1.0 / n; 2]);
    assert_misses(&run("blq", &stream(Best, 248)), [1.0 / K + 2.0 / n; 2]);
}

/// Bursts of whole lines cost one miss less each.
#[test]
fn blq_in_step_with_lines() {
    let bursts = Stream { burst: 32, ..stream(FastConsumer, 248) };
    assert_misses(&run("blq", &bursts), [(1.0 + B / K) / B + 1.0 / (N - K); 2]);
}

#[test]
fn ffq() {
    let best = 2.0 / K;
    check("ffq", 256, [(FastConsumer, [2.0; 2]), (FastProducer, [2.0; 2]), (Best, [best; 2])]);
}

/// The paper's formulas of IFFQ, and of BIFFQ without bursts. 2H slots stay empty.
fn improved(queue: &str) {
    let cases = [
        (FastConsumer, [1.0 + 1.0 / H, 1.0 + 1.0 / K]),
        (FastProducer, [1.0 / K + 1.0 / H, 2.0 / K + 1.0 / H]),
        (Best, [1.0 / K + 1.0 / H, 2.0 / K]),
    ];
    check(queue, 192, cases);
}

#[test]
fn iffq() {
    improved("iffq");
}

#[test]
fn biffq() {
    improved("biffq");
}

/// BIFFQ's bursts with a fast consumer (§4.3). BIFFQ is fast if a burst is in the producer's cache
/// before the consumer asks for its line again. With a store buffer this holds: stores that wait
/// for a line enter the cache together. So there are fewer misses than by the paper's formula,
/// which has one more miss for each burst.
#[test]
fn biffq_bursts() {
    let machine = Machine { pair_prefetcher: false, ..Machine::i7() };
    let bursts = Stream { machine, burst: 32, ..stream(FastConsumer, 192) };
    let run = run("biffq", &bursts);
    assert_misses(&run, [1.0 / K + 1.0 / H, 2.0 / K]);
    let formula = (2.0 + ((B - 1.0) / K).ceil()) / B;
    assert!(run.sides[0].misses_per_item() < formula + 1.0 / H);
    assert!(run.sides[1].misses_per_item() < formula + 1.0 / K);
}

/// Without a store buffer, the consumer sometimes takes the line away in the middle of a burst.
#[test]
fn biffq_bursts_without_a_store_buffer() {
    let run = run("biffq", &Stream { burst: 32, ..stream(FastConsumer, 192) });
    let formula = (2.0 + ((B - 1.0) / K).ceil()) / B + 1.0 / H;
    assert!(run.sides[0].misses_per_item() > formula, "{}", run.sides[0].misses_per_item());
}
