//! The store buffer of a core.

use std::collections::VecDeque;
use std::mem::MaybeUninit;

use crate::Time;

/// Most bytes that an atomic value has.
pub(crate) const MAX_VALUE: usize = 16;

/// The bytes of an atomic value.
pub(crate) type Bytes = MaybeUninit<[u8; MAX_VALUE]>;

/// The address and length of an access.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) address: usize,
    pub(crate) bytes: usize,
}

impl Span {
    /// The span of a value.
    pub(crate) fn of<T>(value: *const T) -> Self {
        Self { address: value.addr(), bytes: size_of::<T>() }
    }

    /// The parts of the span in different lines of `line` bytes. An empty span has no parts.
    pub(crate) fn by_lines(self, line: usize) -> impl Iterator<Item = Self> {
        let (mut address, end) = (self.address, self.end());
        std::iter::from_fn(move || {
            let bytes = end.min((address & !(line - 1)) + line) - address;
            let part = Self { address, bytes };
            address += bytes;
            (bytes > 0).then_some(part)
        })
    }

    fn end(self) -> usize {
        self.address + self.bytes
    }

    fn overlaps(self, other: Self) -> bool {
        self.address < other.end() && other.address < self.end()
    }
}

/// A store that hasn't entered the cache.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) line: usize,
    pub(crate) site: u32,
    pub(crate) span: Span,
    /// The value to be written, and its address. `None` for plain data, which is already written.
    pub(crate) value: Option<(*mut u8, Bytes)>,
    /// When all earlier loads are done: no store enters the cache before.
    pub(crate) after: Time,
    /// Whether the miss of the store was charged when its line was requested early.
    pub(crate) charged: bool,
}

impl Entry {
    /// Makes the store visible.
    pub(crate) fn write(&self) {
        if let Some((to, bytes)) = self.value {
            // SAFETY: the storing thread keeps the memory valid until the store is done.
            unsafe { to.copy_from_nonoverlapping(bytes.as_ptr().cast(), self.span.bytes) };
        }
    }
}

/// The result of a load's look into the store buffer of its own core.
#[derive(Debug)]
pub(crate) enum Found {
    /// No store to these bytes.
    Nothing,
    /// The last store to these bytes, which covers them; with its value, if it is atomic.
    Whole(Option<Bytes>),
    /// Stores to some of these bytes: the load has to wait.
    Part,
}

/// Stores in program order, the oldest of which may be on its way into the cache.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    entries: VecDeque<Entry>,
    /// Whether the oldest store is on its way.
    sent: bool,
    /// Stores that are visible.
    done: u64,
}

impl Buffer {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Stores that are visible, and all stores.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.done, self.done + self.len() as u64)
    }

    /// Adds a store. Returns true if it is the only one: then it must be sent.
    pub(crate) fn push(&mut self, entry: Entry) -> bool {
        self.entries.push_back(entry);
        self.len() == 1
    }

    /// The oldest store, if it isn't on its way.
    pub(crate) fn next(&self) -> Option<&Entry> {
        self.entries.front().filter(|_| !self.sent)
    }

    /// Sends the oldest store.
    pub(crate) fn send(&mut self) -> Option<&Entry> {
        self.sent = true;
        self.entries.front()
    }

    /// Removes the oldest store.
    pub(crate) fn pop(&mut self) -> Option<Entry> {
        self.done += u64::from(!self.is_empty());
        self.entries.pop_front()
    }

    /// The store that is on its way arrives. Later stores to the same line arrive with it, if the
    /// loads before them are done. Calls `of_same_line` with each of these.
    pub(crate) fn arrive(&mut self, at: Time, mut of_same_line: impl FnMut(&Entry)) -> bool {
        if !std::mem::take(&mut self.sent) {
            return false;
        }
        let Some(first) = self.entries.pop_front() else { return false };
        first.write();
        let joins = |entry: &Entry| entry.line == first.line && entry.after <= at;
        let joining = self.entries.iter().take_while(|entry| joins(entry)).count();
        self.done += 1 + joining as u64;
        for entry in self.entries.drain(..joining) {
            entry.write();
            of_same_line(&entry);
        }
        true
    }

    /// The result of a load of `span`.
    pub(crate) fn find(&self, span: Span) -> Found {
        let Some(entry) = self.entries.iter().rev().find(|entry| entry.span.overlaps(span)) else {
            return Found::Nothing;
        };
        match entry.value {
            None if entry.span.address <= span.address && span.end() <= entry.span.end() => {
                Found::Whole(None)
            }
            Some((_, bytes)) if same(entry.span, span) => Found::Whole(Some(bytes)),
            _ => Found::Part,
        }
    }

    /// Whether a value for some of these bytes is still to be written.
    pub(crate) fn holds_value_in(&self, span: Span) -> bool {
        self.entries.iter().any(|entry| entry.value.is_some() && entry.span.overlaps(span))
    }

    /// Values for these bytes needn't be written any more.
    pub(crate) fn forget(&mut self, span: Span) {
        let in_span = |entry: &&mut Entry| entry.span.overlaps(span);
        self.entries.iter_mut().filter(in_span).for_each(|entry| entry.value = None);
    }

    /// Makes all stores visible, in order.
    pub(crate) fn write_all(&mut self) {
        self.sent = false;
        self.done += self.len() as u64;
        self.entries.drain(..).for_each(|entry| entry.write());
    }
}

fn same(a: Span, b: Span) -> bool {
    a.address == b.address && a.bytes == b.bytes
}
