//! `preflight` on real servers alongside kube-controller-manager: a prepared cluster is in order, planted faults are found, and the
//! audit log has no write but access reviews. The unit tests of `kubectl-endpoints` have each outcome of each check.

mod refusals;
mod site;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tests::manager::LeaderElection;

use crate::deploy::manifests::file;
use site::{PREPARED, Site, endpoints};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prepared_cluster_is_in_order_faults_are_found_and_nothing_is_written() {
    let site = Site::prepare().await;
    let _manager = site.settle().await;
    site.manager_pod("kcm", "*,bootstrapsigner,tokencleaner").await;
    let mark = site.cluster.audit().mark();
    let report = site.preflight(PREPARED);
    let others: Vec<_> = report.checks.iter().filter(|(_, check)| check["status"] != json!("ok")).collect();
    assert!(others.is_empty() && report.code == 0, "{others:#?}");
    assert_eq!(report.checks.len(), 18, "{:#?}", report.checks);
    assert!(report.message("last-writers").contains("kube-controller-manager"), "{report:?}");
    assert!(report.message("priority-of-lease").contains("leader-election"), "{report:?}");

    let writes = site.admin_writes(mark);
    assert!(writes.len() > 20, "{writes:#?}");
    let is_review = |line: &&String| {
        !["create selfsubjectaccessreviews", "create subjectaccessreviews"].contains(&line.as_str())
    };
    assert_eq!(writes.iter().filter(is_review).count(), 0, "{writes:#?}");
    faults(&site).await;
}

/// Plants faults in objects of each kind that checks read.
async fn faults(site: &Site) {
    let configuration = "controllerManager: {extraArgs: {controllers: '*,-endpoints-controller'}}";
    site.create(&json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "kubeadm-config", "namespace": "kube-system"},
        "data": {"ClusterConfiguration": configuration}}))
        .await;
    site.create(&endpoints("default", "pg-config")).await;
    site.create(&file("base/deployment.yaml")[0]).await;
    let hold = &file("disable-built-ins/hold.yaml")[0]["metadata"]["annotations"];
    let hold = Patch::Merge(json!({"metadata": {"annotations": hold}}));
    let leases: Api<Lease> = Api::namespaced(site.cluster.client(), "kube-system");
    leases.patch(LeaderElection::LEASE, &PatchParams::default(), &hold).await.unwrap();

    let report = site.preflight(&[PREPARED, &["--mirroring-max-endpoints-per-subset=1"]].concat());
    assert_eq!(report.code, 3, "{report:#?}");
    report.expect("first-plans", "failed", "1 write: update EndpointSlice shop/custom-");
    let deletion = "1 object: Endpoints default/pg-config: No Service has this name";
    report.expect("start-up-deletions", "warning", deletion);
    let flag = "kubeadm-config has --controllers=*,-endpoints-controller";
    report.expect("kubeadm-controllers", "failed", flag);
    report.expect("lease-endpoint-controller-manager", "ok", "On hold");
    report.expect("leftover-workloads", "ok", "(0 of 2 ready)");
}
