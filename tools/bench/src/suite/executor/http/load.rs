//! A thread that sends requests through many connections, one at a time through each.

use std::io::{ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Instant;

use hdrhistogram::Histogram;
use rustix::event::epoll;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// The connections.
pub(super) struct Load {
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// Bytes of an answer: all have as many.
    answer: usize,
}

struct Connection {
    stream: TcpStream,
    /// When the request was sent.
    begin: Instant,
    /// Bytes of the answer so far.
    received: usize,
}

impl Load {
    /// Opens the connections, and sends a request through each.
    pub(super) fn new(address: SocketAddr, connections: usize) -> Result<Self> {
        let mut load = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            connections: Vec::new(),
            answer: 0,
        };
        for number in 0..connections {
            let mut stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.write_all(REQUEST)?;
            load.answer = receive(&mut stream)?;
            stream.set_nonblocking(true)?;
            let data = epoll::EventData::new_u64(number as u64);
            epoll::add(&load.epoll, &stream, data, epoll::EventFlags::IN)?;
            load.connections.push(Connection { stream, begin: Instant::now(), received: 0 });
        }
        Ok(load)
    }

    /// Sends requests until `is_over` after a number of them. Returns how many were answered.
    pub(super) fn run(
        &mut self,
        is_over: impl Fn(u64) -> bool,
        latency: &mut Histogram<u64>,
    ) -> Result<u64> {
        for connection in &mut self.connections {
            connection.send()?;
        }
        let (mut answered, mut under_way) = (0, self.connections.len());
        let mut is_ending = false;
        let mut events = Vec::with_capacity(256);
        while under_way > 0 {
            events.clear();
            epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None)?;
            is_ending |= is_over(answered);
            for event in &events {
                let connection = &mut self.connections[event.data.u64() as usize];
                if !connection.receive(self.answer)? {
                    continue;
                }
                answered += 1;
                // The histogram has an upper bound.
                latency.saturating_record(connection.begin.elapsed().as_nanos() as u64);
                match is_ending {
                    true => under_way -= 1,
                    false => connection.send()?,
                }
            }
        }
        Ok(answered)
    }
}

impl Connection {
    fn send(&mut self) -> Result<()> {
        (self.begin, self.received) = (Instant::now(), 0);
        // The connection is empty, so there is room.
        self.stream.write_all(REQUEST)
    }

    /// Whether the answer is there.
    fn receive(&mut self, answer: usize) -> Result<bool> {
        let mut buffer = [0; 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => {
                self.received += n;
                Ok(self.received == answer)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Receives the first answer. Returns how many bytes it has.
fn receive(stream: &mut TcpStream) -> Result<usize> {
    let mut answer = Vec::new();
    let mut buffer = [0; 1024];
    while !answer.ends_with(super::servers::BODY.as_bytes()) {
        match stream.read(&mut buffer)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            n => answer.extend_from_slice(&buffer[..n]),
        }
    }
    Ok(answer.len())
}
