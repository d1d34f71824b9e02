//! A market-data feed between processes: the publisher is killed again and again, and the subscriber goes on.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args().nth(1) {
        Some(name) => feed::publish(&name),
        None => feed::subscribe(),
    }
}

#[cfg(target_os = "linux")]
mod feed {
    use std::error::Error;
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    use corelane::shm::{Lane, Listener};
    use zerocopy::{FromBytes, Immutable, IntoBytes};

    #[derive(Clone, Copy, IntoBytes, FromBytes, Immutable)]
    #[repr(C)]
    struct Tick {
        number: u64,
        price: f64,
    }

    /// Goes on where the last publisher has stopped.
    pub(super) fn publish(name: &str) -> Result<(), Box<dyn Error>> {
        let mut tx = Lane::<Tick>::connect(name)?.producer()?;
        loop {
            let number = tx.position();
            tx.push(Tick { number, price: 100.0 + (number % 7) as f64 })?;
        }
    }

    pub(super) fn subscribe() -> Result<(), Box<dyn Error>> {
        let name = format!("feed {}", std::process::id());
        let lane = Lane::<Tick>::create(1024)?;
        let (listener, mut rx) = (Listener::bind(&name)?, lane.consumer()?);
        thread::spawn(move || while listener.hand_out(&lane).is_ok() {});

        let mut next = 0;
        for _ in 0..3 {
            let mut publisher = Command::new(std::env::current_exe()?).arg(&name).spawn()?;
            rx.wait_for_peer(Duration::from_secs(5));
            for tick in rx.iter().take(100_000) {
                assert_eq!(tick.number, next, "no tick is lost, and none comes twice");
                next += 1;
            }
            publisher.kill()?;
            publisher.wait()?;
            println!("tick {next}, and the publisher is {:?}", rx.peer());
        }
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
