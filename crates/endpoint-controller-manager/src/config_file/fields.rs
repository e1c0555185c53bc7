//! The fields of `KubeControllerManagerConfiguration` that apply, and the flags they stand for
//! (`k8s.io/kube-controller-manager/config/v1alpha1/types.go` and the types in it).

use std::fmt;

/// A field.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) path: &'static str,
    pub(super) flag: &'static str,
    pub(super) form: Form,
}

/// What the value is in JSON. Durations are texts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    Bool,
    Number,
    Text,
    List,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "true or false",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::List => "a list of texts",
        })
    }
}

const fn field(path: &'static str, form: Form, flag: &'static str) -> Entry {
    Entry { path, flag, form }
}

/// In upstream's order.
pub(super) const FIELDS: &[Entry] = &[
    field("Generic.MinResyncPeriod", Form::Text, "min-resync-period"),
    field("Generic.ClientConnection.kubeconfig", Form::Text, "kubeconfig"),
    field("Generic.ClientConnection.contentType", Form::Text, "kube-api-content-type"),
    field("Generic.ClientConnection.qps", Form::Number, "kube-api-qps"),
    field("Generic.ClientConnection.burst", Form::Number, "kube-api-burst"),
    field("Generic.ControllerStartInterval", Form::Text, "controller-start-interval"),
    field("Generic.LeaderElection.leaderElect", Form::Bool, "leader-elect"),
    field("Generic.LeaderElection.leaseDuration", Form::Text, "leader-elect-lease-duration"),
    field("Generic.LeaderElection.renewDeadline", Form::Text, "leader-elect-renew-deadline"),
    field("Generic.LeaderElection.retryPeriod", Form::Text, "leader-elect-retry-period"),
    field("Generic.LeaderElection.resourceLock", Form::Text, "leader-elect-resource-lock"),
    field("Generic.LeaderElection.resourceName", Form::Text, "leader-elect-resource-name"),
    field("Generic.LeaderElection.resourceNamespace", Form::Text, "leader-elect-resource-namespace"),
    field("Generic.Controllers", Form::List, "controllers"),
    field("Generic.Debugging.enableProfiling", Form::Bool, "profiling"),
    field("Generic.Debugging.enableContentionProfiling", Form::Bool, "contention-profiling"),
    field("Generic.LeaderMigrationEnabled", Form::Bool, "enable-leader-migration"),
    field("KubeCloudShared.UseServiceAccountCredentials", Form::Bool, "use-service-account-credentials"),
    field("EndpointController.ConcurrentEndpointSyncs", Form::Number, "concurrent-endpoint-syncs"),
    field("EndpointController.EndpointUpdatesBatchPeriod", Form::Text, "endpoint-updates-batch-period"),
    field(
        "EndpointSliceController.ConcurrentServiceEndpointSyncs",
        Form::Number,
        "concurrent-service-endpoint-syncs",
    ),
    field("EndpointSliceController.MaxEndpointsPerSlice", Form::Number, "max-endpoints-per-slice"),
    field(
        "EndpointSliceController.EndpointUpdatesBatchPeriod",
        Form::Text,
        "endpointslice-updates-batch-period",
    ),
    field(
        "EndpointSliceMirroringController.MirroringConcurrentServiceEndpointSyncs",
        Form::Number,
        "mirroring-concurrent-service-endpoint-syncs",
    ),
    field(
        "EndpointSliceMirroringController.MirroringMaxEndpointsPerSubset",
        Form::Number,
        "mirroring-max-endpoints-per-subset",
    ),
    field(
        "EndpointSliceMirroringController.MirroringEndpointUpdatesBatchPeriod",
        Form::Text,
        "mirroring-endpointslice-updates-batch-period",
    ),
];

/// What upstream has and nothing here needs: fields without a flag, and other controllers. Accepted whole, so that what
/// upstream's `/configz` shows can be a file.
pub(super) const IGNORED_SECTIONS: &[&str] = &[
    "Generic.Port",
    "Generic.Address",
    "Generic.ClientConnection.acceptContentTypes",
    "Generic.LeaderMigration",
    "KubeCloudShared.CloudProvider",
    "KubeCloudShared.ExternalCloudVolumePlugin",
    "KubeCloudShared.AllowUntaggedCloud",
    "KubeCloudShared.RouteReconciliationPeriod",
    "KubeCloudShared.NodeMonitorPeriod",
    "KubeCloudShared.ClusterName",
    "KubeCloudShared.ClusterCIDR",
    "KubeCloudShared.AllocateNodeCIDRs",
    "KubeCloudShared.CIDRAllocatorType",
    "KubeCloudShared.ConfigureCloudRoutes",
    "KubeCloudShared.NodeSyncPeriod",
    "AttachDetachController",
    "CSRSigningController",
    "DaemonSetController",
    "DeploymentController",
    "StatefulSetController",
    "DeprecatedController",
    "EphemeralVolumeController",
    "GarbageCollectorController",
    "HPAController",
    "JobController",
    "CronJobController",
    "LegacySATokenCleaner",
    "NamespaceController",
    "NodeIPAMController",
    "NodeLifecycleController",
    "PersistentVolumeBinderController",
    "PodGCController",
    "ReplicaSetController",
    "ReplicationController",
    "ResourceQuotaController",
    "SAController",
    "ServiceController",
    "TTLAfterFinishedController",
    "ValidatingAdmissionPolicyStatusController",
    "DeviceTaintEvictionController",
    "ResourceClaimController",
];
