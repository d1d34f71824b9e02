//! The queues that are measured through calls that don't wait: between one producer and one
//! consumer, between several threads, and in a ring of threads. corelane's come from the library's
//! registry.

use std::num::NonZeroU64;
use std::sync::LazyLock;

use corelane::b_queue::BQueueAny;
use corelane::fast_forward::FfqAny;
use corelane::mc_ring_sane::McRingSane;
use corelane::scq::ScqDelayed;
use corelane::segmented::Uspsc;
use corelane::{CapacityError, Config, Consumer, Info, Queue, for_each_queue};

use crate::catalogue::{Entry, Measured};
use crate::kinds::TeamSize;
use crate::payload::{Indirect, Parcel, Payload};
use crate::peers;
use crate::suite::mpmc::{self, MpmcKernel};
use crate::suite::pipeline;
use crate::suite::relaxed::{self, RelaxedKernel};
use crate::suite::ring::{self, RingKernel};
use crate::suite::spsc::words::{self, Roomy};
use crate::suite::spsc::{self, SpscKernel};
use crate::suite::switch::{Wire, wire};

/// A queue with its kernels.
pub(crate) type Subject = Measured<Kernels>;

/// What measures a queue.
#[derive(Debug)]
pub(crate) struct Kernels {
    /// Between one producer and one consumer, if the queue is meant for that.
    pub(crate) spsc: Option<SpscKernel>,
    /// A stream of items of more than a word, if the queue carries items of this size.
    pub(crate) larger: fn(usize) -> Option<words::Kernel>,
    /// Both sides of a port of a switch, if the queue is meant for one producer and one consumer.
    pub(crate) wire: Option<Wire>,
    /// Makes it as a queue of pointers between stages, unless it loses items or their order.
    pub(crate) boxes: Option<pipeline::Maker>,
    /// Between several threads.
    pub(crate) mpmc: MpmcKernel,
    /// Between threads in a ring.
    pub(crate) ring: RingKernel,
    /// Rank errors, and memory.
    pub(crate) relaxed: RelaxedKernel,
    /// The k that the queue has with these options.
    pub(crate) relaxation: fn(Config) -> Result<usize, CapacityError>,
    /// Makes the queue and drops it. The error says what is wrong with the parameters.
    pub(crate) probe: fn(Config, TeamSize) -> Result<(), String>,
}

/// All queues, corelane's first.
pub(crate) fn all() -> &'static [Subject] {
    static ALL: LazyLock<Vec<Subject>> =
        LazyLock::new(|| ours().into_iter().chain(peers::entries()).collect());
    &ALL
}

impl Subject {
    /// A queue of numbers as `N`, and of boxes as `B`.
    pub(crate) fn of<N: Payload, B: Payload, Q: Queue<N> + Queue<B> + 'static>(
        entry: Entry,
    ) -> Self {
        entry.with(Kernels {
            spsc: None,
            larger: |_| None,
            wire: None,
            boxes: None,
            mpmc: mpmc::measure::<N, B, Q>,
            ring: ring::measure::<B, Q>,
            relaxed: relaxed::measure::<N, Q>,
            relaxation: |config| <Q as Queue<N>>::with(config).map(|(_, rx)| rx.relaxation()),
            probe: |config, size| mpmc::handles(<Q as Queue<N>>::with, config, size).map(drop),
        })
    }

    /// The same, also measured between one producer and one consumer.
    pub(crate) fn with_spsc<N: Payload, Q>(mut self) -> Self
    where
        Q: Queue<N> + Queue<Indirect> + Queue<Parcel> + 'static,
    {
        self.kernel.spsc = Some(spsc::measure::<N, Q>);
        self.kernel.wire = Some(wire::<Q>);
        self.with_boxes::<Q>()
    }

    /// The same, also measured between the stages of a pipeline.
    pub(crate) fn with_boxes<Q: Queue<Parcel> + 'static>(mut self) -> Self {
        self.kernel.boxes = Some(<Q as Queue<Parcel>>::boxed);
        self
    }

    /// The same, also measured with larger items.
    pub(crate) fn with_larger<Q: Roomy>(mut self) -> Self {
        self.kernel.larger = words::Kernel::for_bytes::<Q>;
        self
    }

    /// Whether it is measured between one producer and one consumer.
    pub(crate) fn is_spsc(&self) -> bool {
        self.kernel.spsc.is_some()
    }
}

fn ours() -> Vec<Subject> {
    let mut entries = Vec::new();
    macro_rules! add {
        (single any $id:ident: $queue:ty) => {
            entries.push(any::<$queue>())
        };
        (single token $id:ident: $queue:ty) => {
            entries.push(single::<NonZeroU64, $queue>("tokens in packed slots"))
        };
        (shared any $id:ident: $queue:ty) => {
            entries.push(shared::<u64, Parcel, $queue>("items of any type").with_boxes::<$queue>())
        };
        (relaxed any $id:ident: $queue:ty) => {
            entries.push(shared::<u64, Parcel, $queue>("items of any type"))
        };
        (shared token $id:ident: $queue:ty) => {
            entries.push(
                shared::<NonZeroU64, Parcel, $queue>("tokens in packed slots")
                    .with_boxes::<$queue>(),
            )
        };
        // Boxes aren't plain data.
        (shared plain $id:ident: $queue:ty) => {
            entries.push(shared::<u64, u64, $queue>("plain data"))
        };
    }
    for_each_queue!(add);
    entries.push(list::<FfqAny>("uspsc-ffq", "list of the paper's rings"));
    entries.push(list::<BQueueAny>("uspsc-bqueue", "list of B-Queues"));
    // Not in the registry, because it has a thread of its own.
    entries.push(single::<u64, McRingSane>("items of any type"));
    // With as many retries as the paper's program has: to see what they make of it.
    entries.push(shared::<u64, Parcel, ScqDelayed<10_000>>("items of any type"));
    entries
}

fn single<N, Q>(items: &'static str) -> Subject
where
    N: Payload,
    Q: Queue<N> + Queue<Indirect> + Queue<Parcel> + 'static,
{
    shared::<N, Parcel, Q>(items).with_spsc::<N, Q>()
}

/// A queue between one producer and one consumer that carries items of any type.
fn any<Q>() -> Subject
where
    Q: Queue<u64> + Queue<Indirect> + Queue<Parcel> + Roomy + 'static,
{
    single::<u64, Q>("items of any type").with_larger::<Q>()
}

fn shared<N: Payload, B: Payload, Q: Queue<N> + Queue<B> + 'static>(
    items: &'static str,
) -> Subject {
    Subject::of::<N, B, Q>(Entry::ours(<Q as Queue<N>>::INFO, items).of_type::<Q>())
}

/// A list of other rings than the default, for comparison.
fn list<Q>(id: &'static str, name: &'static str) -> Subject
where
    Uspsc<Q>: Queue<u64> + Queue<Indirect> + Queue<Parcel> + 'static,
{
    let mut queue = single::<u64, Uspsc<Q>>("items of any type");
    let choose = "to compare: how much the rings in the list matter";
    queue.entry.info = Info { id, name, choose, ..queue.entry.info };
    queue
}
