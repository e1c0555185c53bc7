//! Differences that are intended, or due to two different programs.

use super::requests::Case;

/// Lines that only one side has, in the answers to these requests.
pub(crate) struct Difference {
    /// The first cell of its row in docs/reference/parity.md.
    pub(crate) what: &'static str,
    /// The requests as [`Case`] prints them. They concern every client that is authorized for them, so the client is
    /// left out.
    pub(crate) requests: &'static [&'static str],
    /// Prefixes of lines that only upstream's answers have. Each must occur in each.
    pub(crate) upstream: &'static [&'static str],
    /// Prefixes of lines that only our answers have. Each must occur in each.
    pub(crate) ours: &'static [&'static str],
}

impl Difference {
    /// True if the difference shows in the answers to this request.
    pub(crate) fn concerns(&self, case: &Case) -> bool {
        self.requests.iter().any(|name| is_named(name, case))
    }
}

/// True if a name of a [`Difference`] stands for this request.
pub(crate) fn is_named(name: &str, case: &Case) -> bool {
    case.to_string().split_once(' ').is_some_and(|(_, request)| request == name)
}

pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        what: HEALTH,
        requests: &[
            "GET /livez",
            "GET /readyz",
            "POST /livez",
            "POST /readyz",
            "PUT /livez",
            "PUT /readyz",
            "DELETE /livez",
            "DELETE /readyz",
        ],
        upstream: &["status 404", NOT_FOUND],
        ours: &["status 200", "ok"],
    },
    Difference {
        what: HEALTH,
        requests: &["GET /livez?verbose"],
        upstream: &["status 404", NOT_FOUND],
        ours: &["status 200", "[+]leaderElection ok", "livez check passed"],
    },
    Difference {
        what: HEALTH,
        requests: &["GET /readyz?verbose"],
        upstream: &["status 404", NOT_FOUND],
        ours: &["status 200", "[+]controllers ok", "[+]informer-sync/", "readyz check passed"],
    },
    Difference {
        what: HEALTH,
        requests: &["HEAD /livez", "HEAD /readyz"],
        upstream: &["status 404"],
        ours: &["status 200"],
    },
    Difference {
        what: HEALTH,
        requests: &["GET /metrics/slis", "POST /metrics/slis", "PUT /metrics/slis"],
        upstream: &[],
        ours: &[
            "kubernetes_healthcheck{name=\"leaderElection\",type=\"livez\"}",
            "kubernetes_healthcheck{name=\"controllers\",type=\"readyz\"}",
            "kubernetes_healthcheck{name=\"informer-sync/",
            "kubernetes_healthchecks_total{name=\"leaderElection\",status=\"success\",type=\"livez\"}",
            "kubernetes_healthchecks_total{name=\"controllers\",status=\"success\",type=\"readyz\"}",
            "kubernetes_healthchecks_total{name=\"informer-sync/",
        ],
    },
    Difference {
        what: HEALTH,
        requests: STATUSZ_TEXT,
        upstream: &["Paths /configz /flagz /healthz /metrics"],
        ours: &["Paths /configz /flagz /healthz /livez /metrics /readyz"],
    },
    Difference {
        what: HEALTH,
        requests: STATUSZ_OBJECT,
        upstream: &[],
        ours: &[".paths[] = \"/livez\"", ".paths[] = \"/readyz\""],
    },
    Difference {
        what: SINGLE,
        requests: &[
            "GET /healthz/endpoints-controller",
            "POST /healthz/endpoints-controller",
            "PUT /healthz/endpoints-controller",
            "DELETE /healthz/endpoints-controller",
        ],
        upstream: &["status 404", "x-content-type-options: nosniff", NOT_FOUND],
        ours: &["status 200", "ok"],
    },
    Difference {
        what: SINGLE,
        requests: &["HEAD /healthz/endpoints-controller"],
        upstream: &["status 404", "x-content-type-options: nosniff"],
        ours: &["status 200"],
    },
    Difference {
        what: "The type `summary` on `/metrics`",
        requests: &["GET /metrics", "POST /metrics", "PUT /metrics", "DELETE /metrics"],
        upstream: &["summary"],
        ours: &[],
    },
    Difference {
        what: "Sections of `/configz`",
        requests: &["GET /configz", "POST /configz", "PUT /configz", "DELETE /configz"],
        upstream: SECTIONS,
        // The comparison replaces numbers by 0.
        ours: &[
            ".kubecontrollermanager.config.k8s.io.Generic.DisruptionConfirmationPeriod = \"0s\"",
            ".kubecontrollermanager.config.k8s.io.Generic.DisruptionLostNodesPercent = 0",
            ".kubecontrollermanager.config.k8s.io.Generic.DisruptionMaxDuration = \"0s\"",
            ".kubecontrollermanager.config.k8s.io.Generic.DisruptionScope = \"cluster\"",
            ".kubecontrollermanager.config.k8s.io.Generic.EnablePodFieldSelector = true",
            ".kubecontrollermanager.config.k8s.io.Generic.KubeAPIQPSCeiling = 0",
            ".kubecontrollermanager.config.k8s.io.Generic.Logging.verbosity = 0",
            ".kubecontrollermanager.config.k8s.io.Generic.TakeoverMaxWrites = -0",
        ],
    },
    Difference {
        what: FLAGS,
        requests: &[
            "GET /flagz",
            "GET /flagz as text/plain",
            "GET /flagz as */*",
            "GET /flagz as text/html, */*",
            "GET /flagz as text/plain, application/json;as=Statusz;g=config.k8s.io;v=v1beta1",
            "GET /flagz as application/json;as=Statusz;g=config.k8s.io;v=v1beta1, text/plain",
            "POST /flagz",
            "PUT /flagz",
            "DELETE /flagz",
        ],
        upstream: &[],
        ours: &[
            "concurrent-service-syncs 0",
            "config",
            "disruption-confirmation-period 0s",
            "disruption-lost-nodes-percent 0",
            "disruption-max-duration 0s",
            "disruption-scope cluster",
            "enable-pod-field-selector true",
            "kube-api-qps-ceiling 0",
            "takeover-max-writes -0",
            "user-agent-name <component>",
        ],
    },
    Difference {
        what: FLAGS,
        requests: &[
            "GET /flagz as application/json;as=Flagz;g=config.k8s.io;v=v1beta1",
            "GET /flagz as application/yaml;as=Flagz;v=v1beta1;g=config.k8s.io",
        ],
        upstream: &[],
        ours: &[
            ".flags.concurrent-service-syncs = \"0\"",
            ".flags.config = \"\"",
            ".flags.disruption-confirmation-period = \"0s\"",
            ".flags.disruption-lost-nodes-percent = \"0\"",
            ".flags.disruption-max-duration = \"0s\"",
            ".flags.disruption-scope = \"cluster\"",
            ".flags.enable-pod-field-selector = \"true\"",
            ".flags.kube-api-qps-ceiling = \"0\"",
            ".flags.takeover-max-writes = \"-0\"",
            ".flags.user-agent-name = \"<component>\"",
        ],
    },
    Difference {
        what: GO_VERSION,
        requests: STATUSZ_TEXT,
        upstream: &["Go version go0.0"],
        ours: &["Go version none (Rust 0.0"],
    },
    Difference {
        what: GO_VERSION,
        requests: STATUSZ_OBJECT,
        upstream: &[".goVersion = \"go0.0"],
        ours: &[".goVersion = \"none (Rust 0.0"],
    },
    Difference {
        what: PROFILING,
        requests: &["GET /debug/pprof"],
        upstream: &["status 302", "content-type: text/html", "location: /debug/pprof/", "<a href="],
        ours: &["status 404", "content-type: text/plain", "x-content-type-options: nosniff", NOT_FOUND],
    },
    Difference {
        what: PROFILING,
        requests: &[
            "GET /debug/pprof/cmdline",
            "POST /debug/pprof/cmdline",
            "PUT /debug/pprof/cmdline",
            "DELETE /debug/pprof/cmdline",
        ],
        upstream: &["x-go-pprof: 1", "Unknown profile"],
        ours: &[NOT_FOUND],
    },
    Difference {
        what: PROFILING,
        requests: &["HEAD /debug/pprof/cmdline"],
        upstream: &["x-go-pprof: 1"],
        ours: &[],
    },
    Difference {
        what: "A path with characters that need no encoding, encoded: `/%68ealthz`",
        requests: &["GET /%68ealthz"],
        upstream: &["status 200", "ok"],
        ours: &["status 404", NOT_FOUND],
    },
];

