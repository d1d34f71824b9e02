//! The parameters of `lane bench spsc`, and what is said about its results.

use clap::ValueEnum;
use corelane::Memory;
use corelane_report::name;
use serde::{Deserialize, Serialize};

use crate::kinds::{Test, WORD};
use crate::results::{CellResult, Results};
use crate::stats::Group;
use crate::suite::{About, Suite, waiting};
use crate::table::{BATCH_C, BATCH_P, Column, MAX, P99, P999, TIMES_FLOOR};
use crate::threads::Wait;

/// One producer, one consumer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpscSetting {
    /// Most items per push or pop call.
    pub batch: usize,
    pub(crate) payload: PayloadKind,
    /// Size of an item; `None` in results of programs that had only items of one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) item_bytes: Option<usize>,
    /// `None` in results of programs that had only handles in the loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) handles: Option<Handles>,
    /// Name of the pair of loads.
    pub regime: Regime,
    /// Emulated load of the producer.
    pub load_p_ns: u64,
    /// Emulated load of the consumer.
    pub load_c_ns: u64,
    pub(crate) memory: MemoryKind,
    /// The source of the send times, in an open-loop test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schedule: Option<String>,
}

impl SpscSetting {
    pub(crate) fn bytes(&self) -> usize {
        self.item_bytes.unwrap_or(WORD)
    }

    pub(crate) fn is_field(&self) -> bool {
        self.handles == Some(Handles::Field)
    }

    /// Whether its items are words, and its handles are in the loop.
    pub(crate) fn is_usual(&self) -> bool {
        self.bytes() == WORD && !self.is_field()
    }

    /// Whether it streams numbers one by one without load. Only then there are other items than
    /// words, and other handles than those in the loop.
    pub(crate) fn is_plain(&self) -> bool {
        let is_idle = self.load_p_ns == 0 && self.load_c_ns == 0 && self.regime != Regime::Grid;
        is_idle && self.batch == 1 && self.payload == PayloadKind::U64
    }
}

/// What is said about the suite.
const ABOUT: About = About {
    name: "spsc",
    heading: "Between one producer and one consumer",
    reading: "The batch columns are items moved per run of failed pushes (P) or pops (C): a side \
     whose batch is small is the faster one, waiting for the other. Handles in the loop are \
     local variables, which the compiler keeps in registers; handles in a field are behind a \
     call that isn't inlined, as in most programs.",
    recommends: true,
    ..About::NONE
};

impl Suite for SpscSetting {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn titles(&self, result: &CellResult) -> (String, Option<String>) {
        let (capacity, wait) = (result.params.capacity, result.params.wait.words());
        (format!("{}, capacity {capacity}, {wait}", self.title(result.test)), None)
    }

    fn columns(&self, test: Test) -> (&'static str, &'static [Column]) {
        match test {
            Test::Stream => (test.unit(), &[TIMES_FLOOR, BATCH_P, BATCH_C]),
            Test::Rtt => (test.unit(), &[TIMES_FLOOR]),
            _ => ("p50 ns", &[P99, P999, MAX]),
        }
    }

    fn legend(&self, test: Test) -> &'static str {
        match test {
            Test::Stream => {
                "Medians with quartiles; less is better. × floor: of a line_stream of as many \
                 bytes. P batch, C batch: items that the producer, the consumer moves before it \
                 waits; the smaller one is of the faster side."
            }
            Test::Rtt => "Medians with quartiles; less is better. × floor: of line_rtt.",
            _ => {
                "Time from an item's intended send time to its pop. p99: one of a hundred items \
                 takes longer."
            }
        }
    }

    fn floor(&self, results: &Results, test: Test, group: Group) -> Option<(&'static str, f64)> {
        match test {
            Test::Stream => results.stream_floor(self.bytes(), group),
            Test::Rtt => Some(("line_rtt", results.line_rtt(group)?.median)),
            // Waiting in a queue has no floor.
            _ => None,
        }
    }

    fn purpose(&self, result: &CellResult) -> Option<String> {
        if self.payload != PayloadKind::U64 || self.regime != Regime::Free {
            return None;
        }
        let purpose = match (result.test, self.batch) {
            (Test::Stream, 1) => "to stream items one by one".to_owned(),
            (Test::Stream, batch) => format!("to stream in batches of {batch}"),
            (Test::Rtt, _) => "for the shortest round trip".to_owned(),
            _ => "for the lowest median latency under this schedule".to_owned(),
        };
        let wait = result.params.wait;
        Some(if wait == Wait::Greedy { waiting(&purpose, wait) } else { purpose })
    }

    fn condition(&self) -> Option<String> {
        Some(format!("{} bytes, {}", self.item_bytes?, name(&self.handles?)))
    }

    fn forget_condition(&mut self) {
        (self.item_bytes, self.handles) = (None, None);
    }

    fn memory(&self) -> Memory {
        self.memory.into()
    }
}

