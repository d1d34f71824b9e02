//! Simulated atomics as values, when their memory is reused.

use std::mem::MaybeUninit;

use coherence::{Machine, Simulation};
use corelane_sim::memory::{AtomicU64, Ordering, fence};

#[test]
fn a_store_to_a_dropped_atomic_is_not_done() {
    let mut simulation = Simulation::new(Machine::i7(), 1);
    simulation.spawn(0, || {
        let mut memory = MaybeUninit::new(AtomicU64::new(0));
        // SAFETY: the place holds an atomic, which isn't used again.
        unsafe {
            memory.assume_init_ref().store(1, Ordering::Relaxed);
            memory.assume_init_drop();
        }
        let next = memory.write(AtomicU64::new(7));
        fence(Ordering::SeqCst);
        assert_eq!(next.load(Ordering::Relaxed), 7);
    });
    simulation.run().unwrap();
}
