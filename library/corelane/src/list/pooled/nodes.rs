//! The nodes of the list, their links, and the cells of their items.

use alloc::alloc::Layout;
use core::alloc::LayoutError;
use core::ptr::NonNull;

use crate::memory::{AtomicU64, Cells};
use crate::pool::Names;
use crate::region::{Attach, Slots};

/// Most items: the counts of links keep 22 bits with as many, and 39 bits with 16 million. Half of
/// the addresses are enough for their nodes.
pub(super) const MOST_ITEMS: usize = 1 << limited_bits(usize::BITS);

/// The logarithm of this number, where a number of items has `bits` bits.
const fn limited_bits(bits: u32) -> u32 {
    if bits < 43 { bits - 6 } else { 41 }
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
        self.names().link(index, self.first)
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
    fn there_are_indices_where_a_number_of_items_has_32_bits() {
        assert_eq!([32, 64].map(limited_bits), [26, 41]);
    }
}
