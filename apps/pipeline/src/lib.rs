//! A packet pipeline over corelane's queues: packets go in, flows and their applications come out.
//!
//! The stages are threads: input, parse (link layer, IP with its fragments, transport), flows
//! (reassembly of the beginnings of streams, applications), merge. Several threads may share the
//! flows, each with those of its own. Packets move between stages in boxes, so that their bytes are
//! not copied.
//!
//! The result doesn't depend on the queues, the threads or the sizes of batches, unless packets are
//! [dropped](Settings::drops). What is kept has bounds: see the README.
//!
//! ```
//! use corelane::line_ring::LineRing;
//! use pipeline::{Of, Packet, Settings, run, run_inline};
//!
//! // A packet of a single byte is malformed.
//! let packets = || vec![Box::new(Packet::ethernet(0, vec![0]))].into_iter();
//! let settings = Settings { threads: 2, ..Settings::default() };
//! let report = run(&Of::<LineRing>::default(), &mut packets(), &settings, |_| {})?;
//! assert_eq!((report.packets, report.malformed), (1, 1));
//! assert_eq!(run_inline(&mut packets()).malformed, 1);
//! # Ok::<(), corelane::CapacityError>(())
//! ```

mod app;
#[cfg(test)]
#[path = "../tests/build/mod.rs"]
mod build;
mod flow;
#[cfg(target_os = "linux")]
mod interface;
mod output;
mod packet;
mod parse;
mod queues;
mod replay;
mod report;
mod source;
mod stages;

#[cfg(target_os = "linux")]
pub use interface::Interface;
pub use output::{csv, document, json};
pub use packet::{Packet, Parcel};
pub use queues::{Named, Of, Queues, Watched};
pub use replay::{LONGEST_GAP, Replay};
pub use report::{FlowRecord, MOST_LISTED, Report, Total};
pub use source::{Captures, Source, Spares, is_stream};
pub use stages::{MOST_THREADS, Progress, Settings, parse_inline, run, run_inline};
