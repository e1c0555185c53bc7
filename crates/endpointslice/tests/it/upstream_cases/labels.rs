//! Counterparts of the tests of slice metadata.

use std::collections::BTreeMap;

use endpointslice::well_known::{ENDPOINTSLICE_CONTROLLER, HEADLESS, MANAGED_BY, SERVICE_NAME};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::support::{Cluster, NAMESPACE, NO_WRITES, PodExt, SERVICE, SERVICE_UID, size, writes};

type Labels = BTreeMap<String, String>;

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// The labels of every slice of the Service, and more.
fn with_own(more: &[(&str, &str)]) -> Labels {
    let mut all = labels(&[(SERVICE_NAME, SERVICE), (MANAGED_BY, ENDPOINTSLICE_CONTROLLER)]);
    all.extend(labels(more));
    all
}

#[test]
fn a_new_slice_has_the_metadata_of_its_service() {
    for (service, cluster_ip, expected) in [
        (labels(&[]), "10.96.0.10", with_own(&[])),
        (labels(&[("team", "shop")]), "10.96.0.10", with_own(&[("team", "shop")])),
        (
            labels(&[("team", "shop"), ("tier", "1")]),
            "10.96.0.10",
            with_own(&[("team", "shop"), ("tier", "1")]),
        ),
        (labels(&[("team", "shop")]), "None", with_own(&[("team", "shop"), (HEADLESS, "")])),
        (labels(&[]), "", with_own(&[(HEADLESS, "")])),
        (
            labels(&[(SERVICE_NAME, "other"), (MANAGED_BY, "me"), (HEADLESS, "yes"), ("team", "shop")]),
            "10.96.0.10",
            with_own(&[("team", "shop")]),
        ),
    ] {
        let mut cluster = Cluster::with_pods(1);
        cluster.trigger_time = None;
        cluster.service.metadata.labels = Some(service);
        cluster.service.metadata.annotations = Some(labels(&[("note", "not copied")]));
        cluster.spec().cluster_ip = Some(cluster_ip.to_owned());
        let plan = cluster.plan();
        let metadata = &plan.types[0].create[0].metadata;
        assert_eq!(metadata.labels, Some(expected));
        assert_eq!(metadata.annotations, None);
        assert_eq!(
            (metadata.generate_name.as_deref(), metadata.namespace.as_deref()),
            (Some("web-"), Some(NAMESPACE))
        );
        let owner = OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Service".to_owned(),
            name: SERVICE.to_owned(),
            uid: SERVICE_UID.to_owned(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        };
        assert_eq!(metadata.owner_references.as_deref(), Some(&[owner][..]));
    }
}

/// Labels of the Service, cluster IP, labels of a slice: do they alone cause a write? After any write, the slice has
/// exactly the right labels.
#[test]
fn labels_are_set_and_reserved_ones_cause_no_write() {
    const IP: &str = "10.96.0.10";
    let team = ("team", "shop");
    let hijack = [(SERVICE_NAME, "other"), (MANAGED_BY, "me"), (HEADLESS, "no")];
    for (service, cluster_ip, found, write, expected) in [
        (labels(&[]), IP, labels(&[]), false, with_own(&[])),
        (labels(&[team]), IP, labels(&[]), true, with_own(&[team])),
        (labels(&[team]), "None", labels(&[]), true, with_own(&[team, (HEADLESS, "")])),
        (labels(&[]), "None", labels(&[]), false, with_own(&[(HEADLESS, "")])),
        (labels(&[(HEADLESS, "")]), IP, labels(&[]), false, with_own(&[])),
        (labels(&[(HEADLESS, "")]), IP, with_own(&[(HEADLESS, "")]), false, with_own(&[])),
        (labels(&[]), IP, with_own(&[(HEADLESS, "")]), false, with_own(&[])),
        (labels(&[team]), "None", with_own(&[team]), false, with_own(&[team, (HEADLESS, "")])),
        (labels(&[]), IP, with_own(&[team]), true, with_own(&[])),
        (labels(&[("team", "new")]), IP, with_own(&[team]), true, with_own(&[("team", "new")])),
        (labels(&[team]), IP, with_own(&[]), true, with_own(&[team])),
        (labels(&hijack), IP, with_own(&[]), false, with_own(&[])),
        (labels(&[hijack[0], hijack[1], team]), IP, with_own(&[]), true, with_own(&[team])),
    ] {
        let mut cluster = Cluster::with_pods(1);
        cluster.place(0..1);
        cluster.service.metadata.labels = Some(service.clone());
        cluster.spec().cluster_ip = Some(cluster_ip.to_owned());
        cluster.only_mut().metadata.labels = Some(found.clone());
        assert_eq!(!cluster.plan().is_empty(), write, "{service:?} {found:?}");
        cluster.pods[0].set_ready(false);
        assert_eq!(cluster.sync(), writes(0, 1, 0));
        assert_eq!(cluster.only().metadata.labels, Some(expected), "{service:?} {found:?}");
    }
}

/// Reserved labels are corrected by a write of any kind, also one for more endpoints or for hints.
#[test]
fn every_write_corrects_all_labels() {
    let spoilt = || {
        let mut cluster = Cluster::with_pods(1);
        cluster.place(0..1);
        cluster.only_mut().metadata.labels = Some(with_own(&[(HEADLESS, "")]));
        cluster
    };
    let changes: [fn(&mut Cluster); 3] = [
        |cluster| cluster.pods[0].set_ready(false),
        |cluster| cluster.pods.push(crate::support::pod(1)),
        |cluster| cluster.spec().traffic_distribution = Some("PreferClose".to_owned()),
    ];
    for change in changes {
        let mut cluster = spoilt();
        assert_eq!(cluster.sync(), NO_WRITES);
        change(&mut cluster);
        assert_eq!(cluster.sync(), writes(0, 1, 0));
        assert_eq!(cluster.only().metadata.labels, Some(with_own(&[])));
    }
}

#[test]
fn a_service_label_reaches_every_slice() {
    let mut cluster = Cluster::with_pods(250);
    cluster.sync();
    cluster.service.metadata.labels = Some(labels(&[("team", "shop")]));
    assert_eq!(cluster.sync(), writes(0, 3, 0));
    assert_eq!(cluster.sizes(), [100, 100, 50]);
    assert!(cluster.slices.iter().all(|slice| slice.metadata.labels == Some(with_own(&[("team", "shop")]))));
}

#[test]
fn reserved_labels_of_a_service_are_ignored() {
    let mut cluster = Cluster::with_pods(250);
    cluster.sync();
    cluster.service.metadata.labels =
        Some(labels(&[(SERVICE_NAME, "other"), (MANAGED_BY, "me"), (HEADLESS, "no")]));
    assert_eq!(cluster.sync(), NO_WRITES);
    assert!(cluster.slices.iter().all(|slice| slice.metadata.labels == Some(with_own(&[]))));
}

/// Under a rate limit the endpoints of an emptied slice would wait for the labels of all others.
#[test]
fn endpoints_are_written_before_labels() {
    let mut cluster = Cluster { max: 2, ..Cluster::with_pods(10) };
    cluster.sync();
    cluster.service.metadata.labels = Some(labels(&[("team", "shop")]));
    let emptied = &mut cluster.slices[2];
    emptied.endpoints = Some(Vec::new());
    let name = emptied.metadata.name.clone();
    let plan = cluster.plan();
    assert_eq!(plan.types[0].update[0].metadata.name, name);
    assert_eq!((plan.types[0].update.len(), size(&plan.types[0].update[0])), (5, 2));
}
