//! Libraries that need Tokio's reactor, as docs/executor.md says: inside async-compat's `Compat`.

use std::time::Duration;

use async_compat::Compat;
use corelane_executor::{Executor, spawn};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[test]
fn sockets_and_timers_of_tokio_work_in_tasks() {
    let executor = Executor::new(2).unwrap();
    let answer = executor.block_on(Compat::new(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = spawn(Compat::new(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut bytes = [0; 5];
            socket.read_exact(&mut bytes).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
            socket.write_all(&bytes).await.unwrap();
        }));
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(b"hello").await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        server.await.unwrap();
        answer
    }));
    assert_eq!(answer, "hello");
}
