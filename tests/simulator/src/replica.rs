//! Replicas: processes that are started, and restarted whenever they end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::environment::within;
use endpoint_controller_manager::process::{Configuration, Connect, ControllerState, Process};
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::clocks::Clocks;
use crate::connection::Connection;
use crate::host::Host;
use crate::kubelets::PERCENT;
use crate::plan::Setup;
use crate::world::World;

/// A replica, which is restarted whenever its process ends.
pub struct Replica {
    state: Arc<State>,
    /// True while it is to be restarted.
    wanted: watch::Sender<bool>,
    supervisor: JoinHandle<()>,
}

/// The state that a replica shares with the task that restarts its process.
struct State {
    number: usize,
    world: Arc<World>,
    clocks: Arc<Clocks>,
    current: Mutex<Option<Arc<Host>>>,
    metrics: Mutex<Option<Arc<Registry>>>,
    states: Mutex<Vec<ControllerState>>,
}

const LOST: &str = "leader election lost";
const GAVE_UP: &str = "gave up waiting for the API server";
/// The ends of processes that are not failures of this program.
const EXPECTED_ENDS: [&str; 4] =
    [LOST, GAVE_UP, "acquired the lease, but could not refresh the cache", "received a second signal"];
/// The time for a process to end after SIGTERM.
const SHUTDOWN: Duration = Duration::from_secs(90);

impl Replica {
    /// Starts a replica.
    pub fn start(world: &Arc<World>, number: usize) -> Self {
        let state = Arc::new(State {
            number,
            world: Arc::clone(world),
            clocks: Arc::new(Clocks::new(world.start)),
            current: Mutex::default(),
            metrics: Mutex::default(),
            states: Mutex::default(),
        });
        let wanted = watch::Sender::new(true);
        let supervisor = tokio::spawn(Arc::clone(&state).supervise(wanted.subscribe()));
        Self { state, wanted, supervisor }
    }

    pub fn number(&self) -> usize {
        self.state.number
    }

    /// The host of its process, if one runs.
    pub fn host(&self) -> Option<Arc<Host>> {
        self.state.current.lock().clone()
    }

    /// The metrics of its process, if its caches were synced.
    pub fn metrics(&self) -> Option<Arc<Registry>> {
        self.state.metrics.lock().clone()
    }

    /// The state that the controllers of its process keep.
    pub fn controller_states(&self) -> Vec<ControllerState> {
        self.state.states.lock().clone()
    }

    /// Moves its wall clock.
    pub fn jump(&self, seconds: i64) {
        self.state.clocks.jump(seconds);
    }

    /// Changes the rate of its clocks.
    pub fn set_rate(&self, percent: u32) {
        self.state.clocks.set_rate(percent);
    }

    /// Ends it for good by SIGTERM.
    pub async fn stop(self) {
        self.wanted.send_replace(false);
        if let Some(host) = self.host() {
            host.terminate();
        }
        if timeout(SHUTDOWN, self.supervisor).await.is_err() {
            self.state.world.violation(format!("r{} does not end after SIGTERM", self.state.number));
        }
    }
}

impl State {
    async fn supervise(self: Arc<Self>, mut wanted: watch::Receiver<bool>) {
        // What a killed process left behind is neither run nor dropped: its requests on the way arrive.
        let mut killed = Vec::new();
        while *wanted.borrow() {
            let host = Host::new(&self.world, self.number, Arc::clone(&self.clocks));
            *self.current.lock() = Some(Arc::clone(&host));
            self.world.log(|| format!("r{} starts", self.number));
            let mut process = self.spawn(&host);
            tokio::select! {
                biased;
                () = host.died() => {
                    self.world.log(|| format!("r{} is dead", self.number));
                    killed.push(process);
                }
                outcome = &mut process => {
                    host.kill();
                    let outcome = match outcome {
                        Ok(outcome) => outcome,
                        Err(error) => Err(error.to_string()),
                    };
                    self.world.log(|| format!("r{} ends: {outcome:?}", self.number));
                    if let Err(error) = outcome && !self.may_end(&host, &error) {
                        self.world.violation(format!("r{} ended: {error}", self.number));
                    }
                }
            }
            *self.current.lock() = None;
            *self.metrics.lock() = None;
            self.states.lock().clear();
            let mut rng = self.world.with(|state| state.dice.roll(format!("r{} restarts", self.number)));
            let delay = 200 + 20 * u64::try_from(rng.below(200)).unwrap_or_default();
            tokio::select! {
                biased;
                _ = wanted.wait_for(|wanted| !wanted) => {}
                () = sleep(Duration::from_millis(delay)) => {}
            }
        }
    }

