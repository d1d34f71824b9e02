//! A pool of workers that can be stopped while jobs are waiting.
//!
//! Each worker waits for a job or for the end. Dropping `stop` disconnects its channel, which all
//! workers see at once. Results come back through a channel that is never full, so no worker waits
//! for the main thread.

use std::thread;

use corelane::channel::{bounded, select_biased, unbounded};

type Job = Box<dyn FnOnce() -> u64 + Send>;

fn main() {
    let (submit, jobs) = bounded::<Job>(64);
    let (report, results) = unbounded();
    let (stop, stopped) = bounded::<()>(0);

    let worker = || loop {
        select_biased! {
            recv(stopped) -> _ => break, // first: it counts more than a job
            recv(jobs) -> job => report.send(job.expect("`submit` is there")()).expect("`results` is there"),
        }
    };
    thread::scope(|s| {
        (0..4).for_each(|_| drop(s.spawn(worker)));
        for n in 0..1_000 {
            submit.send(Box::new(move || (0..n).sum())).expect("`jobs` is there");
        }
        println!("the first 500 results, together {}", results.iter().take(500).sum::<u64>());
        drop(stop);
    }); // The scope waits for the workers.
    println!("{} jobs were not begun", jobs.len());
    assert_eq!(500 + results.len() + jobs.len(), 1_000);
}
