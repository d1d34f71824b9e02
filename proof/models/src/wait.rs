//! Handles that wait, and bells without a queue.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use corelane_loom::lamport::Lq;
use corelane_loom::memory::{AtomicBool, AtomicU32, AtomicU64, Barrier, Ordering};
use corelane_loom::ring::{InOrder, Ring};
use corelane_loom::wait::bell::{Bell, Look, Wait};
use corelane_loom::wait::word::{Knows, SLEEPS};
use corelane_loom::wait::{self, Closed};
use corelane_loom::{Config, Queue};

use loom::hint::spin_loop;

use crate::explore::{both, explore, explore_shared};
use crate::queue::Of;
use crate::thread::spawn;
use crate::{Exploration, Model};

pub(crate) fn models() -> Vec<Model> {
    let of = Of::any::<Lq, u64>();
    vec![
        of.model("wait_for_an_item", for_an_item),
        of.model("wait_for_room", for_room),
        of.model("wait_for_an_item_that_never_comes", for_an_item_that_never_comes),
        of.model("wait_for_room_that_never_comes", for_room_that_never_comes),
        of.model("wait_for_producers_that_go", for_producers_that_go),
        of.model("wait_in_a_task", in_a_task),
        of.model("bell_rung_for_two", rung_for_two),
        of.model("bell_rung_for_one_that_leaves", rung_for_one_that_leaves),
        of.model("bell_rung_for_one_that_finds_it_busy", rung_for_one_that_finds_it_busy),
        of.model("bell_rung_while_one_leaves", rung_while_one_leaves),
        of.model("bell_rung_soon_after_a_sleep", rung_soon_after_a_sleep),
        of.model("bell_rung_while_a_task_moves", rung_while_a_task_moves),
        of.model("word_rung_for_one_that_sleeps", word_rung_for_one_that_sleeps),
        of.model("word_rung_in_vain_before_a_sleep", word_rung_in_vain_before_a_sleep),
        of.model("word_of_a_dead_sleeper", word_of_a_dead_sleeper),
    ]
}

type Pair =
    (wait::Producer<<Lq as Queue<u64>>::Producer>, wait::Consumer<<Lq as Queue<u64>>::Consumer>);

fn pair() -> Pair {
    wait::pair(<Lq as Queue<u64>>::with(Config::new(1)).expect("small"))
}

/// The consumer announces itself while the producer pushes.
fn for_an_item() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = pair();
        let (tx, item) = both(
            move || {
                tx.push(1).expect("the consumer is there");
                tx
            },
            || rx.pop(),
        );
        assert_eq!(item, Some(1));
        drop(tx);
    })
}

/// The producer of a full queue announces itself while the consumer pops.
fn for_room() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = pair();
        tx.push(1).expect("there is room");
        let (tx, item) = both(
            move || {
                tx.push(2).expect("the consumer is there");
                tx
            },
            || rx.pop(),
        );
        assert_eq!((item, rx.pop()), (Some(1), Some(2)));
        drop(tx);
    })
}

/// The only producer is dropped while the consumer waits.
fn for_an_item_that_never_comes() -> Exploration {
    explore(|| {
        let (tx, mut rx) = pair();
        let ((), item) = both(move || drop(tx), || rx.pop());
        assert_eq!(item, None);
    })
}

/// The only consumer is dropped while the producer waits.
fn for_room_that_never_comes() -> Exploration {
    explore(|| {
        let (mut tx, rx) = pair();
        tx.push(1).expect("there is room");
        let ((), refused) = both(move || drop(rx), || tx.push(2));
        assert_eq!(refused, Err(Closed(2)));
    })
}

/// Both producers are dropped while the consumer waits, whichever is the last.
fn for_producers_that_go() -> Exploration {
    explore_shared(|| {
        let queue = <Ring<InOrder> as Queue<u64>>::with(Config::new(1)).expect("small");
        let (tx, mut rx) = wait::pair(queue);
        let other = tx.clone();
        let waits = spawn(move || rx.pop());
        both(move || drop(tx), || drop(other));
        assert_eq!(waits.join(), None);
    })
}

/// Notes that it was woken.
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        // Release ↔ Acquire in `is_set`: what was published before the ring.
        self.0.store(true, Ordering::Release);
    }
}

