//! A minimal HTTP/2 server that can break the protocol at any point: its frames are written by hand.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::LIMIT;
use crate::mutual_tls::Authority;

/// The server's treatment of a request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Answers with this JSON.
    Answer(String),
    /// Begins an answer with this JSON and does not end it.
    Begin(String),
    /// Sends nothing.
    Ignore,
    /// Refuses the stream.
    Refuse,
    /// The server sends GOAWAY: it has not processed this request.
    GoAway,
    /// Resets the stream, as after a failure halfway.
    Fail,
    /// Closes the connection.
    Close,
}

/// A server on a loopback port. Dropping it ends all connections.
pub struct Server {
    pub address: SocketAddr,
    authority: Authority,
    asked: UnboundedReceiver<usize>,
    _accepting: JoinSet<()>,
}

struct Shared {
    acts: Mutex<VecDeque<Act>>,
    asked: UnboundedSender<usize>,
}

impl Server {
    /// Treats the requests in this order, and ignores later ones.
    pub async fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        let authority = Authority::new("servers");
        let acceptor = authority.issue("127.0.0.1").acceptor(&[b"h2"]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, asked) = unbounded();
        let acts = Mutex::new(acts.into_iter().collect());
        let shared = Arc::new(Shared { acts, asked: tell });
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            for number in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                let (acceptor, shared) = (acceptor.clone(), Arc::clone(&shared));
                connections.spawn(async move {
                    // Either fails when the client goes away.
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let _ = serve(stream, number, &shared).await;
                });
            }
        });
        Self { address, authority, asked, _accepting: accepting }
    }

    /// The configuration of a client that reaches it at this address.
    pub fn config_at(&self, address: SocketAddr) -> kube::Config {
        let mut config = kube::Config::new(format!("https://{address}").parse().unwrap());
        config.root_cert = Some(vec![self.authority.der()]);
        config
    }

    pub fn config(&self) -> kube::Config {
        self.config_at(self.address)
    }

    /// Waits for the next request, and returns the number of its connection.
    pub async fn asked(&mut self) -> usize {
        timeout(LIMIT, self.asked.next()).await.unwrap().unwrap()
    }

    /// The number of requests that arrived unexpectedly.
    pub fn more(&mut self) -> usize {
        std::iter::from_fn(|| self.asked.try_recv().ok()).count()
    }
}

const PREFACE: usize = 24;
/// The maximum frame size of a client that sets none.
const MAX_FRAME: usize = 1 << 14;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const CANCEL: u32 = 8;
const REFUSED_STREAM: u32 = 7;
/// `:status: 200` of the static table, and `content-type` as a literal.
const OK_JSON: &[u8] = b"\x88\x0f\x10\x10application/json";

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    number: usize,
    shared: &Shared,
) -> io::Result<()> {
    stream.read_exact(&mut [0; PREFACE]).await?;
    send(&mut stream, SETTINGS, 0, 0, b"").await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let (kind, flags) = (head[3], head[4]);
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut payload).await?;
        match kind {
            SETTINGS if flags & ACK == 0 => send(&mut stream, SETTINGS, ACK, 0, b"").await?,
            PING if flags & ACK == 0 => send(&mut stream, PING, ACK, 0, &payload).await?,
            HEADERS => {
                let act = shared.acts.lock().pop_front().unwrap_or(Act::Ignore);
                shared.asked.unbounded_send(number).unwrap();
                match act {
                    Act::Answer(body) => {
                        send(&mut stream, HEADERS, END_HEADERS, id, OK_JSON).await?;
                        send(&mut stream, DATA, END_STREAM, id, body.as_bytes()).await?;
                    }
                    Act::Begin(body) => {
                        send(&mut stream, HEADERS, END_HEADERS, id, OK_JSON).await?;
                        for piece in body.as_bytes().chunks(MAX_FRAME) {
                            send(&mut stream, DATA, 0, id, piece).await?;
                        }
                    }
                    Act::Ignore => {}
                    Act::Refuse => {
                        send(&mut stream, RST_STREAM, 0, id, &REFUSED_STREAM.to_be_bytes()).await?;
                    }
                    Act::Fail => send(&mut stream, RST_STREAM, 0, id, &CANCEL.to_be_bytes()).await?,
                    Act::GoAway => {
                        let last = id.saturating_sub(2).to_be_bytes();
                        send(&mut stream, GOAWAY, 0, 0, &[last, [0; 4]].concat()).await?;
                    }
                    Act::Close => return Ok(()),
                }
            }
            _ => {}
        }
    }
}

async fn send<S: AsyncWrite + Unpin>(
    stream: &mut S,
    kind: u8,
    flags: u8,
    id: u32,
    payload: &[u8],
) -> io::Result<()> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let frame = [&length[1..], &[kind, flags], &id.to_be_bytes(), payload].concat();
    stream.write_all(&frame).await?;
    stream.flush().await
}
