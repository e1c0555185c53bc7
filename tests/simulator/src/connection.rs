//! The connections of a replica: requests to the fronts, with faults.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use kube::client::Body;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tower::{BoxError, Service};

use crate::action::KINDS;
use crate::fault::Fault;
use crate::oracle::Write;
use crate::replica::Host;
use crate::stream::{SimulatedBody, WatchFate};
use crate::world::{State, World};

type Answer = Result<Response<SimulatedBody>, BoxError>;

/// One connection of a replica.
#[derive(Clone)]
pub struct Connection {
    /// Weak, because a process may leave its clients behind: its cache and its controllers refer to each other.
    world: Weak<World>,
    host: Arc<Host>,
}

impl Connection {
    pub fn new(world: &Weak<World>, host: &Arc<Host>) -> Self {
        Self { world: Weak::clone(world), host: Arc::clone(host) }
    }
}

impl Service<Request<Body>> for Connection {
    type Response = Response<SimulatedBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { world, host } = self.clone();
        Box::pin(async move {
            let world = world.upgrade().ok_or("the history is over")?;
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let exchange = Exchange::new(world, host, head, body);
            exchange.run().await
        })
    }
}

/// What happens to one request.
#[derive(Debug, Clone, Copy)]
struct Fate {
    front: usize,
    before: Duration,
    after: Duration,
    fault: Option<Fault>,
    retry_after: u32,
}

struct Exchange {
    world: Arc<World>,
    host: Arc<Host>,
    head: Parts,
    body: Bytes,
    fate: Fate,
}

impl Exchange {
    fn new(world: Arc<World>, host: Arc<Host>, head: Parts, body: Bytes) -> Self {
        let longest = world.plan.setup.latency_milliseconds;
        let is_put = head.method == Method::PUT;
        let fate = world.with(|state| Fate::draw(state, longest, is_put));
        Self { world, host, head, body, fate }
    }

    async fn run(self) -> Answer {
        let (world, host) = (Arc::clone(&self.world), Arc::clone(&self.host));
        let name = self.name();
        let fate = self.fate;
        let is_lease = self.head.uri.path().contains("/leases");
        let is_event = self.head.uri.path().contains("/events");
        let _waiting = (!is_lease && !is_event).then(|| host.waiting());
        world.log(|| {
            let fault = fate.fault.map(|fault| format!(" [{fault}]")).unwrap_or_default();
            format!("r{} -> {name}{fault}", host.replica)
        });
        let answer = self.exchange().await;
        world.log(|| match &answer {
            Ok(answer) => format!("r{} <- {} {name}", host.replica, answer.status()),
            Err(error) => format!("r{} <- {error}: {name}", host.replica),
        });
        let status = answer.as_ref().map_or([0, 0], |answer| answer.status().as_u16().to_be_bytes());
        if !name.contains("/events") {
            world.digest(&[name.as_bytes(), &status]);
        }
        answer
    }

    async fn exchange(self) -> Answer {
        let Self { world, host, fate, .. } = &self;
        let now = Instant::now();
        let cut_off = world.with(|state| state.partitioned[host.replica] > now);
        if cut_off {
            return hang().await;
        }
        if world.with(|state| state.fronts[fate.front].down) {
            sleep(Duration::from_millis(1)).await;
            return Err("connection refused".into());
        }
        match fate.fault {
            Some(Fault::LostRequest) => return hang().await,
            Some(Fault::BrokenBefore) => return Err("connection reset by peer".into()),
            _ => {}
        }
        // Once sent, a request arrives whatever happens to its sender, unless the sender cancels it.
        let (fate, world, host) = (*fate, Arc::clone(world), Arc::clone(host));
        let answer = if fate.before.is_zero() {
            self.deliver().await?
        } else {
            Cancelled(tokio::spawn(self.deliver())).await??
        };
        sleep(fate.after).await;
        let cut_off = world.with(|state| state.partitioned[host.replica] > Instant::now());
        match fate.fault {
            _ if cut_off => hang().await,
            Some(Fault::LostAnswer) => hang().await,
            Some(Fault::BrokenAfter) => Err("connection closed before message completed".into()),
            Some(Fault::TimeoutAfter) => Ok(refusal(StatusCode::GATEWAY_TIMEOUT, "Timeout", None)),
            _ => Ok(answer),
        }
    }

    /// The request at the API server.
    async fn deliver(self) -> Answer {
        let Self { world, host, mut head, body, fate } = self;
        sleep(fate.before).await;
        if let Some(refused) = refused(&world, &head, fate) {
            return Ok(refused);
        }
        let write = Write::of(&world, host.replica, &head);
        let method = head.method.clone();
        let is_watch = head.uri.query().is_some_and(|query| query.contains("watch=true"));
        let kind = KINDS.iter().position(|kind| head.uri.path().ends_with(kind)).filter(|_| is_watch);
        let is_list = head.uri.query().is_some_and(|query| query.contains("sendInitialEvents"));
        head.headers.remove(http::header::CONTENT_LENGTH);
        let request = Request::from_parts(head, Full::new(body));
        let Ok(answer) = world.server.clone().call(request).await;
        let (head, body) = answer.into_parts();
        if let Some(kind) = kind {
            let watch = world.with(|state| watch_fate(state, is_list));
            let body = SimulatedBody::watch(&world, &host, [fate.front, kind], body, watch);
            return Ok(Response::from_parts(head, body));
        }
        let Ok(body) = body.collect().await;
        let body = body.to_bytes();
        if let Some(write) = write.filter(|_| head.status.is_success() && method != Method::GET) {
            world.committed(&write, &head.headers, &body);
        }
        Ok(Response::from_parts(head, SimulatedBody::whole(body)))
    }

