//! A Tokio service asks a worker thread. Each request has a sender for its answer.
//!
//! The tasks wait without blocking the runtime, and the worker blocks its own thread. A task that
//! gives up drops its receiver: the worker's answer fails, and the worker goes on. If a program has
//! Tokio's channels, `channel::task` has their names.

use std::thread;

use corelane::channel::{Sender, bounded, oneshot};

struct Request {
    number: u64,
    reply: oneshot::Sender<u64>,
}

async fn ask(requests: Sender<Request>, number: u64) -> Option<u64> {
    let (reply, answer) = oneshot();
    requests.send_async(Request { number, reply }).await.ok()?;
    answer.await.ok()
}

#[tokio::main]
async fn main() {
    let (requests, work) = bounded::<Request>(16);
    let worker = thread::spawn(move || {
        work.into_iter().map(|it| it.reply.send(it.number.pow(2))).filter(Result::is_ok).count()
    });
    let tasks: Vec<_> = (0..100).map(|n| tokio::spawn(ask(requests.clone(), n))).collect();
    drop(requests); // The last task to end stops the worker.
    for (n, task) in (0..).zip(tasks) {
        assert_eq!(task.await.expect("the task does not panic"), Some(n * n));
    }
    println!("{} answers", worker.join().expect("the worker does not panic"));
}
