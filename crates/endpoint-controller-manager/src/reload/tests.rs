use std::collections::BTreeSet;

use prometheus_client::encoding::text::encode;

use super::*;
use crate::options::flag::{Effect, Flag, Kind, OnChange};
use crate::options::groups::all;
use crate::options::parse;

/// Fields that are applied to the running process.
const RELOADED: &[&str] =
    &["Generic.ClientConnection.burst", "Generic.ClientConnection.qps", "Generic.Logging.verbosity"];

/// Fields that are applied at the next start: they decide what is written, by which process, or with which connections.
const NEED_RESTART: &[&str] = &[
    "EndpointController.ConcurrentEndpointSyncs",
    "EndpointController.EndpointUpdatesBatchPeriod",
    "EndpointSliceController.ConcurrentServiceEndpointSyncs",
    "EndpointSliceController.EndpointUpdatesBatchPeriod",
    "EndpointSliceController.MaxEndpointsPerSlice",
    "EndpointSliceMirroringController.MirroringConcurrentServiceEndpointSyncs",
    "EndpointSliceMirroringController.MirroringEndpointUpdatesBatchPeriod",
    "EndpointSliceMirroringController.MirroringMaxEndpointsPerSubset",
    "Generic.ClientConnection.contentType",
    "Generic.ClientConnection.kubeconfig",
    "Generic.Controllers",
    "Generic.Debugging.enableProfiling",
    "Generic.EnablePodFieldSelector",
    "Generic.LeaderElection.leaderElect",
    "Generic.LeaderElection.leaseDuration",
    "Generic.LeaderElection.renewDeadline",
    "Generic.LeaderElection.resourceLock",
    "Generic.LeaderElection.resourceName",
    "Generic.LeaderElection.resourceNamespace",
    "Generic.LeaderElection.retryPeriod",
    "Generic.TakeoverMaxWrites",
    "KubeCloudShared.UseServiceAccountCredentials",
];

fn config(flags: &[String]) -> Config {
    parse(flags).unwrap_or_else(|usage| panic!("{flags:?}: {usage:?}"))
}

fn with(flags: &str) -> Config {
    config(&flags.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
}

fn reloader(config: &Config) -> (Reloader, Registry) {
    let mut registry = Registry::default();
    (Reloader::new(config, RequestLimits::default(), &mut registry), registry)
}

/// Flags that a file can set, with an effect.
fn flags() -> impl Iterator<Item = (&'static Flag, &'static str)> {
    let of_file = |flag: &'static Flag| flag.key.map(|field| (flag, field));
    all().filter(|flag| flag.effect == Effect::Applies).filter_map(of_file)
}

/// Another value than the default.
fn other_value(flag: &Flag) -> &'static str {
    match (flag.name, flag.kind) {
        ("controllers", _) => "endpointslice-controller",
        ("kube-api-content-type", _) => "application/json",
        ("leader-elect-lease-duration", _) => "20s",
        ("leader-elect-renew-deadline", _) => "9s",
        (_, Kind::Bool(_)) if flag.default == "true" => "false",
        (_, Kind::Bool(_)) => "true",
        (_, Kind::Duration(_)) => "1s",
        (_, Kind::Text(_)) => "other",
        _ => "7",
    }
}

#[test]
fn each_field_is_reloaded_or_needs_a_restart() {
    let of = |class: OnChange| flags().filter(move |(flag, _)| flag.on_change == class);
    let reloaded: BTreeSet<&str> = of(OnChange::Reload).map(|(_, field)| field).collect();
    let restart: BTreeSet<&str> = of(OnChange::Restart).map(|(_, field)| field).collect();
    assert_eq!(reloaded, RELOADED.iter().copied().collect());
    assert_eq!(restart, NEED_RESTART.iter().copied().collect());
    assert_eq!(flags().count(), reloaded.len() + restart.len(), "each in one class");
    let ignored = all().filter(|flag| flag.key.is_some() && flag.effect != Effect::Applies);
    assert!(ignored.into_iter().all(|flag| flag.on_change == OnChange::Nothing));
}

/// The class and the code that applies it agree: a reload accepts a field if, and only if, it changes nothing but what is
/// applied.
#[test]
fn a_field_that_is_reloaded_changes_nothing_else() {
    let default = with("");
    for (flag, field) in flags().filter(|(flag, _)| flag.name != "leader-elect-resource-lock") {
        let new = config(&[format!("--{}={}", flag.name, other_value(flag))]);
        let applied = Config {
            rate: default.rate,
            verbosity: default.verbosity,
            flags: default.flags.clone(),
            ..new.clone()
        };
        let applied = Config { configz: default.configz.clone(), ..applied };
        let changes_nothing_else = format!("{applied:?}") == format!("{default:?}");
        assert_eq!(changes_nothing_else, flag.on_change == OnChange::Reload, "{field}");
        assert_ne!(new.flags, default.flags, "{field}");
    }
}

#[test]
fn all_of_a_file_is_applied_or_nothing() {
    let (mut reloader, _) = reloader(&with(""));
    let shown = reloader.shown();
    let qps = |shown: &watch::Receiver<Shown>| {
        shown.borrow().configz.pointer("/Generic/ClientConnection/qps").cloned().unwrap()
    };
    assert_eq!(
        reloader.reload(Ok(with("--kube-api-qps=50 --max-endpoints-per-slice=7"))),
        Outcome::NeedsRestart(vec!["EndpointSliceController.MaxEndpointsPerSlice"])
    );
    assert_eq!(qps(&shown), 20);
    assert_eq!(reloader.reload(Err("wrong".to_owned())), Outcome::Refused("wrong".to_owned()));
    assert_eq!(
        reloader.reload(Ok(with("--kube-api-qps=50 --min-resync-period=1h"))),
        Outcome::Applied(vec!["Generic.ClientConnection.qps"]),
        "a field without effect needs no restart"
    );
    assert_eq!(qps(&shown), 50);
    assert_eq!(reloader.reload(Ok(with("--kube-api-qps=50"))), Outcome::Applied(vec![]));
}

#[test]
fn the_metrics_name_the_last_failure_until_a_reload_succeeds() {
    let (reloader, registry) = reloader(&with(""));
    let lines = || {
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.contains("timestamp"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let counts = |success, failure| {
        BTreeSet::from([
            format!("config_reloads_total{{status=\"success\"}} {success}"),
            format!("config_reloads_total{{status=\"failure\"}} {failure}"),
        ])
    };
    let expect = |successful: u8, restart: &[&str], success, failure| {
        let mut expected = counts(success, failure);
        expected.insert(format!("config_last_reload_successful {successful}"));
        expected
            .extend(restart.iter().map(|field| format!("config_restart_required{{field=\"{field}\"}} 1")));
        assert_eq!(lines().into_iter().collect::<BTreeSet<_>>(), expected);
    };
    let report = |outcome| reloader.report(Path::new("file"), outcome);
    expect(1, &[], 0, 0);
    report(Outcome::NeedsRestart(vec!["Generic.Controllers"]));
    expect(0, &["Generic.Controllers"], 0, 1);
    report(Outcome::Refused("wrong".to_owned()));
    expect(0, &[], 0, 2);
    report(Outcome::Applied(vec![]));
    expect(1, &[], 1, 2);
}

#[test]
fn the_document_names_each_field_that_is_reloaded() {
    let text = include_str!("../../../../docs/configuration.md");
    for field in RELOADED {
        assert!(text.contains(&format!("`{field}`")), "docs/configuration.md does not name {field}");
    }
}
