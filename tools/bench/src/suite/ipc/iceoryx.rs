//! `iceoryx2`, which publishes and subscribes. It brings a hundred crates, so it has a feature of
//! its own.

use std::process::Command;

use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::*;
use iceoryx2::service::port_factory::publish_subscribe::PortFactory;

use super::lane::text;
use super::peers::{Ends, Try, fresh, unless_end};
use super::{IpcKernel, Link, Linked, Record, Rx, Wanted, peer};
use crate::peers::crates::kind;
use crate::suite::wait::Strategy;
use crate::threads::Wait;

/// One publisher and one subscriber, in two processes that look again and again.
struct Iceoryx;

type Service<const W: usize> = PortFactory<ipc::Service, Record<W>, ()>;

/// The service of this number, which the process that measures has chosen.
fn service<const W: usize>(
    capacity: usize,
    process: u32,
    number: i32,
) -> Result<(Node<ipc::Service>, Service<W>), String> {
    set_log_level(LogLevel::Fatal);
    let node = NodeBuilder::new().create::<ipc::Service>().map_err(text)?;
    let name = format!("lane-{process}-{number}");
    let service = node
        .service_builder(&name.as_str().try_into().map_err(text)?)
        .publish_subscribe::<Record<W>>()
        .enable_safe_overflow(false)
        .history_size(0)
        .max_publishers(1)
        .max_subscribers(1)
        .subscriber_max_borrowed_samples(1)
        .subscriber_max_buffer_size(capacity)
        .open_or_create()
        .map_err(text)?;
    Ok((node, service))
}

/// A port, dropped before what it belongs to.
struct Port<P, const W: usize> {
    port: P,
    _service: Service<W>,
    _node: Node<ipc::Service>,
}

// SAFETY: all that share the port's counters are in here, and move to another thread together.
unsafe impl<P, const W: usize> Send for Port<P, W> {}

type Publishes<const W: usize> = Port<Publisher<ipc::Service, Record<W>, ()>, W>;
type Subscribes<const W: usize> = Port<Subscriber<ipc::Service, Record<W>, ()>, W>;

fn publishes<const W: usize>(
    capacity: usize,
    process: u32,
    number: i32,
) -> Result<Ends<W, Publishes<W>>, String> {
    let (node, service) = service::<W>(capacity, process, number)?;
    let builder = service.publisher_builder().max_loaned_samples(1);
    let port = builder.backpressure_strategy(BackpressureStrategy::DiscardData).create();
    Ok(Ends(Port { port: port.map_err(text)?, _service: service, _node: node }))
}

fn subscribes<const W: usize>(
    capacity: usize,
    process: u32,
    number: i32,
) -> Result<Subscribes<W>, String> {
    let (node, service) = service::<W>(capacity, process, number)?;
    let port = service.subscriber_builder().create().map_err(text)?;
    Ok(Port { port, _service: service, _node: node })
}

impl<const W: usize> Try<W> for Publishes<W> {
    #[inline(always)]
    fn try_put(&mut self, number: u64) -> bool {
        let Ok(sample) = self.port.loan_uninit() else { return false };
        // It is delivered to nobody while there is no room.
        matches!(sample.write_payload([number; W]).send(), Ok(receivers) if receivers > 0)
    }
}

impl<const W: usize> Rx<W> for Subscribes<W> {
    #[inline(always)]
    fn get(&mut self) -> Option<u64> {
        Wait::Spin.until(|| match self.port.receive() {
            Ok(sample) => sample.map(|sample| unless_end(&*sample)),
            Err(_) => Some(None),
        })
    }
}

impl<const W: usize> Link<W> for Iceoryx {
    const STRATEGIES: &'static [Strategy] = &[Strategy::Spin];

    type Tx = Ends<W, Publishes<W>>;
    type Rx = Subscribes<W>;

    fn to_child(of: Wanted, _: &mut Command) -> Result<(Self::Tx, i32), String> {
        let number = fresh();
        Ok((publishes(of.capacity, std::process::id(), number)?, number))
    }

    fn from_child(of: Wanted, _: &mut Command) -> Result<(Self::Rx, i32), String> {
        let number = fresh();
        Ok((subscribes(of.capacity, std::process::id(), number)?, number))
    }

    fn open_tx(of: Wanted, number: i32) -> Result<Self::Tx, String> {
        publishes(of.capacity, std::os::unix::process::parent_id(), number)
    }

    fn open_rx(of: Wanted, number: i32) -> Result<Self::Rx, String> {
        subscribes(of.capacity, std::os::unix::process::parent_id(), number)
    }
}

pub(super) fn entry() -> Linked {
    let (id, name) = ("iceoryx2", "iceoryx2 publish-subscribe");
    peer(id, name, kind("iceoryx2"), IpcKernel::each::<Iceoryx>().into())
}
