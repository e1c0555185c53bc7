//! Endpoints that existed when their Service was deleted go within 15 s, whatever our watches have shown; those that another
//! client creates afterwards stay. Since Kubernetes 1.37 the API server deletes none of them, and neither does the embedded one;
//! the real one does on an older release.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Endpoints, Service};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::late_watches::LateWatches;
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::scenario::{NAMESPACE, World};
use tokio::time::sleep;

/// Services whose Endpoints existed, and as many whose Endpoints come later, on the embedded API server.
const COUNT: usize = 250;
/// The bound on the life of Endpoints without a Service.
const BOUND: Duration = Duration::from_secs(15);

/// Creates Endpoints without a selector for one Service, deletes it, and in half of the cases creates others after that.
async fn race(client: &Client, number: usize) {
    let (services, endpoints): (Api<Service>, Api<Endpoints>) =
        (Api::namespaced(client.clone(), NAMESPACE), Api::namespaced(client.clone(), NAMESPACE));
    let name = format!("s-{number}");
    let object = |address: &str| -> Endpoints {
        serde_json::from_value(json!({"metadata": {"name": name},
            "subsets": [{"addresses": [{"ip": address}]}]}))
        .unwrap()
    };
    if is_later(number) {
        services.delete(&name, &DeleteParams::default()).await.unwrap();
        endpoints.create(&PostParams::default(), &object("192.0.2.2")).await.unwrap();
    } else {
        endpoints.create(&PostParams::default(), &object("192.0.2.1")).await.unwrap();
        services.delete(&name, &DeleteParams::default()).await.unwrap();
    }
}

fn is_later(number: usize) -> bool {
    number % 2 == 1
}

/// The watch of one kind is late by this time.
async fn deleted_in_time(cluster: Cluster, count: usize, late: &'static str, by: Duration) {
    World::prepare(cluster.client(), &[Controller::Endpoints]).await;
    let user = cluster.client_of(User::EndpointControllers).await;
    let proxy = LateWatches::start(user, [(late, by)]).await;
    let options = ManagerOptions::of(&[Controller::Endpoints]);
    let kubeconfig = Some(cluster.kubeconfig_with(options.user, &json!({"server": proxy.url()})));
    // Only the lateness of watches shall matter.
    let flags = ["--kube-api-qps=1000", "--kube-api-burst=1000"].map(str::to_owned).to_vec();
    let manager = Manager::ours(&cluster, &ManagerOptions { kubeconfig, flags, ..options }).await;

    let client = cluster.client();
    let services: Api<Service> = Api::namespaced(client.clone(), NAMESPACE);
    let numbers = || futures::stream::iter(0..2 * count);
    numbers()
        .for_each_concurrent(20, async |number| {
            let service = json!({"metadata": {"name": format!("s-{number}")}, "spec": {"clusterIP": "None"}});
            services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
        })
        .await;
    sleep(2 * by).await;
    let mark = cluster.audit().mark();
    numbers().for_each_concurrent(20, |number| race(&client, number)).await;
    // The bound counts from when the program can know of the deletion.
    sleep(if late == "services" { by + BOUND } else { BOUND }).await;

    let left: Api<Endpoints> = Api::namespaced(client.clone(), NAMESPACE);
    let left = left.list(&ListParams::default()).await.unwrap();
    let left: BTreeSet<String> = left.iter().map(ResourceExt::name_any).collect();
    let expected: BTreeSet<String> =
        (0..2 * count).filter(|number| is_later(*number)).map(|number| format!("s-{number}")).collect();
    let nobodys: Vec<&String> = left.difference(&expected).collect();
    let lost: Vec<&String> = expected.difference(&left).collect();
    assert_eq!((nobodys, lost), (vec![], vec![]), "left without a Service; lost though created later");
    let deleted = cluster.audit().writes_since(mark, User::EndpointControllers);
    let of_later = deleted.iter().filter(|write| write.code < 300 && expected.contains(&write.name));
    assert_eq!(
        of_later.map(|write| &write.name).collect::<Vec<_>>(),
        [""; 0],
        "deleted though created later"
    );
    println!("{late} late by {by:?}: 0 of {count} left, {} requests", deleted.len());
    drop(manager);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_go_though_their_watch_is_late() {
    deleted_in_time(Cluster::embedded().await, COUNT, "endpoints", Duration::from_secs(3)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_go_though_their_watch_is_later_than_the_bound() {
    deleted_in_time(Cluster::embedded().await, COUNT, "endpoints", Duration::from_secs(25)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_that_come_later_stay_though_the_watch_of_services_is_late() {
    deleted_in_time(Cluster::embedded().await, COUNT, "services", Duration::from_secs(3)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_go_without_late_watches() {
    deleted_in_time(Cluster::embedded().await, COUNT, "pods", Duration::ZERO).await;
}

/// On kube-apiserver, whose cache of a kind says up to which version it is current.
mod real_server {
    use super::*;

    const COUNT: usize = 1_000;

    async fn on_the_real_server(late: &'static str, by: u64) {
        let cluster = Cluster::start(ClusterOptions::default()).await;
        deleted_in_time(cluster, COUNT, late, Duration::from_secs(by)).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn endpoints_go_though_their_watch_is_later_than_the_bound() {
        on_the_real_server("endpoints", 25).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn endpoints_that_come_later_stay_though_the_watch_of_services_is_late() {
        on_the_real_server("services", 3).await;
    }
}
