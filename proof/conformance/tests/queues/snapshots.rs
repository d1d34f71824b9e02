//! `overwrite::queue` with more producers than cores: pushes are never refused, all items are
//! counted, and a snapshot has the newest items.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use corelane::TryPopError;
use corelane::overwrite::{self, Consumer};
use corelane_harness::threads::scaled;

/// A producer's number, and the number of its earlier items.
type Item = [u64; 2];

const PRODUCERS: u64 = 4;
const CAPACITY: usize = 1024;

/// How producers push.
#[derive(Clone, Copy, PartialEq)]
enum Pace {
    Full,
    WithPauses,
}

/// Calls `look` again and again while producers push, then pops the items that are left. `look`
/// returns how many items it has popped.
fn look_at_producers(pace: Pace, mut look: impl FnMut(&mut Consumer<Item>) -> u64) {
    let (tx, mut rx) = overwrite::queue(CAPACITY).unwrap();
    let is_over = &AtomicBool::new(false);
    /// Ends the producers, even when a check fails.
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    thread::scope(|s| {
        let end = End(is_over);
        let producers: Vec<_> = (0..PRODUCERS).zip(vec![tx; PRODUCERS as usize]).collect();
        let producers = producers.into_iter().map(|(number, mut tx)| {
            s.spawn(move || {
                let mut pushed = 0;
                while !is_over.load(Ordering::Relaxed) {
                    tx.try_push([number, pushed]).expect("a push is never refused");
                    pushed += 1;
                    if pace == Pace::WithPauses && pushed % 64 == 0 {
                        thread::sleep(Duration::from_micros(200));
                    }
                }
                pushed
            })
        });
        let producers: Vec<_> = producers.collect();
        let mut popped = 0;
        for _ in 0..scaled(100) {
            thread::sleep(Duration::from_millis(2));
            popped += look(&mut rx);
        }
        drop(end);
        let pushed: u64 = producers.into_iter().map(|producer| producer.join().unwrap()).sum();
        popped += rx.pop_iter().count() as u64;
        assert_eq!(rx.try_pop(), Err(TryPopError::Closed));
        assert_eq!(popped + rx.lost(), pushed);
    });
}

/// Checks that items are in order, and that few items of each producer are missing between: the
/// items at positions that stopped producers kept void.
fn check(items: &[Item]) {
    for producer in 0..PRODUCERS {
        let pushes: Vec<_> =
            items.iter().filter(|item| item[0] == producer).map(|item| item[1]).collect();
        assert!(pushes.is_sorted_by(|a, b| a < b), "{pushes:?}");
        let span = pushes.last().map_or(0, |last| last + 1 - pushes[0]);
        assert!(span - pushes.len() as u64 <= CAPACITY as u64 / 16, "{pushes:?}");
    }
}

#[test]
fn what_is_pushed_is_popped_or_lost() {
    for pace in [Pace::Full, Pace::WithPauses] {
        look_at_producers(pace, |rx| rx.pop_iter().take(CAPACITY / 2).count() as u64);
        look_at_producers(pace, |rx| {
            let mut items = [[0; 2]; 100];
            rx.pop_slice(&mut items) as u64
        });
    }
}

#[test]
fn a_snapshot_has_the_newest() {
    for pace in [Pace::Full, Pace::WithPauses] {
        let mut largest = 0;
        look_at_producers(pace, |rx| {
            let mut items = Vec::new();
            rx.snapshot(&mut items);
            // The producers may not have begun.
            assert!(!items.is_empty() || largest == 0, "a snapshot found no item");
            assert!(items.len() <= CAPACITY);
            check(&items);
            largest = largest.max(items.len());
            0
        });
        assert!(largest > CAPACITY / 2, "at most {largest} of {CAPACITY}");
    }
}
