//! The configuration, checked and complete: everything else takes this form.

mod checks;
mod notes;
mod server;

use std::path::PathBuf;
use std::time::Duration;

use controller_kit::election;
use endpointslice::Conditions;
use kube_api::Encoding;

use crate::controllers::{self, Controller};
use crate::gates::{self, FeatureGates};
use crate::options::flags::{self, Flags, list};
use crate::options::{FlagValues, Options};
use checks::{Errors, in_range};
pub(crate) use server::Server;

/// Where the API server is and who we are to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiServer {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) master: Option<http::Uri>,
}

/// Format of the logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// The Lease, and how to deal with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaderElection {
    pub(crate) timing: election::Config,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// What runs, and how.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) api_server: ApiServer,
    pub(crate) encoding: Encoding,
    /// Requests of each controller to the API server: a second, and at once.
    pub(crate) rate: (f64, u32),
    pub(crate) use_service_account_credentials: bool,
    /// The first part of the user agent.
    pub(crate) user_agent_name: String,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) endpoints: endpoints_controller::Config,
    pub(crate) endpointslice: endpointslice_controller::Config,
    pub(crate) mirroring: endpointslice_mirroring_controller::Config,
    pub(crate) gates: FeatureGates,
    /// None: run without a Lease.
    pub(crate) leader_election: Option<LeaderElection>,
    /// How long controllers may take to finish; none: as long as they like.
    pub(crate) shutdown_timeout: Option<Duration>,
    pub(crate) server: Server,
    pub(crate) disabled_metrics: Vec<String>,
    pub(crate) verbosity: u8,
    pub(crate) log_format: LogFormat,
    /// Every flag with its value.
    pub(crate) values: FlagValues,
    /// Flags and fields of the file that were given and do nothing here.
    pub(crate) without_effect: Vec<String>,
}

impl TryFrom<Options> for Config {
    type Error = String;

    /// Checks ranges and meanings. The error names all flags, or fields of the file, that are wrong.
    fn try_from(options: Options) -> Result<Self, String> {
        let Options { flags, values, without_effect, origins } = options;
        let mut errors = Errors::default();
        let config = checked(&flags, values, without_effect, &mut errors);
        config.filter(|_| errors.is_empty()).ok_or_else(|| errors.sentence(&origins))
    }
}

/// None if something is wrong, which is then among the errors.
fn checked(
    flags: &Flags,
    values: FlagValues,
    mut without_effect: Vec<String>,
    errors: &mut Errors,
) -> Option<Config> {
    let Flags { own, generic, metrics, misc, .. } = flags;
    let gates = errors.keep(checks::gates(generic));
    errors.check(checks::metrics(metrics));
    errors.check(checks::logs(&flags.logs));
    let log_format = errors.keep(checks::log_format(&flags.logs.logging_format, gates.as_ref()));
    let rate = errors.keep(checks::rate(generic.kube_api_qps, generic.kube_api_burst));
    let encoding = errors.keep(checks::encoding(&generic.kube_api_content_type));
    let master = errors.keep(checks::master(&misc.master));
    let names = list(&generic.controllers);
    let controllers = errors.keep(controllers::selected(&names));
    without_effect.extend(controllers::others(&names).iter().map(|name| format!("--controllers={name}")));
    let user_agent_name = errors.keep(checks::user_agent_name(&own.user_agent_name));
    let leader_election = errors.keep(checks::leader_election(&flags.leader_election));
    let server = server::checked(flags, gates.as_ref(), errors);
    let endpoints = endpoints(&flags.endpoints, gates.as_ref(), errors);
    let endpointslice = endpointslice(&flags.endpointslice, gates.as_ref(), errors);
    let mirroring = mirroring(&flags.mirroring, errors);
    Some(Config {
        api_server: ApiServer { kubeconfig: path(&misc.kubeconfig), master: master? },
        encoding: encoding?,
        rate: rate?,
        use_service_account_credentials: generic.use_service_account_credentials,
        user_agent_name: user_agent_name?,
        controllers: controllers?,
        endpoints: endpoints?,
        endpointslice: endpointslice?,
        mirroring: mirroring?,
        gates: gates?,
        leader_election: leader_election?,
        shutdown_timeout: Some(generic.controller_shutdown_timeout).filter(|timeout| !timeout.is_zero()),
        server,
        disabled_metrics: list(&metrics.disabled_metrics),
        verbosity: u8::try_from(flags.logs.verbosity.0).unwrap_or(u8::MAX),
        log_format: log_format?,
        values,
        without_effect,
    })
}

fn endpoints(
    flags: &flags::Endpoints,
    gates: Option<&FeatureGates>,
    errors: &mut Errors,
) -> Option<endpoints_controller::Config> {
    // Upstream runs without workers, and so does nothing, when told so. Nobody can want that.
    let workers = in_range("concurrent-endpoint-syncs", flags.concurrent_endpoint_syncs, usize::MAX);
    Some(endpoints_controller::Config {
        workers: errors.keep(workers)?,
        batch_period: flags.endpoint_updates_batch_period,
        tolerate_unready_annotation: gates?.enabled(gates::TOLERATE_UNREADY_ENDPOINTS_ANNOTATION),
        services_may_be_delegated: gates?.enabled(gates::ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL),
    })
}

fn endpointslice(
    flags: &flags::EndpointSlice,
    gates: Option<&FeatureGates>,
    errors: &mut Errors,
) -> Option<endpointslice_controller::Config> {
    let workers = in_range("concurrent-service-endpoint-syncs", flags.concurrent_service_endpoint_syncs, 50);
    let (workers, size) = (
        errors.keep(workers),
        errors.keep(in_range("max-endpoints-per-slice", flags.max_endpoints_per_slice, 1000)),
    );
    let with_terminating = gates?.enabled(gates::ENDPOINT_SLICE_TERMINATING_CONDITION);
    Some(endpointslice_controller::Config {
        workers: workers?,
        max_endpoints_per_slice: size?,
        batch_period: flags.endpointslice_updates_batch_period,
        conditions: if with_terminating { Conditions::All } else { Conditions::ReadyOnly },
    })
}

fn mirroring(
    flags: &flags::EndpointSliceMirroring,
    errors: &mut Errors,
) -> Option<endpointslice_mirroring_controller::Config> {
    let syncs = flags.mirroring_concurrent_service_endpoint_syncs;
    let workers = errors.keep(in_range("mirroring-concurrent-service-endpoint-syncs", syncs, 50));
    let size = flags.mirroring_max_endpoints_per_subset;
    let size = errors.keep(in_range("mirroring-max-endpoints-per-subset", size, 1000));
    Some(endpointslice_mirroring_controller::Config {
        workers: workers?,
        max_endpoints_per_subset: size?,
        batch_period: flags.mirroring_endpointslice_updates_batch_period,
    })
}

/// An empty path is none.
fn path(text: &str) -> Option<PathBuf> {
    (!text.is_empty()).then(|| text.into())
}

#[cfg(test)]
mod tests;
