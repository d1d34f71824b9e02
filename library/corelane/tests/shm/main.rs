//! Lanes between processes: real ones, which are killed.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

mod broadcast;
mod calls;
mod listener;
#[cfg(feature = "literature")]
mod literature;
mod many;
mod many_records;
mod memory;
mod records;
mod tasks;

use std::fs::File;
use std::os::fd::AsFd;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use corelane::shm::{Carried, Consumer, Error, Lane, Listener, Peer, Producer, Side};
use corelane::wait::Strategy;
use corelane::{TryPopError, TryPushError};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An item of several words. Its words belong together.
#[derive(Debug, Clone, Copy, PartialEq, IntoBytes, FromBytes, Immutable)]
#[repr(C)]
struct Tick {
    number: u64,
    twice: u64,
    inverse: u64,
}

impl Tick {
    fn new(number: u64) -> Self {
        Self { number, twice: number.wrapping_mul(2), inverse: !number }
    }

    fn checked(self) -> u64 {
        assert_eq!(self, Self::new(self.number), "a part of an item is missing");
        self.number
    }
}

const ROLE: &str = "CORELANE_TEST_ROLE";
const LANES: &str = "CORELANE_TEST_LANES";

/// Runs a role in a process of its own, which has these lanes.
fn spawn<T: Carried + ?Sized>(role: &str, lanes: &[&Lane<T>]) -> Child {
    let mut child = program(role, "");
    let numbers: Vec<_> =
        lanes.iter().map(|lane| lane.give(&mut child).unwrap().to_string()).collect();
    child.env(LANES, numbers.join(",")).spawn().unwrap()
}

/// A role for a process of its own, and what it gets in place of lanes.
fn program(role: &str, lanes: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child", "--nocapture", "--quiet"]);
    child.env(ROLE, role).env(LANES, lanes).stdout(std::process::Stdio::null());
    child
}

/// Not a test by itself: the program of the other processes.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let numbers = std::env::var(LANES).unwrap();
    if role.ends_with("traced") {
        return calls::child(&role, &numbers);
    }
    if role.contains("publish") {
        return broadcast::child(&role, &numbers);
    }
    #[cfg(feature = "literature")]
    if role.starts_with("literature") {
        return literature::child(&role, &numbers);
    }
    if role.contains("jobs") {
        return many::child(&role, &numbers);
    }
    if role.contains("message") {
        return many_records::child(&role, &numbers);
    }
    if role.contains("records") {
        return records::child(&role, &numbers);
    }
    if role.contains("listener") {
        return listener::child(&role, &numbers);
    }
    if role.contains("memory") {
        return memory::child(&role, &numbers);
    }
    let lanes: Vec<_> = numbers
        .split(',')
        .map(|number| Lane::<Tick>::open_number(number.parse().unwrap()).unwrap())
        .collect();
    match role.as_str() {
        "push some" => {
            let mut tx = lanes[0].producer().unwrap();
            tx.push_all((0..20_000).map(Tick::new)).unwrap();
        }
        "push some and sleep" => {
            let mut tx = lanes[0].producer().unwrap();
            tx.push_all((0..10).map(Tick::new)).unwrap();
            thread::sleep(Duration::from_secs(60));
        }
        "push for ever" => {
            let mut tx = lanes[0].producer().unwrap();
            loop {
                tx.push(Tick::new(tx.position())).unwrap();
            }
        }
        "push chunks for ever" => {
            let mut tx = lanes[0].producer().unwrap();
            loop {
                let from = tx.position();
                tx.wait_for_room(5).unwrap();
                tx.write_chunk_uninit(5).unwrap().fill_from_iter((from..).map(Tick::new));
            }
        }
        "pass on" => {
            let (mut rx, mut tx) = (lanes[0].consumer().unwrap(), lanes[1].producer().unwrap());
            while let Some(tick) = rx.pop() {
                tx.push(tick).unwrap();
            }
        }
        "answer" => {
            let (rx, tx) = (lanes[0].consumer().unwrap(), lanes[1].producer().unwrap());
            let (mut rx, mut tx) = (rx.strategy(Strategy::Sleep), tx.strategy(Strategy::Sleep));
            while let Some(tick) = rx.pop() {
                tx.push(tick).unwrap();
            }
        }
        "pop with signals" => {
            signals(5000);
            let mut rx = lanes[0].consumer().unwrap().strategy(Strategy::Sleep);
            assert!(rx.wait_for_peer(Duration::from_secs(10)));
            let _ready = lanes[1].producer().unwrap();
            while rx.pop().is_some() {}
            assert_eq!(rx.peer(), Peer::Died);
        }
        "leave" => drop(lanes[0].producer().unwrap()),
        other => panic!("no role {other}"),
    }
}

