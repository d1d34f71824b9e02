//! Results for people and programs.
//!
//! A command builds one [`Document`] from what it found. The document becomes text for a terminal, a page for a
//! browser, or Markdown; [`Files`] writes all of them, and the data as JSON. The rest is what all the programs have in
//! common: options, Ctrl-C, and one way to fail.

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

pub use document::{Block, Document, ListingLine, Media, Remark, Row, Table};
pub use number::{list, ratio, short, times};
pub use options::{FileArgs, Positive, PositiveReal, duration, name, one_of};
pub use origin::Origin;
pub use program::{Failure, Files, Sink, parse, print, unknown};
pub use progress::{Progress, announce, shared};
