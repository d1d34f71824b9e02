//! Devices in network namespaces: a file goes through, and its hash is checked.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Bytes of the file.
const BYTES: usize = 20_000_000;
/// Datagrams, if the environment variable `VSWITCH_PACKETS` gives no other number.
const DATAGRAMS: u32 = 20_000;
/// Datagrams under way: so few that no socket's buffer overflows.
const WINDOW: u32 = 64;

/// Namespaces with a device each, which are removed in the end.
struct Spaces {
    names: Vec<String>,
    /// The options of the switch's ports.
    ports: Vec<String>,
}

/// Where the switch's ends of pairs of interfaces are.
const SWITCH: &str = "switch";

impl Spaces {
    /// So many namespaces with TAP devices, or with interfaces whose other ends are in one more
    /// namespace. `None` if this user can't make them.
    fn new(test: &str, count: usize, has_taps: bool) -> Option<Self> {
        let id = std::process::id();
        let name = |number: usize| format!("vs-{test}-{id}-{number}");
        let mut spaces = Self { names: (0..count).map(name).collect(), ports: Vec::new() };
        let between = format!("vs-{test}-{id}-{SWITCH}");
        if !has_taps {
            spaces.names.push(between.clone());
        }
        if !spaces.names.iter().all(|name| ip(&format!("netns add {name}"))) {
            eprintln!("left out: network namespaces need root and iproute2");
            return None;
        }
        for (number, name) in spaces.names[..count].iter().enumerate() {
            let (device, port) = if has_taps {
                let tap = format!("-n {name} tuntap add dev eth0 mode tap");
                (tap, ["--tap".into(), format!("eth0@{name}")])
            } else {
                let pair = format!(
                    "link add p{number} netns {between} type veth peer name eth0 netns {name}"
                );
                (pair, ["--interface".into(), format!("p{number}@{between}")])
            };
            if !ip(&device) {
                eprintln!("left out: there is no /dev/net/tun, or no pairs of interfaces");
                return None;
            }
            spaces.ports.extend(port);
            assert!(ip(&format!("-n {name} address add 10.98.0.{}/24 dev eth0", number + 1)));
            assert!(
                ip(&format!("-n {name} link set eth0 up"))
                    && ip(&format!("-n {name} link set lo up"))
            );
            assert!(has_taps || ip(&format!("-n {between} link set p{number} up")));
        }
        Some(spaces)
    }

    /// Runs `run` in a thread that is in a namespace.
    fn within<R: Send>(&self, number: usize, run: impl FnOnce() -> R + Send) -> R {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let file =
                    File::open(format!("/run/netns/{}", self.names[number])).expect("it exists");
                move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                    .expect("root may");
                run()
            });
            thread.join().expect("it does not panic")
        })
    }

    /// The switch between all namespaces.
    fn switch(&self, args: &str) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vswitch"));
        command.args(&self.ports).args(args.split_whitespace());
        let switch = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let switch = Ended(switch.expect("it can be started"));
        // Until it forwards.
        let begin = Instant::now();
        while !self.within(0, || ping("10.98.0.2")) {
            assert!(begin.elapsed() < Duration::from_secs(20), "the switch does not forward");
        }
        switch
    }
}

impl Drop for Spaces {
    fn drop(&mut self) {
        for name in &self.names {
            ip(&format!("netns del {name}"));
        }
    }
}

/// A process that is killed in the end.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ip(args: &str) -> bool {
    let mut ip = Command::new("ip");
    let ip = ip.args(args.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
    ip.status().is_ok_and(|status| status.success())
}

/// Whether the other side answers a datagram to a closed port, by refusing it.
fn ping(address: &str) -> bool {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a time");
    socket.connect((address, 9)).is_ok()
        && socket.send(&[1]).is_ok()
        && matches!(socket.recv(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused)
}

/// Sends a file from one namespace to another, and compares the hashes.
fn send_file(spaces: &Spaces, from: usize, to: usize) {
    let listener = spaces.within(to, || TcpListener::bind("0.0.0.0:5001").expect("a free port"));
    let receives = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let (mut hash, mut bytes, mut buffer) = (DefaultHasher::new(), 0, vec![0; 1 << 16]);
        loop {
            match stream.read(&mut buffer).expect("it is open") {
                0 => return (hash.finish(), bytes),
                len => {
                    hash.write(&buffer[..len]);
                    bytes += len;
                }
            }
        }
    });
    let sent = spaces.within(from, || {
        let mut stream =
            TcpStream::connect(format!("10.98.0.{}:5001", to + 1)).expect("a listener");
        let (mut hash, mut word) = (DefaultHasher::new(), 1_u64);
        let mut block = vec![0; 1 << 16];
        let mut left = BYTES;
        while left > 0 {
            block.chunks_exact_mut(8).for_each(|chunk| {
                word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                chunk.copy_from_slice(&word.to_le_bytes());
            });
            let len = left.min(block.len());
            stream.write_all(&block[..len]).expect("it is open");
            hash.write(&block[..len]);
            left -= len;
        }
        hash.finish()
    });
    // The hasher takes the same bytes in other parts, which makes no difference to it.
    assert_eq!(receives.join().expect("it does not panic"), (sent, BYTES));
}

/// Numbered datagrams, of which none is lost or comes out of order.
fn send_datagrams(spaces: &Spaces) {
    let count = std::env::var("VSWITCH_PACKETS").ok().and_then(|text| text.parse().ok());
    let count: u32 = count.unwrap_or(DATAGRAMS);
    let socket = spaces.within(1, || UdpSocket::bind("0.0.0.0:5002").expect("a free port"));
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time");
    let receives = thread::spawn(move || {
        for expected in 0..count {
            let mut bytes = [0; 4];
            let (_, from) = socket.recv_from(&mut bytes).expect("none is lost");
            assert_eq!(u32::from_le_bytes(bytes), expected, "out of order");
            if (expected + 1).is_multiple_of(WINDOW) {
                socket.send_to(&[1], from).expect("it is there");
            }
        }
    });
    spaces.within(0, || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        socket.connect("10.98.0.2:5002").expect("an address");
        socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time");
        for number in 0..count {
            socket.send(&number.to_le_bytes()).expect("there is room");
            if (number + 1).is_multiple_of(WINDOW) {
                socket.recv(&mut [0]).expect("an answer");
            }
        }
    });
    receives.join().expect("all have come");
}

fn check(test: &str, has_taps: bool, args: &str) {
    let Some(spaces) = Spaces::new(test, 3, has_taps) else { return };
    let _switch = spaces.switch(args);
    send_file(&spaces, 0, 1);
    send_file(&spaces, 1, 2);
    send_datagrams(&spaces);
}

#[test]
fn a_file_goes_from_namespace_to_namespace() {
    check("one", true, "--overflow wait");
}

#[test]
fn a_file_goes_through_threads_and_without_offload() {
    check("two", true, "--overflow wait --device-threads --no-offload --queue bqueue");
}

#[test]
fn a_file_goes_through_interfaces() {
    check("three", false, "--overflow wait");
}
