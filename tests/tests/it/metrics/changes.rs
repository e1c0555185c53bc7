//! The metrics about the time from a change to its write: as many observations as the API server has acknowledged writes,
//! and an age as long as a change is not written.
//!
//! `hack/bench` has the times themselves next to those of a watcher: `own p99` and `p99` of churn.

use k8s_openapi::api::core::v1::{Endpoints, Node, Service};
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;
use tests::audit::Request;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::metrics::Exposition;
use tests::scenario::{NAMESPACE, Pod, World};
use tests::wait::{self, LIMIT};

use super::{as_f64, expect};

const DURATION: &str = "change_write_duration_seconds";
const AGE: &str = "oldest_unwritten_change_age_seconds";

/// Every sync of this workload writes one object at most.
async fn changes(world: &World) {
    world.pods((0..3).map(|number| Pod::new(&format!("web-{number}"), "web", number))).await;
    let spec = json!({"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]});
    for name in ["web", "doomed"] {
        world.service(name, json!({}), spec.clone()).await;
        world.expect(name, "IPv4", 3, 3).await;
    }
    world.ready("web-0", false).await;
    world.expect("web", "IPv4", 3, 2).await;
    world.terminate("web-1").await;
    world.gone("web-1").await;
    world.expect("web", "IPv4", 2, 1).await;
    world.delete_service("doomed").await;
    let nodes: Api<Node> = Api::all(world.client().clone());
    let zone = json!({"metadata": {"labels": {"topology.kubernetes.io/zone": "z"}}});
    nodes.patch("a", &PatchParams::default(), &Patch::Merge(zone)).await.unwrap();
    world.endpoints("custom", json!({"addresses": [{"ip": "10.9.0.1"}], "ports": [{"port": 80}]})).await;
    world.service("custom", json!({}), json!({"ports": [{"port": 80}]})).await;
    world.expect("custom", "IPv4", 1, 1).await;
    let custom: Api<Endpoints> = Api::namespaced(world.client().clone(), NAMESPACE);
    custom.delete("custom", &DeleteParams::default()).await.unwrap();
    world.sync().await;
}

/// Waits until the authorizer has seen that all roles of a user are gone. All of them allow to list Services.
async fn is_refused(cluster: &Cluster, user: User) {
    let services: Api<Service> = Api::all(cluster.client_of(user).await);
    let first = ListParams::default().limit(1);
    wait::until("refused requests", LIMIT, async || match services.list(&first).await {
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(()),
        answer => Err(format!("{:?}", answer.map(drop))),
    })
    .await;
}

async fn scrape(manager: &Manager) -> Result<Exposition, String> {
    Exposition::parse(&manager.scrape().await.text)
}

fn ages(metrics: &Exposition) -> Vec<Option<f64>> {
    let age = |controller: &Controller| metrics.number(AGE, &[("controller", controller.name())]);
    Controller::ALL.iter().map(age).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_write_is_measured_and_a_refused_one_ages() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let options = ManagerOptions::of(Controller::ALL);
    let mark = cluster.audit().mark();
    let mut manager = Manager::ours(&cluster, &options).await;
    let world = World::prepare(cluster.client(), options.controllers).await;
    changes(&world).await;

    cluster.withdraw_roles(User::EndpointControllers).await;
    is_refused(&cluster, User::EndpointControllers).await;
    world.ready("web-0", true).await;
    wait::until("the age of a refused change", LIMIT, async || {
        let metrics = scrape(&manager).await?;
        let labels = [("controller", "endpointslice-controller"), ("reason", "forbidden")];
        let refused = metrics.number("sync_retries_total", &labels);
        let aged = ages(&metrics)[1].is_some_and(|age| age > 0.0);
        if aged && refused > Some(0.0) { Ok(()) } else { Err(format!("{:?}, {refused:?}", ages(&metrics))) }
    })
    .await;
    cluster.grant_roles(User::EndpointControllers).await;
    world.expect("web", "IPv4", 2, 2).await;
    world.settle().await;

    let metrics = wait::until("as many observations as writes", LIMIT, async || {
        let metrics = scrape(&manager).await?;
        expect(
            "the ages",
            0.0,
            ages(&metrics).into_iter().map(|age| age.unwrap_or(f64::NAN)).reduce(f64::max),
        )?;
        let writes = cluster.audit().writes_since(mark, options.user);
        for controller in Controller::ALL {
            let is_its = |agent: &str| agent.ends_with(controller.client());
            // Before 1.37 the API server deletes the Endpoints of a deleted Service itself, perhaps before us.
            let is_done = |write: &Request| write.code < 300 || write.verb == "delete" && write.code == 404;
            let its = writes.iter().filter(|write| is_done(write) && is_its(&write.user_agent));
            let its = its.filter(|write| matches!(&*write.resource, "endpoints" | "endpointslices")).count();
            let found = metrics.histogram(DURATION, &[("controller", controller.name())]);
            let count = found.and_then(|histogram| histogram.count);
            expect(controller.name(), as_f64(its), count).map_err(|reason| {
                let its = writes.iter().filter(|write| is_its(&write.user_agent));
                its.fold(reason, |text, write| {
                    format!(
                        "{text}\n{} {} {}/{} {}",
                        write.verb, write.resource, write.namespace, write.name, write.code
                    )
                })
            })?;
            if its < 5 {
                return Err(format!("only {its} writes of the {}", controller.name()));
            }
        }
        Ok::<_, String>(metrics)
    })
    .await;
    let longest = metrics.histogram(DURATION, &[("controller", "endpointslice-controller")]).unwrap();
    assert!(longest.sum.unwrap() > 0.0);
    manager.process().alive().unwrap();
}
