//! `Socket`: what the system reports once is neither lost nor waited for again.
#![cfg(unix)]

use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use corelane_executor::io::Timer;
use corelane_executor::{Executor, Socket, spawn, yield_now};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

fn executor(workers: usize) -> Executor {
    Executor::new(workers).expect("there are threads")
}

fn listener() -> Socket<TcpListener> {
    Socket::<TcpListener>::bind(([127, 0, 0, 1], 0)).expect("there is a port")
}

fn pair() -> (UnixStream, Socket<UnixStream>) {
    let (near, far) = UnixStream::pair().expect("there are descriptors");
    (near, Socket::new(far).expect("it is a socket"))
}

fn tcp_pair() -> (TcpStream, Socket<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = listener.local_addr().expect("it is bound");
    let near = TcpStream::connect(address).expect("it listens");
    let (far, _) = listener.accept().expect("there is a connection");
    (near, Socket::new(far).expect("it is a socket"))
}

/// A byte of a stream.
fn byte(stream: usize, position: usize) -> u8 {
    (stream * 31 + position * 7 + position / 251) as u8
}

/// Sends and receives more than the system's buffers hold, so both sides wait often, to read and to
/// write at the same time.
#[test]
fn what_is_sent_comes_back() {
    const STREAMS: usize = 40;
    const BYTES: usize = 400_000;
    let executor = executor(2);
    executor.block_on(async {
        let listener = listener();
        let address = listener.get_ref().local_addr().unwrap();
        let server = spawn(async move {
            for stream in 0..STREAMS {
                let (socket, _) = listener.accept().await.unwrap();
                drop(spawn(async move {
                    let (mut from, mut to) = (&socket, &socket);
                    let mut buffer = vec![0; 1 + 997 * (stream + 1)];
                    loop {
                        match from.read(&mut buffer).await.unwrap() {
                            0 => break,
                            n => to.write_all(&buffer[..n]).await.unwrap(),
                        }
                    }
                }));
            }
        });
        let clients: Vec<_> = (0..STREAMS)
            .map(|stream| {
                spawn(async move {
                    let socket = Arc::new(Socket::connect(address).await.unwrap());
                    let writer = Arc::clone(&socket);
                    let written = spawn(async move {
                        let all: Vec<u8> = (0..BYTES).map(|n| byte(stream, n)).collect();
                        for part in all.chunks(7 + 4001 * stream) {
                            (&*writer).write_all(part).await.unwrap();
                        }
                        (&*writer).close().await.unwrap();
                    });
                    let mut received = Vec::new();
                    (&*socket).read_to_end(&mut received).await.unwrap();
                    written.await.unwrap();
                    assert_eq!(received.len(), BYTES);
                    assert!((0..BYTES).all(|n| received[n] == byte(stream, n)));
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
        server.await.unwrap();
    });
}

/// The system reports bytes and the end by one event.
#[test]
fn the_end_comes_with_the_last_bytes() {
    for shuts_down in [true, false] {
        let (mut near, mut far) = tcp_pair();
        near.write_all(b"all").unwrap();
        let rest = if shuts_down {
            near.shutdown(Shutdown::Write).unwrap();
            Some(near)
        } else {
            drop(near);
            None
        };
        // The event is there.
        thread::sleep(Duration::from_millis(20));
        let read = future::block_on(async {
            let mut buffer = [0; 100];
            let n = far.read(&mut buffer).await.unwrap();
            (n, far.read(&mut buffer).await.unwrap(), far.read(&mut buffer).await.unwrap())
        });
        assert_eq!(read, (3, 0, 0));
        drop(rest);
    }
}

#[test]
fn the_end_comes_while_a_task_waits() {
    let (mut near, mut far) = pair();
    let executor = executor(1);
    let reader = executor.spawn(async move {
        let mut all = String::new();
        far.read_to_string(&mut all).await.unwrap();
        all
    });
    for part in ["one ", "after ", "another"] {
        thread::sleep(Duration::from_millis(10));
        near.write_all(part.as_bytes()).unwrap();
    }
    thread::sleep(Duration::from_millis(10));
    drop(near);
    assert_eq!(executor.block_on(reader).unwrap(), "one after another");
}

#[test]
fn a_peer_that_is_gone_is_an_error_of_the_writer() {
    let (near, mut far) = pair();
    let executor = executor(1);
    let writer = executor.spawn(async move { far.write_all(&vec![0; 10_000_000]).await });
    thread::sleep(Duration::from_millis(10));
    drop(near);
    let error = executor.block_on(writer).unwrap().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{error}");
}

#[test]
fn two_tasks_read_from_one_socket() {
    let (mut near, far) = pair();
    let far = Arc::new(far);
    let executor = executor(2);
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let far = Arc::clone(&far);
            executor.spawn(async move {
                let mut count = 0;
                while (&*far).read(&mut [0]).await.unwrap() != 0 {
                    count += 1;
                }
                count
            })
        })
        .collect();
    for _ in 0..100 {
        near.write_all(&[1; 10]).unwrap();
        thread::sleep(Duration::from_micros(100));
    }
    drop(near);
    let counts = readers.into_iter().map(|reader| executor.block_on(reader).unwrap());
    assert_eq!(counts.sum::<u32>(), 1000);
}

/// Two of them wait for one event, and none of them uses processor time meanwhile.
#[test]
fn tasks_that_wait_for_one_socket_sleep() {
    let (near, far) = pair();
    let far = Arc::new(far);
    let polls = Arc::new(AtomicUsize::new(0));
    let executor = executor(2);
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (far, polls) = (Arc::clone(&far), Arc::clone(&polls));
            executor.spawn(async move {
                far.read_with(|mut far| {
                    polls.fetch_add(1, Ordering::Relaxed);
                    far.read(&mut [0])
                })
                .await
                .unwrap()
            })
        })
        .collect();
    thread::sleep(Duration::from_millis(50));
    assert!(polls.load(Ordering::Relaxed) <= 3, "{polls:?}");
    // Each of them reads one byte, and does not look again.
    (&near).write_all(b"abc").unwrap();
    let read = readers.into_iter().map(|reader| executor.block_on(reader).unwrap());
    assert_eq!(read.sum::<usize>(), 3);
    drop(near);
}

