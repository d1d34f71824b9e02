//! Lanes between machines: a channel whose other end is in another program, on this machine or
//! another one.
//!
//! ```
//! use std::time::Duration;
//!
//! use corelane_net::Node;
//!
//! // In one program:
//! let here = Node::listen("127.0.0.1:17447")?;
//! let numbers = here.lane::<u64>("numbers").receiver()?;
//!
//! // In another one:
//! let there = Node::connect("127.0.0.1:17447")?;
//! let tx = there.lane::<u64>("numbers").sender()?;
//! std::thread::spawn(move || {
//!     for n in 0..1000 {
//!         tx.send(n).unwrap();
//!     }
//!     tx.finish(Duration::from_secs(10)).unwrap(); // waits until all is received
//! });
//!
//! assert_eq!(numbers.iter().sum::<u64>(), 499_500); // until the sender has ended
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The handles are those of [`channel`], and have all of its calls: `send`, `try_send`,
//! `send_timeout`, `send_async`, `recv`, `select!` and the others. A thread of the lane takes what
//! was sent, in packets of up to 240 KiB or an item: as many items as there are, so that a single one
//! doesn't wait. The engine, [Zenoh](https://zenoh.io), moves the packets.
//!
//! # What a lane promises
//!
//! | | |
//! |---|---|
//! | order | first in, first out. No item is lost, doubled or reordered while both programs live, whatever happens to the network between them |
//! | room | at most [`window`](Lane::window) items are sent and not yet received. Then a send waits: a slow receiver is felt by the sender |
//! | items that come at most once | an [`at_most_once_sender`](Lane::at_most_once_sender) sends nothing again. The receiver [counts](Receiver::lost) what is lost |
//! | several receivers | they [share](Lane::sharing_sender) the items, get [all](Lane::broadcast_sender) of them, or those of [some keys](Lane::sender_by_key) |
//! | several senders | [`receiver_of_several`](Lane::receiver_of_several): items of each in its order |
//! | items that must be fresh | a [`latest_sender`](Lane::latest_sender) never waits: it drops its oldest item, and [counts](corelane::channel::latest::Sender::dropped) |
//! | the sender ends by [`finish`](Sender::finish) | the receiver gets what is left, and then its calls say that the channel is disconnected; [`Receiver::ended`] says whether all has come |
//! | the sender is only dropped | as above if its program goes on. A program that ends at once loses what it had accepted and not yet sent |
//! | the sender dies | as above, when no other sender has come for a while: see [`gives_up_after`](Lane::gives_up_after). What it had accepted and not yet sent is lost |
//! | one of several receivers dies | unless each gets all items, those that its program had not taken go to the others, before newer ones. The last ones that it had taken may come there again |
//! | the receiver dies | items that its program had not taken go to the next receiver. The last ones that it had taken may come there again |
//! | work that must be done | in a lane that is [`confirmed`](Lane::confirmed), what a receiver's program has not [confirmed](Receiver::confirm) counts as not taken |
//! | two senders, or two receivers of one name | the second one waits for the first one's place, and gives up as above |
//! | memory | the window, at each end |
//!
//! What must survive both programs goes through a server that keeps it: module `durable`, with feature
//! `durable`.
//!
//! # Items
//!
//! | items | lane |
//! |---|---|
//! | numbers, and plain types with zerocopy's derives | [`Node::lane`] |
//! | bytes of any length | [`Node::records`] |
//! | any type of serde's, with feature `serde` | [`Node::lane_by`] with `Postcard` |
//! | what you write a [`Codec`] for | [`Node::lane_by`] |
//!
//! # What it costs
//!
//! One thread for each handle, and those of the engine for each [`Node`]. A packet has about 90 bytes
//! besides its items. Without items, each end says something every 0.75 seconds.

mod codec;
#[cfg(feature = "durable")]
pub mod durable;
mod engine;
mod error;
mod fill;
mod lane;
mod node;
mod pool;
mod protocol;
mod pump;
#[cfg(feature = "shared-memory")]
mod shm;

pub use bytes::Bytes;
#[cfg(feature = "serde")]
pub use codec::Postcard;
pub use codec::{Codec, Malformed, Plain, Records};
pub use corelane::{channel, select};
pub use error::{End, OpenError, Unconfirmed};
pub use lane::{Lane, LatestSender, Receiver, Sender};
pub use node::Node;
#[cfg(feature = "tls")]
pub use node::Tls;
