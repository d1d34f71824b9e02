//! What a channel takes. One test: it counts all that the process allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use corelane::channel::{Receiver, Sender, bounded};

struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: as the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A channel takes less than 3 KiB for each thread that uses it, whatever other threads use other
/// channels.
#[test]
fn six_of_many_threads() {
    const THREADS: usize = 2000;
    // Of each, six threads use one: the first ones, the last ones, and some in between.
    let users: [fn(usize) -> bool; 3] =
        [|i| i < 6, |i| i >= THREADS - 6, |i| i % (THREADS / 6) == 5];
    let (all, _rx) = bounded(THREADS);
    let [phase, end] = [(); 2].map(|()| Barrier::new(THREADS + 1));
    let channels: [(Sender<u8>, Receiver<u8>); 3] = [(); 3].map(|()| bounded(1));
    thread::scope(|s| {
        for i in 0..THREADS {
            let (all, phase, end, channels) = (&all, &phase, &end, &channels);
            let run = move || {
                all.send(i).unwrap();
                for (uses, (tx, rx)) in users.iter().zip(channels) {
                    phase.wait();
                    if uses(i) {
                        while tx.try_send(0).is_err() || rx.try_recv().is_err() {
                            thread::yield_now();
                        }
                    }
                    phase.wait();
                }
                end.wait();
            };
            thread::Builder::new().stack_size(64 << 10).spawn_scoped(s, run).unwrap();
            // One after the other: the threads are numbered as they come.
            while all.len() <= i {
                thread::yield_now();
            }
        }
        let taken = ["first", "last", "scattered"].map(|which| {
            let before = BYTES.load(Ordering::Relaxed);
            phase.wait();
            phase.wait();
            (which, BYTES.load(Ordering::Relaxed) - before)
        });
        end.wait();
        assert!(taken.iter().all(|(_, bytes)| *bytes <= 6 * (3 << 10)), "{taken:?}");
    });
}
