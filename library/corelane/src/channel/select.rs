// Above 500 lines: the list of operations, its waits, and what was selected.

//! Waiting for one of several channels.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt;
use core::future::{Future, poll_fn};
use core::task::{Poll, Waker, ready};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use super::access::Access;
use super::alarm::Alarm;
use super::common::{Common, Selected};
use super::ends::Message;
use super::error::{
    ReadyTimeoutError, RecvError, SelectTimeoutError, SendError, TryReadyError, TrySelectError,
};
use super::operation::{Found, Operation};
use super::party::Party;
use super::sender::Sent;
use super::{Receiver, Sender, is_over, unlimited};
use crate::memory::{Parker, pause};
use crate::random::Random;
use crate::unwind::call_each;
use crate::wait::bell::{Bell, Entry};
use crate::wait::budget::{Budget, count_step};
use crate::wait::thread::ThreadWait;

/// A list of send and receive operations, of which one is carried out: the first one that would not
/// wait.
///
/// If several would not wait, one of them is chosen at random. The [`select!`](crate::select) macro
/// is easier if the operations are known when the program is written.
///
/// ```
/// use corelane::channel::{Select, bounded};
///
/// let (tx, rx) = bounded(1);
/// let (_other_tx, other_rx) = bounded::<u8>(1);
/// tx.send("hello").unwrap();
///
/// let mut select = Select::new();
/// let first = select.recv(&rx);
/// let _second = select.recv(&other_rx);
/// let selected = select.select();
/// assert_eq!(selected.index(), first);
/// assert_eq!(selected.recv(&rx), Ok("hello"));
/// ```
///
/// A select with [exclusive](super::Exclusive) handles can be sent to another thread, but panics
/// when it is used there.
#[derive(Clone)]
pub struct Select<'a> {
    /// The operations that were not removed, and their indices.
    cases: Vec<(usize, &'a dyn Operation)>,
    next: usize,
    is_biased: bool,
    /// The thread that has added an operation of an exclusive handle.
    owner: Option<ThreadId>,
}

// SAFETY: the operations of shared handles may be done by any thread: each thread has an end of its
// own. Those of exclusive handles are done by the thread that has added them, see `check_thread`.
// A message that isn't `Send` stays in the channel, unless the caller has a handle, which stays on
// its thread: see `Operation::abandon`.
unsafe impl Send for Select<'_> {}
// SAFETY: as above. What is called by `&self` changes nothing.
unsafe impl Sync for Select<'_> {}

impl Default for Select<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Select { .. }")
    }
}

impl<'a> Select<'a> {
    /// An empty list.
    pub fn new() -> Self {
        Self { cases: Vec::new(), next: 0, is_biased: false, owner: None }
    }

    /// An empty list. If several operations would not wait, the one that was added first is carried
    /// out.
    pub fn new_biased() -> Self {
        Self { is_biased: true, ..Self::new() }
    }

    /// Adds a send operation, and returns its index.
    pub fn send<T, A: Access>(&mut self, sender: &'a Sender<T, A>) -> usize {
        self.add::<A>(sender)
    }

    /// Adds a receive operation, and returns its index.
    pub fn recv<T, A: Access>(&mut self, receiver: &'a Receiver<T, A>) -> usize {
        self.add::<A>(receiver)
    }

    fn add<A: Access>(&mut self, operation: &'a dyn Operation) -> usize {
        if !A::IS_SHARED {
            self.owner.get_or_insert_with(|| thread::current().id());
        }
        self.check_thread();
        let index = self.next;
        self.cases.push((index, operation));
        self.next += 1;
        index
    }

    /// Removes an operation, for instance because its channel is disconnected. The others keep
    /// their indices.
    ///
    /// # Panics
    ///
    /// If no operation has this index.
    pub fn remove(&mut self, index: usize) {
        let place = self.cases.iter().position(|(known, _)| *known == index);
        self.cases.remove(place.expect("no operation with this index"));
    }

