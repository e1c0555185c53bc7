//! The flags with an effect, section by section as upstream's `--help` has them.

#![allow(clippy::doc_markdown, reason = "these doc comments are the help text")]
#![allow(clippy::struct_field_names, reason = "fields have the names of their flags")]

use std::net::IpAddr;
use std::time::Duration;

use clap::{Args, Parser};
use component_server::SniCertificate;

use super::accepted::{self, Curves, LogLevel, Quantity, VersionRequest};
use crate::duration::parse_go_duration;

/// Runs the endpoint controllers of kube-controller-manager in a process of their own.
///
/// Flags have the names, forms and defaults of kube-controller-manager, so its command line can be copied.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "endpoint-controller-manager",
    disable_help_flag = true,
    disable_version_flag = true,
    args_override_self = true
)]
pub(crate) struct Flags {
    #[command(flatten)]
    pub(crate) own: Own,
    #[command(flatten)]
    pub(crate) debugging: Debugging,
    #[command(flatten)]
    pub(crate) generic: Generic,
    #[command(flatten)]
    pub(crate) leader_election: LeaderElection,
    #[command(flatten)]
    pub(crate) serving: SecureServing,
    #[command(flatten)]
    pub(crate) authentication: Authentication,
    #[command(flatten)]
    pub(crate) authorization: Authorization,
    #[command(flatten)]
    pub(crate) endpoints: Endpoints,
    #[command(flatten)]
    pub(crate) endpointslice: EndpointSlice,
    #[command(flatten)]
    pub(crate) mirroring: EndpointSliceMirroring,
    #[command(flatten)]
    pub(crate) metrics: Metrics,
    #[command(flatten)]
    pub(crate) logs: Logs,
    #[command(flatten)]
    pub(crate) misc: Misc,
    #[command(flatten)]
    pub(crate) global: Global,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Flags that kube-controller-manager does not have")]
pub(crate) struct Own {
    /// Configuration file (KubeControllerManagerConfiguration, kubecontrollermanager.config.k8s.io/v1alpha1); flags win
    #[arg(long, default_value = "", value_name = "FILE")]
    pub(crate) config: String,

    /// First part of the user agent, which the API server also notes in managedFields of what is written
    #[arg(long, default_value = crate::version::NAME, value_name = "NAME")]
    pub(crate) user_agent_name: String,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Debugging flags")]
pub(crate) struct Debugging {
    /// Serve what helps debugging: /debug/flags
    #[arg(long, default_value = "true")]
    pub(crate) profiling: bool,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Generic flags")]
pub(crate) struct Generic {
    /// How long controllers may take to finish at the end; 0 is as long as they like
    #[arg(long, default_value = "10s", value_parser = parse_go_duration, value_name = "DURATION")]
    pub(crate) controller_shutdown_timeout: Duration,

    /// Controllers to run: '*' is all, 'foo' is foo, '-foo' is not foo; the first match counts. All controllers:
    /// endpoints-controller, endpointslice-controller, endpointslice-mirroring-controller
    #[arg(long, default_value = "*", value_delimiter = ',', value_name = "NAMES")]
    pub(crate) controllers: Vec<String>,

    /// Release whose feature gates apply, 1.33 to 1.36, as [kube=]major.minor [default: 1.36]
    #[arg(long, value_delimiter = ',', value_name = "VERSION")]
    pub(crate) emulated_version: Vec<String>,

    /// Feature gates as Name=true|false or kube:Name=true|false, several with commas
    #[arg(long, value_name = "GATES")]
    pub(crate) feature_gates: Vec<String>,

    /// Requests at once to the API server, for each controller
    #[arg(long, default_value_t = 30)]
    pub(crate) kube_api_burst: i32,

    /// Content type of requests: application/vnd.kubernetes.protobuf or application/json
    #[arg(long, default_value = "application/vnd.kubernetes.protobuf", value_name = "TYPE")]
    pub(crate) kube_api_content_type: String,

