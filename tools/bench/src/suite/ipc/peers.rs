//! Other crates whose queues are in shared memory. Their sides don't learn that the other one is
//! gone: a last record tells it.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use cloudtoid_interprocess::{Error, Options, Publisher, Subscriber};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use shaq::{mpmc, spsc};
use zerocopy::IntoBytes;

use super::lane::text;
use super::ping_pong::{self, Crowd};
use super::system::{give, read, take};
use super::{IpcKernel, Link, Linked, Record, Rx, Tx, Wanted, number, peer, record};
use crate::peers::crates::kind;
use crate::suite::wait::Strategy;
use crate::threads::Wait;

/// The number of the last record.
const END: u64 = u64::MAX;
/// Longest time for the last record to find room.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether the measurement is over: in the second process only.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Waits for the end of the input, in a thread of its own.
pub(super) fn watch() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        IS_OVER.store(true, Ordering::Relaxed);
    });
}

/// Sends the last record when it is dropped.
pub(super) struct Ends<const W: usize, T: Try<W>>(pub(super) T);

/// What has no calls that wait for room.
pub(super) trait Try<const W: usize> {
    fn try_put(&mut self, number: u64) -> bool;
}

impl<const W: usize, T: Try<W>> Tx<W> for Ends<W, T> {
    #[inline(always)]
    fn put(&mut self, number: u64) -> bool {
        Wait::Spin.until(|| match self.0.try_put(number) {
            true => Some(true),
            false => IS_OVER.load(Ordering::Relaxed).then_some(false),
        })
    }
}

impl<const W: usize, T: Try<W>> Drop for Ends<W, T> {
    fn drop(&mut self) {
        let begin = Instant::now();
        let is_in_vain = || IS_OVER.load(Ordering::Relaxed) || begin.elapsed() > PATIENCE;
        while !is_in_vain() && !self.0.try_put(END) {}
    }
}

/// The number of a record, unless it is the last one.
pub(super) fn unless_end(record: &[u64]) -> Option<u64> {
    number(record).filter(|number| *number != END)
}

struct Shaq;

/// Writes each record in place, and publishes it.
impl<const W: usize> Try<W> for spsc::Producer<Record<W>> {
    #[inline(always)]
    fn try_put(&mut self, number: u64) -> bool {
        // SAFETY: it is written before it is published.
        let reserve = |tx: &mut Self| unsafe { tx.reserve() };
        let room = reserve(self).or_else(|| {
            self.sync();
            reserve(self)
        });
        let Some(record) = room else { return false };
        // SAFETY: it is this side's until it is published.
        unsafe { record.write([number; W]) };
        self.commit();
        true
    }
}

/// Reads each record in place, and gives slots back when it has read all that it knows of, as its
/// documentation does.
impl<const W: usize> Rx<W> for spsc::Consumer<Record<W>> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        Wait::Spin.until(|| {
            if let Some(record) = self.try_read() {
                return Some(unless_end(record));
            }
            self.finalize();
            self.sync();
            self.try_read().map(|record| unless_end(record))
        })
    }
}

/// A memory file of at least `len` bytes.
fn file(len: usize) -> Result<(File, usize), String> {
    let len = len.next_multiple_of(4096);
    let file = memfd_create("shaq", MemfdFlags::CLOEXEC).map_err(text)?;
    ftruncate(&file, len as u64).map_err(text)?;
    Ok((file.into(), len))
}

/// Lets a child process inherit a copy of a descriptor, and returns its number.
pub(super) fn inherit(file: &File, child: &mut Command) -> Result<i32, String> {
    let other: OwnedFd = file.as_fd().try_clone_to_owned().map_err(text)?;
    Ok(give(other, child))
}

impl<const W: usize> Link<W> for Shaq {
    const STRATEGIES: &'static [Strategy] = &[Strategy::Spin];

    type Tx = Ends<W, spsc::Producer<Record<W>>>;
    type Rx = spsc::Consumer<Record<W>>;

    fn to_child(of: Wanted, child: &mut Command) -> Result<(Self::Tx, i32), String> {
        let (file, len) = file(spsc::minimum_file_size::<Record<W>>(of.capacity))?;
        // SAFETY: this process makes the queue, and has its only producer. Records are plain data.
        let tx = unsafe { spsc::Producer::create(&file, len) }.map_err(text)?;
        Ok((Ends(tx), inherit(&file, child)?))
    }

    fn from_child(of: Wanted, child: &mut Command) -> Result<(Self::Rx, i32), String> {
        let (file, len) = file(spsc::minimum_file_size::<Record<W>>(of.capacity))?;
        // SAFETY: this process makes the queue, and has its only consumer. Records are plain data.
        let rx = unsafe { spsc::Consumer::create(&file, len) }.map_err(text)?;
        Ok((rx, inherit(&file, child)?))
    }

    fn open_tx(_: Wanted, number: i32) -> Result<Self::Tx, String> {
        // SAFETY: this process has the only producer. Records are plain data.
        unsafe { spsc::Producer::join(&take(number)) }.map(Ends).map_err(text)
    }

    fn open_rx(_: Wanted, number: i32) -> Result<Self::Rx, String> {
        // SAFETY: this process has the only consumer. Records are plain data.
        unsafe { spsc::Consumer::join(&take(number)) }.map_err(text)
    }
}

impl Try<1> for mpmc::Producer<Record<1>> {
    #[inline(always)]
    fn try_put(&mut self, number: u64) -> bool {
        self.try_write([number]).is_ok()
    }
}

