//! `kubernetes_build_info` and `version_info`: the version of this process.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::gates::Versions;
use crate::version;

/// Registers both (`component-base` `metrics/prometheus/version` and `compatversion`).
///
/// The git version is that of the Kubernetes release whose behaviour this program has, followed by its own: alerts
/// compare the first part with that of the other components. The commit is ours.
pub(crate) fn register(registry: &mut Registry, versions: Versions) {
    let build = Family::<[(&str, String); 9], Gauge>::default();
    build.get_or_create(&build_labels()).set(1);
    let help = "[BETA] A metric with a constant '1' value labeled by the Kubernetes version that it behaves like, \
                compiler and platform";
    registry.register("kubernetes_build_info", help, build);
    let compatibility = Family::<[(&str, String); 4], Gauge>::default();
    compatibility.get_or_create(&compatibility_labels(versions)).set(1);
    let help = "[ALPHA] Provides the compatibility version info of the component";
    registry.register("version_info", help, compatibility);
}

fn build_labels() -> [(&'static str, String); 9] {
    let mut numbers = version::KUBERNETES.trim_start_matches('v').split('.');
    let mut number = || numbers.next().unwrap_or_default().to_owned();
    let unknown = String::new;
    [
        ("major", number()),
        ("minor", number()),
        ("git_version", format!("{}+{}.{}", version::KUBERNETES, version::NAME, version::VERSION)),
        ("git_commit", version::COMMIT.to_owned()),
        ("git_tree_state", version::TREE_STATE.to_owned()),
        ("build_date", unknown()),
        ("go_version", unknown()),
        ("compiler", "rustc".to_owned()),
        ("platform", version::platform()),
    ]
}

fn compatibility_labels(versions: Versions) -> [(&'static str, String); 4] {
    let binary = version::KUBERNETES.trim_start_matches('v').rsplit_once('.');
    [
        ("component", "kube".to_owned()),
        ("binary", binary.map_or_else(String::new, |(release, _)| release.to_owned())),
        ("emulation", versions.emulated().to_string()),
        ("min_compat", versions.min_compatibility().to_string()),
    ]
}