impl Flag {
    fn new() -> (Arc<Self>, Waker) {
        let flag = Arc::new(Self(AtomicBool::new(false)));
        (flag.clone(), flag.into())
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A future that was polled in vain is woken.
fn in_a_task() -> Exploration {
    explore(|| {
        let (mut tx, mut rx) = pair();
        let (flag, waker) = Flag::new();
        let mut pop = rx.pop_async();
        let mut poll = || Pin::new(&mut pop).poll(&mut Context::from_waker(&waker));
        let (tx, first) = both(
            move || {
                tx.push(1).expect("the consumer is there");
                tx
            },
            &mut poll,
        );
        assert!(first.is_ready() || flag.is_set() && poll().is_ready());
        drop(tx);
    })
}

/// Permits, and the bell at which threads wait for one.
struct Permits {
    number: AtomicU64,
    bell: Bell,
}

impl Permits {
    fn none() -> Arc<Self> {
        Arc::new(Self { number: AtomicU64::new(0), bell: Bell::default() })
    }

    fn give(&self) {
        self.number.fetch_add(1, Ordering::Relaxed);
        self.bell.ring();
    }

    fn look(&self) -> Look<()> {
        let number = self.number.load(Ordering::Relaxed);
        if number == 0 {
            return Look::NotYet;
        }
        let taken =
            self.number.compare_exchange(number, number - 1, Ordering::Relaxed, Ordering::Relaxed);
        if taken.is_ok() { Look::Done(()) } else { Look::Busy }
    }

    /// Blocks the thread until it has a permit.
    fn take(&self) {
        wait::block(&self.bell, || self.look());
    }
}

/// Two threads sleep, and two permits come.
fn rung_for_two() -> Exploration {
    explore(|| {
        let permits = Permits::none();
        let (flag, waker) = Flag::new();
        let mut first = Wait::at(&permits.bell);
        assert_eq!(first.poll(&waker, || permits.look()), Look::NotYet);
        let other = permits.clone();
        let ((), ()) = both(
            move || other.take(),
            || {
                permits.give();
                permits.give();
            },
        );
        assert!(flag.is_set(), "it was the first");
        assert_eq!(first.poll(&waker, || permits.look()), Look::Done(()));
    })
}

/// The first sleeper is woken and then gives up. The other one must get the permit.
fn rung_for_one_that_leaves() -> Exploration {
    explore(|| {
        let permits = Permits::none();
        let mut first = Wait::at(&permits.bell);
        assert_eq!(first.poll(Waker::noop(), || permits.look()), Look::NotYet);
        let other = permits.clone();
        let ((), ()) = both(
            move || other.take(),
            || {
                permits.give();
                drop(first);
            },
        );
    })
}

/// The first sleeper gives up while a permit comes. The other one must be woken.
fn rung_while_one_leaves() -> Exploration {
    explore(|| {
        let permits = Permits::none();
        let (flag, waker) = Flag::new();
        let [mut first, mut second] = [(); 2].map(|()| Wait::at(&permits.bell));
        assert_eq!(first.poll(Waker::noop(), || permits.look()), Look::NotYet);
        assert_eq!(second.poll(&waker, || permits.look()), Look::NotYet);
        let other = permits.clone();
        let ((), ()) = both(move || other.give(), || drop(first));
        assert!(flag.is_set());
        assert_eq!(second.poll(&waker, || permits.look()), Look::Done(()));
    })
}

/// The first sleeper is woken, finds the permit busy, and gives up. The other one must be woken.
fn rung_for_one_that_finds_it_busy() -> Exploration {
    explore(|| {
        let permits = Permits::none();
        let (flag, waker) = Flag::new();
        let [mut first, mut second] = [(); 2].map(|()| Wait::at(&permits.bell));
        assert_eq!(first.poll(Waker::noop(), || permits.look()), Look::NotYet);
        assert_eq!(second.poll(&waker, || permits.look()), Look::NotYet);
        let other = permits.clone();
        let ((), ()) = both(
            move || other.give(),
            || {
                first.poll(Waker::noop(), || Look::<()>::Busy);
                drop(first);
            },
        );
        assert!(flag.is_set());
        assert_eq!(second.poll(&waker, || permits.look()), Look::Done(()));
    })
}

/// A task announces itself soon after another one has slept: both it and the thread that rings have `SeqCst` fences.
fn rung_soon_after_a_sleep() -> Exploration {
    explore(|| {
        let permits = Permits::none();
        let mut before = Wait::at(&permits.bell);
        assert_eq!(before.poll(Waker::noop(), || permits.look()), Look::NotYet);
        drop(before);
        let (flag, waker) = Flag::new();
        let mut wait = Wait::at(&permits.bell);
        let other = permits.clone();
        let ((), found) = both(move || other.give(), || wait.poll(&waker, || permits.look()));
        assert!(found == Look::Done(()) || flag.is_set(), "it sleeps, and there is a permit");
        drop(wait);
    })
}

/// A task is polled with another waker while a permit comes.
fn rung_while_a_task_moves() -> Exploration {
    explore(|| {
        let permits = Permits::none();
        let (flag, waker) = Flag::new();
        let mut wait = Wait::at(&permits.bell);
        assert_eq!(wait.poll(Waker::noop(), || permits.look()), Look::NotYet);
        let other = permits.clone();
        let ((), found) = both(move || other.give(), || wait.poll(&waker, || permits.look()));
        assert!(found == Look::Done(()) || flag.is_set());
        drop(wait);
    })
}

/// A task announces itself while a permit comes. Broken: it doesn't look again then.
pub(crate) fn announced_while_rung<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let permits = Permits::none();
        let (flag, waker) = Flag::new();
        let mut wait = Wait::at(&permits.bell);
        let other = permits.clone();
        let mut is_announced = false;
        let look = || {
            let found = if BROKEN && is_announced { Look::NotYet } else { permits.look() };
            is_announced = true;
            found
        };
        let ((), found) = both(move || other.give(), || wait.poll(&waker, look));
        assert!(found == Look::Done(()) || flag.is_set(), "it sleeps, and there is a permit");
        drop(wait);
    })
}

