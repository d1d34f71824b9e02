//! What all handles of a channel share besides the queue.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use core::cell::Cell;
use core::iter;

use super::ends::{Item, Kind, Message, Rx, Tx};
use super::rendezvous::{Rendezvous, Waiting};
use super::turn::Turns;
use super::weighed::Weights;
use crate::memory::{AtomicU64, Mutex, Ordering, yield_now};
use crate::queue::TryPopError;
use crate::unwind::{call_each, drop_each};
use crate::wait::bell::{Bell, wake_each};
use crate::wait::thread::Habit;

/// A handle's end of the queue, and what it remembers.
pub(super) struct End<Q> {
    pub(super) queue: Q,
    pub(super) habit: Cell<Habit>,
}

impl<Q> End<Q> {
    pub(super) fn new(queue: Q) -> Self {
        Self { queue, habit: Cell::new(Habit::new()) }
    }
}

impl<Q: Clone> Clone for End<Q> {
    fn clone(&self) -> Self {
        Self::new(self.queue.clone())
    }
}

/// Whether nothing may be sent any more.
pub(super) struct Closed(AtomicU64);

impl Closed {
    #[inline(always)]
    pub(super) fn is_set(&self) -> bool {
        // Acquire ↔ Release in `Common::close`: everything that the closing thread did before.
        self.0.load(Ordering::Acquire) != 0
    }
}

/// What all handles of a channel share.
pub(super) struct Common<T> {
    /// Receivers sleep here.
    pub(super) items: Bell,
    /// Senders sleep here.
    pub(super) room: Bell,
    pub(super) closed: Closed,
    senders: AtomicU64,
    /// [`WeakSender`](super::WeakSender)s.
    weak_senders: AtomicU64,
    receivers: AtomicU64,
    /// Messages that senders of [`latest`](super::latest()) have dropped.
    dropped: AtomicU64,
    /// The queue's receiving end, when all receivers are gone.
    rest: Mutex<Option<Rx<T>>>,
    pub(super) kind: Kind<T>,
    /// What selects have taken, by their numbers.
    selected: Mutex<BTreeMap<u64, Selected<T>>>,
    /// The descriptor for pollers, if one was asked for.
    #[cfg(target_os = "linux")]
    pub(super) watch: std::sync::OnceLock<super::ready_fd::Watch>,
    pub(super) extra: Extra,
}

/// What only some channels have.
pub(super) enum Extra {
    None,
    /// Of channels of [`task::mpsc`](super::task::mpsc).
    OfTasks(Box<OfTasks>),
    /// Of [`weighed`](super::weighed()) channels. Each message has it, too.
    Weights(Arc<Weights>),
}

impl Extra {
    /// Bells whose sleepers wait for the end of the channel, too.
    fn bells(&self) -> impl Iterator<Item = &Bell> {
        let bells = match self {
            Self::None => None,
            Self::OfTasks(of) => Some([&of.closed, &of.turns.bell]),
            Self::Weights(weights) => Some([&weights.room, &weights.turns.bell]),
        };
        bells.into_iter().flatten()
    }
}

#[derive(Default)]
pub(super) struct OfTasks {
    /// Tasks that wait for the end of the channel.
    pub(super) closed: Bell,
    /// Of tasks that reserve room for several messages.
    pub(super) turns: Turns,
}

impl<T> Drop for Common<T> {
    fn drop(&mut self) {
        // Messages that selects have taken and forgotten: several of them may panic.
        drop_each(|| self.selected.lock().pop_first());
    }
}

/// How many handles a channel has.
pub(super) struct Counts {
    pub(super) senders: usize,
    pub(super) weak_senders: usize,
    pub(super) receivers: usize,
}

/// What a select has taken.
pub(super) enum Selected<T> {
    /// In a box: a node of a tree has room for many messages, and would be made on the stack.
    Message(Box<Message<T>>),
    Waiting(Waiting<Item<T>>),
}

impl<T> Common<T> {
    /// Of one sender and one receiver.
    pub(super) fn new(tx: &Tx<T>, rx: &Rx<T>, kind: Kind<T>, extra: Extra) -> Self {
        Self {
            items: Bell::of(tx.word()),
            room: Bell::of(rx.word()),
            closed: Closed(AtomicU64::new(0)),
            senders: AtomicU64::new(1),
            weak_senders: AtomicU64::new(0),
            receivers: AtomicU64::new(1),
            dropped: AtomicU64::new(0),
            rest: Mutex::new(None),
            kind,
            selected: Mutex::new(BTreeMap::new()),
            #[cfg(target_os = "linux")]
            watch: std::sync::OnceLock::new(),
            extra,
        }
    }

    /// Where receivers sleep that look for messages in the queue, and don't wait for a partner.
    pub(super) fn arrivals(&self) -> &Bell {
        self.kind.meeting().map_or(&self.items, |meeting| &meeting.arrivals)
    }

