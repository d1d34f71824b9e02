//! A program's place in the network.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use crate::codec::{Codec, Plain, Records};
use crate::engine::Engine;
use crate::error::OpenError;
use crate::lane::Lane;

/// Which nodes may connect to a node, and how it shows that it is one: files in PEM format. Connections
/// are encrypted.
///
/// ```no_run
/// # #[cfg(feature = "tls")] {
/// use corelane_net::{Node, Tls};
///
/// let tls = Tls {
///     authority: "authority.pem".into(),
///     certificate: "here.pem".into(),
///     key: "here.key".into(),
/// };
/// let node = Node::listen_tls("0.0.0.0:7447", &tls)?;
/// # }
/// # Ok::<(), corelane_net::OpenError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificate of the authority: a node talks to those with a certificate of it, and to no
    /// others.
    pub authority: PathBuf,
    /// This node's certificate, by the authority, for its host's name or address.
    pub certificate: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
}

impl Tls {
    /// Fails if a file can't be read, and names it. Engines open files late, and don't name them.
    pub(crate) fn check(&self) -> Result<(), OpenError> {
        for file in [&self.authority, &self.certificate, &self.key] {
            File::open(file)
                .map_err(|error| OpenError::Engine(format!("{}: {error}", file.display())))?;
        }
        Ok(())
    }
}

/// A program's place in the network: the lanes of this program use its connections. Clones are the
/// same node.
///
/// A lane is between a node that listens and the nodes that connect to it. Nothing is relayed: two nodes
/// that connect to the same listener don't reach each other.
#[derive(Debug, Clone)]
pub struct Node {
    engine: Arc<Engine>,
}

impl Node {
    /// Waits for other nodes at this address: `127.0.0.1:7447` for programs of this machine,
    /// `0.0.0.0:7447` for those of others. With port 0, the system chooses one: see
    /// [`address`](Self::address).
    ///
    /// # Errors
    ///
    /// [`OpenError::Address`] if it isn't one of this machine, or is taken.
    pub fn listen(address: &str) -> Result<Self, OpenError> {
        Self::open(address, true)
    }

    /// Connects to a node that listens at this address: now, if it is there, or as soon as it is,
    /// and again whenever the connection breaks. This node listens nowhere.
    ///
    /// # Errors
    ///
    /// [`OpenError::Address`] if it isn't an address, or if its host isn't known. A host that is known need
    /// not be there.
    pub fn connect(address: &str) -> Result<Self, OpenError> {
        Self::open(address, false)
    }

    /// As [`listen`](Self::listen), for nodes that show a certificate.
    ///
    /// # Errors
    ///
    /// As [`listen`](Self::listen), also if a file is missing or damaged.
    #[cfg(feature = "tls")]
    pub fn listen_tls(address: &str, tls: &Tls) -> Result<Self, OpenError> {
        Ok(Self { engine: Arc::new(Engine::open(address, true, Some(tls), false)?) })
    }

    /// As [`connect`](Self::connect), to a node whose certificate is for this host.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect), also if a file is missing or damaged.
    #[cfg(feature = "tls")]
    pub fn connect_tls(address: &str, tls: &Tls) -> Result<Self, OpenError> {
        Ok(Self { engine: Arc::new(Engine::open(address, false, Some(tls), false)?) })
    }

    /// As [`listen`](Self::listen). Large packets to nodes of this machine that are opened by
    /// [`connect_shm`](Self::connect_shm), in programs of the same user, go through memory. All others
    /// go through the connection. With feature `shared-memory`.
    ///
    /// A program that sends has 4 MiB, whose pages are locked. Each of its receivers locks as many, and
    /// 1.25 MiB more, until it ends. Usually a program may lock 8 MiB (`ulimit -l`): enough for one such
    /// sender. Where the memory is full or refused, packets go through the connection.
    ///
    /// As long as a record that was received as `Bytes` is there, so is its packet of up to 480 KiB. What
    /// was on its way to a receiver that was killed, or whose connection broke, is lost until the sending
    /// program ends. What programs leave in `/dev/shm` is removed when the next one opens such a node.
    ///
    /// The engine raises the process's limit of open files, and refuses more than about 350 such nodes.
    ///
    /// If no program runs on another machine, [`corelane::shm`] is faster.
    ///
    /// ```
    /// # use corelane_net::Node;
    /// let here = Node::listen_shm("127.0.0.1:0")?;
    /// let there = Node::connect_shm(here.address())?;
    /// # Ok::<(), corelane_net::OpenError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`listen`](Self::listen), also if the system gives no memory.
    #[cfg(feature = "shared-memory")]
    pub fn listen_shm(address: &str) -> Result<Self, OpenError> {
        Ok(Self { engine: Arc::new(Engine::open(address, true, None, true)?) })
    }

    /// As [`connect`](Self::connect), to a node opened by [`listen_shm`](Self::listen_shm).
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect), also if the system gives no memory.
    #[cfg(feature = "shared-memory")]
    pub fn connect_shm(address: &str) -> Result<Self, OpenError> {
        Ok(Self { engine: Arc::new(Engine::open(address, false, None, true)?) })
    }

    fn open(address: &str, listens: bool) -> Result<Self, OpenError> {
        Ok(Self { engine: Arc::new(Engine::open(address, listens, None, false)?) })
    }

    /// Where this node listens, with the port that it has, or the address that it connects to.
    ///
    /// ```
    /// # use corelane_net::Node;
    /// let here = Node::listen("127.0.0.1:0")?;
    /// assert!(!here.address().ends_with(":0"));
    /// let there = Node::connect(here.address())?;
    /// # Ok::<(), corelane_net::OpenError>(())
    /// ```
    pub fn address(&self) -> &str {
        self.engine.address()
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
        Lane::new(self.engine.clone(), name)
    }
}
