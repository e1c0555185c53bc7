//! All controllers of a control plane: kube-controller-manager with these three, and without them alongside this program.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::Api;
use scripted_api::balancer::Proxy;
use serde_json::{Map, Value, json};
use tests::audit::Mark;
use tests::cluster::{Cluster, User};
use tests::manager::{Controller, LeaderElection, Manager, ManagerOptions};
use tests::observe::Observer;
use tests::process::{Process, Usage};

use crate::measure::{self, CONCURRENCY, quiet};
use crate::options::Options;
use crate::report::{self, megabytes};
use crate::scenarios::figures::{self, Figures, RECEIVED, count};
use crate::scenarios::scenario::Scenario;
use crate::seed;
use crate::tally::Tally;

/// Controllers that are off in all planes: they would delete pods, whose owners and kubelets do not exist, or need a cloud.
const OFF: [&str; 5] = [
    "garbage-collector-controller",
    "node-ipam-controller",
    "node-lifecycle-controller",
    "pod-garbage-collector-controller",
    "taint-eviction-controller",
];

/// Resident memory at the end of a phase, of all processes.
const RSS: &str = "rss_megabytes";
/// Reads too.
const REQUESTS: &str = "requests";
/// The time between two looks at processes: the rest of the controllers start by and by.
const REST: Duration = Duration::from_secs(5);

/// From an empty state until all slices exist; pods stop being ready; new processes on the settled cluster, until a waiting change
/// is written.
const PHASES: [&str; 3] = ["start", "churn", "restart"];
type Run = [Figures; 3];

/// The replicas of this program; without one, kube-controller-manager runs its controllers.
#[derive(Clone, Copy)]
struct Plane(usize);

const PLANES: [Plane; 3] = [Plane(0), Plane(1), Plane(2)];

impl Plane {
    fn name(self) -> &'static str {
        match self.0 {
            0 => "kube-controller-manager",
            1 => "with one replica",
            _ => "with two replicas",
        }
    }

    /// kube-controller-manager first: what it does while the others start is not counted as theirs.
    fn start(self, meter: &Meter<'_>, options: &Options) -> Vec<Manager> {
        let without: &[Controller] = if self.0 == 0 { &[] } else { Controller::ALL };
        let off = OFF.into_iter().chain(without.iter().map(|controller| controller.name()));
        let list: String = off.fold("*".to_owned(), |list, name| list + ",-" + name);
        let ours = ManagerOptions {
            user: User::ControlPlane,
            kubeconfig: Some(meter.kubeconfig.clone()),
            leader_election: Some(LeaderElection::DEFAULT),
            ..options.manager(Controller::ALL)
        };
        let rest = ManagerOptions { controllers_flag: Some(list), leader_election: None, ..ours.clone() };
        let replicas = (0..self.0).map(|_| Manager::ours_unready(meter.cluster, &ours));
        [Manager::upstream(meter.cluster, &rest)].into_iter().chain(replicas).collect()
    }
}

/// Measures all planes on a nearly empty cluster and on those of the scenarios. Returns the tables. The JSON is complete up to the
/// last cluster that is measured.
pub(crate) async fn run(options: &Options) -> String {
    let (mut text, mut sizes) = (String::new(), Vec::new());
    for scenario in [Scenario::empty()].into_iter().chain(Scenario::of(options)) {
        let scaled = scenario.options(options);
        let mut all = PLANES.map(|_| Vec::new());
        for run in 1..=options.runs {
            // In turn, so that a change of the machine's speed meets all.
            for (plane, runs) in PLANES.into_iter().zip(&mut all) {
                eprintln!("{}, run {run} of {}: {}", scenario.name, options.runs, plane.name());
                runs.push(Box::pin(once(plane, &scaled)).await);
            }
        }
        text.push_str(&table(&scenario, &all));
        sizes.push(json(&scenario, &all));
        if let Some(path) = &options.json {
            report::record(path, options.runs, "sizes", &sizes);
        }
    }
    text
}

/// Medians, and the least and the most.
fn table(scenario: &Scenario, all: &[Vec<Run>; 3]) -> String {
    let mut text = format!("\n| {}, {} pods", scenario.name, scenario.endpoints());
    for plane in PLANES {
        write!(text, " | {}", plane.name()).unwrap();
    }
    text.push_str(" |\n|---|---|---|---|\n");
    for (index, phase) in PHASES.into_iter().enumerate() {
        for figure in all[0][0][index].keys() {
            write!(text, "| {phase}: {}", figure.replace('_', " ")).unwrap();
            for runs in all {
                let mut values: Vec<f64> = runs.iter().map(|run| run[index][figure]).collect();
                values.sort_by(f64::total_cmp);
                let (median, most) = (values[(values.len() - 1) / 2], values[values.len() - 1]);
                write!(text, " | {median:.2} ({:.2}–{most:.2})", values[0]).unwrap();
            }
            text.push_str(" |\n");
        }
    }
    text
}