/// The system takes 1024 buffers at once.
#[test]
fn more_buffers_than_the_system_takes() {
    let (near, mut far) = tcp_pair();
    let bytes = [7; 3000];
    future::block_on(async {
        let mut slices: Vec<_> =
            bytes.iter().map(|byte| IoSlice::new(slice::from_ref(byte))).collect();
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            let written = far.write_vectored(rest).await.unwrap();
            IoSlice::advance_slices(&mut rest, written);
        }
    });
    drop(far);
    let mut received = Vec::new();
    (&near).read_to_end(&mut received).unwrap();
    assert_eq!(received, bytes);
}

/// A step for each socket doesn't make more of them.
#[test]
fn two_busy_sockets_let_others_run() {
    let (mut near, far) = pair();
    let (mut near2, far2) = pair();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let executor = executor(1);
    let floods = [
        thread::spawn(move || while near.write_all(&[0; 4096]).is_ok() {}),
        thread::spawn(move || while near2.write_all(&[0; 4096]).is_ok() {}),
    ];
    let reader = executor.spawn(async move {
        (&far).read_exact(&mut [0]).await.unwrap();
        (&far2).read_exact(&mut [0]).await.unwrap();
        drop(spawn(async move { over.store(true, Ordering::Relaxed) }));
        while !is_over.load(Ordering::Relaxed) {
            let (mut one, mut two) = ([0], [0]);
            let read = future::or((&far).read(&mut one), (&far2).read(&mut two)).await;
            assert_eq!(read.unwrap(), 1);
        }
    });
    executor.block_on(reader).unwrap();
    floods.into_iter().for_each(|flood| flood.join().unwrap());
}

/// The worker has no other way to get at the second task.
#[test]
fn a_socket_that_always_has_more_lets_others_run() {
    let (mut near, mut far) = pair();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let executor = executor(1);
    let flood = thread::spawn(move || while near.write_all(&[0; 4096]).is_ok() {});
    let reader = executor.spawn(async move {
        far.read_exact(&mut [0; 100]).await.unwrap();
        drop(spawn(async move { over.store(true, Ordering::Relaxed) }));
        while !is_over.load(Ordering::Relaxed) {
            far.read_exact(&mut [0]).await.unwrap();
        }
    });
    executor.block_on(reader).unwrap();
    flood.join().unwrap();
}

