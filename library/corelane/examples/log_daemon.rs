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
    use std::io::Write;
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    use corelane::shm::{Lane, Listener, RecordConsumer};

    /// Longest line in bytes.
    const LONGEST: usize = 1000;

    /// Another process: it writes some lines into the lane's memory, and crashes.
    pub(super) fn crash(name: &str) -> Result<(), Box<dyn Error>> {
        let mut log = Lane::<[u8]>::connect(name)?.producer()?;
        for n in 1..=5 {
            let mut line = log.claim(LONGEST)?;
            write!(line, "line {n} of process {}", std::process::id())?;
            line.commit_written();
        }
        std::process::abort()
    }

    /// Prints the lines of a process until it ends, and returns their number.
    fn print(mut lines: RecordConsumer) -> usize {
        // A process may crash before it has its side: then no line and no end ever comes.
        let (mut count, mut patience) = (0, Duration::from_secs(5));
        while let Ok(line) = lines.pop_timeout(patience) {
            println!("{}", String::from_utf8_lossy(&line));
            (count, patience) = (count + 1, Duration::MAX);
        }
        println!("its process {:?}", lines.peer());
        count
    }

    pub(super) fn keep() -> Result<(), Box<dyn Error>> {
        let name = format!("log {}", std::process::id());
        let listener = Listener::bind(&name)?;
        let mut threads = Vec::new();
        for _ in 0..3 {
            let mut process = Command::new(std::env::current_exe()?).arg(&name).spawn()?;
            let lane = Lane::<[u8]>::create(1 << 16)?;
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
