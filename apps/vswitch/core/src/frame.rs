//! Packets in memory, which threads pass on by their pointer.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use corelane::slot::Token;

use crate::mac::Mac;
use crate::port::Packet;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Longest packet.
const LONGEST: usize = 1 << 20;
/// Length of an Ethernet header: destination, source, type.
const ETHERNET: usize = 14;

/// Most owners of a frame: far fewer than the count can hold.
const MOST_OWNERS: u32 = u32::MAX / 2;

/// Number of packets in memory.
static ALLOCATED: AtomicU64 = AtomicU64::new(0);

/// In front of a packet's bytes. The Ethernet header comes in the same cache line.
#[repr(C, align(64))]
struct Head {
    /// Owners of the packet.
    owners: AtomicU32,
    /// Bytes that are in use.
    len: u32,
    /// Bytes that there are.
    capacity: u32,
    /// Bytes in front of the Ethernet header.
    ahead: u32,
    /// The first bytes.
    _bytes: [u8; LINE - 16],
}

/// Offset of the bytes.
const BYTES: usize = 16;

/// An Ethernet packet. A frame is one pointer, so queues pass it on in packed slots.
///
/// The only owner may change it: [`bytes_mut`](Self::bytes_mut).
///
/// ```
/// use vswitch_core::{Frame, Packet};
///
/// let mut frame = Frame::of(&[7; 60]);
/// frame.bytes_mut().expect("it has one owner")[12] = 8;
/// let other = frame.share();
/// assert_eq!((frame.bytes_mut(), other[12]), (None, 8));
/// ```
pub struct Frame(NonNull<Head>);

// SAFETY: the bytes change only while there is one owner, and owners are counted atomically.
unsafe impl Send for Frame {}
// SAFETY: as above; a shared frame can only be read, and shared once more.
unsafe impl Sync for Frame {}

// SAFETY: the pointer is not null, comes back unchanged, and has the ownership.
unsafe impl Token for Frame {
    #[inline]
    fn into_word(self) -> NonNull<()> {
        self.into_raw()
    }

    #[inline]
    unsafe fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: the caller's contract is the same.
        unsafe { Self::from_raw(word) }
    }
}

impl Frame {
    /// A frame with room for `capacity` bytes, all of them zero and in use.
    ///
    /// # Panics
    ///
    /// If that is more than a mebibyte.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity <= LONGEST, "a packet of {capacity} bytes");
        let layout = layout(capacity);
        // SAFETY: the layout isn't empty.
        let head = NonNull::new(unsafe { alloc_zeroed(layout) }.cast::<Head>());
        let head = head.unwrap_or_else(|| handle_alloc_error(layout));
        let capacity = (layout.size() - BYTES) as u32;
        // SAFETY: there is room for the head, and this is its only pointer.
        unsafe {
            (*head.as_ptr()).owners = AtomicU32::new(1);
            (*head.as_ptr()).len = capacity;
            (*head.as_ptr()).capacity = capacity;
        }
        ALLOCATED.fetch_add(1, Ordering::Relaxed);
        Self(head)
    }

    /// A frame with these bytes.
    ///
    /// # Panics
    ///
    /// As [`new`](Self::new).
    pub fn of(bytes: &[u8]) -> Self {
        let mut frame = Self::new(bytes.len());
        frame.bytes_mut().expect("it is new")[..bytes.len()].copy_from_slice(bytes);
        frame.set_len(bytes.len());
        frame
    }

    /// Number of frames in memory: in queues, in use, and kept for use.
    pub fn allocated() -> u64 {
        ALLOCATED.load(Ordering::Relaxed)
    }

    /// Bytes that it has room for.
    pub fn capacity(&self) -> usize {
        self.head().capacity as usize
    }

    /// All its bytes, used or not, if this is the only owner.
    #[inline]
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        // Acquire ↔ Release in `drop` of other owners: their reads have ended.
        if self.head().owners.load(Ordering::Acquire) != 1 {
            return None;
        }
        let capacity = self.capacity();
        // SAFETY: `capacity` bytes were allocated, and there is no other owner.
        Some(unsafe { slice::from_raw_parts_mut(self.start(), capacity) })
    }

    /// Sets the number of bytes that are in use. Does nothing if there are other owners.
    ///
    /// # Panics
    ///
    /// If `len` is more than the capacity.
    #[inline]
    pub fn set_len(&mut self, len: usize) {
        assert!(len <= self.capacity(), "a frame for {} bytes", self.capacity());
        if self.bytes_mut().is_some() {
            // SAFETY: there is no other owner.
            unsafe { (*self.0.as_ptr()).len = len as u32 };
        }
    }

    /// Sets the number of bytes in front of the Ethernet header, such as those of a TAP device.
    /// Does nothing if there are other owners.
    #[inline]
    pub fn set_ahead(&mut self, ahead: usize) {
        if self.bytes_mut().is_some() {
            // SAFETY: there is no other owner.
            unsafe { (*self.0.as_ptr()).ahead = ahead as u32 };
        }
    }

    /// The Ethernet packet: the bytes without those [ahead](Self::set_ahead) of it.
    pub fn ethernet(&self) -> &[u8] {
        self.get(self.head().ahead as usize..).unwrap_or_default()
    }

    /// The frame as a pointer, which owns it.
    #[inline]
    pub fn into_raw(self) -> NonNull<()> {
        let head = self.0.cast();
        std::mem::forget(self);
        head
    }

    /// The frame of a pointer.
    ///
    /// # Safety
    ///
    /// The pointer came from [`into_raw`](Self::into_raw), and is converted back once.
    #[inline]
    pub unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Self(raw.cast())
    }

    #[inline]
    fn head(&self) -> &Head {
        // SAFETY: it exists as long as there is an owner.
        unsafe { self.0.as_ref() }
    }

    #[inline]
    fn start(&self) -> *mut u8 {
        // SAFETY: the bytes follow in the same allocation.
        unsafe { self.0.as_ptr().cast::<u8>().add(BYTES) }
    }
}

