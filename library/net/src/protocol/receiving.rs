//! The state of a receiver.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Data, Difference, Id, Other, Packet, Receive, Refusals, Search, Status, Terms, Times};

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
    /// Items that were sent at most once, and don't come.
    lost: u64,
    offer: Search,
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
    /// The sender's program waits until the items are taken.
    is_awaited: bool,
    /// What it was told last, and when.
    told: Progress,
    told_at: Duration,
    /// Nothing was heard for too long, or all was taken: another sender may come.
    is_gone: bool,
}

/// How far a sender's items are: as in a [`Status`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Progress {
    expected: u64,
    taken: u64,
    limit: u64,
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
            lost: 0,
            offer: Search::from(Duration::ZERO, times),
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

    /// How many more items may be delivered.
    fn room(&self) -> u64 {
        self.window.saturating_sub(self.delivered - self.taken)
    }

    fn progress(&self, sender: &Bound) -> Progress {
        let expected = sender.expected;
        // Items of an earlier sender may be among those that are not taken.
        let taken = expected.saturating_sub(self.delivered - self.taken).max(sender.base);
        Progress { expected, taken, limit: expected.saturating_add(self.room()) }
    }

    /// When the sender is to be told next.
    fn due(&self, sender: &Bound) -> Duration {
        let (progress, told) = (self.progress(sender), sender.told);
        let is_news = progress != told;
        let has_taken = progress.limit.saturating_sub(told.limit) >= sender.window.div_ceil(4);
        let has_all = sender.end == Some(progress.taken)
            || (sender.is_awaited && progress.taken == progress.expected);
        if sender.asks || (is_news && (has_taken || has_all)) {
            Duration::ZERO
        } else if is_news {
            sender.told_at + self.times.quarter()
        } else if sender.is_gone {
            Duration::MAX
        } else {
            sender.told_at + self.times.heartbeat()
        }
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

    /// Binds to another sender, unless this receiver has one that lives.
    fn bind(&mut self, data: &Data, now: Duration) -> bool {
        if !self.is_free(now) {
            self.replies.push_back(Packet::Refused { to: data.sender });
            return false;
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
            is_awaited: false,
            told: Progress::default(),
            told_at: now,
            is_gone: false,
        });
        true
    }

    fn on_data(&mut self, mut data: Data, now: Duration) -> Option<(Data, u32)> {
        if data.terms != self.terms {
            self.differs(now);
            return None;
        }
        if !self.knows(data.sender) && !self.bind(&data, now) {
            return None;
        }
        (self.refusals, self.difference.is_known) = (None, false);
        let room = self.room();
        let sender = self.sender.as_mut()?;
        sender.other.heard = now;
        sender.is_gone = false;
        sender.asks |= data.asks;
        sender.is_awaited = data.is_awaited;
        if data.base > sender.expected {
            // Another receiver has taken those before.
            (sender.base, sender.expected) = (data.base, data.base);
        }
        let end = data.first + u64::from(data.count);
        if data.first > sender.expected && self.terms.are_at_most_once() {
            // They don't come again.
            self.lost = self.lost.saturating_add(data.first - sender.expected);
            sender.expected = data.first;
        }
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
            self.offer = Search::from(now, times);
        }
        let sender = self.sender.as_ref()?;
        if now < self.due(sender) {
            return None;
        }
        let progress = self.progress(sender);
        let sender = self.sender.as_mut()?;
        let status = Status {
            receiver: self.id,
            sender: sender.other.id,
            expected: progress.expected,
            taken: progress.taken,
            limit: progress.limit,
            has_gap: sender.has_gap,
            knows_end: sender.end.is_some(),
            is_closed: self.is_closed,
        };
        sender.asks = false;
        (sender.told, sender.told_at) = (progress, now);
        if sender.end == Some(progress.taken) && !sender.is_gone {
            // The next one may come. This one is answered as long as it asks.
            sender.is_gone = true;
            self.offer = Search::from(now, times);
        }
        Some(Packet::Status(status))
    }

    /// Looks for a sender.
    fn poll_offer(&mut self, now: Duration) -> Option<Packet> {
        let may_offer = !self.has_sender() && !self.is_closed;
        (may_offer && self.offer.is_due(now, self.times)).then(|| self.offer())
    }

    /// When `poll_bound` may give a packet next.
    pub(crate) fn next_time_bound(&self) -> Duration {
        if !self.replies.is_empty() {
            return Duration::ZERO;
        }
        self.sender.as_ref().map_or(Duration::MAX, |sender| self.due(sender))
    }
}

impl Receive for Receiving {
    fn on_packet(&mut self, packet: Packet, now: Duration) -> Option<(Data, u32)> {
        match packet {
            Packet::Seek { terms, .. } if terms != self.terms => self.differs(now),
            Packet::Seek { sender, .. } => self.sought(sender, now),
            // It says nothing new.
            Packet::Data(data) if data.is_farewell() => {}
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
        if offers { bound.min(self.offer.at) } else { bound }
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
            .is_some_and(|sender| sender.is_gone && sender.end == Some(sender.told.taken))
    }

    fn has_all(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.end == Some(sender.expected))
    }

    fn has_one_sender(&self) -> bool {
        true
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

    fn may_be_refused(&self, now: Duration) -> bool {
        self.refusals.is_some_and(|refusals| refusals.are_new(now, self.times))
    }

    fn is_short(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| {
            let untaken = sender.expected.saturating_sub(sender.told.taken);
            untaken.saturating_mul(4) >= sender.window.saturating_mul(3)
        })
    }

    fn is_awaited(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| {
            sender.is_awaited && !sender.is_gone && sender.told.taken < sender.expected
        })
    }

    fn has_untaken(&self) -> bool {
        self.delivered > self.taken
    }

    fn knows(&self, id: Id) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.other.id == id)
    }

    fn lost(&self) -> u64 {
        self.lost
    }

    fn times(&self) -> Times {
        self.times
    }
}
