//! Processes that are forked from one with an executor.

use std::future::pending;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use corelane::channel;
use corelane::steal::{fork_join, pool};
use corelane_executor::{Executor, Socket, spawn, spawn_blocking};
use futures_lite::{AsyncReadExt, AsyncWriteExt};

pub const PROGRAMS: &[(&str, fn())] = &[
    ("forked::drops_its_executor", drops_its_executor),
    ("forked::drops_its_pool", drops_its_pool),
    ("forked::drops_its_fork_join_pool", drops_its_fork_join_pool),
    ("forked::drops_its_sockets", drops_its_sockets),
    ("forked::makes_its_own", makes_its_own),
];

/// Runs `child` in a forked process, which must end well.
fn in_a_child(child: impl FnOnce()) {
    // SAFETY: the child only runs `child` and ends; it waits for no thread.
    match unsafe { libc::fork() } {
        0 => {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(ended.is_err().into()) }
        }
        process => {
            let mut status = 0;
            // SAFETY: `status` is valid, and the process is a child.
            assert_eq!(unsafe { libc::waitpid(process, &mut status, 0) }, process);
            assert_eq!(status, 0);
        }
    }
}

/// The child drops its copy, and the parent its own.
fn dropped_in_both<T>(value: T) -> T {
    let value = std::mem::ManuallyDrop::new(value);
    // SAFETY: the child drops only its own copy.
    in_a_child(|| drop(unsafe { std::ptr::read(&*value) }));
    std::mem::ManuallyDrop::into_inner(value)
}

fn drops_its_executor() {
    let executor = Executor::new(2).unwrap();
    let waits = executor.spawn(pending::<()>());
    executor.block_on(async { spawn(async {}).await.unwrap() });
    let (executor, waits) = dropped_in_both((executor, waits));
    assert_eq!(executor.block_on(async { spawn(async { 1 }).await.unwrap() }), 1);
    assert!(!waits.is_finished());
}

fn drops_its_pool() {
    let pool = pool::Pool::new(pool::Options::new(2), |_, answer: std::sync::mpsc::Sender<()>| {
        answer.send(()).unwrap();
    })
    .unwrap();
    let pool = dropped_in_both(pool);
    let (tx, rx) = std::sync::mpsc::channel();
    pool.push(tx);
    rx.recv().unwrap();
    pool.finish();
}

fn drops_its_fork_join_pool() {
    let pool = fork_join::Pool::new(fork_join::Options::new(2)).unwrap();
    let pool = dropped_in_both(pool);
    assert_eq!(pool.run(|fork| fork.join(|_| 1, |_| 2)), (1, 2));
}

/// The parent's sockets stay registered.
fn drops_its_sockets() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let socket = Socket::new(listener.accept().unwrap().0).unwrap();
    let mut socket = dropped_in_both(socket);
    in_a_child(|| {
        let refused = Socket::new(TcpListener::bind(("127.0.0.1", 0)).unwrap());
        assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::Unsupported);
    });
    let executor = Executor::new(1).unwrap();
    executor.block_on(async {
        let reads = spawn(async move {
            let mut bytes = [0; 4];
            socket.read_exact(&mut bytes).await.unwrap();
            socket.write_all(&bytes).await.unwrap();
        });
        std::thread::sleep(Duration::from_millis(5));
        peer.write_all(b"ping").unwrap();
        reads.await.unwrap();
    });
    let mut bytes = [0; 4];
    peer.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"ping");
}

/// async-io's reactor is the parent's: the child gets an error. Its channels' timers work.
fn makes_its_own() {
    let executor = Executor::new(1).unwrap();
    executor.block_on(async {
        spawn_blocking(|| ()).await.unwrap();
        channel::after(Duration::from_millis(1)).recv_async().await.unwrap();
        in_a_child(|| {
            let refused = Executor::new(1);
            assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::Unsupported);
        });
    });
    in_a_child(|| {
        futures_lite::future::block_on(async {
            channel::after(Duration::from_millis(1)).recv_async().await.unwrap();
        });
    });
}
