//! A program's place in the network.

use std::sync::Arc;

use crate::codec::{Codec, Plain, Records};
use crate::engine::Engine;
use crate::error::OpenError;
use crate::lane::Lane;

/// A program's place in the network: the lanes of this program use its connections. Clones are the
/// same node.
#[derive(Debug, Clone)]
pub struct Node {
    engine: Arc<Engine>,
}

impl Node {
    /// Waits for other nodes at this address: `127.0.0.1:7447` for programs of this machine,
    /// `0.0.0.0:7447` for those of others.
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
    /// [`OpenError::Address`] if it isn't an address.
    pub fn connect(address: &str) -> Result<Self, OpenError> {
        Self::open(address, false)
    }

    fn open(address: &str, listens: bool) -> Result<Self, OpenError> {
        Ok(Self { engine: Arc::new(Engine::open(address, listens)?) })
    }

    /// A lane of plain items: numbers, or types of yours with zerocopy's derives.
    pub fn lane<T>(&self, name: &str) -> Lane<T>
    where
        Plain: Codec<T>,
    {
        self.lane_by(name)
    }

    /// A lane of byte records.
    pub fn records(&self, name: &str) -> Lane<Vec<u8>, Records> {
        self.lane_by(name)
    }

    /// A lane of items that become bytes by the codec `C`.
    pub fn lane_by<T, C: Codec<T>>(&self, name: &str) -> Lane<T, C> {
        Lane::new(self.engine.clone(), name)
    }
}
