//! Marks all nodes of a random graph that can be reached from its roots, as a garbage collector
//! does.
//!
//! A task is a node. The worker that marks it first pushes its children. The newest node comes
//! first: its memory is in the cache.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use corelane::steal::pool::{self, Local, Options, Order};

const NODES: usize = 300_000;
const CHILDREN: usize = 3;

fn main() -> std::io::Result<()> {
    let mut random = 7_u64;
    let mut node = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % NODES
    };
    let children: Vec<[usize; CHILDREN]> =
        (0..NODES).map(|_| [(); CHILDREN].map(|()| node())).collect();
    let roots: Vec<usize> = (0..64).map(|_| node()).collect();
    for workers in [1, 2] {
        let marks: Vec<AtomicBool> = (0..NODES).map(|_| AtomicBool::new(false)).collect();
        let mark = |local: &mut Local<usize>, node: usize| {
            if !marks[node].swap(true, Ordering::Relaxed) {
                children[node].iter().for_each(|&child| local.push(child));
            }
        };
        let begin = Instant::now();
        pool::run(Options::new(workers).order(Order::Lifo), roots.iter().copied(), mark)?;
        let time = begin.elapsed();
        let marked = marks.iter().filter(|mark| mark.load(Ordering::Relaxed)).count();
        println!("{workers} workers marked {marked} of {NODES} nodes in {time:.0?}");
    }
    Ok(())
}
