//! kube-controller-manager and this program at work on the same objects, as by mistake.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use k8s_openapi::api::core::v1::Endpoints;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::audit::{Mark, Request};
use crate::barrier::workers_rest;
use crate::cluster::{Cluster, ClusterOptions, Seed};
use crate::manager::{Controller, Manager, ManagerOptions};
use crate::metrics::Exposition;
use crate::parity::is_of_endpoints;
use crate::scenario::{NAMESPACE, Pod, World};
use crate::simulate;
use crate::wait::{self, LIMIT};

/// The name of upstream's program in its user agent.
const UPSTREAM: &str = "kube-controller-manager";
const SERVICE: &str = "web";
/// The Service without a selector.
const CUSTOM: &str = "custom";

/// Starts upstream on this number of Services that have neither slices nor Endpoints, and ours as soon as upstream writes.
/// Waits until every object is right: slices that both made are there once.
///
/// # Panics
/// If that does not happen.
pub async fn cold_start(services: u32) {
    let seed = Seed { services, pods: 10, ..Seed::default() };
    let cluster = Cluster::seeded_with(&seed, ClusterOptions::default()).await;
    let mark = cluster.audit().mark();
    let options = ManagerOptions::of(Controller::ALL);
    let _upstream = Manager::upstream(&cluster, &options);
    wait::until("upstream to write", LIMIT, || async {
        let is_write = |request: &Request| request.is_write() && is_of_endpoints(request);
        if cluster.audit().since(mark).iter().any(is_write) { Ok(()) } else { Err("no write") }
    })
    .await;
    let _ours = Manager::ours(&cluster, &options).await;
    // A contested Service is repaired once a minute.
    wait::until("all objects to be right", 2 * LIMIT, || async {
        let changes = simulate::changes(&simulate::dump(&cluster.client()).await, &[]);
        if changes.is_empty() { Ok(()) } else { Err(format!("{changes:#?}")) }
    })
    .await;
}

/// Lets upstream write an object of each controller while ours is stopped, and waits until ours has counted exactly the
/// writes of upstream.
///
/// # Panics
/// If it counts another number.
pub async fn count_foreign_writes() {
    let cluster = Cluster::start(ClusterOptions { audit_responses: true, ..ClusterOptions::default() }).await;
    let world = World::prepare(cluster.client(), Controller::ALL).await;
    let endpoints: Api<Endpoints> = Api::namespaced(cluster.client(), NAMESPACE);
    prepare(&world, &endpoints).await;
    let options = ManagerOptions::of(Controller::ALL);
    let flags = vec!["--authorization-always-allow-paths=/readyz,/metrics".to_owned()];
    let mut ours = Manager::ours(&cluster, &ManagerOptions { flags, ..options.clone() }).await;
    world.sync().await;
    workers_rest(Controller::ALL, ours.pages()).await;

    ours.process().freeze().await;
    let mark = cluster.audit().mark();
    world.ips(SERVICE, &["10.8.0.1"]).await;
    let patch = Patch::Merge(custom("192.0.2.2"));
    endpoints.patch(CUSTOM, &PatchParams::default(), &patch).await.expect("changing Endpoints");
    let upstream = Manager::upstream(&cluster, &options);
    wait::until("writes of upstream", LIMIT, || async {
        let made = made(&cluster.audit().since(mark));
        if made.len() == Controller::ALL.len() { Ok(()) } else { Err(format!("{made:?}")) }
    })
    .await;
    ours.process().signal("CONT");
    all_counted(&ours, &cluster, mark).await;
    upstream.stop().await;
}

/// Creates a Service, a pod and custom Endpoints: one object for each controller.
async fn prepare(world: &World, endpoints: &Api<Endpoints>) {
    let ports = json!([{"name": "http", "port": 80}]);
    let spec = json!({"selector": {"app": SERVICE}, "ports": ports, "ipFamilies": ["IPv4"]});
    world.service(SERVICE, json!({}), spec).await;
    world.service(CUSTOM, json!({}), json!({"ports": ports})).await;
    world.pod(Pod::new(SERVICE, SERVICE, 1)).await;
    let object = serde_json::from_value(custom("192.0.2.1")).expect("Endpoints");
    endpoints.create(&PostParams::default(), &object).await.expect("creating Endpoints");
}

