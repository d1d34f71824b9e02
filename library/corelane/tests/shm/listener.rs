//! Clients of a `Listener` that are silent, of another user, without descriptors, or with signals.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use corelane::shm::{Client, Error, Lane, Listener, connect_pair};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};

use super::{Tick, lane, program, signals, with_limit};

/// More than a client of a listener that nobody blocks waits for its lane.
const LONG: Duration = Duration::from_secs(5);

/// The program of the other processes.
pub(super) fn child(role: &str, name: &str) {
    match role {
        "strangers at the listener" => {
            // SAFETY: the call concerns this process only.
            assert_eq!(unsafe { libc::setuid(65534) }, 0);
            let mut strangers = silent(name, 8);
            println!("connected");
            // Each is told so, although it has not asked.
            strangers.iter_mut().for_each(|stream| stream.read_exact(&mut [0]).unwrap());
        }
        "few descriptors at the listener" => {
            let free = File::open("/dev/null").unwrap().as_raw_fd() as u64;
            let mut failed = 0;
            let lane = loop {
                let connected =
                    with_limit(libc::RLIMIT_NOFILE, free + failed, || Lane::<Tick>::connect(name));
                match connected {
                    Ok(lane) => break lane,
                    Err(Error::System { call, source }) => {
                        assert_eq!(source.raw_os_error(), Some(libc::EMFILE), "{call}: {source}");
                        assert!(!call.contains("start the process"), "{call}");
                    }
                    Err(error) => panic!("{error}"),
                }
                failed += 1;
            };
            assert!(failed >= 3, "a socket, the descriptor, and the same opened anew: {failed}");
            lane.producer().unwrap().push(Tick::new(failed)).unwrap();
        }
        "signals at the listener" => {
            signals(5000);
            let error = Lane::<Tick>::connect(name).unwrap_err();
            let Error::System { source, .. } = error else { panic!("{error}") };
            assert_eq!(source.kind(), ErrorKind::ConnectionRefused, "{source}");
        }
        other => panic!("no role {other}"),
    }
}

fn name(test: &str) -> String {
    format!("{test} {}", std::process::id())
}

/// Connections that don't ask for a lane.
fn silent(name: &str, count: usize) -> Vec<UnixStream> {
    let address = SocketAddr::from_abstract_name(format!("corelane/{name}")).unwrap();
    (0..count).map(|_| UnixStream::connect_addr(&address).unwrap()).collect()
}

/// Takes a lane. Returns how long that took.
fn take(listener: &Listener, name: &str) -> Duration {
    let lane = lane(8);
    let begin = Instant::now();
    thread::scope(|s| {
        let gives = s.spawn(|| listener.hand_out(&lane).unwrap());
        Lane::<Tick>::connect(name).unwrap();
        gives.join().unwrap();
    });
    begin.elapsed()
}

/// Kills a process that is left at the end of a test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether the process ends well, and soon.
fn ends_well(process: &mut Child) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < 2 * LONG {
        if let Some(status) = process.try_wait().unwrap() {
            return status.success();
        }
        thread::sleep(Duration::from_millis(2));
    }
    false
}

#[test]
fn stranger_blocks_listener() {
    if !rustix::process::getuid().is_root() {
        return eprintln!("left out: only root can start a process of another user");
    }
    let name = name("strangers");
    let listener = Listener::bind(&name).unwrap();
    let process = program("strangers at the listener", &name).stdout(Stdio::piped()).spawn();
    let mut process = Ended(process.unwrap());
    let mut output = Vec::new();
    while !output.ends_with(b"connected\n") {
        let mut byte = [0];
        process.0.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
        output.extend(byte);
    }
    assert!(take(&listener, &name) < LONG);
    assert!(ends_well(&mut process.0));
}

/// Of the listener's own user.
#[test]
fn silent_clients_keep_nobody_waiting() {
    let name = name("silent");
    let listener = Listener::bind(&name).unwrap();
    let silent = silent(&name, 200);
    assert!(take(&listener, &name) < LONG);
    // The listener keeps few of them, and so few descriptors.
    let has_gone = |mut stream: &UnixStream| {
        stream.set_nonblocking(true).unwrap();
        stream.read(&mut [0]).is_ok_and(|read| read == 0)
    };
    assert!(silent.iter().filter(|stream| has_gone(stream)).count() > 100);
    // The last one has the time to ask that it is given, also between two calls.
    let mut last = silent.last().unwrap();
    last.write_all(&[1]).unwrap();
    let lane = lane(8);
    thread::scope(|s| {
        let gives = s.spawn(|| listener.hand_out(&lane).unwrap());
        poll(&mut [PollFd::new(&last, PollFlags::IN)], None).unwrap();
        assert_eq!(last.read(&mut [0]).unwrap(), 1, "it is answered");
        // It never says that it has taken the lane.
        last.shutdown(std::net::Shutdown::Both).unwrap();
        Lane::<Tick>::connect(&name).unwrap();
        gives.join().unwrap();
    });
}

