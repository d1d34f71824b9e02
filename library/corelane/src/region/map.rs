//! Memory mappings, where the operating system has them.

use core::ffi::c_void;
use core::ptr::{self, NonNull};

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use rustix::process::{Resource, getrlimit};

use crate::queue::Backing;

/// Size of an ordinary page.
pub(super) const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;
pub(super) const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// Where a mapping starts, how long it is, and which kind of memory it got.
type Mapping = (NonNull<u8>, usize, Backing);

/// Reserved huge pages, or else pages that may become huge.
pub(super) fn huge_pages(size: usize) -> Option<Mapping> {
    let len = size.next_multiple_of(HUGE_PAGE);
    let map = |flags| {
        // SAFETY: a new private mapping at an address of the kernel's choice.
        unsafe { mmap_anonymous(ptr::null_mut(), len, READ_WRITE, flags) }
    };
    if let Ok(base) = map(MapFlags::PRIVATE | MapFlags::HUGETLB) {
        // Here the system reports that a control group may have no more such pages; otherwise it
        // would end the process by a signal when a page is touched. Before Linux 5.14 it can't
        // report it. SAFETY: the mapping has just been made with this length, and holds zeros.
        let found = unsafe { madvise(base, len, Advice::LinuxPopulateWrite) };
        if matches!(found, Ok(()) | Err(Errno::INVAL)) {
            return Some((NonNull::new(base.cast())?, len, Backing::HugePages));
        }
        // SAFETY: as above, and nothing refers to it.
        let _ = unsafe { munmap(base, len) };
    }
    let base = map(MapFlags::PRIVATE).ok()?;
    // SAFETY: the mapping has just been made with this length; the advice changes no content.
    let _ = unsafe { madvise(base, len, Advice::LinuxHugepage) };
    Some((NonNull::new(base.cast())?, len, Backing::TransparentHugePages))
}

/// `size` bytes, whose last `tail` bytes are mapped a second time right behind them. The bytes
/// before the tail are whole pages.
///
/// A child process gets a copy of the bytes before the tail, as of any private memory. It gets no
/// tail, since it would share the tail with its parent.
pub(super) fn mirrored(size: usize, tail: usize) -> Option<Mapping> {
    // The system would end the process by a signal.
    if getrlimit(Resource::Fsize).current.is_some_and(|most| most < tail as u64) {
        return None;
    }
    let file = memfd_create("corelane", MemfdFlags::CLOEXEC).ok()?;
    ftruncate(&file, tail as u64).ok()?;
    let total = size + tail;
    // SAFETY: a new private mapping at an address of the kernel's choice. The two maps then replace
    // parts of only this mapping, and both have the file's length. The advice changes no content.
    unsafe {
        let base = mmap_anonymous(ptr::null_mut(), total, READ_WRITE, MapFlags::PRIVATE).ok()?;
        let at = |offset| base.cast::<u8>().add(offset).cast::<c_void>();
        let fixed = MapFlags::SHARED | MapFlags::FIXED;
        let map = |start| mmap(at(start), tail, READ_WRITE, fixed, &file, 0);
        let mapped = map(size - tail)
            .and_then(|_| map(size))
            .and_then(|_| madvise(at(size - tail), 2 * tail, Advice::LinuxDontFork));
        if mapped.is_err() {
            let _ = munmap(base, total);
            return None;
        }
        Some((NonNull::new(base.cast())?, total, Backing::Mirrored))
    }
}

/// Gives a region's addresses back.
///
/// # Safety
///
/// `base` and `len` belong to a mapping made here, and nothing refers to it.
pub(super) unsafe fn unmap(base: NonNull<u8>, len: usize) {
    // SAFETY: the caller's contract. It cannot fail for an existing mapping.
    let _ = unsafe { munmap(base.as_ptr().cast(), len) };
}
