//! Descriptors of channels, with the pollers of Linux.
#![cfg(target_os = "linux")]

use std::thread;
use std::time::Duration;

use corelane::channel::{
    ReadyFd, Receiver, RecvError, Select, TryRecvError, after, bounded, spsc, unbounded,
};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const MOMENT: Duration = Duration::from_millis(15);

fn is_ready(fd: &ReadyFd) -> bool {
    poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&Timespec::default())).unwrap() == 1
}

/// Waits until the descriptor is ready. Panics if it takes five seconds.
fn wait(fd: &ReadyFd) {
    let time = Timespec { tv_sec: 5, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&time)).unwrap();
    assert_eq!(ready, 1, "no message came");
}

#[test]
fn it_is_ready_while_there_are_messages() {
    for (tx, rx) in [bounded(2), unbounded()] {
        let fd = rx.ready_fd().unwrap();
        assert!(!is_ready(&fd));
        tx.send(1).unwrap();
        tx.send(2).unwrap();
        assert!(is_ready(&fd));
        assert_eq!(rx.recv(), Ok(1));
        assert!(is_ready(&fd));
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [2]);
        assert!(!is_ready(&fd));
        tx.send(3).unwrap();
        assert!(is_ready(&fd));
        assert_eq!(rx.try_recv(), Ok(3));
        assert!(rx.recv_timeout(Duration::ZERO).is_err());
        assert!(!is_ready(&fd));
    }
}

#[test]
fn it_is_ready_at_once_if_a_message_is_there_already() {
    let (tx, rx) = spsc::bounded(2);
    tx.send(1).unwrap();
    let fd = rx.ready_fd().unwrap();
    assert!(is_ready(&fd) && is_ready(&rx.ready_fd().unwrap()));
}

#[test]
fn it_is_ready_when_the_senders_are_gone_and_stays_so() {
    for capacity in [0, 1] {
        let (tx, rx) = bounded::<u8>(capacity);
        let fd = rx.ready_fd().unwrap();
        let ends = thread::spawn(move || {
            thread::sleep(MOMENT);
            drop(tx);
        });
        wait(&fd);
        ends.join().unwrap();
        assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
        assert!(is_ready(&fd));
    }
}

#[test]
fn it_is_ready_while_a_sender_waits_for_a_receiver() {
    let (tx, rx) = bounded(0);
    let fd = rx.ready_fd().unwrap();
    thread::scope(|s| {
        s.spawn(|| tx.send(1).unwrap());
        wait(&fd);
        assert_eq!(rx.try_recv(), Ok(1));
    });
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert!(!is_ready(&fd));
}

#[test]
fn a_select_that_finds_nothing_makes_it_tell_of_the_next_message() {
    let (tx, rx) = bounded(1);
    let fd = rx.ready_fd().unwrap();
    tx.send(1).unwrap();
    assert_eq!(rx.recv(), Ok(1));
    let mut select = Select::new();
    select.recv(&rx);
    assert!(select.try_select().is_err());
    assert!(!is_ready(&fd));
    tx.send(2).unwrap();
    assert!(is_ready(&fd));
}

/// The poller gets the ring, and the other receiver still its message.
#[test]
fn a_receiver_that_sleeps_behind_a_poller_is_woken() {
    for capacity in [0, 1] {
        let (tx, rx) = bounded(capacity);
        let _fd = rx.ready_fd().unwrap();
        let (done, received) = std::sync::mpsc::channel();
        let sleeper = rx.clone();
        thread::spawn(move || done.send(sleeper.recv()));
        thread::sleep(MOMENT);
        tx.send(1).unwrap();
        assert_eq!(received.recv_timeout(Duration::from_secs(5)).unwrap(), Ok(1));
    }
}

#[test]
fn it_outlives_the_channel() {
    let (tx, rx) = bounded::<u8>(1);
    let fd = rx.ready_fd().unwrap();
    drop(rx);
    assert!(tx.send(1).is_err());
    drop(tx);
    assert!(is_ready(&fd));
}

#[test]
fn a_channel_of_the_clock_has_none() {
    let error = after(MOMENT).ready_fd().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
}

/// Receives by an edge-triggered poller until the senders are gone, and returns the number of
/// messages.
fn receive(rx: &Receiver<u64>) -> u64 {
    let fd = rx.ready_fd().unwrap();
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    let events = epoll::EventFlags::IN | epoll::EventFlags::ET;
    epoll::add(&poller, &fd, epoll::EventData::new_u64(0), events).unwrap();
    let (time, mut count) = (Timespec { tv_sec: 5, tv_nsec: 0 }, 0);
    loop {
        let mut ready = Vec::with_capacity(1);
        epoll::wait(&poller, spare_capacity(&mut ready), Some(&time)).unwrap();
        assert_eq!(ready.len(), 1, "a message came without an edge");
        loop {
            match rx.try_recv() {
                Ok(_) => count += 1,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return count,
            }
        }
    }
}

/// Pauses make the pollers find nothing, again and again.
#[test]
fn edges_come_for_all_messages() {
    const MANY: u64 = 5_000;
    for receivers in [1, 2] {
        for (tx, rx) in [bounded(64), unbounded(), bounded(0)] {
            let count: u64 = thread::scope(|s| {
                for _ in 0..2 {
                    let tx = tx.clone();
                    s.spawn(move || {
                        for n in 0..MANY {
                            tx.send(n).unwrap();
                            if n % 7 == 0 {
                                thread::yield_now();
                            }
                        }
                    });
                }
                drop(tx);
                let threads: Vec<_> = (0..receivers).map(|_| s.spawn(|| receive(&rx))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            assert_eq!((count, rx.recv()), (2 * MANY, Err(RecvError)));
        }
    }
}
