//! Results for people and programs.
//!
//! A command builds one [`Document`] from its results. The document becomes text for a terminal, a
//! page for a browser, or Markdown; [`Files`] writes all of them, and the data as JSON. The other
//! modules are shared by all the programs: options, Ctrl-C, and failures.

mod choice;
mod document;
mod html;
pub mod interrupt;
mod markdown;
mod number;
mod options;
mod origin;
pub mod plot;
mod program;
mod progress;
mod text;

pub use choice::Choice;
pub use document::{Block, Document, ListingLine, Media, Remark, Row, Table};
pub use number::{list, ratio, short, times};
pub use options::{FileArgs, Positive, PositiveReal, duration, name, one_of};
pub use origin::Origin;
pub use program::{Failure, Files, Sink, parse, print, unknown};
pub use progress::{Progress, about, announce, shared};
pub use text::wrapped;