/// Custom Endpoints with one address.
fn custom(address: &str) -> Value {
    json!({
        "metadata": {"name": CUSTOM},
        "subsets": [{"addresses": [{"ip": address}], "ports": [{"name": "http", "port": 80}]}],
    })
}

/// Waits until ours has counted every write that upstream has made since `mark`, and no other.
async fn all_counted(ours: &Manager, cluster: &Cluster, mark: Mark) {
    wait::until("all writes of upstream to be counted", LIMIT, || async {
        let made = made(&cluster.audit().since(mark));
        let counted = counted(ours).await;
        let is_counted = made.iter().all(|(controller, made)| made.contains(&counted[*controller]));
        if is_counted { Ok(()) } else { Err(format!("made: {made:?}, counted: {counted:?}")) }
    })
    .await;
}

/// The foreign writes that ours has counted for each controller.
async fn counted(ours: &Manager) -> BTreeMap<String, u64> {
    let (status, text) = ours.get("/metrics").await;
    assert_eq!(status, 200, "{text}");
    let page = Exposition::parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let value = |controller: &Controller| {
        let value = page.number("foreign_writes_total", &[("controller", controller.name())]);
        let value = value.unwrap_or_else(|| panic!("no series of {}", controller.name()));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
        (controller.name().to_owned(), value as u64)
    };
    Controller::ALL.iter().map(value).collect()
}

/// The creates and updates of upstream that were accepted and changed something, by controller: the least and the most that ours
/// may count.
///
/// An update with the content that is stored gets the version of the write before, and no watch shows it. If ours sends one (a
/// mirrored slice is updated without a version), its response has the version that upstream wrote, which then counts as its own.
fn made(requests: &[Request]) -> BTreeMap<&'static str, RangeInclusive<u64>> {
    let is_accepted = |request: &&Request| {
        matches!(request.verb.as_str(), "create" | "update" | "patch")
            && request.code < 300
            && is_of_endpoints(request)
    };
    let mut by_version: BTreeMap<&str, Vec<&Request>> = BTreeMap::new();
    for request in requests.iter().filter(is_accepted) {
        by_version
            .entry(request.version.as_deref().expect("the version in the audit log"))
            .or_default()
            .push(request);
    }
    let mut made = BTreeMap::new();
    for writers in by_version.values() {
        let (upstream, others): (Vec<&Request>, Vec<&Request>) =
            writers.iter().partition(|request| request.program() == UPSTREAM);
        let client =
            |controller: &&Controller| upstream.iter().any(|it| it.user_agent.ends_with(controller.client()));
        if let Some(controller) = Controller::ALL.iter().find(client) {
            let (least, most): &mut (u64, u64) = made.entry(controller.name()).or_default();
            *least += u64::from(others.is_empty());
            *most += 1;
        }
    }
    made.into_iter().map(|(controller, (least, most))| (controller, least..=most)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(program: &str, version: &str) -> Request {
        let agent = format!("{program}/v1 kubernetes/v1{}", Controller::EndpointSliceMirroring.client());
        let event = json!({
            "stage": "ResponseComplete", "verb": "update", "user": {"username": "me"}, "userAgent": agent,
            "objectRef": {"resource": "endpointslices"}, "requestObject": {},
            "responseStatus": {"code": 200}, "responseObject": {"metadata": {"resourceVersion": version}},
            "requestReceivedTimestamp": "2001-01-01T00:00:00Z", "stageTimestamp": "2001-01-01T00:00:00Z",
        });
        crate::audit::parse(&event.to_string()).unwrap()
    }

    #[test]
    fn a_write_whose_version_ours_was_told_too_may_count_as_its_own() {
        let ours = "endpoint-controller-manager";
        let requests =
            [request(UPSTREAM, "7"), request(ours, "8"), request(UPSTREAM, "9"), request(ours, "9")];
        assert_eq!(made(&requests), [(Controller::EndpointSliceMirroring.name(), 1..=2)].into());
    }
}
