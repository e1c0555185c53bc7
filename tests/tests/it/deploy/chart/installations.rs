//! What an installation must say, and what `helm` prints after it: none starts without an image, or beside
//! kube-controller-manager by mistake.

use serde_json::{Value, json};

use super::super::site::SYSTEM;
use super::{chart, helm};

/// Renders an installation without a cluster, with its notes.
fn install(values: &Value) -> Result<String, String> {
    let chart = chart();
    let args = ["install", "ecm", chart.to_str().unwrap(), "--namespace", SYSTEM, "--dry-run=client"];
    let output = helm(&args, values);
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn an_installation_must_name_an_image() {
    let refusal = install(&json!({"image": {"repository": ""}})).unwrap_err();
    assert!(refusal.contains("image.repository is required: no image is published"), "{refusal}");
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
    assert!(notes.contains("the replicas wait, and write nothing"), "{notes}");
    let notes = with(false, true).unwrap();
    assert!(notes.contains("kube-controller-manager must not run the same controllers"), "{notes}");
}

/// An upgrade releases the Lease; what an installation has said is not asked again.
#[test]
fn an_upgrade_is_not_asked() {
    let chart = chart();
    let args = ["template", "ecm", chart.to_str().unwrap(), "--is-upgrade"];
    let output = helm(&args, &json!({"builtInControllersDisabled": false}));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
