//! Faults that are planted one after the other, each found by its check.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use tests::manager::{Controller, LeaderElection, Manager, ManagerOptions};
use tests::scenario::{NAMESPACE, Pod, World};

use super::site::{PREPARED, Site, endpoints};
use crate::deploy::PATIENT;
use crate::deploy::manifests::file;

const OFF: &str = "*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_planted_fault_is_found() {
    let site = Site::prepare().await;
    let (upstream, world) = site.settle().await;
    site.manager_pod("kcm", "*").await;
    permissions(&site);
    plans(&site, &world).await;
    kubeadm(&site).await;
    leftovers(&site).await;
    // A process that ends while it leads exits with an error.
    upstream.stop().await;
    foreign_writes(&site).await;
    two_writers(&site).await;
}

fn permissions(site: &Site) {
    let report = site.preflight(&["--service-account=kube-system:nobody", "--confirm-after=0"]);
    assert_eq!(report.code, 3);
    report.expect("rbac-endpointslice-controller", "failed", "may not: list services, watch services");
    report.expect("rbac-leader-election", "failed", "update leases kube-system/endpoint-controller-manager");
    report.expect("rbac-serving", "warning", "create tokenreviews");
    // A user of a static pod matches no FlowSchema of the control plane.
    let report = site.preflight(&["--for-user=endpoint-controller-manager", "--confirm-after=0"]);
    report.expect("priority-of-lease", "warning", "global-default");
    report.expect("priority-of-requests", "warning", "global-default");
}

async fn plans(site: &Site, world: &World) {
    let with = |flag| site.preflight(&[PREPARED, &[flag]].concat());
    let report = with("--mirroring-max-endpoints-per-subset=1");
    assert_eq!(report.code, 3);
    report.expect("first-plans", "failed", "1 write: update EndpointSlice shop/custom-");

    world.pod(Pod::new("web-4", "web", 4).spec("terminationGracePeriodSeconds", json!(600))).await;
    world.expect("web", "IPv4", 4, 4).await;
    world.terminate("web-4").await;
    world.expect("web", "IPv4", 4, 3).await;
    world.settle().await;
    let report = with("--feature-gates=EndpointSliceTerminatingCondition=false");
    report.expect("first-plans", "failed", "1 write: update EndpointSlice shop/web-");
    let report = with("--feature-gates=TolerateUnreadyEndpointsAnnotation=true");
    report.expect("first-plans", "ok", "change nothing");

    // A start deletes Endpoints without a Service, and those alone.
    site.create(&endpoints("default", "pg-config")).await;
    let report = site.preflight(PREPARED);
    report.expect(
        "start-up-deletions",
        "warning",
        "1 object: Endpoints default/pg-config: No Service has this name",
    );
    report.expect("first-plans", "ok", "change nothing");
    assert_eq!(report.code, 0, "{report:#?}");
    with("--controllers=endpointslice-controller").expect("start-up-deletions", "ok", "nothing");
}

async fn kubeadm(site: &Site) {
    let configuration = "controllerManager: {extraArgs: {controllers: '*,-endpoints-controller'}}";
    site.preflight(PREPARED).expect("kubeadm-controllers", "ok", "Not a cluster of kubeadm");
    site.create(&json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "kubeadm-config", "namespace": "kube-system"},
        "data": {"ClusterConfiguration": configuration}}))
        .await;
    let report = site.preflight(PREPARED);
    report.expect(
        "kubeadm-controllers",
        "failed",
        "the pod kcm has --controllers=*, without bootstrapsigner and tok",
    );
    report.expect(
        "kubeadm-controllers",
        "failed",
        "kubeadm-config has --controllers=*,-endpoints-controller",
    );
    site.manager_pod("kcm-2", OFF).await;
    site.preflight(PREPARED).expect(
        "built-in-controllers",
        "warning",
        "differ: only some run endpoints-controller",
    );
    site.delete_manager_pod("kcm-2").await;
}

async fn leftovers(site: &Site) {
    let leases: Api<Lease> = Api::namespaced(site.cluster.client(), "kube-system");
    let patch = async |change: Value| {
        leases.patch(LeaderElection::LEASE, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    };
    let lease = async |spec: &Value| patch(json!({"spec": spec})).await;
    let hold = &file("disable-built-ins/hold.yaml")[0]["metadata"]["annotations"];
    patch(json!({"metadata": {"annotations": hold}})).await;
    let report = site.preflight(PREPARED);
    report.expect("lease-endpoint-controller-manager", "ok", "On hold");
    report.expect("leftover-workloads", "warning", "The Lease is on hold");
    site.create(&file("base/deployment.yaml")[0]).await;
    site.preflight(PREPARED).expect("leftover-workloads", "ok", "(0 of 2 ready)");

    patch(json!({"metadata": {"annotations": null}})).await;
    lease(&json!({"holderIdentity": "killed_1", "leaseDurationSeconds": 15,
        "renewTime": "2026-01-01T00:00:00.000000Z"}))
    .await;
    let report = site.preflight(PREPARED);
    report.expect("lease-endpoint-controller-manager", "warning", "Left by killed_1");
    report.expect("leftover-workloads", "warning", "Deployment kube-system/endpoint-controller-manager");
    lease(&json!({"holderIdentity": ""})).await;
}

/// A slice that another client changes while no controller runs.
async fn foreign_writes(site: &Site) {
    let slices: Api<EndpointSlice> = Api::namespaced(site.cluster.client(), NAMESPACE);
    let of_web = ListParams::default().labels("kubernetes.io/service-name=web");
    let name = slices.list(&of_web).await.unwrap().items[0].metadata.name.clone().unwrap();
    let change = Patch::Merge(json!({"endpoints": []}));
    let by = PatchParams { field_manager: Some("intruder".to_owned()), ..PatchParams::default() };
    slices.patch(&name, &by, &change).await.unwrap();
    let report = site
        .preflight(&["--service-account=kube-system:endpoint-controller-manager", "--confirm-after=10ms"]);
    assert_eq!(report.code, 3);
    report.expect(
        "last-writers",
        "warning",
        &format!("intruder: 1 object, the newest EndpointSlice {NAMESPACE}/{name}"),
    );
    report.expect("first-plans", "failed", &format!("1 write: update EndpointSlice {NAMESPACE}/{name} ("));
}

/// This program alongside a kube-controller-manager that runs the controllers too, and then after it.
async fn two_writers(site: &Site) {
    site.bind("Role", "endpoint-controller-manager:leader-election").await;
    let options = ManagerOptions { leader_election: Some(PATIENT), ..ManagerOptions::of(Controller::ALL) };
    let ours = Manager::ours(&site.cluster, &options).await;
    tests::wait::until("the writes of ours", tests::wait::LIMIT, async || {
        let report = site.preflight(PREPARED);
        if report.message("first-plans").contains("change nothing") {
            Ok(())
        } else {
            Err(format!("{report:?}"))
        }
    })
    .await;
    let report = site.preflight(PREPARED);
    report.expect("built-in-controllers", "failed", "Two programs write");
    report.expect("leftover-objects", "ok", "leads");
    report.expect("leftover-workloads", "ok", "The program runs");
    site.delete_manager_pod("kcm").await;
    site.manager_pod("kcm", OFF).await;
    site.preflight(PREPARED).expect("built-in-controllers", "ok", "runs none");
    assert!(ours.stop().await.success());
    let report = site.preflight(PREPARED);
    report.expect(
        "built-in-controllers",
        "failed",
        "runs none, and endpoint-controller-manager does not lead",
    );
    report.expect("leftover-objects", "warning", "last writer of");
}
