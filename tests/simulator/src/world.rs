//! The cluster around the replicas: the API server, its fronts, the faults in force, the trace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::environment::SystemEnvironment;
use embedded_apiserver::{ApiServer, Environment, KnownObjects, Snapshot};
use expected_objects::Named;
use futures::FutureExt as _;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use parking_lot::Mutex;
use random_operations::NAMESPACE;
use random_operations::requests;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tower::Service as _;

use crate::action::{Action, KINDS};
use crate::clocks;
use crate::dice::Dice;
use crate::fault::{Counts, Fault};
use crate::kubelets::{self, Kubelets};
use crate::oracle::Watcher;
use crate::oracle::growth::are_taken;
use crate::oracle::outage::longest_outage;
use crate::plan::Plan;
use crate::policy::InForce;
use crate::steps::Steps;

/// One API server before the store.
pub struct Front {
    /// Rises when its connections are closed.
    pub epoch: watch::Sender<u64>,
    pub down: bool,
    /// The delay of its events, by kind.
    pub lag: [Duration; KINDS.len()],
}

/// The state of the API server at one moment.
#[derive(Clone)]
pub struct Backup {
    pub snapshot: Snapshot,
    pub version: u64,
}

/// A balancer that drops connections without traffic.
#[derive(Debug, Clone, Copy)]
pub struct IdleTimeout {
    pub after: Duration,
    /// Without a reset, so that the client has to find out.
    pub silent: bool,
}

/// The cluster at the moment when a process started.
#[derive(Debug, Clone, Copy)]
pub struct Started {
    /// The number of the process.
    pub number: u64,
    pub version: u64,
    /// The number of restores until then, which lower versions.
    pub restores: u64,
    pub gate: bool,
}

/// The state that requests and actions change.
pub struct State {
    /// Decides what happens to requests and watches.
    pub dice: Dice,
    /// The number of requests so far, without those of the recorder of events.
    pub requests: u64,
    /// The number of writes on their way to the API server, also those of processes that are dead.
    pub on_their_way: usize,
    /// The time at which the last event arrives that a lagging front holds back.
    pub late_until: Instant,
    pub steps: Steps,
    pub rates: Vec<(Fault, u32)>,
    pub fronts: Vec<Front>,
    /// Until when requests of a replica get no answer.
    pub partitioned: Vec<Instant>,
    /// Until when writes of objects are refused.
    pub forbidden: Instant,
    /// Until when slices and Endpoints cannot be created.
    pub quota: Instant,
    pub unauthorized: Instant,
    /// The slices of which admission refuses updates and deletions, and until when.
    pub refuses_slices: Option<(u8, Instant)>,
    /// Until when another client gives each new slice to itself.
    pub takes_slices: Instant,
    pub policies: Vec<InForce>,
    pub counts: Counts,
    pub watcher: Watcher,
    pub backup: Option<Backup>,
    pub gate: bool,
    pub kubelets: Kubelets,
    /// Lines of the trace, if it is kept.
    trace: Option<Vec<String>>,
    /// A hash over all requests and their outcomes: two runs of a seed have the same.
    pub digest: u64,
}

/// The cluster around the replicas.
pub struct World {
    pub plan: Plan,
    pub server: ApiServer,
    pub start: Instant,
    state: Mutex<State>,
    /// The objects that were last read, by kind.
    known: Mutex<BTreeMap<&'static str, KnownObjects>>,
    pub idle_timeout: watch::Sender<Option<IdleTimeout>>,
    /// Policies or other clients take slices.
    pub takes_slices: bool,
    /// The times for which endpoints may be missing have bounds.
    pub has_bounds: bool,
    /// A policy is in force at some time.
    pub has_policies: bool,
    /// Becomes true when no more faults happen.
    pub healed: watch::Sender<bool>,
}

/// Virtual time as the API server's clock, and seeded randomness.
struct VirtualTime {
    start: Instant,
    random: SystemEnvironment,
}

impl Environment for VirtualTime {
    fn now(&self) -> Timestamp {
        wall_clock(self.start)
    }

