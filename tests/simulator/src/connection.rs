//! The connections of a replica: requests to the fronts, with faults.

use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use kube::client::Body;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tower::{BoxError, Service};

use crate::action::KINDS;
use crate::clients::take;
use crate::fate::{Fate, refusal, refused, watch_fate};
use crate::fault::{Accident, Fault};
use crate::host::Host;
use crate::last_activity::LastActivity;
use crate::oracle::orphans::Read;
use crate::oracle::{Watcher, Write, Written};
use crate::policy::admit;
use crate::steps::Change;
use crate::stream::SimulatedBody;
use crate::world::World;

type Answer = Result<Response<SimulatedBody>, BoxError>;

/// One connection of a replica.
#[derive(Clone)]
pub struct Connection {
    /// Weak, because a process may leave its clients behind: its cache and its controllers refer to each other.
    world: Weak<World>,
    host: Arc<Host>,
    activity: LastActivity,
}

impl Connection {
    pub fn new(world: &Weak<World>, host: &Arc<Host>) -> Self {
        Self { world: Weak::clone(world), host: Arc::clone(host), activity: LastActivity::default() }
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
        let Self { world, host, activity } = self.clone();
        Box::pin(async move {
            let world = world.upgrade().ok_or("the history is over")?;
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let exchange = Exchange::new(world, host, activity, head, body);
            exchange.run().await
        })
    }
}

struct Exchange {
    world: Arc<World>,
    host: Arc<Host>,
    activity: LastActivity,
    head: Parts,
    body: Bytes,
    fate: Fate,
    /// The replica held the Lease when it sent the request, or needs none.
    may_write: bool,
}

impl Exchange {
    fn new(world: Arc<World>, host: Arc<Host>, activity: LastActivity, head: Parts, body: Bytes) -> Self {
        let mut fate = Fate::draw(&world, host.replica, &head);
        let policy = *world.idle_timeout.borrow();
        if let Some(policy) = policy.filter(|policy| activity.idle() >= policy.after) {
            // The balancer has forgotten the connection; the client replaces it.
            fate.fault = Some(if policy.silent { Fault::LostRequest } else { Fault::BrokenBefore });
        }
        activity.note();
        let may_write = world.with(|state| state.watcher.may_write(host.replica));
        Self { world, host, activity, head, body, fate, may_write }
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
        let activity = self.activity.clone();
        let answer = self.exchange().await;
        activity.note();
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
        if fate.accident == Some(Accident::CrashBefore) {
            host.kill();
            return hang().await;
        }
        // Once sent, a request arrives whatever happens to its sender, unless the sender cancels it.
        let (fate, world, host) = (*fate, Arc::clone(world), Arc::clone(host));
        let answer = if fate.before.is_zero() {
            self.deliver().await?
        } else {
            Cancelled(tokio::spawn(self.deliver())).await??
        };
        match fate.accident {
            Some(Accident::CrashAfter) => {
                host.kill();
                return hang().await;
            }
            Some(Accident::LostAnswer) => return hang().await,
            Some(Accident::BrokenAnswer) => return Err("connection closed before message completed".into()),
            _ => {}
        }
        sleep(fate.after).await;
        let cut_off = world.with(|state| state.partitioned[host.replica] > Instant::now());
        match fate.fault {
            _ if cut_off => hang().await,
            Some(Fault::LostAnswer) => hang().await,
            Some(Fault::BrokenAfter) => Err("connection closed before message completed".into()),
            Some(Fault::TimeoutAfter) => Ok(refusal(StatusCode::GATEWAY_TIMEOUT, "Timeout", None)),
            _ => {
                if let Some(Written(name)) = answer.extensions().get() {
                    world.with(|state| state.watcher.acknowledged(name));
                    world.check_growth(name);
                }
                Ok(answer)
            }
        }
    }

