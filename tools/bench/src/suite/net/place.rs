//! Where both ends are: on this machine, or in two network namespaces.

use std::io;
use std::net::TcpListener;
use std::process::{self, Command};

use super::ends::Side;

/// Where both ends are.
#[derive(Debug)]
pub(super) enum Place {
    Loopback,
    Namespaces(Namespaces),
}

impl Place {
    /// This program, on a side.
    pub(super) fn command(&self, side: Side) -> io::Result<Command> {
        let program = std::env::current_exe()?;
        let Self::Namespaces(namespaces) = self else { return Ok(Command::new(program)) };
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &namespaces.name(side)]).arg(program);
        Ok(command)
    }

    /// An address that is free, on the receiver's side.
    pub(super) fn address(&self) -> Result<String, String> {
        // A port that is free here is free in an empty namespace, too.
        let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let port = port.map_err(|error| error.to_string())?.port();
        Ok(match self {
            Self::Loopback => format!("127.0.0.1:{port}"),
            Self::Namespaces(_) => format!("{RECEIVER}:{port}"),
        })
    }
}

/// The addresses of both ends of the link.
const SENDER: &str = "10.203.0.1";
const RECEIVER: &str = "10.203.0.2";

/// The interface in each namespace.
const LINK: &str = "lane0";

/// Two network namespaces with a link. Their drop removes them.
#[derive(Debug)]
pub(super) struct Namespaces {
    /// Before the names of both.
    prefix: String,
}

impl Namespaces {
    /// Makes them, with a link that carries `rate` in each direction.
    pub(super) fn new(rate: &str) -> Result<Self, String> {
        remove_left_behind();
        // From here on its drop removes what is there.
        let new = Self { prefix: format!("{PREFIX}{}-", process::id()) };
        let (sender, receiver) = (new.name(Side::Sender), new.name(Side::Receiver));
        ip(&["netns", "add", &sender])?;
        ip(&["netns", "add", &receiver])?;
        let veth = ["-n", &sender, "link", "add", LINK, "type", "veth"];
        ip(&[&veth[..], &["peer", "name", LINK, "netns", &receiver]].concat())?;
        for (side, address) in [(sender, SENDER), (receiver, RECEIVER)] {
            ip(&["-n", &side, "address", "add", &format!("{address}/30"), "dev", LINK])?;
            ip(&["-n", &side, "link", "set", "lo", "up"])?;
            ip(&["-n", &side, "link", "set", LINK, "up"])?;
            let limit = ["rate", rate, "burst", "256kb", "latency", "20ms"];
            let qdisc = ["-n", &side, "qdisc", "add", "dev", LINK, "root", "tbf"];
            run("tc", &[&qdisc[..], &limit].concat())?;
        }
        Ok(new)
    }

    fn name(&self, side: Side) -> String {
        let side = if side == Side::Sender { "sender" } else { "receiver" };
        format!("{}{side}", self.prefix)
    }

    /// Takes the link down, or up again.
    pub(super) fn set_link(&self, is_up: bool) -> Result<(), String> {
        let state = if is_up { "up" } else { "down" };
        ip(&["-n", &self.name(Side::Sender), "link", "set", LINK, state])
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for side in [Side::Sender, Side::Receiver] {
            // It may not have been made.
            let _ = ip(&["netns", "delete", &self.name(side)]);
        }
    }
}

const PREFIX: &str = "corelane-";

/// Removes the namespaces of programs that were killed.
fn remove_left_behind() {
    let Ok(names) = std::fs::read_dir("/run/netns") else { return };
    for name in names.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let id = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
        let is_dead = id.is_some_and(|(id, _)| !std::path::Path::new("/proc").join(id).exists());
        if is_dead {
            let _ = ip(&["netns", "delete", &name]);
        }
    }
}

fn ip(args: &[&str]) -> Result<(), String> {
    run("ip", args)
}

fn run(program: &str, args: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(args).output();
    let output = output.map_err(|error| format!("{program} does not start ({error})"))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(format!("{program} {}: {}", args.join(" "), told.lines().next().unwrap_or_default()))
}
