//! What moves items from one process to another one: corelane's lanes, and peers, each used as its
//! documentation shows.

mod durable;
mod grpc;
mod jetstream;
mod lane;
mod nats;
pub(super) mod server;
mod tcp;
mod zenoh;

use std::future::Future;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use corelane::{Info, Sides};
use tokio::runtime::Builder;

use super::ends::{End, Said, Task, say, wait_for_end_of_input};
use super::record::END;
use super::setting::{Engine, FLOOR, Guarantee};
use super::{latency, stream};
use crate::catalogue::{Entry, Measured};
use crate::kinds::Test;
use crate::peers::crates::kind;

/// A lane or a peer, and how it is measured.
pub(super) type Measurable = Measured<NetKernel>;

/// Does the part of an end.
type Part = fn(&End) -> Result<(), String>;

/// How a lane or a peer is measured.
#[derive(Debug)]
pub(super) struct NetKernel {
    pub(super) guarantee: Guarantee,
    pub(super) engine: Engine,
    /// Whether it needs a NATS server.
    pub(super) has_server: bool,
    /// Whether items may be missing.
    pub(super) may_lose: bool,
    /// In streams, and when latencies are measured.
    pub(super) run: Part,
    /// In runs with faults.
    pub(super) faults: Option<Part>,
}

impl NetKernel {
    const fn of(guarantee: Guarantee, engine: Engine, run: Part) -> Self {
        Self {
            guarantee,
            engine,
            has_server: matches!(engine, Engine::Nats | Engine::Jetstream),
            may_lose: matches!(guarantee, Guarantee::Latest | Guarantee::AtMostOnce),
            run,
            faults: None,
        }
    }

    /// The same, also in runs with faults.
    fn with_faults(self, faults: Part) -> Self {
        Self { faults: Some(faults), ..self }
    }

    /// Whether it has this test.
    pub(super) fn has(&self, test: Test) -> bool {
        test != Test::Faults || self.faults.is_some()
    }
}

/// All lanes and peers.
pub(super) fn entries() -> &'static [Measurable] {
    use Engine::{Grpc, Jetstream, Nats, Tcp, Zenoh, ZenohShm};
    use Guarantee::{AtMostOnce, Connected, Durable, Latest, Ordered};
    static ENTRIES: LazyLock<Vec<Measurable>> = LazyLock::new(|| {
        let of = NetKernel::of;
        let ordered = of(Ordered, Zenoh, lane::ordered).with_faults(lane::faults_of_ordered);
        let latest = of(Latest, Zenoh, lane::latest).with_faults(lane::faults_of_latest);
        let durable = of(Durable, Jetstream, durable::durable).with_faults(durable::faults);
        let tcp = Entry { is_floor: true, ..Entry::ours(info(FLOOR), "") };
        vec![
            Entry::ours(info("ordered"), "").with(ordered),
            Entry::ours(info("ordered-shm"), "").with(of(Ordered, ZenohShm, lane::ordered_shm)),
            Entry::ours(info("latest"), "").with(latest),
            Entry::ours(info("durable"), "").with(durable),
            tcp.with(of(Connected, Tcp, run::<tcp::Gathered>)),
            peer("tcp-each", "std", of(Connected, Tcp, run::<tcp::Each>)),
            peer("zenoh", "zenoh", of(Connected, Zenoh, run::<zenoh::Zenoh<false>>)),
            peer("zenoh-shm", "zenoh", of(Connected, ZenohShm, run::<zenoh::Zenoh<true>>)),
            peer("grpc", "tonic", of(Connected, Grpc, run::<grpc::Grpc>)),
            peer("nats", "async-nats", of(AtMostOnce, Nats, run::<nats::Nats>)),
            peer("jetstream", "async-nats", of(Durable, Jetstream, run::<jetstream::JetStream>)),
        ]
    });
    &ENTRIES
}

fn info(id: &'static str) -> Info {
    Info { id, name: id, sides: Sides::OneToOne, bounded: true, ..Info::RING }
}

fn peer(id: &'static str, package: &'static str, kernel: NetKernel) -> Measurable {
    Entry::other(info(id), kind(package)).with(kernel)
}

/// A way from one process to another one.
pub(super) trait Way: 'static {
    /// Whether the last item may get lost, too.
    const REPEATS_END: bool = false;

    type Tx: Tx;
    type Rx: Rx;

    /// The sending end. The receiving one listens.
    async fn sender(end: &End) -> Result<Self::Tx, String>;

    /// The receiving end, which listens.
    async fn receiver(end: &End) -> Result<Self::Rx, String>;

    /// Runs a process's part.
    fn block_on<T>(work: impl Future<Output = T>) -> T {
        futures_lite::future::block_on(work)
    }
}

/// Runs it in Tokio's runtime, as `#[tokio::main]` does.
fn in_tokio<T>(work: impl Future<Output = T>) -> T {
    let runtime = Builder::new_multi_thread().enable_all().build();
    runtime.expect("there are threads").block_on(work)
}

/// A sending end.
pub(super) trait Tx {
    /// Sends the item of a number.
    async fn put(&mut self, number: u64) -> Result<(), String>;

    /// Nothing else is sent for a while.
    async fn idle(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Nothing else is sent. Waits until all is received, if that is told.
    async fn finish(&mut self) -> Result<(), String> {
        self.idle().await
    }
}

/// A receiving end.
pub(super) trait Rx {
    /// Waits for the sender.
    async fn meet(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Waits for the number of the next item.
    async fn get(&mut self) -> Result<u64, String>;
}

fn run<W: Way>(end: &End) -> Result<(), String> {
    W::block_on(async {
        match end.task {
            Task::Send { warm_up, time, items } => {
                let mut tx = W::sender(end).await?;
                say(&Said::Sent(stream::send(&mut tx, warm_up, time, items).await?));
                linger::<W>(tx).await
            }
            Task::SendOnTime { per_s, time } => {
                let mut tx = W::sender(end).await?;
                say(&Said::Sent(latency::send(&mut tx, per_s, time).await?));
                linger::<W>(tx).await
            }
            Task::Receive { warm_up, may_lose } => {
                let mut rx = listen::<W>(end).await?;
                say(&Said::Received(stream::receive(&mut rx, warm_up, may_lose).await?));
                wait_for_end_of_input();
                Ok(())
            }
            Task::ReceiveOnTime { warm_up } => {
                let mut rx = listen::<W>(end).await?;
                say(&Said::Received(latency::receive(&mut rx, warm_up).await?));
                wait_for_end_of_input();
                Ok(())
            }
            _ => Err("it has another task".into()),
        }
    })
}

async fn listen<W: Way>(end: &End) -> Result<W::Rx, String> {
    let mut rx = W::receiver(end).await?;
    say(&Said::Ready);
    rx.meet().await?;
    Ok(rx)
}

/// Keeps the connection until all is received.
async fn linger<W: Way>(mut tx: W::Tx) -> Result<(), String> {
    let ended = thread::spawn(wait_for_end_of_input);
    while !ended.is_finished() {
        thread::sleep(Duration::from_millis(20));
        if W::REPEATS_END {
            tx.put(END).await?;
            tx.finish().await?;
        }
    }
    Ok(())
}

/// A fault in words.
fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
