//! A queue survives a fork of its process, in every kind of memory.

#![cfg(target_os = "linux")]

use corelane::lamport::lazy;
use corelane::{Config, Memory};

/// Runs `child` in a child process, and returns the process's status.
fn in_a_child(child: impl FnOnce()) -> i32 {
    // SAFETY: the child only runs `child` and ends; it waits for no thread.
    match unsafe { libc::fork() } {
        0 => {
            child();
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(0) }
        }
        process => {
            let mut status = 0;
            // SAFETY: `status` is valid, and the process is a child.
            assert_eq!(unsafe { libc::waitpid(process, &mut status, 0) }, process);
            status
        }
    }
}

#[test]
fn a_child_neither_closes_nor_frees_its_parents_queue() {
    for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
        let config = Config::new(512).memory(memory);
        let (mut tx, mut rx) = lazy::queue_with::<u64>(config).unwrap();
        assert_eq!(tx.push_slice(&[1, 2, 3]), 3);
        // The child drops both handles. This neither closes nor frees the parent's queue.
        let handles = std::mem::ManuallyDrop::new((tx, rx));
        // SAFETY: the child drops only its own copies, and the parent its own.
        let status = in_a_child(|| drop(unsafe { std::ptr::read(&*handles) }));
        assert_eq!(status, 0, "{memory:?}");
        (tx, rx) = std::mem::ManuallyDrop::into_inner(handles);
        assert!(!tx.is_closed() && !rx.is_closed(), "{memory:?}");
        assert_eq!(tx.push_slice(&[4]), 1);
        assert_eq!(rx.pop_iter().collect::<Vec<_>>(), [1, 2, 3, 4], "{memory:?}");
    }
}
