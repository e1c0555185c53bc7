//! The subcommand `shadow` alongside a manager, with the permissions of deploy/shadow, and random operations under both.

use std::time::Duration;

use random_operations::Generator;
use serde_json::Value;

use crate::audit::{Mark, Request};
use crate::cluster::{Cluster, User};
use crate::manager::{Controller, Kind, ManagerOptions};
use crate::metrics::Exposition;
use crate::pages::Pages;
use crate::parity::Run;
use crate::process::{Process, Usage};
use crate::random::{Help, PATIENCE, apply};
use crate::wait::{self, LIMIT};
use crate::{binaries, ports};

/// Its user, which has no permissions but these.
pub const USER: User = User::ThirdParty;

/// A running `shadow`.
pub struct Shadow {
    process: Process,
    pages: Pages,
    start: Mark,
}

/// The end of a run.
#[derive(Debug)]
pub struct End {
    /// The exit code.
    pub code: i32,
    /// The report.
    pub report: Value,
    /// All its requests to the API server.
    pub requests: Vec<Request>,
}

impl Shadow {
    /// Starts it with these flags and a report in JSON, and waits until it compares. Its user gets the permissions of
    /// deploy/shadow.
    pub async fn start(cluster: &Cluster, flags: &[String]) -> Self {
        cluster.allow_shadow(USER).await;
        let [port] = ports::free();
        let start = cluster.audit().mark();
        let mut args = vec![
            "shadow".to_owned(),
            format!("--kubeconfig={}", cluster.kubeconfig(USER).display()),
            format!("--secure-port={port}"),
            "--bind-address=127.0.0.1".to_owned(),
            "--authentication-skip-lookup=true".to_owned(),
            "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics".to_owned(),
            "--output=json".to_owned(),
            "-v=2".to_owned(),
        ];
        args.extend_from_slice(flags);
        let program = binaries::endpoint_controller_manager();
        let process = Process::start("endpoint-controller-manager", &program, cluster.folder(), args);
        let mut shadow = Self { process, pages: Pages::anonymous(port), start };
        let pages = shadow.pages.clone();
        wait::until("shadow", LIMIT, || {
            let alive = shadow.process.alive();
            let pages = pages.clone();
            async move {
                alive?;
                let page = pages.get("/readyz").await?;
                if page.status == 200 { Ok(()) } else { Err(page.text) }
            }
        })
        .await;
        shadow
    }

    /// The sum of all series of a gauge or counter.
    pub async fn sum_of(&self, metric: &str) -> f64 {
        let page = wait::until("metrics", LIMIT, || self.pages.get("/metrics")).await;
        let metrics = Exposition::parse(&page.text).unwrap_or_else(|error| panic!("{error}: {}", page.text));
        metrics.sum(metric)
    }

    /// What it has written to its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.process.log()).expect("the log")
    }

    /// Its resource usage.
    pub fn usage(&self) -> Usage {
        self.process.usage()
    }

    /// Waits until nothing differs but what has outlasted the grace period.
    pub async fn at_rest(&self, limit: Duration) {
        self.until_zero(RECENT, limit).await;
    }

    /// Waits until all series of a gauge are zero.
    pub async fn until_zero(&self, gauge: &str, limit: Duration) {
        wait::until(gauge, limit, || async {
            let sum = self.sum_of(gauge).await;
            if sum < 1.0 { Ok(()) } else { Err(sum) }
        })
        .await;
    }

    /// Ends it with SIGTERM.
    pub async fn end(mut self, cluster: &Cluster) -> End {
        self.process.signal("TERM");
        let status = self.process.ended(LIMIT).await;
        let log = self.log();
        // The report goes to stdout, and the log to stderr; both are in this file.
        let start = log.rfind("\n{\n").unwrap_or_else(|| panic!("no report in {log}"));
        let mut report = serde_json::Deserializer::from_str(&log[start..]).into_iter();
        let report = report.next().expect("a report").expect("JSON");
        let mut requests = cluster.audit().since(self.start);
        requests.retain(|request| request.user == USER.name());
        End { code: status.code().expect("an exit code"), report, requests }
    }
}

impl End {
    /// The requests that ask for a change.
    pub fn writes(&self) -> Vec<&Request> {
        self.requests.iter().filter(|request| request.is_write()).collect()
    }

    /// The sum of a figure over all controllers.
    pub fn sum(&self, figure: &str) -> f64 {
        self.controllers().map(|controller| controller[figure].as_f64().unwrap_or_default()).sum()
    }

    /// The longest time that a difference took, in seconds.
    pub fn longest(&self) -> f64 {
        self.controllers().filter_map(|controller| controller["longestSeconds"].as_f64()).fold(0.0, f64::max)
    }

    fn controllers(&self) -> impl Iterator<Item = &Value> {
        self.report["controllers"].as_array().into_iter().flatten()
    }
}

/// The gauge of what differs and has not outlasted the grace period.
const RECENT: &str = "shadow_recent_differences";
/// The grace period of a trace. Upstream is late on a busy machine, and retries after growing delays: only a failure takes as long.
const GRACE: Duration = PATIENCE;

/// Runs a trace of random operations under upstream, with `shadow` alongside it. After each operation, all differences end.
/// Returns also how often upstream needed help with mirrored slices.
///
/// Services don't ask for hints spread over zones: upstream itself rewrites some of their slices at every sync, and such
/// differences are named.
pub async fn run(seed: u64, operations: usize) -> (End, usize) {
    // Odd seeds have slices so small that Services need several of them.
    let max = if seed.is_multiple_of(2) { 100 } else { 5 };
    let options = ManagerOptions {
        max_endpoints_per_slice: max,
        max_endpoints_per_subset: max,
        ..ManagerOptions::of(Controller::ALL)
    };
    let run = Box::pin(Run::start_as(Kind::Upstream, options)).await;
    let flags = [
        format!("--grace={}s", GRACE.as_secs()),
        format!("--max-endpoints-per-slice={max}"),
        format!("--mirroring-max-endpoints-per-subset={max}"),
    ];
    let shadow = Shadow::start(&run.cluster, &flags).await;
    let mut generator = Generator::new(seed, false, true, true);
    let mut helped = 0;
    for number in 0..operations {
        apply(&run.world, number, &generator.step(), true).await;
        let mut help = Help::new();
        while shadow.sum_of(RECENT).await > 0.0 {
            if help.is_due() {
                help.give(&run.world, |_| true).await;
                helped += 1;
            }
            run.world.sync().await;
        }
    }
    run.world.settle().await;
    shadow.at_rest(GRACE + LIMIT).await;
    (shadow.end(&run.cluster).await, helped)
}
