//! An HTTP server: hyper on this executor.
//!
//! With an address it serves until it is stopped: `cargo run --release -p corelane-executor
//! --features hyper --example http -- 127.0.0.1:8000`. Without one it serves some requests of its
//! own.
//!
//! What differs from the same server on Tokio: sockets are `Socket<TcpListener>`, and hyper takes
//! them without `TokioIo`.

use std::convert::Infallible;
use std::io::{Read, Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use corelane_executor::{Executor, Socket, spawn};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};

async fn answer(request: Request<Incoming>) -> std::result::Result<Response<String>, Infallible> {
    Ok(Response::new(format!("Hello from {}\n", request.uri().path())))
}

async fn serve(listener: Socket<TcpListener>) -> Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        drop(spawn(async move {
            // If the client is gone already, hyper says so.
            _ = stream.get_ref().set_nodelay(true);
            let served = http1::Builder::new().serve_connection(stream, service_fn(answer));
            if let Err(error) = served.await {
                eprintln!("a connection ended: {error}");
            }
        }));
    }
}

fn main() -> Result<()> {
    let executor = Executor::default();
    let address = std::env::args().nth(1);
    let own = SocketAddr::from(([127, 0, 0, 1], 0));
    let wanted =
        address.as_deref().map_or(Ok(own), str::parse).expect("an address such as 127.0.0.1:8000");
    let listener = Socket::<TcpListener>::bind(wanted)?;
    let bound = listener.get_ref().local_addr()?;
    println!("serving at http://{bound} with {} workers", executor.workers());
    let server = executor.spawn(serve(listener));
    if address.is_some() {
        return executor.block_on(server).expect("the server doesn't panic");
    }
    let clients: Vec<_> = (0..4).map(|n| thread::spawn(move || ask(bound, n))).collect();
    for client in clients {
        print!("{}", client.join().expect("a client doesn't panic")?);
    }
    Ok(())
}

/// One request; the body of the answer.
fn ask(address: SocketAddr, n: usize) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET /{n} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.split("\r\n\r\n").nth(1).expect("an answer has a body").to_owned())
}
