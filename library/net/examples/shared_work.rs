//! Work that machines share, each with all of its cores: shared_work give ADDRESS N, and on any number of
//! machines shared_work take ADDRESS. Counts the primes below N. Machines may come, go and crash meanwhile.

use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use corelane::steal::pool::{self, Local, Options};
use corelane_net::Node;

mod arguments;

/// Numbers of a job, and those that a core looks at in one go.
const JOB: u64 = 1_000_000;
const PART: u64 = 10_000;

fn main() -> ExitCode {
    let usage = "shared_work give ADDRESS N, or shared_work take ADDRESS";
    arguments::run(usage, |arguments| match arguments {
        ["give", address, n] => Some(give(address, n.parse().ok()?)),
        ["take", address] => Some(take(address)),
        _ => None,
    })
}

fn give(address: &str, n: u64) -> Result<(), Box<dyn Error>> {
    let node = Node::listen(address)?;
    // Few jobs wait at a machine, so that none has much when the others have nothing.
    let jobs = node.lane::<u64>("jobs").window(4).gives_up_after(Duration::MAX).sharing_sender()?;
    let counts =
        node.lane::<[u64; 2]>("counts").gives_up_after(Duration::MAX).receiver_of_several()?;
    let number = n.div_ceil(JOB);
    let sends = std::thread::spawn(move || {
        (0..number).try_for_each(|job| jobs.send(job)).ok();
        jobs
    });
    // A job whose machine crashes goes to another one, so it may be counted twice.
    let mut of_jobs = vec![None; number as usize];
    while of_jobs.contains(&None) {
        let [job, count] = counts.recv()?;
        if let Some(of_job) = of_jobs.get_mut(job as usize) {
            *of_job = Some(count);
        }
    }
    println!("{} primes below {}", of_jobs.iter().flatten().sum::<u64>(), number * JOB);
    let jobs = sends.join().expect("it doesn't panic");
    // Machines that have gone need not hear of the end.
    let _ = jobs.finish(Duration::from_secs(5));
    Ok(())
}

fn take(address: &str) -> Result<(), Box<dyn Error>> {
    let node = Node::connect(address)?;
    let jobs = node.lane::<u64>("jobs").window(4).confirmed().receiver()?;
    let counts = node.lane::<[u64; 2]>("counts").sender()?;
    let mut done = 0;
    for job in jobs.iter() {
        counts.send([job, count(job)?])?;
        // Then no other machine does it again.
        if counts.wait_until_received(Duration::from_secs(60)) {
            jobs.confirm();
        }
        done += 1;
    }
    println!("{done} jobs");
    jobs.ended()?;
    Ok(counts.finish(Duration::from_secs(10))?)
}

/// The primes of a job, by all cores.
fn count(job: u64) -> std::io::Result<u64> {
    let primes = AtomicU64::new(0);
    let parts = (0..JOB / PART).map(|part| job * JOB + part * PART);
    pool::run(Options::default(), parts, |_: &mut Local<u64>, first: u64| {
        let found = (first..first + PART).filter(|&n| is_prime(n)).count() as u64;
        primes.fetch_add(found, Ordering::Relaxed);
    })?;
    Ok(primes.into_inner())
}

fn is_prime(n: u64) -> bool {
    n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}
