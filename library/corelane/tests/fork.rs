//! A queue survives that its process forks, whatever memory it lives in.

#![cfg(target_os = "linux")]

use corelane::{Config, Memory, lamport};

/// Runs `child` in a child process, and returns how that ended.
fn in_a_child(child: impl FnOnce()) -> i32 {
    // SAFETY: the child only runs what it was given and ends; it waits for no thread.
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
fn what_a_child_does_is_not_seen_by_its_parent() {
    for memory in [Memory::Heap, Memory::HugePages, Memory::Mirrored] {
        let config = Config::new(512).memory(memory);
        let (mut tx, mut rx) = lamport::queue_with::<u64>(config).unwrap();
        assert_eq!(tx.push_slice(&[1, 2, 3]), 3);
        // In the child both handles go: by that the parent's queue is neither closed nor freed.
        let handles = std::mem::ManuallyDrop::new((tx, rx));
        // SAFETY: the child drops its copies, and the parent its own.
        let status = in_a_child(|| drop(unsafe { std::ptr::read(&*handles) }));
        assert_eq!(status, 0, "{memory:?}");
        (tx, rx) = std::mem::ManuallyDrop::into_inner(handles);
        assert!(!tx.is_closed() && !rx.is_closed(), "{memory:?}");
        assert_eq!(tx.push_slice(&[4]), 1);
        assert_eq!(rx.pop_iter().collect::<Vec<_>>(), [1, 2, 3, 4], "{memory:?}");
    }
}
