//! The pages of indirect items.

use corelane_sim::CapacityError;

use crate::failure::Failure;
use crate::stream::{Payload, Stream};

/// Twice as many pages as fit into the queues, so that two threads never touch the same one at once
/// (paper 1 §5.1).
///
/// Only the pages' addresses matter: they are never written.
#[derive(Debug)]
pub(crate) struct Pool {
    pages: Vec<Page>,
    len: usize,
}

#[derive(Debug)]
#[repr(align(4096))]
struct Page(#[expect(dead_code, reason = "only the address matters")] [u8; 4096]);

impl Pool {
    pub(crate) fn new(stream: &Stream) -> Result<Self, Failure> {
        let queues = stream.cores.len().saturating_sub(1).max(1);
        let len = match stream.payload {
            Payload::Embedded => 0,
            Payload::Indirect => (2 * queues).saturating_mul(stream.capacity.next_power_of_two()),
        };
        let mut pages = Vec::new();
        pages.try_reserve_exact(len).map_err(|_| {
            let bytes = len.saturating_mul(size_of::<Page>());
            Failure::Capacity(CapacityError::OutOfMemory { bytes })
        })?;
        Ok(Self { pages, len })
    }

    fn page(&self, number: u64) -> Option<*const Page> {
        let index = number.checked_rem(self.len as u64)?;
        Some(self.pages.as_ptr().wrapping_add(index as usize))
    }

    /// The producer writes four bytes.
    pub(crate) fn fill(&self, number: u64) {
        if let Some(page) = self.page(number) {
            coherence::write(page.cast_mut(), 4);
        }
    }

    /// The thread that gets the item reads the bytes.
    pub(crate) fn read(&self, number: u64) {
        if let Some(page) = self.page(number) {
            coherence::read(page, 4);
        }
    }
}