#[test]
fn out_of_descriptors() {
    let name = name("descriptors");
    let listener = Listener::bind(&name).unwrap();
    let lane = lane(8);
    let mut rx = lane.consumer().unwrap();
    let handed_out = AtomicU32::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            let this = std::process::id();
            while listener.hand_out(&lane).unwrap().process != Some(this) {
                handed_out.fetch_add(1, Ordering::Relaxed);
            }
        });
        let process = program("few descriptors at the listener", &name).spawn();
        let mut process = Ended(process.unwrap());
        let well = ends_well(&mut process.0);
        // Ends the other thread.
        Lane::<Tick>::connect(&name).unwrap();
        assert!(well, "the client has failed");
    });
    assert_eq!(handed_out.into_inner(), 1, "only a lane that was taken is handed out");
    assert!(rx.pop().is_some_and(|tick| tick.checked() > 0));
}

#[test]
fn a_lane_for_other_items_is_not_handed_out() {
    let name = name("others");
    let listener = Listener::bind(&name).unwrap();
    let lane = lane(8);
    thread::scope(|s| {
        let gives = s.spawn(|| listener.hand_out(&lane).unwrap());
        let error = Lane::<u64>::connect(&name).unwrap_err();
        assert!(matches!(error, Error::Differs { .. }), "{error}");
        assert!(!gives.is_finished());
        Lane::<Tick>::connect(&name).unwrap();
        let client: Client = gives.join().unwrap();
        assert_eq!(client.process, Some(std::process::id()));
    });
}

#[test]
fn two_lanes_are_handed_out_together() {
    let name = name("pair");
    let listener = Listener::bind(&name).unwrap();
    let lanes = (lane(8), Lane::<[u8]>::create(1000).unwrap());
    thread::scope(|s| {
        let gives = s.spawn(|| listener.hand_out_pair(&lanes.0, &lanes.1).unwrap());
        // A client of one lane, and one of other items, get none.
        let error = Lane::<Tick>::connect(&name).unwrap_err();
        assert!(matches!(error, Error::Differs { expected: 1, found: 2, .. }), "{error}");
        let error = connect_pair::<[u8], Tick>(&name).unwrap_err();
        assert!(matches!(error, Error::Differs { .. }), "{error}");
        assert!(!gives.is_finished());
        let (ticks, records) = connect_pair::<Tick, [u8]>(&name).unwrap();
        gives.join().unwrap();
        records.producer().unwrap().push(b"a record").unwrap();
        assert_eq!(*lanes.1.consumer().unwrap().pop().unwrap(), *b"a record");
        assert!(ticks.producer().is_ok() && ticks.consumer().is_ok());
    });
    thread::scope(|s| {
        s.spawn(|| listener.hand_out(&lanes.0).unwrap());
        let error = connect_pair::<Tick, [u8]>(&name).unwrap_err();
        assert!(matches!(error, Error::Differs { expected: 2, found: 1, .. }), "{error}");
        Lane::<Tick>::connect(&name).unwrap();
    });
}

/// A socket at which no more processes can connect, but one that is connected.
fn full(address: &SocketAddrUnix) -> OwnedFd {
    let flags = SocketFlags::CLOEXEC;
    let full = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
    bind(&full, address).unwrap();
    listen(&full, 0).unwrap();
    full
}

/// A client waits to be connected, because another one is before it.
#[test]
fn a_signal_does_not_end_a_connect() {
    let name = name("signals");
    let address = SocketAddrUnix::new_abstract_name(format!("corelane/{name}").as_bytes());
    let full = full(&address.unwrap());
    let _first = silent(&name, 1);
    let process = program("signals at the listener", &name).spawn();
    let mut process = Ended(process.unwrap());
    // Time for some signals. If it is too short, the test finds nothing, and fails never.
    thread::sleep(Duration::from_millis(300));
    drop(full);
    assert!(ends_well(&mut process.0));
}

#[test]
fn nobody_waits_for_a_busy_process_to_hear_that_it_listens() {
    let path = std::env::temp_dir().join(format!("corelane busy {}", std::process::id()));
    let full = full(&SocketAddrUnix::new(&path).unwrap());
    let _first = UnixStream::connect(&path).unwrap();
    let bound = thread::spawn({
        let path = path.clone();
        move || Listener::bind_path(path).map(drop)
    });
    let begin = Instant::now();
    while !bound.is_finished() && begin.elapsed() < LONG {
        thread::sleep(Duration::from_millis(2));
    }
    let has_heard = bound.is_finished();
    drop(full);
    let error = bound.join().unwrap().unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(has_heard, "it waits");
    let Error::System { source, .. } = error else { panic!("{error}") };
    assert_eq!(source.kind(), ErrorKind::AddrInUse);
}