impl Rx<1> for mpmc::Consumer<Record<1>> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        Wait::Yield.until(|| self.try_read().map(|record| unless_end(&record)))
    }
}

/// Looks again and again, and yields.
impl Crowd for Shaq {
    const STRATEGIES: &'static [Strategy] = &[Strategy::Spin];

    type Tx = Ends<1, mpmc::Producer<Record<1>>>;
    type Rx = mpmc::Consumer<Record<1>>;

    fn to_child(of: Wanted, child: &mut Command) -> ping_pong::Many<Self::Tx> {
        let (file, len) = file(mpmc::minimum_file_size::<Record<1>>(of.capacity))?;
        // SAFETY: this process makes the queue. Records are plain data.
        let tx = unsafe { mpmc::Producer::create(&file, len) }.map_err(text)?;
        Ok((vec![tx; of.threads].into_iter().map(Ends).collect(), inherit(&file, child)?))
    }

    fn from_child(of: Wanted, child: &mut Command) -> ping_pong::Many<Self::Rx> {
        let (file, len) = file(mpmc::minimum_file_size::<Record<1>>(of.capacity))?;
        // SAFETY: this process makes the queue. Records are plain data.
        let rx = unsafe { mpmc::Consumer::create(&file, len) }.map_err(text)?;
        Ok((vec![rx; of.threads], inherit(&file, child)?))
    }

    fn open_tx(of: Wanted, number: i32) -> Result<Vec<Self::Tx>, String> {
        // SAFETY: records are plain data.
        let tx = unsafe { mpmc::Producer::join(&take(number)) }.map_err(text)?;
        Ok(vec![tx; of.threads].into_iter().map(Ends).collect())
    }

    fn open_rx(of: Wanted, number: i32) -> Result<Vec<Self::Rx>, String> {
        // SAFETY: records are plain data.
        let rx = unsafe { mpmc::Consumer::join(&take(number)) }.map_err(text)?;
        Ok(vec![rx; of.threads])
    }
}

/// Waits as its own calls do.
struct Cloudtoid;
/// Looks again and again.
struct CloudtoidSpins;

impl<const W: usize> Try<W> for Publisher {
    #[inline(always)]
    fn try_put(&mut self, number: u64) -> bool {
        self.try_send(record::<W>(number).as_bytes()).is_ok()
    }
}

impl<const W: usize> Rx<W> for Subscriber {
    fn get(&mut self) -> Option<u64> {
        unless_end(&read::<W>(&mut &self.recv().ok()?[..])?)
    }
}

/// A receiving side that looks again and again.
struct Spins(Subscriber);

impl<const W: usize> Rx<W> for Spins {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        let mut record = [0; W];
        Wait::Spin.until(|| {
            let found: Result<_, Error> = self.0.try_recv_into(record.as_mut_bytes());
            found.ok().flatten()
        });
        unless_end(&record)
    }
}

/// The queue of this number, which the process that measures has chosen.
fn options<const W: usize>(capacity: usize, process: u32, number: i32) -> Options {
    let each = 8 * W + 16;
    Options::new(format!("lane-{process}-{number}-{capacity}"), capacity * each)
}

/// A number that is not in use yet.
pub(super) fn fresh() -> i32 {
    static NEXT: AtomicI32 = AtomicI32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

macro_rules! cloudtoid {
    ($link:ident: $strategy:ident, $rx:ty, $new:expr) => {
        impl<const W: usize> Link<W> for $link {
            const STRATEGIES: &'static [Strategy] = &[Strategy::$strategy];

            type Tx = Ends<W, Publisher>;
            type Rx = $rx;

            fn to_child(of: Wanted, _: &mut Command) -> Result<(Self::Tx, i32), String> {
                let number = fresh();
                let options = options::<W>(of.capacity, std::process::id(), number);
                Ok((Ends(Publisher::open(&options).map_err(text)?), number))
            }

            fn from_child(of: Wanted, _: &mut Command) -> Result<(Self::Rx, i32), String> {
                let number = fresh();
                let options = options::<W>(of.capacity, std::process::id(), number);
                Ok(($new(Subscriber::open(&options).map_err(text)?), number))
            }

            fn open_tx(of: Wanted, number: i32) -> Result<Self::Tx, String> {
                let options =
                    options::<W>(of.capacity, std::os::unix::process::parent_id(), number);
                Publisher::open(&options).map(Ends).map_err(text)
            }

            fn open_rx(of: Wanted, number: i32) -> Result<Self::Rx, String> {
                let options =
                    options::<W>(of.capacity, std::os::unix::process::parent_id(), number);
                Subscriber::open(&options).map($new).map_err(text)
            }
        }
    };
}

cloudtoid!(Cloudtoid: Adaptive, Subscriber, std::convert::identity);
cloudtoid!(CloudtoidSpins: Spin, Spins, Spins);

pub(super) fn entries() -> Vec<Linked> {
    let shaq = IpcKernel::each::<Shaq>().into_iter();
    let cloudtoid = [IpcKernel::each::<Cloudtoid>(), IpcKernel::each::<CloudtoidSpins>()];
    vec![
        peer("shaq", "shaq", kind("shaq"), shaq.chain([ping_pong::kernel::<Shaq>()]).collect()),
        peer(
            "cloudtoid",
            "cloudtoid",
            kind("cloudtoid-interprocess"),
            cloudtoid.into_iter().flatten().collect(),
        ),
    ]
}