/// The memory of a frame for `capacity` bytes: whole lines.
fn layout(capacity: usize) -> Layout {
    let size = (BYTES + capacity).next_multiple_of(LINE);
    Layout::from_size_align(size, LINE).expect("the capacity is limited")
}

impl Deref for Frame {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes were allocated and initialised; none changes while there are
        // several owners, and `bytes_mut` borrows the only one.
        unsafe { slice::from_raw_parts(self.start(), self.head().len as usize) }
    }
}

impl Drop for Frame {
    #[inline]
    fn drop(&mut self) {
        let owners = &self.head().owners;
        // Acquire ↔ Release of other owners' drops: their reads have ended. The only owner needs
        // no exchange: no other thread can share the frame any more.
        if owners.load(Ordering::Acquire) != 1 {
            if owners.fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        ALLOCATED.fetch_sub(1, Ordering::Relaxed);
        let layout = layout(self.capacity());
        // SAFETY: it was allocated with this layout, and there is no owner left.
        unsafe { dealloc(self.0.as_ptr().cast(), layout) };
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame").field("bytes", &self.len()).finish_non_exhaustive()
    }
}

impl Packet for Frame {
    /// Zeros if it is too short for a header.
    #[inline]
    fn addresses(&self) -> [Mac; 2] {
        match self.ethernet().first_chunk::<ETHERNET>() {
            Some([a, b, c, d, e, f, g, h, i, j, k, l, ..]) => {
                [[*a, *b, *c, *d, *e, *f], [*g, *h, *i, *j, *k, *l]].map(Mac::from_bytes)
            }
            None => [Mac::from_bytes([0; 6]); 2],
        }
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.len().saturating_sub(self.head().ahead as usize)
    }

    #[inline]
    fn share(&self) -> Self {
        // Relaxed: the new owner gets the frame through a queue, which orders what is in it.
        let owners = self.head().owners.fetch_add(1, Ordering::Relaxed);
        if owners > MOST_OWNERS {
            // Handles were forgotten in a loop. A count that wraps would free a frame in use.
            std::process::abort();
        }
        Self(self.0)
    }
}

/// Frames that a thread keeps for use, so that it rarely has to allocate one.
#[derive(Debug)]
pub struct Buffers {
    free: Vec<Frame>,
    bytes: usize,
}

/// Most frames that are kept for use.
const KEPT: usize = 256;

impl Buffers {
    /// Frames for packets of up to `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        Self { free: Vec::new(), bytes }
    }

    /// A frame with one owner. It may have any bytes.
    #[inline]
    pub fn take(&mut self) -> Frame {
        self.free.pop().unwrap_or_else(|| Frame::new(self.bytes))
    }

    /// Keeps the frame for use if it has no other owner, and is large enough.
    #[inline]
    pub fn put(&mut self, mut frame: Frame) {
        let serves = frame.capacity() >= self.bytes && frame.bytes_mut().is_some();
        if serves && self.free.len() < KEPT {
            self.free.push(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_owner_frees_it() {
        let mut frame = Frame::of(&[1; 100]);
        assert_eq!((frame.len(), frame.capacity() >= 100), (100, true));
        let other = frame.share();
        frame.set_len(50);
        assert_eq!(frame.len(), 100, "there is another owner");
        let thread = std::thread::spawn(move || other.iter().map(|byte| u32::from(*byte)).sum());
        assert_eq!(thread.join().ok(), Some(100_u32));
        frame.set_len(50);
        assert_eq!(frame.len(), 50);
        // SAFETY: it is converted back once.
        let frame = unsafe { Frame::from_raw(frame.into_raw()) };
        assert_eq!(*frame, [1; 50]);
    }

    #[test]
    fn the_ethernet_packet_may_have_bytes_ahead_of_it() {
        let mut bytes = [0; 40];
        bytes[10..22].copy_from_slice(&[255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 9]);
        let mut frame = Frame::of(&bytes);
        frame.set_ahead(10);
        assert_eq!(frame.addresses(), [Mac::BROADCAST, Mac::local(9)]);
        assert_eq!((frame.bytes(), frame.ethernet().len()), (30, 30));
        let none = [Mac::from_bytes([0; 6]); 2];
        assert_eq!(Frame::of(&[9; 13]).addresses(), none, "too short");
    }

    #[test]
    fn only_frames_without_other_owners_are_kept() {
        let mut buffers = Buffers::new(100);
        let frame = buffers.take();
        let other = frame.share();
        buffers.put(frame);
        assert_eq!(buffers.free.len(), 0);
        buffers.put(other);
        buffers.put(Frame::new(10));
        assert_eq!(buffers.free.len(), 1);
    }
}
