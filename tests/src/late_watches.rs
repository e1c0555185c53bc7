//! An HTTP proxy before the API server that shows the events of some watches late, each by the same time, as one of several API
//! servers does whose cache is behind.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Answered = UnsyncBoxBody<Bytes, Failure>;
type Answer = Response<Answered>;

/// A running proxy without TLS, which sends every request as one user; dropping it ends it.
#[derive(Debug)]
pub struct LateWatches {
    address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl LateWatches {
    /// Forwards to the server of `client`. Watches of these resources, such as `endpoints`, are late by this time.
    pub async fn start(client: Client, late: impl IntoIterator<Item = (&'static str, Duration)>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("the address of a listener");
        let late: Arc<[(&str, Duration)]> = late.into_iter().collect();
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, client, late));
        Self { address, _tasks: tasks }
    }

    /// The URL for the field `server` of a kubeconfig.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn serve(listener: TcpListener, client: Client, late: Arc<[(&'static str, Duration)]>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (client, late) = (client.clone(), Arc::clone(&late));
        connections.spawn(async move {
            let service = hyper::service::service_fn(move |request| {
                let (client, late) = (client.clone(), Arc::clone(&late));
                async move { Ok::<_, Infallible>(forward(client, request, &late).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            let _ = connection.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn forward(client: Client, request: Request<Incoming>, late: &[(&'static str, Duration)]) -> Answer {
    let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
    let resource = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
    let (mut head, body) = request.into_parts();
    for of_this_connection in [http::header::HOST, http::header::CONTENT_LENGTH, http::header::CONNECTION] {
        head.headers.remove(of_this_connection);
    }
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let answer = client.send(Request::from_parts(head, Body::from(body.to_vec()))).await;
    let Ok(answer) = answer else {
        let mut failed = Response::new(Answered::default());
        *failed.status_mut() = http::StatusCode::BAD_GATEWAY;
        return failed;
    };
    let (mut head, body) = answer.into_parts();
    head.headers.remove(http::header::TRANSFER_ENCODING);
    let delay = late.iter().find(|(name, _)| is_watch && *name == resource).map(|(_, delay)| *delay);
    let body = match delay {
        Some(delay) => delayed(body, delay),
        None => body.map_err(Failure::from).boxed_unsync(),
    };
    Response::from_parts(head, body)
}

/// The same body, of which each part comes later by this time.
fn delayed(mut body: Body, delay: Duration) -> Answered {
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(Failure::from);
            if sender.send((Instant::now() + delay, frame)).is_err() {
                return;
            }
        }
    });
    let parts = futures::stream::unfold(receiver, |mut receiver| async move {
        let (due, frame): (Instant, Result<Frame<Bytes>, Failure>) = receiver.recv().await?;
        sleep_until(due).await;
        Some((frame, receiver))
    });
    StreamBody::new(Box::pin(parts)).boxed_unsync()
}