/// From now on this thread gets a signal every `often` microseconds, which interrupts its calls of
/// the system.
fn signals(often: u64) {
    extern "C" fn ignore(_: libc::c_int) {}
    // SAFETY: the handler does nothing. No flags: the system starts no call again.
    let this = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignore as *const () as libc::sighandler_t;
        libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
        libc::pthread_self()
    };
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_micros(often));
            // SAFETY: the thread is that of the role, which ends with the process.
            unsafe { libc::pthread_kill(this, libc::SIGALRM) };
        }
    });
}

/// Does something while the system allows this process no more than so much.
fn with_limit<R>(what: libc::__rlimit_resource_t, limit: u64, work: impl FnOnce() -> R) -> R {
    let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the calls read and write these limits only.
    unsafe {
        assert_eq!(libc::getrlimit(what, &mut before), 0);
        assert_eq!(libc::setrlimit(what, &libc::rlimit { rlim_cur: limit, ..before }), 0);
    }
    let done = work();
    // SAFETY: as above.
    unsafe { assert_eq!(libc::setrlimit(what, &before), 0) };
    done
}

fn lane(capacity: usize) -> Lane<Tick> {
    Lane::create(capacity).unwrap()
}

/// How long tests that can run longer do so, in hundredths.
fn stress() -> f64 {
    std::env::var("CORELANE_STRESS").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0)
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A small generator of random numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[test]
fn items_come_from_another_process_and_then_the_end() {
    for capacity in [1, 100, 4096] {
        let lane = lane(capacity);
        let mut rx = lane.consumer().unwrap();
        assert_eq!(rx.peer(), Peer::Absent);
        assert_eq!(rx.try_pop(), Err(TryPopError::Empty));
        let mut process = spawn("push some", &[&lane]);
        assert!(rx.wait_for_peer(Duration::from_secs(10)));
        for expected in 0..20_000 {
            assert_eq!(rx.pop().map(Tick::checked), Some(expected));
        }
        assert_eq!(rx.pop(), None);
        assert_eq!(rx.peer(), Peer::Left);
        assert!(process.wait().unwrap().success());
    }
}

#[test]
fn both_sides_sleep_and_wake_each_other() {
    let (there, back) = (lane(8), lane(8));
    let mut process = spawn("answer", &[&there, &back]);
    let (tx, rx) = (there.producer().unwrap(), back.consumer().unwrap());
    let (mut tx, mut rx) = (tx.strategy(Strategy::Sleep), rx.strategy(Strategy::Sleep));
    assert!(rx.wait_for_peer(Duration::from_secs(10)));
    for number in 0..3000 {
        tx.push(Tick::new(number)).unwrap();
        assert_eq!(rx.pop_timeout(Duration::from_secs(10)), Ok(Tick::new(number)));
    }
    assert!(rx.waits().sleeps > 0);
    drop(tx);
    assert_eq!(rx.pop(), None);
    assert!(process.wait().unwrap().success());
}

/// Kills the process that pushes, again and again. A new one goes on.
fn kill_producers(role: &str, capacity: usize, kills: u64) {
    let lane = lane(capacity);
    let mut rx = lane.consumer().unwrap();
    let (mut random, mut expected) = (Random(kills + capacity as u64), 0);
    for _ in 0..kills {
        let mut process = spawn(role, &[&lane]);
        assert!(rx.wait_for_peer(Duration::from_secs(10)));
        let end = Instant::now() + Duration::from_micros(random.next() % 3000);
        while Instant::now() < end {
            if let Ok(tick) = rx.pop_timeout(Duration::from_micros(100)) {
                assert_eq!(tick.checked(), expected);
                expected += 1;
            }
        }
        process.kill().unwrap();
        process.wait().unwrap();
        assert_eq!(rx.peer(), Peer::Died);
        // What was pushed before is there, and then the end.
        while let Some(tick) = rx.pop() {
            assert_eq!(tick.checked(), expected);
            expected += 1;
        }
    }
    assert!(expected > kills, "{expected} items for {kills} kills");
}

#[test]
fn killed_peer_that_pushes() {
    let kills = (30.0 * stress()) as u64;
    for capacity in [3, 1000] {
        kill_producers("push for ever", capacity, kills);
    }
    kill_producers("push chunks for ever", 100, kills);
}

