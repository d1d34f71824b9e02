//! Where packets come from.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
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

/// Packets in memory.
impl Source for vec::IntoIter<Parcel> {
    fn next_packet(&mut self, _: &mut impl Spares) -> Option<Parcel> {
        self.next()
    }
}

/// The packets of files, one file after the other.
#[derive(Debug)]
pub struct Captures {
    files: VecDeque<(String, Reader<'static>)>,
    /// Says when to stop early.
    stops: fn() -> bool,
    last_ns: u64,
    faults: Vec<String>,
}

impl Captures {
    /// Opens `files`, of which `-` is standard input, and reads their headers. `stops` is asked
    /// before each packet whether to end.
    ///
    /// # Errors
    ///
    /// One line that names the file that can't be read, and why.
    pub fn open<P: AsRef<Path>>(files: &[P], stops: fn() -> bool) -> Result<Self, String> {
        let open = |path: &P| {
            let path = path.as_ref();
            let name = path.display().to_string();
            let reader = contents(path).map_err(|error| format!("can't read {name}: {error}"))?;
            match Reader::new(reader) {
                Ok(reader) => Ok((name, reader)),
                Err(CaptureError::NoCapture) if is_compressed(path) => {
                    Err(format!("can't read {name}: it is compressed; run `gunzip` on it first"))
                }
                Err(error) => Err(format!("can't read {name}: {error}")),
            }
        };
        let files = files.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { files, stops, last_ns: 0, faults: Vec::new() })
    }

    /// What was wrong with files whose packets were read up to there: a line for each.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }
}

fn contents(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    match path.as_os_str().as_encoded_bytes() {
        b"-" => Ok(Box::new(io::stdin())),
        _ => Ok(Box::new(File::open(path)?)),
    }
}

/// Whether a file begins as those of gzip.
fn is_compressed(path: &Path) -> bool {
    let mut begin = [0; 2];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == [0x1f, 0x8b]
}

impl Source for Captures {
    fn next_packet(&mut self, spares: &mut impl Spares) -> Option<Parcel> {
        let mut packet = spares.take().unwrap_or_default();
        while let Some((name, reader)) = self.files.front_mut() {
            if (self.stops)() {
                return None;
            }
            match reader.read(&mut packet.bytes) {
                Ok(Some(record)) => {
                    // A packet without a time has that of the one before.
                    self.last_ns = record.at_ns.unwrap_or(self.last_ns);
                    packet.describe(&record, self.last_ns);
                    return Some(packet);
                }
                Ok(None) => {}
                Err(error) => self.faults.push(format!("{name}: {error}")),
            }
            self.files.pop_front();
        }
        None
    }
}
