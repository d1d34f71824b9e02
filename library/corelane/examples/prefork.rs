//! Jobs for worker processes, of which one is killed in the middle: the others go on, and a new
//! one starts. Jobs that died with it are asked for again.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    match &std::env::args().skip(1).collect::<Vec<_>>()[..] {
        [jobs, results] => prefork::work(jobs.parse()?, results.parse()?),
        _ => prefork::run(),
    }
}

#[cfg(target_os = "linux")]
mod prefork {
    use std::collections::BTreeSet;
    use std::error::Error;
    use std::process::{Child, Command};
    use std::time::Duration;

    use corelane::shm::Lanes;

    const JOBS: usize = 1000;
    const WORKERS: usize = 3;

    pub(super) fn work(jobs: i32, results: i32) -> Result<(), Box<dyn Error>> {
        let mut rx = Lanes::<u64>::open_number(jobs)?.consumer()?;
        let mut tx = Lanes::<[u64; 2]>::open_number(results)?.producer()?;
        Ok(tx.push_all(rx.iter().map(|job| [job, job * job]))?)
    }

    pub(super) fn run() -> Result<(), Box<dyn Error>> {
        let jobs = Lanes::<u64>::create_for_producers(1, JOBS)?;
        let results = Lanes::<[u64; 2]>::create_for_producers(WORKERS, JOBS)?;
        let start = |_| -> Result<Child, Box<dyn Error>> {
            let mut worker = Command::new(std::env::current_exe()?);
            let numbers = [jobs.give(&mut worker)?, results.give(&mut worker)?];
            Ok(worker.args(numbers.map(|number| number.to_string())).spawn()?)
        };
        let mut workers = (0..WORKERS).map(start).collect::<Result<Vec<_>, _>>()?;

        let (mut tx, mut rx) = (jobs.producer()?, results.consumer()?);
        let (mut open, mut sum) = ((0..JOBS as u64).collect::<BTreeSet<_>>(), 0);
        while !open.is_empty() {
            // All jobs, and the next time those that died with a worker.
            tx.push_all(open.iter().copied())?;
            while let Ok([job, square]) = rx.pop_timeout(Duration::from_millis(100)) {
                if !open.remove(&job) {
                    continue; // It was asked for twice.
                }
                sum += square;
                if open.len() == JOBS / 2 {
                    workers[0].kill()?;
                    workers[0].wait()?;
                    workers[0] = start(0)?;
                }
            }
        }
        drop(tx);
        for mut worker in workers {
            worker.wait()?;
        }
        println!("the sum of {JOBS} squares is {sum}");
        assert_eq!(sum, (0..JOBS as u64).map(|job| job * job).sum());
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
