//! The operations for which a select waits: to send into a channel, or to receive from one,
//! whatever the type of its messages.

use alloc::sync::Arc;
use std::time::Instant;

use super::access::Access;
use super::common::{Common, Selected};
use super::ends::{Kind, Message};
use super::error::TryRecvError;
use super::party::Party;
use super::{Receiver, Sender, YieldingRetries};
use crate::wait::bell::Bell;

/// What has been selected.
#[derive(Clone, Copy)]
pub(super) enum Found {
    /// The other side is gone.
    Disconnected,
    /// Room is reserved in the queue.
    Room,
    /// The channel has kept it under this number: a message, or a partner.
    Kept(u64),
}

/// A send or receive operation, of any type.
pub(super) trait Operation {
    /// Whether the operation would not wait now. A select that waits itself does not count.
    fn is_ready(&self, own: Option<&Arc<Party>>) -> bool;
    /// Begins the operation, if it would not wait.
    fn begin(&self) -> Option<Found>;
    /// Takes back what was begun, or was [chosen](Self::chosen). A message of a queue is dropped with
    /// the channel: the calling thread may be another one, and the message may not be `Send`.
    fn abandon(&self, found: Found);
    /// Where to wait.
    fn bell(&self) -> &Bell;
    /// Whether it waits for a partner that claims it.
    fn has_partners(&self) -> bool;
    /// Waits for a partner too, if the channel has capacity 0. Returns a number. Then the caller
    /// must wake all sleepers of the bell.
    fn enter(&self, party: &Arc<Party>, index: usize) -> Option<u64>;
    /// Ends that wait.
    fn leave(&self, number: u64);
    /// A partner has chosen this wait. `None` if it has withdrawn its message.
    fn chosen(&self, number: u64) -> Option<Found>;
    /// Changes when it becomes ready.
    fn version(&self) -> u64;
    /// The time at which it becomes ready although no thread rings the bell.
    fn due(&self) -> Option<Instant>;
    fn address(&self) -> *const ();
}

impl<T, A: Access> Operation for Receiver<T, A> {
    fn is_ready(&self, own: Option<&Arc<Party>>) -> bool {
        match self.common().kind.meeting() {
            Some(meeting) => meeting.has_sender(own) || self.is_closed(),
            None => self.common().kind.may_have_message() || self.common().has_ended(),
        }
    }

    fn begin(&self) -> Option<Found> {
        let mut message = Message::empty();
        match self.take_any(&mut message, YieldingRetries::default()) {
            Ok(()) => {
                Some(Found::Kept(self.common().keep_selected(Selected::Message(Box::new(message)))))
            }
            Err(TryRecvError::Disconnected) => Some(Found::Disconnected),
            Err(TryRecvError::Empty) => None,
        }
    }

    fn abandon(&self, found: Found) {
        let (Found::Kept(number), Some(meeting)) = (found, self.common().kind.meeting()) else {
            return;
        };
        match self.common().take_selected(number) {
            Some(Selected::Message(mut message)) => meeting.leave(&mut message),
            Some(Selected::Waiting(waiting)) => meeting.give_up_recv(waiting),
            None => {}
        }
    }

    fn has_partners(&self) -> bool {
        self.common().kind.meeting().is_some()
    }

    fn bell(&self) -> &Bell {
        self.common().arrivals()
    }

    fn enter(&self, party: &Arc<Party>, index: usize) -> Option<u64> {
        let meeting = self.common().kind.meeting()?;
        let waiting = meeting.enter_receiver(party, index);
        Some(self.common().keep_selected(Selected::Waiting(waiting)))
    }

    fn leave(&self, number: u64) {
        leave(self.common(), number);
    }

    fn chosen(&self, number: u64) -> Option<Found> {
        let Some(Selected::Waiting(waiting)) = self.common().take_selected(number) else {
            return None;
        };
        let mut message = Message::empty();
        let is_there = waiting.take(&mut message);
        is_there
            .then(|| Found::Kept(self.common().keep_selected(Selected::Message(Box::new(message)))))
    }

    fn version(&self) -> u64 {
        self.common().kind.pushed()
    }

    fn due(&self) -> Option<Instant> {
        self.common().kind.timer().and_then(|timer| timer.next())
    }

    fn address(&self) -> *const () {
        core::ptr::from_ref(self).cast()
    }
}

/// Ends a wait for a partner.
fn leave<T>(common: &Common<T>, number: u64) {
    if let (Some(meeting), Some(Selected::Waiting(waiting))) =
        (common.kind.meeting(), common.take_selected(number))
    {
        meeting.remove(&waiting);
    }
}

impl<T, A: Access> Operation for Sender<T, A> {
    fn is_ready(&self, own: Option<&Arc<Party>>) -> bool {
        match self.common().kind.meeting() {
            Some(meeting) => meeting.has_receiver(own) || self.is_closed(),
            None => self.common().kind.may_have_room() || self.is_closed(),
        }
    }

    fn begin(&self) -> Option<Found> {
        if self.is_closed() {
            return Some(Found::Disconnected);
        }
        if let Some(meeting) = self.common().kind.meeting() {
            let receiver = Selected::Waiting(meeting.claim_receiver()?);
            return Some(Found::Kept(self.common().keep_selected(receiver)));
        }
        let mut tries = YieldingRetries::default();
        loop {
            let reserved = self.with(|end| end.queue.reserve(1));
            if !tries.again(reserved.is_none()) {
                return reserved?.then_some(Found::Room);
            }
        }
    }

    fn abandon(&self, found: Found) {
        match found {
            Found::Disconnected => {}
            Found::Room => self.release(1),
            Found::Kept(number) => match self.common().take_selected(number) {
                Some(Selected::Waiting(waiting)) => waiting.withdraw(),
                Some(Selected::Message(_)) | None => {}
            },
        }
    }

    fn has_partners(&self) -> bool {
        self.common().kind.meeting().is_some()
    }

    fn bell(&self) -> &Bell {
        match self.common().kind.meeting() {
            Some(meeting) => &meeting.arrivals,
            None => &self.common().room,
        }
    }

    fn enter(&self, party: &Arc<Party>, index: usize) -> Option<u64> {
        let meeting = self.common().kind.meeting()?;
        let waiting = meeting.enter_sender(party, index);
        Some(self.common().keep_selected(Selected::Waiting(waiting)))
    }

    fn leave(&self, number: u64) {
        leave(self.common(), number);
    }

    fn chosen(&self, number: u64) -> Option<Found> {
        Some(Found::Kept(number))
    }

    fn version(&self) -> u64 {
        match &self.common().kind {
            Kind::Queue { positions, .. } => positions.freed(),
            Kind::Rendezvous(meeting) => meeting.version(),
            Kind::Relaxed(_) | Kind::Timer(_) => 0,
        }
    }

    fn due(&self) -> Option<Instant> {
        None
    }

    fn address(&self) -> *const () {
        core::ptr::from_ref(self).cast()
    }
}
