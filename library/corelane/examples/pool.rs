//! A pool of workers: one queue carries jobs to the workers, another queue carries results back.
//!
//! Closing ends the pool. When the last job has been pushed, the jobs' producer is dropped. A worker that finds no job then
//! sees `Closed` and ends, and the last worker to end closes the results.

use std::thread;

use corelane::{CapacityError, Producer, TryPopError, TryPushError, mpmc, mpsc};

type Job = Box<dyn FnOnce() -> u64 + Send>;

fn main() -> Result<(), CapacityError> {
    let (mut submit, jobs) = mpmc::queue::<Job>(64)?;
    let (report, mut results) = mpsc::queue::<u64>(64)?;

    thread::scope(|s| {
        for _ in 0..4 {
            let (mut jobs, mut report) = (jobs.clone(), report.clone());
            s.spawn(move || {
                loop {
                    match jobs.try_pop() {
                        Ok(job) => send(&mut report, job()),
                        Err(TryPopError::Closed) => break,
                        Err(_) => thread::yield_now(),
                    }
                }
            });
        }
        drop((jobs, report)); // Only the workers have these sides now.

        s.spawn(move || {
            for n in 0..1_000 {
                send(&mut submit, Box::new(move || (0..n).sum()));
            }
        });

        let (mut count, mut sum) = (0, 0);
        loop {
            match results.try_pop() {
                Ok(result) => (count, sum) = (count + 1, sum + result),
                Err(TryPopError::Closed) => break,
                Err(_) => thread::yield_now(),
            }
        }
        println!("{count} results, together {sum}");
        assert_eq!((count, sum), (1_000, 166_167_000));
    });
    Ok(())
}

/// Pushes, and yields while there is no room.
fn send<T>(tx: &mut impl Producer<Item = T>, mut item: T) {
    while let Err(error) = tx.try_push(item) {
        if let TryPushError::Closed(_) = error {
            return;
        }
        item = error.into_inner();
        thread::yield_now();
    }
}
