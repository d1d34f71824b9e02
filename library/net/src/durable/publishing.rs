//! The state of a sender whose items a server keeps, without the server and without a clock.
//!
//! The server numbers the messages of a lane. It stores a message only if the number that the
//! message expects is that of the last message of the same sender's name. So a message is stored
//! once, behind the one that it follows, however often it is sent, and by whichever program.
//!
//! Two messages are under way at a time. The second one expects the number that the first one gets
//! if nothing else is stored between. If something is, the server refuses the second one, and it is
//! sent again. A third one could be stored without the second one: between the first two, a message
//! of another name may get the number that the second one has expected, and the second one's place
//! the number that the third one expects.
//!
//! A sender that starts anew takes its name over by a message without items. Before that one it
//! stores a message of another name, so that its own number is none that an older sender expects
//! for its second message.

use std::collections::VecDeque;

use bytes::Bytes;

use super::message::Head;
use crate::protocol::Id;

/// Messages that are under way at a time.
const UNDER_WAY: usize = 2;
/// After a refusal: messages that go one by one, since other names are busy.
const ONE_BY_ONE: u32 = 16;

/// Items that become one message.
#[derive(Debug)]
struct Batch {
    head: Head,
    message: Bytes,
    /// The publication that is under way, and the number that it expects.
    publication: Option<(u64, u64)>,
}

/// A message for the server.
#[derive(Debug, Clone)]
pub(super) struct Publication {
    /// Its own number.
    pub(super) id: u64,
    /// The number of this name's last message.
    pub(super) expected: u64,
    pub(super) message: Bytes,
}

/// What became of a publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The server has stored it, and has given it this number.
    Stored(u64),
    /// Another message is the last one of this name.
    Refused,
    /// The store has no room.
    Full,
    /// The server takes no message so large.
    TooLarge,
    /// No answer has come.
    Unknown,
}

/// The last message of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Last {
    /// As the server has numbered it.
    pub(super) sequence: u64,
    pub(super) head: Head,
}

/// Another program has the sender's name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TakenOver;

/// A sender.
#[derive(Debug)]
pub(super) struct Publishing {
    writer: Id,
    /// The number of the next item from the program.
    next: u64,
    /// What isn't known to be stored, oldest first.
    batches: VecDeque<Batch>,
    /// The number of the last message of this name that is known to be stored.
    last: u64,
    publications: u64,
    /// The sender must look at the last message.
    must_look: bool,
    one_by_one: u32,
    /// Messages that may be under way.
    pub(super) most: usize,
}

impl Publishing {
    /// A sender that has taken its name over with a message.
    pub(super) fn new(taken_over: Last) -> Self {
        Self {
            writer: taken_over.head.writer,
            next: taken_over.head.end(),
            batches: VecDeque::new(),
            last: taken_over.sequence,
            publications: 0,
            must_look: false,
            one_by_one: 0,
            most: UNDER_WAY,
        }
    }

    /// Accepts items.
    pub(super) fn push(&mut self, items: &[u8], count: u32) {
        let head = Head { writer: self.writer, first: self.next, count };
        self.next = head.end();
        self.batches.push_back(Batch { head, message: head.with(items), publication: None });
    }

    /// The number of items that were accepted and are not known to be stored.
    pub(super) fn unstored(&self) -> u64 {
        self.batches.front().map_or(0, |oldest| self.next - oldest.head.first)
    }

    /// Whether the sender must look at the last message of its name, and say what it is.
    pub(super) fn must_look(&self) -> bool {
        self.must_look
    }

    fn under_way(&self) -> usize {
        self.batches.iter().take_while(|batch| batch.publication.is_some()).count()
    }

    /// Whether one more message may be under way.
    pub(super) fn has_place(&self) -> bool {
        let most = if self.one_by_one > 0 { 1 } else { self.most };
        !self.must_look && self.under_way() < most
    }

    /// Whether items are accepted and not under way.
    pub(super) fn has_waiting(&self) -> bool {
        self.under_way() < self.batches.len()
    }

    /// The next message that is due.
    pub(super) fn poll(&mut self) -> Option<Publication> {
        if !self.has_place() {
            return None;
        }
        let under_way = self.under_way();
        let batch = self.batches.get_mut(under_way)?;
        let expected = self.last + under_way as u64;
        self.publications += 1;
        self.one_by_one = self.one_by_one.saturating_sub(1);
        batch.publication = Some((self.publications, expected));
        Some(Publication { id: self.publications, expected, message: batch.message.clone() })
    }

    pub(super) fn came_out(&mut self, id: u64, outcome: Outcome) {
        let is_this = |batch: &Batch| batch.publication.is_some_and(|(this, _)| this == id);
        // Others were given up.
        let Some(index) = self.batches.iter().position(is_this) else { return };
        let expected = self.batches[index].publication.map(|(_, expected)| expected);
        match outcome {
            Outcome::Stored(sequence) => {
                // It follows those before it.
                self.batches.drain(..=index);
                self.last = sequence;
            }
            Outcome::Refused => {
                // Something else is stored than this sender knows.
                self.must_look |= index == 0 && expected == Some(self.last);
                self.one_by_one = ONE_BY_ONE;
                self.give_up(index);
            }
            Outcome::Full | Outcome::TooLarge => self.give_up(index),
            Outcome::Unknown => self.lost(),
        }
    }

    /// Answers to what is under way may be lost.
    pub(super) fn lost(&mut self) {
        self.must_look |= self.under_way() > 0;
        self.give_up(0);
    }

    /// Those from `index` on are to be published again.
    fn give_up(&mut self, index: usize) {
        self.batches.iter_mut().skip(index).for_each(|batch| batch.publication = None);
    }

    /// The sender has looked at the last message of its name.
    pub(super) fn looked(&mut self, last: Option<Last>) -> Result<(), TakenOver> {
        let last = last.filter(|last| last.head.writer == self.writer).ok_or(TakenOver)?;
        while self.batches.front().is_some_and(|batch| batch.head.end() <= last.head.end()) {
            self.batches.pop_front();
        }
        self.last = last.sequence;
        self.must_look = false;
        self.give_up(0);
        Ok(())
    }
}