#[test]
fn killed_peer_that_pops() {
    let kills = (30.0 * stress()) as u64;
    for capacity in [3, 1000] {
        let (there, back) = (lane(capacity), lane(capacity));
        let (mut tx, mut rx) = (there.producer().unwrap(), back.consumer().unwrap());
        let (mut random, mut next, mut in_flight) = (Random(capacity as u64 + 7), 0, 0);
        for _ in 0..kills {
            let mut process = spawn("pass on", &[&there, &back]);
            assert!(tx.wait_for_peer(Duration::from_secs(10)));
            assert!(rx.wait_for_peer(Duration::from_secs(10)));
            let end = Instant::now() + Duration::from_micros(random.next() % 3000);
            let before = next;
            let mut see = |tick: Tick| {
                let number = tick.checked();
                assert!(number >= next, "{number} came twice");
                in_flight += number - next;
                next = number + 1;
                next
            };
            let mut now = before;
            // At least one item, however late the process gets a core.
            while Instant::now() < end || now == before {
                let _ = tx.try_push(Tick::new(tx.position()));
                match rx.try_pop() {
                    Ok(tick) => now = see(tick),
                    Err(_) => thread::yield_now(),
                }
            }
            process.kill().unwrap();
            process.wait().unwrap();
            assert_eq!((tx.peer(), rx.peer()), (Peer::Died, Peer::Died));
            while let Some(tick) = rx.pop() {
                see(tick);
            }
        }
        assert!(in_flight <= kills, "{in_flight} items are lost after {kills} kills");
        assert!(next > kills, "{next} items for {kills} kills");
    }
}

#[test]
fn a_process_that_comes_and_leaves_is_not_missed() {
    let lane = lane(4);
    let rx = lane.consumer().unwrap();
    for _ in 0..20 {
        let mut process = spawn("leave", &[&lane]);
        assert!(rx.wait_for_peer(Duration::from_secs(10)));
        assert!(process.wait().unwrap().success());
        assert!(!rx.wait_for_peer(Duration::from_millis(1)), "it came before this call");
    }
}

#[test]
fn a_sleeper_finds_out_that_the_other_process_was_killed() {
    let lane = lane(4);
    for strategy in [Strategy::Sleep, Strategy::Spin, Strategy::Yield] {
        let mut rx = lane.consumer().unwrap().strategy(strategy);
        let mut process = spawn("push for ever", &[&lane]);
        assert!(rx.wait_for_peer(Duration::from_secs(10)));
        let killer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(30));
            process.kill().unwrap();
            process.wait().unwrap();
        });
        while rx.pop().is_some() {}
        assert_eq!(rx.peer(), Peer::Died);
        killer.join().unwrap();
    }
}

