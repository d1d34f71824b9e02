//! A NATS server of a test.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use corelane_net::durable::Store;

const SYNCED: &str = "sync_interval: always";

/// A server with a folder of its own. It is killed when it is dropped.
pub struct Server {
    child: Child,
    folder: PathBuf,
    pub address: String,
    pub monitor: String,
}

impl Server {
    /// Starts a server that syncs all. `None` if there is no program for it, and says so.
    pub fn start(name: &str) -> Option<Self> {
        Self::start_with(name, SYNCED)
    }

    pub fn start_with(name: &str, setting: &str) -> Option<Self> {
        Self::begin(name, setting, "")
    }

    /// Starts a server that demands certificates of this authority.
    #[cfg(feature = "tls")]
    #[allow(dead_code)]
    pub fn start_tls(name: &str, tls: &corelane_net::Tls) -> Option<Self> {
        let [certificate, key, authority] =
            [&tls.certificate, &tls.key, &tls.authority].map(|file| file.display().to_string());
        let tls = format!(
            "tls {{ cert_file: {certificate:?}, key_file: {key:?}, ca_file: {authority:?}, verify: true }}\n"
        );
        Self::begin(name, SYNCED, &tls)
    }

    /// Starts a server with a setting of JetStream, and others.
    fn begin(name: &str, setting: &str, others: &str) -> Option<Self> {
        let program = program()?;
        let folder = std::env::temp_dir().join(format!("corelane-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let [address, monitor] = free();
        let config = format!(
            "listen: {address}\nhttp: {monitor}\njetstream {{ store_dir: {:?}, {setting} }}\n{others}",
            folder.display().to_string()
        );
        let mut file = std::fs::File::create(folder.join("nats.conf")).unwrap();
        file.write_all(config.as_bytes()).unwrap();
        let child = run(&program, &folder);
        let server = Self { child, folder, address, monitor };
        server.wait();
        Some(server)
    }

    #[allow(dead_code)]
    pub fn store(&self) -> Store {
        Store::at(&self.address).monitor(&self.monitor).connect().unwrap()
    }

    /// Kills the server.
    #[allow(dead_code)]
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the server anew, with what it has stored.
    #[allow(dead_code)]
    pub fn start_again(&mut self) {
        self.child = run(&program().unwrap(), &self.folder);
        self.wait();
    }

    fn wait(&self) {
        let begin = Instant::now();
        while !greets(&self.address) {
            assert!(begin.elapsed() < Duration::from_secs(20), "the server doesn't start");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether a server says its first words. It isn't enough that the port is open: between the fork and the
/// exec of a process that another thread starts, that process has the listeners of [`free`], too.
fn greets(address: &str) -> bool {
    let mut words = [0; 4];
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    stream.read_exact(&mut words).is_ok() && words == *b"INFO"
}

fn run(program: &Path, folder: &Path) -> Child {
    let mut command = Command::new(program);
    command.arg("-c").arg(folder.join("nats.conf")).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// In `PATH`, or where Go installs programs.
fn program() -> Option<PathBuf> {
    let go = Command::new("go").args(["env", "GOPATH"]).output().ok();
    let go = go.map(|go| PathBuf::from(String::from_utf8_lossy(&go.stdout).trim()).join("bin"));
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&paths).chain(go);
    let found =
        folders.find_map(|folder| Some(folder.join("nats-server")).filter(|it| it.is_file()));
    if found.is_none() {
        println!(
            "left out: durable lanes, for which a server is needed: \
             go install github.com/nats-io/nats-server/v2@v2.15.3"
        );
    }
    found
}

/// Addresses that are free.
fn free<const N: usize>() -> [String; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().to_string())
}
