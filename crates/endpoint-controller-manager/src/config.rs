//! The configuration, checked and complete: everything else takes this form.

use std::path::PathBuf;
use std::time::Duration;

use component_server::{AuthenticationOptions, AuthorizationOptions, ServingOptions};
use controller_kit::election;
use endpointslice::disruption::Policy;
use kube_api::{Encoding, RateLimiter};
use serde_json::Value;
use tracing::{info, warn};

use crate::controllers::Controller;
use crate::gates::FeatureGates;

/// The API server's address and the credentials for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiServer {
    /// The kubeconfig that `--kubeconfig` names.
    pub kubeconfig: Option<PathBuf>,
    /// The address of `--master`.
    pub master: Option<http::Uri>,
    /// Its responses are not compressed.
    pub(crate) disable_compression: bool,
}

/// Format of the logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// klog's text.
    #[default]
    Text,
    /// klog's JSON.
    Json,
}

/// The Lease and the times of the election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaderElection {
    pub(crate) timing: election::Config,
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
}

/// The HTTPS server, its authentication and its authorization.
#[derive(Clone, Debug, Default)]
pub struct Server {
    pub(crate) serving: ServingOptions,
    pub(crate) authentication: AuthenticationOptions,
    /// For token reviews, and for authentication settings in the cluster.
    pub(crate) authentication_kubeconfig: Option<PathBuf>,
    pub(crate) authorization: AuthorizationOptions,
    /// For access reviews.
    pub(crate) authorization_kubeconfig: Option<PathBuf>,
    /// Serve `/debug/flags`.
    pub(crate) profiling: bool,
}

/// A rate limit of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RequestRate {
    /// Requests a second; not positive for no limit.
    pub(crate) qps: f64,
    /// Requests at once.
    pub(crate) burst: u32,
    /// Set if the rate moves between `qps` and this.
    pub(crate) ceiling: Option<f64>,
}

impl RequestRate {
    /// A limiter of this rate.
    pub(crate) fn limiter(self) -> RateLimiter {
        match self.ceiling {
            Some(ceiling) => RateLimiter::adaptive(self.qps, ceiling, self.burst),
            None => RateLimiter::new(self.qps, self.burst),
        }
    }

    /// The highest rate.
    pub(crate) fn highest(self) -> f64 {
        self.ceiling.unwrap_or(self.qps)
    }
}

/// The configuration of the process.
#[derive(Clone, Debug)]
pub struct Config {
    /// The API server and the credentials for it.
    pub api_server: ApiServer,
    /// The encoding of requests and responses.
    pub encoding: Encoding,
    /// The rate limit of each controller's requests to the API server.
    pub(crate) rate: RequestRate,
    /// Use the service account of each controller.
    pub use_service_account_credentials: bool,
    /// The first part of the user agent.
    pub user_agent_name: String,
    /// The controllers to run.
    pub controllers: Vec<Controller>,
    /// Request only pods that may be endpoints.
    pub(crate) select_pods: bool,
    /// Which pods count as ready that only the node lifecycle controller calls not ready; none: no pods.
    pub disruption: Option<Policy>,
    /// The most writes that the controllers may make when they start; none: no limit.
    pub takeover_max_writes: Option<usize>,
    /// The Endpoints controller.
    pub endpoints: endpoints_controller::Config,
    /// The EndpointSlice controller.
    pub endpointslice: endpointslice_controller::Config,
    /// The EndpointSliceMirroring controller.
    pub mirroring: endpointslice_mirroring_controller::Config,
    /// The feature gates.
    pub gates: FeatureGates,
    /// None: run without a Lease.
    pub leader_election: Option<LeaderElection>,
    /// For writes in progress at shutdown.
    pub(crate) shutdown_timeout: Duration,
    pub(crate) server: Server,
    pub(crate) disabled_metrics: Vec<String>,
    /// klog's level.
    pub verbosity: u32,
    /// The format of the logs.
    pub log_format: LogFormat,
    /// Every flag with its value, by name, as `/flagz` shows them.
    pub(crate) flags: Vec<(String, String)>,
    /// The document that `/configz` shows.
    pub(crate) configz: Value,
    /// Flags and fields of the file that were given and have no effect.
    pub(crate) without_effect: Vec<String>,
}

impl Config {
    /// Logs once which flags and gates were given without effect, and with `-v=1` every flag, as upstream does.
    pub(crate) fn log(&self) {
        if !self.without_effect.is_empty() {
            info!(flags = self.without_effect.join(" "), "Ignoring flags that have no effect here");
        }
        let gates: Vec<&str> = self.gates.without_effect().collect();
        if !gates.is_empty() {
            info!(featureGates = gates.join(","), "Ignoring feature gates that have no effect here");
        }
        let going_away: Vec<&str> = self.gates.going_away().collect();
        if !going_away.is_empty() {
            warn!(
                featureGates = going_away.join(","),
                "Setting feature gates that are generally available or deprecated. They will be removed in a future \
                 release"
            );
        }
        if self.verbosity >= 1 {
            for (name, value) in &self.flags {
                info!("FLAG: --{name}={value:?}");
            }
        }
    }
}
