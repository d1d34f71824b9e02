//! Takes items from a sender's program, as many as its receivers have room for, and gives them to
//! the protocol in batches of bytes.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use corelane::channel::{self, TryRecvError};

use crate::codec::{Codec, Malformed, put, split};
use crate::pool;
use crate::protocol::{Deliver, Distributing, Distribution, Returned, Sending, Target};

/// Bytes of an item that is taken together with others: a larger one isn't moved once more.
const SMALL: usize = 64;
/// Most items that are taken together.
const RUN: usize = 256;

/// A sender's state, and how it is filled.
pub(crate) trait Fill<T> {
    type State: Deliver;

    fn state(&mut self) -> &mut Self::State;

    /// The number of items that were taken from the program, and not by a receiver's.
    fn untaken(&self) -> u64;

    /// Takes some items from the program, if there is room: to one receiver, a packet of up to
    /// `packet_bytes`, and its last item. Returns whether there is still room. `untaken` is kept up to date.
    ///
    /// # Errors
    ///
    /// If the codec can't read what it has written.
    fn fill(
        &mut self,
        front: &channel::Receiver<T>,
        packet_bytes: usize,
        untaken: &AtomicU64,
    ) -> Result<bool, Malformed>;
}

/// To one receiver.
pub(crate) struct ToOne<T, C> {
    state: Sending,
    /// Bytes of the last item: the next one may have as many.
    last: usize,
    run: Vec<T>,
    of: PhantomData<fn() -> C>,
}

impl<T, C: Codec<T>> ToOne<T, C> {
    pub(crate) fn new(state: Sending) -> Self {
        Self { state, last: 0, run: Vec::new(), of: PhantomData }
    }

    /// Takes up to `most` items. Returns their bytes and number.
    fn pack(
        &mut self,
        front: &channel::Receiver<T>,
        packet_bytes: usize,
        most: usize,
    ) -> (Vec<u8>, u32) {
        let len = C::LEN.unwrap_or(self.last);
        let mut items = pool::buffer(most.saturating_mul(len).min(packet_bytes));
        let mut count = 0;
        while count < most
            && (count == 0 || items.len() + C::LEN.unwrap_or(self.last) <= packet_bytes)
        {
            if C::LEN.is_some_and(|len| len <= SMALL) && front.len() > 1 {
                let fits = (packet_bytes - items.len().min(packet_bytes)) / len.max(1);
                front.recv_many(&mut self.run, RUN.min(most - count).min(fits.max(1)));
            } else if let Ok(item) = front.try_recv() {
                self.run.push(item);
            }
            if self.run.is_empty() {
                break;
            }
            count += self.run.len();
            for item in self.run.drain(..) {
                let before = items.len();
                put::<T, C>(&item, &mut items);
                self.last = items.len() - before;
            }
        }
        (items, count as u32)
    }
}

impl<T, C: Codec<T>> Fill<T> for ToOne<T, C> {
    type State = Sending;

    fn state(&mut self) -> &mut Sending {
        &mut self.state
    }

    fn untaken(&self) -> u64 {
        self.state.untaken()
    }

    fn fill(
        &mut self,
        front: &channel::Receiver<T>,
        packet_bytes: usize,
        untaken: &AtomicU64,
    ) -> Result<bool, Malformed> {
        if self.state.room() > 0 && !self.state.has_ended() {
            let most = self.state.room().min(front.len().max(1) as u64);
            // Before they leave the channel: meanwhile they count twice, so that no item is left out.
            untaken.store(self.state.untaken() + most, Ordering::SeqCst);
            match self.pack(front, packet_bytes, most as usize) {
                (_, 0) if front.is_disconnected() && front.is_empty() => self.state.end(),
                (_, 0) => {}
                (items, count) => self.state.push(pool::share(items), count),
            }
        }
        untaken.store(self.state.untaken(), Ordering::SeqCst);
        Ok(self.state.room() > 0)
    }
}

/// The number by which items are assigned to receivers.
pub(crate) type Key<T> = Box<dyn Fn(&T) -> u64 + Send>;

/// To several receivers.
pub(crate) struct ToSeveral<T, C> {
    state: Distributing,
    key: Key<T>,
    /// Items that are given out next: those of receivers that have gone.
    again: VecDeque<T>,
    of: PhantomData<fn() -> C>,
}

