//! What the system offers between threads: pipes and sockets, with eight bytes for each item, and a
//! queue whose items an `eventfd` counts.

use std::io::{Read, Write};

use corelane::{Info, Sides};

use super::handles::{Channel, Ends, Receiver, Sender, Wanted, copies};
use super::{ChannelKernel, Channels};
use crate::catalogue::Entry;
use crate::peers::of_system;
use crate::suite::wait::Sharing;

/// A channel of bytes, opened by `$open` as reader and writer.
macro_rules! bytes {
    ($channel:ident: $tx:ty, $rx:ty, $open:expr) => {
        struct $channel;

        impl Channel for $channel {
            const HANDLES: Sharing = Sharing::Exclusive;

            type Tx = $tx;
            type Rx = $rx;

            fn open(Wanted { size, .. }: Wanted) -> Result<Ends<$tx, $rx>, String> {
                let (rx, tx) = $open.map_err(|error| error.to_string())?;
                let txs = copies(tx, size.producers, |tx| tx.0.try_clone().ok().map(Bytes))?;
                Ok((txs, copies(rx, size.consumers, |rx| rx.0.try_clone().ok().map(Bytes))?))
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

/// An end of a channel of bytes. An item is read and written at once, also by several threads.
struct Bytes<E>(E);

bytes!(Pipe: Bytes<std::io::PipeWriter>, Bytes<std::io::PipeReader>,
       std::io::pipe().map(|(rx, tx)| (Bytes(rx), Bytes(tx))));
#[cfg(unix)]
bytes!(Socket: Bytes<std::os::unix::net::UnixStream>, Bytes<std::os::unix::net::UnixStream>,
       std::os::unix::net::UnixStream::pair().map(|(rx, tx)| (Bytes(rx), Bytes(tx))));

/// LCRQ under a semaphore of the system: each item is counted by a call, and taken after one.
#[cfg(target_os = "linux")]
mod semaphore {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::num::NonZeroU64;
    use std::sync::Arc;

    use corelane::rings::lcrq;
    use corelane::{Config, TryPopError, TryPushError};
    use rustix::event::{EventfdFlags, eventfd};

    use super::super::handles::{Channel, Ends, Receiver, Sender, Wanted, copies};
    use crate::kinds::TeamSize;
    use crate::suite::wait::Sharing;

    pub(super) struct Eventfd;

    pub(super) struct Tx {
        // Dropped before its bell rings for the end.
        queue: lcrq::Producer<NonZeroU64>,
        end: End,
    }

    /// Counts items, and at the end what wakes all receivers.
    struct End(Arc<File>);

    pub(super) struct Rx(lcrq::Consumer<NonZeroU64>, Arc<File>);

    impl Channel for Eventfd {
        const HANDLES: Sharing = Sharing::Exclusive;

        type Tx = Tx;
        type Rx = Rx;

        fn open(Wanted { capacity, size, .. }: Wanted) -> Result<Ends<Tx, Rx>, String> {
            let (first, rx) =
                lcrq::queue_with(Config::new(capacity)).map_err(|error| error.to_string())?;
            let count = eventfd(0, EventfdFlags::SEMAPHORE | EventfdFlags::CLOEXEC)
                .map_err(|error| error.to_string())?;
            let count = Arc::new(File::from(count));
            let tx = |queue| Tx { queue, end: End(count.clone()) };
            let txs = copies(tx(first), size.producers, |known| Some(tx(known.queue.clone())))?;
            let rx = Rx(rx, count.clone());
            Ok((
                txs,
                copies(rx, size.consumers, |Rx(rx, count)| Some(Rx(rx.clone(), count.clone())))?,
            ))
        }
    }

    impl End {
        fn count(&self, items: u64) -> bool {
            (&*self.0).write_all(&items.to_ne_bytes()).is_ok()
        }
    }

    impl Drop for End {
        fn drop(&mut self) {
            self.count(TeamSize::MOST as u64);
        }
    }

    impl Sender for Tx {
        fn put(&mut self, item: u64) -> bool {
            let mut item = NonZeroU64::new(item + 1).expect("fewer items than numbers");
            loop {
                match self.queue.try_push(item) {
                    Ok(()) => return self.end.count(1),
                    Err(TryPushError::Closed(_)) => return false,
                    Err(error) => item = error.into_inner(),
                }
            }
        }
    }

    impl Receiver for Rx {
        fn get(&mut self) -> Option<u64> {
            loop {
                (&*self.1).read_exact(&mut [0; 8]).ok()?;
                loop {
                    match self.0.try_pop() {
                        Ok(item) => return Some(item.get() - 1),
                        Err(TryPopError::Busy) => {}
                        Err(TryPopError::Closed) => return None,
                        Err(TryPopError::Empty) => break,
                    }
                }
            }
        }
    }
}

pub(super) fn entries() -> Vec<Channels> {
    let entry = |id, name, kernels| {
        let info = Info { id, name, sides: Sides::ManyToMany, bounded: false, ..Info::RING };
        Entry::other(info, of_system()).with(kernels)
    };
    vec![
        entry("pipe", "pipe", ChannelKernel::blocking::<Pipe>().collect()),
        #[cfg(unix)]
        entry("unix-socket", "Unix stream socket", ChannelKernel::blocking::<Socket>().collect()),
        #[cfg(target_os = "linux")]
        entry(
            "eventfd",
            "LCRQ with an eventfd",
            ChannelKernel::blocking::<semaphore::Eventfd>().collect(),
        ),
    ]
}