const HEALTH: &str = "`/livez`, `/readyz`";
const SINGLE: &str = "`/healthz/<check>`";
const FLAGS: &str = "Flags on `/flagz`";
const GO_VERSION: &str = "Go version on `/statusz`";
const PROFILING: &str = "`/debug/pprof`";

/// The page after [`super::shape`].
const NOT_FOUND: &str = "0 page not found";

const STATUSZ_TEXT: &[&str] = &[
    "GET /statusz",
    "GET /statusz as text/plain",
    "GET /statusz as */*",
    "GET /statusz as text/html, */*",
    "GET /statusz as text/plain, application/json;as=Statusz;g=config.k8s.io;v=v1beta1",
    "POST /statusz",
    "PUT /statusz",
    "DELETE /statusz",
];

const STATUSZ_OBJECT: &[&str] = &[
    "GET /statusz as application/json;as=Statusz;g=config.k8s.io;v=v1beta1",
    "GET /statusz as application/json;as=Statusz;g=config.k8s.io;v=v1alpha1",
    "GET /statusz as application/yaml;as=Statusz;v=v1beta1;g=config.k8s.io",
    "GET /statusz as application/json;as=Statusz;g=config.k8s.io;v=v1beta1, text/plain",
];

/// Sections of other controllers, and of options that only they need.
const SECTIONS: &[&str] = &[
    ".kubecontrollermanager.config.k8s.io.AttachDetachController",
    ".kubecontrollermanager.config.k8s.io.CSRSigningController",
    ".kubecontrollermanager.config.k8s.io.CronJobController",
    ".kubecontrollermanager.config.k8s.io.DaemonSetController",
    ".kubecontrollermanager.config.k8s.io.DeploymentController",
    ".kubecontrollermanager.config.k8s.io.DeprecatedController",
    ".kubecontrollermanager.config.k8s.io.DeviceTaintEvictionController",
    ".kubecontrollermanager.config.k8s.io.DisruptionController",
    ".kubecontrollermanager.config.k8s.io.EphemeralVolumeController",
    ".kubecontrollermanager.config.k8s.io.GarbageCollectorController",
    ".kubecontrollermanager.config.k8s.io.Generic.LeaderMigration.",
    ".kubecontrollermanager.config.k8s.io.HPAController",
    ".kubecontrollermanager.config.k8s.io.JobController",
    ".kubecontrollermanager.config.k8s.io.KubeCloudShared.AllocateNodeCIDRs",
    ".kubecontrollermanager.config.k8s.io.KubeCloudShared.AllowUntaggedCloud",
    ".kubecontrollermanager.config.k8s.io.KubeCloudShared.CIDRAllocatorType",
    ".kubecontrollermanager.config.k8s.io.KubeCloudShared.CloudProvider",
    ".kubecontrollermanager.config.k8s.io.KubeCloudShared.ClusterCIDR",
    ".kubecontrollermanager.config.k8s.io.KubeCloudShared.ClusterName",
    ".kubecontrollermanager.config.k8s.io.KubeCloudShared.ConfigureCloudRoutes",
    ".kubecontrollermanager.config.k8s.io.KubeCloudShared.ExternalCloudVolumePlugin",
    ".kubecontrollermanager.config.k8s.io.KubeCloudShared.NodeSyncPeriod",
    ".kubecontrollermanager.config.k8s.io.KubeCloudShared.RouteReconciliationPeriod",
    ".kubecontrollermanager.config.k8s.io.LegacySATokenCleaner",
    ".kubecontrollermanager.config.k8s.io.NamespaceController",
    ".kubecontrollermanager.config.k8s.io.NodeIPAMController",
    ".kubecontrollermanager.config.k8s.io.NodeLifecycleController",
    ".kubecontrollermanager.config.k8s.io.PersistentVolumeBinderController",
    ".kubecontrollermanager.config.k8s.io.PodGCController",
    ".kubecontrollermanager.config.k8s.io.ReplicaSetController",
    ".kubecontrollermanager.config.k8s.io.ReplicationController",
    ".kubecontrollermanager.config.k8s.io.ResourceClaimController",
    ".kubecontrollermanager.config.k8s.io.ResourceQuotaController",
    ".kubecontrollermanager.config.k8s.io.SAController",
    ".kubecontrollermanager.config.k8s.io.ServiceController",
    ".kubecontrollermanager.config.k8s.io.StatefulSetController",
    ".kubecontrollermanager.config.k8s.io.TTLAfterFinishedController",
    ".kubecontrollermanager.config.k8s.io.ValidatingAdmissionPolicyStatusController",
];
