//! Kubelets that lose the API server, while their pods still accept connections: what clients get through kube-proxy and CoreDNS.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::Service;
use kube::{Api, Client, ResourceExt as _};
use serde::Serialize;
use serde_json::json;
use tests::kubelets::{Kubelets, Size};
use tests::manager::Kind;
use tokio::time::{interval, sleep};

use crate::options::ProxyMode;
use crate::partition::Partition;
use crate::seed::create;

use super::judges::{Judges, PORT};
use super::rolling::{Connections, QUIET, open};
use super::{address, headless};

const SIZE: Size = Size { nodes: 20, services: 30, pods: 4 };
const LENGTH: Duration = Duration::from_mins(3);
/// The time between two questions to CoreDNS, each for another Service.
const QUESTION: Duration = Duration::from_millis(20);
/// Requests a second of the node lifecycle controller: no limit for this size.
const QPS: u32 = 100;

/// Connections and DNS answers of clients while no kubelet reaches the API server, and until all kubelets are back.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Partitioned {
    pub(super) connections: Connections,
    pub(super) answers: Answers,
}

/// Numbers of DNS answers.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Answers {
    pub(super) all: usize,
    /// Without any address.
    pub(super) empty: usize,
    /// With some of the addresses.
    pub(super) partial: usize,
}

/// A Service of the stand-in kubelets, and a headless one with the same pods.
struct Target {
    address: SocketAddr,
    name: String,
    pods: BTreeSet<IpAddr>,
}

pub(super) async fn measure(kind: Kind, mode: ProxyMode) -> Partitioned {
    let world = Box::pin(Partition::start(kind, SIZE, QPS)).await;
    let judges = Judges::start(&world.cluster, mode).await;
    let client = world.cluster.client();
    let targets = join_all((0..SIZE.services).map(|service| target(&world, &client, service))).await;
    eprintln!("{}: waiting for kube-proxy and CoreDNS", kind.name());
    for it in &targets {
        judges.connects(it.address, true, QUESTION).await;
        judges.resolves(&it.name, &it.pods, QUESTION).await;
    }
    sleep(QUIET).await;
    eprintln!("{}: no kubelet reaches the API server for {} s", kind.name(), LENGTH.as_secs());
    let lost = async {
        world.kubelets.disconnect(0..SIZE.nodes);
        sleep(LENGTH).await;
        for node in 0..SIZE.nodes {
            world.kubelets.reconnect(node).await;
        }
        world.kubelets.wait_for_pods(SIZE.all_pods()).await;
        // Of the headless Services too.
        world.kubelets.wait_for_published(2 * SIZE.all_pods()).await;
        sleep(QUIET).await;
    };
    let addresses: Vec<SocketAddr> = targets.iter().map(|target| target.address).collect();
    let mut answers = Answers::default();
    let connections = tokio::select! {
        connections = open(&addresses, lost) => connections,
        never = ask(&judges, &targets, &mut answers) => match never {},
    };
    Partitioned { connections, answers }
}

/// Makes the pods of a Service accept connections, and creates its headless twin.
async fn target(world: &Partition, client: &Client, service: usize) -> Target {
    let ports = json!([{"port": 80, "targetPort": PORT}]);
    world.kubelets.patch_service(service, &json!({"spec": {"ports": ports}})).await;
    let services: Api<Service> = Api::default_namespaced(client.clone());
    let name = format!("web-{service}");
    let spec = json!({"clusterIP": "None", "selector": {"app": name}, "ports": ports});
    create(&services, json!({"metadata": {"name": headless(&name)}, "spec": spec})).await;
    let first = service * SIZE.pods;
    let service = services.get(&name).await.expect("a Service");
    Target {
        address: address(&service),
        name: format!("{}.{}.svc.cluster.local", headless(&name), service.namespace().unwrap_or_default()),
        pods: (first..first + SIZE.pods).map(Kubelets::address).collect(),
    }
}

/// Asks for one name after the other.
async fn ask(judges: &Judges, targets: &[Target], answers: &mut Answers) -> Infallible {
    let mut pace = interval(QUESTION);
    loop {
        for target in targets {
            pace.tick().await;
            let addresses = judges.addresses(&target.name).await.expect("an answer of CoreDNS");
            answers.all += 1;
            if addresses.is_empty() {
                answers.empty += 1;
            } else if addresses != target.pods {
                answers.partial += 1;
            }
        }
    }
}
