//! A process is killed before and after each of its system calls, from the first with which it
//! opens a lane to its last.

use std::io::Error;
use std::time::Duration;
use std::{ptr, thread};

use corelane::shm::{Broadcast, Carried, Lane, Lanes};
use corelane::wait::Strategy;

use super::{Tick, lane, spawn};

/// More than a lane of these tests has room for, so both sides sleep.
const SOME: u64 = 9;
const PATIENCE: Duration = Duration::from_secs(20);

/// The program of the other processes.
pub(super) fn child(role: &str, number: &str) {
    trace(libc::PTRACE_TRACEME, 0, 0).unwrap();
    // SAFETY: the call concerns this thread only.
    unsafe { libc::raise(libc::SIGSTOP) };
    let number = number.parse().unwrap();
    match role {
        "push, traced" => push(&Lane::open_number(number).unwrap()),
        "pop, traced" => pop(&Lane::open_number(number).unwrap()),
        "push records, traced" => push_records(&Lane::open_number(number).unwrap()),
        "pop records, traced" => pop_records(&Lane::open_number(number).unwrap()),
        "publish, traced" => publish(&Broadcast::open_number(number).unwrap()),
        "push jobs, traced" => push_jobs(&Lanes::open_number(number).unwrap()),
        "pop jobs, traced" => {
            let jobs = Lanes::<Tick>::open_number(number).unwrap();
            let mut rx = jobs.consumer().unwrap().strategy(Strategy::Sleep);
            (0..SOME).for_each(|_| _ = rx.pop().unwrap());
        }
        other => panic!("no role {other}"),
    }
}

/// Pushes the items that no producer has pushed yet.
fn push(lane: &Lane<Tick>) {
    let mut tx = lane.producer().unwrap().strategy(Strategy::Sleep);
    while tx.position() < SOME {
        // A consumer that is seen to be dead has closed the lane, until the next one comes.
        if tx.push(Tick::new(tx.position())).is_err() {
            assert!(tx.wait_for_peer(PATIENCE));
        }
    }
}

/// Pops the items that no consumer has popped yet.
fn pop(lane: &Lane<Tick>) {
    let mut rx = lane.consumer().unwrap().strategy(Strategy::Sleep);
    while rx.position() < SOME {
        let expected = rx.position();
        match rx.pop_timeout(PATIENCE) {
            Ok(tick) => assert_eq!(tick.checked(), expected),
            Err(_) => assert!(rx.wait_for_peer(PATIENCE)),
        }
    }
}

fn push_records(lane: &Lane<[u8]>) {
    let mut tx = lane.producer().unwrap().strategy(Strategy::Sleep);
    while tx.position() < SOME {
        if tx.push(&tx.position().to_ne_bytes()).is_err() {
            assert!(tx.wait_for_peer(PATIENCE));
        }
    }
}

fn pop_records(lane: &Lane<[u8]>) {
    let mut rx = lane.consumer().unwrap().strategy(Strategy::Sleep);
    while rx.position() < SOME {
        let expected = rx.position();
        let record = rx.pop_timeout(PATIENCE).map(|record| record.to_vec());
        match record {
            Ok(record) => assert_eq!(record, expected.to_ne_bytes()),
            Err(_) => assert!(rx.wait_for_peer(PATIENCE)),
        }
    }
}

fn publish(feed: &Broadcast<Tick>) {
    let mut tx = feed.producer().unwrap();
    while tx.position() < SOME {
        tx.push(Tick::new(tx.position())).unwrap();
    }
}

/// Pushes all items: a producer of `Lanes` doesn't go on where another one has stopped.
fn push_jobs(jobs: &Lanes<Tick>) {
    let mut tx = jobs.producer().unwrap().strategy(Strategy::Sleep);
    (0..SOME).for_each(|number| tx.push(Tick::new(number)).unwrap());
}

