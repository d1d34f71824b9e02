//! What is counted: loops over queues, with handles that the loop owns, in one thread.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use clap::ValueEnum;
use corelane::{Consumer, Producer};
use corelane::{channel, leased, line_ring, wait};
use futures_lite::future::block_on;
use serde::{Deserialize, Serialize};

/// Capacity of each queue.
const CAPACITY: usize = 4096;
/// Items that are sent in turn, and then received.
pub(crate) const IN_TURN: u64 = 64;

/// Which calls are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Call {
    /// A send and a receive that succeed.
    Turns,
    /// A receive that finds nothing.
    Empty,
    /// A send that finds no room.
    Full,
    /// A send and a receive in a task, both ready at once.
    Polls,
    /// A receive in a task that waits and is woken, and the send.
    Wakes,
}

/// One loop.
pub(crate) struct Kernel {
    pub(crate) queue: &'static str,
    pub(crate) call: Call,
    /// Calls [`IN_TURN`] times a number of rounds.
    pub(crate) run: Box<dyn Fn(u64) + Sync>,
}

/// All loops, in the order of the table.
pub(crate) fn all() -> Vec<Kernel> {
    let mut all = All(Vec::new());
    queues(&mut all);
    channels(&mut all);
    peers(&mut all);
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    lanes::add(&mut all);
    all.0
}

fn queues(all: &mut All) {
    all.queue("linering", || alone(line_ring::queue(CAPACITY).unwrap()));
    all.add(
        "rtrb",
        || alone(rtrb::RingBuffer::new(CAPACITY)),
        |tx, n| tx.push(n).is_ok(),
        |rx| rx.pop().ok(),
        |tx, n| tx.push(n).is_err(),
        |rx| rx.pop().is_err(),
    );
    all.queue("leased", || alone(leased::queue(CAPACITY).unwrap()));
    all.queue("leased, clones", || cloned(leased::queue(CAPACITY).unwrap()));
    all.waiting("wait::pair of leased", || alone(wait::pair(leased::queue(CAPACITY).unwrap())));
    all.waiting("wait::pair of leased, clones", || {
        cloned(wait::pair(leased::queue(CAPACITY).unwrap()))
    });
}

/// The calls of threads, as most channels name them.
macro_rules! threads {
    ($all:expr, $name:literal, $make:expr) => {
        $all.add(
            $name,
            || alone($make),
            |tx, n| tx.send(n).is_ok(),
            |rx| rx.recv().ok(),
            |tx, n| tx.try_send(n).is_err(),
            |rx| rx.try_recv().is_err(),
        )
    };
}

/// The calls of a channel of corelane.
macro_rules! channel {
    ($all:expr, $name:literal, $make:expr) => {
        threads!($all, $name, $make);
        $all.tasks(
            $name,
            || alone($make),
            async |tx, n| tx.send_async(n).await.is_ok(),
            async |rx| rx.recv_async().await.ok(),
            |tx, n| tx.try_send(n).is_ok(),
        );
    };
}

fn channels(all: &mut All) {
    channel!(all, "channel-local", channel::spsc::bounded(CAPACITY));
    channel!(all, "channel", channel::bounded(CAPACITY));
    channel!(all, "channel, unbounded", channel::unbounded());
    all.turns(
        "channel, iter",
        || alone(channel::bounded(CAPACITY)),
        |tx, n| tx.send(n).is_ok(),
        |rx: &mut channel::Receiver<u64>, items| rx.iter().take(items).sum(),
    );
    all.turns(
        "channel, try_iter",
        || alone(channel::bounded(CAPACITY)),
        |tx, n| tx.send(n).is_ok(),
        |rx: &mut channel::Receiver<u64>, items| rx.try_iter().take(items).sum(),
    );
    all.turns(
        "channel, recv_many",
        || {
            let (tx, rx) = channel::bounded(CAPACITY);
            (tx, (rx, Vec::with_capacity(CAPACITY)), ())
        },
        |tx, n| tx.send(n).is_ok(),
        |(rx, into), items| {
            into.clear();
            rx.recv_many(into, items);
            into.iter().sum()
        },
    );
}

