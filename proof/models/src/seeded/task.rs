//! A watched value, a slot whose value several receivers get, and room by weight.

use std::rc::Rc;
use std::sync::Arc;

use corelane_loom::memory::{AtomicU64, Ordering};
use corelane_loom::wait::bell::{Bell, Look, Wait};

use loom::cell::UnsafeCell;

use crate::explore::{both, explore};
use crate::wait::Flag;
use crate::{Exploration, Seeded};

pub(super) fn bugs() -> Vec<Seeded> {
    /// A number of no bug.
    const SOUND: u8 = u8::MAX;
    macro_rules! bugs {
        ($($bug:literal: $model:ident, $sound:expr, $broken:expr;)*) => {
            vec![$(Seeded {
                queue: "leased",
                bug: $bug,
                sound: $model::<{ $sound }>,
                broken: $model::<{ $broken }>,
            }),*]
        };
    }
    bugs! {
        "watch: sleeps without a look at the newest version": changed_before_a_sleep, false, true;
        "watch: ends with a version from before the other sender went": last_sender_goes, false, true;
        "broadcast: overwrites a value that is received": overwritten_while_received, SOUND, Bug::Overwritten as u8;
        "broadcast: decides too soon which receiver takes the value": last_takes, SOUND, Bug::LastTooSoon as u8;
        "broadcast: gives a slot back before it has the value": last_takes, SOUND, Bug::GivenBackTooSoon as u8;
        "broadcast: looks for the end after it has looked for a value": closed_after_a_value, false, true;
        "weighed: wakes a sender before the room is back": room_comes_back, false, true;
    }
}

/// The version of a watched value, and its end.
struct Watched {
    state: AtomicU64,
    senders: AtomicU64,
    changed: Bell,
}

/// The version is even. This bit says that all senders are gone.
const ENDED: u64 = 1;

impl Watched {
    fn new(senders: u64) -> Arc<Self> {
        let [state, senders] = [0, senders].map(AtomicU64::new);
        Arc::new(Self { state, senders, changed: Bell::default() })
    }

    fn send(&self) {
        self.state.store(self.state.load(Ordering::Relaxed) + 2, Ordering::Release);
        self.changed.ring_for_all();
    }

    /// A sender goes. Broken: it reads the state before it knows that it is the last one.
    fn leave<const BROKEN: bool>(&self) {
        let before = self.state.load(Ordering::Relaxed);
        if self.senders.fetch_add(u64::MAX, Ordering::AcqRel) == 1 {
            let state = if BROKEN { before } else { self.state.load(Ordering::Relaxed) };
            self.state.store(state | ENDED, Ordering::Release);
            self.changed.ring_for_all();
        }
    }

    fn look(&self) -> Look<u64> {
        match self.state.load(Ordering::Acquire) {
            0 => Look::NotYet,
            state => Look::Done(state),
        }
    }
}

/// A value is sent while a receiver looks and then sleeps. Broken: when it is announced, it looks at
/// the version that it has read before.
pub(crate) fn changed_before_a_sleep<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let watched = Watched::new(1);
        let (flag, waker) = Flag::new();
        let other = watched.clone();
        let mut wait = Wait::at(&watched.changed);
        let mut known = None;
        let look = || match known {
            Some(look) if BROKEN => look,
            _ => *known.insert(watched.look()),
        };
        let ((), found) = both(move || other.send(), || wait.poll(&waker, look));
        assert!(found == Look::Done(2) || flag.is_set(), "it sleeps, and the value is new");
        drop(wait);
    })
}

/// One sender sends and goes, and so does the other one.
pub(crate) fn last_sender_goes<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let watched = Watched::new(2);
        let other = watched.clone();
        let send = move || {
            other.send();
            other.leave::<BROKEN>();
        };
        both(send, || watched.leave::<BROKEN>());
        assert_eq!(watched.look(), Look::Done(2 | ENDED), "the last version");
    })
}

/// A message of weight 1 is dropped while a sender looks for room and then sleeps. Broken: the bell
/// is rung first.
pub(crate) fn room_comes_back<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let weighed = Arc::new((AtomicU64::new(1), Bell::default()));
        let other = weighed.clone();
        let (flag, waker) = Flag::new();
        let mut wait = Wait::at(&weighed.1);
        let look = || match weighed.0.load(Ordering::Relaxed) {
            0 => Look::Done(()),
            _ => Look::NotYet,
        };
        let give_back = move || {
            let (weight, room) = &*other;
            if BROKEN {
                room.ring();
            }
            weight.fetch_add(u64::MAX, Ordering::Relaxed);
            if !BROKEN {
                room.ring();
            }
        };
        let ((), found) = both(give_back, || wait.poll(&waker, look));
        assert!(found == Look::Done(()) || flag.is_set(), "it sleeps, and there is room");
        drop(wait);
    })
}

