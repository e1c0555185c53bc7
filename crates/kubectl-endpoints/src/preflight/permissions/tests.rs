//! The table of permissions is what `deploy/base` grants.

use std::collections::BTreeSet;
use std::path::Path;

use endpoint_controller_manager::options;
use serde::Deserialize as _;
use serde_json::Value;

use super::*;

fn config(flags: &[&str]) -> Config {
    options::parse(flags).unwrap()
}

fn documents(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/base").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    serde_yaml::Deserializer::from_str(&text).map(|document| Value::deserialize(document).unwrap()).collect()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The permissions that a file of `deploy/base/rbac` grants, as [`Need::text`] has them, each with its API group.
fn granted(file: &str) -> BTreeSet<String> {
    let [role] = documents(&format!("rbac/{file}.yaml")).try_into().unwrap();
    let namespace = role["metadata"]["namespace"].as_str().unwrap_or_default();
    let mut granted = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        let names = strings(&rule["resourceNames"]);
        for group in strings(&rule["apiGroups"]) {
            for resource in strings(&rule["resources"]) {
                for verb in strings(&rule["verbs"]) {
                    let place = match (namespace, names.as_slice()) {
                        ("", []) => String::new(),
                        (namespace, []) => format!(" in {namespace}"),
                        (namespace, [name]) => format!(" {namespace}/{name}"),
                        _ => panic!("{rule}"),
                    };
                    granted.insert(format!("{group}: {verb} {resource}{place}"));
                }
            }
        }
    }
    granted
}

/// A cluster with the objects of `deploy/base`.
const USUAL: Present = Present { openshift: false, lease: true };

fn needed(config: &Config, check: Id) -> BTreeSet<String> {
    needed_with(config, USUAL, check)
}

fn needed_with(config: &Config, present: Present, check: Id) -> BTreeSet<String> {
    let of_check = needs(config, present).into_iter().filter(|need| need.check == check);
    of_check.map(|need| format!("{}: {}", need.group, need.text())).collect()
}

#[test]
fn the_table_is_what_the_roles_grant() {
    let config = config(&[]);
    for (check, file) in [
        (ENDPOINTS_RBAC, "endpoints-controller"),
        (SLICE_RBAC, "endpointslice-controller"),
        (MIRRORING_RBAC, "endpointslice-mirroring-controller"),
        (LEASE_RBAC, "leader-election"),
    ] {
        assert_eq!(needed(&config, check), granted(file), "{file}");
    }
    let files = documents("rbac/kustomization.yaml").remove(0);
    // The other two are the Lease and the role for readers of metrics.
    assert_eq!(strings(&files["resources"]).len(), 4 + 2, "a role without a row in the table: {files}");
}

/// Roles of Kubernetes that `deploy/base` binds; the table has what the program uses of them.
#[test]
fn the_bound_roles_are_those_of_the_table() {
    let roles: BTreeSet<String> = documents("bindings.yaml")
        .iter()
        .map(|binding| binding["roleRef"]["name"].as_str().unwrap())
        .filter(|role| !role.starts_with("endpoint-controller-manager:"))
        .map(str::to_owned)
        .collect();
    let expected = ["extension-apiserver-authentication-reader", "system:auth-delegator"];
    assert_eq!(roles, expected.map(str::to_owned).into());
    let needed = needed(&config(&[]), SERVING_RBAC);
    let expected = [
        ": get configmaps kube-system/extension-apiserver-authentication",
        "authentication.k8s.io: create tokenreviews",
        "authorization.k8s.io: create subjectaccessreviews",
    ];
    assert_eq!(needed, expected.map(str::to_owned).into());
}

#[test]
fn the_cluster_decides_about_the_permissions() {
    let more = |present, check| -> Vec<String> {
        let usual = needed(&config(&[]), check);
        needed_with(&config(&[]), present, check).difference(&usual).cloned().collect()
    };
    let openshift = Present { openshift: true, ..USUAL };
    assert_eq!(more(openshift, ENDPOINTS_RBAC), [": create endpoints/restricted"]);
    for check in [SLICE_RBAC, MIRRORING_RBAC] {
        assert_eq!(more(openshift, check), ["discovery.k8s.io: create endpointslices/restricted"]);
    }
    let without_lease = Present { lease: false, ..USUAL };
    assert_eq!(more(without_lease, LEASE_RBAC), ["coordination.k8s.io: create leases in kube-system"]);
}

#[test]
fn the_gate_for_disruptions_decides_about_nodes() {
    let gate = "--feature-gates=EndpointsKeepReadyOnDisruption=true";
    let more = |check| -> Vec<String> {
        let usual = needed(&config(&[]), check);
        needed(&config(&[gate]), check).difference(&usual).cloned().collect()
    };
    assert_eq!(more(ENDPOINTS_RBAC), [": list nodes", ": watch nodes"]);
    assert!(more(SLICE_RBAC).is_empty());
}

#[test]
fn flags_decide_about_the_permissions() {
    let checks = |flags: &[&str]| -> BTreeSet<&str> {
        needs(&config(flags), USUAL).iter().map(|need| need.check.name).collect()
    };
    let one = checks(&["--controllers=endpointslice-controller", "--leader-elect=false"]);
    assert_eq!(one, ["rbac-endpointslice-controller", "rbac-serving"].into());

    let lease = needed(&config(&["--leader-elect-resource-name=mine"]), LEASE_RBAC);
    assert!(lease.contains("coordination.k8s.io: update leases kube-system/mine"), "{lease:?}");

    let accounts = config(&["--use-service-account-credentials=true", "--controllers=endpoint"]);
    let own = needed(&accounts, ENDPOINTS_RBAC);
    assert!(
        own.contains(": list pods") && own.contains(": create endpoints (by endpoint-controller)"),
        "{own:?}"
    );
    let tokens = needed(&accounts, ACCOUNT_RBAC);
    assert_eq!(tokens, [": create serviceaccounts/token kube-system/endpoint-controller".to_owned()].into());
}
