//! The state of a receiver.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Data, Difference, Id, Other, Packet, Receive, Refusals, Status, Terms, Times};

/// Earlier senders that a receiver remembers.
const EARLIER: usize = 1024;

/// A receiver: what it has from its sender, and what its program has taken.
#[derive(Debug)]
pub(crate) struct Receiving {
    id: Id,
    terms: Terms,
    times: Times,
    /// Most items that are delivered and not taken.
    window: u64,
    sender: Option<Bound>,
    /// Senders that were bound before, and what was expected of each: packets of theirs may still
    /// come, and they may live.
    earlier: VecDeque<(Id, u64)>,
    /// Items that were delivered to the program, and those of them that it has taken, of all
    /// senders.
    delivered: u64,
    taken: u64,
    offer: (Duration, Duration),
    replies: VecDeque<Packet>,
    refusals: Option<Refusals>,
    difference: Difference,
    is_closed: bool,
    /// A mistake, for the simulation to find.
    #[cfg(test)]
    pub(crate) ignores_gaps: bool,
}

/// The sender that a receiver is bound to, or was bound to last.
#[derive(Debug)]
struct Bound {
    other: Other,
    /// Most items of it that are not taken.
    window: u64,
    base: u64,
    expected: u64,
    /// The number of items in all, when it is known.
    end: Option<u64>,
    has_gap: bool,
    /// The sender waits for a status.
    asks: bool,
    /// What it was told last, and when.
    told: (u64, u64),
    told_at: Duration,
    /// Nothing was heard for too long, or all was taken: another sender may come.
    is_gone: bool,
}

impl Receiving {
    pub(crate) fn new(id: Id, terms: Terms, times: Times, window: u64) -> Self {
        Self {
            id,
            terms,
            times,
            window,
            #[cfg(test)]
            ignores_gaps: false,
            sender: None,
            earlier: VecDeque::new(),
            delivered: 0,
            taken: 0,
            offer: (Duration::ZERO, times.again),
            replies: VecDeque::new(),
            refusals: None,
            difference: Difference::default(),
            is_closed: false,
        }
    }

    fn differs(&mut self, now: Duration) {
        if self.difference.is_heard(!self.has_sender(), now, self.times) {
            self.replies.push_back(self.offer());
        }
    }

    /// The number of the sender's items up to which the program has taken all.
    fn taken_of(&self, sender: &Bound) -> u64 {
        // Items of an earlier sender may be among those that are not taken.
        sender.expected.saturating_sub(self.delivered - self.taken).max(sender.base)
    }

    fn is_free(&self, now: Duration) -> bool {
        self.sender
            .as_ref()
            .is_none_or(|sender| sender.is_gone || sender.other.is_dead(now, self.times))
    }

    fn sought(&mut self, id: Id, now: Duration) {
        if self.knows(id) || self.is_free(now) {
            self.replies.push_back(self.offer());
        } else {
            self.replies.push_back(Packet::Refused { to: id });
        }
    }

    fn offer(&self) -> Packet {
        Packet::Offer { receiver: self.id, terms: self.terms }
    }

    fn on_data(&mut self, mut data: Data, now: Duration) -> Option<(Data, u32)> {
        if data.terms != self.terms {
            self.differs(now);
            return None;
        }
        if !self.knows(data.sender) {
            if !self.is_free(now) {
                self.replies.push_back(Packet::Refused { to: data.sender });
                return None;
            }
            let expected = self.expected_of(data.sender).unwrap_or(data.base);
            self.sender = Some(Bound {
                other: Other { id: data.sender, heard: now },
                window: data.window.min(self.window),
                base: data.base,
                expected,
                end: None,
                has_gap: false,
                asks: true,
                told: (0, 0),
                told_at: now,
                is_gone: false,
            });
        }
        (self.refusals, self.difference.is_known) = (None, false);
        let window = self.window;
        let untaken = self.delivered - self.taken;
        let sender = self.sender.as_mut()?;
        sender.other.heard = now;
        sender.is_gone = false;
        sender.asks |= data.asks;
        if data.base > sender.expected {
            // Another receiver has taken those before.
            (sender.base, sender.expected) = (data.base, data.base);
        }
        let end = data.first + u64::from(data.count);
        if data.first > sender.expected {
            sender.has_gap = true;
            sender.asks = true;
            #[cfg(test)]
            if self.ignores_gaps {
                sender.expected = data.first;
                return self.on_data(data, now);
            }
            return None;
        }
        if end <= sender.expected {
            if data.is_last && end == sender.expected {
                sender.end = Some(end);
            }
            return None;
        }
        let known = (sender.expected - data.first) as u32;
        // Items of an earlier sender may be here, or the sender's window is larger. The rest comes again.
        let room = window.saturating_sub(untaken);
        let new = u64::from(data.count - known).min(room);
        if new == 0 {
            return None;
        }
        data.count = known + new as u32;
        sender.has_gap = false;
        sender.expected = data.first + u64::from(data.count);
        if data.is_last && sender.expected == end {
            sender.end = Some(end);
        }
        self.delivered += new;
        Some((data, known))
    }

