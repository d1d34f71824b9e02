//! Where packets come from.

use std::collections::VecDeque;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::vec;

use corelane_capture::{CaptureError, Reader};

use crate::packet::Parcel;

/// A source of packets.
pub trait Source: Send {
    /// The next packet, in the order of the capture. Waits until there is one. `None` at the end.
    ///
    /// A source that makes packets may ask `spares` for one that is no longer needed.
    fn next_packet(&mut self, spares: &mut impl Spares) -> Option<Parcel>;

    /// Whether the next packet needn't be waited for. If it must, the packets before it are handed
    /// on.
    fn is_ready(&mut self) -> bool {
        true
    }
}

/// Packets that have gone through all stages, whose memory can be used again.
pub trait Spares {
    /// One of them.
    fn take(&mut self) -> Option<Parcel>;
}

/// None.
impl Spares for () {
    fn take(&mut self) -> Option<Parcel> {
        None
    }
}

/// The last one.
impl Spares for Option<Parcel> {
    fn take(&mut self) -> Option<Parcel> {
        Self::take(self)
    }
}

/// Packets in memory.
impl Source for vec::IntoIter<Parcel> {
    fn next_packet(&mut self, _: &mut impl Spares) -> Option<Parcel> {
        self.next()
    }
}

/// The packets of files, one file after the other.
#[derive(Debug)]
pub struct Captures {
    /// Files that are read later.
    paths: VecDeque<PathBuf>,
    current: Option<(String, Reader<'static>)>,
    /// Says when to stop early.
    stops: fn() -> bool,
    last_ns: u64,
    faults: Vec<String>,
}

/// The path that stands for standard input.
const STANDARD: &str = "-";

impl Captures {
    /// The packets of the files at `paths`, of which `-` is standard input. `stops` is asked before
    /// each packet whether to end.
    ///
    /// # Errors
    ///
    /// One line that names the file that can't be read or is no capture, and why.
    pub fn open<P: AsRef<Path>>(paths: &[P], stops: fn() -> bool) -> Result<Self, String> {
        let paths: VecDeque<_> = paths.iter().map(|path| path.as_ref().to_owned()).collect();
        // Each is opened twice: there may be more of them than a process may have open.
        for path in paths.iter().filter(|path| !is_stream(path)) {
            reader(path)?;
        }
        let mut captures = Self { paths, current: None, stops, last_ns: 0, faults: Vec::new() };
        // A stream can be read only once.
        captures.current();
        captures.faults.pop().map_or(Ok(captures), Err)
    }

    /// What was wrong with files whose packets were read up to there: a line for each.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// The file that is read now, if it isn't the end.
    fn current(&mut self) -> Option<&mut (String, Reader<'static>)> {
        while self.current.is_none() {
            let path = self.paths.pop_front()?;
            match reader(&path) {
                Ok(reader) => self.current = Some((path.display().to_string(), reader)),
                Err(fault) => self.faults.push(fault),
            }
        }
        self.current.as_mut()
    }
}

/// A reader that has read the header of a file, or a line that says why it can't.
fn reader(path: &Path) -> Result<Reader<'static>, String> {
    let refused = |reason: &dyn Display| format!("can't read {}: {reason}", path.display());
    let source: Box<dyn Read + Send> = match path.as_os_str() == STANDARD {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path).map_err(|error| refused(&error))?),
    };
    Reader::new(source).map_err(|error| match error {
        CaptureError::NoCapture if is_compressed(path) => {
            refused(&"it is compressed; run `gunzip` on it first")
        }
        error => refused(&error),
    })
}

/// Whether a path is standard input, a pipe, or something else that isn't a file.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == STANDARD || fs::metadata(path).is_ok_and(|about| !about.is_file())
}

/// Whether a file begins as those of gzip.
fn is_compressed(path: &Path) -> bool {
    if is_stream(path) {
        return false;
    }
    let mut begin = [0; 2];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == [0x1f, 0x8b]
}

impl Source for Captures {
    fn next_packet(&mut self, spares: &mut impl Spares) -> Option<Parcel> {
        let mut packet = spares.take().unwrap_or_default();
        while !(self.stops)() {
            let (name, reader) = self.current()?;
            let fault = match reader.read(&mut packet.bytes) {
                Ok(Some(record)) => {
                    // A packet without a time has that of the one before.
                    self.last_ns = record.at_ns.unwrap_or(self.last_ns);
                    packet.describe(&record, self.last_ns);
                    return Some(packet);
                }
                Ok(None) => None,
                Err(error) => Some(format!("{name}: {error}")),
            };
            self.faults.extend(fault);
            self.current = None;
        }
        None
    }
}