    /// Begins one of the operations if one would not wait. It must be
    /// [completed](SelectedOperation).
    ///
    /// # Errors
    ///
    /// If all would wait.
    pub fn try_select(&mut self) -> Result<SelectedOperation<'a>, TrySelectError> {
        self.look(|operation| operation.begin()).map(SelectedOperation::new).ok_or(TrySelectError)
    }

    /// Begins one of the operations, and waits while all would wait. It must be
    /// [completed](SelectedOperation).
    ///
    /// # Panics
    ///
    /// If no operation was added.
    pub fn select(&mut self) -> SelectedOperation<'a> {
        self.select_by(None).expect("it waits for ever")
    }

    /// As [`select`](Self::select), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// When the time is over.
    pub fn select_timeout(
        &mut self,
        timeout: Duration,
    ) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        self.select_by(unlimited(timeout)).ok_or(SelectTimeoutError)
    }

    /// As [`select`](Self::select), until `deadline`.
    ///
    /// # Errors
    ///
    /// When the time is over.
    pub fn select_deadline(
        &mut self,
        deadline: Instant,
    ) -> Result<SelectedOperation<'a>, SelectTimeoutError> {
        self.select_by(Some(deadline)).ok_or(SelectTimeoutError)
    }

    fn select_by(&self, until: Option<Instant>) -> Option<SelectedOperation<'a>> {
        let begin = |operation: &dyn Operation| operation.begin();
        let chosen = |operation: &dyn Operation, number| operation.chosen(number);
        self.wait(until, begin, Some(&chosen)).map(SelectedOperation::new)
    }

    /// The index of an operation that would not wait now. By the time it is done, it may wait
    /// again.
    ///
    /// # Errors
    ///
    /// If all would wait.
    pub fn try_ready(&mut self) -> Result<usize, TryReadyError> {
        self.look(is_ready).map(|(index, ..)| index).ok_or(TryReadyError)
    }

    /// As [`try_ready`](Self::try_ready), and waits while all would wait.
    ///
    /// # Panics
    ///
    /// If no operation was added.
    pub fn ready(&mut self) -> usize {
        self.ready_by(None).expect("it waits for ever")
    }

    /// As [`ready`](Self::ready), for at most `timeout`.
    ///
    /// # Errors
    ///
    /// When the time is over.
    pub fn ready_timeout(&mut self, timeout: Duration) -> Result<usize, ReadyTimeoutError> {
        self.ready_by(unlimited(timeout)).ok_or(ReadyTimeoutError)
    }

    /// As [`ready`](Self::ready), until `deadline`.
    ///
    /// # Errors
    ///
    /// When the time is over.
    pub fn ready_deadline(&mut self, deadline: Instant) -> Result<usize, ReadyTimeoutError> {
        self.ready_by(Some(deadline)).ok_or(ReadyTimeoutError)
    }

    /// As [`ready`](Self::ready), in a task.
    ///
    /// The future stays on its thread. A task that moves takes `recv_async` of each channel instead,
    /// and the `select!` of its runtime.
    pub fn ready_async(&mut self) -> impl Future<Output = usize> + use<'_, 'a> {
        let (mut sleepers, mut alarm, mut budget) = (None, None, Budget::default());
        poll_fn(move |context| {
            let is_first = sleepers.is_none();
            if is_first {
                ready!(budget.poll_step(context.waker()));
            }
            drop((sleepers.take(), alarm.take()));
            let mut found = self.look(is_ready);
            if found.is_none() {
                let new = Sleepers::new(&self.cases, context.waker(), false);
                if !new.may_sleep {
                    context.waker().wake_by_ref();
                }
                found = self.look(is_ready);
                (sleepers, alarm) =
                    (Some(new), self.due().map(|due| Alarm::new(due, context.waker())));
            }
            match found {
                Some((index, ..)) => {
                    drop((sleepers.take(), alarm.take()));
                    count_step(is_first);
                    Poll::Ready(index)
                }
                None => Poll::Pending,
            }
        })
    }

    fn ready_by(&self, until: Option<Instant>) -> Option<usize> {
        self.wait(until, is_ready, None).map(|(index, ..)| index)
    }

    /// Only the thread that owns exclusive handles may use them.
    fn check_thread(&self) {
        let is_owner = self.owner.is_none_or(|owner| owner == thread::current().id());
        assert!(is_owner, "a `Select` with exclusive handles was sent to another thread");
    }

    /// Looks at all operations. If nothing is found, there was a moment at which none was ready.
    fn look<R>(&self, look: impl Fn(&dyn Operation) -> Option<R>) -> Option<Case<'a, R>> {
        self.check_thread();
        loop {
            let versions = || self.cases.iter().map(|(_, operation)| operation.version());
            let before = versions().fold(0, u64::wrapping_add);
            let found = self.look_once(&look);
            // Versions grow: if their sum is the same, none has changed.
            if found.is_some() || before == versions().fold(0, u64::wrapping_add) {
                return found;
            }
        }
    }

    /// Looks at each operation once.
    fn look_once<R>(&self, look: impl Fn(&dyn Operation) -> Option<R>) -> Option<Case<'a, R>> {
        let look = |&(index, operation): &(usize, &'a dyn Operation)| {
            look(operation).map(|found| (index, operation, found))
        };
        if self.is_biased || self.cases.len() < 2 {
            return self.cases.iter().find_map(look);
        }
        self.shuffled().into_iter().find_map(look)
    }

    fn shuffled(&self) -> Vec<&(usize, &'a dyn Operation)> {
        let mut order: Vec<_> = self.cases.iter().collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random(last + 1));
        }
        order
    }

    /// Looks, and waits while no operation is ready. `chosen` returns the operation that a faster
    /// partner has chosen; without it the select waits for no partner.
    fn wait<R>(
        &self,
        until: Option<Instant>,
        look: impl Fn(&dyn Operation) -> Option<R>,
        chosen: Option<&Chosen<'_, R>>,
    ) -> Option<Case<'a, R>> {
        assert!(
            until.is_some() || !self.cases.is_empty(),
            "no operations have been added to `Select`"
        );
        let mut wait = ThreadWait::begin();
        loop {
            if let Some(found) = self.look(&look) {
                wait.found();
                return Some(found);
            }
            if is_over(until) {
                return None;
            }
            match (wait.again(), chosen) {
                (true, _) => {}
                (false, None) => self.sleep(&Parker::new(), until, None),
                (false, Some(chosen)) => {
                    let found =
                        self.sleep_for_partners(until).and_then(|(index, operation, number)| {
                            chosen(operation, number).map(|found| (index, operation, found))
                        });
                    if found.is_some() {
                        return found;
                    }
                }
            }
        }
    }

    /// Sleeps until a bell wakes it, or until a partner has chosen an operation, by the number of
    /// its wait.
    fn sleep_for_partners(&self, until: Option<Instant>) -> Option<Case<'a, u64>> {
        let parker = Parker::new();
        let mut entered = Entered { party: Party::new(parker.waker()), waits: Vec::new() };
        for &(index, operation) in self.shuffled() {
            if let Some(number) = operation.enter(&entered.party, index) {
                entered.waits.push((index, operation, number));
                operation.bell().ring_for_all();
            }
        }
        if entered.party.chosen().is_none() {
            self.sleep(&parker, until, Some(&entered.party));
        }
        entered.end()
    }

    /// Sleeps until a bell wakes it.
    fn sleep(&self, parker: &Parker, until: Option<Instant>, own: Option<&Arc<Party>>) {
        let sleepers = Sleepers::new(&self.cases, parker.waker(), own.is_some());
        let is_ready = self.cases.iter().any(|(_, operation)| operation.is_ready(own));
        match sleepers.may_sleep && !is_ready {
            true => parker.park(self.due().into_iter().chain(until).min()),
            // Another thread may be in the middle of its call.
            false => pause(1),
        }
    }

    /// When the clock makes an operation ready.
    fn due(&self) -> Option<Instant> {
        self.cases.iter().filter_map(|(_, operation)| operation.due()).min()
    }
}

