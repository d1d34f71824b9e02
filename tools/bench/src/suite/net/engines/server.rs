//! The NATS server that the suite starts, with a store of its own that it syncs at each message.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs};

use async_nats::Client;

use super::text;
use crate::suite::net::NET_END;
use crate::suite::net::ends::{End, Side, Task};
use crate::suite::net::place::Place;

const PROGRAM: &str = "nats-server";
/// The longest time in which it starts.
pub(super) const START: Duration = Duration::from_secs(10);

/// A server. Its drop kills it, and removes its store.
pub(in crate::suite::net) struct Server {
    child: Child,
    folder: PathBuf,
    /// What the end that becomes the server is told.
    end: String,
}

impl Server {
    /// Starts it on the receiver's side.
    pub(in crate::suite::net) fn start(place: &Place, address: &str) -> Result<Self, String> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("corelane-nats-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).map_err(text)?;
        let config = folder.join("server.conf");
        fs::write(&config, settings(address, &folder.join("store"))).map_err(text)?;
        // The end becomes the server, and dies with this process.
        let task = Task::Serve { config };
        let end = End { queue: PROGRAM.into(), record_bytes: 0, address: address.into(), task };
        let end = serde_json::to_string(&end).map_err(text)?;
        Ok(Self { child: spawn(place, &end)?, folder, end })
    }

    /// Kills it, and starts it anew with its store.
    pub(in crate::suite::net) fn kill_and_start(&mut self, place: &Place) -> Result<(), String> {
        self.kill();
        self.child = spawn(place, &self.end)?;
        Ok(())
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(place: &Place, end: &str) -> Result<Child, String> {
    let mut command = place.command(Side::Receiver).map_err(text)?;
    command.args([NET_END, end]).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().map_err(text)
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn settings(address: &str, store: &Path) -> String {
    format!("listen: \"{address}\"\njetstream {{ store_dir: {store:?}, sync_interval: always }}\n")
}

/// Turns this process into a server. Returns why it could not.
pub(in crate::suite::net) fn become_one(config: &Path) -> String {
    match find() {
        Ok(program) => Command::new(program).arg("--config").arg(config).exec().to_string(),
        Err(why) => why,
    }
}

/// Where the program is: on the path, or where `go install` puts it.
pub(in crate::suite::net) fn find() -> Result<PathBuf, String> {
    static FOUND: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        let go = Command::new("go").args(["env", "GOPATH"]).output().ok();
        let go = go.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let go = go.filter(|path| !path.is_empty()).map(PathBuf::from);
        let go = go.or_else(|| env::home_dir().map(|home| home.join("go")));
        let go = go.map(|path| path.join("bin"));
        env::split_paths(&path).chain(go).map(|path| path.join(PROGRAM)).find(|path| path.is_file())
    });
    FOUND.clone().ok_or_else(|| {
        "there is no nats-server: go install github.com/nats-io/nats-server/v2@v2.15.3".into()
    })
}

/// Connects to the server, which may just start.
pub(super) async fn connect(address: &str) -> Result<Client, String> {
    let begin = Instant::now();
    loop {
        match async_nats::connect(address).await {
            Ok(client) => return Ok(client),
            Err(error) if begin.elapsed() > START => {
                return Err(format!("the server at {address} doesn't answer: {error}"));
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
