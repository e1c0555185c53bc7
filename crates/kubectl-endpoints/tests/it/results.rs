//! Results of manifests.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{explain, normalized, of_manifest, simulate, tables};

fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, image: nginx, ports: [{name: http, containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}
";

#[test]
fn the_samples() {
    let run = simulate(workspace(), &["-f", "config/samples"], "");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        normalized(tables(&run.stdout)),
        [
            "NAMESPACE NAME ADDRESSTYPE PORTS ENDPOINTS",
            "default endpointslice.discovery.k8s.io/archive-* IPv4 8443 192.0.2.10,192.0.2.11",
            "default endpointslice.discovery.k8s.io/database-* IPv4 5432 10.244.0.3,10.244.0.4",
            "default endpointslice.discovery.k8s.io/dns-* IPv4 53,53 10.244.0.1,10.244.0.2",
            "default endpointslice.discovery.k8s.io/dns-* IPv6 53,53 fd00:10:244::1,fd00:10:244::2",
            "default endpointslice.discovery.k8s.io/web-* IPv4 8080 10.244.0.5,10.244.0.6,10.244.0.7",
            "",
            "NAMESPACE NAME ENDPOINTS",
            "default endpoints/archive 192.0.2.10:8443,192.0.2.11:8443",
            "default endpoints/database 10.244.0.3:5432,10.244.0.4:5432",
            "default endpoints/dns 10.244.0.1:53,10.244.0.2:53,10.244.0.1:53 + 1 more...",
            "default endpoints/web 10.244.0.5:8080,10.244.0.6:8080,10.244.0.7:8080",
        ]
    );
    assert!(run.stderr.starts_with("Made ready pods of those without a status: default/"), "{}", run.stderr);
    for line in [
        "default/archive: 2 of 2 endpoints get traffic; controllers: in sync",
        "default/web: 3 of 3 pods get traffic; controllers: in sync",
    ] {
        assert!(run.stdout.lines().any(|found| found == line), "{line} in {}", run.stdout);
    }
}

#[test]
fn all_objects_can_be_explained() {
    let run = simulate(workspace(), &["-f", "config/samples", "--all", "-o", "yaml"], "");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let explained = explain(&["-f", "-"], &run.stdout);
    assert_eq!(explained.code, 0, "{explained:?}");
    assert!(
        explained.stdout.contains("4 Services: 0 without traffic; controllers: 4 in sync"),
        "{explained:?}"
    );
}

#[test]
fn pods_are_made_for_workloads() {
    let run = of_manifest(WEB, &["-o", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        run.stderr.lines().collect::<Vec<_>>(),
        [
            "The input holds no Nodes: made those that pods run on, without zones: node-1",
            "Made ready pods for workloads without any: Deployment shop/web (3)",
        ]
    );
    let list: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&list["kind"], &list["metadata"]["resourceVersion"]), (&"List".into(), &"".into()));
    let slice = &list["items"][0];
    assert_eq!((&slice["kind"], &slice["metadata"]["namespace"]), (&"EndpointSlice".into(), &"shop".into()));
    assert_eq!(slice["metadata"].get("managedFields"), None);
    let names: Vec<&Value> =
        slice["endpoints"].as_array().unwrap().iter().map(|e| &e["targetRef"]["name"]).collect();
    assert_eq!(names, ["web-1", "web-2", "web-3"]);
    assert_eq!(slice["ports"][0]["port"], 8080);
    assert_eq!(list["items"][1]["kind"], "Endpoints");
}

