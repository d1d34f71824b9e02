//! Records of 64 bytes between two processes, each on a core: one to the other process and back, or
//! as many as it can send.
//!
//! The other process is this program. It has one end of each link as its standard input or output,
//! or finds it by a name.

use std::fs::File;
use std::hint::spin_loop;
use std::io::{Read, Write, pipe, stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cloudtoid_interprocess::{Options, Publisher, Subscriber};
use corelane::shm;
use ipc_channel::ipc::{
    IpcBytesReceiver, IpcBytesSender, IpcOneShotServer, IpcSender, bytes_channel,
};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::process::{Signal, set_parent_process_death_signal};
use shaq::spsc;
use zerocopy::IntoBytes;

use crate::pair::{nanoseconds, pin};
use crate::{Case, Row};

const WORDS: usize = 8;
/// Each word is the number of the record.
type Record = [u64; WORDS];

/// Records that a link holds, if that can be chosen.
const CAPACITY: usize = 4096;
/// Length of the warm-up and of the measurement.
const LENGTHS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(40)];

/// The number of a record; nothing if it is damaged.
fn number(record: &Record) -> Option<u64> {
    let errors = record.iter().fold(0, |errors, word| errors | (word ^ record[0]));
    (errors == 0).then_some(record[0])
}

/// A way from one process to another. A link to the child is its standard input, one from the child
/// its standard output, unless it has a name.
trait Link {
    type Tx: Send;
    type Rx: Send;

    fn to_child(child: &mut Command) -> (Self::Tx, String);
    fn from_child(child: &mut Command) -> (Self::Rx, String);
    fn open_tx(name: &str) -> Self::Tx;
    fn open_rx(name: &str) -> Self::Rx;

    /// Sends the record of a number, after a wait for room.
    fn put(tx: &mut Self::Tx, number: u64) -> bool;
    /// The number of the next record, after a wait for it.
    fn get(rx: &mut Self::Rx) -> Option<u64>;
}

/// Repeats a step. Nanoseconds of a step, after a warm-up.
fn repeat(chunk: u64, mut step: impl FnMut()) -> f64 {
    // The child starts during the first step.
    step();
    let mut value = 0.0;
    for length in LENGTHS {
        let (begin, mut steps) = (Instant::now(), 0);
        while begin.elapsed() < length {
            (0..chunk).for_each(|_| step());
            steps += chunk;
        }
        value = nanoseconds(begin.elapsed()) / steps as f64;
    }
    value
}

/// Runs this process's part on the first core. Returns its handles, too: cloudtoid's queue goes
/// with the last one, so they stay until the other process has ended.
fn here<H: Send>(work: impl FnOnce() -> (f64, H) + Send) -> (f64, H) {
    let work = move || {
        pin(0);
        work()
    };
    thread::scope(|scope| scope.spawn(work).join()).expect("it doesn't panic")
}

/// This program, once more.
fn other(link: &str, role: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().expect("the program has a path"));
    child.args(["--other-process", link, role]).stdin(Stdio::null()).stdout(Stdio::null());
    child
}

fn round_trip<L: Link>(link: &str) -> f64 {
    let mut child = other(link, "echo");
    let (mut tx, there) = L::to_child(&mut child);
    let (mut rx, back) = L::from_child(&mut child);
    let mut running = child.args([there, back]).spawn().expect("this program can be started");
    // It has the child's ends.
    drop(child);
    let (value, _handles) = here(move || {
        let mut last = 0;
        let value = repeat(8, || {
            last += 1;
            let answer = L::put(&mut tx, last).then(|| L::get(&mut rx)).flatten();
            assert_eq!(answer, Some(last), "a record did not come back");
        });
        (value, (tx, rx))
    });
    end(&mut running);
    value
}

fn stream<L: Link>(link: &str) -> f64 {
    let mut child = other(link, "send");
    let (mut rx, name) = L::from_child(&mut child);
    let mut running = child.arg(name).spawn().expect("this program can be started");
    drop(child);
    let (value, _handles) = here(move || {
        let mut last = 0;
        let value = repeat(64, || {
            last += 1;
            assert_eq!(L::get(&mut rx), Some(last), "a record is lost or damaged");
        });
        (value, rx)
    });
    end(&mut running);
    value
}

/// Not every link tells that the other side is gone.
fn end(child: &mut std::process::Child) {
    // If it has ended by itself, there is nothing to kill.
    let _ = child.kill();
    child.wait().expect("it was started here");
}

fn child<L: Link>(role: &str, names: &[String]) {
    if role == "send" {
        let (mut tx, mut last) = (L::open_tx(&names[0]), 1);
        while L::put(&mut tx, last) {
            last += 1;
        }
        return;
    }
    let (mut rx, mut tx) = (L::open_rx(&names[0]), L::open_tx(&names[1]));
    while let Some(number) = L::get(&mut rx) {
        if !L::put(&mut tx, number) {
            return;
        }
    }
}

