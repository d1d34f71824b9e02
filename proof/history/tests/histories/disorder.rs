//! Rank errors and delays, compared with their definitions.

use std::time::Instant;

use corelane_harness::rng::Rng;
use corelane_history::{Disorder, Passage, Span, Spread};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::scaled;

/// The figures of the definitions, which compare each item with each other.
fn by_definition(passages: &[Passage]) -> [Vec<u32>; 2] {
    let precedes = |a: Span, b: Span| a.answered < b.invoked;
    let count = |overtakes: &dyn Fn(&Passage) -> bool| {
        passages.iter().filter(|other| overtakes(other)).count() as u32
    };
    let is_popped = |item: &&Passage| item.pop != Span::NEVER;
    let overtaken = |item: &Passage| {
        count(&|older| precedes(older.push, item.push) && precedes(item.pop, older.pop))
    };
    let overtaking = |item: &Passage| {
        count(&|younger| precedes(item.push, younger.push) && precedes(younger.pop, item.pop))
    };
    let ranks = passages.iter().filter(is_popped).map(overtaken).collect();
    [ranks, passages.iter().map(overtaking).collect()]
}

/// The distribution of these figures, by sorting them.
fn spread(mut figures: Vec<u32>) -> Spread {
    figures.sort();
    let Some(&largest) = figures.last() else { return Spread::default() };
    let sum: u32 = figures.iter().sum();
    let mean = f64::from(sum) / figures.len() as f64;
    Spread { mean, p99: figures[((figures.len() - 1) * 99).div_ceil(100)], largest }
}

fn passage() -> impl Strategy<Value = Passage> {
    let span = || {
        (0..60u64, 0..9u64).prop_map(|(invoked, width)| Span { invoked, answered: invoked + width })
    };
    let pop = prop_oneof![5 => span(), 1 => Just(Span::NEVER)];
    (span(), pop).prop_map(|(push, pop)| Passage { push, pop })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    /// Pops may begin before the items' pushes: intervals of calls may be wider than the calls.
    #[test]
    fn figures_are_those_of_the_definitions(passages in vec(passage(), 0..120)) {
        let [rank_errors, delays] = by_definition(&passages).map(spread);
        prop_assert_eq!(Disorder::of(&passages), Disorder { rank_errors, delays });
    }
}

/// Items that are pushed at these instants, in their order, and popped at those.
fn popped_at(pops: &[u64]) -> Vec<Passage> {
    (0..).zip(pops).map(|(n, &pop)| Passage { push: Span::at(n), pop: Span::at(pop) }).collect()
}

#[test]
fn instants_give_exact_figures() {
    let spread = |mean, largest| Spread { mean, p99: largest, largest };
    let in_turn = popped_at(&[10, 11, 12, 13]);
    assert_eq!(Disorder::of(&in_turn), Disorder::default());
    assert!(Disorder::of(&in_turn).is_within(1));
    // The first item is popped last: it has a delay of 3, and each other item a rank error of 1.
    let first_last = Disorder::of(&popped_at(&[19, 11, 12, 13]));
    assert_eq!(first_last, Disorder { rank_errors: spread(0.75, 1), delays: spread(0.75, 3) });
    assert!(first_last.is_within(4) && !first_last.is_within(3));
    // The last item is popped first.
    let last_first = Disorder::of(&popped_at(&[11, 12, 13, 10]));
    assert_eq!(last_first, Disorder { rank_errors: spread(0.75, 3), delays: spread(0.75, 1) });
    // An item that is never popped has been overtaken, and has no rank error.
    let mut never = popped_at(&[0, 11, 12]);
    never[0].pop = Span::NEVER;
    let delays = Spread { mean: 2.0 / 3.0, p99: 2, largest: 2 };
    assert_eq!(Disorder::of(&never), Disorder { rank_errors: spread(1.0, 1), delays });
    assert_eq!(Disorder::of(&[]), Disorder::default());
    assert!(Disorder::of(&[]).is_within(1) && !Disorder::of(&[]).is_within(0));
}

/// Calls that overlap have no order.
#[test]
fn intervals_give_certain_figures() {
    let passage = |push, pop| {
        let span = |(invoked, answered)| Span { invoked, answered };
        Passage { push: span(push), pop: span(pop) }
    };
    let largest = |first: Passage, second| {
        let Disorder { rank_errors, delays } = Disorder::of(&[first, second]);
        [rank_errors.largest, delays.largest]
    };
    assert_eq!(largest(passage((0, 1), (30, 40)), passage((2, 3), (20, 29))), [1, 1]);
    assert_eq!(largest(passage((0, 2), (30, 40)), passage((2, 3), (20, 29))), [0, 0]);
    assert_eq!(largest(passage((0, 1), (30, 40)), passage((2, 3), (20, 30))), [0, 0]);
}

/// The time for as many items as fit into a long run, 10⁷ with `CORELANE_STRESS=50`.
#[test]
fn many_items() {
    let (items, k, mut rng) = (scaled(200_000), 1_000, Rng::new(1));
    let passages: Vec<_> = (0..items)
        .map(|n| Passage { push: Span::at(n), pop: Span::at(n + rng.below(k) as u64) })
        .collect();
    let begin = Instant::now();
    let disorder = Disorder::of(&passages);
    println!("{items} items in {:?}: {disorder:?}", begin.elapsed());
    assert!(disorder.is_within(k) && disorder.rank_errors.largest > 400);
}
