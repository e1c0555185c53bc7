//! `audit` of a dump.

use std::path::Path;

use crate::program::{Run, run};

/// Two Services in two namespaces, and in one a slice of another Service that does not exist.
const DUMP: &str = "\
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}, spec: {}}
---
{apiVersion: v1, kind: Service, metadata: {name: api, namespace: shop}, spec: {}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: gone-a
  namespace: default
  labels:
    kubernetes.io/service-name: gone
    endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io
addressType: IPv4
endpoints: []
";

fn audit(words: &[&str], stdin: &str) -> Run {
    run(Path::new("/"), &[&["audit", "-f", "-"], words].concat(), stdin)
}

#[test]
fn a_namespace_that_a_dump_has_not_is_a_mistake() {
    let run = audit(&["-n", "nosuch"], DUMP);
    assert_eq!((run.code, run.stderr.as_str()), (1, "Error: no namespace nosuch in the input\n"));
    let run = audit(&["-n", "default"], DUMP);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stdout.contains("orphaned-slice") && run.stderr.starts_with("1 Services: "), "{run:?}");
    let names = audit(&["-n", "default", "-o", "name"], DUMP).stdout;
    assert_eq!(names, "endpointslice.discovery.k8s.io/gone-a\n");
    let run = audit(&["-n", "shop"], DUMP);
    assert!(run.code == 0 && run.stderr.starts_with("1 Services: "), "{run:?}");
}

#[test]
fn a_rule_that_was_asked_for_and_not_applied_leaves_the_question_open() {
    let run = audit(&["--rule=stale-pod"], DUMP);
    assert!(run.code == 6 && run.stderr.contains("these rules were not applied: stale-pod"), "{run:?}");
    assert_eq!(audit(&["--rule=duplicate-endpoint"], DUMP).code, 0);
}

/// A slice with a pod that exists and one that does not.
const STALE: &str = "\
{apiVersion: v1, kind: Node, metadata: {name: a}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: s}
spec: {clusterIP: 10.96.0.1, ipFamilies: [IPv4], selector: {app: web}, ports: [{port: 80, protocol: TCP, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, uid: a, labels: {app: web}}
spec: {nodeName: a, containers: [{name: main}]}
status: {phase: Running, podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}], conditions: [{type: Ready, status: 'True'}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-a
  namespace: shop
  labels:
    kubernetes.io/service-name: web
    endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io
addressType: IPv4
ports: [{name: '', port: 8080, protocol: TCP}]
endpoints:
- {addresses: [10.1.0.1], conditions: {ready: true}, nodeName: a, targetRef: {kind: Pod, namespace: shop, name: web-1, uid: a}}
- {addresses: [10.1.0.2], conditions: {ready: true}, nodeName: a, targetRef: {kind: Pod, namespace: shop, name: web-2, uid: b}}
";

#[test]
fn a_rule_that_was_not_asked_for_explains_nothing() {
    let all = audit(&[], STALE);
    assert!(all.code == 3 && all.stdout.contains("stale-pod"), "{all:?}");
    assert!(!all.stdout.contains("slices-out-of-sync"), "{all:?}");
    let one = audit(&["--rule=slices-out-of-sync"], STALE);
    assert!(one.code == 3 && one.stdout.contains("slices-out-of-sync"), "{one:?}");
    assert!(!one.stdout.contains("stale-pod"), "{one:?}");
}