fn json(scenario: &Scenario, all: &[Vec<Run>; 3]) -> Value {
    let of_phase = |index: usize| {
        let planes = PLANES.iter().zip(all).map(|(plane, runs)| {
            let runs: Vec<Figures> = runs.iter().map(|run| run[index].clone()).collect();
            (plane.name().to_owned(), json!({"median": figures::medians(&runs), "runs": runs}))
        });
        Value::Object(planes.collect())
    };
    let phases: Map<_, _> =
        PHASES.into_iter().enumerate().map(|(index, phase)| (phase.to_owned(), of_phase(index))).collect();
    json!({"name": scenario.name, "pods": scenario.endpoints(), "services": scenario.services, "phases": phases})
}

async fn once(plane: Plane, options: &Options) -> Run {
    let say = |what: &str| eprintln!("{} pods, {}: {what}", options.all_pods(), plane.name());
    say("starting and filling a cluster");
    let cluster = seed::cluster(options).await;
    let pods = seed::pods(&cluster, options).await;
    let (waiting, others) = pods.split_first().expect("there is a pod");
    let observer = Observer::start(Api::all(cluster.client()), Tally::new(options.pods));
    let meter = Meter::of(&cluster).await;
    let limit = options.limit();

    say("making all slices");
    let begun = meter.begin(&[]);
    let mut managers = plane.start(&meter, options);
    measure::complete(&observer, options).await;
    let start = meter.end(begun, &mut managers, limit).await;
    say("changing pods");
    let begun = meter.begin(&managers);
    let churn = &others[..others.len().min(options.churn as usize)];
    let changes = churn.iter().map(|pod| measure::stop_being_ready(&cluster, &observer, pod));
    futures::stream::iter(changes).buffer_unordered(CONCURRENCY).collect::<()>().await;
    measure::all_seen(&observer, limit).await;
    let churn = meter.end(begun, &mut managers, limit).await;
    say("restarting");
    stop(managers).await;
    let begun = meter.begin(&[]);
    let mut managers = plane.start(&meter, options);
    measure::stop_being_ready(&cluster, &observer, waiting).await;
    measure::all_seen(&observer, limit).await;
    let restart = meter.end(begun, &mut managers, limit).await;
    stop(managers).await;
    [start, churn, restart]
}

async fn stop(managers: Vec<Manager>) {
    for manager in managers {
        manager.stop().await;
    }
}

/// Counts what a plane uses, and the bytes that it receives.
struct Meter<'a> {
    cluster: &'a Cluster,
    proxy: Proxy,
    /// Leads through the proxy.
    kubeconfig: PathBuf,
}

/// The start of a phase.
struct Begun {
    at: Instant,
    cpu: Duration,
    received: u64,
    mark: Mark,
}

impl<'a> Meter<'a> {
    async fn of(cluster: &'a Cluster) -> Self {
        let proxy = Proxy::start(cluster.apiserver_address()).await;
        let kubeconfig = cluster.kubeconfig_at(User::ControlPlane, proxy.address());
        Self { cluster, proxy, kubeconfig }
    }

    /// Begins a phase of these processes, or of new ones.
    fn begin(&self, managers: &[Manager]) -> Begun {
        let (received, mark) = (self.proxy.received(), self.cluster.audit().mark());
        let usage: Usage = managers.iter().map(Manager::usage).sum();
        Begun { at: Instant::now(), cpu: usage.cpu, received, mark }
    }

    /// Its figures, once the processes are nearly idle.
    async fn end(&self, begun: Begun, managers: &mut [Manager], limit: Duration) -> Figures {
        let took = begun.at.elapsed();
        let mut processes: Vec<&mut Process> = managers.iter_mut().map(Manager::process).collect();
        let Usage { cpu, rss, peak_rss } = quiet(&mut processes, REST, limit).await;
        let received = self.proxy.received() - begun.received;
        let mut requests = self.cluster.audit().since(begun.mark);
        requests.retain(|request| request.user == User::ControlPlane.name());
        let writes = requests.iter().filter(|request| request.is_write());
        let mut figures = figures::of(took, cpu.saturating_sub(begun.cpu), peak_rss, writes);
        figures.extend([
            (RSS, megabytes(rss)),
            (RECEIVED, megabytes(received)),
            (REQUESTS, count(requests.len())),
        ]);
        figures
    }
}
