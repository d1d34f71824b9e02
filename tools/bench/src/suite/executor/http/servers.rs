//! The same hyper on each executor.

use std::any::Any;
use std::convert::Infallible;
use std::future::Future;
use std::io::Result;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use corelane_executor::Socket;
use corelane_executor::io::{self, Async};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use smol_hyper::rt::FuturesIo;
use tokio::runtime::Builder;

pub(super) const BODY: &str = "Hello, World!";

/// Serves on a number of workers until what it returns is dropped.
pub(super) fn serve(executor: &str, listener: TcpListener, workers: usize) -> Result<Box<dyn Any>> {
    match executor {
        "corelane-executor" => ours(listener, workers),
        "tokio" => of_tokio(listener, workers),
        "tokio-current" => of_tokio_current(listener),
        "async-executor" => smol(listener, workers),
        _ => unreachable!("{executor} is not in the table"),
    }
}

async fn answer(_: Request<Incoming>) -> std::result::Result<Response<String>, Infallible> {
    Ok(Response::new(BODY.into()))
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Serves with the sockets of `corelane-executor`.
async fn accept_ours(listener: TcpListener) {
    let listener = Socket::new(listener).expect("it is a socket");
    while let Ok((stream, _)) = listener.accept().await {
        stream.get_ref().set_nodelay(true).expect("it is a TCP socket");
        let connection = http1::Builder::new().serve_connection(stream, service_fn(answer));
        drop(corelane_executor::spawn(connection));
    }
}

/// Serves with the sockets of `async-io`.
async fn accept(listener: TcpListener, spawn: impl Fn(Task)) {
    let listener = Async::new(listener).expect("it is a socket");
    while let Ok((stream, _)) = listener.accept().await {
        stream.get_ref().set_nodelay(true).expect("it is a TCP socket");
        let connection =
            http1::Builder::new().serve_connection(FuturesIo::new(stream), service_fn(answer));
        // A client that goes ends its connection.
        spawn(Box::pin(async { _ = connection.await }));
    }
}

/// corelane's executor.
fn ours(listener: TcpListener, workers: usize) -> Result<Box<dyn Any>> {
    let executor = corelane_executor::Executor::new(workers)?;
    drop(executor.spawn(accept_ours(listener)));
    Ok(Box::new(executor))
}

/// Threads that end when they are dropped.
struct Threads {
    stop: Option<async_channel::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop = None;
        self.threads.drain(..).for_each(|thread| thread.join().expect("it doesn't panic"));
    }
}

impl Threads {
    fn start(
        number: usize,
        run: impl Fn(async_channel::Receiver<()>) + Clone + Send + 'static,
    ) -> Self {
        let (stop, stopped) = async_channel::bounded(1);
        let start = |_| {
            let (run, stopped) = (run.clone(), stopped.clone());
            thread::spawn(move || run(stopped))
        };
        Self { stop: Some(stop), threads: (0..number).map(start).collect() }
    }
}

/// smol's executor, with threads that wait for events, as its pages show.
fn smol(listener: TcpListener, workers: usize) -> Result<Box<dyn Any>> {
    let executor = Arc::new(async_executor::Executor::new());
    let spawner = Arc::clone(&executor);
    executor.spawn(accept(listener, move |task| spawner.spawn(task).detach())).detach();
    let run = move |stopped: async_channel::Receiver<()>| {
        _ = io::block_on(executor.run(stopped.recv()));
    };
    Ok(Box::new(Threads::start(workers, run)))
}

async fn accept_in_tokio(listener: TcpListener) {
    listener.set_nonblocking(true).expect("it is a socket");
    let listener = tokio::net::TcpListener::from_std(listener).expect("it is a socket");
    while let Ok((stream, _)) = listener.accept().await {
        stream.set_nodelay(true).expect("it is a TCP socket");
        let connection =
            http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
        drop(tokio::spawn(connection));
    }
}

/// Tokio's runtime of several threads.
fn of_tokio(listener: TcpListener, workers: usize) -> Result<Box<dyn Any>> {
    let runtime = Builder::new_multi_thread().worker_threads(workers).enable_io().build()?;
    drop(runtime.spawn(accept_in_tokio(listener)));
    Ok(Box::new(runtime))
}

/// Tokio's runtime of one thread.
fn of_tokio_current(listener: TcpListener) -> Result<Box<dyn Any>> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    drop(runtime.spawn(accept_in_tokio(listener)));
    let runtime = Arc::new(runtime);
    let run = move |stopped: async_channel::Receiver<()>| {
        _ = runtime.block_on(stopped.recv());
    };
    Ok(Box::new(Threads::start(1, run)))
}
