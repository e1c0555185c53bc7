//! Processes that contend for the Lease of a [`LeaseServer`].

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use controller_kit::election::{
    Config, ElectionMetrics, Elector, Hold, Identity, Leadership, LeaseLock, LeaseLost,
};
use controller_kit::recorder::Recorder;
use kube_api::Encoding;
use prometheus_client::registry::Registry;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use crate::leases::LeaseServer;

/// The annotations that hold the Lease.
pub const HOLD: Hold = Hold { annotation: "example.com/hold", released: "example.com/hold-released" };

/// A process that contends for the Lease.
pub struct Candidate {
    pub identity: String,
    pub leadership: Leadership,
    pub election: JoinHandle<Result<(), LeaseLost>>,
    pub registry: Registry,
    stop: oneshot::Sender<()>,
}

impl Candidate {
    pub fn start(server: &Arc<LeaseServer>, name: &str) -> Self {
        Self::start_with(server, name, Config::default(), Encoding::Protobuf)
    }

    /// Starts a process and waits until it leads.
    pub async fn leading(server: &Arc<LeaseServer>, name: &str) -> Self {
        let candidate = Self::start(server, name);
        assert!(candidate.leadership.gained().await);
        candidate
    }

    pub fn start_with(server: &Arc<LeaseServer>, name: &str, config: Config, encoding: Encoding) -> Self {
        Self::start_stopping(server, name, config, encoding, Vec::new())
    }

    /// A process that is stopped (as by SIGSTOP) at times: each stop has its delay after the start, and its duration.
    pub fn start_stopping(
        server: &Arc<LeaseServer>,
        name: &str,
        config: Config,
        encoding: Encoding,
        stops: Vec<(Duration, Duration)>,
    ) -> Self {
        let client = server.client(name, encoding);
        let (recorder, events) = Recorder::new(client.clone(), "endpoint-controller-manager");
        tokio::spawn(events.run(pending()));
        let mut registry = Registry::default();
        let metrics = ElectionMetrics::register(&mut registry);
        let identity = Identity::unique(name);
        let lock = LeaseLock::new(client, "kube-system", "controllers").with_hold(HOLD);
        let (elector, leadership) = Elector::new(config, lock, identity.clone(), recorder, metrics);
        let (stop, stopped) = oneshot::channel::<()>();
        let run = elector.run(async move { drop(stopped.await) });
        let election = tokio::spawn(stopping(run, stops));
        Self { identity: identity.to_string(), leadership, election, registry, stop }
    }

    /// Ends the process in order, after its last worker.
    pub async fn stop(self) -> Result<(), LeaseLost> {
        drop(self.stop);
        self.election.await.unwrap()
    }

    /// Ends the process as by SIGKILL.
    pub fn kill(&self) {
        self.election.abort();
    }
}

/// The metrics in the text format.
pub fn metrics(registry: &Registry) -> String {
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, registry).unwrap();
    text
}

/// Polls a future except while it is stopped.
async fn stopping<T>(run: impl Future<Output = T>, stops: Vec<(Duration, Duration)>) -> T {
    let mut run = pin!(run);
    let start = Instant::now();
    for (after, length) in stops {
        tokio::select! {
            biased;
            () = sleep_until(start + after) => {}
            done = &mut run => return done,
        }
        sleep(length).await;
    }
    run.await
}