    /// What is expected of a sender that was bound before. The one that is bound now joins these.
    fn expected_of(&mut self, id: Id) -> Option<u64> {
        if let Some(sender) = self.sender.take() {
            self.earlier.push_back((sender.other.id, sender.expected));
            if self.earlier.len() > EARLIER {
                self.earlier.pop_front();
            }
        }
        let index = self.earlier.iter().position(|&(earlier, _)| earlier == id)?;
        self.earlier.remove(index).map(|(_, expected)| expected)
    }

    /// The next packet that is due to the sender.
    pub(crate) fn poll_bound(&mut self, now: Duration) -> Option<Packet> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(reply);
        }
        let times = self.times;
        if let Some(sender) = self.sender.as_mut().filter(|sender| !sender.is_gone)
            && sender.other.is_dead(now, times)
        {
            sender.is_gone = true;
            self.offer = (now, times.again);
        }
        let (taken, quarter) = (self.taken_of(self.sender.as_ref()?), self.times.quarter());
        let sender = self.sender.as_mut()?;
        let (expected, told) = (sender.expected, sender.told);
        let is_over = sender.end == Some(taken);
        let has_taken = taken.saturating_sub(told.1) >= sender.window.div_ceil(4);
        let is_news = told != (expected, taken);
        let is_due = sender.asks
            || has_taken
            || (is_over && is_news)
            || (is_news && now >= sender.told_at + quarter)
            || (!sender.is_gone && now >= sender.told_at + times.heartbeat());
        if !is_due {
            return None;
        }
        let status = Status {
            receiver: self.id,
            sender: sender.other.id,
            expected,
            taken,
            has_gap: sender.has_gap,
            knows_end: sender.end.is_some(),
            is_closed: self.is_closed,
        };
        sender.asks = false;
        (sender.told, sender.told_at) = ((expected, taken), now);
        if is_over && !sender.is_gone {
            // The next one may come. This one is answered as long as it asks.
            sender.is_gone = true;
            self.offer = (now, times.again);
        }
        Some(Packet::Status(status))
    }

    /// Looks for a sender.
    fn poll_offer(&mut self, now: Duration) -> Option<Packet> {
        let (at, wait) = self.offer;
        if self.has_sender() || self.is_closed || now < at {
            return None;
        }
        self.offer = (now + wait, (2 * wait).min(self.times.heartbeat()));
        Some(self.offer())
    }

    /// When `poll_bound` may give a packet next.
    pub(crate) fn next_time_bound(&self) -> Duration {
        if !self.replies.is_empty() {
            return Duration::ZERO;
        }
        let Some(sender) = &self.sender else { return Duration::MAX };
        if sender.asks {
            return Duration::ZERO;
        }
        let is_news = sender.told != (sender.expected, self.taken_of(sender));
        match sender.is_gone {
            _ if is_news => sender.told_at + self.times.quarter(),
            true => Duration::MAX,
            false => sender.told_at + self.times.heartbeat(),
        }
    }
}

impl Receive for Receiving {
    fn on_packet(&mut self, packet: Packet, now: Duration) -> Option<(Data, u32)> {
        match packet {
            Packet::Seek { terms, .. } if terms != self.terms => self.differs(now),
            Packet::Seek { sender, .. } => self.sought(sender, now),
            Packet::Data(data) if data.receiver == self.id => return self.on_data(data, now),
            Packet::Refused { to } if to == self.id => {
                self.refusals = Refusals::and(self.refusals, now, self.times);
            }
            _ => {}
        }
        None
    }

    fn on_taken(&mut self, taken: u64) {
        self.taken = taken;
    }

    fn poll(&mut self, now: Duration) -> Option<Packet> {
        self.poll_bound(now).or_else(|| self.poll_offer(now))
    }

    fn next_time(&self) -> Duration {
        let offers = !self.has_sender() && !self.is_closed;
        let bound = self.next_time_bound();
        if offers { bound.min(self.offer.0) } else { bound }
    }

    fn close(&mut self) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        if let Some(sender) = &mut self.sender {
            sender.asks = true;
        }
    }

    fn is_over(&self) -> bool {
        self.sender
            .as_ref()
            .is_some_and(|sender| sender.is_gone && sender.end == Some(sender.told.1))
    }

    fn has_sender(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| !sender.is_gone)
    }

    fn has_differed(&self) -> bool {
        self.difference.is_known
    }

    fn is_refused(&self) -> bool {
        self.refusals.is_some_and(|refusals| refusals.are_final(self.times))
    }

    fn is_short(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| {
            let untaken = sender.expected.saturating_sub(sender.told.1);
            untaken.saturating_mul(4) >= sender.window.saturating_mul(3)
        })
    }

    fn has_untaken(&self) -> bool {
        self.delivered > self.taken
    }

    fn knows(&self, id: Id) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.other.id == id)
    }

    fn times(&self) -> Times {
        self.times
    }
}