fn trace(request: libc::c_uint, thread: i32, data: i32) -> Result<(), Error> {
    // SAFETY: none of the requests here writes to memory of this process.
    let done = unsafe { libc::ptrace(request, thread, ptr::null_mut::<u8>(), i64::from(data)) };
    if done == -1 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Waits for this thread, or -1 for any that this one traces: which it is, and the signal at which
/// it stopped. `None` if it has ended.
fn stopped(thread: i32) -> (i32, Option<i32>) {
    let mut status = 0;
    // SAFETY: the call writes to `status` only.
    let thread = unsafe { libc::waitpid(thread, &mut status, libc::__WALL | libc::__WNOTHREAD) };
    assert!(thread > 0, "{}", Error::last_os_error());
    (thread, libc::WIFSTOPPED(status).then(|| libc::WSTOPSIG(status)))
}

/// Lets a traced thread run to its next system call, or from there to its end. Whether it got
/// there.
fn run_on(thread: i32) -> bool {
    let mut signal = 0;
    loop {
        trace(libc::PTRACE_SYSCALL, thread, signal).unwrap();
        match stopped(thread).1 {
            None => return false,
            Some(CALL) => return true,
            Some(other) => signal = other,
        }
    }
}

/// A process that stops at a system call says this.
const CALL: i32 = libc::SIGTRAP | 0x80;

/// Kills a process at this stop at a system call. Whether it got so far.
fn killed_at<T: Carried + ?Sized>(role: &str, lane: &Lane<T>, stop: usize) -> bool {
    let mut child = spawn(role, &[lane]);
    let (thread, signal) = stopped(-1);
    assert_eq!(signal, Some(libc::SIGSTOP), "the role begins");
    trace(libc::PTRACE_SETOPTIONS, thread, libc::PTRACE_O_TRACESYSGOOD).unwrap();
    let there = (0..=stop).all(|_| run_on(thread));
    if there {
        child.kill().unwrap();
        while stopped(thread).1.is_some() {}
    }
    assert_eq!(child.wait().unwrap().success(), !there);
    there
}

/// Does this for each stop of a process that ends by itself.
fn at_each_stop(mut killed: impl FnMut(usize) -> bool) {
    let stops = (0..2000).take_while(|&stop| killed(stop)).count();
    assert!((20..2000).contains(&stops), "{stops} stops");
}

/// Kills one side at each stop. The other side, and then the next process of this side, go on in
/// this one.
fn kill_at_each_stop<T: Carried + ?Sized + Sync>(
    role: &str,
    lane: impl Fn() -> Lane<T>,
    next: impl Fn(&Lane<T>),
    other: impl Fn(&Lane<T>) + Sync,
) {
    at_each_stop(|stop| {
        let lane = lane();
        thread::scope(|scope| {
            scope.spawn(|| other(&lane));
            let killed = killed_at(role, &lane, stop);
            next(&lane);
            killed
        })
    });
}

#[test]
fn killed_at_each_call_of_a_lane() {
    kill_at_each_stop("push, traced", || lane(4), push, pop);
    kill_at_each_stop("pop, traced", || lane(4), pop, push);
}

#[test]
fn killed_at_each_call_of_a_lane_of_records() {
    let lane = || Lane::<[u8]>::create_for_records(64, 8).unwrap();
    kill_at_each_stop("push records, traced", lane, push_records, pop_records);
    kill_at_each_stop("pop records, traced", lane, pop_records, push_records);
}

#[test]
fn killed_at_each_call_of_a_publisher() {
    at_each_stop(|stop| {
        let feed = Broadcast::<Tick>::create(64).unwrap();
        let mut rx = feed.consumer().unwrap().strategy(Strategy::Sleep);
        thread::scope(|scope| {
            scope.spawn(move || {
                while rx.position() < SOME {
                    let expected = rx.position();
                    match rx.pop_timeout(PATIENCE) {
                        Ok(tick) => assert_eq!(tick.checked(), expected),
                        Err(_) => assert!(rx.wait_for_peer(PATIENCE)),
                    }
                }
                assert_eq!(rx.lost(), 0);
            });
            let killed = killed_at("publish, traced", &feed, stop);
            publish(&feed);
            killed
        })
    });
}

fn pop_jobs(jobs: &Lanes<Tick>) -> Vec<u64> {
    let mut rx = jobs.consumer().unwrap().strategy(Strategy::Sleep);
    rx.iter().map(Tick::checked).collect()
}

#[test]
fn killed_at_each_call_of_a_producer_of_lanes() {
    at_each_stop(|stop| {
        let jobs = Lanes::create_for_producers(2, 4).unwrap();
        thread::scope(|scope| {
            let open = jobs.producer().unwrap();
            let pops = scope.spawn(|| pop_jobs(&jobs));
            let killed = killed_at("push jobs, traced", &jobs, stop);
            push_jobs(&jobs);
            drop(open);
            let mut came = pops.join().unwrap();
            let dead = came.len() - SOME as usize;
            assert!(killed || dead == SOME as usize);
            assert!(came.drain(..dead).eq(0..dead as u64) && came.into_iter().eq(0..SOME));
            killed
        })
    });
}

#[test]
fn killed_at_each_call_of_a_consumer_of_lanes() {
    at_each_stop(|stop| {
        let jobs = Lanes::create_for_producers(1, 4).unwrap();
        thread::scope(|scope| {
            let (open, pushes) = (jobs.consumer().unwrap(), scope.spawn(|| push_jobs(&jobs)));
            let killed = killed_at("pop jobs, traced", &jobs, stop);
            let came = pop_jobs(&jobs);
            pushes.join().unwrap();
            drop(open);
            // The items that the dead consumer had are gone with it.
            let first = SOME - came.len() as u64;
            assert!(came.into_iter().eq(first..SOME));
            assert!(killed || first == SOME);
            killed
        })
    });
}
