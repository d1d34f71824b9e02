//! Lanes that survive both of their programs: a [NATS](https://nats.io) server with JetStream keeps their
//! items. With feature `durable`.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use corelane_net::durable::Store;
//!
//! // nats-server -c nats.conf, with
//! //     http: 127.0.0.1:8222
//! //     jetstream { store_dir: "/var/lib/nats", sync_interval: always }
//! let store = Store::connect("127.0.0.1:4222")?;
//!
//! // In one program:
//! let tx = store.lane::<u64>("readings").sender("meter")?;
//! for reading in tx.stored()..1000 {
//!     tx.send(reading)?; // a program that starts anew goes on where the one before it was
//! }
//! tx.finish(Duration::from_secs(10))?; // waits until all is stored
//!
//! // In another one:
//! let rx = store.lane::<u64>("readings").receiver("archive")?;
//! for reading in rx.iter() {
//!     println!("{reading}");
//!     rx.confirm(); // it doesn't come again
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a durable lane promises
//!
//! | | |
//! |---|---|
//! | an item is stored | once, in the order of its sender, whatever happens to sender, receiver, server, and the network between them. [`Sender::unstored`] counts those of which it isn't known yet |
//! | stored | synced to the server's disk: its `sync_interval` must be `always`. By default, servers acknowledge first and sync every two minutes |
//! | the sender dies | what isn't stored is lost. The next program of the same name begins behind what is stored: [`Sender::stored`] is the number of items |
//! | the receiver dies | the next program of the same name gets what wasn't confirmed: [`Receiver::confirm`]. Items that were taken and not confirmed come again |
//! | several senders | each has a name of its own. Items come in the order in which they were stored |
//! | several receivers | each has a name of its own, and gets all items. A new name begins with those that another receiver has not confirmed, the first name with all that are there |
//! | two programs of one name | the later one takes the name over. The earlier one's calls say that the lane is disconnected: [`End::Taken`](crate::End::Taken) |
//! | room | items that some receiver has not confirmed, up to [`room`](Lane::room) bytes. Then sends wait |
//! | memory | [`window`](Lane::window) items, at each end |
//! | the lane's end | none: it is there until [`Lane::delete`]. A receiver waits for the next sender |

mod lane;
mod message;
mod positions;
mod publishing;
mod receiver;
mod sender;
#[cfg(test)]
mod simulated;
mod status;
mod store;

pub use lane::Lane;
pub use receiver::Receiver;
pub use sender::Sender;
pub use store::{Connect, Store};
