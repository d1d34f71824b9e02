//! Several producers and several consumers of one queue; and the figures of the block-based bounded
//! queue's paper (paper 3, Figs 2.8 and 2.9), as far as the simulation confirms them.

use coherence::Machine;
use corelane_sim::Info;
use corelane_simulate::{Failure, Queue, Team, TeamRun, Workload, team_queues};

/// The queue with which the block-based queue is compared between two threads, and the least ratio
/// of their misses. The paper's peers share counters and have 10 times as many misses. Lamport's
/// queue has not.
const PEER: (&str, f64) = ("ring", 10.0);

fn queue(id: &str) -> Queue {
    team_queues().into_iter().find(|queue| queue.id == id).expect("there is such a queue")
}

/// A team of these numbers of threads, with a small queue.
fn team(producers: usize, consumers: usize) -> Team {
    let small = Team::new(Machine::arm_96t());
    Team { producers, consumers, capacity: 256, warm_up: 512, items: 2048, ..small }
}

/// A queue of 512 slots, with blocks of the size of the paper's rule.
fn run(id: &str, producers: usize, consumers: usize) -> TeamRun {
    let team = Team { capacity: 512, ..team(producers, consumers) };
    queue(id).team(&team).unwrap()
}

/// Items that are lost, doubled, or out of order are an error.
#[test]
fn every_queue_serves_as_many_threads_as_it_allows() {
    for (producers, consumers) in [(1, 1), (2, 1), (1, 2), (3, 3), (5, 2), (7, 1), (1, 7)] {
        for queue in team_queues() {
            if !queue.info.sides.allow(producers, consumers) {
                continue;
            }
            for workload in [Workload::Simple, Workload::Complex] {
                let team = Team { workload, capacity: 64, ..team(producers, consumers) };
                let run = queue.team(&team).unwrap_or_else(|error| panic!("{}: {error}", queue.id));
                assert_eq!(run.members.each_ref().map(Vec::len), [producers, consumers]);
                // A thread may be in the middle of a call when counting begins or ends.
                let (side, threads) =
                    if queue.info.overwrites { (0, producers) } else { (1, consumers) };
                let moved: u64 = run.members[side].iter().map(|member| member.items).sum();
                assert!(moved.abs_diff(team.items) <= threads as u64, "{}: {moved}", queue.id);
                assert!(run.items_per_s() > 0.0, "{}", queue.id);
            }
        }
    }
}

/// Fetch-and-add always gains a position. Compare-and-swap can fail, and fails more often under
/// contention.
#[test]
fn adding_scales_where_comparing_does_not() {
    let rate = |id: &str| queue(id).team(&team(8, 8)).unwrap().items_per_s();
    for adding in ["lcrq", "lprq"].map(rate) {
        for comparing in ["msq", "ring"].map(rate) {
            assert!(adding > 3.0 * comparing, "{adding} and {comparing} items per second");
        }
    }
}

#[test]
fn the_same_team_does_the_same_again() {
    let times = || {
        let run = run("bbq", 3, 3);
        (run.time, run.accesses, run.misses_per_item())
    };
    assert_eq!(times(), times());
}

#[test]
fn work_before_each_call_slows_a_pair_down() {
    let time = |workload| queue("bbq").team(&Team { workload, ..team(1, 1) }).unwrap().time;
    assert!(time(Workload::Complex).as_ns() > 1.5 * time(Workload::Simple).as_ns());
}

