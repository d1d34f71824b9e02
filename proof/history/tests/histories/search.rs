//! Compares the monitor with an exhaustive search, on thousands of small histories.

use std::cell::Cell;

use corelane_history::{Rules, Span, check};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::made::{Do, Made, exists, history, item, made};
use crate::scaled;

/// The random numbers of an operation.
#[derive(Debug, Clone, Copy)]
struct Seed {
    thread: usize,
    kind: u8,
    pick: usize,
    gap: u64,
    width: u64,
    shares: bool,
}

fn seeds(threads: usize) -> impl Strategy<Value = Vec<Seed>> {
    let seed = (0..threads, 0..12u8, 0..12usize, 0..4u64, 0..7u64, any::<bool>());
    let seed = seed.prop_map(|(thread, kind, pick, gap, width, shares)| Seed {
        thread,
        kind,
        pick,
        gap,
        width,
        shares,
    });
    vec(seed, 1..=7)
}

/// The kind of histories.
#[derive(Debug, Clone, Copy)]
struct Family {
    /// Threads; the first ones push, the last ones pop.
    producers: usize,
    consumers: usize,
    /// All stamps are different, and no two operations share one.
    distinct: bool,
    /// The last operation of some threads is pending, if it is a push.
    pushes_pending: bool,
    /// The last operation of some threads is pending, if it is a pop.
    pops_pending: bool,
    fulls: bool,
    flushes: bool,
}

impl Family {
    const SINGLE: Self = Self {
        producers: 1,
        consumers: 1,
        distinct: false,
        pushes_pending: false,
        pops_pending: false,
        fulls: false,
        flushes: false,
    };
    const MANY: Self = Self { producers: 2, consumers: 2, distinct: true, ..Self::SINGLE };

    fn make(self, seeds: &[Seed]) -> Vec<Made> {
        let mut operations: Vec<Made> = Vec::new();
        let mut clocks = vec![0; self.producers + self.consumers];
        let mut popped = 0;
        for seed in seeds {
            let clock = &mut clocks[seed.thread];
            let invoked = *clock + seed.gap;
            let mut span = Span { invoked, answered: invoked + seed.width };
            let last = operations.iter().rfind(|op| op.thread == seed.thread);
            if let Some(last) = last.filter(|_| seed.shares && !self.distinct) {
                span = last.span;
            }
            *clock = span.answered;
            let does = self.does(seed, &operations, &mut popped);
            operations.push(made(seed.thread, does, span.invoked, span.answered));
        }
        if self.distinct {
            tell_apart(&mut operations);
        }
        self.leave_pending(&mut operations, seeds);
        operations
    }

    /// Mostly an operation that a queue may do, sometimes any.
    fn does(self, seed: &Seed, before: &[Made], popped: &mut usize) -> Do {
        if seed.thread < self.producers {
            return match seed.kind {
                0..3 if self.fulls => Do::Full,
                3..5 if self.flushes => Do::Flush,
                _ => Do::Push,
            };
        }
        let pushed: Vec<usize> =
            before.iter().filter(|op| op.does == Do::Push).map(|op| op.thread).collect();
        let oldest = if seed.kind < 9 { *popped } else { seed.pick };
        if seed.kind < 3 || pushed.is_empty() {
            return Do::Empty;
        }
        *popped += 1;
        let index = oldest.min(pushed.len() - 1);
        let producer = pushed[index];
        let sequence = pushed[..index].iter().filter(|&&thread| thread == producer).count();
        Do::Pop(item(producer, sequence as u64))
    }

    /// Makes the last push or pop of some threads pending. The value of a pending pop is not known.
    fn leave_pending(self, operations: &mut [Made], seeds: &[Seed]) {
        for index in 0..operations.len() {
            let thread = operations[index].thread;
            let last = operations[index + 1..].iter().all(|op| op.thread != thread);
            let shared = operations[..index].iter().any(|op| op.span == operations[index].span);
            let op = &mut operations[index];
            let chosen = last && !shared && seeds[index].pick < 6;
            match op.does {
                Do::Push if chosen && self.pushes_pending => {}
                Do::Pop(_) if chosen && self.pops_pending => op.does = Do::PopPending,
                _ => continue,
            }
            op.span.answered = Span::PENDING;
        }
    }
}

/// Makes all stamps distinct and keeps their order.
fn tell_apart(operations: &mut [Made]) {
    let mut stamps: Vec<(u64, usize)> = Vec::new();
    for (index, op) in operations.iter().enumerate() {
        stamps.push((op.span.invoked, 2 * index));
        stamps.push((op.span.answered, 2 * index + 1));
    }
    stamps.sort();
    for (rank, (_, end)) in stamps.into_iter().enumerate() {
        let span = &mut operations[end / 2].span;
        match end % 2 {
            0 => span.invoked = rank as u64,
            _ => span.answered = rank as u64,
        }
    }
}

