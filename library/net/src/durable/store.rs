//! A NATS server that keeps items, and the lanes there.

use std::error::Error as _;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::OnceLock;
use std::time::Duration;

use async_nats::jetstream::context::{Context, ContextBuilder};
use async_nats::{ConnectError, ConnectErrorKind, ConnectOptions, rustls};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::Lane;
use crate::codec::{Codec, Plain, Records};
use crate::error::OpenError;
use crate::node::Tls;

/// The time after which an answer of the server is given up.
const ANSWER: Duration = Duration::from_secs(3);
/// The time for a look at the server's settings.
const LOOK: Duration = Duration::from_secs(2);
/// Most bytes that a server tells.
const LONGEST: u64 = 1 << 20;
/// Where servers tell their settings, if it isn't said.
const MONITOR: u16 = 8222;

/// A NATS server with JetStream, which keeps the items of durable lanes. Clones are the same connection.
#[derive(Clone)]
pub struct Store {
    pub(super) context: Context,
    /// Changes when the connection has come again.
    pub(super) connections: watch::Receiver<u64>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.context.client().connection_state();
        f.debug_struct("Store").field("connection", &state).finish_non_exhaustive()
    }
}

impl Store {
    /// Connects to the server at this address, which tells its settings at port 8222 of the same host.
    /// Else use [`at`](Self::at).
    ///
    /// # Errors
    ///
    /// [`OpenError::Address`] if no server answers there. [`OpenError::Unsynced`] if the server
    /// acknowledges what it has not synced to its disk, or doesn't tell. [`OpenError::Certificates`] if it
    /// demands TLS.
    pub fn connect(address: &str) -> Result<Self, OpenError> {
        Self::at(address).connect()
    }

    /// How to connect to the server at this address: a host and a port, or `nats://user:password@host:port`.
    pub fn at(address: &str) -> Connect {
        Connect { address: address.into(), monitor: None, must_sync: true, tls: None }
    }

    /// Most bytes of a message that the server takes.
    pub(super) fn largest_message(&self) -> usize {
        self.context.client().server_info().max_payload
    }

    /// A lane of plain items: numbers, or types of yours with zerocopy's derives.
    pub fn lane<T>(&self, name: &str) -> Lane<T>
    where
        Plain: Codec<T>,
    {
        self.lane_by(name)
    }

    /// A lane of byte records: `Vec<u8>`, or `Bytes`, of which large ones are received without a copy.
    pub fn records<T>(&self, name: &str) -> Lane<T, Records>
    where
        Records: Codec<T>,
    {
        self.lane_by(name)
    }

    /// A lane of items that become bytes by the codec `C`.
    pub fn lane_by<T, C: Codec<T>>(&self, name: &str) -> Lane<T, C> {
        Lane {
            store: self.clone(),
            name: name.into(),
            window: crate::lane::window::<T, C>(),
            room: 1 << 30,
            gives_up_after: Duration::from_secs(30),
            of: PhantomData,
        }
    }
}

/// How to connect to a [`Store`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Connect {
    address: String,
    monitor: Option<String>,
    must_sync: bool,
    tls: Option<Tls>,
}

impl Connect {
    /// Where the server tells its settings, as its `http` says: a host and a port.
    pub fn monitor(mut self, address: &str) -> Self {
        self.monitor = Some(address.into());
        self
    }

    /// Takes a server that acknowledges items before they are on its disk, or that doesn't tell. When the
    /// machine of the server loses power, acknowledged items may be lost: of two minutes, as servers are
    /// set by default.
    pub fn unsynced(mut self) -> Self {
        self.must_sync = false;
        self
    }