    fn random(&self) -> u64 {
        self.random.random()
    }
}

/// The wall clock of the API server.
pub fn wall_clock(start: Instant) -> Timestamp {
    clocks::wall_clock(start, Instant::now(), 0)
}

impl World {
    /// The cluster before anything has happened: nodes and a namespace.
    pub fn new(plan: Plan, traced: bool) -> Arc<Self> {
        let start = Instant::now();
        let random = SystemEnvironment::seeded(plan.seed);
        let server = ApiServer::builder().environment(VirtualTime { start, random });
        let server = server.garbage_collection(plan.setup.collects_at_once);
        let server = server.deletion_of_endpoints(plan.setup.deletes_endpoints).build();
        let front =
            |_| Front { epoch: watch::Sender::new(0), down: false, lag: [Duration::ZERO; KINDS.len()] };
        let state = State {
            dice: Dice::new(plan.seed ^ 0xfa17),
            requests: 0,
            on_their_way: 0,
            late_until: Instant::now(),
            steps: Steps::default(),
            rates: plan.rates.clone(),
            fronts: (0..plan.setup.fronts).map(front).collect(),
            partitioned: vec![start; plan.setup.replicas + 2],
            forbidden: start,
            quota: start,
            unauthorized: start,
            refuses_slices: None,
            takes_slices: start,
            policies: Vec::new(),
            counts: Counts::default(),
            watcher: Watcher::new(&plan),
            backup: None,
            gate: plan.setup.gate,
            kubelets: Kubelets::default(),
            trace: traced.then(Vec::new),
            digest: 0,
        };
        let (idle_timeout, healed) = (watch::Sender::new(None), watch::Sender::new(false));
        let has_policies = plan.timeline.iter().any(|entry| matches!(entry.action, Action::Policy(_)));
        let state = Mutex::new(state);
        let (takes_slices, has_bounds) = (are_taken(&plan), longest_outage(&plan).is_some());
        let world = Self {
            plan,
            server,
            start,
            state,
            known: Mutex::default(),
            idle_timeout,
            takes_slices,
            has_bounds,
            has_policies,
            healed,
        };
        world.must(&Method::POST, "/api/v1/namespaces", &json!({"metadata": {"name": NAMESPACE}}));
        for (name, zone) in world.plan.setup.nodes() {
            let labels = zone.map(|zone| json!({"topology.kubernetes.io/zone": zone}));
            let status = requests::node_status(2, true);
            let node = json!({"metadata": {"name": name, "labels": labels}, "status": status});
            world.must(&Method::POST, "/api/v1/nodes", &node);
        }
        crate::apply::create_bedrock(&world);
        Arc::new(world)
    }

    /// The number of the replica that is another program, a second writer. The one before it is the fresh process that ends
    /// a history.
    pub fn second_writer(&self) -> usize {
        self.plan.setup.replicas + 1
    }

    /// The time of the API server's clock.
    pub fn now(&self) -> String {
        // Seconds, as `metav1.Time` has them.
        format!("{:.0}", wall_clock(self.start))
    }

