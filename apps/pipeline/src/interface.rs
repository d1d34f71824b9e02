//! Packets of a network interface, from a packet socket of Linux.

use std::fs;
use std::mem::size_of_val;
use std::os::fd::OwnedFd;
use std::ptr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use corelane_capture::Record;
use rustix::io::Errno;
use rustix::net::addr::{SocketAddrArg, SocketAddrLen, SocketAddrOpaque};
use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrAny, SocketFlags, SocketType, bind, eth, netdevice,
    recvfrom, socket_with,
};

use crate::packet::Parcel;
use crate::source::{Source, Spares};

/// Bytes of a packet that are kept: all, unless the machine joins packets to larger ones.
const MOST: usize = 1 << 16;
/// Bytes that the kernel keeps while the pipeline is busy.
const KERNEL_BUFFER: usize = 8 << 20;
/// How often the end is looked for while no packet comes.
const PATIENCE: Duration = Duration::from_millis(100);
/// The link types of captures for Ethernet, and for IP without a link layer.
const ETHERNET: u32 = 1;
const RAW_IP: u32 = 101;

/// The packets of an interface.
#[derive(Debug)]
pub struct Interface {
    socket: OwnedFd,
    link: u32,
    is_loopback: bool,
    stops: fn() -> bool,
    /// Packets are received here, because their lengths aren't known before.
    buffer: Vec<u8>,
    ahead: Option<Parcel>,
    fault: Option<Errno>,
}

impl Interface {
    /// Listens at the interface called `name`, until `stops` says so.
    ///
    /// # Errors
    ///
    /// One line that says what is wrong with the interface, or which right is missing.
    pub fn open(name: &str, stops: fn() -> bool) -> Result<Self, String> {
        let refused = |error: Errno| match error {
            Errno::PERM | Errno::ACCESS => format!(
                "can't listen at {name} without CAP_NET_RAW: run it as root, or `setcap cap_net_raw+ep` the program"
            ),
            Errno::NODEV => format!("there is no interface {name}; `ip link` lists them"),
            error => format!("can't listen at {name}: {error}"),
        };
        let (link, is_loopback) = link_type(name)?;
        let (family, kind) = (AddressFamily::PACKET, SocketType::RAW);
        // Without a protocol the socket gets nothing before it is bound.
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None).map_err(refused)?;
        let index = netdevice::name_to_index(&socket, name).map_err(refused)?;
        bind(&socket, &Address::of(index)).map_err(refused)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE)).map_err(refused)?;
        // Less memory loses packets sooner, and is no reason to stop.
        let _ = set_socket_recv_buffer_size(&socket, KERNEL_BUFFER);
        let buffer = Vec::with_capacity(MOST);
        Ok(Self { socket, link, is_loopback, stops, buffer, ahead: None, fault: None })
    }

    /// Why no more packets came, if the end is not because of `stops`.
    pub fn fault(&self) -> Option<String> {
        self.fault.map(|error| error.to_string())
    }

    /// A packet, if one comes in time.
    fn receive(
        &mut self,
        flags: RecvFlags,
        spares: &mut impl Spares,
    ) -> Result<Option<Parcel>, Errno> {
        self.buffer.clear();
        let room = rustix::buffer::spare_capacity(&mut self.buffer);
        let wire = match recvfrom(&self.socket, room, flags | RecvFlags::TRUNC) {
            Ok((_, _, Some(from))) if self.is_loopback && is_outgoing(&from) => return Ok(None),
            // The length on the wire, of which the buffer may hold less.
            Ok((_, len, _)) => len as u32,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error),
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_ns = since.as_nanos().try_into().unwrap_or(u64::MAX);
        let mut packet = spares.take().unwrap_or_default();
        packet.bytes.clear();
        packet.bytes.extend_from_slice(&self.buffer);
        packet.describe(
            &Record { at_ns: Some(at_ns), digits: 9, bytes: wire, link: self.link },
            at_ns,
        );
        Ok(Some(packet))
    }
}

impl Source for Interface {
    fn next_packet(&mut self, spares: &mut impl Spares) -> Option<Parcel> {
        while !(self.stops)() && self.fault.is_none() {
            if self.ahead.is_some() {
                return self.ahead.take();
            }
            match self.receive(RecvFlags::empty(), spares) {
                Ok(packet) => self.ahead = packet,
                Err(error) => {
                    self.fault = Some(error);
                    return None;
                }
            }
        }
        None
    }

    fn is_ready(&mut self) -> bool {
        if self.ahead.is_none() {
            match self.receive(RecvFlags::DONTWAIT, &mut ()) {
                Ok(packet) => self.ahead = packet,
                // The next packet is asked for, and is the end.
                Err(error) => self.fault = Some(error),
            }
        }
        self.ahead.is_some()
    }
}

/// What begins the packets of an interface, by the number of its hardware type; and whether it is
/// the loopback.
fn link_type(name: &str) -> Result<(u32, bool), String> {
    let path = format!("/sys/class/net/{name}/type");
    let kind = fs::read_to_string(&path).ok().filter(|_| !name.contains('/'));
    match kind.as_deref().map(str::trim) {
        Some("1") => Ok((ETHERNET, false)),
        // Its addresses are zeros.
        Some("772") => Ok((ETHERNET, true)),
        // Tunnels: PPP, IP in IP, 6in4, GRE, none.
        Some("512" | "768" | "769" | "776" | "778" | "65534") => Ok((RAW_IP, false)),
        Some(other) => Err(format!("{name} has link type {other}; choose an Ethernet interface")),
        None => Err(format!("there is no interface {name}; `ip link` lists them")),
    }
}

/// Whether a packet is on its way out. On the loopback it comes in again.
fn is_outgoing(from: &SocketAddrAny) -> bool {
    /// The kind of the packet in `sockaddr_ll`: where it is, and its value.
    const KIND_AT: usize = 10;
    const OUTGOING: u8 = 4;
    let is_kind = |address: *const SocketAddrOpaque, len: SocketAddrLen| {
        // SAFETY: the byte is within the length of the address.
        KIND_AT < len as usize && unsafe { *address.cast::<u8>().add(KIND_AT) } == OUTGOING
    };
    // SAFETY: the closure reads within the length.
    unsafe { from.with_sockaddr(is_kind) }
}

/// The address of all packets of an interface: `sockaddr_ll` of packet(7).
#[repr(C)]
struct Address {
    family: u16,
    /// In network order.
    protocol: u16,
    index: i32,
    /// Hardware and packet type, and a hardware address: not used by `bind`.
    rest: [u8; 12],
}

impl Address {
    fn of(index: u32) -> Self {
        let protocol = eth::ALL.as_raw().get() as u16;
        let family = AddressFamily::PACKET.as_raw();
        Self { family, protocol, index: index as i32, rest: [0; 12] }
    }
}

// SAFETY: the pointer is to a whole `sockaddr_ll`, which lives during the call.
unsafe impl SocketAddrArg for Address {
    unsafe fn with_sockaddr<R>(
        &self,
        f: impl FnOnce(*const SocketAddrOpaque, SocketAddrLen) -> R,
    ) -> R {
        f(ptr::from_ref(self).cast(), size_of_val(self) as SocketAddrLen)
    }
}
