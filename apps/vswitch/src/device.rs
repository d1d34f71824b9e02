//! Ports that are network devices: TAP devices and interfaces, also in other network namespaces.
//!
//! The switch's thread reads and writes a device itself ([`DevicePort`]), or two threads do, which
//! have the other ends of the port's rings ([`Device::start`]). No call waits for the device, so no
//! program behind it can stop the switch.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use corelane::spsc;
use corelane_report::Failure;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, read, write};
use rustix::net::{RecvFlags, recv};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use rustix::time::Timespec;
use vswitch_core::{Buffers, Frame, Port};

use crate::port::{Next, RingClient, Sleepy};
use crate::ring::{Receiving, Sending};

/// Longest packet: jumbo frames; and what the kernel gives if it leaves segmentation to devices.
const LONGEST: usize = 10_240;
const LONGEST_OFFLOADED: usize = 65_600 + AHEAD;
/// The header with which the kernel says what a device has to do: `virtio_net_hdr`.
const AHEAD: usize = 10;
/// Packets that are read or written together.
const BATCH: usize = 64;
/// Buffers that go back from the writing to the reading thread.
const RETURNED: usize = 256;

const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0;
const TUNSETVNETHDRSZ: libc::Ioctl = 0x4004_54d8;
/// Checksums, and TCP segmentation with IPv4, IPv6, and congestion notification.
const OFFLOADS: libc::c_ulong = 0x01 | 0x02 | 0x04 | 0x08;

/// A device by name, and its network namespace: `NAME` or `NAME@NAMESPACE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceName {
    name: String,
    namespace: Option<String>,
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, namespace) = match text.split_once('@') {
            Some((name, namespace)) => (name, Some(namespace.to_owned())),
            None => (text, None),
        };
        let is_name = (1..libc::IFNAMSIZ).contains(&name.len()) && !name.contains(['/', ' ']);
        let is_space =
            namespace.as_ref().is_none_or(|space| !space.is_empty() && !space.contains('/'));
        if !is_name || !is_space {
            return Err(format!(
                "{text} is no device; give a name of up to 15 letters, or NAME@NAMESPACE"
            ));
        }
        Ok(Self { name: name.into(), namespace })
    }
}

impl std::fmt::Display for DeviceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{}@{namespace}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A TAP device, which is made if there is none.
    Tap,
    /// An interface: all its packets, through AF_PACKET.
    Interface,
}

/// An open device.
#[derive(Debug)]
pub struct Device {
    file: OwnedFd,
    kind: Kind,
    /// Bytes in front of each packet.
    ahead: usize,
    longest: usize,
}

impl Device {
    /// Opens a device. With `offload`, the kernel leaves checksums and segmentation to the device
    /// that a packet leaves by: packets have up to 64 KiB. Then all ports must be devices.
    ///
    /// # Errors
    ///
    /// If there is no such device or namespace, or this user may not use it.
    pub fn open(name: &DeviceName, kind: Kind, offload: bool) -> Result<Self, Failure> {
        // A thread of its own may go to another namespace.
        let opened = thread::scope(|scope| {
            scope.spawn(|| open(name, kind, offload)).join().expect("it does not panic")
        });
        let file = opened.map_err(|error| refused(name, kind, &error))?;
        let (ahead, longest) = match offload {
            true => (AHEAD, LONGEST_OFFLOADED),
            false => (0, LONGEST),
        };
        Ok(Self { file, kind, ahead, longest })
    }

    /// Reads a packet into the frame. `false` if there is a packet, but the frame has no room for
    /// it: it is dropped.
    fn read(&self, frame: &mut Frame) -> Result<bool, Errno> {
        let bytes = frame.bytes_mut().expect("it has one owner");
        let room = bytes.len();
        let len = match self.kind {
            Kind::Tap => read(&self.file, bytes)?,
            Kind::Interface => recv(&self.file, bytes, RecvFlags::TRUNC)?.1,
        };
        frame.set_len(len.min(room));
        frame.set_ahead(self.ahead);
        Ok(len <= room)
    }

    /// Starts the threads of the port. They end with the process, or when the port is closed.
    ///
    /// # Errors
    ///
    /// If the system gives no thread.
    pub fn start(self, RingClient { tx, rx, .. }: RingClient) -> io::Result<()> {
        let (returning, returned) = spsc::queue(RETURNED).map_err(io::Error::other)?;
        let reading = Self { file: self.file.try_clone()?, ..self };
        let file = self.file;
        let named = |name: &str| thread::Builder::new().name(name.into());
        named("read").spawn(move || receive(&reading, tx, returned))?;
        named("write").spawn(move || send(&file, rx, returning))?;
        Ok(())
    }
}

