//! The server: lists, watches and writes of five kinds over HTTP/1.1.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;
use futures::StreamExt as _;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::TokioIo;
use scripted_api::wire::field;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::cluster::Cluster;
use crate::kinds::Kind;
use crate::wire::{self, PROTOBUF};
use crate::world::LISTED_AT;
use crate::writes;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The bytes that are sent at once while a list is streamed.
const CHUNK: usize = 64 << 10;

/// The request that a query describes.
#[derive(Debug, Default)]
struct Query {
    watch: bool,
    initial: bool,
    limit: Option<usize>,
    from: usize,
    /// The selector selects nothing here.
    nothing: bool,
}

impl Query {
    fn parse(text: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
            match name {
                "watch" => query.watch = value == "true" || value == "1",
                "sendInitialEvents" => query.initial = value == "true",
                "limit" => query.limit = value.parse().ok(),
                "continue" => query.from = value.parse().unwrap_or_default(),
                // Services of another controller, of which there are none; all others match `!label`.
                "labelSelector" => query.nothing = !value.starts_with("%21") && !value.starts_with('!'),
                _ => {}
            }
        }
        query
    }
}

/// Serves a cluster.
#[derive(Debug)]
pub(crate) struct Server(pub(crate) Cluster);

impl Server {
    /// Serves for ever.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("a socket option");
            let server = Arc::clone(&self);
            let service = hyper::service::service_fn(move |request| {
                let server = Arc::clone(&server);
                async move { Ok::<_, Infallible>(server.answer(request).await) }
            });
            let serving =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // An error means that the client has gone.
            tokio::spawn(async move { _ = serving.await });
        }
    }

    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let arrived = Instant::now();
        let path: Vec<&str> = request.uri().path().split('/').skip(1).collect();
        let (resource, name) = match path[..] {
            ["api", _, "namespaces", _, resource] | ["apis", _, _, "namespaces", _, resource] => {
                (resource, None)
            }
            ["api", _, "namespaces", _, resource, name] | ["apis", _, _, "namespaces", _, resource, name] => {
                (resource, Some(name))
            }
            ["api", _, resource] | ["apis", _, _, resource] => (resource, None),
            _ => ("", None),
        };
        let kind = Kind::of(resource);
        match (request.method().clone(), kind, name) {
            (Method::GET, Some(kind), None) => {
                self.read(kind, &Query::parse(request.uri().query().unwrap_or_default()))
            }
            (method, Some(kind @ (Kind::Slices | Kind::Endpoints)), _) if method != Method::GET => {
                self.0.writes.fetch_add(1, Ordering::Relaxed);
                let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
                match body {
                    Ok(body) if method == Method::PUT => {
                        protobuf(writes::replace(&self.0, kind, &body, arrived))
                    }
                    _ => empty(StatusCode::METHOD_NOT_ALLOWED),
                }
            }
            _ if request.uri().path() == "/version" => {
                json(r#"{"major":"1","minor":"37","gitVersion":"v1.37.2"}"#)
            }
            _ => {
                self.0.others.fetch_add(1, Ordering::Relaxed);
                empty(StatusCode::NOT_FOUND)
            }
        }
    }

    fn read(self: &Arc<Self>, kind: Kind, query: &Query) -> Response<Body> {
        if query.watch {
            return self.watch(kind, query);
        }
        let count = if query.nothing { 0 } else { self.0.objects.count(kind) };
        let end = query.limit.map_or(count, |limit| count.min(query.from + limit));
        let (mut items, mut raw) = (Vec::new(), Vec::new());
        for index in query.from..end {
            raw.clear();
            self.0.objects.encode(kind, index, &mut raw);
            field(&mut items, 2, &raw);
        }
        self.0.listed.fetch_add(items.len() as u64, Ordering::Relaxed);
        let next = if end < count { end.to_string() } else { String::new() };
        // All pages of a list are of one moment; a list of one object asks for the current version.
        let version = if query.limit == Some(1) { self.0.watchers.version() } else { LISTED_AT };
        protobuf(wire::list(kind.types(), version, &next, &items))
    }

    /// A watch: the initial events, if they are asked for, and then what changes.
    fn watch(self: &Arc<Self>, kind: Kind, query: &Query) -> Response<Body> {
        let live = self.0.watchers.open(kind);
        let (sender, initial) = mpsc::channel(4);
        if query.initial {
            self.0.lists.fetch_add(1, Ordering::Relaxed);
            let (server, nothing) = (Arc::clone(self), query.nothing);
            tokio::task::spawn_blocking(move || server.send_all(kind, nothing, &sender));
        }
        let initial =
            futures::stream::unfold(initial, async |mut chunks| Some((chunks.recv().await?, chunks)));
        let live = futures::stream::unfold(live, async |mut frames| Some((frames.recv().await?, frames)));
        let frames = initial.chain(live).map(|bytes| Ok(Frame::data(bytes)));
        let content_type = "application/vnd.kubernetes.protobuf;stream=watch";
        let body = StreamBody::new(frames).boxed_unsync();
        Response::builder().header(CONTENT_TYPE, content_type).body(body).expect("an answer")
    }

    /// Sends every object of a kind and a bookmark, until the client has gone.
    fn send_all(&self, kind: Kind, nothing: bool, client: &mpsc::Sender<Bytes>) {
        let (mut chunk, mut raw) = (Vec::with_capacity(2 * CHUNK), Vec::new());
        let count = if nothing { 0 } else { self.0.objects.count(kind) };
        for index in 0..count {
            raw.clear();
            self.0.objects.encode(kind, index, &mut raw);
            wire::event(&mut chunk, "ADDED", kind.types(), &raw);
            if chunk.len() >= CHUNK && !self.send(&mut chunk, client) {
                return;
            }
        }
        wire::bookmark(&mut chunk, kind.types(), LISTED_AT, true);
        self.send(&mut chunk, client);
    }

    fn send(&self, chunk: &mut Vec<u8>, client: &mpsc::Sender<Bytes>) -> bool {
        self.0.listed.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        let bytes = Bytes::from(std::mem::replace(chunk, Vec::with_capacity(2 * CHUNK)));
        client.blocking_send(bytes).is_ok()
    }
}

fn respond(status: StatusCode, content_type: &str, body: impl Into<Bytes>) -> Response<Body> {
    let body = Full::new(body.into()).boxed_unsync();
    Response::builder().status(status).header(CONTENT_TYPE, content_type).body(body).expect("an answer")
}

fn protobuf(body: Vec<u8>) -> Response<Body> {
    respond(StatusCode::OK, PROTOBUF, body)
}

fn json(body: &'static str) -> Response<Body> {
    respond(StatusCode::OK, "application/json", body)
}

fn empty(status: StatusCode) -> Response<Body> {
    respond(status, "text/plain", "")
}