    /// Looks at the state. Never held across an await.
    pub fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock())
    }

    /// Counts a fault.
    pub fn count(&self, fault: Fault) {
        self.state.lock().counts.add(fault);
    }

    /// A line of the trace.
    pub fn log(&self, line: impl FnOnce() -> String) {
        let elapsed = self.start.elapsed();
        let mut state = self.state.lock();
        if let Some(trace) = &mut state.trace {
            trace.push(format!("{:>9.3} {}", elapsed.as_secs_f64(), line()));
        }
    }

    /// Takes what is traced.
    pub fn take_trace(&self) -> Vec<String> {
        self.state.lock().trace.take().unwrap_or_default()
    }

    /// Adds to the digest.
    pub fn digest(&self, parts: &[&[u8]]) {
        let mut state = self.state.lock();
        let time = u64::try_from(self.start.elapsed().as_micros()).unwrap_or_default();
        let mut hash = state.digest ^ time;
        for byte in parts.iter().copied().flatten() {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        state.digest = hash.rotate_left(5);
    }

    /// Notes that a rule was broken.
    pub fn violation(&self, rule: impl Into<String>) {
        let rule = rule.into();
        self.log(|| format!("VIOLATION {rule}"));
        let elapsed = self.start.elapsed().as_secs_f64();
        self.with(|state| state.watcher.violations.push(format!("{rule} (at {elapsed:.3} s)")));
    }

    /// Ends all faults that are in force.
    pub fn heal(&self) {
        let now = Instant::now();
        self.with(|state| {
            state.rates.clear();
            for front in &mut state.fronts {
                front.down = false;
                front.lag = [Duration::ZERO; KINDS.len()];
            }
            state.partitioned.fill(now);
            state.forbidden = now;
            state.quota = now;
            state.unauthorized = now;
            state.takes_slices = now;
            state.refuses_slices = None;
            state.policies.retain(InForce::is_lasting);
        });
        kubelets::heal(self);
        self.idle_timeout.send_replace(None);
        self.log(|| "faults end".to_owned());
        self.healed.send_replace(true);
    }

    /// A request of another client, past all faults.
    pub fn request(&self, method: &Method, path: &str, content: &str, body: &Value) -> (StatusCode, Value) {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, content)
            .header(http::header::ACCEPT, "application/json")
            .header(http::header::USER_AGENT, "other-client/1.0")
            .body(Full::<bytes::Bytes>::from(bytes))
            .unwrap();
        let before = self.before(method, path, body);
        let answer = self.server.clone().call(request).now_or_never().expect("an answer without IO").unwrap();
        let status = answer.status();
        if status.is_success() && *method != Method::GET {
            self.state.lock().watcher.changed_by_others(path);
        }
        let bytes = answer.into_body().collect().now_or_never().expect("a body without IO").unwrap();
        let answer = serde_json::from_slice(&bytes.to_bytes()).unwrap_or_default();
        if status.is_success() && *method != Method::GET {
            self.after((method, path, body), before, (status, &answer));
        }
        (status, answer)
    }

    /// The same with a JSON body.
    pub fn send(&self, method: &Method, path: &str, body: &Value) -> (StatusCode, Value) {
        self.request(method, path, "application/json", body)
    }

    /// A merge patch.
    pub fn merge(&self, path: &str, patch: &Value) -> (StatusCode, Value) {
        self.request(&Method::PATCH, path, "application/merge-patch+json", patch)
    }

    /// Sends a request whose refusal does not matter: the object may be gone.
    pub fn apply(&self, request: &requests::Request) {
        self.answer(request);
    }

    /// Sends a request, a patch as a merge patch.
    pub fn answer(
        &self,
        requests::Request { method, path, body }: &requests::Request,
    ) -> (StatusCode, Value) {
        if *method == Method::PATCH { self.merge(path, body) } else { self.send(method, path, body) }
    }

    fn must(&self, method: &Method, path: &str, body: &Value) {
        let (status, answer) = self.send(method, path, body);
        assert!(status.is_success(), "{method} {path}: {answer}");
    }

    /// The cluster for a process that starts now.
    pub fn started(&self) -> Started {
        self.leave_locks();
        let version = self.server.version();
        self.with(|state| {
            state.watcher.starts += 1;
            let number = state.watcher.starts;
            Started { number, version, restores: state.watcher.restores, gate: state.gate }
        })
    }

    /// The objects of a kind by name, in the namespace of the workload.
    pub fn objects(&self, api_version: &str, kind: &'static str) -> Named {
        self.objects_in(NAMESPACE, api_version, kind)
    }

    /// The objects of a kind by name, in this namespace or in none.
    pub fn objects_in(&self, namespace: &str, api_version: &str, kind: &'static str) -> Named {
        let mut known = self.known.lock();
        let objects =
            self.server.objects_known(api_version, kind, known.entry(kind).or_default()).into_iter();
        let named = objects
            .filter(|object| object["metadata"]["namespace"].as_str().is_none_or(|name| name == namespace));
        named
            .map(|object| (object["metadata"]["name"].as_str().unwrap_or_default().to_owned(), object))
            .collect()
    }
}
