//! What the system offers between threads: pipes and sockets, with eight bytes for each item.

use std::io::{Read, Write};

use corelane::{Info, Sides};

use super::ChannelKernel;
use super::handles::{Channel, Ends, Receiver, Sender, copies};
use crate::catalogue::{Entry, EntryKind};
use crate::kinds::{Sharing, Strategy, TeamSize};

/// A channel of bytes, opened by `$open` as reader and writer.
macro_rules! bytes {
    ($channel:ident: $tx:ty, $rx:ty, $open:expr) => {
        struct $channel;

        impl Channel for $channel {
            const STRATEGY: Strategy = Strategy::Adaptive;
            const HANDLES: Sharing = Sharing::Exclusive;

            type Tx = $tx;
            type Rx = $rx;

            fn open(_capacity: usize, size: TeamSize) -> Result<Ends<$tx, $rx>, String> {
                let (rx, tx) = $open.map_err(|error| error.to_string())?;
                Ok((copies(tx, size.producers, |_| None)?, copies(rx, size.consumers, |_| None)?))
            }
        }
    };
}

impl<W: Write + Send> Sender for Bytes<W> {
    fn put(&mut self, item: u64) -> bool {
        self.0.write_all(&item.to_ne_bytes()).is_ok()
    }
}

impl<R: Read + Send> Receiver for Bytes<R> {
    fn get(&mut self) -> Option<u64> {
        let mut item = [0; 8];
        self.0.read_exact(&mut item).ok()?;
        Some(u64::from_ne_bytes(item))
    }
}

/// An end of a channel of bytes.
struct Bytes<E>(E);

bytes!(Pipe: Bytes<std::io::PipeWriter>, Bytes<std::io::PipeReader>,
       std::io::pipe().map(|(rx, tx)| (Bytes(rx), Bytes(tx))));
#[cfg(unix)]
bytes!(Socket: Bytes<std::os::unix::net::UnixStream>, Bytes<std::os::unix::net::UnixStream>,
       std::os::unix::net::UnixStream::pair().map(|(rx, tx)| (Bytes(rx), Bytes(tx))));

pub(super) fn entries() -> Vec<Entry> {
    let entry = |id, name, kernel| {
        let info = Info { id, name, sides: Sides::OneToOne, bounded: false, ..Info::RING };
        let kind = EntryKind::Peer { package: "system", version: "of the machine".into() };
        Entry::channel(info, kind, vec![kernel])
    };
    vec![
        entry("pipe", "pipe", ChannelKernel::blocking::<Pipe>()),
        #[cfg(unix)]
        entry("unix-socket", "Unix stream socket", ChannelKernel::blocking::<Socket>()),
    ]
}
