//! A socket, without a library: the floor of all others.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::{Rx, Tx, Way, text};
use crate::suite::net::ends::End;
use crate::suite::net::record;

/// Most bytes of items that wait and are gathered into a write.
const WRITE: usize = 64 << 10;
/// Bytes of a read.
const READ: usize = 256 << 10;

/// Items that wait are gathered.
pub(super) enum Gathered {}

/// A write for each item.
pub(super) enum Each {}

impl Way for Gathered {
    type Tx = Sends;
    type Rx = Receives;

    async fn sender(end: &End) -> Result<Sends, String> {
        Sends::new(end, WRITE)
    }

    async fn receiver(end: &End) -> Result<Receives, String> {
        Receives::new(end)
    }
}

impl Way for Each {
    type Tx = Sends;
    type Rx = Receives;

    async fn sender(end: &End) -> Result<Sends, String> {
        Sends::new(end, 0)
    }

    async fn receiver(end: &End) -> Result<Receives, String> {
        Receives::new(end)
    }
}

pub(super) struct Sends {
    stream: TcpStream,
    record_bytes: usize,
    waiting: Vec<u8>,
    /// Bytes that are written at once.
    enough: usize,
}

impl Sends {
    fn new(end: &End, enough: usize) -> Result<Self, String> {
        let stream = TcpStream::connect(&end.address).map_err(text)?;
        stream.set_nodelay(true).map_err(text)?;
        let waiting = Vec::with_capacity(WRITE + end.record_bytes + 4);
        Ok(Self { stream, record_bytes: end.record_bytes, waiting, enough })
    }

    fn flush(&mut self) -> Result<(), String> {
        self.stream.write_all(&self.waiting).map_err(text)?;
        self.waiting.clear();
        Ok(())
    }
}

impl Tx for Sends {
    #[inline]
    async fn put(&mut self, number: u64) -> Result<(), String> {
        record::append_with_length(number, self.record_bytes, &mut self.waiting);
        if self.waiting.len() >= self.enough { self.flush() } else { Ok(()) }
    }

    async fn idle(&mut self) -> Result<(), String> {
        self.flush()
    }
}

pub(super) struct Receives {
    listener: TcpListener,
    stream: Option<TcpStream>,
    record_bytes: usize,
    /// Bytes that were read; those between the two positions are items.
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

impl Receives {
    fn new(end: &End) -> Result<Self, String> {
        let listener = TcpListener::bind(&end.address).map_err(text)?;
        let (record_bytes, bytes) = (end.record_bytes, vec![0; READ]);
        Ok(Self { listener, stream: None, record_bytes, bytes, from: 0, to: 0 })
    }

    /// Reads what there is behind the part of an item.
    #[inline(never)]
    fn read(&mut self) -> Result<(), String> {
        self.bytes.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        let stream = self.stream.as_mut().ok_or("there is no sender")?;
        match stream.read(&mut self.bytes[self.to..]).map_err(text)? {
            0 => Err("the sender has ended too early".into()),
            n => {
                self.to += n;
                Ok(())
            }
        }
    }
}

impl Rx for Receives {
    async fn meet(&mut self) -> Result<(), String> {
        self.stream = Some(self.listener.accept().map_err(text)?.0);
        Ok(())
    }

    #[inline]
    async fn get(&mut self) -> Result<u64, String> {
        loop {
            if let Some((item, _)) = record::split(&self.bytes[self.from..self.to]) {
                self.from += 4 + item.len();
                return record::number(item, self.record_bytes);
            }
            self.read()?;
        }
    }
}
