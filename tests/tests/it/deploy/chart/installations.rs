//! The values that an installation of the chart must have, and the notes that `helm` prints after it: helm refuses one without an
//! image, or alongside kube-controller-manager by mistake.

use serde_json::{Value, json};

use super::super::site::SYSTEM;
use super::{chart, helm};

/// Renders an installation without a cluster, with its notes.
fn install(values: &Value) -> Result<String, String> {
    install_in(SYSTEM, values)
}

fn install_in(namespace: &str, values: &Value) -> Result<String, String> {
    let chart = chart();
    let args = ["install", "ecm", chart.to_str().unwrap(), "--namespace", namespace, "--dry-run=client"];
    helm(&args, values)
}

#[test]
fn an_installation_must_name_an_image() {
    let refusal = install(&json!({"image": {"repository": ""}})).unwrap_err();
    assert!(refusal.contains("image.repository is required: no image is published"), "{refusal}");
}

/// Without a registry, nodes pull from Docker Hub, where anybody may publish an image of this name.
#[test]
fn an_image_without_a_registry_must_be_on_the_nodes() {
    let with = |repository: &str, policy: &str| {
        install(&json!({"image": {"repository": repository, "pullPolicy": policy}}))
    };
    for repository in ["endpoint-controller-manager", "someone/endpoint-controller-manager"] {
        let refusal = with(repository, "").unwrap_err();
        assert!(refusal.contains("names no registry"), "{refusal}");
        assert!(with(repository, "Never").is_ok());
    }
    for repository in
        ["docker.io/someone/ecm", "localhost/ecm", "registry:5000/ecm", "registry.example/a/b/ecm"]
    {
        assert_eq!(with(repository, "").err(), None);
    }
}

#[test]
fn an_installation_holds_the_lease_or_says_that_the_built_in_controllers_are_disabled() {
    let with = |hold: bool, disabled: bool| {
        install(&json!({"lease": {"hold": hold}, "builtInControllersDisabled": disabled}))
    };
    let refusal = with(false, false).unwrap_err();
    for way in ["lease.hold=true", "builtInControllersDisabled=true"] {
        assert!(refusal.contains(way), "{refusal}");
    }
    let notes = with(true, false).unwrap();
    assert!(notes.contains("the replicas wait, and nothing is written"), "{notes}");
    let notes = with(false, true).unwrap();
    assert!(
        notes.contains("Check that nothing else does") && !notes.contains("takeoverMaxWrites"),
        "{notes}"
    );
    // One of two replicas leads: the log of a Deployment is that of either.
    assert!(notes.contains(" logs --selector=") && !notes.contains(" logs deployment/"), "{notes}");
    let notes = install(&json!({"takeoverMaxWrites": 0})).unwrap();
    assert!(notes.contains("--set takeoverMaxWrites=null"), "{notes}");
}

/// `handover` looks for the Deployment in kube-system, unless it is told where.
#[test]
fn notes_name_the_deployment_of_another_namespace() {
    let held = json!({"lease": {"hold": true}});
    let notes = install_in("endpoints", &held).unwrap();
    let command = "`kubectl endpoints handover --deployment=endpoints/endpoint-controller-manager`";
    assert!(notes.contains(command), "{notes}");
    let notes = install(&held).unwrap();
    assert!(notes.contains("`kubectl endpoints handover`"), "{notes}");
}

/// Else the checks are of another program than the one that is installed, and `handover` refuses it.
#[test]
fn commands_of_the_notes_have_the_flags_that_count() {
    let notes = |disabled: bool| {
        install(&json!({
            "lease": {"hold": !disabled}, "builtInControllersDisabled": disabled,
            "controllers": ["endpointslice-mirroring-controller"], "featureGates": {"AllAlpha": false},
            "config": {"Generic": {"ClientConnection": {"qps": 50}}},
            "extraArgs": ["--emulated-version=1.36", "--kubeconfig=/in/the/pod", "--user-agent-name=it's mine"],
        }))
        .unwrap()
    };
    let preflight = "preflight --service-account=kube-system:endpoint-controller-manager \
                     --controllers=endpointslice-mirroring-controller --feature-gates=AllAlpha=false \
                     --emulated-version=1.36 '--user-agent-name=it'\\''s mine' --config=FILE ";
    for notes in [notes(false), notes(true)] {
        assert!(notes.contains(preflight), "{notes}");
    }
    let handover = "`kubectl endpoints handover --controllers=endpointslice-mirroring-controller`";
    assert!(notes(false).contains(handover), "{}", notes(false));
}

/// Nothing else would give the alert Down a target: it would fire without an end.
#[test]
fn notes_say_what_alerts_without_a_monitor_need() {
    let enabled = json!({"enabled": true});
    let notes = |values: Value| install(&values).unwrap();
    let alone = notes(json!({"prometheusRule": enabled}));
    for label in ["job=\"endpoint-controller-manager\"", "metrics_path=\"/metrics\""] {
        assert!(alone.contains(label), "{alone}");
    }
    for monitor in ["podMonitor", "serviceMonitor"] {
        let both = notes(json!({"prometheusRule": enabled, monitor: enabled}));
        assert!(!both.contains("without a monitor"), "{both}");
    }
    assert!(!notes(json!({})).contains("without a monitor"));
}

/// Else `--set lease.hold=false` alone, or an upgrade of a comparison, would begin to write.
#[test]
fn an_upgrade_must_say_the_same() {
    let chart = chart();
    let args = ["template", "ecm", chart.to_str().unwrap(), "--is-upgrade"];
    assert_eq!(helm(&args, &json!({})).err(), None);
    let refusal = helm(&args, &json!({"builtInControllersDisabled": false})).unwrap_err();
    assert!(refusal.contains("builtInControllersDisabled=true and lease.hold=false"), "{refusal}");
}

/// `--reuse-values --set mode=shadow` would delete the Deployment that writes and its Lease. One that is on hold may have been
/// released by `handover`.
#[test]
fn an_upgrade_makes_no_comparison_of_a_writer() {
    let chart = chart();
    let with = |more: &[&str], disabled: bool, hold: bool| {
        let args = [&["template", "ecm", chart.to_str().unwrap()], more].concat();
        let lease = json!({"hold": hold});
        helm(&args, &json!({"mode": "shadow", "builtInControllersDisabled": disabled, "lease": lease}))
    };
    for (disabled, hold) in [(true, false), (false, true)] {
        let refusal = with(&["--is-upgrade"], disabled, hold).unwrap_err();
        assert!(refusal.contains("Install the comparison as a release of its own"), "{refusal}");
        assert_eq!(with(&[], disabled, hold).err(), None);
    }
    assert_eq!(with(&["--is-upgrade"], false, false).err(), None);
}

#[test]
fn a_comparison_is_installed_alongside_the_built_in_controllers() {
    let notes = install(&json!({"mode": "shadow", "builtInControllersDisabled": false})).unwrap();
    assert!(notes.contains("It writes nothing"), "{notes}");
    assert!(notes.contains("logs deployment/endpoint-controller-manager-shadow"), "{notes}");
}
