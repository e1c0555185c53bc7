//! Flags of kube-controller-manager that mean nothing here. They are accepted, so that its command line can be copied.

use crate::options::flag::{Flag, Kind};

pub(super) const HEADING: &str = "Flags of kube-controller-manager that have no effect here";
pub(super) const REMOVED_HEADING: &str =
    "Flags of older releases of kube-controller-manager that have no effect here";

/// Flags that supported releases of kube-controller-manager have and the newest one has not.
pub(super) const REMOVED: &[Flag] = &[Flag::ignored("concurrent-service-syncs", "1", INT).hidden()];

const BOOL: Kind = Kind::Bool(|_, _| ());
const INT: Kind = Kind::Int(|_, _| ());
const FLOAT: Kind = Kind::Float(|_, _| ());
const TEXT: Kind = Kind::Text(|_, _| ());
const DURATION: Kind = Kind::Duration(|_, _| ());

/// Sorted by name, with upstream's defaults.
pub(super) const FLAGS: &[Flag] = &[
    Flag::ignored("allocate-node-cidrs", "false", BOOL),
    Flag::ignored("allow-untagged-cloud", "false", BOOL).hidden(),
    Flag::ignored("attach-detach-reconcile-sync-period", "1m0s", DURATION),
    Flag::ignored("cidr-allocator-type", "RangeAllocator", TEXT),
    Flag::ignored("cloud-config", "", TEXT),
    Flag::ignored("cloud-provider", "", TEXT),
    Flag::ignored("cluster-cidr", "", TEXT),
    Flag::ignored("cluster-name", "kubernetes", TEXT),
    Flag::ignored("cluster-signing-cert-file", "", TEXT),
    Flag::ignored("cluster-signing-duration", "8760h0m0s", DURATION),
    Flag::ignored("cluster-signing-key-file", "", TEXT),
    Flag::ignored("cluster-signing-kube-apiserver-client-cert-file", "", TEXT),
    Flag::ignored("cluster-signing-kube-apiserver-client-key-file", "", TEXT),
    Flag::ignored("cluster-signing-kubelet-client-cert-file", "", TEXT),
    Flag::ignored("cluster-signing-kubelet-client-key-file", "", TEXT),
    Flag::ignored("cluster-signing-kubelet-serving-cert-file", "", TEXT),
    Flag::ignored("cluster-signing-kubelet-serving-key-file", "", TEXT),
    Flag::ignored("cluster-signing-legacy-unknown-cert-file", "", TEXT),
    Flag::ignored("cluster-signing-legacy-unknown-key-file", "", TEXT),
    Flag::ignored("concurrent-cron-job-syncs", "5", INT),
    Flag::ignored("concurrent-daemonset-syncs", "2", INT),
    Flag::ignored("concurrent-deployment-syncs", "5", INT),
    Flag::ignored("concurrent-device-taint-eviction-syncs", "8", INT),
    Flag::ignored("concurrent-disruption-syncs", "1", INT),
    Flag::ignored("concurrent-ephemeralvolume-syncs", "5", INT),
    Flag::ignored("concurrent-gc-syncs", "20", INT),
    Flag::ignored("concurrent-horizontal-pod-autoscaler-syncs", "5", INT),
    Flag::ignored("concurrent-job-syncs", "5", INT),
    Flag::ignored("concurrent-namespace-syncs", "10", INT),
    Flag::ignored("concurrent-rc-syncs", "5", INT),
    Flag::ignored("concurrent-replicaset-syncs", "5", INT),
    Flag::ignored("concurrent-resource-quota-syncs", "5", INT),
    Flag::ignored("concurrent-resourceclaim-syncs", "50", INT),
    Flag::ignored("concurrent-serviceaccount-token-syncs", "5", INT),
    Flag::ignored("concurrent-statefulset-syncs", "5", INT),
    Flag::ignored("concurrent-ttl-after-finished-syncs", "5", INT),
    Flag::ignored("concurrent-validating-admission-policy-status-syncs", "5", INT),
    Flag::ignored("configure-cloud-routes", "true", BOOL),
    Flag::ignored("contention-profiling", "false", BOOL).key("Generic.Debugging.enableContentionProfiling"),
    Flag::ignored("controller-start-interval", "0s", DURATION).key("Generic.ControllerStartInterval"),
    Flag::ignored("disable-attach-detach-reconcile-sync", "false", BOOL),
    Flag::ignored("disable-force-detach-on-timeout", "false", BOOL),
    Flag::ignored("enable-dynamic-provisioning", "true", BOOL),
    Flag::ignored("enable-garbage-collector", "true", BOOL),
    Flag::ignored("enable-hostpath-provisioner", "false", BOOL),
    Flag::ignored("enable-leader-migration", "false", BOOL).key("Generic.LeaderMigrationEnabled"),
    Flag::ignored("external-cloud-volume-plugin", "", TEXT),
    Flag::ignored("flex-volume-plugin-dir", "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/", TEXT),
    Flag::ignored("horizontal-pod-autoscaler-cpu-initialization-period", "5m0s", DURATION),
    Flag::ignored("horizontal-pod-autoscaler-downscale-stabilization", "5m0s", DURATION),
    Flag::ignored("horizontal-pod-autoscaler-initial-readiness-delay", "30s", DURATION),
    Flag::ignored("horizontal-pod-autoscaler-sync-period", "15s", DURATION),
    Flag::ignored("horizontal-pod-autoscaler-tolerance", "0.1", FLOAT),
    Flag::ignored("large-cluster-size-threshold", "50", INT),
    Flag::ignored("leader-migration-config", "", TEXT),
    Flag::ignored("legacy-service-account-token-clean-up-period", "8760h0m0s", DURATION),
    Flag::ignored("log-flush-frequency", "5s", DURATION),
    Flag::ignored("min-resync-period", "12h0m0s", DURATION).key("Generic.MinResyncPeriod"),
    Flag::ignored("namespace-sync-period", "5m0s", DURATION),
    Flag::ignored("node-cidr-mask-size", "0", INT),
    Flag::ignored("node-cidr-mask-size-ipv4", "0", INT),
    Flag::ignored("node-cidr-mask-size-ipv6", "0", INT),
    Flag::ignored("node-eviction-rate", "0.1", FLOAT),
    Flag::ignored("node-monitor-grace-period", "50s", DURATION),
    Flag::ignored("node-monitor-period", "5s", DURATION),
    Flag::ignored("node-startup-grace-period", "1m0s", DURATION),
    Flag::ignored("node-sync-period", "0s", DURATION).hidden(),
    Flag::ignored("permit-address-sharing", "false", BOOL),
    Flag::ignored("pv-recycler-increment-timeout-nfs", "30", INT),
    Flag::ignored("pv-recycler-minimum-timeout-hostpath", "60", INT),
    Flag::ignored("pv-recycler-minimum-timeout-nfs", "300", INT),
    Flag::ignored("pv-recycler-pod-template-filepath-hostpath", "", TEXT),
    Flag::ignored("pv-recycler-pod-template-filepath-nfs", "", TEXT),
    Flag::ignored("pv-recycler-timeout-increment-hostpath", "30", INT),
    Flag::ignored("pvclaimbinder-sync-period", "15s", DURATION),
    Flag::ignored("resource-quota-sync-period", "5m0s", DURATION),
    Flag::ignored("root-ca-file", "", TEXT),
    Flag::ignored("route-reconciliation-period", "10s", DURATION),
    Flag::ignored("secondary-node-eviction-rate", "0.01", FLOAT),
    Flag::ignored("service-account-private-key-file", "", TEXT),
    Flag::ignored("service-cluster-ip-range", "", TEXT),
    Flag::ignored("terminated-pod-gc-threshold", "12500", INT),
    Flag::ignored("unhealthy-zone-threshold", "0.55", FLOAT),
];