/// The part of the other process.
pub fn be_other(what: &[String]) {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    pin(1);
    let [link, role, names @ ..] = what else { panic!("it is started by this program only") };
    let child = match link.as_str() {
        "pipe" => child::<Pipe>,
        "unix-socket" => child::<Socket>,
        "linering" => child::<LineRing>,
        "shaq" => child::<Shaq>,
        "cloudtoid" => child::<Cloudtoid>,
        _ => child::<IpcChannel>,
    };
    child(role, names);
}

fn input() -> OwnedFd {
    stdin().as_fd().try_clone_to_owned().expect("a descriptor")
}

fn output() -> OwnedFd {
    stdout().as_fd().try_clone_to_owned().expect("a descriptor")
}

fn put_bytes(tx: &mut impl Write, number: u64) -> bool {
    tx.write_all([number; WORDS].as_bytes()).is_ok()
}

fn get_bytes(rx: &mut impl Read) -> Option<u64> {
    let mut record: Record = [0; WORDS];
    rx.read_exact(record.as_mut_bytes()).ok()?;
    number(&record)
}

/// A link whose ends, `$open` as reader and writer, are files.
macro_rules! files {
    ($link:ident, $open:expr) => {
        struct $link;

        impl Link for $link {
            type Tx = File;
            type Rx = File;

            fn to_child(child: &mut Command) -> (File, String) {
                let (rx, tx) = $open.expect("the system has it");
                child.stdin(OwnedFd::from(rx));
                (OwnedFd::from(tx).into(), String::new())
            }

            fn from_child(child: &mut Command) -> (File, String) {
                let (rx, tx) = $open.expect("the system has it");
                child.stdout(OwnedFd::from(tx));
                (OwnedFd::from(rx).into(), String::new())
            }

            fn open_tx(_: &str) -> File {
                output().into()
            }

            fn open_rx(_: &str) -> File {
                input().into()
            }

            fn put(tx: &mut File, number: u64) -> bool {
                put_bytes(tx, number)
            }

            fn get(rx: &mut File) -> Option<u64> {
                get_bytes(rx)
            }
        }
    };
}

files!(Pipe, pipe());
files!(Socket, UnixStream::pair());

/// A lane of corelane.
struct LineRing;

impl Link for LineRing {
    type Tx = shm::Producer<Record>;
    type Rx = shm::Consumer<Record>;

    fn to_child(child: &mut Command) -> (Self::Tx, String) {
        let lane = shm::Lane::<Record>::create(CAPACITY).expect("there is memory");
        let number = lane.give(child).expect("a descriptor");
        (lane.producer().expect("it is the first"), number.to_string())
    }

    fn from_child(child: &mut Command) -> (Self::Rx, String) {
        let lane = shm::Lane::<Record>::create(CAPACITY).expect("there is memory");
        let number = lane.give(child).expect("a descriptor");
        (lane.consumer().expect("it is the first"), number.to_string())
    }

    fn open_tx(name: &str) -> Self::Tx {
        let lane = shm::Lane::<Record>::open_number(name.parse().expect("a number"));
        lane.and_then(|lane| lane.producer()).expect("it was given")
    }

    fn open_rx(name: &str) -> Self::Rx {
        let lane = shm::Lane::<Record>::open_number(name.parse().expect("a number"));
        lane.and_then(|lane| lane.consumer()).expect("it was given")
    }

    fn put(tx: &mut Self::Tx, number: u64) -> bool {
        tx.push([number; WORDS]).is_ok()
    }

    fn get(rx: &mut Self::Rx) -> Option<u64> {
        number(&rx.pop()?)
    }
}

struct Shaq;

/// A memory file for a queue, and its length.
fn memory() -> (File, usize) {
    let len = spsc::minimum_file_size::<Record>(CAPACITY).next_multiple_of(4096);
    let file = memfd_create("shaq", MemfdFlags::CLOEXEC).expect("there is memory");
    ftruncate(&file, len as u64).expect("there is memory");
    (file.into(), len)
}

impl Link for Shaq {
    type Tx = spsc::Producer<Record>;
    type Rx = spsc::Consumer<Record>;

    fn to_child(child: &mut Command) -> (Self::Tx, String) {
        let (file, len) = memory();
        // SAFETY: this process makes the queue, and has its only producer. Records are plain data.
        let tx = unsafe { spsc::Producer::create(&file, len) }.expect("there is memory");
        child.stdin(file);
        (tx, String::new())
    }

    fn from_child(child: &mut Command) -> (Self::Rx, String) {
        let (file, len) = memory();
        // SAFETY: this process makes the queue, and has its only consumer. Records are plain data.
        let rx = unsafe { spsc::Consumer::create(&file, len) }.expect("there is memory");
        child.stdout(file);
        (rx, String::new())
    }

    fn open_tx(_: &str) -> Self::Tx {
        // SAFETY: this process has the only producer. Records are plain data.
        unsafe { spsc::Producer::join(&output().into()) }.expect("it was given")
    }

    fn open_rx(_: &str) -> Self::Rx {
        // SAFETY: this process has the only consumer. Records are plain data.
        unsafe { spsc::Consumer::join(&input().into()) }.expect("it was given")
    }