#[test]
fn other_calls_wait_too() {
    let path = std::env::temp_dir().join(format!("corelane-sockets-{}", std::process::id()));
    let listener = Socket::new(UnixListener::bind(&path).unwrap()).unwrap();
    let client = thread::spawn({
        let path = path.clone();
        move || {
            let mut stream = UnixStream::connect(path).unwrap();
            thread::sleep(Duration::from_millis(10));
            stream.write_all(b"call").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        }
    });
    future::block_on(async {
        let (stream, _) = listener.read_with(|listener| listener.accept()).await.unwrap();
        let stream = Socket::new(stream).unwrap();
        let mut buffer = [0; 10];
        let n = stream.read_with(|mut stream| stream.read(&mut buffer)).await.unwrap();
        assert_eq!(&buffer[..n], b"call");
        assert_eq!(stream.write_with(|mut stream| stream.write(b"answer")).await.unwrap(), 6);
    });
    assert_eq!(client.join().unwrap(), "answer");
    std::fs::remove_file(path).unwrap();
}

/// Places of sockets that are gone are used again, while events of them are under way.
#[test]
fn sockets_come_and_go() {
    let executor = executor(3);
    let served = Arc::new(AtomicUsize::new(0));
    executor.block_on(async {
        let listener = listener();
        let address = listener.get_ref().local_addr().unwrap();
        let count = Arc::clone(&served);
        let server = spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                let count = Arc::clone(&count);
                drop(spawn(async move {
                    let mut buffer = [0; 16];
                    while let Ok(n @ 1..) = socket.read(&mut buffer).await {
                        count.fetch_add(1, Ordering::Relaxed);
                        if socket.write_all(&buffer[..n]).await.is_err() {
                            break;
                        }
                    }
                }));
            }
        });
        let clients: Vec<_> = (0..8_u8)
            .map(|client| {
                spawn(async move {
                    for round in 0..150_u8 {
                        let mut socket = Socket::<TcpStream>::connect(address).await.unwrap();
                        socket.write_all(&[client, round]).await.unwrap();
                        if round % 3 == 0 {
                            continue;
                        }
                        let mut answer = [0; 2];
                        socket.read_exact(&mut answer).await.unwrap();
                        assert_eq!(answer, [client, round]);
                        yield_now().await;
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
        _ = server.cancel().await;
        Timer::after(Duration::from_millis(1)).await;
    });
    assert!(served.load(Ordering::Relaxed) >= 8 * 100);
}

/// A read of less than there is room for is not the last one.
#[cfg(target_os = "linux")]
#[test]
fn messages_come_one_by_one() {
    use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair};
    let (near, far) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::empty(), None).unwrap();
    for message in [&b"one"[..], b"after", b"another"] {
        send(&near, message, SendFlags::empty()).unwrap();
    }
    let mut far = Socket::new(std::fs::File::from(far)).unwrap();
    future::block_on(async {
        for message in [&b"one"[..], b"after", b"another"] {
            let mut buffer = [0; 100];
            let n = far.read(&mut buffer).await.unwrap();
            assert_eq!(&buffer[..n], message);
        }
    });
}

/// The system reports an error once. Afterwards there is nothing, and the task waits.
#[test]
fn an_error_is_not_the_end() {
    let gone = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(gone).unwrap();
    socket.send(b"to nobody").unwrap();
    let socket = Socket::new(socket).unwrap();
    let mut buffer = [0; 10];
    future::block_on(async {
        let refused = socket.read_with(|socket| socket.recv(&mut buffer)).await;
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        let next = async { Some(socket.read_with(|socket| socket.recv(&mut buffer)).await) };
        let time = async {
            Timer::after(Duration::from_millis(20)).await;
            None
        };
        assert!(future::or(next, time).await.is_none());
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_is_refused() {
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    assert_eq!(Socket::new(file).unwrap_err().kind(), ErrorKind::PermissionDenied);
}