/// What is found where a partner has chosen the wait with this number.
type Chosen<'a, R> = dyn Fn(&dyn Operation, u64) -> Option<R> + 'a;

/// Index, operation, and what was found.
type Case<'a, R> = (usize, &'a dyn Operation, R);

fn is_ready(operation: &dyn Operation) -> Option<()> {
    operation.is_ready(None).then_some(())
}

/// The waits of a select for partners. A partner chooses one of them at most.
struct Entered<'a> {
    party: Arc<Party>,
    /// By their numbers.
    waits: Vec<Case<'a, u64>>,
}

impl<'a> Entered<'a> {
    /// Ends all waits but that which a partner has chosen.
    fn end(&mut self) -> Option<Case<'a, u64>> {
        let chosen = self.party.give_up();
        let mut result = None;
        for (index, operation, number) in self.waits.drain(..) {
            match chosen == Some(index) {
                true => result = Some((index, operation, number)),
                false => operation.leave(number),
            }
        }
        result
    }
}

impl Drop for Entered<'_> {
    /// A waker has panicked: the operation that a partner has chosen is given up.
    fn drop(&mut self) {
        if let Some((_, operation, number)) = self.end() {
            operation.abandon(Found::Kept(number));
        }
    }
}

/// One sleeper at the bells of several channels.
struct Sleepers<'a> {
    places: Vec<(&'a dyn Operation, Entry)>,
    may_sleep: bool,
}

