//! Replicas: processes that start, run, freeze, crash, and are restarted.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use controller_kit::environment::{Environment, within};
use endpoint_controller_manager::process::{Configuration, Connect, Memory, Process};
use jiff::Timestamp;
use kube_api::time::Clock;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::clocks::Clocks;
use crate::connection::Connection;
use crate::plan::Setup;
use crate::world::{Started, World};

/// The environment of one process.
pub struct Host {
    pub replica: usize,
    pub started: Started,
    state: Mutex<HostState>,
    dead: Notify,
    /// Told when it freezes after some polls.
    froze: Notify,
    clocks: Arc<Clocks>,
    /// The number of requests that the process waits for.
    requests: AtomicUsize,
    /// The number of its watches that work.
    watches: AtomicUsize,
    /// Asks the process to stop.
    terminate: Mutex<Option<oneshot::Sender<()>>>,
}

#[derive(Default)]
struct HostState {
    frozen: bool,
    dead: bool,
    /// Polls until it crashes.
    polls: Option<u64>,
    /// Polls until it freezes.
    polls_to_freeze: Option<u64>,
    waiting: Vec<Waker>,
}

impl Host {
    fn new(world: &World, replica: usize, clocks: Arc<Clocks>) -> Arc<Self> {
        Arc::new(Self {
            replica,
            started: world.started(),
            state: Mutex::default(),
            dead: Notify::new(),
            froze: Notify::new(),
            clocks,
            requests: AtomicUsize::new(0),
            watches: AtomicUsize::new(0),
            terminate: Mutex::new(None),
        })
    }

    /// Counts a request until the guard is dropped.
    pub fn waiting(self: &Arc<Self>) -> Counted {
        Counted::new(self, |host| &host.requests)
    }

    /// Counts a watch until the guard is dropped.
    pub fn watching(self: &Arc<Self>) -> Counted {
        Counted::new(self, |host| &host.watches)
    }

    /// True while the process waits for an answer.
    pub fn is_waiting(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > 0
    }

    /// The number of watches that work.
    pub fn watches(&self) -> usize {
        self.watches.load(Ordering::Relaxed)
    }

    /// Stops the process for ever, as SIGKILL does.
    pub fn kill(&self) {
        self.state.lock().dead = true;
        self.dead.notify_waiters();
    }

    /// True after it was killed.
    pub fn is_dead(&self) -> bool {
        self.state.lock().dead
    }

    /// Kills the process after this many polls of its tasks.
    pub fn kill_after(&self, polls: u64) {
        self.state.lock().polls = Some(polls);
    }

    /// Stops the process, as SIGSTOP does.
    pub fn freeze(&self) {
        self.state.lock().frozen = true;
    }

    /// Stops the process after this many polls of its tasks; completes then.
    pub async fn freeze_after(&self, polls: u64) {
        self.state.lock().polls_to_freeze = Some(polls);
        self.froze.notified().await;
    }

    /// Lets it continue, as SIGCONT does.
    pub fn thaw(&self) {
        let waiting = {
            let mut state = self.state.lock();
            state.frozen = false;
            state.polls_to_freeze = None;
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Asks the process to stop, as SIGTERM does.
    pub fn terminate(&self) {
        if let Some(terminate) = self.terminate.lock().take() {
            // It may have ended by itself.
            let _ = terminate.send(());
        }
    }

    /// Waits until the process is killed.
    pub async fn died(&self) {
        let dead = self.dead.notified();
        if !self.state.lock().dead {
            dead.await;
        }
    }
}

/// Something of a process that is counted while it lasts.
pub struct Counted {
    host: Arc<Host>,
    count: fn(&Host) -> &AtomicUsize,
}

impl Counted {
    fn new(host: &Arc<Host>, count: fn(&Host) -> &AtomicUsize) -> Self {
        count(host).fetch_add(1, Ordering::Relaxed);
        Self { host: Arc::clone(host), count }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.count)(&self.host).fetch_sub(1, Ordering::Relaxed);
    }
}

impl Clock for Host {
    fn shown_at(&self, runtime: Instant) -> Instant {
        self.clocks.shown_at(runtime)
    }