/// A device that the switch's thread reads and writes itself: a packet needs no other thread.
#[derive(Debug)]
pub struct DevicePort {
    device: Device,
    buffers: Buffers,
    /// Whether packets may be there.
    is_ready: bool,
    /// Whether the device was deleted.
    is_gone: bool,
}

impl From<Device> for DevicePort {
    fn from(device: Device) -> Self {
        Self { buffers: Buffers::new(device.longest), device, is_ready: true, is_gone: false }
    }
}

impl Port for DevicePort {
    type Packet = Frame;

    fn pull(&mut self, most: usize, into: &mut Vec<Frame>) {
        for _ in 0..most {
            if !self.is_ready {
                break;
            }
            let mut frame = self.buffers.take();
            match self.device.read(&mut frame) {
                Ok(true) => into.push(frame),
                Ok(false) => self.buffers.put(frame),
                Err(error) => {
                    self.buffers.put(frame);
                    self.is_ready = error == Errno::INTR;
                    self.is_gone = is_gone(error);
                }
            }
        }
    }

    fn push(&mut self, from: &mut VecDeque<Frame>) {
        while let Some(frame) = from.pop_front() {
            match write(&self.device.file, &frame) {
                Err(Errno::AGAIN | Errno::NOBUFS) => return from.push_front(frame),
                // Any other error is the device's: it is down, or the packet is too long for it.
                _ => self.buffers.put(frame),
            }
        }
    }
}

/// Whether an error of a read says that the device was deleted, and not only that it is down or has
/// no packet.
fn is_gone(error: Errno) -> bool {
    !matches!(error, Errno::AGAIN | Errno::INTR | Errno::NETDOWN)
}

impl Sleepy for DevicePort {
    fn next(&mut self) -> Next<'_> {
        Next::File(self.device.file.as_fd())
    }

    fn is_gone(&mut self) -> bool {
        self.is_gone
    }

    fn has_file(&self) -> bool {
        true
    }

    fn set_ready(&mut self) {
        self.is_ready = true;
    }
}

/// What a refusal means, in a line.
fn refused(name: &DeviceName, kind: Kind, error: &io::Error) -> Failure {
    let why = match (error.raw_os_error(), kind) {
        (Some(libc::EPERM | libc::EACCES), _) if name.namespace.is_some() => {
            "another namespace needs CAP_SYS_ADMIN: run it as root"
        }
        (Some(libc::EPERM | libc::EACCES), Kind::Tap) => {
            "this needs CAP_NET_ADMIN and /dev/net/tun: run it as root, or let root make the device for you by \
             `ip tuntap add dev NAME mode tap user USER`"
        }
        (Some(libc::EPERM | libc::EACCES), Kind::Interface) => {
            "this needs CAP_NET_RAW: run it as root"
        }
        (Some(libc::ENOENT), _) if name.namespace.is_some() => {
            "there is no such namespace, or no /dev/net/tun; `ip netns list` has all"
        }
        (Some(libc::ENOENT), Kind::Tap) => "there is no /dev/net/tun: `modprobe tun` makes it",
        (Some(libc::ENODEV), _) => "there is no such interface; `ip link` has all",
        (Some(libc::EBUSY), _) => "another program has it",
        _ => "",
    };
    let separator = if why.is_empty() { "" } else { "; " };
    Failure::Usage(format!("can't open {name}: {error}{separator}{why}"))
}

fn open(name: &DeviceName, kind: Kind, offload: bool) -> io::Result<OwnedFd> {
    if let Some(namespace) = &name.namespace {
        let file = File::open(format!("/run/netns/{namespace}"))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
    }
    match kind {
        Kind::Tap => open_tap(&name.name, offload),
        Kind::Interface => open_interface(&name.name, offload),
    }
}

