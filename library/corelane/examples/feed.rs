//! A market-data feed between processes: each subscriber gets all ticks. The publisher is killed
//! again and again, and the subscribers go on.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["publish", name] => feed::publish(name),
        ["subscribe", name] => feed::subscribe(name),
        _ => feed::run(),
    }
}

#[cfg(target_os = "linux")]
mod feed {
    use std::error::Error;
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    use corelane::shm::{Broadcast, Listener};
    use zerocopy::{FromBytes, Immutable, IntoBytes};

    #[derive(Clone, Copy, IntoBytes, FromBytes, Immutable)]
    #[repr(C)]
    struct Tick {
        number: u64,
        price: f64,
    }

    /// Goes on where the last publisher has stopped.
    pub(super) fn publish(name: &str) -> Result<(), Box<dyn Error>> {
        let mut tx = Broadcast::<Tick>::connect(name)?.producer()?;
        loop {
            for _ in 0..100 {
                let number = tx.position();
                tx.push(Tick { number, price: 100.0 + (number % 7) as f64 })?;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends when no publisher has come for 0.3 seconds.
    pub(super) fn subscribe(name: &str) -> Result<(), Box<dyn Error>> {
        let mut rx = Broadcast::<Tick>::connect(name)?.consumer()?;
        let (mut ticks, mut first, mut last) = (0, None, 0);
        while rx.wait_for_peer(Duration::from_millis(300)) {
            for tick in rx.iter() {
                first.get_or_insert(tick.number);
                (ticks, last) = (ticks + 1, tick.number);
            }
        }
        println!(
            "ticks {} to {last}: {ticks} have come, {} are lost",
            first.unwrap_or(0),
            rx.lost()
        );
        Ok(())
    }

    pub(super) fn run() -> Result<(), Box<dyn Error>> {
        let name = format!("feed {}", std::process::id());
        let feed = Broadcast::<Tick>::create(1 << 16)?;
        let listener = Listener::bind(&name)?;
        thread::spawn(move || while listener.hand_out(&feed).is_ok() {});

        let start = |role: &str| Command::new(std::env::current_exe()?).args([role, &name]).spawn();
        let subscribers = [start("subscribe")?, start("subscribe")?];
        for _ in 0..3 {
            let mut publisher = start("publish")?;
            thread::sleep(Duration::from_millis(100));
            publisher.kill()?;
            publisher.wait()?;
        }
        for mut subscriber in subscribers {
            subscriber.wait()?;
        }
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
