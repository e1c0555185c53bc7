//! The way from the process to the API server, with faults.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use embedded_apiserver::ApiServer;
use futures::stream;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};
use kube::client::Body;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::sleep;
use tower::Service as _;

use super::Extra;
use super::cluster::Cluster;
use super::oracle::published;
use crate::resource::Resource as _;

/// A watch, and what it depends on.
type Stream = (embedded_apiserver::Body, watch::Receiver<()>, watch::Receiver<&'static str>);
type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// The state of the network, and what came through.
#[derive(Default)]
pub(super) struct State {
    /// The kind of `Extra` is not installed.
    pub(super) is_unserved: bool,
    /// The responses to the next lists, and to the next writes of slices, in place of the server's.
    lists: VecDeque<u16>,
    writes: VecDeque<u16>,
    /// The number of writes of slices so far.
    pub(super) written: usize,
    /// The process that runs.
    pub(super) process: u64,
    /// The addresses that have been right since the slices were last a function of the cluster, of a Service and a pod that have not
    /// changed: they are published all the time.
    pub(super) kept: BTreeMap<String, String>,
    /// The rules that requests have broken.
    pub(super) wrong: Vec<String>,
}

pub(super) struct Network {
    server: ApiServer,
    pub(super) state: Mutex<State>,
    /// Changes when all watches break.
    cut: watch::Sender<()>,
    /// The kind of which no event arrives.
    stalled: watch::Sender<&'static str>,
}

/// The kinds by the ends of their paths.
const KINDS: [&str; 6] =
    ["/services", "/pods", "/nodes", "/endpointslices", "/serviceaccounts", "/namespaces"];
/// The responses of a server that is overloaded, that disagrees, and that fails; and a response that is lost.
const REFUSALS: [u16; 4] = [429, 409, 500, 504];

impl Network {
    pub(super) fn new(server: ApiServer) -> Arc<Self> {
        let (state, cut, stalled) = (Mutex::default(), watch::Sender::new(()), watch::Sender::new(""));
        Arc::new(Self { server, state, cut, stalled })
    }

    /// A connection for a process.
    pub(super) fn connect(self: &Arc<Self>) -> kube::Client {
        let (network, process) = (Arc::clone(self), self.state.lock().process);
        let service = tower::service_fn(move |request: Request<Body>| {
            let network = Arc::clone(&network);
            async move { Ok::<_, Infallible>(network.answer(process, request).await) }
        });
        kube::Client::new(service, "default")
    }

    /// Begins a fault, or none.
    pub(super) fn break_something(&self, Cluster { random, log, server, .. }: &mut Cluster) {
        let mut state = self.state.lock();
        let refusals = (0..random.u8(1..4)).map(|_| REFUSALS[random.usize(..4)]).collect();
        let fault = random.u8(..12);
        log.push(format!("fault {fault}, refusals {refusals:?}"));
        match fault {
            0 | 1 => state.writes = refusals,
            2 => state.lists = refusals,
            3 => state.is_unserved = true,
            4..7 => _ = self.stalled.send_replace(KINDS[random.usize(..6)]),
            _ => {}
        }
        if [2, 7].contains(&fault) {
            server.compact();
        }
        if [2, 3, 7, 8].contains(&fault) {
            self.cut.send_replace(());
        }
    }

    /// Ends all faults.
    pub(super) fn heal(&self, is_unserved: bool) {
        let mut state = self.state.lock();
        (state.is_unserved, state.lists, state.writes) = (is_unserved, VecDeque::new(), VecDeque::new());
        self.stalled.send_replace("");
    }

    async fn answer(&self, process: u64, request: Request<Body>) -> Answer {
        let (is_get, path) = (*request.method() == Method::GET, request.uri().path().to_owned());
        let query = request.uri().query().unwrap_or_default();
        let (is_watch, is_list) = (query.contains("watch=true"), !query.contains("&resourceVersion="));
        let is_write = !is_get && path.contains("/endpointslices");
        let latency = || Duration::from_millis(if is_write { fastrand::u64(..40) } else { 0 });
        sleep(latency()).await;
        let refusal = {
            let mut state = self.state.lock();
            if is_write && process != state.process {
                state.wrong.push(format!("{path} is written by a process that has ended"));
            }
            state.written += usize::from(is_write);
            match () {
                () if is_write => state.writes.pop_front(),
                () if path == Extra::PATH && state.is_unserved => Some(404),
                () if is_watch && is_list => state.lists.pop_front(),
                () => None,
            }
        };
        // A write whose response is lost is made.
        let response = match refusal {
            None => Some(self.server.clone().call(request).await),
            Some(504) if is_write => Some(self.server.clone().call(request).await),
            Some(_) => None,
        };
        if is_write {
            self.look();
        }
        sleep(latency()).await;
        match (response, refusal) {
            (Some(Ok(response)), None) if is_watch => self.breaking(&path, response),
            (Some(Ok(response)), None) => response.map(BodyExt::boxed_unsync),
            (_, code) => {
                let response = Response::builder().status(code.unwrap_or(500)).header("retry-after", "1");
                response.body(Empty::new().boxed_unsync()).unwrap()
            }
        }
    }

    fn look(&self) {
        let (published, mut state) = (published(&self.server), self.state.lock());
        let is_lost = |address: &&String| !published.iter().any(|line| line.starts_with(&**address));
        let lost: Vec<_> = state.kept.keys().filter(is_lost).map(|it| format!("{it}is withdrawn")).collect();
        state.wrong.extend(lost);
    }

    /// A watch that breaks and stalls with the network, and that may be slow.
    fn breaking(&self, path: &str, response: Response<embedded_apiserver::Body>) -> Answer {
        let kind = KINDS.into_iter().find(|kind| path.ends_with(kind)).unwrap_or_default();
        let (cut, stalled) = (self.cut.subscribe(), self.stalled.subscribe());
        let longest = if fastrand::u8(..4) == 0 { 1500 } else { 40 };
        response.map(|body| {
            let next = move |(mut body, mut cut, mut stalled): Stream| async move {
                let frame = async {
                    let frame = body.frame().await;
                    sleep(Duration::from_millis(fastrand::u64(..longest))).await;
                    _ = stalled.wait_for(|stalled| *stalled != kind).await;
                    frame
                };
                let frame = tokio::select! {
                    biased;
                    _ = cut.changed() => None,
                    frame = frame => frame,
                };
                Some((frame?, (body, cut, stalled)))
            };
            StreamBody::new(stream::unfold((body, cut, stalled), next)).boxed_unsync()
        })
    }
}
