//! Processes that say numbers, and are killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Tells the parent a number.
pub fn say(number: u64) {
    let mut out = std::io::stdout().lock();
    // The parent may have gone.
    if writeln!(out, "{number}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// A process of this program, and what it says.
pub struct Process {
    child: Child,
    pub said: Receiver<u64>,
}

impl Process {
    pub fn start(arguments: &[&str]) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut child =
            Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tx, said) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let Ok(number) = line.parse() else { break }; // the last line, in part
                let _ = tx.send(number);
            }
        });
        Self { child, said }
    }

    /// Waits for its end. Returns what it has said since it was asked last.
    #[allow(dead_code)] // not all tests wait
    pub fn end(&mut self) -> Vec<u64> {
        self.child.wait().unwrap();
        self.said.iter().collect()
    }

    /// Sends it a signal, such as `STOP`.
    #[allow(dead_code)]
    pub fn signal(&self, name: &str) {
        let (signal, id) = (format!("-{name}"), self.child.id().to_string());
        assert!(Command::new("kill").args([signal, id]).status().unwrap().success());
    }

    /// Kills it. Returns what it has said since it was asked last.
    pub fn kill(&mut self) -> Vec<u64> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.said.iter().collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