    /// Whether nothing may be sent any more.
    #[inline(always)]
    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_set()
    }

    /// Whether all senders are gone.
    fn is_without_senders(&self) -> bool {
        // Acquire ↔ Release in `leave_sender`: the last messages, and the weak senders.
        self.senders.load(Ordering::Acquire) == 0
    }

    /// Whether nothing may be sent any more, but into room that is reserved.
    pub(super) fn is_ending(&self) -> bool {
        self.is_without_senders() || self.is_closed()
    }

    /// Whether nothing is sent any more.
    pub(super) fn has_ended(&self) -> bool {
        self.is_ending() && self.is_over()
    }

    /// Whether nothing is sent any more into a channel that is ending.
    #[cold]
    #[inline(never)]
    fn is_over(&self) -> bool {
        self.is_without_senders() || !self.kind.is_reserved()
    }

    /// After a message was sent by a sender that is asked for attention.
    #[cold]
    #[inline(never)]
    pub(super) fn sent(&self) {
        // `ring` has a fence between the push and its look for sleepers. It serves the look here,
        // too.
        self.items.ring();
        if self.is_closed() {
            self.clear();
        }
    }

    /// Drops all messages if all receivers are gone.
    #[cold]
    #[inline(never)]
    pub(super) fn clear(&self) {
        if let Some(meeting) = self.kind.meeting() {
            meeting.clear();
        }
        // Each without the lock: a message may own anything.
        drop_each(|| self.pop_rest());
    }

    /// One of the messages that no receiver gets.
    fn pop_rest(&self) -> Option<Message<T>> {
        loop {
            let mut message = Message::empty();
            let popped = self.rest.lock().as_ref()?.pop(&mut message);
            match popped {
                Ok(_) => return Some(message),
                Err(TryPopError::Busy) => yield_now(),
                Err(TryPopError::Empty | TryPopError::Closed) => return None,
            }
        }
    }

    /// From now on no message can be sent.
    pub(super) fn close(&self) {
        // Release ↔ Acquire in `Closed::is_set`: what this thread did before.
        self.closed.0.store(1, Ordering::Release);
        // From now on senders look before and after they push.
        self.items.stop_users();
        // A sender that has not seen the channel closed has pushed its message already, or sees it
        // closed after its push. Without the fence, such a message stays until the channel is
        // dropped.
        let _ = self.items.heavy_fence();
        let partners = self.kind.meeting().map(Rendezvous::close);
        let bells = [&self.items, &self.room].into_iter().chain(self.extra.bells());
        let sleepers = bells.flat_map(Bell::take_all);
        wake_each(partners.into_iter().flatten().chain(sleepers));
    }

    /// After a reservation has ended. Receivers of a closed channel wait for that.
    pub(super) fn released(&self) {
        // Between the end of the reservation and the look. Pairs with the heavy fence in `close`,
        // whose sleepers look at the reservations.
        self.items.light_fence();
        if self.is_closed() {
            self.items.ring_for_all();
        }
    }

    pub(super) fn enter_sender(&self) {
        // Relaxed: the thread that uses the new handle got it from this thread.
        self.senders.fetch_add(1, Ordering::Relaxed);
    }

    /// One more sender, unless all are gone.
    pub(super) fn enter_sender_again(&self) -> bool {
        // Relaxed, all: as `enter_sender`.
        let mut senders = self.senders.load(Ordering::Relaxed);
        while senders != 0 {
            let another = senders + 1;
            let entered = self.senders.compare_exchange(
                senders,
                another,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match entered {
                Ok(_) => return true,
                Err(now) => senders = now,
            }
        }
        false
    }

    pub(super) fn enter_weak_sender(&self) {
        // Relaxed: as `enter_sender`.
        self.weak_senders.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn leave_weak_sender(&self) {
        // Relaxed: only counted.
        self.weak_senders.fetch_add(1_u64.wrapping_neg(), Ordering::Relaxed);
    }

    /// How many handles there are.
    pub(super) fn counts(&self) -> Counts {
        // Relaxed: only counted.
        let [senders, weak_senders, receivers] =
            [&self.senders, &self.weak_senders, &self.receivers]
                .map(|count| count.load(Ordering::Relaxed) as usize);
        Counts { senders, weak_senders, receivers }
    }

    pub(super) fn count_dropped(&self) {
        // Relaxed: only counted.
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn enter_receiver(&self) {
        self.receivers.fetch_add(1, Ordering::Relaxed);
    }

    /// A sender is gone, and its end of the queue.
    pub(super) fn leave_sender(&self) {
        // Release ↔ the fence in the last sender's `ring`, and Acquire in `has_ended`: the
        // messages.
        if self.senders.fetch_add(1_u64.wrapping_neg(), Ordering::Release) == 1 {
            let partners = self.kind.meeting().map(Rendezvous::close);
            let sleepers = iter::once(&self.items).flat_map(Bell::take_all);
            wake_each(partners.into_iter().flatten().chain(sleepers));
        }
    }

    /// A receiver is dropped. If it is the last one and there are senders, all messages are
    /// dropped: another thread may wait for something that a message owns. `end` gives an end of
    /// the queue.
    pub(super) fn leave_receiver(&self, end: impl FnOnce() -> Rx<T>) {
        // Relaxed: the queue's ends order what they do with it.
        let is_last = self.receivers.fetch_add(1_u64.wrapping_neg(), Ordering::Relaxed) == 1;
        // Relaxed: the weak senders of the last sender are known. They keep the queue, too.
        let is_kept = || self.weak_senders.load(Ordering::Relaxed) != 0;
        let has_senders = || !self.is_without_senders() || is_kept();
        if !is_last || self.kind.timer().is_some() || !has_senders() {
            return;
        }
        // Before it is closed: a sender that sees it closed clears the queue.
        *self.rest.lock() = Some(end());
        call_each([Self::close, Self::clear], |step| step(self));
    }

    /// Keeps what a select has taken, under a number.
    pub(super) fn keep_selected(&self, selected: Selected<T>) -> u64 {
        let mut all = self.selected.lock();
        let number = all.last_key_value().map_or(0, |(last, _)| last + 1);
        all.insert(number, selected);
        number
    }

    /// What a select has taken.
    pub(super) fn take_selected(&self, number: u64) -> Option<Selected<T>> {
        self.selected.lock().remove(&number)
    }
}