    /// Requests a second to the API server, for each controller; 0 is client-go's default of 5, below 0 no bound
    #[arg(long, default_value_t = 20.0)]
    pub(crate) kube_api_qps: f64,

    /// Oldest release in the control plane, 1.33 to the emulated one [default: the one before that]
    #[arg(long, value_delimiter = ',', value_name = "VERSION")]
    pub(crate) min_compatibility_version: Vec<String>,

    /// Let each controller write with the credentials of its own service account
    #[arg(long)]
    pub(crate) use_service_account_credentials: bool,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Generic flags")]
pub(crate) struct LeaderElection {
    /// Work only while holding a Lease, so that of several replicas one works; without it, run one replica only
    #[arg(long, default_value = "true")]
    pub(crate) leader_elect: bool,

    /// How long others wait for a leader that is silent before one of them takes over
    #[arg(long, default_value = "15s", value_parser = parse_go_duration, value_name = "DURATION")]
    pub(crate) leader_elect_lease_duration: Duration,

    /// How long a leader tries to renew its Lease before it gives up
    #[arg(long, default_value = "10s", value_parser = parse_go_duration, value_name = "DURATION")]
    pub(crate) leader_elect_renew_deadline: Duration,

    /// What is locked: leases
    #[arg(long, default_value = "leases", value_name = "RESOURCE")]
    pub(crate) leader_elect_resource_lock: String,

    /// Name of the Lease
    #[arg(long, default_value = "endpoint-controller-manager", value_name = "NAME")]
    pub(crate) leader_elect_resource_name: String,

    /// Namespace of the Lease
    #[arg(long, default_value = "kube-system", value_name = "NAMESPACE")]
    pub(crate) leader_elect_resource_namespace: String,

    /// How long to wait between tries to take or renew the Lease
    #[arg(long, default_value = "2s", value_parser = parse_go_duration, value_name = "DURATION")]
    pub(crate) leader_elect_retry_period: Duration,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Secure serving flags")]
pub(crate) struct SecureServing {
    /// Address to serve HTTPS on; an unspecified one (0.0.0.0 or ::) is all interfaces and both families
    #[arg(long, default_value = "0.0.0.0", value_parser = accepted::ip, value_name = "IP")]
    pub(crate) bind_address: IpAddr,

    /// Folder for a self-signed certificate and key, if no files are named; empty keeps them in memory
    #[arg(long, default_value = "", value_name = "FOLDER")]
    pub(crate) cert_dir: String,

    /// Don't serve HTTP/2
    #[arg(long)]
    pub(crate) disable_http2_serving: bool,

    /// Streams that a client may have in one HTTP/2 connection; 0 is 100
    #[arg(long, default_value_t = 0)]
    pub(crate) http2_max_streams_per_connection: i32,

    /// Set SO_REUSEPORT: another process may listen on the same address and port
    #[arg(long)]
    pub(crate) permit_port_sharing: bool,

    /// Port to serve HTTPS on, with authentication and authorization; 0 is no HTTPS
    #[arg(long, default_value_t = 10257)]
    pub(crate) secure_port: i32,

    /// Serving certificate in PEM, with its intermediates after it
    #[arg(long, default_value = "", value_name = "FILE")]
    pub(crate) tls_cert_file: String,

    /// Cipher suites by Go's names; empty is all that are supported
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) tls_cipher_suites: Vec<String>,

    /// Key exchange mechanisms by Go's CurveID numbers; empty is all that are supported
    #[arg(long, value_name = "NUMBERS")]
    pub(crate) tls_curve_preferences: Vec<Curves>,

    /// Least version of TLS, such as VersionTLS12
    #[arg(long, default_value = "", value_name = "VERSION")]
    pub(crate) tls_min_version: String,

    /// Key of the serving certificate in PEM
    #[arg(long, default_value = "", value_name = "FILE")]
    pub(crate) tls_private_key_file: String,

