//! The controllers for the API server: the user of each request, the manager in managedFields, the number of watches.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use serde_json::json;
use tests::audit::Request;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::scenario::{NAMESPACE, Pod, World};

const UPSTREAM: &str = "kube-controller-manager";
const OURS: &str = "endpoint-controller-manager";

fn web(number: u16) -> Pod {
    Pod::new(&format!("web-{number}"), "web", number)
}

fn managers(meta: &ObjectMeta) -> BTreeSet<&str> {
    let managers = meta.managed_fields.iter().flatten();
    managers.map(|entry| entry.manager.as_deref().unwrap()).collect()
}

/// The managers of the Endpoints and of the slice of the Service, which must agree.
async fn managers_of_web(world: &World) -> BTreeSet<String> {
    let api: Api<Endpoints> = Api::namespaced(world.client().clone(), NAMESPACE);
    let endpoints = api.get("web").await.unwrap();
    let slices = world.slices_of("web", "IPv4").await.unwrap();
    let [slice] = slices.as_slice() else { panic!("one slice, not {}", slices.len()) };
    assert_eq!(managers(&endpoints.metadata), managers(&slice.metadata));
    managers(&slice.metadata).into_iter().map(str::to_owned).collect()
}

fn of_web(requests: &[Request]) -> Vec<String> {
    let of_web = requests.iter().filter(|request| request.name.starts_with("web"));
    of_web.map(ToString::to_string).collect()
}

/// A take-over writes nothing, whatever our name. Later writes have a second manager, or the same one with upstream's
/// name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn managed_fields_after_a_takeover() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let options = ManagerOptions::of(Controller::ALL);
    // At its start, upstream deletes Endpoints whose Service it has not seen.
    let world = World::prepare(cluster.client(), options.controllers).await;
    let mut manager = Manager::start(Kind::Upstream, &cluster, &options).await;
    world.pod(web(0)).await;
    world.service("web", json!({}), json!({"selector": {"app": "web"}, "ports": [{"port": 80}]})).await;
    world.expect("web", "IPv4", 1, 1).await;
    world.settle().await;
    assert_eq!(managers_of_web(&world).await, BTreeSet::from([UPSTREAM.to_owned()]));

    let named = vec![format!("--user-agent-name={UPSTREAM}")];
    for (number, flags, expected) in [(1, named, vec![UPSTREAM]), (2, Vec::new(), vec![OURS, UPSTREAM])] {
        manager.stop().await;
        let before = managers_of_web(&world).await;
        let mark = cluster.audit().mark();
        let options = ManagerOptions { flags, ..options.clone() };
        manager = Manager::start(Kind::Ours, &cluster, &options).await;
        world.settle().await;
        let written = of_web(&cluster.audit().writes_since(mark, options.user));
        assert!(written.is_empty(), "{}", written.join("\n"));
        assert_eq!(managers_of_web(&world).await, before);

        world.pod(web(number)).await;
        let pods = usize::from(number) + 1;
        world.expect("web", "IPv4", pods, pods).await;
        world.settle().await;
        let expected: BTreeSet<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(managers_of_web(&world).await, expected);
    }
    manager.stop().await;
}

/// As under kubeadm: the manager's own user may do little but request tokens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_controller_writes_as_its_service_account() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let options = ManagerOptions {
        user: User::KubeControllerManager,
        flags: vec!["--use-service-account-credentials=true".to_owned()],
        ..ManagerOptions::of(Controller::ALL)
    };
    let mark = cluster.audit().mark();
    let manager = Manager::start(Kind::Ours, &cluster, &options).await;
    let world = World::prepare(cluster.client(), options.controllers).await;
    world.sync().await;
    manager.stop().await;

    let by_us = |request: &Request| {
        request.is_write() && !request.is_unserved() && request.user_agent.starts_with(OURS)
    };
    let requests: Vec<Request> = cluster.audit().since(mark).into_iter().filter(by_us).collect();
    let mut writes: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    let mut tokens = Vec::new();
    for request in &requests {
        // A conflict is not a lack of permissions: the cache was behind.
        let is_allowed = request.code < 300 || request.code == 409;
        assert!(is_allowed || request.resource == "serviceaccounts/token", "{request}");
        let part = request.user_agent.rsplit_once('/').unwrap().1;
        if request.resource.starts_with("serviceaccounts") {
            assert_eq!((request.user.as_str(), part), (options.user.name(), OURS), "{request}");
            if request.resource == "serviceaccounts/token" && request.code < 300 {
                tokens.push(request.name.as_str());
            }
        } else {
            writes.entry((&request.user, part)).or_default().insert(&request.resource);
        }
    }
    tokens.sort_unstable();
    let accounts = ["endpoint-controller", "endpointslice-controller", "endpointslicemirroring-controller"];
    assert_eq!(tokens, accounts, "one token each");
    let users = accounts.map(|account| format!("system:serviceaccount:kube-system:{account}"));
    let resources = ["endpoints", "endpointslices", "endpointslices"];
    for (user, resource) in users.iter().zip(resources) {
        // Events, if any, come from the same account.
        let written = writes.remove(&(user.as_str(), user.as_str())).unwrap_or_default();
        assert!(written.contains(resource), "{user} wrote {written:?}");
    }
    assert!(writes.is_empty(), "another user wrote: {writes:?}");
}

/// Objects are watched, decoded and cached once, for any number of controllers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_controllers_share_one_watch_of_each_kind() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let options = ManagerOptions::of(Controller::ALL);
    let mark = cluster.audit().mark();
    let manager = Manager::ours(&cluster, &options).await;
    // A ready manager has begun all of its watches.
    let watched = cluster.audit().list_watches_since(mark, options.user);
    let kinds = ["endpoints", "endpointslices", "nodes", "pods", "services"];
    assert_eq!(watched, BTreeMap::from(kinds.map(|kind| (kind.to_owned(), 1))));
    manager.stop().await;
}
