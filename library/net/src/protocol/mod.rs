//! What both ends say to each other, without the engine and without a clock: states that take
//! packets and times, and give packets.
//!
//! A sender numbers its items from 0. The receiver tells two numbers: `expected`, before which it
//! has all items, and `taken`, before which its program has taken them. The sender may send up to
//! `taken` and a window, and keeps each item until it is taken. So the memory of both ends is
//! bounded by the window, and a receiver is never sent more than it has room for.
//!
//! The receiver also tells a `limit`: it has room for the items before it. It may have less room
//! than the sender's window, and hold items of an earlier sender.
//!
//! The receiver says now and then what its program has taken, so that a stream costs few packets. While the
//! sender's program waits until all is taken, its packets say so, and the receiver says at once when it is.
//!
//! A packet that is lost leaves a gap. The receiver drops what comes behind a gap, and the sender
//! goes back to `expected`: by the receiver's word, or after a time without any. What comes twice
//! is known by its number.
//!
//! Each end has a random [`Id`]: a process that starts anew has another one. Ends are *bound* to
//! each other. An end that hears nothing of the other one for some seconds takes it for dead, and
//! may be bound to another one. A new receiver begins with the oldest item that the sender has not
//! seen taken. A new sender begins with its own item 0.
//!
//! At most once: the sender keeps nothing that it has sent, the receiver counts what is in a gap as
//! lost, and a new receiver begins with the oldest item that wasn't sent.
//!
//! To several receivers: see [`Distributing`].

mod distributing;
mod packet;
mod receiving;
mod sending;
mod several;
#[cfg(test)]
pub(crate) mod simulated;

use std::time::Duration;

pub(crate) use distributing::{Distributing, Distribution, Target};
pub(crate) use packet::{BINDINGS, Data, Guarantee, Id, Packet, Status, Terms};
pub(crate) use receiving::Receiving;
pub(crate) use sending::{Returned, Sending};
pub(crate) use several::Several;

/// The state of a sender, to one receiver or to several.
pub(crate) trait Deliver {
    fn on_packet(&mut self, packet: Packet, now: Duration);

    /// The next packet that is due.
    fn poll(&mut self, now: Duration) -> Option<Packet>;

    /// When `poll` may give a packet next, if nothing comes.
    fn next_time(&self) -> Duration;

    /// The program sends no more.
    fn end(&mut self);

    /// Whether the program waits until all is taken: then the receivers tell it at once.
    fn set_awaited(&mut self, is_awaited: bool);

    fn has_ended(&self) -> bool;

    /// Whether all that was accepted has been taken, and the end is known.
    fn is_over(&self) -> bool;

    /// Whether no receiver takes more.
    fn is_closed(&self) -> bool;

    /// The number of items that were accepted and not taken.
    fn untaken(&self) -> u64;

    /// The number of receivers that are there.
    fn receivers(&self) -> usize;

    /// Whether a receiver was heard that doesn't agree with this sender, and no other one.
    fn has_differed(&self) -> bool;

    /// Whether another sender has this one's place, and lives.
    fn is_refused(&self) -> bool;

    /// Whether another sender has this one's place by the last word that was heard. It may be dead.
    fn may_be_refused(&self, now: Duration) -> bool;

    /// Last packets to receivers that have all or are closed, so that they need not wait for questions.
    /// They may get lost.
    fn farewells(&self) -> Vec<Packet>;
}

/// The state of a receiver, of one sender or of several.
pub(crate) trait Receive {
    /// Returns items that are new, and the number of those at their beginning that are not.
    fn on_packet(&mut self, packet: Packet, now: Duration) -> Option<(Data, u32)>;

    /// `taken` is the number of items that the program has taken since the start, of all senders.
    fn on_taken(&mut self, taken: u64);

    /// The next packet that is due.
    fn poll(&mut self, now: Duration) -> Option<Packet>;

    /// When `poll` may give a packet next, if nothing comes and nothing is taken.
    fn next_time(&self) -> Duration;

    /// The program takes no more.
    fn close(&mut self);

    /// Whether all that will ever come has been taken, and the sender was told so.
    fn is_over(&self) -> bool;

