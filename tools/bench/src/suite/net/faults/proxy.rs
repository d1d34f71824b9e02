//! A network that breaks: passes the bytes of connections on, unless it is told not to.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

const MILLISECOND: Duration = Duration::from_millis(1);

/// What a proxy does.
#[derive(Default)]
struct State {
    /// The two sockets of each connection.
    connections: Mutex<Vec<[TcpStream; 2]>>,
    refuses: AtomicBool,
    stalls: AtomicBool,
    /// Passes half of the next bytes on, and cuts.
    truncates: AtomicBool,
    /// Closes without a farewell.
    resets: AtomicBool,
    /// Of all bytes that come at once.
    delay_us: AtomicU64,
    has_ended: AtomicBool,
}

/// A proxy. Its drop ends its connections.
pub(super) struct Proxy {
    pub(super) address: String,
    state: Arc<State>,
}

impl Proxy {
    /// A proxy in front of an address.
    pub(super) fn to(target: String) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
        let address = listener.local_addr().map_err(|error| error.to_string())?.to_string();
        let state = Arc::<State>::default();
        let proxy = Self { address, state: Arc::clone(&state) };
        thread::spawn(move || {
            for from in listener.incoming().map_while(Result::ok) {
                if state.has_ended.load(Ordering::Relaxed) {
                    break;
                }
                if state.refuses.load(Ordering::Relaxed) {
                    continue; // closed
                }
                let to = TcpStream::connect(&target);
                let _ = to.and_then(|to| connect(&state, [from, to]));
            }
        });
        Ok(proxy)
    }

    /// Cuts all connections; with `Shutdown::Read` in the sender's direction only.
    pub(super) fn cut(&self, how: Shutdown) {
        for [from, to] in self.connections().drain(..) {
            let _ = from.shutdown(how);
            if how == Shutdown::Both {
                let _ = to.shutdown(how);
            }
        }
    }

    /// Closes all connections so that both ends see a reset.
    pub(super) fn reset(&self) {
        self.state.resets.store(true, Ordering::Relaxed);
        for ends in self.connections().drain(..) {
            for end in ends {
                let _ = set_socket_linger(&end, Some(Duration::ZERO));
                // Its threads see the end, and close it.
                let _ = end.shutdown(Shutdown::Read);
            }
        }
    }

    /// Passes half of the next bytes on, and cuts.
    pub(super) fn truncate(&self) {
        self.state.truncates.store(true, Ordering::Relaxed);
    }

    /// Passes nothing on, or goes on.
    pub(super) fn stall(&self, stalls: bool) {
        self.state.stalls.store(stalls, Ordering::Relaxed);
    }

    /// Refuses new connections, or takes them again.
    pub(super) fn refuse(&self, refuses: bool) {
        self.state.refuses.store(refuses, Ordering::Relaxed);
        if refuses {
            self.cut(Shutdown::Both);
        }
    }

    /// Delays all bytes.
    pub(super) fn delay(&self, time: Duration) {
        self.state.delay_us.store(time.as_micros() as u64, Ordering::Relaxed);
    }

    fn connections(&self) -> MutexGuard<'_, Vec<[TcpStream; 2]>> {
        lock(&self.state.connections)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.has_ended.store(true, Ordering::Relaxed);
        self.stall(false);
        self.cut(Shutdown::Both);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(&self.address);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes bytes on in both directions.
fn connect(state: &Arc<State>, [from, to]: [TcpStream; 2]) -> std::io::Result<()> {
    state.resets.store(false, Ordering::Relaxed);
    let both = [(from.try_clone()?, to.try_clone()?), (to.try_clone()?, from.try_clone()?)];
    lock(&state.connections).push([from, to]);
    for (from, to) in both {
        let state = Arc::clone(state);
        thread::spawn(move || pass(&state, from, to));
    }
    Ok(())
}

fn pass(state: &State, mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = vec![0; 32 << 10];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        thread::sleep(Duration::from_micros(state.delay_us.load(Ordering::Relaxed)));
        while state.stalls.load(Ordering::Relaxed) {
            thread::sleep(MILLISECOND);
        }
        let truncates = n > 1 && state.truncates.swap(false, Ordering::Relaxed);
        let n = if truncates { n / 2 } else { n };
        if to.write_all(&bytes[..n]).is_err() || truncates {
            break;
        }
    }
    if !state.resets.load(Ordering::Relaxed) {
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}
