//! Handles that wait, and bells without a queue.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use corelane_loom::lamport::Lq;
use corelane_loom::memory::{AtomicBool, AtomicU32, AtomicU64, Barrier, Ordering};
use corelane_loom::ring::{InOrder, Ring};
use corelane_loom::wait::bell::{Bell, Look, Wait};
use corelane_loom::wait::word::Knows;
use corelane_loom::wait::{self, Closed};
use corelane_loom::{Config, Queue};

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
        of.model("bells_rung_at_once", rung_at_once::<false>),
        of.model("bells_rung_at_once_beside_a_sleeper", rung_at_once::<true>),
        of.model("word_rung_for_one_that_sleeps", word_rung_for_one_that_sleeps),
        of.model("word_rung_in_vain_before_a_sleep", word_rung_in_vain_before_a_sleep),
        of.model("word_of_a_dead_sleeper", word_of_a_dead_sleeper),
        of.model("word_of_two_sleepers", word_of_two_sleepers),
        of.model("word_of_a_sleeper_that_gives_up", word_of_a_sleeper_that_gives_up),
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
pub(crate) struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        // Release ↔ Acquire in `is_set`: what was published before the ring.
        self.0.store(true, Ordering::Release);
    }
}

impl Flag {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let flag = Arc::new(Self(AtomicBool::new(false)));
        (flag.clone(), flag.into())
    }

    pub(crate) fn is_set(&self) -> bool {
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

/// A task announces itself soon after another one has slept: both it and the thread that rings have
/// `SeqCst` fences.
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

/// A task announces itself at the last of two bells while both are rung. At the first one another
/// task sleeps, or none.
fn rung_at_once<const BESIDE: bool>() -> Exploration {
    explore(|| {
        let bells = Arc::new([Bell::default(), Bell::default()]);
        let is_open = Arc::new(AtomicBool::new(false));
        let look = || match is_open.load(Ordering::Relaxed) {
            true => Look::Done(()),
            false => Look::NotYet,
        };
        let (others_flag, others_waker) = Flag::new();
        let mut other = Wait::at(&bells[0]);
        if BESIDE {
            assert_eq!(other.poll(&others_waker, look), Look::NotYet);
        }
        let (flag, waker) = Flag::new();
        let mut wait = Wait::at(&bells[1]);
        let (opened, rung) = (is_open.clone(), bells.clone());
        let open = move || {
            opened.store(true, Ordering::Relaxed);
            Bell::ring_each_for_all(&*rung);
        };
        let ((), found) = both(open, || wait.poll(&waker, look));
        assert_eq!(others_flag.is_set(), BESIDE);
        assert!(found == Look::Done(()) || flag.is_set(), "it sleeps, and it is open");
        drop((wait, other));
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

/// A word at which threads sleep, and the number of items that were published.
#[derive(Clone)]
struct Sleeps(Arc<State>);

struct State {
    word: AtomicU32,
    published: AtomicU64,
    taken: AtomicU64,
    /// Threads that sleep in the system, and its lock.
    asleep: loom::sync::Mutex<()>,
    wakes: loom::sync::Condvar,
}

impl Sleeps {
    /// Without an item, and with this word.
    fn new(word: u32) -> Self {
        let zero = || AtomicU64::new(0);
        Self(Arc::new(State {
            word: AtomicU32::new(word),
            published: zero(),
            taken: zero(),
            asleep: loom::sync::Mutex::new(()),
            wakes: loom::sync::Condvar::new(),
        }))
    }

    /// One more item. Only one thread publishes.
    fn publish(&self, knows: &Knows) {
        let State { published, .. } = &*self.0;
        published.store(published.load(Ordering::Relaxed) + 1, Ordering::Release);
        self.ring(knows);
    }

    fn ring(&self, knows: &Knows) {
        if knows.ring(&self.0.word, 1) {
            let _asleep = self.0.asleep.lock().unwrap();
            self.0.wakes.notify_one();
        }
    }

    /// Takes an item, if there is one.
    fn take(&self) -> bool {
        let State { published, taken, .. } = &*self.0;
        let mut next = taken.load(Ordering::Relaxed);
        while next < published.load(Ordering::Acquire) {
            match taken.compare_exchange(next, next + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(found) => next = found,
            }
        }
        false
    }

    /// Sleeps until it has an item.
    fn pop(&self, knows: &Knows) {
        let mut sleeper = knows.announce(&self.0.word);
        while !self.take() {
            // As the system does: it lets a thread sleep if the word still says so, until a call
            // wakes it.
            let asleep = self.0.asleep.lock().unwrap();
            if self.0.word.load(Ordering::Relaxed) == sleeper.word {
                drop(self.0.wakes.wait(asleep).unwrap());
            } else {
                drop(asleep);
            }
            if sleeper.is_rung(&self.0.word) {
                sleeper = knows.announce(&self.0.word);
            }
        }
        sleeper.leave(&self.0.word);
    }

    /// Sleeps, looks, and gives up.
    fn give_up(&self, knows: &Knows) -> bool {
        let sleeper = knows.announce(&self.0.word);
        let found = self.take();
        if sleeper.leave(&self.0.word) && !found {
            self.ring(knows);
        }
        found
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
        both(move || other.publish(&knows()), || sleeps.pop(&knows()));
    })
}

/// The thread that rings gives its fences up while the other one is about to rely on them.
fn word_rung_in_vain_before_a_sleep() -> Exploration {
    explore(|| {
        let sleeps = Sleeps::new(0);
        let (rings, sleeper) = (knows(), knows());
        // A sleep with a heavy fence, after which the other side has fences.
        let asleep = sleeper.announce(&sleeps.0.word);
        assert!(rings.ring(&sleeps.0.word, 1));
        assert!(asleep.leave(&sleeps.0.word));
        let other = sleeps.clone();
        both(
            move || {
                other.ring(&rings);
                other.publish(&rings);
            },
            || sleeps.pop(&sleeper),
        );
    })
}

/// A process died in its sleep. Another one sleeps in its place, while the ring for the dead one is
/// under way.
fn word_of_a_dead_sleeper() -> Exploration {
    explore(|| {
        let sleeps = Sleeps::new(1);
        let other = sleeps.clone();
        let rings = knows();
        both(
            move || {
                other.ring(&rings);
                other.publish(&rings);
            },
            || sleeps.pop(&knows()),
        );
    })
}

/// Two threads sleep. Each of two rings wakes one that finds an item.
fn word_of_two_sleepers() -> Exploration {
    explore_shared(|| {
        let sleeps = Sleeps::new(0);
        let others = [sleeps.clone(), sleeps.clone()];
        let sleepers = others.map(|sleeps| spawn(move || sleeps.pop(&knows())));
        let rings = knows();
        (0..2).for_each(|_| sleeps.publish(&rings));
        sleepers.into_iter().for_each(|sleeper| sleeper.join());
    })
}

/// Of two threads that sleep one gives up. If it was rung for, the other one is.
fn word_of_a_sleeper_that_gives_up() -> Exploration {
    explore_shared(|| {
        let sleeps = Sleeps::new(0);
        let (first, second) = (sleeps.clone(), sleeps.clone());
        let first = spawn(move || {
            if !first.give_up(&knows()) {
                first.take();
            }
        });
        let second = spawn(move || second.pop(&knows()));
        let rings = knows();
        (0..2).for_each(|_| sleeps.publish(&rings));
        first.join();
        second.join();
    })
}