    fn put(tx: &mut Self::Tx, number: u64) -> bool {
        loop {
            // SAFETY: the record is written before it is published.
            let mut room = unsafe { tx.reserve() };
            if room.is_none() {
                tx.sync();
                // SAFETY: as above.
                room = unsafe { tx.reserve() };
            }
            if let Some(record) = room {
                // SAFETY: it is this side's until it is published.
                unsafe { record.write([number; WORDS]) };
                tx.commit();
                return true;
            }
            spin_loop();
        }
    }

    fn get(rx: &mut Self::Rx) -> Option<u64> {
        loop {
            if let Some(record) = rx.try_read() {
                return number(record);
            }
            rx.finalize();
            rx.sync();
            if let Some(record) = rx.try_read() {
                return number(record);
            }
            spin_loop();
        }
    }
}

struct Cloudtoid;

/// A queue that both processes find by its name.
fn named(name: &str) -> Options {
    Options::new(name.to_owned(), CAPACITY * (size_of::<Record>() + 16))
}

fn fresh() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("plain-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Link for Cloudtoid {
    type Tx = Publisher;
    type Rx = Subscriber;

    fn to_child(_: &mut Command) -> (Publisher, String) {
        let name = fresh();
        (Self::open_tx(&name), name)
    }

    fn from_child(_: &mut Command) -> (Subscriber, String) {
        let name = fresh();
        (Self::open_rx(&name), name)
    }

    fn open_tx(name: &str) -> Publisher {
        Publisher::open(&named(name)).expect("there is memory")
    }

    fn open_rx(name: &str) -> Subscriber {
        Subscriber::open(&named(name)).expect("there is memory")
    }

    fn put(tx: &mut Publisher, number: u64) -> bool {
        while tx.try_send([number; WORDS].as_bytes()).is_err() {
            spin_loop();
        }
        true
    }

    fn get(rx: &mut Subscriber) -> Option<u64> {
        get_bytes(&mut &rx.recv().ok()?[..])
    }
}

struct IpcChannel;

/// A handle of ipc-channel. The child makes both, and sends one through a server that it finds by
/// its name.
enum Handle<H> {
    Coming(IpcOneShotServer<H>),
    Here(H),
    Missing,
}

impl<H: serde::Serialize + serde::de::DeserializeOwned> Handle<H> {
    fn of_child() -> (Self, String) {
        let (server, name) = IpcOneShotServer::new().expect("a socket");
        (Self::Coming(server), name)
    }

    fn send(handle: H, name: &str) {
        let server = IpcSender::connect(name.to_owned()).expect("it waits");
        server.send(handle).expect("it waits");
    }

    fn get(&mut self) -> Option<&H> {
        if let Self::Coming(_) = self
            && let Self::Coming(server) = std::mem::replace(self, Self::Missing)
        {
            *self = Self::Here(server.accept().ok()?.1);
        }
        if let Self::Here(handle) = self { Some(handle) } else { None }
    }
}

impl Link for IpcChannel {
    type Tx = Handle<IpcBytesSender>;
    type Rx = Handle<IpcBytesReceiver>;

    fn to_child(_: &mut Command) -> (Self::Tx, String) {
        Handle::of_child()
    }

    fn from_child(_: &mut Command) -> (Self::Rx, String) {
        Handle::of_child()
    }

    fn open_tx(name: &str) -> Self::Tx {
        let (tx, rx) = bytes_channel().expect("a socket");
        Handle::send(rx, name);
        Handle::Here(tx)
    }

    fn open_rx(name: &str) -> Self::Rx {
        let (tx, rx) = bytes_channel().expect("a socket");
        Handle::send(tx, name);
        Handle::Here(rx)
    }

    fn put(tx: &mut Self::Tx, number: u64) -> bool {
        tx.get().is_some_and(|tx| tx.send([number; WORDS].as_bytes()).is_ok())
    }

    fn get(rx: &mut Self::Rx) -> Option<u64> {
        get_bytes(&mut &rx.get()?.recv().ok()?[..])
    }
}

const ROUND_TRIP: Case = "processes-rtt";
const STREAM: Case = "processes-stream";

pub const ROWS: &[Row] = &[
    (ROUND_TRIP, "linering", || round_trip::<LineRing>("linering")),
    (ROUND_TRIP, "pipe", || round_trip::<Pipe>("pipe")),
    (ROUND_TRIP, "unix-socket", || round_trip::<Socket>("unix-socket")),
    (ROUND_TRIP, "shaq", || round_trip::<Shaq>("shaq")),
    (ROUND_TRIP, "cloudtoid", || round_trip::<Cloudtoid>("cloudtoid")),
    (ROUND_TRIP, "ipc-channel", || round_trip::<IpcChannel>("ipc-channel")),
    (STREAM, "linering", || stream::<LineRing>("linering")),
    (STREAM, "pipe", || stream::<Pipe>("pipe")),
    (STREAM, "unix-socket", || stream::<Socket>("unix-socket")),
    (STREAM, "shaq", || stream::<Shaq>("shaq")),
    (STREAM, "cloudtoid", || stream::<Cloudtoid>("cloudtoid")),
    (STREAM, "ipc-channel", || stream::<IpcChannel>("ipc-channel")),
];
