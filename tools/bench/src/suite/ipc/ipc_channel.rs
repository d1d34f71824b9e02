//! `ipc-channel`: a Unix socket of packets. Its handles pass between processes only through another
//! channel.

use std::fs::{remove_dir, remove_file};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;

use ipc_channel::ipc::{
    IpcBytesReceiver, IpcBytesSender, IpcOneShotServer, IpcSender, bytes_channel,
};
use rustix::fs::{Mode, OFlags, open};
use serde::Serialize;
use serde::de::DeserializeOwned;
use zerocopy::IntoBytes;

use super::lane::text;
use super::system::{give, read, take};
use super::{IpcKernel, Link, Linked, Rx, Tx, Wanted, number, peer, record};
use crate::peers::crates::kind;

/// Sends bytes, without serde.
struct IpcChannel;

/// A handle; that of the process that measures comes from the child, with the first call.
struct Handle<H> {
    server: Option<IpcOneShotServer<H>>,
    handle: Option<H>,
}

impl<H: Serialize + DeserializeOwned> Handle<H> {
    /// A handle that the child sends, and the number of the descriptor by which the child connects.
    fn of_child(child: &mut Command) -> Result<(Self, i32), String> {
        let (server, path) = IpcOneShotServer::new().map_err(text)?;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let socket: OwnedFd = open(&path, flags, Mode::empty()).map_err(text)?;
        // With the descriptor the name can go at once: nothing is left behind.
        remove_file(&path).map_err(text)?;
        Path::new(&path).parent().map_or(Ok(()), remove_dir).map_err(text)?;
        Ok((Self { server: Some(server), handle: None }, give(socket, child)))
    }

    /// Sends a handle to the process that measures.
    fn send(handle: H, number: i32) -> Result<(), String> {
        let _socket = take(number);
        let server = IpcSender::connect(format!("/proc/self/fd/{number}")).map_err(text)?;
        server.send(handle).map_err(text)
    }

    fn get(&mut self) -> Option<&H> {
        if let Some(server) = self.server.take() {
            self.handle = server.accept().ok().map(|(_, handle)| handle);
        }
        self.handle.as_ref()
    }
}

impl<H> From<H> for Handle<H> {
    fn from(handle: H) -> Self {
        Self { server: None, handle: Some(handle) }
    }
}

impl<const W: usize> Tx<W> for Handle<IpcBytesSender> {
    fn put(&mut self, number: u64) -> bool {
        self.get().is_some_and(|tx| tx.send(record::<W>(number).as_bytes()).is_ok())
    }
}

impl<const W: usize> Rx<W> for Handle<IpcBytesReceiver> {
    fn get(&mut self) -> Option<u64> {
        number(&read::<W>(&mut &Handle::get(self)?.recv().ok()?[..])?)
    }
}

impl<const W: usize> Link<W> for IpcChannel {
    type Tx = Handle<IpcBytesSender>;
    type Rx = Handle<IpcBytesReceiver>;

    fn to_child(_: Wanted, child: &mut Command) -> Result<(Self::Tx, i32), String> {
        Handle::of_child(child)
    }

    fn from_child(_: Wanted, child: &mut Command) -> Result<(Self::Rx, i32), String> {
        Handle::of_child(child)
    }

    fn open_tx(_: Wanted, number: i32) -> Result<Self::Tx, String> {
        let (tx, rx) = bytes_channel().map_err(text)?;
        Handle::send(rx, number)?;
        Ok(tx.into())
    }

    fn open_rx(_: Wanted, number: i32) -> Result<Self::Rx, String> {
        let (tx, rx) = bytes_channel().map_err(text)?;
        Handle::send(tx, number)?;
        Ok(rx.into())
    }
}

pub(super) fn entry() -> Linked {
    let id = "ipc-channel";
    peer(id, id, kind(id), IpcKernel::each::<IpcChannel>().into())
}
