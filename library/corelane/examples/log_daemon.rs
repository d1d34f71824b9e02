//! A daemon that keeps the log of other processes, also what they wrote just before they crashed.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1) {
        Some(name) => log::crash(&name),
        None => log::keep(),
    }
}

#[cfg(target_os = "linux")]
mod log {
    use std::error::Error;
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    use corelane::shm::{Consumer, Lane, Listener};

    /// A line of text: its length, and its bytes.
    type Line = [u8; 64];

    fn line(text: &str) -> Line {
        let mut line = [0; 64];
        let text = &text.as_bytes()[..text.len().min(63)];
        line[0] = text.len() as u8;
        line[1..][..text.len()].copy_from_slice(text);
        line
    }

    /// Another process: it writes some lines and crashes.
    pub(super) fn crash(name: &str) -> Result<(), Box<dyn Error>> {
        let mut log = Lane::<Line>::connect(name)?.producer()?;
        for n in 1..=5 {
            log.push(line(&format!("line {n} of process {}", std::process::id())))?;
        }
        std::process::abort()
    }

    /// Prints the lines of a process until it ends, and returns their number.
    fn print(mut lines: Consumer<Line>) -> usize {
        let print = |line: Line| {
            println!("{}", String::from_utf8_lossy(&line[1..][..line[0].min(63) as usize]))
        };
        // A process may crash before it has its side: then no line and no end ever comes.
        let first = lines.pop_timeout(Duration::from_secs(5)).ok();
        let count = first.into_iter().chain(lines.iter()).map(print).count();
        println!("its process {:?}", lines.peer());
        count
    }

    pub(super) fn keep() -> Result<(), Box<dyn Error>> {
        let name = format!("log {}", std::process::id());
        let listener = Listener::bind(&name)?;
        let mut threads = Vec::new();
        for _ in 0..3 {
            let mut process = Command::new(std::env::current_exe()?).arg(&name).spawn()?;
            let lane = Lane::create(256)?;
            let lines = lane.consumer()?;
            listener.hand_out(&lane)?;
            threads.push(thread::spawn(|| print(lines)));
            process.wait()?;
        }
        for thread in threads {
            assert_eq!(thread.join().expect("it only prints"), 5);
        }
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