    /// Encrypts the connection. The server must show a certificate of the authority, and is shown this
    /// program's. It demands that if its `tls` has `verify: true`. Feature `tls`.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: &Tls) -> Self {
        self.tls = Some(tls.clone());
        self
    }

    /// Connects.
    ///
    /// # Errors
    ///
    /// As [`Store::connect`], also if a file of `tls` is missing or damaged.
    pub fn connect(self) -> Result<Store, OpenError> {
        if let Some(tls) = &self.tls {
            tls.check()?;
        }
        let (tx, connections) = watch::channel(0);
        let mut options = ConnectOptions::new()
            .ping_interval(ANSWER / 2)
            .connection_timeout(ANSWER)
            .request_timeout(Some(ANSWER))
            .reconnect_delay_callback(|attempt| {
                Duration::from_millis((10 << attempt.min(7)).min(1000))
            })
            .event_callback(move |event| {
                if let async_nats::Event::Connected = event {
                    tx.send_modify(|connections| *connections += 1);
                }
                std::future::ready(())
            });
        if let Some(tls) = &self.tls {
            options = over_tls(options, tls);
        }
        let address = self.address.clone();
        let context = wait(async move {
            let client = options.connect(address).await?;
            Ok::<_, ConnectError>(ContextBuilder::new().timeout(ANSWER).build(client))
        });
        let context = context.map_err(|error| self.refused(&error))?;
        if self.must_sync {
            self.check(&context.client().server_info().server_id)?;
        }
        Ok(Store { context, connections })
    }

    /// Why there is no connection.
    fn refused(&self, error: &ConnectError) -> OpenError {
        let address = self.address.clone();
        let Some(mut reason) = reason_of_tls(error) else {
            return OpenError::Address { address, reason: error.to_string() };
        };
        if self.tls.is_none() {
            // The engine begins TLS only if the server says that it must.
            reason.insert_str(0, "the server demands TLS: ");
        }
        OpenError::Certificates { address, reason }
    }

    /// Whether the server with this id syncs what it acknowledges.
    fn check(&self, server: &str) -> Result<(), OpenError> {
        let host = self.address.rsplit_once("://").map_or(&self.address[..], |(_, rest)| rest);
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        let monitor = self.monitor.clone().unwrap_or(format!("{host}:{MONITOR}"));
        let reason = match told(&monitor) {
            // A machine may have several servers.
            Ok(told) if told["server_id"] != server => {
                format!(
                    "the server at {monitor} is another one. Give this server's `http` to monitor()"
                )
            }
            Ok(told) if told["config"].is_null() => {
                "it has no jetstream. Add it to its settings".into()
            }
            Ok(told) if told["config"]["sync_always"] == true => return Ok(()),
            Ok(told) => {
                let interval = told["config"]["sync_interval"].as_u64().map(Duration::from_nanos);
                let interval = interval.unwrap_or_default();
                format!("it syncs every {interval:?}. Set sync_interval: always in jetstream")
            }
            Err(error) => {
                format!("it doesn't tell at {monitor}: {error}. Set http, and give it to monitor()")
            }
        };
        Err(OpenError::Unsynced { address: self.address.clone(), reason })
    }
}

fn over_tls(options: ConnectOptions, tls: &Tls) -> ConnectOptions {
    // rustls panics if the program is built with two providers of cryptography and has no default. An
    // error says that it has one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    options
        .require_tls(true)
        .add_root_certificates(tls.authority.clone())
        .add_client_certificate(tls.certificate.clone(), tls.key.clone())
}

/// What an error says, if it is of TLS.
fn reason_of_tls(error: &ConnectError) -> Option<String> {
    let source = error.source()?;
    let io = source.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let is_of_tls = error.kind() == ConnectErrorKind::Tls
        || io.is_some_and(|inner| inner.is::<rustls::Error>());
    is_of_tls.then(|| source.to_string())
}

/// What a server tells of itself and its JetStream.
fn told(monitor: &str) -> io::Result<serde_json::Value> {
    let mut stream = Err(io::Error::other("no such host"));
    for address in monitor.to_socket_addrs()? {
        stream = stream.or_else(|_| TcpStream::connect_timeout(&address, LOOK));
    }
    let mut stream = stream?;
    stream.set_read_timeout(Some(LOOK))?;
    write!(stream, "GET /jsz?config=true HTTP/1.0\r\nHost: {monitor}\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(LONGEST).read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok(serde_json::from_str(body)?)
}

/// What runs the connections and the lanes of all stores: one thread.
pub(super) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("corelane store")
            .enable_all()
            .build()
            .expect("the system has a thread left")
    })
}

/// Waits for a future. The calling thread may be one of another runtime, which mustn't run this one's.
pub(super) fn wait<R: Send + 'static>(future: impl Future<Output = R> + Send + 'static) -> R {
    let (tx, rx) = std::sync::mpsc::sync_channel(1);
    runtime().spawn(async move {
        let _ = tx.send(future.await);
    });
    rx.recv().expect("the future doesn't panic")
}

/// Waits for an answer. Requests of the engine may wait for a connection without end.
pub(super) async fn answered<R, E: fmt::Display>(
    request: impl IntoFuture<Output = Result<R, E>>,
) -> Result<R, OpenError> {
    in_time(request).await?.map_err(failed)
}

/// As [`answered`], also if the answer is a failure.
pub(super) async fn in_time<R>(request: impl IntoFuture<Output = R>) -> Result<R, OpenError> {
    let answer = tokio::time::timeout(2 * ANSWER, request.into_future()).await;
    answer.map_err(|_| OpenError::Engine("the server doesn't answer".into()))
}

/// What a failed request says, in one line.
pub(super) fn failed(error: impl fmt::Display) -> OpenError {
    OpenError::Engine(error.to_string().replace('\n', " "))
}
