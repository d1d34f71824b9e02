//! The nodes of the list, their links, and the cells of their items.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::ptr::NonNull;

use crate::memory::{AtomicU64, Cells};
use crate::region::{Attach, Slots};

/// Most items: the counts of links keep 22 bits with as many, and 40 bits with 16 million.
pub(super) const MOST_ITEMS: usize = 1 << limited_bits(usize::BITS);

/// The logarithm of this number, where a number of items has `bits` bits.
const fn limited_bits(bits: u32) -> u32 {
    if bits < 43 { bits - 2 } else { 41 }
}

/// How links name nodes: the lower bits of a link are the node's index, and the bits above are a
/// count, which wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Names {
    /// The bits of an index. All of them together are the index of no node.
    mask: u64,
}

impl Names {
    /// For nodes with indices from 0 to `last`.
    fn up_to(last: usize) -> Self {
        Self { mask: (last as u64 + 2).next_power_of_two() - 1 }
    }

    /// The link of a node with a count.
    #[inline]
    fn new(self, index: u64, count: u64) -> u64 {
        count.wrapping_mul(self.mask + 1) | index
    }

    #[inline]
    fn index(self, link: u64) -> u64 {
        link & self.mask
    }

    /// The node of one link with the count of another.
    #[inline]
    pub(super) fn with_count(self, node: u64, count: u64) -> u64 {
        node & self.mask | count & !self.mask
    }

    /// The node of a link, with the count behind that of another.
    #[inline]
    pub(super) fn behind(self, node: u64, last: u64) -> u64 {
        self.with_count(node, last.wrapping_add(self.mask + 1))
    }

    /// No node, with the count of a link.
    #[inline]
    pub(super) fn none(self, link: u64) -> u64 {
        link | self.mask
    }

    #[inline]
    pub(super) fn is_none(self, link: u64) -> bool {
        self.index(link) == self.mask
    }

    /// Whether `link` names the node behind `last`, as far as the counts tell.
    #[inline]
    pub(super) fn follows(self, link: u64, last: u64) -> bool {
        !self.is_none(link) && self.behind(link, last) == link
    }

    /// How many nodes `last` is behind `first`.
    #[inline]
    pub(super) fn between(self, first: u64, last: u64) -> usize {
        let nodes = (last & !self.mask).wrapping_sub(first & !self.mask);
        (nodes >> self.mask.count_ones()) as usize
    }
}

/// A node, without the item.
#[derive(Debug)]
#[repr(C)]
struct Node {
    /// Of a node in the list: the next node, or none with the node's own count. Of a free node: the
    /// next free node, or none.
    next: AtomicU64,
    /// The number of the cell with the node's item. The node at `head` has none.
    cell: AtomicU64,
}

/// How many items there are nodes for, and the count of the first node.
#[derive(Debug, Clone, Copy)]
pub struct NodeShape {
    pub(super) items: usize,
    pub(super) first: u64,
}

impl NodeShape {
    fn names(self) -> Names {
        Names::up_to(self.items)
    }

    /// The link of a node with the first count.
    pub(super) fn link(self, index: u64) -> u64 {
        self.names().new(index, self.first)
    }
}

/// All nodes, one more than there are cells.
#[derive(Debug)]
pub struct Nodes<T> {
    nodes: NonNull<Node>,
    pub(super) cells: Cells<T>,
    pub(super) names: Names,
    items: usize,
}

impl<T> Clone for Nodes<T> {
    fn clone(&self) -> Self {
        Self { cells: self.cells.clone(), ..*self }
    }
}

impl<T> Nodes<T> {
    /// Number of cells.
    #[inline]
    pub(super) fn items(&self) -> usize {
        self.items
    }

    #[inline]
    fn node(&self, link: u64) -> &Node {
        let index = self.names.index(link) as usize;
        debug_assert!(index <= self.items, "there is no such node");
        // SAFETY: links that are followed name one of the nodes, which `init` has written.
        unsafe { self.nodes.add(index).as_ref() }
    }

    /// The link in a node.
    #[inline]
    pub(super) fn next(&self, link: u64) -> &AtomicU64 {
        &self.node(link).next
    }

    /// The cell of a node.
    #[inline]
    pub(super) fn cell(&self, link: u64) -> &AtomicU64 {
        &self.node(link).cell
    }
}

impl<T> Slots for Nodes<T> {
    const SLOT: Layout = Cells::<T>::SLOT;
    type Shape = NodeShape;

    fn slots(shape: NodeShape) -> Result<Layout, LayoutError> {
        Cells::<T>::slots(shape.items)
    }

    fn variables(shape: NodeShape) -> Result<Layout, LayoutError> {
        Layout::array::<Node>(shape.items + 1)
    }

    /// The first node is in the list, and all others are free.
    unsafe fn init(variables: NonNull<u8>, slots: NonNull<u8>, shape: NodeShape) -> Self {
        let nodes = variables.cast::<Node>();
        let names = shape.names();
        for index in 0..=shape.items as u64 {
            let link = shape.link(index + 1);
            let is_last = index == 0 || index == shape.items as u64;
            let next = AtomicU64::new(if is_last { names.none(link) } else { link });
            // The first node has no cell.
            let cell = AtomicU64::new(index.saturating_sub(1));
            // SAFETY: by the caller's contract there is room for all nodes.
            unsafe { nodes.add(index as usize).write(Node { next, cell }) };
        }
        // SAFETY: the caller's contract.
        let cells = unsafe { Cells::init(variables, slots, shape.items) };
        Self { nodes, cells, names, items: shape.items }
    }

    unsafe fn finish(&self) {
        // SAFETY: all nodes were written by `init`, and nothing of this is used any more.
        unsafe {
            (0..=self.items).for_each(|index| self.nodes.add(index).drop_in_place());
            self.cells.finish();
        }
    }
}

impl<T> Attach for Nodes<T> {
    unsafe fn attach(variables: NonNull<u8>, slots: NonNull<u8>, shape: NodeShape) -> Self {
        // SAFETY: the caller's contract.
        let cells = unsafe { Cells::attach(variables, slots, shape.items) };
        Self { nodes: variables.cast(), cells, names: shape.names(), items: shape.items }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_wrap() {
        for names in [0, 1, 5, 1000].map(Names::up_to) {
            let (before, after) = (names.new(0, u64::MAX), names.new(1, 0));
            assert_eq!((names.between(before, after), names.follows(after, before)), (1, true));
            assert!(!names.follows(names.none(after), before) && !names.follows(before, after));
            assert_eq!(names.behind(0, before), names.new(0, 0));
            assert!(names.is_none(names.none(before)) && !names.is_none(after));
        }
    }

    #[test]
    fn the_index_of_no_node_is_no_node() {
        for last in [1, 2, 3, 4, 6, 7, 8, 1000] {
            let names = Names::up_to(last);
            assert!(!names.is_none(last as u64) && names.index(names.none(0)) > last as u64);
        }
        // Even where a number of items has 32 bits.
        assert_eq!([32, 64].map(limited_bits), [30, 41]);
    }
}
