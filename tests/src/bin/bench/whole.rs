//! All controllers of a control plane: kube-controller-manager with these three, and without them beside this program.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use kube::Api;
use serde_json::{Map, Value, json};
use tests::cluster::{Cluster, User};
use tests::manager::{Controller, LeaderElection, Manager, ManagerOptions};
use tests::observe::Observer;
use tests::process::Usage;

use crate::measure::{self, CONCURRENCY};
use crate::options::Options;
use crate::report::megabytes;
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

/// The replicas of this program; without one, kube-controller-manager runs its controllers.
#[derive(Clone, Copy)]
struct Plane(usize);

const PLANES: [Plane; 3] = [Plane(0), Plane(1), Plane(2)];

impl Plane {
    fn name(self) -> &'static str {
        match self.0 {
            0 => "kube-controller-manager",
            1 => "with one replica",
            _ => "with two",
        }
    }

    /// kube-controller-manager first: what it does beside the others' start does not count as theirs.
    fn start(self, cluster: &Cluster, options: &Options) -> Vec<Manager> {
        let without: &[Controller] = if self.0 == 0 { &[] } else { Controller::ALL };
        let off = OFF.into_iter().chain(without.iter().map(|controller| controller.name()));
        let list: String = off.fold("*".to_owned(), |list, name| list + ",-" + name);
        let rest = ManagerOptions {
            user: User::Admin,
            controllers_flag: Some(list),
            ..options.manager(Controller::ALL)
        };
        let ours = ManagerOptions {
            user: User::Admin,
            leader_election: Some(LeaderElection::DEFAULT),
            ..options.manager(Controller::ALL)
        };
        let replicas = (0..self.0).map(|_| Manager::ours_unready(cluster, &ours));
        [Manager::upstream(cluster, &rest)].into_iter().chain(replicas).collect()
    }
}

/// The costs of a plane.
#[derive(Clone, Copy, Default)]
struct Figures {
    /// From an empty state until all slices exist, in seconds.
    start: f64,
    start_cpu: f64,
    /// Some pods stop being ready.
    churn_cpu: f64,
    /// New processes on the settled cluster: until a waiting change is written, in seconds.
    restart: f64,
    restart_cpu: f64,
    /// Resident memory of the new processes, and the most of it, in MB.
    memory: f64,
    peak: f64,
}

type Row = (&'static str, &'static str, usize, fn(&Figures) -> f64);

const ROWS: [Row; 7] = [
    ("memory", "settled cluster, new processes: RSS, MB", 0, |it| it.memory),
    ("peak", "the same: peak RSS, MB", 0, |it| it.peak),
    ("restart", "the same: seconds until a waiting change is written", 1, |it| it.restart),
    ("restart_cpu", "the same: CPU seconds", 1, |it| it.restart_cpu),
    ("start", "seconds until all slices exist", 1, |it| it.start),
    ("start_cpu", "the same: CPU seconds", 1, |it| it.start_cpu),
    ("churn_cpu", "pods stop being ready: CPU seconds", 1, |it| it.churn_cpu),
];

/// Measures all planes on a cluster with one pod and on that of the options. Returns the tables, and writes the JSON.
pub(crate) async fn run(options: &Options) -> String {
    let mut empty = options.clone();
    (empty.services, empty.pods, empty.namespaces) = (1, 1, None);
    let (mut text, mut sizes) = (String::new(), Vec::new());
    for options in [&empty, options] {
        let mut planes = Map::new();
        let mut all = Vec::new();
        for plane in PLANES {
            let mut runs = Vec::new();
            for _ in 0..options.runs {
                runs.push(Box::pin(once(plane, options)).await);
            }
            let figures = ROWS.map(|(name, _, _, of)| (name, median(runs.iter().map(of).collect())));
            let object: Map<String, Value> =
                figures.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            planes.insert(plane.name().to_owned(), Value::Object(object));
            all.push(figures.map(|(_, value)| value));
        }
        writeln!(
            text,
            "{:52}{:>24}{:>18}{:>12}",
            format!("{} pods", options.all_pods()),
            PLANES[0].name(),
            PLANES[1].name(),
            PLANES[2].name()
        )
        .unwrap();
        for (index, (_, what, digits, _)) in ROWS.iter().enumerate() {
            let [upstream, one, two] = [0, 1, 2].map(|plane: usize| all[plane][index]);
            writeln!(text, "{what:52}{upstream:24.digits$}{one:18.digits$}{two:12.digits$}").unwrap();
        }
        text.push('\n');
        sizes.push(json!({"pods": options.all_pods(), "services": options.services, "runs": options.runs, "planes": planes}));
    }
    if let Some(path) = &options.json {
        let json = serde_json::to_string_pretty(&sizes).expect("JSON");
        std::fs::write(path, json + "\n").unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    text
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    // As many digits as are printed.
    (values[values.len() / 2] * 10.0).round() / 10.0
}

async fn once(plane: Plane, options: &Options) -> Figures {
    let say = |what: &str| eprintln!("{} pods, {}: {what}", options.all_pods(), plane.name());
    say("starting and filling a cluster");
    let cluster = seed::cluster(options).await;
    let pods = seed::pods(&cluster, options).await;
    let (waiting, others) = pods.split_first().expect("there is a pod");
    let observer = Observer::start(Api::all(cluster.client()), Tally::new(options.pods));
    let seen = async || measure::all_seen(&observer, options.limit()).await;

    say("making all slices");
    let begun = Instant::now();
    let managers = plane.start(&cluster, options);
    measure::complete(&observer, options).await;
    let start = begun.elapsed().as_secs_f64();
    let made = quiet(&managers).await;
    say("changing pods");
    let churn = &others[..others.len().min(options.churn as usize)];
    let changes = churn.iter().map(|pod| measure::stop_being_ready(&cluster, &observer, pod));
    futures::StreamExt::collect::<()>(futures::StreamExt::buffer_unordered(
        futures::stream::iter(changes),
        CONCURRENCY,
    ))
    .await;
    seen().await;
    let changed = quiet(&managers).await;
    say("restarting");
    for manager in managers {
        manager.stop().await;
    }
    let begun = Instant::now();
    let managers = plane.start(&cluster, options);
    measure::stop_being_ready(&cluster, &observer, waiting).await;
    seen().await;
    let restart = begun.elapsed().as_secs_f64();
    let restarted = quiet(&managers).await;
    for manager in managers {
        manager.stop().await;
    }
    Figures {
        start,
        start_cpu: made.cpu.as_secs_f64(),
        churn_cpu: changed.cpu.saturating_sub(made.cpu).as_secs_f64(),
        restart,
        restart_cpu: restarted.cpu.as_secs_f64(),
        memory: megabytes(restarted.rss),
        peak: megabytes(restarted.peak_rss),
    }
}

/// The usage of all together, once they are nearly idle.
async fn quiet(managers: &[Manager]) -> Usage {
    /// The rest of the controllers start by and by.
    const TIME: Duration = Duration::from_secs(5);
    let sum = || {
        managers.iter().map(Manager::usage).fold(
            Usage { cpu: Duration::ZERO, rss: 0, peak_rss: 0 },
            |sum, it| Usage {
                cpu: sum.cpu + it.cpu,
                rss: sum.rss + it.rss,
                peak_rss: sum.peak_rss + it.peak_rss,
            },
        )
    };
    let mut before = sum();
    loop {
        tokio::time::sleep(TIME).await;
        let now = sum();
        if now.cpu.saturating_sub(before.cpu) < TIME / 20 {
            return now;
        }
        before = now;
    }
}