fn peers(all: &mut All) {
    threads!(all, "std", std::sync::mpsc::sync_channel(CAPACITY));
    threads!(all, "crossbeam-channel", crossbeam::channel::bounded(CAPACITY));
    threads!(all, "crossfire", crossfire::mpmc::bounded_blocking::<u64>(CAPACITY));
    all.tasks(
        "crossfire",
        || alone(crossfire::mpmc::bounded_async::<u64>(CAPACITY)),
        async |tx, n| tx.send(n).await.is_ok(),
        async |rx| rx.recv().await.ok(),
        |tx, n| tx.try_send(n).is_ok(),
    );
    all.add(
        "kanal",
        || alone(kanal::bounded(CAPACITY)),
        |tx, n| tx.send(n).is_ok(),
        |rx| rx.recv().ok(),
        |tx, n| tx.try_send(n) == Ok(false),
        |rx| rx.try_recv() == Ok(None),
    );
    all.tasks(
        "kanal",
        || alone(kanal::bounded_async(CAPACITY)),
        async |tx, n| tx.send(n).await.is_ok(),
        async |rx| rx.recv().await.ok(),
        |tx, n| tx.try_send(n) == Ok(true),
    );
    threads!(all, "flume", flume::bounded(CAPACITY));
    all.tasks(
        "flume",
        || alone(flume::bounded(CAPACITY)),
        async |tx, n| tx.send_async(n).await.is_ok(),
        async |rx| rx.recv_async().await.ok(),
        |tx, n| tx.try_send(n).is_ok(),
    );
    all.tasks(
        "async-channel",
        || alone(async_channel::bounded(CAPACITY)),
        async |tx, n| tx.send(n).await.is_ok(),
        async |rx| rx.recv().await.ok(),
        |tx, n| tx.try_send(n).is_ok(),
    );
    all.tasks(
        "tokio mpsc",
        || alone(tokio::sync::mpsc::channel(CAPACITY)),
        async |tx, n| tx.send(n).await.is_ok(),
        async |rx| rx.recv().await,
        |tx, n| tx.try_send(n).is_ok(),
    );
    all.tasks(
        "thingbuf mpsc",
        || alone(thingbuf::mpsc::channel(CAPACITY)),
        async |tx, n| tx.send(n).await.is_ok(),
        async |rx| rx.recv().await,
        |tx, n| tx.try_send(n).is_ok(),
    );
}

