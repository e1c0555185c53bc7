//! A case for each rule, on a small cluster in which nothing else is wrong.
#![allow(clippy::needless_pass_by_value, reason = "objects are passed by value for shorter calls")]

mod cluster;
mod dns;
mod documents;
mod proxy;
mod repairs;

use std::sync::Arc;

use endpoint_informers::resource::Resource as _;
use endpointslice::Interner;
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use pod_network_controller::ResourceClaim;
use serde_json::{Value, json};

use crate::audit::{Options, audit};
use crate::snapshot::{Kind, Object};
use cluster::{
    Cluster, HEADLESS, LEADER, MANAGED_BY, SERVICE_NAME, SKIP_MIRROR, SLICES, endpoint, line, metadata, pod,
    service, slice,
};

/// Edits the cluster and compares what is found, in any order.
#[track_caller]
fn finds(expected: &[&str], edit: impl FnOnce(&mut Cluster)) {
    let mut cluster = Cluster::healthy();
    edit(&mut cluster);
    let mut found = cluster.findings();
    found.sort_unstable();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected, "{:#?}", cluster.audit().findings);
}

fn named(mut object: Value, name: &str) -> Value {
    object["metadata"]["name"] = name.into();
    object["metadata"]["uid"] = format!("uid-{name}").into();
    object
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    finds(&[], |_| {});
}

#[test]
fn an_endpoint_in_two_slices_is_a_duplicate_and_in_slices_of_two_port_sets_is_not() {
    let second = || named(slice("web", SLICES, vec![endpoint("web-1", "10.1.0.1")]), "web-b");
    finds(&["duplicate-endpoint warning EndpointSlice web-b"], |cluster| cluster.slices.push(second()));
    finds(&["slices-out-of-sync warning Service web"], |cluster| {
        let mut other = second();
        other["ports"] = json!([{"name": "https", "port": 8443, "protocol": "TCP"}]);
        cluster.slices.push(other);
    });
}

#[test]
fn pods_that_are_gone_replaced_moved_or_ended_are_stale() {
    let both = ["stale-pod error Endpoints web", "stale-pod error EndpointSlice web-a"];
    finds(&both, |cluster| drop(cluster.pods.pop()));
    finds(&both, |cluster| cluster.pods[0]["metadata"]["uid"] = "another".into());
    finds(&both, |cluster| cluster.pods[0]["status"]["podIPs"] = json!([{"ip": "10.1.0.9"}]));
    finds(&both, |cluster| cluster.pods[0]["status"]["phase"] = "Failed".into());
    finds(&["stale-pod error Endpoints web", "stale-pod warning EndpointSlice web-a"], |cluster| {
        cluster.slices[0]["endpoints"][1]["conditions"]["ready"] = false.into();
        cluster.pods.pop();
    });
}