    /// Certificate and key for some names: certificate,key or certificate,key:name,name; can be repeated
    #[arg(long, value_name = "PAIR")]
    pub(crate) tls_sni_cert_key: Vec<SniCertificate>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Authentication flags")]
pub(crate) struct Authentication {
    /// Kubeconfig file for the API server that knows about tokens; if empty, in-cluster configuration. Without either, tokens
    /// count for nothing
    #[arg(long, default_value = "", value_name = "FILE")]
    pub(crate) authentication_kubeconfig: String,

    /// Don't look up in the cluster what other flags don't say about authentication
    #[arg(long)]
    pub(crate) authentication_skip_lookup: bool,

    /// How long an answer about a token is believed
    #[arg(long, default_value = "10s", value_parser = parse_go_duration, value_name = "DURATION")]
    pub(crate) authentication_token_webhook_cache_ttl: Duration,

    /// Start even if authentication cannot be looked up in the cluster
    #[arg(long)]
    pub(crate) authentication_tolerate_lookup_failure: bool,

    /// Authorities of client certificates in PEM
    #[arg(long, default_value = "", value_name = "FILE")]
    pub(crate) client_ca_file: String,

    /// Common names of front proxies; empty allows all that --requestheader-client-ca-file signed
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) requestheader_allowed_names: Vec<String>,

    /// Authorities of front proxies in PEM
    #[arg(long, default_value = "", value_name = "FILE")]
    pub(crate) requestheader_client_ca_file: String,

    /// Prefixes of headers in which a front proxy passes more about the user
    #[arg(long, default_value = "x-remote-extra-", value_delimiter = ',', value_name = "PREFIXES")]
    pub(crate) requestheader_extra_headers_prefix: Vec<String>,

    /// Headers in which a front proxy passes the user's groups
    #[arg(long, default_value = "x-remote-group", value_delimiter = ',', value_name = "HEADERS")]
    pub(crate) requestheader_group_headers: Vec<String>,

    /// Headers in which a front proxy passes the user's uid
    #[arg(long, value_delimiter = ',', value_name = "HEADERS")]
    pub(crate) requestheader_uid_headers: Vec<String>,

    /// Headers in which a front proxy passes the user's name
    #[arg(long, default_value = "x-remote-user", value_delimiter = ',', value_name = "HEADERS")]
    pub(crate) requestheader_username_headers: Vec<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Authorization flags")]
pub(crate) struct Authorization {
    /// Paths that anybody may read
    #[arg(long, default_values = ["/healthz", "/readyz", "/livez"], value_delimiter = ',', value_name = "PATHS")]
    pub(crate) authorization_always_allow_paths: Vec<String>,

    /// Kubeconfig file for the API server that knows who may what; if empty, in-cluster configuration. Without either,
    /// nobody may what is not always allowed
    #[arg(long, default_value = "", value_name = "FILE")]
    pub(crate) authorization_kubeconfig: String,

    /// How long a yes is believed
    #[arg(long, default_value = "10s", value_parser = parse_go_duration, value_name = "DURATION")]
    pub(crate) authorization_webhook_cache_authorized_ttl: Duration,

    /// How long a no is believed
    #[arg(long, default_value = "10s", value_parser = parse_go_duration, value_name = "DURATION")]
    pub(crate) authorization_webhook_cache_unauthorized_ttl: Duration,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Endpoints-controller flags")]
pub(crate) struct Endpoints {
    /// Services that the endpoints-controller syncs at the same time
    #[arg(long, default_value_t = 5)]
    pub(crate) concurrent_endpoint_syncs: i32,

    /// How long a change of a pod waits for more of them before Endpoints are updated
    #[arg(long, default_value = "0s", value_parser = parse_go_duration, value_name = "DURATION")]
    pub(crate) endpoint_updates_batch_period: Duration,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Endpointslice-controller flags")]
pub(crate) struct EndpointSlice {
    /// Services that the endpointslice-controller syncs at the same time (1 to 50)
    #[arg(long, default_value_t = 5)]
    pub(crate) concurrent_service_endpoint_syncs: i32,

