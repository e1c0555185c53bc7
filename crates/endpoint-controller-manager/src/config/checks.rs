//! What flags may say beyond their types. Messages are upstream's, after the name of the flag.

use std::collections::BTreeMap;

use controller_kit::election;
use kube_api::Encoding;

use super::{LeaderElection, LogFormat};
use crate::gates::{self, FeatureGates, Versions};
use crate::options::flags;

/// What is wrong. Each begins with the flag.
#[derive(Default)]
pub(super) struct Errors(Vec<String>);

impl Errors {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value, or else one more error.
    pub(super) fn keep<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|error| self.0.push(error)).ok()
    }

    /// All that these say.
    pub(super) fn check(&mut self, errors: impl IntoIterator<Item = String>) {
        self.0.extend(errors);
    }

    /// All of them as upstream joins them, each with the name of the field if the value came from the file.
    pub(super) fn sentence(self, origins: &BTreeMap<&'static str, String>) -> String {
        let named = |error: &String| {
            let (flag, rest) = error.split_at(error.find([' ', ':']).unwrap_or(error.len()));
            match flag.strip_prefix("--").and_then(|flag| origins.get(flag)) {
                Some(field) => format!("{field}{rest}"),
                None => error.clone(),
            }
        };
        let errors: Vec<String> = self.0.iter().map(named).collect();
        match errors.as_slice() {
            [error] => error.clone(),
            errors => format!("[{}]", errors.join(", ")),
        }
    }
}

/// A number from 1 to `max`, with upstream's messages (`options/endpointslicecontroller.go` `Validate`).
pub(super) fn in_range(flag: &str, value: i32, max: usize) -> Result<usize, String> {
    match usize::try_from(value) {
        Ok(number) if (1..=max).contains(&number) => Ok(number),
        Ok(number) if number > max => Err(format!("--{flag} must not be more than {max}, but got {value}")),
        _ => Err(format!("--{flag} must not be less than 1, but got {value}")),
    }
}

pub(super) fn gates(flags: &flags::Generic) -> Result<FeatureGates, String> {
    let versions =
        Versions::new(&flags::list(&flags.emulated_version), &flags::list(&flags.min_compatibility_version))?;
    let gates = FeatureGates::new(&flags.feature_gates, versions);
    gates.map_err(|error| format!("--feature-gates: {error}"))
}

/// Requests a second and at once, as client-go reads them (`rest/config.go` `RESTClientForConfigAndClient`): 0 stands for
/// its own defaults, fewer than 0 a second for no bound.
pub(super) fn rate(qps: f64, burst: i32) -> Result<(f64, u32), String> {
    const DEFAULT_QPS: f64 = 5.0;
    const DEFAULT_BURST: u32 = 10;
    if !qps.is_finite() {
        return Err("--kube-api-qps must be a number".to_owned());
    }
    match u32::try_from(burst) {
        _ if qps < 0.0 => Ok((qps, 0)),
        Ok(0) if qps == 0.0 => Ok((DEFAULT_QPS, DEFAULT_BURST)),
        Ok(burst) if qps == 0.0 => Ok((DEFAULT_QPS, burst)),
        Ok(burst) if burst > 0 => Ok((qps, burst)),
        _ => {
            Err(format!("--kube-api-burst must be greater than 0 with --kube-api-qps={qps}, but got {burst}"))
        }
    }
}

/// A product in the sense of RFC 9110, as long as the API server allows the manager in managedFields to be.
pub(super) fn user_agent_name(name: &str) -> Result<String, String> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if (1..=128).contains(&name.len()) && name.chars().all(is_token) {
        Ok(name.to_owned())
    } else {
        Err(format!(
            "--user-agent-name must be a word of at most 128 letters, digits, '-', '_' or '.', but got {name:?}"
        ))
    }
}

pub(super) fn encoding(text: &str) -> Result<Encoding, String> {
    text.parse().map_err(|error| format!("--kube-api-content-type: {error}"))
}

/// An address without a scheme is plain HTTP, as in client-go.
pub(super) fn master(text: &str) -> Result<Option<http::Uri>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let url = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    match url.parse::<http::Uri>() {
        Ok(uri) if matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some() => {
            Ok(Some(uri))
        }
        _ => Err(format!("--master: {text:?} is not the address of a server")),
    }
}

/// Nothing is checked of an election that is off, as upstream does.
pub(super) fn leader_election(flags: &flags::LeaderElection) -> Result<Option<LeaderElection>, String> {
    if !flags.leader_elect {
        return Ok(None);
    }
    if flags.leader_elect_resource_lock != "leases" {
        return Err(r#"--leader-elect-resource-lock: resourceLock value must be "leases""#.to_owned());
    }
    let (name, namespace) = (&flags.leader_elect_resource_name, &flags.leader_elect_resource_namespace);
    for (flag, value) in [("name", name), ("namespace", namespace)] {
        if value.is_empty() {
            return Err(format!("--leader-elect-resource-{flag} must not be empty"));
        }
    }
    let timing = election::Config::new(
        flags.leader_elect_lease_duration,
        flags.leader_elect_renew_deadline,
        flags.leader_elect_retry_period,
    );
    let timing = timing.map_err(|error| error.to_string())?;
    Ok(Some(LeaderElection { timing, namespace: namespace.clone(), name: name.clone() }))
}

/// The release whose hidden metrics may be shown.
const PREVIOUS_VERSION: &str = "1.35";

pub(super) fn metrics(flags: &flags::Metrics) -> Vec<String> {
    let mut errors = Vec::new();
    if !["", PREVIOUS_VERSION].contains(&flags.show_hidden_metrics_for_version.as_str()) {
        errors.push(format!(
            "--show-hidden-metrics-for-version: must be omitted or have the value '{PREVIOUS_VERSION}'; only the \
             previous minor version is allowed"
        ));
    }
    if !flags.allow_metric_labels.is_empty() {
        errors.push("--allow-metric-labels is not supported".to_owned());
    }
    if !flags.allow_metric_labels_manifest.is_empty() {
        errors.push("--allow-metric-labels-manifest is not supported".to_owned());
    }
    errors
}

pub(super) fn log_format(format: &str, gates: Option<&FeatureGates>) -> Result<LogFormat, String> {
    match format {
        "text" => Ok(LogFormat::Text),
        "json" if gates.is_some_and(|gates| !gates.enabled(gates::LOGGING_BETA_OPTIONS)) => {
            Err("--logging-format: Log format json is disabled, see LoggingBetaOptions feature".to_owned())
        }
        "json" => Ok(LogFormat::Json),
        other => Err(format!("--logging-format: {other:?} is not text or json")),
    }
}

pub(super) fn logs(flags: &flags::Logs) -> impl Iterator<Item = String> {
    let given = [
        ("log-json-info-buffer-size", !flags.log_json_info_buffer_size.is_zero, "logs are not buffered"),
        ("log-json-split-stream", flags.log_json_split_stream, "all logs go to stderr"),
        ("log-text-info-buffer-size", !flags.log_text_info_buffer_size.is_zero, "logs are not buffered"),
        ("log-text-split-stream", flags.log_text_split_stream, "all logs go to stderr"),
        ("vmodule", flags.vmodule.iter().any(|value| !value.is_empty()), "-v is for all files"),
    ];
    given
        .into_iter()
        .filter(|(_, given, _)| *given)
        .map(|(flag, _, why)| format!("--{flag} is not supported: {why}"))
}