#[test]
fn a_longer_run_has_the_same_throughput() {
    let rate = |items| queue("bbq").team(&Team { items, ..team(4, 1) }).unwrap().items_per_s();
    let ratio = rate(8192) / rate(2048);
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

/// Fig. 2.8: while the sides are in different blocks, no side accesses the other's lines.
#[test]
fn between_two_threads_blocks_save_misses() {
    let (peer, least) = PEER;
    let [ours, peer] = ["bbq", peer].map(|id| run(id, 1, 1));
    let saved = peer.misses_per_item() / ours.misses_per_item();
    assert!(saved > least, "{saved}");
    assert!(ours.items_per_s() > 2.0 * peer.items_per_s());
}

/// Fig. 2.9a, c: a producer pays for two additions, however many producers there are, and for late
/// additions, which become more frequent.
#[test]
fn more_producers_cost_no_more_misses_each() {
    let misses = |producers| run("bbq", producers, 1).misses_per_item();
    let [few, many] = [4, 48].map(misses);
    assert!(many < 1.3 * few, "{few} {many}");
}

/// Fig. 2.9j: a failed compare-and-swap costs another miss. Each consumer would add one miss to
/// every pop, if consumers didn't wait after a failure.
#[test]
fn more_consumers_cost_less_than_a_miss_each() {
    let misses = |consumers| run("bbq", 1, consumers).misses_per_item();
    let growth = (misses(32) - misses(8)) / 24.0;
    assert!((0.3..0.9).contains(&growth), "{growth}");
}

/// §2.4.3: a producer that overwrites checks only the block that it enters. So consumers cost it
/// misses only on the lines that they have read.
#[test]
fn an_overwriting_producer_pays_for_lines_that_were_read() {
    let misses = |consumers| {
        let run = run("bbq-drop-old", 1, consumers);
        run.members[0][0].core.total.misses() as f64 / run.items as f64
    };
    let [one, many] = [1, 16].map(misses);
    assert!(one < 0.2 && many < 0.2, "{one} {many}");
}

#[test]
fn the_form_for_one_consumer_is_as_good_as_the_general_one() {
    let [one, any] = ["bbq-mpsc", "bbq"].map(|id| run(id, 8, 1).items_per_s());
    assert!((0.95..1.05).contains(&(one / any)), "{one} {any}");
    let [one, any] = ["bbq-spmc", "bbq"].map(|id| run(id, 1, 8).items_per_s());
    assert!((0.95..1.05).contains(&(one / any)), "{one} {any}");
}

/// Fig. 2.9a, h: among bounded queues that several threads may share, the block-based queue is the
/// fastest, or as fast as others. With many consumers `scq` is faster, which is slower in the paper
/// (Fig. 3.7). Queues that overwrite are left out: their producers never wait. So are relaxed
/// queues, and `leased`, which no paper has.
#[test]
fn blocks_are_ahead_with_many_producers_and_level_with_many_consumers() {
    let others = team_queues();
    let is_ours = |id: &str| id.starts_with("bbq") || ["faaq", "leased"].contains(&id);
    let others = others.iter().filter(|queue| !is_ours(queue.id));
    let is_like = |queue: &&Queue| {
        let Info { bounded, overwrites, relaxed, sides, .. } = queue.info;
        bounded && !overwrites && !relaxed && sides.allow(16, 16)
    };
    for other in others.filter(is_like) {
        let [producers, consumers] = [(16, 1), (1, 16)].map(|team| ratio("bbq", other.id, team));
        assert!(producers > 2.0, "{}: {producers}", other.id);
        assert!(consumers > 0.9 || other.id == "scq", "{}: {consumers}", other.id);
    }
}

/// Threads that have the ring on lease don't meet.
#[test]
fn leases_are_ahead_of_blocks() {
    for team in [(16, 1), (1, 16), (16, 16)] {
        let ratio = ratio("leased", "bbq", team);
        assert!(ratio > 1.3, "{team:?}: {ratio}");
    }
}

/// Fig. 3.7.
#[test]
fn scq_is_ahead_of_the_ring_with_many_threads() {
    for team in [(16, 1), (1, 16), (16, 16)] {
        let ratio = ratio("scq", "ring", team);
        assert!(ratio > 1.2, "{team:?}: {ratio}");
    }
}

/// Fig. 3.7: consumers that add scale as producers do. With one consumer `faaq` is `bbq`.
#[test]
fn consumers_that_add_are_ahead_with_many_consumers() {
    for other in ["bbq", "scq", "ring"] {
        let [producers, consumers, both] =
            [(16, 1), (1, 16), (16, 16)].map(|team| ratio("faaq", other, team));
        assert!(producers > 0.95, "{other}: {producers}");
        assert!(consumers > 1.1 && both > 1.6, "{other}: {consumers} {both}");
    }
}

/// The ratio of the throughputs of two queues.
fn ratio(one: &str, other: &str, (producers, consumers): (usize, usize)) -> f64 {
    let [one, other] = [one, other].map(|id| run(id, producers, consumers).items_per_s());
    one / other
}

#[test]
fn an_impossible_capacity_is_reported() {
    let team = Team { capacity: 0, ..team(2, 2) };
    assert!(matches!(queue("bbq").team(&team), Err(Failure::Capacity(_))));
}

#[test]
#[should_panic(expected = "there may be several")]
fn a_queue_cannot_have_more_threads_than_it_allows() {
    let _ = queue("bbq-mpsc").team(&team(2, 2));
}