/// Compares the monitor with the search. The monitor must accept what the search accepts, and if
/// `complete`, nothing else.
fn compare(family: Family, rules: impl Strategy<Value = Rules>, complete: bool) {
    let [accepted, rejected, missed] = [const { Cell::new(0) }; 3];
    let count = |cell: &Cell<u32>| cell.set(cell.get() + 1);
    let input = (seeds(family.producers + family.consumers), rules, any::<bool>());
    let config = Config {
        cases: scaled(20_000) as u32,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&input, |(seeds, rules, drained)| {
        let operations = family.make(&seeds);
        let found = check(&history(&operations, drained), &rules);
        match (exists(&operations, &rules, drained), found) {
            (true, Ok(())) => count(&accepted),
            (true, Err(witness)) => {
                return Err(TestCaseError::fail(format!(
                    "{operations:#?}\nfalse alarm: {witness}"
                )));
            }
            (false, Ok(())) if complete => {
                return Err(TestCaseError::fail(format!("{operations:#?}\nmissed")));
            }
            (false, Ok(())) => count(&missed),
            (false, Err(_)) => count(&rejected),
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let [a, r, m] = [&accepted, &rejected, &missed].map(Cell::get);
    println!("accepted {a}, rejected {r}, missed {m}");
    let tenth = scaled(2_000) as u32;
    assert!(accepted.get() > tenth && rejected.get() > tenth, "both kinds are tried");
}

fn bounded() -> impl Strategy<Value = Rules> {
    (1..=3usize, 0..=1usize).prop_map(|(slots, spare)| Rules {
        slots: Some(slots),
        capacity: slots - spare.min(slots - 1),
        ..Rules::default()
    })
}

#[test]
fn one_to_one() {
    compare(Family::SINGLE, Just(Rules::default()), true);
}

#[test]
fn one_to_one_bounded() {
    compare(Family { fulls: true, ..Family::SINGLE }, bounded(), true);
}

#[test]
fn one_to_one_delayed() {
    let family = Family { fulls: true, flushes: true, ..Family::SINGLE };
    compare(family, bounded().prop_map(|rules| Rules { delayed: true, ..rules }), true);
}

#[test]
fn many_to_many() {
    compare(Family::MANY, Just(Rules::default()), true);
    compare(Family { producers: 3, ..Family::MANY }, Just(Rules::default()), true);
}

#[test]
fn one_to_one_push_pending() {
    let family = Family { pushes_pending: true, fulls: true, ..Family::SINGLE };
    compare(family, bounded(), true);
}

#[test]
fn many_to_many_pushes_pending() {
    compare(Family { pushes_pending: true, ..Family::MANY }, Just(Rules::default()), true);
}

#[test]
fn pops_pending() {
    let pending = |family| Family { pushes_pending: true, pops_pending: true, ..family };
    compare(pending(Family::MANY), Just(Rules::default()), false);
    compare(pending(Family { fulls: true, ..Family::SINGLE }), bounded(), false);
    compare(pending(Family { fulls: true, ..Family::MANY }), bounded(), false);
}

#[test]
fn many_to_many_bounded() {
    compare(Family { fulls: true, ..Family::MANY }, bounded(), false);
}

#[test]
fn many_to_many_with_shared_stamps() {
    compare(Family { distinct: false, ..Family::MANY }, Just(Rules::default()), false);
    compare(Family { distinct: false, fulls: true, ..Family::MANY }, bounded(), false);
}

#[test]
fn many_to_many_out_of_order() {
    let rules = (0..=2usize).prop_map(|k| Rules { k, ..Rules::default() });
    compare(Family::MANY, rules, false);
}

fn overwriting() -> impl Strategy<Value = Rules> {
    (1..=2usize, 0..=1usize).prop_map(|(kept, more)| Rules {
        slots: Some(kept + more),
        kept: Some(kept),
        ..Rules::default()
    })
}

#[test]
fn one_to_one_overwriting() {
    compare(Family::SINGLE, overwriting(), true);
    compare(Family { pushes_pending: true, ..Family::SINGLE }, overwriting(), true);
}

#[test]
fn many_to_many_overwriting() {
    compare(Family { producers: 2, ..Family::SINGLE }, overwriting(), false);
    compare(Family { pushes_pending: true, ..Family::MANY }, overwriting(), false);
}
