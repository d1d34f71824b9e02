//! The state of a sender.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::{Data, Difference, Id, Other, Packet, Refusals, Status, Terms, Times};

/// Items that are sent in one packet.
#[derive(Debug)]
struct Batch {
    first: u64,
    count: u32,
    items: Bytes,
}

impl Batch {
    fn end(&self) -> u64 {
        self.first + u64::from(self.count)
    }
}

/// A sender: what it has accepted from its program, and what its receiver has.
#[derive(Debug)]
pub(crate) struct Sending {
    id: Id,
    terms: Terms,
    times: Times,
    /// Most items that are accepted and not taken.
    window: u64,
    /// What may have to be sent, oldest first.
    batches: VecDeque<Batch>,
    /// The number of the next item from the program.
    next: u64,
    /// Items before it need not be sent (again).
    sent: u64,
    /// What the receiver has told last.
    expected: u64,
    taken: u64,
    receiver: Option<Other>,
    /// The first item for this receiver.
    base: u64,
    has_ended: bool,
    /// Whether this receiver was told the end, and whether it has confirmed that.
    end_is_told: bool,
    end_is_known: bool,
    /// The gap that the sender has gone back to.
    gap: Option<u64>,
    /// When it last sent to the receiver, and when an answer last brought it on.
    told: Duration,
    answered: Duration,
    /// The time without an answer after which it sends again.
    again: Duration,
    /// When it next looks for a receiver, and how long it then waits.
    seek: (Duration, Duration),
    replies: VecDeque<Packet>,
    refusals: Option<Refusals>,
    difference: Difference,
    is_closed: bool,
}

impl Sending {
    pub(crate) fn new(id: Id, terms: Terms, times: Times, window: u64) -> Self {
        Self {
            id,
            terms,
            times,
            window,
            batches: VecDeque::new(),
            next: 0,
            sent: 0,
            expected: 0,
            taken: 0,
            receiver: None,
            base: 0,
            has_ended: false,
            end_is_told: false,
            end_is_known: false,
            gap: None,
            told: Duration::ZERO,
            answered: Duration::ZERO,
            again: times.again,
            seek: (Duration::ZERO, times.again),
            replies: VecDeque::new(),
            refusals: None,
            difference: Difference::default(),
            is_closed: false,
        }
    }

    /// How many items the program may send now.
    pub(crate) fn room(&self) -> u64 {
        self.window - (self.next - self.taken).min(self.window)
    }

    /// Accepts items, for which there is room.
    pub(crate) fn push(&mut self, items: Bytes, count: u32) {
        debug_assert!(u64::from(count) <= self.room() && !self.has_ended);
        self.batches.push_back(Batch { first: self.next, count, items });
        self.next += u64::from(count);
    }

    /// The program sends no more.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    #[cfg(test)]
    pub(crate) fn sent_in_all(&self) -> u64 {
        self.next
    }

    /// Whether all that was accepted has been taken, and the end is known to the receiver.
    pub(crate) fn is_over(&self) -> bool {
        self.end_is_known && self.taken == self.next
    }

    /// Whether the receiver takes no more.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The number of items that were accepted and not taken.
    pub(crate) fn untaken(&self) -> u64 {
        self.next - self.taken
    }

    pub(crate) fn has_receiver(&self) -> bool {
        self.receiver.is_some()
    }

    /// Whether another sender has this one's place, and lives.
    pub(crate) fn is_refused(&self) -> bool {
        self.refusals.is_some_and(|refusals| refusals.are_final(self.times))
    }

    /// Whether a receiver was heard that doesn't agree with this sender, and no other one.
    pub(crate) fn has_differed(&self) -> bool {
        self.difference.is_known
    }

    pub(crate) fn on_packet(&mut self, packet: Packet, now: Duration) {
        match packet {
            Packet::Offer { receiver, terms } if terms == self.terms => self.offered(receiver, now),
            Packet::Offer { .. } => self.differs(now),
            Packet::Status(status) if status.sender == self.id => self.answered(status, now),
            Packet::Refused { to } if to == self.id => {
                self.refusals = Refusals::and(self.refusals, now, self.times);
                self.receiver = None;
            }
            _ => {}
        }
    }

    fn differs(&mut self, now: Duration) {
        if self.difference.is_heard(self.receiver.is_none(), now, self.times) {
            self.replies.push_back(Packet::Seek { sender: self.id, terms: self.terms });
        }
    }

    fn offered(&mut self, id: Id, now: Duration) {
        match self.receiver {
            // It has lost sight of this sender.
            Some(receiver) if receiver.id == id => self.told = Duration::ZERO,
            Some(receiver) if !receiver.is_dead(now, self.times) => {
                self.replies.push_back(Packet::Refused { to: id });
            }
            _ => self.bind(id, now),
        }
    }

