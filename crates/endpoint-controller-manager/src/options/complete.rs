//! From settings that are right one by one to a configuration that is right as a whole.

use std::time::Duration;

use endpoint_controllers_common::MIN_PODS;
use endpointslice::desired::Conditions;

use super::configz;
use super::errors::Errors;
use super::flag::AUTO;
use super::groups::checked_leader_election;
use super::settings::Settings;
use super::values::FlagValues;
use crate::config::{Config, LogFormat, RequestRate, Server};
use crate::gates::{self, FeatureGates, Versions};
use crate::{controllers, version};

/// Checks the values together and completes them. `ignored_fields` are fields of the configuration file without a flag. The
/// error is one line about everything that is wrong, by flag or field.
pub(super) fn complete(values: &FlagValues, ignored_fields: Vec<String>) -> Result<Config, String> {
    let mut errors = Errors::default();
    let settings = values.settings(&mut errors);
    let config = config(settings, values, ignored_fields, &mut errors);
    config.filter(|_| errors.is_empty()).ok_or_else(|| errors.sentence(|flag| values.field(flag)))
}

/// None if a value is missing that is wrong, and so among the errors.
fn config(
    settings: Settings,
    values: &FlagValues,
    ignored_fields: Vec<String>,
    errors: &mut Errors,
) -> Option<Config> {
    let gates = errors.keep(feature_gates(&settings));
    let rate = errors.keep(rate(&settings));
    let controllers = errors.keep(controllers::selected(&settings.controllers));
    let leader_election = errors.keep(checked_leader_election(settings.leader_election));
    let gates = gates.as_ref();
    errors.extend(not_enabled(gates, settings.log_format, &settings.server));
    let server = server(settings.server, errors);
    let enabled = |name| gates.is_some_and(|gates| gates.enabled(name));
    let with_terminating = enabled(gates::ENDPOINT_SLICE_TERMINATING_CONDITION);
    let others = controllers::others(&settings.controllers);
    let without_effect = [ignored_fields, values.without_effect()].concat();
    let others = others.iter().map(|name| format!("--controllers={name}"));
    Some(Config {
        api_server: settings.api_server,
        encoding: settings.encoding,
        rate: rate?,
        use_service_account_credentials: settings.use_service_account_credentials,
        user_agent_name: settings.user_agent_name,
        controllers: controllers?,
        select_pods: settings.select_pods,
        disruption: Some(settings.disruption).filter(|_| enabled(gates::ENDPOINTS_KEEP_READY_ON_DISRUPTION)),
        takeover_max_writes: settings.takeover_max_writes,
        endpoints: endpoints_controller::Config {
            workers: settings.endpoints.workers,
            batch_period: settings.endpoints.batch_period,
            tolerate_unready_annotation: enabled(gates::TOLERATE_UNREADY_ENDPOINTS_ANNOTATION),
            services_may_be_delegated: enabled(gates::ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL),
            sync_cache_min_pods: MIN_PODS,
        },
        endpointslice: endpointslice_controller::Config {
            workers: settings.endpointslice.workers,
            max_endpoints_per_slice: settings.endpointslice.max_endpoints,
            batch_period: settings.endpointslice.batch_period,
            conditions: if with_terminating { Conditions::All } else { Conditions::ReadyOnly },
            sync_cache_min_pods: MIN_PODS,
            coalescing: enabled(gates::ENDPOINT_SLICE_COALESCING),
        },
        mirroring: endpointslice_mirroring_controller::Config {
            workers: settings.mirroring.workers,
            max_endpoints_per_subset: settings.mirroring.max_endpoints,
            batch_period: settings.mirroring.batch_period,
            services_may_be_delegated: enabled(gates::ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL),
        },
        gates: gates?.clone(),
        leader_election: leader_election?,
        shutdown_timeout: Some(settings.shutdown_timeout)
            .filter(|timeout| !timeout.is_zero())
            .unwrap_or(Duration::MAX),
        server,
        disabled_metrics: settings.disabled_metrics,
        verbosity: settings.verbosity,
        log_format: settings.log_format,
        flags: values.shown(),
        configz: configz::document(values),
        without_effect: without_effect.into_iter().chain(others).collect(),
    })
}

fn feature_gates(settings: &Settings) -> Result<FeatureGates, String> {
    let versions = Versions::new(&settings.emulated_version, &settings.min_compatibility_version)?;
    let gates = FeatureGates::new(&settings.feature_gates, versions);
    gates.map_err(|error| format!("--feature-gates: {error}"))
}

/// Requests a second and at once, as client-go reads them (`rest/config.go` `RESTClientForConfigAndClient`): 0 stands for
/// its own defaults, fewer than 0 a second for no bound. `auto` begins with the default of the flag, its lowest rate.
fn rate(settings: &Settings) -> Result<RequestRate, String> {
    const AUTO_QPS: f64 = 20.0;
    const DEFAULT_QPS: f64 = 5.0;
    const DEFAULT_BURST: u32 = 10;
    let typed = settings.burst;
    let positive = u32::try_from(typed).ok().filter(|burst| *burst > 0);
    let (qps, burst) = match settings.qps {
        None => (AUTO_QPS, positive),
        Some(qps) if !qps.is_finite() => return Err("--kube-api-qps must be a number".to_owned()),
        Some(qps) if qps < 0.0 => (qps, Some(0)),
        Some(0.0) => (DEFAULT_QPS, if typed == 0 { Some(DEFAULT_BURST) } else { positive }),
        Some(qps) => (qps, positive),
    };
    let too_small = || {
        let qps = settings.qps.map_or_else(|| AUTO.to_owned(), |qps| qps.to_string());
        format!("--kube-api-burst must be greater than 0 with --kube-api-qps={qps}, but got {typed}")
    };
    let ceiling = settings.qps.is_none().then(|| f64::from(settings.qps_ceiling));
    Ok(RequestRate { qps, burst: burst.ok_or_else(too_small)?, ceiling })
}

/// Values that a feature gate has switched off.
fn not_enabled(gates: Option<&FeatureGates>, log_format: LogFormat, server: &Server) -> Vec<String> {
    let off = |name| gates.is_some_and(|gates| !gates.enabled(name));
    let mut errors = Vec::new();
    if log_format == LogFormat::Json && off(gates::LOGGING_BETA_OPTIONS) {
        errors
            .push("--logging-format: Log format json is disabled, see LoggingBetaOptions feature".to_owned());
    }
    if !server.authentication.request_header.uid_headers.is_empty() && off(gates::REMOTE_REQUEST_HEADER_UID) {
        let feature = gates::REMOTE_REQUEST_HEADER_UID;
        errors.push(format!("--requestheader-uid-headers requires the {feature:?} feature to be enabled"));
    }
    errors
}

fn server(mut server: Server, errors: &mut Errors) -> Server {
    version::NAME.clone_into(&mut server.serving.pair_name);
    errors.extend(server.serving.validate());
    errors.extend(server.authentication.validate());
    errors.extend(server.authorization.validate());
    server
}
