//! gRPC: a client streams items to a server. Written as tonic's generator of code does.

use std::convert::Infallible;

use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Context, Poll, Service, http};
use tonic::server::NamedService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

use super::{Rx, Tx, Way, in_tokio, text};
use crate::suite::net::ends::End;
use crate::suite::net::record;

const METHOD: &str = "/corelane.Bench/Send";
/// Items between the program and its connection.
const CHANNEL: usize = 1024;

#[derive(Clone, PartialEq, prost::Message)]
struct Item {
    #[prost(bytes = "bytes", tag = "1")]
    data: Bytes,
}

/// The answer: all items were received.
#[derive(Clone, PartialEq, prost::Message)]
struct Done {}

pub(super) enum Grpc {}

impl Way for Grpc {
    type Tx = Sends;
    type Rx = Receives;

    async fn sender(end: &End) -> Result<Sends, String> {
        let endpoint = Endpoint::from_shared(format!("http://{}", end.address)).map_err(text)?;
        let mut client = tonic::client::Grpc::new(endpoint.connect().await.map_err(text)?);
        client.ready().await.map_err(text)?;
        let (items, stream) = mpsc::channel(CHANNEL);
        let done = tokio::spawn(async move {
            let request = Request::new(ReceiverStream::new(stream));
            let codec = ProstCodec::<Item, Done>::default();
            let method = http::uri::PathAndQuery::from_static(METHOD);
            client.client_streaming(request, method, codec).await
        });
        Ok(Sends { items: Some(items), done: Some(done), record_bytes: end.record_bytes })
    }

    async fn receiver(end: &End) -> Result<Receives, String> {
        let incoming = TcpIncoming::bind(end.address.parse().map_err(text)?).map_err(text)?;
        let (calls, called) = mpsc::channel(1);
        let server = Server::builder().add_service(Bench { calls });
        tokio::spawn(server.serve_with_incoming(incoming.with_nodelay(Some(true))));
        Ok(Receives { called, call: None, record_bytes: end.record_bytes })
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        in_tokio(work)
    }
}

pub(super) struct Sends {
    items: Option<mpsc::Sender<Item>>,
    done: Option<JoinHandle<Result<Response<Done>, Status>>>,
    record_bytes: usize,
}

impl Tx for Sends {
    async fn put(&mut self, number: u64) -> Result<(), String> {
        let items = self.items.as_ref().ok_or("it is finished")?;
        let data = record::of(number, self.record_bytes).into();
        items.send(Item { data }).await.map_err(text)
    }

    async fn finish(&mut self) -> Result<(), String> {
        self.items = None;
        let Some(done) = self.done.take() else { return Ok(()) };
        done.await.map_err(text)?.map(drop).map_err(text)
    }
}

/// A call of the client, and what answers it.
type Call = (Streaming<Item>, oneshot::Sender<()>);

pub(super) struct Receives {
    called: mpsc::Receiver<Call>,
    call: Option<Call>,
    record_bytes: usize,
}

impl Rx for Receives {
    async fn meet(&mut self) -> Result<(), String> {
        self.call = self.called.recv().await;
        Ok(())
    }

    async fn get(&mut self) -> Result<u64, String> {
        let (items, _) = self.call.as_mut().ok_or("there is no sender")?;
        let item = items.message().await.map_err(text)?.ok_or("the sender has ended too early")?;
        let number = record::number(&item.data, self.record_bytes)?;
        if number == record::END {
            let (_, done) = self.call.take().expect("it has sent an item");
            let _ = done.send(());
        }
        Ok(number)
    }
}

/// The service.
#[derive(Clone)]
struct Bench {
    calls: mpsc::Sender<Call>,
}

impl NamedService for Bench {
    const NAME: &'static str = "corelane.Bench";
}

impl Service<http::Request<Body>> for Bench {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let method = Send { calls: self.calls.clone() };
        Box::pin(async move {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::<Done, Item>::default());
            Ok(grpc.client_streaming(method, request).await)
        })
    }
}

/// Its only method: the items go to the process's main task.
struct Send {
    calls: mpsc::Sender<Call>,
}

impl tonic::server::ClientStreamingService<Item> for Send {
    type Response = Done;
    type Future = BoxFuture<Response<Done>, Status>;

    fn call(&mut self, request: Request<Streaming<Item>>) -> Self::Future {
        let calls = self.calls.clone();
        Box::pin(async move {
            let (done, is_done) = oneshot::channel();
            let gone = |_| Status::unavailable("the receiver has ended");
            calls
                .send((request.into_inner(), done))
                .await
                .map_err(|_| Status::unavailable("the receiver has ended"))?;
            is_done.await.map_err(gone)?;
            Ok(Response::new(Done {}))
        })
    }
}