#[test]
fn a_sleeper_that_gets_signals_finds_out_too() {
    let (lane, ready) = (lane(4), lane(1));
    let mut sleeper = spawn("pop with signals", &[&lane, &ready]);
    let mut process = spawn("push for ever", &[&lane]);
    assert!(ready.consumer().unwrap().wait_for_peer(Duration::from_secs(10)));
    process.kill().unwrap();
    process.wait().unwrap();
    for _ in 0..500 {
        if let Some(status) = sleeper.try_wait().unwrap() {
            assert!(status.success());
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    sleeper.kill().unwrap();
    panic!("it still sleeps after five seconds");
}

#[test]
fn a_process_that_left_is_never_taken_for_a_dead_one() {
    let lane = lane(4);
    let rx = lane.consumer().unwrap();
    thread::scope(|s| {
        let leaves = s.spawn(|| (0..2000).for_each(|_| drop(lane.producer().unwrap())));
        while !leaves.is_finished() {
            assert_ne!(rx.peer(), Peer::Died);
        }
    });
}

#[test]
fn memory_that_is_not_there_is_refused() {
    let lane = lane(1 << 16);
    rustix::fs::fallocate(
        &lane,
        rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE,
        1 << 16,
        1 << 20,
    )
    .unwrap();
    assert!(matches!(Lane::<Tick>::open(&lane), Err(Error::Corrupt)));
    assert!(matches!(Lane::<Tick>::create(1 << 50), Err(Error::Capacity(_))));
}

#[test]
fn a_side_is_free_when_its_handle_is_dropped() {
    let lane = lane(10);
    let other = Lane::<Tick>::open(&lane).unwrap();
    let mut tx = lane.producer().unwrap();
    let taken = other.producer().unwrap_err();
    assert!(matches!(taken, Error::Taken(Side::Producer)), "{taken}");
    assert!(taken.to_string().contains("a live process has the producer"), "{taken}");
    tx.push(Tick::new(0)).unwrap();
    drop(tx);
    let mut rx = lane.consumer().unwrap();
    assert_eq!((rx.peer(), rx.is_closed()), (Peer::Left, true));
    let mut tx = other.producer().unwrap();
    assert_eq!((rx.peer(), rx.is_closed(), tx.position()), (Peer::Alive, false, 1));
    tx.push(Tick::new(1)).unwrap();
    assert_eq!((rx.pop(), rx.pop()), (Some(Tick::new(0)), Some(Tick::new(1))));
    drop(rx);
    assert_eq!(tx.peer(), Peer::Left);
    while tx.try_push(Tick::new(2)).is_ok() {}
    assert!(matches!(tx.try_push(Tick::new(2)), Err(TryPushError::Closed(_))));
}

#[test]
fn handles_go_on_at_every_position() {
    for capacity in [1, 2, 7, 50] {
        let lane = lane(capacity);
        let (mut pushed, mut popped) = (0, 0);
        for step in 0..600 {
            let mut tx: Producer<Tick> = lane.producer().unwrap();
            let mut rx: Consumer<Tick> = lane.consumer().unwrap();
            assert_eq!((tx.position(), rx.position()), (pushed, popped));
            for _ in 0..step % 7 {
                pushed += u64::from(tx.try_push(Tick::new(pushed)).is_ok());
            }
            for _ in 0..step % 5 {
                if let Ok(tick) = rx.try_pop() {
                    assert_eq!(tick.checked(), popped);
                    popped += 1;
                }
            }
        }
        assert!(popped > 300);
    }
}

#[test]
fn a_process_that_asks_for_something_else_is_told_what_differs() {
    let lane = lane(10);
    let error = Lane::<u64>::open(&lane).unwrap_err().to_string();
    assert!(error.contains("another size of an item: 24 instead of 8"), "{error}");
    let error = Lane::<[u64; 3]>::open(&lane).unwrap_err().to_string();
    assert!(error.contains("another hash of the item's name"), "{error}");
    let null = File::open("/dev/null").unwrap();
    assert!(matches!(Lane::<Tick>::open(&null), Err(Error::NotALane)));
    let file = memfd_create("other", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, 1 << 20).unwrap();
    assert!(matches!(Lane::<Tick>::open(&file), Err(Error::NotALane)));
    assert!(matches!(Lane::<Tick>::open_number(987), Err(Error::NotALane)));
    assert!(matches!(Lane::<Tick>::create(0), Err(Error::Capacity(_))));
}

#[test]
fn lanes_are_handed_out_to_those_that_are_allowed() {
    let name = format!("test {}", std::process::id());
    let listener = Listener::bind(&name).unwrap();
    assert!(Listener::bind(&name).is_err(), "somebody listens there");
    let lane = lane(8);
    let mut rx = lane.consumer().unwrap();
    thread::scope(|s| {
        let client = s.spawn(|| listener.hand_out(&lane).unwrap());
        let mut tx = Lane::<Tick>::connect(&name).unwrap().producer().unwrap();
        tx.push(Tick::new(1)).unwrap();
        assert_eq!(client.join().unwrap().process, Some(std::process::id()));
    });
    assert_eq!(rx.pop(), Some(Tick::new(1)));
    let mut asked = 0;
    let allows = std::sync::atomic::AtomicU32::new(0);
    let listener =
        listener.allow(move |_| allows.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 0);
    thread::scope(|s| {
        s.spawn(|| listener.hand_out(&lane).unwrap());
        while asked < 2 {
            match Lane::<Tick>::connect(&name) {
                Err(Error::Refused) => asked += 1,
                Ok(_) => break,
                Err(error) => panic!("{error}"),
            }
        }
    });
    assert_eq!(asked, 1);
    drop(listener);
    let error = Lane::<Tick>::connect(&name).unwrap_err().to_string();
    assert!(error.contains("start the process that listens"), "{error}");
}

/// A socket of a process that was killed is replaced. Four processes start at once, and one of them
/// has the path.
#[test]
fn recovery_races_with_opening() {
    let directory = std::env::temp_dir().join(format!("corelane test {}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("lane");
    for _ in 0..20 {
        // As a process that was killed leaves it: bound, and nobody listens.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let bound = thread::scope(|s| {
            let starts = [(); 4].map(|()| s.spawn(|| Listener::bind_path(&path)));
            starts.map(|start| start.join().unwrap())
        });
        assert_eq!(bound.iter().filter(|bound| bound.is_ok()).count(), 1);
        let lane = lane(8);
        thread::scope(|s| {
            let listener = bound.into_iter().find_map(Result::ok).unwrap();
            s.spawn(move || listener.hand_out(&lane).unwrap());
            Lane::<Tick>::connect_path(&path).unwrap();
        });
        assert!(!path.exists(), "the listener removes its socket");
    }
    std::fs::remove_dir(&directory).unwrap();
}

#[test]
fn residue_after_kill() {
    // Other tests of this process open descriptors meanwhile.
    let few = || {
        (0..200)
            .map(|_| {
                thread::sleep(Duration::from_millis(1));
                descriptors()
            })
            .min()
    };
    let before = few();
    for _ in 0..200 {
        let lane = lane(100);
        let (tx, rx) = (lane.producer().unwrap(), lane.consumer().unwrap());
        drop((tx, lane, rx));
    }
    assert!(few().unwrap() < before.unwrap() + 100);
}

/// Another process, which writes nonsense into the memory of a lane.
struct Nonsense {
    memory: *mut u64,
    words: usize,
    /// In some runs only the positions, and not the items.
    all: bool,
}

impl Nonsense {
    fn new(lane: &impl AsFd, random: &mut Random) -> Self {
        let len = rustix::fs::fstat(lane.as_fd()).unwrap().st_size as usize;
        let flags = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which only `write` uses.
        let memory =
            unsafe { mmap(std::ptr::null_mut(), len, flags, MapFlags::SHARED, lane, 0).unwrap() };
        Self { memory: memory.cast(), words: len / 8, all: random.next() % 2 == 0 }
    }

    fn write(&self, random: &mut Random) {
        let (from, words) = if self.all { (0, self.words) } else { (512, 128) };
        let at = from + random.next() as usize % words.min(self.words - from);
        let value = match random.next() % 4 {
            0 => random.next(),
            1 => random.next() % 300,
            2 => ((random.next() % 300) << 32) | [u32::MAX.into(), random.next() % 100][at % 2],
            _ => u64::MAX - random.next() % 300,
        };
        // SAFETY: it is inside the mapping. The library takes its memory for such that anybody may
        // write.
        unsafe { self.memory.add(at).write_volatile(value) };
    }
}

impl Nonsense {
    /// Writes a word at each place behind the positions, or at half of them.
    fn write_everywhere(&self, value: u64, random: &mut Random) {
        for at in 512 + 64..self.words {
            if random.next() % 2 == 0 {
                // SAFETY: as above.
                unsafe { self.memory.add(at).write_volatile(value) };
            }
        }
    }
}

impl Drop for Nonsense {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and isn't used any more.
        unsafe { munmap(self.memory.cast(), 8 * self.words).unwrap() };
    }
}

/// A process that writes nonsense into the memory.
#[test]
fn lying_peer() {
    let mut random = Random(99);
    let end = Instant::now() + Duration::from_secs_f64(0.5 * stress());
    let mut runs = 0;
    while Instant::now() < end || runs < 3 {
        runs += 1;
        let lane = lane(1 + random.next() as usize % 200);
        let nonsense = Nonsense::new(&lane, &mut random);
        let (mut tx, mut rx) = (lane.producer().unwrap(), lane.consumer().unwrap());
        for n in 0..3000 {
            if random.next() % 8 == 0 {
                nonsense.write(&mut random);
            }
            match random.next() % 12 {
                0..4 => _ = tx.try_push(Tick::new(n)),
                4..8 => _ = rx.try_pop(),
                8 => _ = (tx.len(), rx.len(), tx.is_full(), rx.is_empty(), tx.is_closed()),
                9 => {
                    _ = tx.push_slice(&[Tick::new(n); 20]);
                    _ = rx.pop_slice(&mut [Tick::new(0); 20]);
                }
                10 => {
                    if let Ok(chunk) = rx.read_chunk(7) {
                        chunk.commit_all();
                    }
                    if let Ok(chunk) = tx.write_chunk_uninit(7) {
                        chunk.fill_from_iter([Tick::new(n); 7]);
                    }
                    _ = (tx.peer(), rx.peer(), tx.position(), rx.position());
                }
                _ => {
                    drop(tx);
                    match lane.producer() {
                        Ok(next) => tx = next,
                        Err(Error::Corrupt) => break,
                        Err(error) => panic!("{error}"),
                    }
                    drop(rx);
                    match lane.consumer() {
                        Ok(next) => rx = next,
                        Err(Error::Corrupt) => break,
                        Err(error) => panic!("{error}"),
                    }
                    match Lane::<Tick>::open(&lane) {
                        Ok(_)
                        | Err(
                            Error::Corrupt
                            | Error::Differs { .. }
                            | Error::NotALane
                            | Error::Capacity(_),
                        ) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }
    }
}
