//! `linering`: lines of more than one item, and handles that go on where others stopped.

use corelane_loom::Config;
use corelane_loom::line_ring::{Heir, LineRing};

use crate::explore::{both, explore};
use crate::queue::{Of, SingleSubject};
use crate::{Exploration, Model, whole_lines};

pub(crate) fn models() -> Vec<Model> {
    // With two items in a line: a consumer may see a line half full, but leaves and frees only
    // whole lines.
    let mut models = whole_lines::models(SingleSubject::narrow::<LineRing>(), 1);
    let of = Of::any::<LineRing, Item>();
    models.push(of.model("consumer_follows_another", consumer_follows_another));
    models.push(of.model("producer_follows_another", producer_follows_another));
    models
}

/// Two of them are in a line.
type Item = [u64; 3];

fn item(number: u64) -> Item {
    [number; 3]
}

/// Both sides of a ring of three lines.
fn sides() -> (Heir<Item>, Heir<Item>) {
    Heir::both(Config::new(2).first(u64::MAX)).expect("small")
}

/// A consumer goes on where another one has stopped, while the producer fills the lines that both
/// give back.
fn consumer_follows_another() -> Exploration {
    explore(|| {
        let (tx, rx) = sides();
        let mut tx = tx.producer().expect("it is new");
        let pushed = (0..).take_while(|&n| tx.try_push(item(n)).is_ok()).count() as u64;
        let next = rx.clone();
        let ((mut tx, pushed), (mut rx, popped)) = both(
            move || {
                let more = (pushed..pushed + 2).take_while(|&n| tx.try_push(item(n)).is_ok());
                let pushed = pushed + more.count() as u64;
                (tx, pushed)
            },
            || {
                let mut first = rx.consumer().expect("small");
                for n in 0..3 {
                    assert_eq!(first.try_pop(), Ok(item(n)));
                }
                let mut second = next.consumer().expect("small");
                assert_eq!((second.count(), second.try_pop()), (3, Ok(item(3))));
                (second, 4)
            },
        );
        for n in popped..pushed {
            assert_eq!(rx.try_pop(), Ok(item(n)));
        }
        assert!(rx.try_pop().is_err() && tx.try_push(item(0)).is_ok());
    })
}

/// A producer goes on where another one has stopped, while the consumer pops.
fn producer_follows_another() -> Exploration {
    explore(|| {
        let (tx, rx) = sides();
        let mut rx = rx.consumer().expect("small");
        let next = tx.clone();
        let (tx, (mut rx, popped)) = both(
            move || {
                let mut first = tx.producer().expect("it is new");
                assert!((0..3).all(|n| first.try_push(item(n)).is_ok()));
                let mut second = next.producer().expect("the first has left it so");
                assert_eq!(second.count(), 3);
                assert!(second.try_push(item(3)).is_ok());
                second
            },
            || {
                let popped = (0..2)
                    .take_while(|&n| rx.try_pop().map(|found| assert_eq!(found, item(n))).is_ok());
                let popped = popped.count() as u64;
                (rx, popped)
            },
        );
        for n in popped..4 {
            assert_eq!(rx.try_pop(), Ok(item(n)));
        }
        drop(tx);
        assert!(rx.try_pop().is_err());
    })
}