impl SpscSetting {
    fn title(&self, test: Test) -> String {
        let payload = name(&self.payload);
        let what = match (test, self.batch) {
            (Test::Rtt, _) => return format!("rtt, one item there and back, {payload}"),
            (Test::OpenLoop, _) => {
                let schedule = self.schedule.as_deref().unwrap_or("no schedule");
                return format!("open-loop, {schedule}, {payload}");
            }
            (_, 1) => "stream, one item per call".to_owned(),
            (_, batch) => format!("stream, up to {batch} items per call"),
        };
        let SpscSetting { load_p_ns, load_c_ns, .. } = self;
        let items = match (self.payload, self.item_bytes) {
            (PayloadKind::U64, Some(bytes)) => format!("items of {bytes} bytes"),
            _ => payload,
        };
        let handles = match self.handles {
            Some(Handles::Loop) => ", handles in the loop",
            Some(Handles::Field) => ", handles in a field",
            None => "",
        };
        let regime = name(&self.regime);
        format!("{what}, {regime} ({load_p_ns}/{load_c_ns} ns load), {items}{handles}")
    }
}

/// The loads of the two sides, after paper 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    /// No load.
    Free,
    /// Fast producer.
    Fp,
    /// Fast consumer.
    Fc,
    /// Both equally slow.
    Balanced,
    /// One side fills the queue, then the other empties it.
    Turns,
    /// Loads that have no name.
    Custom,
    /// A pair of loads of the grid.
    Grid,
}

impl Regime {
    /// The regimes that are measured by name.
    pub const MEASURED: [Self; 4] = [Self::Free, Self::Fp, Self::Fc, Self::Balanced];

    /// Load of the producer and of the consumer, in nanoseconds.
    pub fn loads(self) -> [u64; 2] {
        match self {
            Self::Free | Self::Turns | Self::Custom | Self::Grid => [0, 0],
            Self::Fp => [0, 10],
            Self::Fc => [20, 10],
            Self::Balanced => [50, 50],
        }
    }

    /// All pairs of loads of the grid: 0 to 90 ns, as in paper 1, Figs 14 and 17.
    pub fn grid() -> impl Iterator<Item = [u64; 2]> {
        let loads = || (0..10).map(|tens| 10 * tens);
        loads().flat_map(move |p| loads().map(move |c| [p, c]))
    }
}

/// The items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum PayloadKind {
    /// A number.
    U64,
    /// A pointer to a page.
    Indirect,
}

/// Sizes of items, in bytes.
pub(crate) const ITEM_BYTES: [usize; 6] = [WORD, 16, 24, 64, 256, 1024];
/// Parses a size of items.
pub(crate) fn item_bytes(text: &str) -> Result<usize, String> {
    let bytes = text.parse().ok().filter(|bytes| ITEM_BYTES.contains(bytes));
    bytes.ok_or_else(|| {
        format!("choose from {}", ITEM_BYTES.map(|bytes| bytes.to_string()).join(", "))
    })
}

/// Where both sides keep their handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Handles {
    /// In a local variable of the loop, which the compiler can keep in registers.
    Loop,
    /// In a field of a struct, behind a method that isn't inlined.
    Field,
}

/// Memory of corelane's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// The global allocator.
    Heap,
    /// Pages of 2 MiB.
    Huge,
    /// Slots mapped twice in a row.
    Mirrored,
}

impl From<MemoryKind> for Memory {
    fn from(kind: MemoryKind) -> Self {
        match kind {
            MemoryKind::Heap => Self::Heap,
            MemoryKind::Huge => Self::HugePages,
            MemoryKind::Mirrored => Self::Mirrored,
        }
    }
}
