//! Debugging and generic flags (`k8s.io/controller-manager` `options/generic.go` and `debugging.go`).

use crate::controllers;
use crate::gates;
use crate::options::flag::Flag;
use crate::options::flag::Kind::{Bool, Checked, Duration, FloatOrAuto, Int, List, Repeated};

pub(super) const DEBUGGING: &[Flag] = &[Flag::new(
    "profiling",
    "true",
    "Serve /debug/flags/v, which changes the log level of the running process (there is no /debug/pprof/)",
    Bool(|settings, on| settings.server.profiling = on),
)
.key("Generic.Debugging.enableProfiling")];

pub(super) const FLAGS: &[Flag] = &[
    Flag::new(
        "controller-shutdown-timeout",
        "10s",
        "Time to wait at shutdown for writes in progress; 0 waits without limit",
        Duration(|settings, time| settings.shutdown_timeout = time),
    ),
    Flag::new(
        "controllers",
        "*",
        "Controllers to run: '*' enables all, 'foo' enables the controller 'foo', '-foo' disables it; the first entry \
         that names a controller decides. All controllers: endpoints-controller, endpointslice-controller, \
         endpointslice-mirroring-controller",
        List(|settings, names| settings.controllers = names),
    )
    .canonical(controllers::canonical)
    .key("Generic.Controllers"),
    Flag::new(
        "emulated-version",
        "",
        concat!(
            "Kubernetes release whose feature gates apply, 1.",
            oldest_minor!(),
            " to 1.",
            newest_minor!(),
            ", as [kube=]major.minor [default: 1.",
            newest_minor!(),
            "]"
        ),
        List(|settings, versions| settings.emulated_version = versions),
    )
    .value_name("VERSION"),
    Flag::new(
        "feature-gates",
        "",
        "Feature gates to set, separated by commas, as Name=true|false or kube:Name=true|false",
        Repeated(|settings, gates| {
            settings.feature_gates.push(gates.to_owned());
            Ok(())
        }),
    )
    .value_name("GATES")
    .choices(gates::help)
    .join(gates::shown),
    Flag::new(
        "kube-api-burst",
        "30",
        "Burst of requests to the API server, for each controller",
        Int(|settings, burst| settings.burst = burst),
    )
    .key("Generic.ClientConnection.burst"),
    Flag::new(
        "kube-api-content-type",
        "application/vnd.kubernetes.protobuf",
        "Content type of requests to the API server: application/vnd.kubernetes.protobuf or application/json",
        Checked(|settings, text| {
            settings.encoding = text.parse().map_err(|error| format!("{error}"))?;
            Ok(())
        }),
    )
    .value_name("TYPE")
    .key("Generic.ClientConnection.contentType"),
    Flag::new(
        "kube-api-qps",
        "20",
        "Requests per second to the API server, for each controller; 0 means client-go's default of 5, a negative \
         value no limit. With auto, it begins at 20, rises to --kube-api-qps-ceiling while requests wait and \
         responses are fast, and falls when they slow down or the API server refuses requests",
        FloatOrAuto(|settings, qps| settings.qps = qps),
    )
    .key("Generic.ClientConnection.qps"),
    Flag::new(
        "min-compatibility-version",
        "",
        concat!(
            "Oldest Kubernetes release in the control plane, from 1.",
            oldest_minor!(),
            " to --emulated-version [default: the release before --emulated-version]"
        ),
        List(|settings, versions| settings.min_compatibility_version = versions),
    )
    .value_name("VERSION"),
    Flag::new(
        "use-service-account-credentials",
        "false",
        "Send the requests of each controller with the credentials of its own service account",
        Bool(|settings, on| settings.use_service_account_credentials = on),
    )
    .key("KubeCloudShared.UseServiceAccountCredentials"),
];