#[test]
fn slices_of_a_service_that_is_gone_are_orphans_unless_the_namespace_ends() {
    finds(
        &["endpoints-without-service warning Endpoints web", "orphaned-slice warning EndpointSlice web-a"],
        |cluster| {
            drop(cluster.services.remove(0));
        },
    );
    let mut cluster = Cluster::healthy();
    drop(cluster.services.remove(0));
    let mut snapshot = cluster.snapshot(&[]);
    let ending = json!({"metadata": {"name": "shop", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
    snapshot.upsert(Object::Namespace(Arc::new(serde_json::from_value(ending).unwrap())));
    assert_eq!(audit(&snapshot, &cluster.options).findings, []);
}

#[test]
fn mirrors_without_endpoints_that_are_mirrored_are_orphans() {
    let orphan = "orphaned-mirror warning EndpointSlice db-a";
    finds(&[orphan], |cluster| drop(cluster.endpoints.pop()));
    finds(&[orphan, "leader-election info Endpoints db"], |cluster| {
        cluster.endpoints[1]["metadata"]["annotations"] = json!({LEADER: "{}"});
    });
    finds(&[orphan], |cluster| cluster.endpoints[1]["metadata"]["labels"] = json!({SKIP_MIRROR: "true"}));
    finds(&["endpoints-without-service warning Endpoints db", orphan], |cluster| {
        drop(cluster.services.pop())
    });
}

#[test]
fn an_owner_reference_that_is_missing_or_names_an_older_object_is_found() {
    for index in [0, 1] {
        let name = ["web-a", "db-a"][index];
        let found = format!("slice-owner warning EndpointSlice {name}");
        finds(&[&found], |cluster| {
            cluster.slices[index]["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        });
        finds(&[&found], |cluster| {
            cluster.slices[index]["metadata"]["ownerReferences"][0]["uid"] = "older".into();
        });
    }
}

#[test]
fn slices_that_name_no_service_are_found_and_those_of_others_may_be_meant_so() {
    finds(&["missing-service-name warning EndpointSlice web-a"], |cluster| {
        cluster.slices[0]["metadata"]["labels"] = json!({MANAGED_BY: SLICES});
    });
    finds(&["missing-service-name info EndpointSlice x"], |cluster| {
        cluster
            .slices
            .push(json!({"metadata": metadata("x", json!({})), "addressType": "IPv4", "endpoints": []}));
    });
}

#[test]
fn what_stays_when_a_service_loses_its_selector_is_worth_knowing() {
    // The Endpoints are mirrored from then on, which no controller has done here.
    finds(
        &[
            "mirror-out-of-sync warning Endpoints web",
            "left-behind info Endpoints web",
            "left-behind info EndpointSlice web-a",
        ],
        |cluster| drop(cluster.services[0]["spec"].as_object_mut().unwrap().remove("selector")),
    );
    finds(&["left-behind info Endpoints web", "left-behind info EndpointSlice web-a"], |cluster| {
        cluster.services[0]["spec"]["type"] = "ExternalName".into();
    });
}

#[test]
fn a_deletion_that_waits_for_a_finalizer_is_found_after_a_minute() {
    let deleted = |time: &str| {
        let mut slice = named(slice("web", SLICES, vec![endpoint("web-1", "10.1.0.1")]), "web-b");
        slice["metadata"]["deletionTimestamp"] = time.into();
        slice["metadata"]["finalizers"] = json!(["tests.example/kept"]);
        slice
    };
    finds(&["stuck-deletion warning EndpointSlice web-b"], |cluster| {
        cluster.slices.push(deleted("2026-05-31T23:58:00Z"));
    });
    finds(&[], |cluster| cluster.slices.push(deleted("2026-05-31T23:59:30Z")));
}

#[test]
fn two_managers_with_pods_in_common_are_a_fault_and_with_others_are_not() {
    let other = |endpoint: Value| named(slice("web", "mesh.example", vec![endpoint]), "web-b");
    finds(&["two-managers warning Service web"], |cluster| {
        // The second network of the same pod, as kubernetes' own controller publishes the first.
        cluster.slices.push(other(endpoint("web-1", "192.168.0.1")));
    });
    finds(&["two-managers info Service web"], |cluster| {
        cluster.slices.push(other(json!({"addresses": ["172.16.0.1"]})));
    });
}

#[test]
fn a_delegated_service_that_ours_publishes_too_or_none_does_is_found() {
    let label = json!({"service.kubernetes.io/endpoint-controller-name": "mesh.example"});
    finds(&["delegated-service warning Service web"], |cluster| {
        cluster.services[0]["metadata"]["labels"] = label.clone();
    });
    finds(&["delegated-service warning Service web"], |cluster| {
        cluster.services[0]["metadata"]["labels"] = label.clone();
        drop(cluster.slices.remove(0));
    });
    finds(&[], |cluster| {
        cluster.services[0]["metadata"]["labels"] = label.clone();
        cluster.slices[0]["metadata"]["labels"][MANAGED_BY] = "mesh.example".into();
    });
    // Mirrored, and left from when it had a selector.
    finds(&["delegated-service warning Service db"], |cluster| {
        cluster.services[1]["metadata"]["labels"] = label.clone();
    });
    finds(&["delegated-service warning Service web"], |cluster| {
        cluster.services[0]["metadata"]["labels"] = label.clone();
        cluster.services[0]["spec"].as_object_mut().unwrap().remove("selector");
    });
    // The other controller has withdrawn it.
    finds(&[], |cluster| {
        cluster.services[0]["metadata"]["labels"] = label.clone();
        cluster.services[0]["metadata"]["deletionTimestamp"] = "2026-05-31T00:00:00Z".into();
        drop(cluster.slices.remove(0));
    });
}

#[test]
fn a_manager_whose_name_is_mistyped_is_found() {
    finds(&["unknown-manager warning EndpointSlice web-a"], |cluster| {
        cluster.slices[0]["metadata"]["labels"][MANAGED_BY] = "endpointslice-controler.k8s.io".into();
    });
    finds(&["unknown-manager warning Endpoints web"], |cluster| {
        cluster.endpoints[0]["metadata"]["labels"]["endpoints.kubernetes.io/managed-by"] =
            "endpoints-controller".into();
    });
}

#[test]
fn sizes_of_slices_count_by_the_flag() {
    let max = |max| Options { max_endpoints_per_slice: max, ..Options::default() };
    finds(&["oversized-slice warning EndpointSlice web-a"], |cluster| cluster.options = max(Some(1)));
    finds(&[], |cluster| cluster.options = max(Some(2)));
    finds(&["half-empty-slices info Service web"], |cluster| {
        for number in 3..9 {
            let (name, ip) = (format!("web-{number}"), format!("10.1.0.{number}"));
            cluster.pods.push(pod(&name, &ip));
            cluster.slices.push(named(slice("web", SLICES, vec![endpoint(&name, &ip)]), &name));
            let address = cluster::address(&name, &ip);
            cluster.endpoints[0]["subsets"][0]["addresses"].as_array_mut().unwrap().push(address);
        }
    });
}

#[test]
fn endpoints_beyond_a_limit_are_found() {
    finds(
        &["truncated-endpoints warning Endpoints db", "mirror-out-of-sync warning Endpoints db"],
        |cluster| {
            let many =
                (0..1001).map(|number| json!({"ip": format!("10.8.{}.{}", number / 250, number % 250)}));
            cluster.endpoints[1]["subsets"][0]["addresses"] = many.collect();
        },
    );
    finds(
        &["endpoints-out-of-sync warning Endpoints web", "truncated-endpoints info Endpoints web"],
        |cluster| {
            cluster.endpoints[0]["metadata"]["annotations"] =
                json!({"endpoints.kubernetes.io/over-capacity": "truncated"});
        },
    );
}

#[test]
fn the_headless_label_hides_slices_of_a_service_with_a_cluster_ip() {
    finds(&["headless-label error EndpointSlice web-a"], |cluster| {
        cluster.slices[0]["metadata"]["labels"][HEADLESS] = "".into();
    });
    finds(&["headless-label error EndpointSlice db-a"], |cluster| {
        cluster.slices[1]["metadata"]["labels"][HEADLESS] = "".into();
        cluster.endpoints[1]["metadata"]["labels"][HEADLESS] = "".into();
    });
    finds(&["headless-label info EndpointSlice web-a"], |cluster| {
        cluster.services[0]["spec"]["clusterIP"] = "None".into();
    });
}

#[test]
fn reserved_labels_of_users_are_found() {
    finds(&["reserved-label info Service web"], |cluster| {
        cluster.services[0]["metadata"]["labels"] = json!({HEADLESS: ""});
    });
    finds(&["reserved-label warning Endpoints db"], |cluster| {
        cluster.endpoints[1]["metadata"]["labels"] = json!({SERVICE_NAME: "db"});
    });
}

#[test]
fn opting_out_of_mirroring_by_mistake_is_found() {
    finds(&["skip-mirror info Service db"], |cluster| {
        cluster.services[1]["metadata"]["labels"] = json!({SKIP_MIRROR: "true"});
    });
    finds(&["skip-mirror warning Endpoints db"], |cluster| {
        cluster.endpoints[1]["metadata"]["labels"] = json!({SKIP_MIRROR: "True"});
        cluster.slices[1]["metadata"]["labels"][SKIP_MIRROR] = "True".into();
    });
    finds(&["skip-mirror warning Endpoints db"], |cluster| {
        cluster.endpoints[1]["metadata"]["labels"] = json!({SKIP_MIRROR: "true"});
        cluster.slices.pop();
    });
}

#[test]
fn endpoints_without_a_service_are_lost_at_a_start_unless_they_are_locks() {
    let lonely = |annotations: Value| {
        let mut metadata = metadata("pg", json!({}));
        metadata["annotations"] = annotations;
        json!({"metadata": metadata})
    };
    finds(&["endpoints-without-service warning Endpoints pg"], |cluster| {
        cluster.endpoints.push(lonely(json!({})))
    });
    finds(&["leader-election info Endpoints pg"], |cluster| {
        cluster.endpoints.push(lonely(json!({LEADER: "{}"})))
    });
    let mut cluster = Cluster::healthy();
    cluster.endpoints.push(lonely(json!({"initialize": "6840371529"})));
    let message = cluster.audit().findings[0].message.clone();
    assert!(message.contains("Patroni"), "{message}");
}

/// Adds a Service that selects no pod, in sync.
fn idle(cluster: &mut Cluster) {
    cluster.services.push(service("idle", json!({"selector": {"app": "idle"}, "clusterIP": "10.96.0.3"})));
    let mut placeholder = slice("idle", SLICES, vec![]);
    placeholder["ports"] = json!([]);
    cluster.slices.push(placeholder);
    let labels = json!({"endpoints.kubernetes.io/managed-by": "endpoint-controller"});
    cluster.endpoints.push(json!({"metadata": metadata("idle", labels)}));
}

#[test]
fn a_service_that_selects_nothing_is_worth_knowing() {
    let mut cluster = Cluster::healthy().only_db();
    idle(&mut cluster);
    assert_eq!(cluster.findings(), ["selects-nothing info Service idle"]);
}

#[test]
fn the_gravest_findings_come_first_and_then_objects_in_order() {
    let mut cluster = Cluster::healthy();
    cluster.pods.pop();
    cluster.slices[1]["metadata"]["ownerReferences"] = json!([]);
    idle(&mut cluster);
    let order = [
        "stale-pod error Endpoints web",
        "stale-pod error EndpointSlice web-a",
        "slice-owner warning EndpointSlice db-a",
        "selects-nothing info Service idle",
    ];
    assert_eq!(cluster.findings(), order);
}

#[test]
fn slices_and_endpoints_that_differ_from_what_pods_ask_for_are_found() {
    finds(&["slices-out-of-sync warning Service web"], |cluster| {
        cluster.slices[0]["endpoints"].as_array_mut().unwrap().pop();
    });
    finds(&["slices-out-of-sync warning Service web"], |cluster| drop(cluster.slices.remove(0)));
    finds(&["slices-out-of-sync info Service web"], |cluster| {
        cluster.nodes[0]["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": "a"});
    });
    finds(&["endpoints-out-of-sync warning Endpoints web"], |cluster| {
        cluster.endpoints[0]["subsets"][0]["addresses"].as_array_mut().unwrap().pop();
    });
    finds(&["endpoints-out-of-sync warning Endpoints web", "selects-nothing info Service idle"], |cluster| {
        idle(cluster);
        cluster.endpoints.remove(0);
    });
    finds(&["mirror-out-of-sync warning Endpoints db"], |cluster| {
        cluster.endpoints[1]["subsets"][0]["addresses"][0]["ip"] = "10.9.0.2".into();
    });
    finds(&["mirror-out-of-sync warning Endpoints db"], |cluster| drop(cluster.slices.remove(1)));
}

#[test]
fn what_changed_half_a_minute_ago_is_not_out_of_sync_yet() {
    // The second by a clock that is ahead of the reader's.
    for time in ["2026-05-31T23:59:55Z", "2026-06-01T00:00:10Z"] {
        finds(&[], |cluster| {
            let mut ready = pod("web-3", "10.1.0.3");
            ready["status"]["conditions"][0]["lastTransitionTime"] = time.into();
            cluster.pods.push(ready);
        });
    }
    finds(
        &["endpoints-out-of-sync warning Endpoints web", "slices-out-of-sync warning Service web"],
        |cluster| cluster.pods.push(pod("web-3", "10.1.0.3")),
    );
}

/// Of so many nodes the kubelets are lost, that of the pods among them, and the node lifecycle controller has marked the pods.
fn lose_kubelets(cluster: &mut Cluster, lost: usize) {
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": "2026-05-01T00:00:00Z"});
    let node = cluster.nodes[0].clone();
    cluster.nodes.extend((1..4).map(|number| named(node.clone(), &format!("other-{number}"))));
    for (number, node) in cluster.nodes.iter_mut().enumerate() {
        let ready = if number < lost { "Unknown" } else { "True" };
        node["status"]["conditions"] = json!([condition("Ready", ready)]);
    }
    for pod in &mut cluster.pods {
        pod["status"]["conditions"] =
            json!([condition("Ready", "False"), condition("ContainersReady", "True")]);
    }
}

#[test]
fn pods_that_keep_their_readiness_in_a_disruption_are_in_sync() {
    finds(&["kept-ready info Service web"], |cluster| lose_kubelets(cluster, 3));
    finds(
        &["endpoints-out-of-sync warning Endpoints web", "slices-out-of-sync warning Service web"],
        |cluster| lose_kubelets(cluster, 2),
    );
    let ours = |cluster: &mut Cluster| {
        cluster.pods[0]["spec"]["readinessGates"] = json!([{"conditionType": "ours"}])
    };
    finds(
        &[
            "endpoints-out-of-sync warning Endpoints web",
            "kept-ready info Service web",
            "slices-out-of-sync warning Service web",
        ],
        |cluster| {
            lose_kubelets(cluster, 3);
            ours(cluster);
        },
    );
}

#[test]
fn clusters_without_endpoints_or_of_older_releases_are_in_sync() {
    // KEP-4974: the controller may be off.
    finds(&[], |cluster| drop(cluster.endpoints.remove(0)));
    // The label is of release 1.33.
    finds(&[], |cluster| cluster.endpoints[0]["metadata"]["labels"] = json!({}));
}

#[test]
fn a_second_look_confirms_what_is_there_both_times() {
    let (mut first, mut second) = (Cluster::healthy(), Cluster::healthy());
    first.pods.pop();
    for cluster in [&mut first, &mut second] {
        cluster.slices[1]["metadata"]["ownerReferences"] = json!([]);
    }
    second.slices[0]["metadata"]["labels"][HEADLESS] = "".into();
    second.slices[1]["metadata"]["resourceVersion"] = "8".into();
    let confirmed = second.all().confirming(&first.all()).without_explained();
    let [finding] = confirmed.findings.as_slice() else { panic!("{confirmed:?}") };
    assert_eq!(finding.rule, "slice-owner");
    // The repair is of the version seen last.
    assert_eq!(finding.repair.as_ref().map(|repair| &*repair.resource_version), Some("8"));
    assert_eq!(confirmed.gravest(), Some(super::Severity::Warning));
}

#[test]
fn a_second_look_confirms_no_other_pod_of_the_same_slice() {
    let rules = |first: &Cluster, second: &Cluster| -> Vec<&'static str> {
        let confirmed = second.all().confirming(&first.all());
        confirmed.findings.iter().map(|finding| finding.rule).filter(|rule| *rule == "stale-pod").collect()
    };
    let (mut first, mut second) = (Cluster::healthy(), Cluster::healthy());
    first.pods.remove(0);
    second.pods.remove(1);
    assert_eq!(rules(&first, &second), [""; 0]);
    second.pods.pop();
    assert_eq!(rules(&first, &second), ["stale-pod"; 2], "one of both is the same");
    // Another one of the name.
    let mut replaced = first.clone();
    for object in
        [&mut replaced.slices[0]["endpoints"], &mut replaced.endpoints[0]["subsets"][0]["addresses"]]
    {
        object[0]["targetRef"]["uid"] = "another".into();
    }
    assert_eq!(rules(&first, &replaced), [""; 0]);
}

#[test]
fn a_finding_that_passes_explains_no_other() {
    let (mut first, mut second) = (Cluster::healthy(), Cluster::healthy());
    first.pods.pop();
    second.slices[0]["endpoints"].as_array_mut().unwrap().pop();
    assert_eq!(first.audit().findings.len(), 2, "both are stale pods");
    let confirmed = second.all().confirming(&first.all()).without_explained();
    let found: Vec<String> = confirmed.findings.iter().map(line).collect();
    assert_eq!(found, ["slices-out-of-sync warning Service web"]);
}

#[test]
fn rules_whose_objects_may_not_be_read_are_skipped_and_named() {
    let audit = audit(&Cluster::healthy().snapshot(&[Kind::Pods]), &Options::default());
    assert_eq!(audit.findings, []);
    let skipped: Vec<&str> = audit.skipped.iter().map(|it| it.rule).collect();
    assert_eq!(
        skipped,
        [
            "stale-pod",
            "selects-nothing",
            "slices-out-of-sync",
            "endpoints-out-of-sync",
            "kept-ready",
            "network-out-of-sync"
        ]
    );
    assert_eq!(audit.skipped[0].needs, ["pods"]);
}

#[test]
fn rules_about_endpoints_that_may_not_be_read_are_skipped() {
    let audit = audit(&Cluster::healthy().snapshot(&[Kind::Endpoints]), &Options::default());
    assert_eq!(audit.findings, []);
    let skipped: Vec<&str> = audit.skipped.iter().map(|it| it.rule).collect();
    assert_eq!(
        skipped,
        [
            "orphaned-mirror",
            "slice-owner",
            "missing-service-name",
            "truncated-endpoints",
            "endpoints-without-service",
            "leader-election",
            "endpoints-out-of-sync",
            "mirror-out-of-sync"
        ]
    );
}

#[test]
fn slices_of_a_pod_network_have_what_its_controller_finds() {
    const CONTROLLER: &str = "pod-network-controller";
    let mut cluster = Cluster::healthy();
    let mut net = service("net", json!({"selector": {"app": "web"}, "clusterIP": "10.96.0.3"}));
    net["metadata"]["labels"] = json!({ENDPOINT_CONTROLLER_NAME: CONTROLLER});
    net["metadata"]["annotations"] = json!({"pod-network-controller/dra-driver": "net.example.com"});
    let mut published = slice("net", CONTROLLER, vec![endpoint("web-1", "192.168.7.1")]);
    published["metadata"]["labels"][ENDPOINT_CONTROLLER_NAME] = CONTROLLER.into();
    cluster.services.push(net);
    cluster.slices.push(published);
    let without_claims =
        |cluster: &Cluster| audit(&cluster.snapshot(&[Kind::ResourceClaims]), &cluster.options).findings;
    assert!(without_claims(&cluster).is_empty(), "nobody has looked");
    let found = |cluster: &Cluster, address: &str, ready: bool| {
        let claim = json!({"metadata": {"namespace": "shop", "name": "web-1-net"}, "status": {
            "reservedFor": [{"resource": "pods", "name": "web-1", "uid": "uid-web-1"}],
            "devices": [{
                "driver": "net.example.com", "pool": "p", "device": "eth1", "networkData": {"ips": [address]},
                "conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}],
            }],
        }});
        let (claim, _) = ResourceClaim::read_json(&claim.to_string(), &mut Interner::default()).unwrap();
        let mut snapshot = cluster.snapshot(&[]);
        snapshot.upsert(Object::ResourceClaim(Arc::new(claim)));
        audit(&snapshot, &cluster.options).findings.iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(found(&cluster, "192.168.7.1", true), Vec::<String>::new());
    for (address, ready) in [("192.168.7.1", false), ("192.168.7.2", true)] {
        assert_eq!(
            found(&cluster, address, ready),
            ["network-out-of-sync warning Service net"],
            "{address}, {ready}"
        );
    }
    // One without a selector has none either.
    let selector = cluster.services.last_mut().unwrap()["spec"]["selector"].take();
    let published = cluster.slices.pop().unwrap();
    assert_eq!(found(&cluster, "192.168.7.1", true), ["delegated-service warning Service net"]);
    // Without pods, claims that are not known say as little.
    cluster.services.last_mut().unwrap()["spec"]["selector"] = json!({"app": "none"});
    assert!(!without_claims(&cluster).iter().any(|it| it.rule == "network-out-of-sync"));
    cluster.services.last_mut().unwrap()["spec"]["selector"] = selector;
    cluster.slices.push(published);
    // One for an external name has no slices, whatever it selects.
    cluster.slices.pop();
    cluster.services.last_mut().unwrap()["spec"]["type"] = "ExternalName".into();
    assert_eq!(found(&cluster, "192.168.7.1", true), Vec::<String>::new());
}