    /// How long a change of a pod waits for more of them before EndpointSlices are updated
    #[arg(long, default_value = "0s", value_parser = parse_go_duration, value_name = "DURATION")]
    pub(crate) endpointslice_updates_batch_period: Duration,

    /// The most endpoints in one EndpointSlice (1 to 1000)
    #[arg(long, default_value_t = 100)]
    pub(crate) max_endpoints_per_slice: i32,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Endpointslice-mirroring-controller flags")]
pub(crate) struct EndpointSliceMirroring {
    /// Endpoints that the endpointslice-mirroring-controller syncs at the same time (1 to 50)
    #[arg(long, default_value_t = 5)]
    pub(crate) mirroring_concurrent_service_endpoint_syncs: i32,

    /// How long a change of a mirrored EndpointSlice waits for more of them
    #[arg(long, default_value = "0s", value_parser = parse_go_duration, value_name = "DURATION")]
    pub(crate) mirroring_endpointslice_updates_batch_period: Duration,

    /// The most addresses of a subset that are mirrored (1 to 1000)
    #[arg(long, default_value_t = 1000)]
    pub(crate) mirroring_max_endpoints_per_subset: i32,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Metrics flags")]
pub(crate) struct Metrics {
    /// Not supported: labels of metrics here have few values
    #[arg(long, value_name = "LABEL=VALUES")]
    pub(crate) allow_metric_labels: Vec<String>,

    /// Not supported, like --allow-metric-labels
    #[arg(long, default_value = "", value_name = "FILE")]
    pub(crate) allow_metric_labels_manifest: String,

    /// Metrics not to expose, by their full names
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) disabled_metrics: Vec<String>,

    /// Release whose hidden metrics to show: the previous one, 1.35, or none; no metric here is hidden
    #[arg(long, default_value = "", value_name = "VERSION")]
    pub(crate) show_hidden_metrics_for_version: String,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Logs flags")]
pub(crate) struct Logs {
    /// Not supported: logs are not buffered
    #[arg(long, default_value = "0", value_name = "QUANTITY")]
    pub(crate) log_json_info_buffer_size: Quantity,

    /// Not supported: logs are one stream
    #[arg(long)]
    pub(crate) log_json_split_stream: bool,

    /// Not supported: logs are not buffered
    #[arg(long, default_value = "0", value_name = "QUANTITY")]
    pub(crate) log_text_info_buffer_size: Quantity,

    /// Not supported: logs are one stream
    #[arg(long)]
    pub(crate) log_text_split_stream: bool,

    /// Format of the logs: text or json
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub(crate) logging_format: String,

    /// Log level: 0 and up; 4 shows each sync, 6 each event
    #[arg(short = 'v', long = "v", default_value = "0", value_name = "LEVEL")]
    pub(crate) verbosity: LogLevel,

    /// Not supported: log levels by file
    #[arg(long, value_name = "PATTERN=N")]
    pub(crate) vmodule: Vec<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Misc flags")]
pub(crate) struct Misc {
    /// Kubeconfig file with the API server's address and our credentials; in-cluster configuration if empty
    #[arg(long, default_value = "", value_name = "FILE")]
    pub(crate) kubeconfig: String,

    /// Address of the API server; overrides the one in the kubeconfig
    #[arg(long, default_value = "", value_name = "URL")]
    pub(crate) master: String,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global flags")]
pub(crate) struct Global {
    /// Print the version and quit; --version=raw prints all that is known about it
    #[arg(
        long,
        default_value = "false",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        value_name = "BOOL"
    )]
    pub(crate) version: VersionRequest,
}

/// The elements of a list. As in pflag, a value without any is an empty list.
pub(crate) fn list(values: &[String]) -> Vec<String> {
    values.iter().filter(|value| !value.is_empty()).cloned().collect()
}
