//! A server that asks clients for certificates, and reports those that they present.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::{StreamExt as _, stream};
use http::header::AUTHORIZATION;
use http::{Request, Response};
use http_body_util::StreamBody;
use http_body_util::combinators::BoxBody;
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::LIMIT;

pub use crate::pki::{Authority, Identity};

impl Identity {
    /// An acceptor for a server with this certificate that asks clients for none.
    pub fn acceptor(self, protocols: &[&[u8]]) -> TlsAcceptor {
        let config = ServerConfig::builder().with_no_client_auth();
        let mut config = config.with_single_cert(vec![self.certificate.clone()], self.key()).unwrap();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }

    /// The certificate as a server sees it.
    #[allow(clippy::unnecessary_wraps, reason = "to be compared with what may be missing")]
    pub fn der(&self) -> Option<Vec<u8>> {
        Some(self.certificate.to_vec())
    }
}

/// A received request.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    pub certificate: Option<Vec<u8>>,
    pub authorization: Option<String>,
}

/// The number of open connections, by the client's certificate.
type Open = BTreeMap<Option<Vec<u8>>, usize>;

/// A server on a loopback port. Dropping it ends all connections.
pub struct Server {
    address: SocketAddr,
    pub authority: Authority,
    asked: UnboundedReceiver<Asked>,
    open: watch::Receiver<Open>,
    events: UnboundedSender<Option<Bytes>>,
    _accepting: JoinSet<()>,
}

/// State that the connections share.
struct Shared {
    asked: UnboundedSender<Asked>,
    open: watch::Sender<Open>,
    events: Mutex<Option<UnboundedReceiver<Option<Bytes>>>>,
}

impl Server {
    /// Starts a server. Clients need no certificate; one that they present must be signed by that authority.
    pub async fn start(clients: &Authority) -> Self {
        let authority = Authority::new("servers");
        let identity = authority.issue("127.0.0.1");
        let verifier =
            WebPkiClientVerifier::builder(clients.roots()).allow_unauthenticated().build().unwrap();
        let config = ServerConfig::builder().with_client_cert_verifier(verifier);
        let config = config.with_single_cert(vec![identity.certificate.clone()], identity.key()).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ((tell, asked), (events, taken)) = (unbounded(), unbounded());
        let (sender, open) = watch::channel(Open::new());
        let shared = Arc::new(Shared { asked: tell, open: sender, events: Mutex::new(Some(taken)) });
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(serve(acceptor.clone(), stream, Arc::clone(&shared)));
            }
        });
        Self { address, authority, asked, open, events, _accepting: accepting }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The configuration of a client without credentials.
    pub fn config(&self) -> kube::Config {
        let mut config = kube::Config::new(format!("https://{}", self.address).parse().unwrap());
        config.root_cert = Some(vec![self.authority.der()]);
        config
    }

    /// Waits for the next request.
    pub async fn asked(&mut self) -> Asked {
        timeout(LIMIT, self.asked.next()).await.unwrap().unwrap()
    }

    /// True if a connection with this client certificate is open.
    pub fn is_connected(&self, identity: &Identity) -> bool {
        self.open.borrow().contains_key(&identity.der())
    }

    /// Waits until no connection with this certificate is open.
    pub async fn disconnected(&mut self, identity: &Identity) {
        let forgotten = self.open.wait_for(|open| !open.contains_key(&identity.der()));
        timeout(LIMIT, forgotten).await.expect("connections to end").unwrap();
    }

    /// Sends an event to the client that has asked for `/watch`; `None` ends the response.
    pub fn send(&self, event: Option<&'static str>) {
        self.events.unbounded_send(event.map(Into::into)).unwrap();
    }
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream, shared: Arc<Shared>) {
    // Fails if the client has closed the connection.
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let shown = stream.get_ref().1.peer_certificates();
    let certificate = shown.map(|chain| chain[0].to_vec());
    shared.open.send_modify(|open| *open.entry(certificate.clone()).or_default() += 1);
    let service = service_fn(|request: Request<Incoming>| {
        let authorization = request.headers().get(AUTHORIZATION);
        let authorization = authorization.map(|value| value.to_str().unwrap().to_owned());
        shared.asked.unbounded_send(Asked { certificate: certificate.clone(), authorization }).unwrap();
        let body = answer(request.uri().path(), &shared);
        async { Ok::<_, Infallible>(Response::new(body)) }
    });
    // The way in which the connection ends does not matter.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    shared.open.send_modify(|open| {
        let count = open.remove(&certificate).unwrap();
        if count > 1 {
            open.insert(certificate, count - 1);
        }
    });
}

fn answer(path: &str, shared: &Shared) -> BoxBody<Bytes, Infallible> {
    let ok = |bytes| Ok(Frame::data(bytes));
    if path == "/watch" {
        let events = shared.events.lock().take().unwrap();
        let events = events.take_while(|event| std::future::ready(event.is_some()));
        let frames = events.map(move |event| ok(event.unwrap_or_default()));
        BoxBody::new(StreamBody::new(frames))
    } else {
        BoxBody::new(StreamBody::new(stream::iter([ok("ok".into())])))
    }
}