impl<'a> Sleepers<'a> {
    /// At the bells of all operations but those that partners can claim.
    fn new(cases: &[(usize, &'a dyn Operation)], waker: &Waker, has_party: bool) -> Self {
        let operations = cases.iter().map(|(_, operation)| *operation);
        let mut this = Self { places: Vec::new(), may_sleep: false };
        for operation in operations.filter(|operation| !(has_party && operation.has_partners())) {
            this.places.push((operation, operation.bell().enter(waker)));
        }
        // One fence for all.
        let entries = this.places.iter().map(|(operation, entry)| (operation.bell(), *entry));
        this.may_sleep = Bell::fence(entries);
        this
    }
}

impl Drop for Sleepers<'_> {
    /// The wake-up is passed on to another sleeper of its bell, because this select may take from
    /// another channel: but only if there is still a message or room. Otherwise selects would wake
    /// each other for ever.
    fn drop(&mut self) {
        call_each(&self.places, |(operation, entry)| {
            if operation.bell().withdraw(entry.number) && operation.is_ready(None) {
                operation.bell().ring();
            }
        });
    }
}

/// A number below `end`.
fn random(end: usize) -> usize {
    std::thread_local! {
        static RANDOM: Cell<Random> = const { Cell::new(Random::new(0)) };
    }
    RANDOM.with(|state| {
        let mut random = state.get();
        let number = random.below(end);
        state.set(random);
        number
    })
}

/// An operation that has begun, and must be completed: a send by [`send`](Self::send), a receive by
/// [`recv`](Self::recv).
///
/// Neither of them waits. A send has room reserved, and a receive has its message. Meanwhile all
/// other calls of the channel use the rest of the room and the other messages. The message of a
/// send comes behind the messages that were sent before the operation is completed.
///
/// A channel of capacity 0 has chosen a partner, which waits until the operation is completed. If
/// the partner is a future that is dropped before, the message is for the next receiver.
///
/// # Panics
///
/// If it is dropped. Room goes back, and the message of a channel of capacity 0 goes to the next
/// receiver. The message of another channel is dropped with the channel.
#[must_use]
pub struct SelectedOperation<'a> {
    index: usize,
    operation: &'a dyn Operation,
    /// `None` when it is completed.
    found: Option<Found>,
}

impl<'a> SelectedOperation<'a> {
    fn new((index, operation, found): Case<'a, Found>) -> Self {
        Self { index, operation, found: Some(found) }
    }

    /// The index of the operation.
    pub fn index(&self) -> usize {
        self.index
    }

    fn complete(mut self, address: *const (), what: &str) -> Found {
        assert!(
            core::ptr::addr_eq(self.operation.address(), address),
            "passed a {what} that wasn't selected"
        );
        self.found.take().expect("it is completed once")
    }

    /// Sends the message.
    ///
    /// # Errors
    ///
    /// If all receivers are gone, or the channel was closed. The error has the message.
    ///
    /// # Panics
    ///
    /// If the operation is not one of this sender.
    pub fn send<T, A: Access>(self, sender: &Sender<T, A>, message: T) -> Result<(), SendError<T>> {
        let mut message = Message::new(message);
        let sent = match self.complete(sender.address(), "sender") {
            Found::Disconnected => Err(SendError(())),
            Found::Room => sender.send_selected(&mut message),
            Found::Kept(number) => give(sender.common(), number, &mut message),
        };
        sent.map_err(|SendError(())| SendError(message.unpack()))
    }

    /// Receives the message.
    ///
    /// # Errors
    ///
    /// If the channel is empty and disconnected.
    ///
    /// # Panics
    ///
    /// If the operation is not one of this receiver.
    pub fn recv<T, A: Access>(self, receiver: &Receiver<T, A>) -> Result<T, RecvError> {
        match self.complete(receiver.address(), "receiver") {
            Found::Disconnected | Found::Room => Err(RecvError),
            Found::Kept(number) => match receiver.common().take_selected(number) {
                Some(Selected::Message(mut message)) => Ok(message.unpack()),
                Some(_) | None => unreachable!("a receive finds a message"),
            },
        }
    }
}

/// Gives the message to the partner that a select has chosen.
fn give<T>(common: &Common<T>, number: u64, message: &mut Message<T>) -> Sent {
    match (common.kind.meeting(), common.take_selected(number)) {
        (Some(meeting), Some(Selected::Waiting(waiting))) => meeting.give(&waiting, message),
        _ => unreachable!("a send finds a partner"),
    }
}

impl Drop for SelectedOperation<'_> {
    fn drop(&mut self) {
        if let Some(found) = self.found.take() {
            self.operation.abandon(found);
            assert!(
                std::thread::panicking(),
                "dropped `SelectedOperation` without completing the operation"
            );
        }
    }
}

impl fmt::Debug for SelectedOperation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("SelectedOperation { .. }")
    }
}