#[test]
fn the_flags_of_the_real_thing_apply() {
    let run = of_manifest(
        WEB,
        &["-o", "yaml", "--max-endpoints-per-slice=2", "--controllers=endpointslice-controller"],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let list: Value = serde_yaml::from_str(&run.stdout).unwrap();
    let kinds: Vec<&Value> = list["items"].as_array().unwrap().iter().map(|item| &item["kind"]).collect();
    assert_eq!(kinds, ["EndpointSlice", "EndpointSlice"]);
}

#[test]
fn a_namespace_limits_the_output() {
    let other = WEB.replace("shop", "other");
    let run = of_manifest(&format!("{WEB}---\n{other}"), &["-n", "other"]);
    assert_eq!(
        normalized(tables(&run.stdout)),
        [
            "NAME ADDRESSTYPE PORTS ENDPOINTS",
            "endpointslice.discovery.k8s.io/web-* IPv4 8080 10.244.0.4,10.244.0.5,10.244.0.6",
            "",
            "NAME ENDPOINTS",
            "endpoints/web 10.244.0.4:8080,10.244.0.5:8080,10.244.0.6:8080",
        ]
    );
    let unnamed = WEB.replace(", namespace: shop", "");
    let run = of_manifest(&unnamed, &["-n", "mine", "-o", "json"]);
    let list: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(list["items"][0]["metadata"]["namespace"], "mine");
}

#[test]
fn what_has_no_endpoints_is_said() {
    let manifest = "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: ExternalName, externalName: example.com}}\n\
         ---\n{apiVersion: v1, kind: Service, metadata: {name: b}, spec: {selector: {app: x}, ports: [{port: 1}]}}\n\
         ---\n{apiVersion: v1, kind: Service, metadata: {name: c}, spec: {ports: [{port: 1}]}}\n\
         ---\n{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: d}}\n\
         ---\n{apiVersion: v1, kind: Node, metadata: {name: node}}\n\
         ---\n{apiVersion: v1, kind: Service, metadata: {name: e, labels: {service.kubernetes.io/endpoint-controller-name: f}}, \
         spec: {selector: {app: x}, ports: [{port: 1}]}}\n\
         ---\n{apiVersion: v1, kind: Service, metadata: {name: g}, spec: {selector: {app: g}, ports: [{port: 1}]}}\n\
         ---\n{apiVersion: v1, kind: Pod, metadata: {name: pending, labels: {app: g}}, \
         spec: {containers: [{name: a, image: b}]}, status: {phase: Pending, podIPs: []}}\n";
    let run = of_manifest(manifest, &["--feature-gates=EndpointControllerNameWellKnownLabel=true"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(
        run.stderr.lines().collect::<Vec<_>>(),
        [
            "Skipped objects of kinds without endpoints: 1 Ingress (networking.k8s.io/v1)",
            "Services of other controllers (label service.kubernetes.io/endpoint-controller-name): default/e",
            "Services of type ExternalName, which have no endpoints: default/a",
            "Services that select no pod: default/b",
            "Services without a selector and without Endpoints to mirror: default/c",
            "pods without an address: default/pending",
        ]
    );
    let without_gate = of_manifest(manifest, &[]).stderr;
    assert!(without_gate.contains("Services that select no pod: default/b, default/e"), "{without_gate}");
}

#[test]
fn endpoints_are_expected_of_a_controller_that_runs() {
    let run = of_manifest(WEB, &["--controllers=endpointslice-controller"]);
    assert!(run.stdout.contains("endpoints-not-kept"), "{}", run.stdout);
    assert!(run.stdout.contains("3 of 3 pods get traffic; controllers: in sync"), "{}", run.stdout);
    assert!(!of_manifest(WEB, &[]).stdout.contains("endpoints-not-kept"));
}

#[test]
fn a_service_that_keeps_failing_is_named_among_the_others() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: lost, labels: {app: lost}}\nspec: {nodeName: gone, containers: \
               [{name: a, image: b}]}\n---\n\
               {apiVersion: v1, kind: Node, metadata: {name: other}}\n---\n\
               {apiVersion: v1, kind: Service, metadata: {name: lost}, spec: {selector: {app: lost}, ports: [{port: 1}]}}\n";
    let run = of_manifest(&format!("{pod}---\n{WEB}"), &["-o", "json"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let reason = "Error: the endpointslice-controller keeps failing for Service default/lost: skipping Pod lost: Node \
                  \"gone\" not found";
    assert!(run.stderr.lines().any(|line| line == reason), "{}", run.stderr);
    assert!(run.stdout.contains("web-1"));
    let elsewhere = pod.replace("{name: lost", "{namespace: lost, name: lost");
    let run = of_manifest(&format!("{elsewhere}---\n{WEB}"), &["-n", "shop", "-o", "json"]);
    assert!(run.code == 0 && !run.stderr.contains("keeps failing"), "{run:?}");
    assert!(run.stdout.contains("web-1"));
}

#[test]
fn inputs_are_read_together() {
    let directory = tempfile::tempdir().unwrap();
    let (deployment, service) = WEB.split_once("---\n").unwrap();
    fs::create_dir(directory.path().join("inner")).unwrap();
    fs::write(directory.path().join("inner/a.yml"), deployment).unwrap();
    fs::write(directory.path().join("notes.txt"), "no manifest").unwrap();
    let run = simulate(directory.path(), &["-R", "-f", ".", "-f", "-", "-o", "json"], service);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("web-3"));
    let nothing = of_manifest("# nothing\n", &[]);
    assert_eq!((nothing.code, nothing.stdout.as_str(), nothing.stderr.as_str()), (0, "", ""));
}
