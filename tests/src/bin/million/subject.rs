//! The program under measurement.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use tests::binaries;
use tests::metrics::{Exposition, Histogram};
use tests::pages::Pages;
use tests::ports;
use tests::process::{Process, Usage};

use crate::options::Options;

const POPULATED: &str = "Caches populated";

/// The running program.
pub(crate) struct Subject {
    process: Process,
    pages: Pages,
    start: Instant,
    /// The kinds that it lists.
    caches: usize,
}

impl Subject {
    /// Starts the program that `ECM_BIN` names against a server on loopback.
    pub(crate) fn start(server: &str, folder: &Path, options: &Options) -> Self {
        let [port] = ports::free();
        let mut args = vec![
            format!("--master={server}"),
            format!("--controllers={}", options.controllers),
            "--leader-elect=false".to_owned(),
            // Too many to limit anything.
            "--kube-api-qps=1000000".to_owned(),
            "--kube-api-burst=1000000".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            format!("--cert-dir={}", folder.display()),
            "--authentication-skip-lookup".to_owned(),
            "--authorization-always-allow-paths=/metrics,/readyz".to_owned(),
            "-v=2".to_owned(),
        ];
        args.extend(options.flags.iter().cloned());
        let program = binaries::endpoint_controller_manager();
        let start = Instant::now();
        let process = Process::start("endpoint-controller-manager", &program, folder, args);
        Self { process, pages: Pages::anonymous(port), start, caches: caches(&options.controllers) }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub(crate) fn usage(&self) -> Usage {
        self.process.usage()
    }

    /// Waits until every cache is filled, as the log says: asking the program would add to its work.
    pub(crate) async fn caches_filled(&mut self, limit: Duration) {
        let mut filled = 0;
        while filled < self.caches {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let caches = self.caches;
            self.check(limit, || format!("{filled} of {caches} caches are filled"));
            let log = std::fs::read_to_string(self.process.log()).expect("a log");
            let now = log.matches(POPULATED).count();
            if now > filled {
                let usage = self.usage();
                eprintln!("{:6.1} s: {now} caches are filled; {}", self.elapsed().as_secs_f64(), line(usage));
            }
            filled = now;
        }
    }

    /// Waits until the program has finished its work and uses less than a twentieth of a processor, or does so for ten
    /// seconds. Returns its usage, and the time at which it came to rest.
    pub(crate) async fn quiet(
        &mut self,
        limit: Duration,
        has_finished: impl AsyncFn(&Self) -> bool,
    ) -> (Usage, Duration) {
        /// Long enough for a twentieth of it to be more than a tick of 10 ms.
        const INTERVAL: Duration = Duration::from_millis(500);
        /// A machine with other load may give it nothing to run on for some time.
        const PATIENCE: u32 = 20;
        let (mut before, mut resting) = (self.usage(), 0);
        loop {
            let at = self.elapsed();
            tokio::time::sleep(INTERVAL).await;
            self.check(limit, || "it does not come to rest".to_owned());
            let now = self.usage();
            let rests = now.cpu.saturating_sub(before.cpu) <= INTERVAL / 20;
            resting = if rests { resting + 1 } else { 0 };
            if rests && (resting >= PATIENCE || has_finished(self).await) {
                return (now, at.saturating_sub(INTERVAL * (resting - 1)));
            }
            before = now;
        }
    }

    fn check(&mut self, limit: Duration, state: impl FnOnce() -> String) {
        self.process.alive().unwrap_or_else(|error| panic!("{error}"));
        assert!(self.elapsed() < limit, "after {} s: {}; {}", limit.as_secs(), state(), self.process.tail());
    }

    /// Ends it as an operator would.
    pub(crate) async fn stop(&mut self) {
        self.process.signal("TERM");
        let status = self.process.ended(Duration::from_mins(1)).await;
        assert!(status.success(), "{status}; {}", self.process.tail());
    }

    /// The number of syncs of the EndpointSlice controller.
    pub(crate) async fn syncs(&self) -> f64 {
        syncs(&self.metrics().await)
    }

    /// The warnings and errors of the log.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.process.log()).expect("a log");
        let lines = log.lines().filter(|line| line.starts_with(['W', 'E', 'F']));
        lines.map(ToOwned::to_owned).collect()
    }

    pub(crate) async fn metrics(&self) -> Exposition {
        let page = self.pages.get("/metrics").await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(page.status, 200, "{}", page.text);
        Exposition::parse(&page.text).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// The number of kinds that these controllers list, of pods, Services, nodes, slices and Endpoints.
fn caches(controllers: &str) -> usize {
    let kinds = controllers.split(',').flat_map(|controller| match controller {
        "endpoints-controller" => ["pods", "services", "endpoints"].as_slice(),
        "endpointslice-controller" => &["pods", "services", "nodes", "slices"],
        "endpointslice-mirroring-controller" => &["services", "endpoints", "slices"],
        other => panic!("--controllers must name controllers, and {other:?} is none"),
    });
    kinds.collect::<BTreeSet<_>>().len()
}

/// The number of syncs of the EndpointSlice controller.
pub(crate) fn syncs(metrics: &Exposition) -> f64 {
    metrics.sum("endpoint_slice_controller_endpoints_sync_duration")
}

/// The histogram of the lock's holds, by access.
pub(crate) fn holds(metrics: &Exposition, access: &str) -> Histogram {
    metrics.histogram("cache_lock_hold_seconds", &[("access", access)]).cloned().unwrap_or_default()
}

pub(crate) fn line(Usage { cpu, rss, peak_rss }: Usage) -> String {
    let mb = |bytes: u64| bytes / 1_000_000;
    format!("CPU {:.2} s, RSS {} MB, peak {} MB", cpu.as_secs_f64(), mb(rss), mb(peak_rss))
}
