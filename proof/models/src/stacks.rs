//! A pool of loom's stacks.
//!
//! loom makes each thread of each execution a coroutine. Its crate `generator` maps a stack for it,
//! protects a page at the stack's end, and unmaps both after the execution: three system calls and
//! half a dozen page faults a thread, about 30 % of a model's time. Threads of one process also
//! wait for each other in these calls. Neither crate has an option to avoid them.
//!
//! So this module defines the C library's `mmap`, `mprotect` and `munmap` for the program that it
//! is linked into. Stacks of `generator`'s size come out of an arena, where they keep their memory
//! and their protected page. All other calls go to the kernel. Allocations and the stacks of
//! threads don't reach these functions, because the C library maps them by internal names; nor do
//! the library's regions, for which `rustix` calls the kernel.
//!
//! A stack keeps the bytes that the last execution has left; `generator` writes before it reads.
//! The first model makes the arena, so programs without models only pay for a comparison of
//! lengths.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, MAP_STACK, PROT_NONE, PROT_READ, PROT_WRITE};
use libc::{SYS_mmap, SYS_mprotect, SYS_munmap, c_long, off_t, size_t, syscall};

const PAGE: usize = 4096;
/// Bytes of a stack: the bytes that loom asks for, and a protected page.
const STACK: usize = 9 * PAGE;
/// Stacks in the arena. Each thread that runs models has one execution at a time, which takes three
/// stacks at most.
const STACKS: usize = u64::BITS as usize;
/// How stacks are mapped.
const ACCESS: c_int = PROT_READ | PROT_WRITE;
const FLAGS: c_int = MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK;

/// The stacks, side by side. The lowest page of each is protected.
struct Arena {
    base: *mut c_void,
    /// A bit for each stack that is in use.
    in_use: AtomicU64,
}

// SAFETY: the thread that sets a bit has that stack to itself.
unsafe impl Send for Arena {}
// SAFETY: see above.
unsafe impl Sync for Arena {}

/// Made by the first stack. `None` if the kernel refuses.
static ARENA: OnceLock<Option<Arena>> = OnceLock::new();

impl Arena {
    fn map() -> Option<Self> {
        // SAFETY: the kernel chooses the place.
        let base = unsafe { call_mmap(null_mut(), STACKS * STACK, ACCESS, FLAGS, -1, 0) };
        // SAFETY: the page belongs to the arena, which no thread uses yet.
        let protect =
            |n: usize| unsafe { call_mprotect(base.wrapping_byte_add(n * STACK), PAGE, PROT_NONE) };
        let usable = base != MAP_FAILED && (0..STACKS).all(|n| protect(n) == 0);
        usable.then_some(Self { base, in_use: AtomicU64::new(0) })
    }

    /// A stack that is free, if there is one.
    fn take(&self) -> Option<*mut c_void> {
        let with_another = |in_use: u64| {
            let free = 1u64.checked_shl(in_use.trailing_ones())?;
            Some(in_use | free)
        };
        // Acquire ↔ Release in `give_back`: what the last user did to the stack.
        let taken = self.in_use.fetch_update(Ordering::Acquire, Ordering::Relaxed, with_another);
        taken
            .ok()
            .map(|in_use| self.base.wrapping_byte_add(in_use.trailing_ones() as usize * STACK))
    }

    /// Number of the stack that begins at `address`, if there is one.
    fn stack_at(&self, address: *mut c_void) -> Option<usize> {
        let offset = address.addr().checked_sub(self.base.addr())?;
        (offset < STACKS * STACK && offset.is_multiple_of(STACK)).then_some(offset / STACK)
    }

    fn give_back(&self, stack: usize) {
        self.in_use.fetch_and(!(1 << stack), Ordering::Release);
    }
}

/// The arena and a stack's number in it, if a stack of the arena begins at `address`.
fn pooled(address: *mut c_void) -> Option<(&'static Arena, usize)> {
    let arena = ARENA.get()?.as_ref()?;
    Some((arena, arena.stack_at(address)?))
}

/// How many stacks of the pool are in use: some in a model, none outside.
pub(crate) fn in_use() -> u32 {
    let arena = ARENA.get().and_then(Option::as_ref);
    arena.map_or(0, |arena| arena.in_use.load(Ordering::Relaxed).count_ones())
}

/// Maps memory, as the C library does.
///
/// # Safety
///
/// The contract of the system call.
#[unsafe(no_mangle)]
unsafe extern "C" fn mmap(
    address: *mut c_void,
    length: size_t,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    let is_stack = length == STACK && address.is_null() && (access, flags) == (ACCESS, FLAGS);
    let arena = || ARENA.get_or_init(Arena::map).as_ref();
    match is_stack.then(arena).flatten().and_then(Arena::take) {
        Some(stack) => stack,
        // SAFETY: the caller's contract.
        None => unsafe { call_mmap(address, length, access, flags, file, offset) },
    }
}

/// Changes the access to memory, as the C library does.
///
/// # Safety
///
/// The contract of the system call.
#[unsafe(no_mangle)]
unsafe extern "C" fn mprotect(address: *mut c_void, length: size_t, access: c_int) -> c_int {
    match pooled(address) {
        // The page is protected already.
        Some(_) if (length, access) == (PAGE, PROT_NONE) => 0,
        // SAFETY: the caller's contract.
        _ => unsafe { call_mprotect(address, length, access) },
    }
}

/// Unmaps memory, as the C library does.
///
/// # Safety
///
/// The contract of the system call.
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(address: *mut c_void, length: size_t) -> c_int {
    match pooled(address) {
        Some((arena, stack)) if length == STACK => {
            arena.give_back(stack);
            0
        }
        // SAFETY: the caller's contract.
        _ => unsafe { syscall(SYS_munmap, address, length) as c_int },
    }
}

unsafe fn call_mmap(
    address: *mut c_void,
    length: size_t,
    access: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    let (access, flags, file) = (access as c_long, flags as c_long, file as c_long);
    // SAFETY: the caller's contract.
    let mapped = unsafe { syscall(SYS_mmap, address, length, access, flags, file, offset) };
    std::ptr::with_exposed_provenance_mut(mapped as usize)
}

unsafe fn call_mprotect(address: *mut c_void, length: size_t, access: c_int) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { syscall(SYS_mprotect, address, length, access as c_long) as c_int }
}