    /// A new receiver begins with what was not taken.
    fn bind(&mut self, id: Id, now: Duration) {
        self.receiver = Some(Other { id, heard: now });
        self.difference.is_known = false;
        (self.base, self.sent, self.expected) = (self.taken, self.taken, self.taken);
        self.gap = None;
        (self.end_is_told, self.end_is_known) = (false, false);
        (self.told, self.answered, self.again) = (Duration::ZERO, now, self.times.again);
    }

    fn answered(&mut self, status: Status, now: Duration) {
        let Some(receiver) = &mut self.receiver else { return };
        let is_sane = status.taken <= status.expected && status.expected <= self.next;
        if receiver.id != status.receiver || !is_sane {
            return;
        }
        receiver.heard = now;
        self.refusals = None;
        self.is_closed |= status.is_closed;
        self.end_is_known |= status.knows_end;
        if status.expected > self.expected || status.taken > self.taken {
            (self.answered, self.again) = (now, self.times.again);
        }
        self.expected = self.expected.max(status.expected);
        self.taken = self.taken.max(status.taken);
        self.sent = self.sent.max(self.expected);
        while self.batches.front().is_some_and(|batch| batch.end() <= self.taken) {
            self.batches.pop_front();
        }
        // Once for each gap: answers to what was sent meanwhile tell the same one.
        let is_new = status.expected == self.expected && self.gap != Some(self.expected);
        if status.has_gap && is_new && self.expected < self.sent {
            self.gap = Some(self.expected);
            self.sent = self.expected;
        }
    }

    /// The next packet that is due.
    pub(crate) fn poll(&mut self, now: Duration) -> Option<Packet> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(reply);
        }
        if self.receiver.is_some_and(|receiver| receiver.is_dead(now, self.times)) {
            self.receiver = None;
            self.seek = (now, self.times.again);
        }
        let Some(receiver) = self.receiver else {
            return self.seek(now);
        };
        if self.is_over() {
            return None;
        }
        if self.waits_since().is_some_and(|since| now >= since + self.again) {
            self.again = (2 * self.again).min(self.times.heartbeat());
            self.answered = now;
            self.gap = None;
            self.sent = self.sent.min(self.expected);
            return Some(self.data(receiver.id, now));
        }
        let is_due = self.may_send() || now >= self.told + self.times.heartbeat();
        let must_tell = self.told == Duration::ZERO || (self.has_ended && !self.end_is_told);
        (is_due || must_tell).then(|| self.data(receiver.id, now))
    }

    /// Looks for a receiver.
    fn seek(&mut self, now: Duration) -> Option<Packet> {
        let (at, wait) = self.seek;
        if now < at {
            return None;
        }
        self.seek = (now + wait, (2 * wait).min(self.times.heartbeat()));
        Some(Packet::Seek { sender: self.id, terms: self.terms })
    }

    fn may_send(&self) -> bool {
        self.sent < self.next && self.sent - self.taken < self.window
    }

    /// Since when it waits for an answer, if it does.
    fn waits_since(&self) -> Option<Duration> {
        let waits = self.expected < self.sent || self.room() == 0 || self.has_ended;
        waits.then_some(self.answered)
    }

    /// The next items, if there are any, for the receiver.
    fn data(&mut self, receiver: Id, now: Duration) -> Packet {
        self.told = now.max(Duration::from_nanos(1));
        if self.expected == self.sent {
            self.answered = now;
        }
        let mut data = Data {
            sender: self.id,
            receiver,
            terms: self.terms,
            window: self.window,
            base: self.base,
            first: self.sent,
            count: 0,
            is_last: false,
            asks: true,
            items: Bytes::new(),
        };
        if self.may_send() {
            let index = self.batches.partition_point(|batch| batch.end() <= self.sent);
            let batch = &self.batches[index];
            (data.first, data.count, data.items) = (batch.first, batch.count, batch.items.clone());
            self.sent = batch.end();
            data.asks = !self.may_send();
        }
        data.is_last = self.has_ended && self.sent == self.next;
        self.end_is_told |= data.is_last;
        Packet::Data(data)
    }

    /// When `poll` may give a packet next, if nothing comes.
    pub(crate) fn next_time(&self) -> Duration {
        let must_tell = self.told == Duration::ZERO || (self.has_ended && !self.end_is_told);
        if !self.replies.is_empty() || (self.receiver.is_some() && (must_tell || self.may_send())) {
            return Duration::ZERO;
        }
        let Some(receiver) = self.receiver else { return self.seek.0 };
        let heartbeat = self.told + self.times.heartbeat();
        let again = self.waits_since().map_or(heartbeat, |since| since + self.again);
        let death = receiver.heard + self.times.patience + Duration::from_nanos(1);
        heartbeat.min(again).min(death)
    }
}