impl<T, C: Codec<T>> ToSeveral<T, C> {
    pub(crate) fn new(state: Distributing, key: Key<T>) -> Self {
        Self { state, key, again: VecDeque::new(), of: PhantomData }
    }

    /// Puts returned items before all others.
    fn take_returned(&mut self) -> Result<(), Malformed> {
        let mut returned = VecDeque::new();
        while let Some(Returned { items, count, taken }) = self.state.take_returned() {
            let mut bytes = &items[..];
            for number in 0..count {
                let item = split::<T, C>(&mut bytes)?;
                if number >= taken {
                    returned.push_back(C::decode(item)?);
                }
            }
        }
        returned.append(&mut self.again);
        self.again = returned;
        Ok(())
    }

    fn available(&self, front: &channel::Receiver<T>) -> u64 {
        (self.again.len() + front.len()).max(1) as u64
    }

    /// The next item. `None` if there is none now, or none will come: then the state knows.
    fn next(&mut self, front: &channel::Receiver<T>) -> Option<T> {
        if let Some(item) = self.again.pop_front() {
            return Some(item);
        }
        match front.try_recv() {
            Ok(item) => Some(item),
            Err(TryRecvError::Disconnected) => {
                self.state.end();
                None
            }
            Err(_) => None,
        }
    }

    /// The receivers that have most room get the next items, or all get all.
    fn fill_by_room(
        &mut self,
        front: &channel::Receiver<T>,
        packet_bytes: usize,
        untaken: &AtomicU64,
    ) -> bool {
        while let Some((target, most)) = self.state.next_target(self.available(front)) {
            let (mut items, mut count) = (Vec::new(), 0);
            untaken.store(self.untaken() + most, Ordering::SeqCst);
            while u64::from(count) < most
                && items.len() < packet_bytes
                && let Some(item) = self.next(front)
            {
                put::<T, C>(&item, &mut items);
                count += 1;
            }
            if count == 0 {
                return true;
            }
            self.state.push(target, items.into(), count);
        }
        false
    }

    /// Each item goes to the receiver that has its key. An item whose receiver has no room stops
    /// those behind it.
    fn fill_by_key(
        &mut self,
        front: &channel::Receiver<T>,
        packet_bytes: usize,
        untaken: &AtomicU64,
    ) -> bool {
        if !self.state.settle() {
            return false;
        }
        let most = self.available(front);
        untaken.store(self.untaken() + most, Ordering::SeqCst);
        let (mut batches, mut has_room) = (Vec::<(Vec<u8>, u32)>::new(), true);
        for _ in 0..most {
            let Some(item) = self.next(front) else { break };
            let owner = self.state.owner((self.key)(&item)).unwrap_or_default();
            if owner >= batches.len() {
                batches.resize_with(owner + 1, Default::default);
            }
            let (items, count) = &mut batches[owner];
            if u64::from(*count) == self.state.credit(owner) {
                self.again.push_front(item);
                has_room = false;
                break;
            }
            put::<T, C>(&item, items);
            *count += 1;
            if items.len() >= packet_bytes {
                let (items, count) = std::mem::take(&mut batches[owner]);
                self.state.push(Target::One(owner), items.into(), count);
            }
        }
        for (owner, (items, count)) in batches.into_iter().enumerate() {
            if count > 0 {
                self.state.push(Target::One(owner), items.into(), count);
            }
        }
        has_room
    }
}

impl<T, C: Codec<T>> Fill<T> for ToSeveral<T, C> {
    type State = Distributing;

    fn state(&mut self) -> &mut Distributing {
        &mut self.state
    }

    fn untaken(&self) -> u64 {
        self.again.len() as u64 + self.state.untaken()
    }

    fn fill(
        &mut self,
        front: &channel::Receiver<T>,
        packet_bytes: usize,
        untaken: &AtomicU64,
    ) -> Result<bool, Malformed> {
        self.take_returned()?;
        let has_room = !self.state.has_ended()
            && match self.state.distribution() {
                Distribution::ByKey => self.fill_by_key(front, packet_bytes, untaken),
                _ => self.fill_by_room(front, packet_bytes, untaken),
            };
        untaken.store(self.untaken(), Ordering::SeqCst);
        Ok(has_room)
    }
}