    /// True if a process may end so: only one that led loses the election, and only one that starts gives up.
    fn may_end(&self, host: &Host, error: &str) -> bool {
        let Some(end) = EXPECTED_ENDS.into_iter().find(|end| error.contains(end)) else { return false };
        match end {
            LOST => self.world.with(|state| state.watcher.has_led(host.started.number)),
            GAVE_UP => self.metrics.lock().is_none(),
            _ => true,
        }
    }

    fn spawn(self: &Arc<Self>, host: &Arc<Host>) -> JoinHandle<Result<(), String>> {
        let (metrics, registry) = oneshot::channel();
        let (states, kept) = oneshot::channel();
        let (terminate, terminated) = oneshot::channel();
        host.terminates_by(terminate);
        let (state, of) = (Arc::clone(self), Arc::clone(host));
        tokio::spawn(keep(registry, of, move |registry| *state.metrics.lock() = Some(registry)));
        let (state, of) = (Arc::clone(self), Arc::clone(host));
        tokio::spawn(keep(kept, of, move |kept| *state.states.lock() = kept));
        let (world, connected) = (Arc::downgrade(&self.world), Arc::clone(host));
        let connect: Connect =
            Arc::new(move |_| Ok(kube::Client::new(Connection::new(&world, &connected), "default")));
        let gate = self.world.with(|state| state.gate);
        let is_second = self.number == self.world.second_writer();
        let configuration = configuration(&self.world.plan.setup, gate, is_second);
        let process = Process { metrics, states, terminate: terminated };
        let process = process.run(configuration, connect);
        let process = async { process.await.map_err(|error| kube_api::error_chain(&*error)) };
        tokio::spawn(within(Arc::clone(host) as _, process))
    }
}

/// Keeps what a process sends, unless that was just before its end: it says nothing about the next one.
async fn keep<T>(sent: oneshot::Receiver<T>, host: Arc<Host>, keep: impl FnOnce(T)) {
    if let Ok(sent) = sent.await
        && !host.is_dead()
    {
        keep(sent);
    }
}

/// The time within which a leader must renew its Lease, in seconds.
pub fn renew_deadline(setup: &Setup) -> u64 {
    5 * setup.retry_seconds
}

/// With 200 a second, fifty syncs may wait for their writes; with 20, five.
pub(crate) fn requests_per_second(setup: &Setup) -> u32 {
    let plenty = if setup.latency_milliseconds.is_multiple_of(20) { 200 } else { 20 };
    setup.writes_per_second.unwrap_or(plenty)
}

/// The configuration of the replicas. Parsing takes longer than many histories, so that each is parsed once in a thread.
/// A second writer only mirrors, and needs no Lease.
fn configuration(setup: &Setup, gate: bool, is_second: bool) -> Configuration {
    thread_local! {
        static PARSED: std::cell::RefCell<HashMap<Vec<String>, Configuration>> = std::cell::RefCell::default();
    }
    let mut words = vec![
        "endpoint-controller-manager".to_owned(),
        "--master=http://simulated".to_owned(),
        "--secure-port=0".to_owned(),
        format!("--leader-elect={}", setup.election),
        format!("--leader-elect-retry-period={}s", setup.retry_seconds),
        format!("--leader-elect-renew-deadline={}s", renew_deadline(setup)),
        format!("--leader-elect-lease-duration={}s", renew_deadline(setup) * 3 / 2),
        format!("--max-endpoints-per-slice={}", setup.max),
        format!("--kube-api-qps={}", requests_per_second(setup)),
        format!("--kube-api-burst={}", setup.writes_per_second.unwrap_or(30)),
        format!(
            "--feature-gates=EndpointControllerNameWellKnownLabel={gate},EndpointSliceCoalescing={},\
             EndpointsKeepReadyOnDisruption={}",
            setup.coalescing, setup.keeps_ready
        ),
        format!("--disruption-lost-nodes-percent={PERCENT}"),
        format!("--disruption-scope={}", if setup.scope_is_zone { "zone" } else { "cluster" }),
        format!(
            "--kube-api-content-type={}",
            if setup.json { "application/json" } else { "application/vnd.kubernetes.protobuf" }
        ),
        format!("--endpoint-updates-batch-period={}ms", setup.batch_milliseconds),
        format!("--endpointslice-updates-batch-period={}ms", setup.batch_milliseconds),
        format!("--mirroring-endpointslice-updates-batch-period={}ms", setup.batch_milliseconds),
    ];
    if is_second {
        let only = ["--leader-elect=false", "--controllers=endpointslice-mirroring-controller"];
        words.extend(only.map(ToOwned::to_owned));
    }
    let parsed = PARSED.with_borrow_mut(|parsed| {
        let new = || Configuration::parse(&words).unwrap_or_else(|error| panic!("{error}"));
        parsed.entry(words.clone()).or_insert_with(new).clone()
    });
    match setup.sync_cache_min_pods {
        Some(pods) => parsed.with_sync_caches_from(pods),
        None => parsed,
    }
}
