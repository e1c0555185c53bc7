//! The values of all flags with an effect, typed and checked one by one.

use std::path::PathBuf;
use std::time::Duration;

use endpointslice::disruption::Policy;
use kube_api::Encoding;

use super::value_syntax::VersionRequest;
use crate::config::{ApiServer, LogFormat, Server};

/// The settings that flags and the configuration file fill.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) config_file: Option<PathBuf>,
    pub(crate) version: VersionRequest,
    pub(crate) user_agent_name: String,
    pub(crate) api_server: ApiServer,
    pub(crate) encoding: Encoding,
    /// Requests a second, as typed; none for `auto`.
    pub(crate) qps: Option<f64>,
    /// The most requests a second, with `auto`.
    pub(crate) qps_ceiling: u32,
    /// Requests at once, as typed.
    pub(crate) burst: i32,
    pub(crate) use_service_account_credentials: bool,
    pub(crate) controllers: Vec<String>,
    pub(crate) select_pods: bool,
    /// Only used with the feature gate.
    pub(crate) disruption: Policy,
    /// None: no limit.
    pub(crate) takeover_max_writes: Option<usize>,
    pub(crate) shutdown_timeout: Duration,
    pub(crate) emulated_version: Vec<String>,
    pub(crate) min_compatibility_version: Vec<String>,
    pub(crate) feature_gates: Vec<String>,
    pub(crate) leader_election: LeaderElectionSettings,
    pub(crate) server: Server,
    pub(crate) endpoints: ControllerSettings,
    pub(crate) endpointslice: ControllerSettings,
    pub(crate) mirroring: ControllerSettings,
    pub(crate) disabled_metrics: Vec<String>,
    pub(crate) log_format: LogFormat,
    /// klog's level.
    pub(crate) verbosity: u32,
}

/// Settings of the election, which are only checked if it is on.
#[derive(Debug, Default)]
pub(crate) struct LeaderElectionSettings {
    pub(crate) enabled: bool,
    pub(crate) lease_duration: Duration,
    pub(crate) renew_deadline: Duration,
    pub(crate) retry_period: Duration,
    pub(crate) resource_lock: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
}

/// Settings that each controller has.
#[derive(Debug, Default)]
pub(crate) struct ControllerSettings {
    pub(crate) workers: usize,
    pub(crate) batch_period: Duration,
    /// The most endpoints in a slice or subset; unused by the Endpoints controller.
    pub(crate) max_endpoints: usize,
}