    /// Whether all that will ever come has been delivered.
    fn has_all(&self) -> bool;

    /// Whether no other sender has to be told anything.
    fn has_one_sender(&self) -> bool;

    /// Whether a sender is there.
    fn has_sender(&self) -> bool;

    /// Whether a sender was heard that doesn't agree with this receiver, and no other one.
    fn has_differed(&self) -> bool;

    /// Whether another receiver has this one's place, and lives.
    fn is_refused(&self) -> bool;

    /// Whether another receiver has this one's place by the last word that was heard. It may be dead.
    fn may_be_refused(&self, now: Duration) -> bool;

    /// Whether a sender may wait until items are taken.
    fn is_short(&self) -> bool;

    /// Whether a sender's program waits until all is taken.
    fn is_awaited(&self) -> bool;

    /// Whether items are delivered and not taken.
    fn has_untaken(&self) -> bool;

    /// Whether this sender is bound to this receiver, or was.
    fn knows(&self, id: Id) -> bool;

    /// The number of items that were sent to this receiver, and don't come.
    fn lost(&self) -> u64;

    fn times(&self) -> Times;
}

/// When ends speak.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// An end of which nothing is heard for so long is dead.
    pub(crate) patience: Duration,
    /// The first time without an answer after which a packet is sent again. It doubles, up to a
    /// quarter of `patience`.
    pub(crate) again: Duration,
}

impl Times {
    /// The time after which a sender is told what was taken.
    pub(crate) fn quarter(self) -> Duration {
        self.again / 4
    }

    /// Time between two packets of an end that has nothing to say.
    fn heartbeat(self) -> Duration {
        self.patience / 4
    }
}

impl Default for Times {
    fn default() -> Self {
        Self { patience: Duration::from_secs(3), again: Duration::from_millis(100) }
    }
}

/// The other end, as far as it was heard of.
#[derive(Debug, Clone, Copy)]
struct Other {
    id: Id,
    heard: Duration,
}

impl Other {
    fn is_dead(self, now: Duration, times: Times) -> bool {
        now.saturating_sub(self.heard) > times.patience
    }
}

/// When an end that is alone speaks next, and how long it then waits.
#[derive(Debug, Clone, Copy)]
struct Search {
    at: Duration,
    wait: Duration,
}

impl Search {
    fn from(now: Duration, times: Times) -> Self {
        Self { at: now, wait: times.again }
    }

    /// Whether to speak now.
    fn is_due(&mut self, now: Duration, times: Times) -> bool {
        let is_due = now >= self.at;
        if is_due {
            *self = Self { at: now + self.wait, wait: (2 * self.wait).min(times.heartbeat()) };
        }
        is_due
    }
}

/// Since when, and until when, this end was told that another one has its place.
#[derive(Debug, Clone, Copy)]
struct Refusals {
    first: Duration,
    last: Duration,
}

impl Refusals {
    /// One more. After a silence they begin anew.
    fn and(before: Option<Self>, now: Duration, times: Times) -> Option<Self> {
        let first =
            before.filter(|before| before.are_new(now, times)).map_or(now, |before| before.first);
        Some(Self { first, last: now })
    }

    /// Whether the other end can't be one that is dead.
    fn are_final(self, times: Times) -> bool {
        self.last - self.first > 2 * times.patience
    }

    /// Whether the last one was heard of late.
    fn are_new(self, now: Duration, times: Times) -> bool {
        now.saturating_sub(self.last) <= times.patience
    }
}

/// Tells another end, now and then, that the two don't agree.
#[derive(Debug, Clone, Copy, Default)]
struct Difference {
    /// Whether one was heard while this end was alone.
    is_known: bool,
    told: Option<Duration>,
}

impl Difference {
    /// Whether to answer. Each answer reaches all ends of this name, so there are few.
    fn is_heard(&mut self, is_alone: bool, now: Duration, times: Times) -> bool {
        self.is_known |= is_alone;
        let answers = self.told.is_none_or(|told| now >= told + times.heartbeat());
        if answers {
            self.told = Some(now);
        }
        answers
    }
}
