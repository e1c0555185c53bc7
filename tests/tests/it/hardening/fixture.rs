//! A cluster, the controllers behind a proxy, and the time they take for a change.

use std::env;
use std::time::{Duration, Instant};

use scripted_api::balancer::Proxy;
use serde_json::json;
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Controller, Kind, Manager, ManagerOptions};
use tests::scenario::{Pod, World};
use tests::variables::variable;
use tests::wait::{Calm, LIMIT};

/// The polling interval for conditions whose time is measured.
const INTERVAL: Duration = Duration::from_millis(20);

/// The program to measure.
pub(crate) fn kind() -> Kind {
    match env::var("HARDENING_KIND").as_deref() {
        Ok("upstream") => Kind::Upstream,
        Ok(other) if other != "ours" => panic!("HARDENING_KIND={other}"),
        _ => Kind::Ours,
    }
}

/// The time that a test waits: `default`, or that of the environment.
pub(crate) fn patience(default: Duration) -> Duration {
    variable("HARDENING_PATIENCE").map_or(default, |seconds| default.max(Duration::from_secs(seconds)))
}

/// Prints a figure of docs/operate/reliability.md.
pub(crate) fn measured(what: &str, took: Duration) {
    println!("measured: {what}, {}: {:.1}", kind().name(), took.as_secs_f64());
}

/// A cluster with a workload, and running controllers.
pub(crate) struct Fixture {
    // Fields drop in this order.
    pub(crate) manager: Manager,
    pub(crate) proxy: Proxy,
    pub(crate) world: World,
    pub(crate) cluster: Cluster,
    /// The time of a change without a fault.
    pub(crate) calm: Calm,
}

impl Fixture {
    /// All controllers, with the proxy between them and the embedded API server, and a Service `web` with the pod `web-0`.
    pub(crate) async fn behind_a_proxy(options: impl FnOnce(ManagerOptions) -> ManagerOptions) -> Self {
        Self::on(Cluster::embedded().await, options).await
    }

    /// The same with kube-apiserver and etcd.
    pub(crate) async fn behind_a_proxy_of_the_real_server(
        options: impl FnOnce(ManagerOptions) -> ManagerOptions,
    ) -> Self {
        Self::on(Cluster::start(ClusterOptions::default()).await, options).await
    }

    async fn on(cluster: Cluster, options: impl FnOnce(ManagerOptions) -> ManagerOptions) -> Self {
        cluster.allow_election().await;
        let world = World::prepare(cluster.client(), Controller::ALL).await;
        let proxy = Proxy::start(cluster.apiserver_address()).await;
        let all = ManagerOptions::of(Controller::ALL);
        let kubeconfig = Some(cluster.kubeconfig_at(all.user, proxy.address()));
        let options = options(ManagerOptions { kubeconfig, ..all });
        let manager = Manager::start(kind(), &cluster, &options).await;
        serve(&world, "web", 0).await;
        world.expect("web", "IPv4", 1, 1).await;
        world.sync().await;
        let calm = calm(&world, "web").await;
        Self { manager, proxy, world, cluster, calm }
    }
}

/// A Service with one ready pod, `NAME-0`, whose address is made from `number`.
pub(crate) async fn serve(world: &World, name: &str, number: u16) {
    world.pod(Pod::new(&format!("{name}-0"), name, number)).await;
    let spec = json!({"selector": {"app": name}, "ports": [{"port": 80}], "ipFamilies": ["IPv4"]});
    world.service(name, json!({}), spec).await;
}

/// Changes the readiness of `SERVICE-0`, and waits until the slice of its Service shows it. Returns the time that took.
///
/// # Errors
/// If it takes longer than `limit`.
pub(crate) async fn change(
    world: &World,
    service: &str,
    ready: bool,
    limit: Duration,
) -> Result<Duration, String> {
    world.ready(&format!("{service}-0"), ready).await;
    let start = Instant::now();
    loop {
        let seen = readiness(world, service).await;
        if seen == Ok(vec![ready]) {
            return Ok(start.elapsed());
        }
        if start.elapsed() > limit {
            return Err(format!("{service}: not within {} s: {seen:?}", limit.as_secs()));
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// The time of a [`change`] of a Service whose pod is ready, before a fault. The pod is ready afterwards.
pub(crate) async fn calm(world: &World, service: &str) -> Calm {
    Calm::measure(async |step| {
        change(world, service, step.is_multiple_of(2), LIMIT).await.unwrap();
    })
    .await
}

async fn readiness(world: &World, service: &str) -> Result<Vec<bool>, String> {
    let slices = world.slices_of(service, "IPv4").await?;
    let endpoints = slices.into_iter().flat_map(|slice| slice.endpoints.unwrap_or_default());
    Ok(endpoints.map(|it| it.conditions.and_then(|conditions| conditions.ready).unwrap_or(true)).collect())
}