/// Lanes between processes, with both sides in this one.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod lanes {
    use corelane::bytes::Claim;
    use corelane::shm::{Broadcast, Lane};
    use shaq::spsc;
    use zerocopy::FromBytes as _;

    use super::{All, CAPACITY, alone};

    /// Records of 8 bytes, of a cache line, and of 16 lines.
    pub(super) fn add(all: &mut All) {
        of_items::<1>(all, ["shm::Lane", "shm::Broadcast", "shaq"]);
        of_items::<8>(all, ["shm::Lane, 64 bytes", "shm::Broadcast, 64 bytes", "shaq, 64 bytes"]);
        of_items::<128>(all, ["shm::Lane, 1 KiB", "shm::Broadcast, 1 KiB", "shaq, 1 KiB"]);
        of_bytes::<1>(all, "shm::Lane<[u8]>");
        of_bytes::<8>(all, "shm::Lane<[u8]>, 64 bytes");
        of_bytes::<128>(all, "shm::Lane<[u8]>, 1 KiB");
    }

    fn of_items<const W: usize>(all: &mut All, [lane, broadcast, shaq]: [&'static str; 3]) {
        macro_rules! add {
            ($name:ident, $lane:ident) => {
                all.add(
                    $name,
                    || {
                        let lane = $lane::<[u64; W]>::create(CAPACITY).unwrap();
                        alone((lane.producer().unwrap(), lane.consumer().unwrap()))
                    },
                    |tx, n| tx.push([n; W]).is_ok(),
                    |rx| rx.pop().map(last),
                    |tx, n| tx.try_push([n; W]).is_err(),
                    |rx| rx.try_pop().is_err(),
                )
            };
        }
        add!(lane, Lane);
        add!(broadcast, Broadcast);
        all.add(
            shaq,
            || alone(spsc::pair::<[u64; W]>(CAPACITY).unwrap()),
            |tx, n| write([n; W], tx),
            |rx| read(rx).copied().map(last),
            |tx, n| !write([n; W], tx),
            |rx| read(rx).is_none(),
        );
    }

    fn of_bytes<const W: usize>(all: &mut All, name: &'static str) {
        all.add(
            name,
            || {
                let lane = Lane::<[u8]>::create_for_records(8 * W, CAPACITY).unwrap();
                alone((lane.producer().unwrap(), lane.consumer().unwrap()))
            },
            |tx, n| {
                let Ok(mut claim) = tx.claim(8 * W) else { return false };
                <[u64; W]>::mut_from_bytes(&mut claim).is_ok_and(|record| {
                    *record = [n; W];
                    true
                }) && {
                    claim.commit();
                    true
                }
            },
            |rx| <[u64; W]>::ref_from_bytes(&rx.pop()?).ok().copied().map(last),
            |tx, _| tx.try_claim(8 * W).map(Claim::commit).is_err(),
            |rx| rx.try_pop().is_err(),
        );
    }

    /// All words are used.
    fn last<const W: usize>(record: [u64; W]) -> u64 {
        assert!(record.iter().all(|word| *word == record[0]), "a record is damaged");
        record[0]
    }

    /// Writes a record in place.
    fn write<const W: usize>(record: [u64; W], tx: &mut spsc::Producer<[u64; W]>) -> bool {
        // SAFETY: it is written before it is published.
        let reserve = |tx: &mut spsc::Producer<_>| unsafe { tx.reserve() };
        let room = reserve(tx).or_else(|| {
            tx.sync();
            reserve(tx)
        });
        // SAFETY: it is this side's until it is published.
        let is_written = room.map(|slot| unsafe { slot.write(record) }).is_some();
        tx.commit();
        is_written
    }

    /// Lends the next record, and gives slots back when it has read all that it knows of.
    fn read<T>(rx: &mut spsc::Consumer<T>) -> Option<&T> {
        if rx.is_empty() {
            rx.finalize();
            rx.sync();
        }
        rx.try_read()
    }
}

/// Handles, and nothing that is kept beside them.
fn alone<P, C>((tx, rx): (P, C)) -> (P, C, ()) {
    (tx, rx, ())
}

/// Handles, and one clone of each.
fn cloned<P: Clone, C: Clone>((tx, rx): (P, C)) -> (P, C, (P, C)) {
    let clones = (tx.clone(), rx.clone());
    (tx, rx, clones)
}

/// The loops that are made.
struct All(Vec<Kernel>);

impl All {
    fn push(&mut self, queue: &'static str, call: Call, run: impl Fn(u64) + Sync + 'static) {
        self.0.push(Kernel { queue, call, run: Box::new(run) });
    }