    fn when_shown(&self, shown: Instant) -> Instant {
        self.clocks.when_shown(shown)
    }
}

impl Environment for Host {
    fn poll_running(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        if let Some(polls) = &mut state.polls {
            *polls = polls.saturating_sub(1);
            if *polls == 0 && !state.dead {
                state.dead = true;
                self.dead.notify_waiters();
            }
        }
        if state.dead {
            return Poll::Pending;
        }
        if let Some(polls) = &mut state.polls_to_freeze {
            *polls = polls.saturating_sub(1);
            if *polls == 0 {
                state.polls_to_freeze = None;
                state.frozen = true;
                self.froze.notify_one();
            }
        }
        if state.frozen {
            state.waiting.push(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    fn now(&self) -> Timestamp {
        self.clocks.wall_clock()
    }
}

/// A replica, which is restarted whenever its process ends.
pub struct Replica {
    pub number: usize,
    world: Arc<World>,
    current: Arc<Mutex<Option<Arc<Host>>>>,
    clocks: Arc<Clocks>,
    /// True while it is to be restarted.
    wanted: watch::Sender<bool>,
    supervisor: JoinHandle<()>,
    metrics: Arc<Mutex<Option<Arc<Registry>>>>,
    memory: Arc<Mutex<Vec<Memory>>>,
}

/// The ends of processes that are not failures of this program.
const EXPECTED_ENDS: [&str; 4] = [
    "leader election lost",
    "gave up waiting for the API server",
    "acquired the lease, but could not refresh the cache",
    "received a second signal",
];
/// The time for a process to end after SIGTERM.
const SHUTDOWN: Duration = Duration::from_secs(90);

impl Replica {
    /// Starts a replica.
    pub fn start(world: &Arc<World>, number: usize) -> Self {
        let (current, metrics) = (Arc::<Mutex<Option<Arc<Host>>>>::default(), Arc::default());
        let clocks = Arc::new(Clocks::new(world.start));
        let memory = Arc::<Mutex<Vec<Memory>>>::default();
        let wanted = watch::Sender::new(true);
        let supervisor = Supervisor {
            world: Arc::clone(world),
            number,
            current: Arc::clone(&current),
            clocks: Arc::clone(&clocks),
            wanted: wanted.subscribe(),
            metrics: Arc::clone(&metrics),
            memory: Arc::clone(&memory),
        };
        let supervisor = tokio::spawn(supervisor.run());
        Self { number, world: Arc::clone(world), current, clocks, wanted, supervisor, metrics, memory }
    }

    /// The host of its process, if one runs.
    pub fn host(&self) -> Option<Arc<Host>> {
        self.current.lock().clone()
    }

    /// The metrics of its process, if its caches were synced.
    pub fn metrics(&self) -> Option<Arc<Registry>> {
        self.metrics.lock().clone()
    }

    /// The memory of the controllers of its process.
    pub fn memory(&self) -> Vec<Memory> {
        self.memory.lock().clone()
    }

    /// Moves its wall clock.
    pub fn jump(&self, seconds: i64) {
        self.clocks.jump(seconds);
    }

    /// Changes the rate of its clocks.
    pub fn set_rate(&self, percent: u32) {
        self.clocks.set_rate(percent);
    }

    /// Ends it for good by SIGTERM.
    pub async fn stop(self) {
        self.wanted.send_replace(false);
        if let Some(host) = self.host() {
            host.terminate();
        }
        if timeout(SHUTDOWN, self.supervisor).await.is_err() {
            self.world.violation(format!("r{} does not end after SIGTERM", self.number));
        }
    }
}

struct Supervisor {
    world: Arc<World>,
    number: usize,
    current: Arc<Mutex<Option<Arc<Host>>>>,
    clocks: Arc<Clocks>,
    wanted: watch::Receiver<bool>,
    metrics: Arc<Mutex<Option<Arc<Registry>>>>,
    memory: Arc<Mutex<Vec<Memory>>>,
}

impl Supervisor {
    async fn run(mut self) {
        // What a killed process left behind is neither run nor dropped: its requests on the way arrive.
        let mut killed = Vec::new();
        while *self.wanted.borrow() {
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
                    if let Err(error) = outcome && !EXPECTED_ENDS.iter().any(|end| error.contains(end)) {
                        self.world.violation(format!("r{} ended: {error}", self.number));
                    }
                }
            }
            *self.current.lock() = None;
            *self.metrics.lock() = None;
            self.memory.lock().clear();
            let mut rng = self.world.with(|state| state.dice.roll(format!("r{} restarts", self.number)));
            let delay = 200 + 20 * u64::try_from(rng.below(200)).unwrap_or_default();
            tokio::select! {
                biased;
                _ = self.wanted.wait_for(|wanted| !wanted) => {}
                () = sleep(Duration::from_millis(delay)) => {}
            }
        }
    }

    fn spawn(&self, host: &Arc<Host>) -> JoinHandle<Result<(), String>> {
        let (metrics, registry) = oneshot::channel();
        let (memory, memories) = oneshot::channel();
        let (terminate, terminated) = oneshot::channel();
        *host.terminate.lock() = Some(terminate);
        let place = Arc::clone(&self.metrics);
        tokio::spawn(async move {
            if let Ok(registry) = registry.await {
                *place.lock() = Some(registry);
            }
        });
        let place = Arc::clone(&self.memory);
        tokio::spawn(async move {
            if let Ok(memories) = memories.await {
                *place.lock() = memories;
            }
        });
        let (world, connected) = (Arc::downgrade(&self.world), Arc::clone(host));
        let connect: Connect =
            Arc::new(move |_| Ok(kube::Client::new(Connection::new(&world, &connected), "default")));
        let gate = self.world.with(|state| state.gate);
        let is_second = self.number == self.world.second_writer();
        let configuration = configuration(&self.world.plan.setup, gate, is_second);
        let process = Process { metrics, memory, terminate: terminated };
        let process = process.run(configuration, connect);
        let process = async { process.await.map_err(|error| kube_api::error_chain(&*error)) };
        tokio::spawn(within(Arc::clone(host) as _, process))
    }
}

/// The time within which a leader must renew its Lease, in seconds.
pub fn renew_deadline(setup: &Setup) -> u64 {
    5 * setup.retry_seconds
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
        // With 200 a second, fifty syncs may wait for their writes; with 20, five.
        format!("--kube-api-qps={}", if setup.latency_milliseconds.is_multiple_of(20) { 200 } else { 20 }),
        format!(
            "--feature-gates=EndpointControllerNameWellKnownLabel={gate},EndpointSliceCoalescing={}",
            setup.coalescing
        ),
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
    match setup.remembered_from {
        Some(pods) => parsed.remembering_from(pods),
        None => parsed,
    }
}
