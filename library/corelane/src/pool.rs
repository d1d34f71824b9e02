//! Nodes in a fixed pool, which are named by indices and used again.
//!
//! A thread that was stopped may still know a node that has been used again meanwhile. So a link to
//! a node is an index and a count, which are exchanged together. An exchange by such a thread finds
//! another count, and fails.

use crate::memory::{AtomicU64, Ordering};
use crate::pad::Padded;

/// How links name nodes: the lower bits of a link are the node's index, and the bits above are a
/// count, which wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Names {
    /// The bits of an index. All of them together are the index of no node.
    mask: u64,
}

impl Names {
    /// For nodes with indices from 0 to `last`.
    pub(crate) fn up_to(last: usize) -> Self {
        Self { mask: (last as u64 + 2).next_power_of_two() - 1 }
    }

    /// For indices of `bits` bits.
    pub(crate) const fn of_bits(bits: u32) -> Self {
        Self { mask: (1 << bits) - 1 }
    }

    /// The link of a node with a count.
    #[inline]
    pub(crate) fn link(self, index: u64, count: u64) -> u64 {
        count.wrapping_mul(self.mask + 1) | index
    }

    #[inline]
    pub(crate) fn index(self, link: u64) -> u64 {
        link & self.mask
    }

    /// The node of one link with the count of another.
    #[inline]
    pub(crate) fn with_count(self, node: u64, count: u64) -> u64 {
        node & self.mask | count & !self.mask
    }

    /// The node of a link, with the count behind that of another.
    #[inline]
    pub(crate) fn behind(self, node: u64, last: u64) -> u64 {
        self.with_count(node, last.wrapping_add(self.mask + 1))
    }

    /// No node, with the count of a link.
    #[inline]
    pub(crate) fn none(self, link: u64) -> u64 {
        link | self.mask
    }

    #[inline]
    pub(crate) fn is_none(self, link: u64) -> bool {
        self.index(link) == self.mask
    }

    /// Whether `link` names the node behind `last`, as far as the counts tell.
    #[inline]
    pub(crate) fn follows(self, link: u64, last: u64) -> bool {
        !self.is_none(link) && self.behind(link, last) == link
    }

    /// How many nodes `last` is behind `first`.
    #[inline]
    pub(crate) fn between(self, first: u64, last: u64) -> usize {
        let nodes = (last & !self.mask).wrapping_sub(first & !self.mask);
        (nodes >> self.mask.count_ones()) as usize
    }

    /// Whether two links have the same count.
    #[inline]
    pub(crate) fn same_count(self, one: u64, other: u64) -> bool {
        (one ^ other) & !self.mask == 0
    }
}

/// The free nodes, which are linked to each other: the stack of R. K. Treiber (1986).
#[derive(Debug)]
#[repr(C)]
pub(crate) struct FreeList {
    /// The node that was given last. Its count is how often a node was taken.
    first: Padded<AtomicU64>,
}

impl FreeList {
    pub(crate) fn new(first: u64) -> Self {
        Self { first: Padded(AtomicU64::new(first)) }
    }

    /// Takes a free node. `next` finds the link in a node.
    #[inline]
    pub(crate) fn take<'a>(
        &self,
        names: Names,
        next: impl Fn(u64) -> &'a AtomicU64,
    ) -> Option<u64> {
        // Acquire, also below ↔ Release in `give`: the node's link, and all that its last user did
        // with it.
        let mut first = self.first.load(Ordering::Acquire);
        while !names.is_none(first) {
            // Relaxed: if another thread has taken the node, this is any link, and the exchange
            // fails.
            let rest = names.behind(next(first).load(Ordering::Relaxed), first);
            match self.first.compare_exchange(first, rest, Ordering::Relaxed, Ordering::Acquire) {
                Ok(_) => return Some(first),
                Err(found) => first = found,
            }
        }
        None
    }

    /// Makes `node` free. Its link in the list of free nodes gets the count of `count`.
    #[inline]
    pub(crate) fn give<'a>(
        &self,
        names: Names,
        node: u64,
        count: u64,
        next: impl Fn(u64) -> &'a AtomicU64,
    ) {
        // Relaxed: the exchange fails if the value is out of date.
        let mut first = self.first.load(Ordering::Relaxed);
        loop {
            // Relaxed: the exchange publishes it.
            next(node).store(names.with_count(first, count), Ordering::Relaxed);
            let new = names.with_count(node, first);
            // Release ↔ Acquire in `take`: the link, and all that this thread did with the node.
            match self.first.compare_exchange(first, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(found) => first = found,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_wrap() {
        for names in [1, 2, 5, 1000].map(Names::up_to) {
            let (before, after) = (names.link(0, u64::MAX), names.link(1, 0));
            assert_eq!((names.between(before, after), names.follows(after, before)), (1, true));
            assert!(!names.follows(names.none(after), before) && !names.follows(before, after));
            assert_eq!(names.behind(0, before), names.link(0, 0));
            assert!(names.is_none(names.none(before)) && !names.is_none(after));
            assert!(names.same_count(before, names.none(before)));
            assert!(!names.same_count(before, after));
        }
    }

    #[test]
    fn the_index_of_no_node_is_no_node() {
        for last in [1, 2, 3, 4, 6, 7, 8, 1000] {
            let names = Names::up_to(last);
            assert!(!names.is_none(last as u64) && names.index(names.none(0)) > last as u64);
        }
    }
}
