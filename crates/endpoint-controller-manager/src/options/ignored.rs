//! Flags of kube-controller-manager that mean nothing here. They are accepted, so that its command line can be copied.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::duration::parse_go_duration;

const HEADING: &str = "Flags of kube-controller-manager that have no effect here";

/// What a value must be.
#[derive(Clone, Copy)]
enum Type {
    Bool,
    Integer,
    Number,
    Text,
    Time,
}
use Type::{Bool, Integer, Number, Text, Time};

struct Ignored {
    name: &'static str,
    kind: Type,
    default: &'static str,
}

const fn flag(name: &'static str, kind: Type, default: &'static str) -> Ignored {
    Ignored { name, kind, default }
}

/// Adds the flags without effect.
pub(super) fn add_to(command: Command) -> Command {
    command.args(IGNORED.iter().map(|flag| {
        let arg = Arg::new(flag.name).long(flag.name).default_value(flag.default).help_heading(HEADING);
        let arg = arg.hide(DEPRECATED.contains(&flag.name));
        match flag.kind {
            // The other parts of booleans and numbers are those of all flags.
            Bool => arg.action(ArgAction::SetTrue),
            Integer => arg.value_parser(clap::value_parser!(i32)),
            Number => arg.value_parser(clap::value_parser!(f64)),
            Text => arg.value_name("TEXT"),
            Time => arg.value_parser(parse_any_duration).value_name("DURATION"),
        }
    }))
}

/// Those that the command line has.
pub(super) fn given(matches: &ArgMatches) -> Vec<&'static str> {
    let typed =
        |flag: &&Ignored| matches.value_source(flag.name) == Some(clap::parser::ValueSource::CommandLine);
    IGNORED.iter().filter(typed).map(|flag| flag.name).collect()
}

/// Where nothing is done with a duration, it may be negative.
fn parse_any_duration(text: &str) -> Result<Duration, String> {
    parse_go_duration(text.strip_prefix('-').unwrap_or(text))
}

/// What upstream's `--help` doesn't list.
const DEPRECATED: [&str; 2] = ["allow-untagged-cloud", "node-sync-period"];