    /// The request at the API server.
    async fn deliver(self) -> Answer {
        let Self { world, host, activity, mut head, body, fate, may_write } = self;
        let _on_its_way = (head.method != Method::GET).then(|| OnItsWay::new(&world));
        let sent = world.server.version();
        sleep(fate.before).await;
        if let Some(refused) = refused(&world, &head, fate) {
            return Ok(refused);
        }
        let is_late = may_write && world.with(|state| state.watcher.has_lost_lease(host.replica));
        let (write, change) = (Write::of(&host, &head, sent, is_late), Change::of(&head));
        let method = head.method.clone();
        let is_watch = head.uri.query().is_some_and(|query| query.contains("watch=true"));
        let kind = kind(&head.uri);
        let query = head.uri.query().unwrap_or_default();
        let is_list = query.contains("sendInitialEvents");
        let of_services = kind.filter(|kind| KINDS[*kind] == "services");
        if let Some(read) = of_services.and_then(|_| Read::of(query)) {
            let leads = |watcher: &Watcher| {
                if world.plan.setup.election {
                    watcher.is_holder(host.replica)
                } else {
                    host.replica != world.second_writer()
                }
            };
            world.with(|state| {
                let leads = leads(&state.watcher);
                state.watcher.orphans.services_read(host.started.number, leads, &read);
            });
        }
        let kind = kind.filter(|_| is_watch);
        head.headers.remove(http::header::CONTENT_LENGTH);
        let (body, is_admitted) = admit(&world, &head, body);
        let is_second = host.replica == world.second_writer();
        let path = if is_second { head.uri.path().to_owned() } else { String::new() };
        let request = Request::from_parts(head, Full::new(body));
        let Ok(answer) = world.server.clone().call(request).await;
        let (mut head, body) = answer.into_parts();
        if let Some(kind) = kind {
            if is_list {
                world.listed(host.replica, host.started, kind);
            }
            let watch = watch_fate(&world, host.replica, kind, is_list);
            let body = SimulatedBody::watch(&world, &host, &activity, [fate.front, kind], body, watch);
            return Ok(Response::from_parts(head, body));
        }
        let Ok(body) = body.collect().await;
        let body = body.to_bytes();
        let write = write.filter(|_| head.status.is_success() && method != Method::GET);
        if is_second {
            write.iter().for_each(|_| world.with(|state| state.watcher.changed_by_others(&path)));
        } else if let Some(write) = write {
            if let Some(written) = world.committed(&write.admitted(is_admitted), &head.headers, &body) {
                if is_admitted {
                    world.with(|state| state.watcher.tampered.insert(written.0.clone()));
                }
                if method == Method::POST {
                    take(&world, &written.0);
                }
                head.extensions.insert(written);
            }
            if world.plan.measured {
                world.with(|state| change.iter().for_each(|it| state.steps.add(it, &head.headers, &body)));
            }
        }
        Ok(Response::from_parts(head, SimulatedBody::whole(body)))
    }

    fn name(&self) -> String {
        let target = self.head.uri.path_and_query().map_or("", |target| target.as_str());
        let target = target.trim_start_matches("/apis/").trim_start_matches("/api/");
        format!("{} {target}", self.head.method)
    }
}

/// The kind of objects that a request is about.
fn kind(uri: &Uri) -> Option<usize> {
    // The other watch of Services has `!` before the label.
    let is_delegated = uri.query().is_some_and(|query| query.contains("labelSelector=service"));
    let is_of =
        |kind: &str| uri.path().ends_with(kind) && !is_delegated || kind == "delegated" && is_delegated;
    KINDS.iter().position(|kind| is_of(kind))
}

async fn hang() -> Answer {
    std::future::pending().await
}

/// Counts a write on its way to the API server until it is dropped.
struct OnItsWay(Arc<World>);

impl OnItsWay {
    fn new(world: &Arc<World>) -> Self {
        world.with(|state| state.on_their_way += 1);
        Self(Arc::clone(world))
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        self.0.with(|state| state.on_their_way -= 1);
    }
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
