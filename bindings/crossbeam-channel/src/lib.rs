//! corelane's channels under the name of `crossbeam-channel`, to try them in a whole program that
//! is not changed. Its README has the commands.
//!
//! ```
//! use crossbeam_channel::{bounded, select};
//!
//! let (tx, rx) = bounded(1);
//! tx.send("hello").unwrap();
//! select! {
//!     recv(rx) -> message => assert_eq!(message, Ok("hello")),
//!     default => unreachable!("there is a message"),
//! }
//! ```

pub use corelane::channel::{
    IntoIter, Iter, ReadyTimeoutError, Receiver, RecvError, RecvTimeoutError, Select,
    SelectTimeoutError, SelectedOperation, SendError, SendTimeoutError, Sender, TryIter,
    TryReadyError, TryRecvError, TrySelectError, TrySendError, after, at, bounded, never, select,
    select_biased, tick, unbounded,
};