/// Sorted by name, with the defaults of 1.36.3.
const IGNORED: &[Ignored] = &[
    flag("allocate-node-cidrs", Bool, "false"),
    flag("allow-untagged-cloud", Bool, "false"),
    flag("attach-detach-reconcile-sync-period", Time, "1m0s"),
    flag("cidr-allocator-type", Text, "RangeAllocator"),
    flag("cloud-config", Text, ""),
    flag("cloud-provider", Text, ""),
    flag("cluster-cidr", Text, ""),
    flag("cluster-name", Text, "kubernetes"),
    flag("cluster-signing-cert-file", Text, ""),
    flag("cluster-signing-duration", Time, "8760h0m0s"),
    flag("cluster-signing-key-file", Text, ""),
    flag("cluster-signing-kube-apiserver-client-cert-file", Text, ""),
    flag("cluster-signing-kube-apiserver-client-key-file", Text, ""),
    flag("cluster-signing-kubelet-client-cert-file", Text, ""),
    flag("cluster-signing-kubelet-client-key-file", Text, ""),
    flag("cluster-signing-kubelet-serving-cert-file", Text, ""),
    flag("cluster-signing-kubelet-serving-key-file", Text, ""),
    flag("cluster-signing-legacy-unknown-cert-file", Text, ""),
    flag("cluster-signing-legacy-unknown-key-file", Text, ""),
    flag("concurrent-cron-job-syncs", Integer, "5"),
    flag("concurrent-daemonset-syncs", Integer, "2"),
    flag("concurrent-deployment-syncs", Integer, "5"),
    flag("concurrent-device-taint-eviction-syncs", Integer, "8"),
    flag("concurrent-ephemeralvolume-syncs", Integer, "5"),
    flag("concurrent-gc-syncs", Integer, "20"),
    flag("concurrent-horizontal-pod-autoscaler-syncs", Integer, "5"),
    flag("concurrent-job-syncs", Integer, "5"),
    flag("concurrent-namespace-syncs", Integer, "10"),
    flag("concurrent-rc-syncs", Integer, "5"),
    flag("concurrent-replicaset-syncs", Integer, "5"),
    flag("concurrent-resource-quota-syncs", Integer, "5"),
    flag("concurrent-resourceclaim-syncs", Integer, "50"),
    flag("concurrent-service-syncs", Integer, "1"),
    flag("concurrent-serviceaccount-token-syncs", Integer, "5"),
    flag("concurrent-statefulset-syncs", Integer, "5"),
    flag("concurrent-ttl-after-finished-syncs", Integer, "5"),
    flag("concurrent-validating-admission-policy-status-syncs", Integer, "5"),
    flag("configure-cloud-routes", Bool, "true"),
    flag("contention-profiling", Bool, "false"),
    flag("controller-start-interval", Time, "0s"),
    flag("disable-attach-detach-reconcile-sync", Bool, "false"),
    flag("disable-force-detach-on-timeout", Bool, "false"),
    flag("enable-dynamic-provisioning", Bool, "true"),
    flag("enable-garbage-collector", Bool, "true"),
    flag("enable-hostpath-provisioner", Bool, "false"),
    flag("enable-leader-migration", Bool, "false"),
    flag("external-cloud-volume-plugin", Text, ""),
    flag("flex-volume-plugin-dir", Text, "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"),
    flag("horizontal-pod-autoscaler-cpu-initialization-period", Time, "5m0s"),
    flag("horizontal-pod-autoscaler-downscale-stabilization", Time, "5m0s"),
    flag("horizontal-pod-autoscaler-initial-readiness-delay", Time, "30s"),
    flag("horizontal-pod-autoscaler-sync-period", Time, "15s"),
    flag("horizontal-pod-autoscaler-tolerance", Number, "0.1"),
    flag("large-cluster-size-threshold", Integer, "50"),
    flag("leader-migration-config", Text, ""),
    flag("legacy-service-account-token-clean-up-period", Time, "8760h0m0s"),
    flag("log-flush-frequency", Time, "5s"),
    flag("min-resync-period", Time, "12h0m0s"),
    flag("namespace-sync-period", Time, "5m0s"),
    flag("node-cidr-mask-size", Integer, "0"),
    flag("node-cidr-mask-size-ipv4", Integer, "0"),
    flag("node-cidr-mask-size-ipv6", Integer, "0"),
    flag("node-eviction-rate", Number, "0.1"),
    flag("node-monitor-grace-period", Time, "50s"),
    flag("node-monitor-period", Time, "5s"),
    flag("node-startup-grace-period", Time, "1m0s"),
    flag("node-sync-period", Time, "0s"),
    flag("permit-address-sharing", Bool, "false"),
    flag("pv-recycler-increment-timeout-nfs", Integer, "30"),
    flag("pv-recycler-minimum-timeout-hostpath", Integer, "60"),
    flag("pv-recycler-minimum-timeout-nfs", Integer, "300"),
    flag("pv-recycler-pod-template-filepath-hostpath", Text, ""),
    flag("pv-recycler-pod-template-filepath-nfs", Text, ""),
    flag("pv-recycler-timeout-increment-hostpath", Integer, "30"),
    flag("pvclaimbinder-sync-period", Time, "15s"),
    flag("resource-quota-sync-period", Time, "5m0s"),
    flag("root-ca-file", Text, ""),
    flag("route-reconciliation-period", Time, "10s"),
    flag("secondary-node-eviction-rate", Number, "0.01"),
    flag("service-account-private-key-file", Text, ""),
    flag("service-cluster-ip-range", Text, ""),
    flag("terminated-pod-gc-threshold", Integer, "12500"),
    flag("unhealthy-zone-threshold", Number, "0.55"),
];

/// Whether a flag is one of these.
pub(super) fn contains(name: &str) -> bool {
    IGNORED.iter().any(|flag| flag.name == name)
}