/// A request for the device of this name.
fn request(name: &str, flags: i32) -> libc::ifreq {
    let union = libc::__c_anonymous_ifr_ifru { ifru_flags: flags as libc::c_short };
    let mut request = libc::ifreq { ifr_name: [0; libc::IFNAMSIZ], ifr_ifru: union };
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

fn open_tap(name: &str, offload: bool) -> io::Result<OwnedFd> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    let file = OwnedFd::from(options.open("/dev/net/tun")?);
    let header = if offload { libc::IFF_VNET_HDR } else { 0 };
    let mut request = request(name, libc::IFF_TAP | libc::IFF_NO_PI | header);
    // SAFETY: the call reads an `ifreq`, and writes the device's name back.
    check(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &raw mut request) })?;
    // A device may have other settings from the program that had it last.
    if offload {
        let mut size = AHEAD as libc::c_int;
        // SAFETY: the call reads a number.
        check(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETVNETHDRSZ, &raw mut size) })?;
    }
    let offloads = if offload { OFFLOADS } else { 0 };
    // SAFETY: the call takes a number.
    check(unsafe { libc::ioctl(file.as_raw_fd(), TUNSETOFFLOAD, offloads) })?;
    Ok(file)
}

fn open_interface(name: &str, offload: bool) -> io::Result<OwnedFd> {
    let all = (libc::ETH_P_ALL as u16).to_be();
    // Without a protocol it gets no packets of other interfaces before it is bound.
    let flags = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes numbers.
    let socket = check(unsafe { libc::socket(libc::AF_PACKET, flags, 0) })?;
    // SAFETY: it is open, and this is its only owner.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let text = std::ffi::CString::new(name)?;
    // SAFETY: the call reads a string.
    let index = unsafe { libc::if_nametoindex(text.as_ptr()) };
    if index == 0 {
        return Err(Errno::NODEV.into());
    }
    let set = |option: libc::c_int, value: *const libc::c_void, len: usize| {
        // SAFETY: the call reads `len` bytes.
        check(unsafe {
            libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, value, len as u32)
        })
    };
    let on: libc::c_int = 1;
    if offload {
        set(libc::PACKET_VNET_HDR, (&raw const on).cast(), size_of_val(&on))?;
    }
    // What this program sends doesn't come back.
    set(libc::PACKET_IGNORE_OUTGOING, (&raw const on).cast(), size_of_val(&on))?;
    let promiscuous = libc::packet_mreq {
        mr_ifindex: index as i32,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(libc::PACKET_ADD_MEMBERSHIP, (&raw const promiscuous).cast(), size_of_val(&promiscuous))?;
    // SAFETY: zeros are such an address.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = all;
    address.sll_ifindex = index as i32;
    let len = size_of_val(&address) as u32;
    // SAFETY: the call reads `len` bytes.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
    Ok(socket)
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// From the device to the switch, until the port is closed or the device is deleted.
fn receive(device: &Device, mut tx: Sending, mut returned: spsc::Consumer<Frame>) {
    let mut buffers = Buffers::new(device.longest);
    let mut frames = Vec::with_capacity(BATCH);
    while !tx.is_closed() {
        // Frames of other ports come back, too.
        returned.pop_iter().take(BATCH).for_each(|frame| buffers.put(frame));
        let mut end = None;
        while frames.len() < BATCH && end.is_none() {
            let mut frame = buffers.take();
            match device.read(&mut frame) {
                Ok(true) => frames.push(frame),
                Ok(false) => buffers.put(frame),
                Err(error) => {
                    buffers.put(frame);
                    end = Some(error).filter(|error| *error != Errno::INTR);
                }
            }
        }
        if !frames.is_empty() {
            if tx.push_all(frames.drain(..)).is_err() {
                return;
            }
            tx.flush();
        } else if end.is_some_and(is_gone) {
            return;
        } else {
            wait(&device.file, PollFlags::IN);
        }
    }
}

/// From the switch to the device, until the port is closed.
fn send(file: &OwnedFd, mut rx: Receiving, mut returning: spsc::Producer<Frame>) {
    let mut frames = Vec::with_capacity(BATCH);
    while rx.pop_many(&mut frames, BATCH) > 0 {
        for mut frame in frames.drain(..) {
            loop {
                match write(file, &frame) {
                    Err(Errno::AGAIN | Errno::INTR) => wait(file, PollFlags::OUT),
                    // A queue of the system is full, of which `poll` doesn't know.
                    Err(Errno::NOBUFS) => thread::sleep(Duration::from_millis(1)),
                    // Any other error is the device's: it is down, or the packet is too long.
                    _ => break,
                }
                if rx.is_closed() {
                    return;
                }
            }
            if frame.bytes_mut().is_some() {
                let _ = returning.try_push(frame);
            }
        }
    }
}

/// Waits for the device, for a moment at most.
fn wait(file: &OwnedFd, what: PollFlags) {
    let moment = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    // The caller tries again, also after an error.
    let _ = poll(&mut [PollFd::new(file, what)], Some(&moment));
}