    fn name(&self) -> String {
        let target = self.head.uri.path_and_query().map_or("", |target| target.as_str());
        let target = target.trim_start_matches("/apis/").trim_start_matches("/api/");
        format!("{} {target}", self.head.method)
    }
}

impl Fate {
    fn draw(state: &mut State, longest: u64, is_put: bool) -> Self {
        let rng = &mut state.rng;
        let mut latency = || {
            let most = usize::try_from(longest).unwrap_or_default();
            if most == 0 { 0 } else { u64::try_from(rng.below(most)).unwrap_or_default() }
        };
        let (mut before, after) = (latency(), latency());
        let front = rng.below(state.fronts.len());
        let retry_after = u32::try_from(rng.below(3)).unwrap_or_default();
        let dice = u32::try_from(rng.below(10_000)).unwrap_or_default();
        let mut left = dice;
        let of_requests = state.rates.iter().filter(|(fault, _)| Fault::OF_REQUESTS.contains(fault));
        let mut fault = None;
        for (candidate, rate) in of_requests {
            if left < *rate {
                fault = Some(*candidate);
                break;
            }
            left -= rate;
        }
        fault = fault.filter(|fault| *fault != Fault::Conflict || is_put);
        if let Some(fault) = fault {
            state.counts.add(fault);
        }
        if fault == Some(Fault::Slow) {
            before += 200 + 40 * u64::from(dice % 500);
        }
        let [before, after] = [before, after].map(Duration::from_millis);
        Self { front, before, after, fault, retry_after }
    }
}

/// The answer of an API server that does nothing.
fn refused(world: &World, head: &Parts, fate: Fate) -> Option<Response<SimulatedBody>> {
    let now = Instant::now();
    let is_write = head.method != Method::GET && !head.uri.path().contains("/leases");
    let (forbidden, unauthorized) =
        world.with(|state| (state.forbidden > now && is_write, state.unauthorized > now));
    let seconds = (fate.retry_after > 0).then_some(fate.retry_after);
    Some(match fate.fault {
        _ if unauthorized => refusal(StatusCode::UNAUTHORIZED, "Unauthorized", None),
        _ if forbidden => refusal(StatusCode::FORBIDDEN, "Forbidden", None),
        Some(Fault::Conflict) => refusal(StatusCode::CONFLICT, "Conflict", None),
        Some(Fault::TooManyRequests) => refusal(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", seconds),
        Some(Fault::InternalError) => refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", None),
        Some(Fault::Unavailable) => refusal(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", seconds),
        Some(Fault::TimeoutBefore) => refusal(StatusCode::GATEWAY_TIMEOUT, "Timeout", None),
        Some(Fault::Forbidden) if is_write => refusal(StatusCode::FORBIDDEN, "Forbidden", None),
        _ => return None,
    })
}

fn refusal(code: StatusCode, reason: &str, retry_after: Option<u32>) -> Response<SimulatedBody> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(),
        "reason": reason, "message": "a fault"});
    let mut answer = Response::builder().status(code).header(http::header::CONTENT_TYPE, "application/json");
    if let Some(seconds) = retry_after {
        answer = answer.header(http::header::RETRY_AFTER, seconds);
    }
    answer.body(SimulatedBody::whole(status.to_string().into())).expect("a valid answer")
}

/// What will happen to a watch that begins now.
fn watch_fate(state: &mut State, is_list: bool) -> WatchFate {
    let mut fate = WatchFate::default();
    for (fault, rate) in &state.rates {
        let happens = || u32::try_from(state.rng.below(10_000)).unwrap_or_default() < *rate;
        if !Fault::OF_WATCHES.contains(fault) || !{ happens }() {
            continue;
        }
        match fault {
            Fault::PartialList if is_list => fate.frames = Some(1 + state.rng.below(3)),
            Fault::PartialList => {}
            Fault::DuplicateBookmark => fate.duplicates_bookmarks = true,
            fault => {
                let longest = [500, 5_000, 40_000][state.rng.below(3)];
                let after =
                    Duration::from_millis(u64::try_from(state.rng.below(longest)).unwrap_or_default());
                fate.end = Some((*fault, Instant::now() + after));
            }
        }
    }
    fate
}

async fn hang() -> Answer {
    std::future::pending().await
}

/// A request under way, which is cancelled when its sender drops it.
struct Cancelled<T>(JoinHandle<T>);

impl<T> Future for Cancelled<T> {
    type Output = Result<T, tokio::task::JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<T> Drop for Cancelled<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