    /// The calls of a queue that doesn't wait.
    fn queue<P, C, K>(&mut self, name: &'static str, make: fn() -> (P, C, K))
    where
        P: Producer<Item = u64> + 'static,
        C: Consumer<Item = u64> + 'static,
        K: 'static,
    {
        self.add(
            name,
            make,
            |tx, n| tx.try_push(n).is_ok(),
            |rx| rx.try_pop().ok(),
            |tx, n| tx.try_push(n).is_err(),
            |rx| rx.try_pop().is_err(),
        );
    }

    /// The calls of handles that wait.
    fn waiting<P, C, K>(
        &mut self,
        name: &'static str,
        make: fn() -> (wait::Producer<P>, wait::Consumer<C>, K),
    ) where
        P: Producer<Item = u64> + 'static,
        C: Consumer<Item = u64> + 'static,
        K: 'static,
    {
        self.add(
            name,
            make,
            |tx, n| tx.push(n).is_ok(),
            |rx| rx.pop(),
            |tx, n| tx.try_push(n).is_err(),
            |rx| rx.try_pop().is_err(),
        );
        self.tasks(
            name,
            make,
            async |tx, n| tx.push_async(n).await.is_ok(),
            async |rx| rx.pop_async().await,
            |tx, n| tx.try_push(n).is_ok(),
        );
    }

    /// The calls of threads: `send` and `recv` return whether there was room, and the item;
    /// `try_send` and `try_recv` whether they were refused.
    fn add<P: 'static, C: 'static, K: 'static>(
        &mut self,
        name: &'static str,
        make: fn() -> (P, C, K),
        send: impl Fn(&mut P, u64) -> bool + Copy + Sync + 'static,
        recv: impl Fn(&mut C) -> Option<u64> + Copy + Sync + 'static,
        try_send: impl Fn(&mut P, u64) -> bool + Copy + Sync + 'static,
        try_recv: impl Fn(&mut C) -> bool + Copy + Sync + 'static,
    ) {
        self.turns(name, make, send, move |rx, items| {
            (0..items).map(|_| recv(rx).expect("there is an item")).sum()
        });
        self.push(name, Call::Empty, move |rounds| {
            let (_tx, mut rx, _others) = make();
            (0..rounds * IN_TURN).for_each(|_| assert!(try_recv(&mut rx), "it is empty"));
        });
        self.push(name, Call::Full, move |rounds| {
            let (mut tx, _rx, _others) = make();
            // What is never full has only this loop's first calls.
            if (0..4 * CAPACITY as u64).any(|n| try_send(&mut tx, n)) {
                (0..rounds * IN_TURN).for_each(|n| assert!(try_send(&mut tx, n), "it is full"));
            }
        });
    }

    /// Sends and receives in turns. `recv` returns the sum of a number of items.
    fn turns<P: 'static, C: 'static, K: 'static>(
        &mut self,
        name: &'static str,
        make: fn() -> (P, C, K),
        send: impl Fn(&mut P, u64) -> bool + Copy + Sync + 'static,
        recv: impl Fn(&mut C, usize) -> u64 + Copy + Sync + 'static,
    ) {
        self.push(name, Call::Turns, move |rounds| {
            let (mut tx, mut rx, _others) = make();
            for _ in 0..rounds {
                (0..IN_TURN).for_each(|n| assert!(send(&mut tx, n), "there is room"));
                assert_eq!(recv(&mut rx, IN_TURN as usize), IN_TURN * (IN_TURN - 1) / 2);
            }
        });
    }

    /// The calls of tasks. `try_send` sends what a task waits for.
    fn tasks<P: 'static, C: 'static, K: 'static>(
        &mut self,
        name: &'static str,
        make: fn() -> (P, C, K),
        send: impl AsyncFn(&mut P, u64) -> bool + Copy + Sync + 'static,
        recv: impl AsyncFn(&mut C) -> Option<u64> + Copy + Sync + 'static,
        try_send: impl Fn(&mut P, u64) -> bool + Copy + Sync + 'static,
    ) {
        self.push(name, Call::Polls, move |rounds| {
            let (mut tx, mut rx, _others) = make();
            block_on(async {
                for _ in 0..rounds {
                    for n in 0..IN_TURN {
                        assert!(send(&mut tx, n).await, "there is room");
                    }
                    for n in 0..IN_TURN {
                        assert_eq!(recv(&mut rx).await, Some(n));
                    }
                }
            });
        });
        self.push(name, Call::Wakes, move |rounds| {
            let (mut tx, mut rx, _others) = make();
            let mut task = pin!(async { while recv(&mut rx).await.is_some() {} });
            let waker = Waker::from(Arc::new(Task));
            let mut context = Context::from_waker(&waker);
            let mut poll = || assert_eq!(task.as_mut().poll(&mut context), Poll::Pending);
            poll();
            for n in 0..rounds * IN_TURN {
                assert!(try_send(&mut tx, n), "there is room");
                poll();
            }
        });
    }
}

/// A task that is polled by the loop.
struct Task;

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}