/// A slot: how many receivers have not got its value, and whether a thread uses it.
struct Slot<const BUG: u8> {
    word: AtomicU64,
    value: UnsafeCell<u64>,
}

/// What is wrong with a slot.
#[derive(Clone, Copy)]
pub(crate) enum Bug {
    /// The sender doesn't wait for a receiver that uses the slot.
    Overwritten,
    /// A receiver decides whether it is the last one before it takes the slot.
    LastTooSoon,
    /// A receiver gives the slot back before it has got the value.
    GivenBackTooSoon,
}

const TAKEN: u64 = 1;
const LEFT: u64 = 2;
/// Of the value that is sent next. One lap more.
const LAP: u64 = 16;

impl<const BUG: u8> Slot<BUG> {
    const fn has(bug: Bug) -> bool {
        BUG == bug as u8
    }

    fn with(receivers: u64) -> Rc<Self> {
        let word = AtomicU64::new(receivers * LEFT);
        Rc::new(Self { word, value: UnsafeCell::new(1) })
    }

    /// The value of the first lap, which the last receiver takes. `None` if it is overwritten.
    fn receive(&self) -> Option<u64> {
        let seen = self.word.load(Ordering::Relaxed);
        let mut word = seen;
        while word & TAKEN != 0 || word < LAP {
            if word & TAKEN != 0 {
                loom::hint::spin_loop();
                word = self.word.load(Ordering::Relaxed);
                continue;
            }
            let to = word - LEFT + TAKEN;
            let taken = self.word.compare_exchange(word, to, Ordering::Acquire, Ordering::Relaxed);
            let Err(found) = taken else {
                return Some(self.use_value(word - LEFT, seen));
            };
            word = found;
        }
        None
    }

    fn use_value(&self, word: u64, seen: u64) -> u64 {
        let give_back = || self.word.store(word, Ordering::Release);
        let is_last = if Self::has(Bug::LastTooSoon) { seen == LEFT } else { word == 0 };
        if Self::has(Bug::GivenBackTooSoon) {
            give_back();
        }
        let value = self.value.with_mut(|value| {
            // SAFETY: the slot is taken. loom finds another thread that uses it.
            let value = unsafe { &mut *value };
            if is_last { std::mem::take(value) } else { *value }
        });
        if !Self::has(Bug::GivenBackTooSoon) {
            give_back();
        }
        value
    }

    /// Sends the value of the next lap. Returns the one that is overwritten.
    fn send(&self) -> u64 {
        loop {
            let word = self.word.load(Ordering::Acquire);
            let is_taken = word & TAKEN != 0 && !Self::has(Bug::Overwritten);
            let take = || {
                let taken = word | TAKEN;
                self.word.compare_exchange(word, taken, Ordering::Acquire, Ordering::Relaxed)
            };
            if !is_taken && (word == 0 || take().is_ok()) {
                break;
            }
            loom::hint::spin_loop();
        }
        // SAFETY: the slot is taken, or no receiver takes it. loom finds another thread that uses
        // it.
        let old = self.value.with_mut(|value| std::mem::take(unsafe { &mut *value }));
        self.word.store(LAP + LEFT, Ordering::Release);
        old
    }
}

/// A value is sent into the slot of one that is received.
pub(crate) fn overwritten_while_received<const BUG: u8>() -> Exploration {
    explore(|| {
        let slot = Slot::<BUG>::with(1);
        let other = slot.clone();
        let (old, received) = both(move || other.send(), || slot.receive());
        assert_eq!(old + received.unwrap_or_default(), 1, "it is received, or overwritten");
    })
}

/// Two receive the same value, and the last one takes it.
pub(crate) fn last_takes<const BUG: u8>() -> Exploration {
    explore(|| {
        let slot = Slot::<BUG>::with(2);
        let other = slot.clone();
        let (there, here) = both(move || other.receive(), || slot.receive());
        assert_eq!((there, here), (Some(1), Some(1)));
        assert_eq!(slot.send(), 0, "the last one has taken it");
    })
}

/// A sender sends a value and goes. Broken: the receiver looks whether a value is there before it
/// looks whether the sender is gone.
pub(crate) fn closed_after_a_value<const BROKEN: bool>() -> Exploration {
    explore(|| {
        let [position, closed] = [0, 0].map(|of| Arc::new(AtomicU64::new(of)));
        let (sent, gone) = (position.clone(), closed.clone());
        let send = move || {
            sent.store(1, Ordering::Relaxed);
            gone.store(1, Ordering::Release);
        };
        let look = || {
            let early = position.load(Ordering::Relaxed);
            let is_closed = closed.load(Ordering::Acquire) == 1;
            let position = if BROKEN { early } else { position.load(Ordering::Relaxed) };
            (is_closed, position)
        };
        let ((), (is_closed, position)) = both(send, look);
        assert!(!is_closed || position == 1, "there is a value");
    })
}
