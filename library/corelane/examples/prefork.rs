//! Jobs for worker processes, of which one is killed in the middle. Jobs that died with it are
//! asked for again.

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

    const JOBS: u64 = 1000;
    const WORKERS: usize = 3;

    pub(super) fn work(jobs: i32, results: i32) -> Result<(), Box<dyn Error>> {
        let mut rx = Lanes::<u64>::open_number(jobs)?.consumer()?;
        let mut tx = Lanes::<[u64; 2]>::open_number(results)?.producer()?;
        for job in rx.iter() {
            tx.push([job, job * job])?;
        }
        Ok(())
    }

    pub(super) fn run() -> Result<(), Box<dyn Error>> {
        let jobs = Lanes::<u64>::create_for_producers(1, 64)?;
        let results = Lanes::<[u64; 2]>::create_for_producers(WORKERS, 64)?;
        let start = || -> Result<Child, Box<dyn Error>> {
            let mut worker = Command::new(std::env::current_exe()?);
            let numbers = [jobs.give(&mut worker)?, results.give(&mut worker)?];
            Ok(worker.args(numbers.map(|number| number.to_string())).spawn()?)
        };
        let mut workers = (0..WORKERS).map(|_| start()).collect::<Result<Vec<_>, _>>()?;

        let (mut tx, mut rx) = (jobs.producer()?, results.consumer()?);
        let mut open: BTreeSet<_> = (0..JOBS).collect();
        let mut to_send: Vec<_> = open.iter().copied().collect();
        let (mut sum, mut is_killed) = (0, false);
        while !open.is_empty() {
            while to_send.last().is_some_and(|job| tx.try_push(*job).is_ok()) {
                to_send.pop();
            }
            match rx.pop_timeout(Duration::from_millis(100)) {
                Ok([job, square]) if open.remove(&job) => sum += square,
                // It was asked for twice.
                Ok(_) => {}
                // Some jobs died with a worker.
                Err(_) => to_send.extend(&open),
            }
            if !is_killed && open.len() as u64 <= JOBS / 2 {
                is_killed = true;
                workers[0].kill()?;
                workers[0].wait()?;
                workers[0] = start()?;
            }
        }
        drop(tx);
        for mut worker in workers {
            worker.wait()?;
        }
        println!("the sum of {JOBS} squares is {sum}");
        assert_eq!(sum, (0..JOBS).map(|job| job * job).sum());
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
