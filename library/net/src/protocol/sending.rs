//! The state of a sender.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::{Data, Deliver, Difference, Id, Other, Packet, Refusals, Search, Status, Terms, Times};

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

/// Items that a receiver is not known to have taken, except the first `taken` of them.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) items: Bytes,
    pub(crate) count: u32,
    pub(crate) taken: u32,
}

/// A sender: what it has accepted from its program, and what its receiver has.
#[derive(Debug)]
pub(crate) struct Sending {
    id: Id,
    terms: Terms,
    times: Times,
    /// Most items that are accepted and not taken.
    window: u64,
    /// What may have to be sent, oldest first. At most once: what wasn't sent.
    batches: VecDeque<Batch>,
    /// The number of the next item from the program.
    next: u64,
    /// Items before it need not be sent (again).
    sent: u64,
    /// What the receiver has told last.
    expected: u64,
    taken: u64,
    /// The receiver has room for all items before it. `None` until it has answered.
    limit: Option<u64>,
    receiver: Option<Other>,
    /// The first item for a receiver, the one that was bound last.
    base: u64,
    base_is_of: Option<Id>,
    has_ended: bool,
    /// Whether the program waits until all is taken, and up to which item the receiver was told so.
    is_awaited: bool,
    told_awaited: u64,
    /// Whether this receiver was told the end, and whether it has confirmed that.
    end_is_told: bool,
    end_is_known: bool,
    /// The gap that the sender has gone back to.
    gap: Option<u64>,
    /// When it last sent to the receiver, and when an answer last brought it on.
    told: Duration,
    answered: Duration,
    /// Up to which item it has asked how far the receiver is, and when.
    asked: (u64, Duration),
    /// The time without an answer after which it sends again.
    again: Duration,
    seek: Search,
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
            limit: None,
            receiver: None,
            base: 0,
            base_is_of: None,
            has_ended: false,
            is_awaited: false,
            told_awaited: 0,
            end_is_told: false,
            end_is_known: false,
            gap: None,
            told: Duration::ZERO,
            answered: Duration::ZERO,
            asked: (0, Duration::ZERO),
            again: times.again,
            seek: Search::from(Duration::ZERO, times),
            replies: VecDeque::new(),
            refusals: None,
            difference: Difference::default(),
            is_closed: false,
        }
    }

    /// Numbers its items from `first` on.
    pub(super) fn begin_with(&mut self, first: u64) {
        (self.next, self.sent, self.expected, self.taken) = (first, first, first, first);
    }

    /// How many items the program may send now. At most once: no more than can be sent at once, as
    /// the next receiver may have less room.
    pub(crate) fn room(&self) -> u64 {
        let room = self.window - (self.next - self.taken).min(self.window);
        if self.terms.are_at_most_once() { room.min(self.credit()) } else { room }
    }

    /// How many more items the receiver has room for.
    pub(super) fn credit(&self) -> u64 {
        let room = self.window - (self.next - self.taken).min(self.window);
        let limit = self.limit.filter(|_| self.receiver.is_some());
        room.min(limit.map_or(0, |limit| limit.saturating_sub(self.next)))
    }

    /// Accepts items, for which there is room.
    pub(crate) fn push(&mut self, items: Bytes, count: u32) {
        debug_assert!(u64::from(count) <= self.room() && !self.has_ended);
        self.batches.push_back(Batch { first: self.next, count, items });
        self.next += u64::from(count);
    }

    #[cfg(test)]
    pub(crate) fn sent_in_all(&self) -> u64 {
        self.next
    }

    /// Whether the receiver has answered since it is bound, and so has told its room.
    pub(super) fn is_ready(&self) -> bool {
        self.limit.is_some()
    }

    /// Whether the receiver is dead or has another sender.
    pub(super) fn is_alone(&self, now: Duration) -> bool {
        self.receiver.is_none_or(|receiver| receiver.is_dead(now, self.times))
    }

    /// What the receiver is not known to have taken, oldest first.
    pub(super) fn into_untaken(self) -> impl Iterator<Item = Returned> {
        self.batches.into_iter().map(move |Batch { first, count, items }| {
            let taken = self.taken.saturating_sub(first) as u32;
            Returned { items, count, taken }
        })
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

    /// A new receiver begins with what was not taken. At most once: with what was not sent.
    pub(super) fn bind(&mut self, id: Id, now: Duration) {
        self.receiver = Some(Other { id, heard: now });
        self.difference.is_known = false;
        if self.terms.are_at_most_once() {
            self.taken = self.sent;
        }
        // At most once, a receiver counts what it misses from its base on.
        if !self.terms.are_at_most_once() || self.base_is_of != Some(id) {
            self.base = self.taken;
        }
        self.base_is_of = Some(id);
        (self.sent, self.expected) = (self.taken, self.taken);
        (self.gap, self.limit) = (None, None);
        (self.end_is_told, self.end_is_known) = (false, false);
        self.told_awaited = self.taken;
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
        self.limit = self.limit.max(Some(status.limit));
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

    fn may_send(&self) -> bool {
        self.sent < self.next
            && self.sent - self.taken < self.window
            && self.limit.is_some_and(|limit| self.sent < limit)
    }

    /// Whether the receiver knows nothing of this sender, or not that there are no more items, or that the
    /// program waits until they are taken.
    fn must_tell(&self) -> bool {
        let is_sent = self.sent == self.next;
        let is_awaited = self.is_awaited && self.told_awaited.max(self.taken) < self.next;
        self.told == Duration::ZERO
            || (is_sent && (is_awaited || (self.has_ended && !self.end_is_told)))
    }

    /// Since when it waits for an answer, if it does.
    fn waits_since(&self) -> Option<Duration> {
        let is_stopped = self.room() == 0 || (self.sent < self.next && !self.may_send());
        let waits =
            self.limit.is_none() || self.expected < self.sent || is_stopped || self.has_ended;
        waits.then_some(self.answered)
    }

    /// A packet without items, which asks.
    fn empty(&self, receiver: Id) -> Data {
        Data {
            sender: self.id,
            receiver,
            terms: self.terms,
            window: self.window,
            base: self.base,
            first: self.sent,
            count: 0,
            is_last: false,
            asks: true,
            is_awaited: self.is_awaited,
            items: Bytes::new(),
        }
    }

    /// The next items, if there are any, for the receiver.
    fn data(&mut self, receiver: Id, now: Duration) -> Packet {
        self.told = now.max(Duration::from_nanos(1));
        if self.expected == self.sent {
            self.answered = now;
        }
        let mut data = self.empty(receiver);
        if self.may_send() {
            let index = self.batches.partition_point(|batch| batch.end() <= self.sent);
            let batch = &self.batches[index];
            (data.first, data.count, data.items) = (batch.first, batch.count, batch.items.clone());
            self.sent = batch.end();
            if self.terms.are_at_most_once() {
                self.batches.pop_front();
            }
            // Not with each packet of a stream.
            let (asked, at) = self.asked;
            let is_long_ago = now >= at + self.times.quarter() / 2;
            let is_far = self.sent - asked.min(self.sent) >= self.window / 8;
            data.asks = !self.may_send() && (is_long_ago || is_far);
        }
        if data.asks {
            self.asked = (self.sent, now);
        }
        if data.is_awaited {
            self.told_awaited = self.sent;
        }
        data.is_last = self.has_ended && self.sent == self.next;
        self.end_is_told |= data.is_last;
        Packet::Data(data)
    }
}

impl Deliver for Sending {
    fn on_packet(&mut self, packet: Packet, now: Duration) {
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

    fn poll(&mut self, now: Duration) -> Option<Packet> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(reply);
        }
        if self.receiver.is_some() && self.is_alone(now) {
            self.receiver = None;
            self.seek = Search::from(now, self.times);
        }
        let Some(receiver) = self.receiver else {
            let seek = Packet::Seek { sender: self.id, terms: self.terms };
            return self.seek.is_due(now, self.times).then_some(seek);
        };
        if self.is_over() {
            return None;
        }
        if self.waits_since().is_some_and(|since| now >= since + self.again) {
            self.again = (2 * self.again).min(self.times.heartbeat());
            self.answered = now;
            self.gap = None;
            if !self.terms.are_at_most_once() {
                self.sent = self.sent.min(self.expected);
            }
            return Some(self.data(receiver.id, now));
        }
        let is_due = self.may_send() || now >= self.told + self.times.heartbeat();
        (is_due || self.must_tell()).then(|| self.data(receiver.id, now))
    }

    fn next_time(&self) -> Duration {
        if !self.replies.is_empty()
            || (self.receiver.is_some() && (self.must_tell() || self.may_send()))
        {
            return Duration::ZERO;
        }
        let Some(receiver) = self.receiver else { return self.seek.at };
        let heartbeat = self.told + self.times.heartbeat();
        let again = self.waits_since().map_or(heartbeat, |since| since + self.again);
        let death = receiver.heard + self.times.patience + Duration::from_nanos(1);
        heartbeat.min(again).min(death)
    }

    fn end(&mut self) {
        self.has_ended = true;
    }

    fn set_awaited(&mut self, is_awaited: bool) {
        if is_awaited && !self.is_awaited {
            self.told_awaited = self.taken;
        }
        self.is_awaited = is_awaited;
    }

    fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn is_over(&self) -> bool {
        self.end_is_known && self.taken == self.next
    }

    fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn untaken(&self) -> u64 {
        self.next - self.taken
    }

    fn receivers(&self) -> usize {
        usize::from(self.receiver.is_some())
    }

    fn has_differed(&self) -> bool {
        self.difference.is_known
    }

    fn is_refused(&self) -> bool {
        self.refusals.is_some_and(|refusals| refusals.are_final(self.times))
    }

    fn may_be_refused(&self, now: Duration) -> bool {
        self.refusals.is_some_and(|refusals| refusals.are_new(now, self.times))
    }

    fn farewells(&self) -> Vec<Packet> {
        let farewell = |receiver: Other| {
            Packet::Data(Data { is_last: true, asks: false, ..self.empty(receiver.id) })
        };
        self.receiver.map(farewell).into_iter().collect()
    }
}