/// A word at which one thread sleeps, and a number that the other thread publishes.
#[derive(Clone)]
struct Sleeps(Arc<State>);

struct State {
    word: AtomicU32,
    published: AtomicU64,
    /// Calls of the system that wake a sleeping thread.
    wakes: AtomicU64,
}

impl Sleeps {
    fn new(word: u32) -> Self {
        let zero = || AtomicU64::new(0);
        Self(Arc::new(State { word: AtomicU32::new(word), published: zero(), wakes: zero() }))
    }

    fn publish(&self, knows: &Knows, number: u64) {
        let State { word, published, wakes } = &*self.0;
        published.store(number, Ordering::Release);
        if knows.ring(word) {
            wakes.fetch_add(1, Ordering::Release);
        }
    }

    /// Sleeps until the number is there.
    fn wait_for(&self, knows: &Knows, number: u64) {
        let State { word, published, wakes } = &*self.0;
        let is_there = || published.load(Ordering::Acquire) >= number;
        while !is_there() {
            assert!(knows.announce(word));
            if is_there() {
                break;
            }
            // As the system does: it lets a thread sleep if the word still says so, until a call wakes it.
            let before = wakes.load(Ordering::Acquire);
            if word.load(Ordering::Relaxed) == SLEEPS {
                while wakes.load(Ordering::Acquire) == before {
                    spin_loop();
                }
            }
        }
        knows.rise(word);
    }
}

fn knows() -> Knows {
    Knows::new(Barrier::new())
}

/// A thread goes to sleep while another one publishes: it isn't left asleep.
fn word_rung_for_one_that_sleeps() -> Exploration {
    explore(|| {
        let sleeps = Sleeps::new(0);
        let other = sleeps.clone();
        both(move || other.publish(&knows(), 1), || sleeps.wait_for(&knows(), 1));
    })
}

/// The thread that rings gives its fences up while the other one is about to rely on them.
fn word_rung_in_vain_before_a_sleep() -> Exploration {
    explore(|| {
        let sleeps = Sleeps::new(0);
        let (rings, sleeper) = (knows(), knows());
        // A sleep with a heavy fence, after which the other side has fences.
        assert!(sleeper.announce(&sleeps.0.word));
        assert!(rings.ring(&sleeps.0.word));
        sleeper.rise(&sleeps.0.word);
        let other = sleeps.clone();
        both(
            move || {
                other.publish(&rings, 1);
                other.publish(&rings, 2);
            },
            || sleeps.wait_for(&sleeper, 2),
        );
    })
}

/// A process died in its sleep. Another one sleeps in its place, while the ring for the dead one is under way.
fn word_of_a_dead_sleeper() -> Exploration {
    explore(|| {
        let sleeps = Sleeps::new(SLEEPS);
        let other = sleeps.clone();
        both(
            move || {
                let rings = knows();
                (1..=2).for_each(|number| other.publish(&rings, number));
            },
            || sleeps.wait_for(&knows(), 2),
        );
    })
}
