//! A TCP server that sends back what it gets, a task for each connection.
//!
//! With an address it serves until it is stopped: `cargo run --release -p corelane-executor
//! --example echo -- 127.0.0.1:7000`. Without one it talks to itself.

use std::io::Result;
use std::net::{SocketAddr, TcpListener};

use corelane_executor::{Executor, Socket, spawn};
use futures_lite::{AsyncReadExt, AsyncWriteExt};

async fn serve(listener: Socket<TcpListener>) -> Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        drop(spawn(async move {
            let mut buffer = [0; 4096];
            loop {
                match stream.read(&mut buffer).await? {
                    0 => return Ok::<_, std::io::Error>(()),
                    n => stream.write_all(&buffer[..n]).await?,
                }
            }
        }));
    }
}

fn main() -> Result<()> {
    let executor = Executor::default();
    let address = std::env::args().nth(1);
    let own = SocketAddr::from(([127, 0, 0, 1], 0));
    let wanted =
        address.as_deref().map_or(Ok(own), str::parse).expect("an address such as 127.0.0.1:7000");
    let listener = Socket::<TcpListener>::bind(wanted)?;
    let bound = listener.get_ref().local_addr()?;
    println!("serving at {bound}");
    let server = executor.spawn(serve(listener));
    if address.is_some() {
        return executor.block_on(server).expect("the server doesn't panic");
    }
    executor.block_on(async {
        let clients: Vec<_> = (0..100).map(|n| spawn(talk(bound, n))).collect();
        for client in clients {
            client.await.expect("a client doesn't panic")?;
        }
        println!("100 clients have their words back");
        Ok(())
    })
}

async fn talk(address: SocketAddr, n: usize) -> Result<()> {
    let mut stream = Socket::connect(address).await?;
    for round in 0..10 {
        let sent = format!("client {n}, round {round}");
        stream.write_all(sent.as_bytes()).await?;
        let mut answer = vec![0; sent.len()];
        stream.read_exact(&mut answer).await?;
        assert_eq!(answer, sent.as_bytes());
    }
    Ok(())
}
