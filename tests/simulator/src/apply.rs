//! Actions on the cluster.

use std::sync::Arc;
use std::time::Duration;

use expected_objects::DELEGATED;
use http::{Method, StatusCode};
use random_operations::neighbour::{self, BEDROCK};
use random_operations::requests::{Request, path};
use random_operations::{NAMES, NAMESPACE, Operation};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::action::Action;
use crate::clients;
use crate::host::Host;
use crate::kubelets;
use crate::replica::Replica;
use crate::world::{Backup, IdleTimeout, World, wall_clock};

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/endpoint-controller-manager";

/// Does what an entry of the timeline says.
pub fn apply(world: &Arc<World>, replicas: &[Replica], action: &Action) {
    world.log(|| format!("* {action}"));
    if let Some(fault) = action.fault() {
        world.count(fault);
    }
    let host = |replica: usize| replicas.get(replica).and_then(Replica::host);
    let until = |milliseconds: u64| Instant::now() + Duration::from_millis(milliseconds);
    match action {
        Action::Operation { operation, touch: services } => {
            operate(world, operation);
            touch(world, services);
            if matches!(**operation, Operation::DeleteNode { .. }) {
                touch_later(world, services.clone());
            }
        }
        Action::Touch(services) => touch(world, services),
        Action::TouchEndpoints => touch_endpoints(world),
        Action::Delegate { service, value } => {
            let patch = json!({"metadata": {"labels": {DELEGATED: value}}});
            world.merge(&format!("{}/{service}", path("services")), &patch);
        }
        Action::Extra { number, present } => extra(world, *number, *present),
        Action::Lag { front, kind, milliseconds } => world.with(|state| {
            state.fronts[*front].lag[*kind] = Duration::from_millis(*milliseconds);
        }),
        Action::Compact => {
            world.server.compact();
            let version = world.server.version();
            world.with(|state| state.watcher.orphans.compacted(version));
        }
        Action::Restart { front, milliseconds } => restart(world, *front, Duration::ZERO, *milliseconds),
        Action::RollingRestart { milliseconds } => {
            for front in 0..world.plan.setup.fronts {
                let before = Duration::from_millis(milliseconds * front as u64 * 2);
                restart(world, front, before, *milliseconds);
            }
        }
        Action::Backup => {
            let (snapshot, version) = (world.server.snapshot(), world.server.version());
            world.with(|state| {
                state.backup = Some(Backup { snapshot, version });
            });
        }
        Action::Restore { bump } => restore(world, *bump),
        Action::Partition { replica, milliseconds } => {
            world.with(|state| state.partitioned[*replica] = until(*milliseconds));
        }
        Action::Forbid { milliseconds } => world.with(|state| state.forbidden = until(*milliseconds)),
        Action::Quota { milliseconds } => world.with(|state| state.quota = until(*milliseconds)),
        Action::Unauthorized { milliseconds } => {
            world.with(|state| state.unauthorized = until(*milliseconds));
        }
        Action::IdleTimeout { seconds, silent } => {
            let after = Duration::from_secs(*seconds);
            world.idle_timeout.send_replace(Some(IdleTimeout { after, silent: *silent }));
        }
        Action::Crash { replica } => host(*replica).iter().for_each(|host| host.kill()),
        Action::CrashAtPoll { replica, polls } => {
            host(*replica).iter().for_each(|host| host.kill_after(*polls));
        }
        Action::Terminate { replica } => host(*replica).iter().for_each(|host| host.terminate()),
        Action::Freeze { replica, milliseconds } => {
            if let Some(host) = host(*replica) {
                host.freeze();
                tokio::spawn(thaw(Arc::clone(world), host, 0, *milliseconds));
            }
        }
        Action::FreezeAtPoll { replica, polls, milliseconds } => {
            if let Some(host) = host(*replica) {
                tokio::spawn(thaw(Arc::clone(world), host, *polls, *milliseconds));
            }
        }
        Action::ClockJump { replica, seconds } => {
            replicas.iter().skip(*replica).take(1).for_each(|replica| replica.jump(*seconds));
        }
        Action::ClockRate { replica, percent } => {
            replicas.iter().skip(*replica).take(1).for_each(|replica| replica.set_rate(*percent));
        }
        Action::StealLease => {
            let spec = json!({"holderIdentity": "thief", "leaseDurationSeconds": 15, "renewTime": format!("{:.6}", wall_clock(world.start))});
            world.merge(LEASE, &json!({"spec": spec}));
            world.with(|state| state.watcher.lease_disturbed());
        }
        Action::DeleteLease => {
            world.send(&Method::DELETE, LEASE, &Value::Null);
            world.with(|state| state.watcher.lease_disturbed());
        }
        Action::EditLease => {
            world.merge(LEASE, &json!({"metadata": {"annotations": {"edited": world.now()}}}));
        }
        Action::Foreign { what, pick, of } => clients::interfere(world, *what, *pick, *of),
        Action::DeleteSlices { service, pause_milliseconds } => {
            clients::delete_slices(world, service, *pause_milliseconds);
        }
        Action::TakeSlices { milliseconds } => world.with(|state| state.takes_slices = until(*milliseconds)),
        Action::SecondWriter { milliseconds } => clients::second_writer(world, *milliseconds),
        Action::Policy(policy) => world.with(|state| state.policies.push(policy.begin())),
        Action::Crowd { from, to } => crowd(world, *from, *to),
        Action::CrowdReady { number, ready } => {
            world.apply(&neighbour::crowd_readiness(*number, *ready, &world.now()))
        }
        Action::RefuseSlices { choice, milliseconds } => {
            world.with(|state| state.refuses_slices = Some((*choice, until(*milliseconds))));
        }
        Action::Tenant { services } => tenant(world, *services),
        Action::TenantUnready { number } => world.apply(&neighbour::tenant_unready(*number, &world.now())),
        Action::LoseKubelet { node } => kubelets::lose(world, node),
        Action::MarkPods { node } => kubelets::mark(world, node),
        Action::RestoreKubelet { node, ready } => kubelets::restore(world, node, *ready),
        Action::ReportPods { node } => kubelets::report(world, node),
        Action::SwitchGate => {
            world.with(|state| state.gate = !state.gate);
            for replica in replicas {
                replica.host().iter().for_each(|host| host.terminate());
            }
        }
    }
}

/// Lets a process continue some time after it froze, which it does after some polls unless it has.
async fn thaw(world: Arc<World>, host: Arc<Host>, polls: u64, milliseconds: u64) {
    let mut healed = world.healed.subscribe();
    let frozen = async {
        if polls > 0 {
            host.freeze_after(polls).await;
            world.log(|| format!("  r{} freezes", host.replica));
        }
        sleep(Duration::from_millis(milliseconds)).await;
    };
    tokio::select! {
        biased;
        _ = healed.wait_for(|healed| *healed) => {}
        () = frozen => {}
    }
    host.thaw();
}

fn touch(world: &World, services: &[String]) {
    let mark = world.server.version().to_string();
    for service in services {
        let patch = json!({"metadata": {"annotations": {"touched": mark}}});
        world.merge(&format!("{}/{service}", path("services")), &patch);
    }
}

/// Touches Services when each watch without lag has shown what was written before, even one that is slower than that of Services.
/// No controller looks at a Service again because a node is gone.
fn touch_later(world: &Arc<World>, services: Vec<String>) {
    let latency = Duration::from_millis(world.plan.setup.latency_milliseconds);
    let world = Arc::downgrade(world);
    tokio::spawn(async move {
        sleep(latency + Duration::from_millis(1)).await;
        if let Some(world) = world.upgrade() {
            touch(&world, &services);
        }
    });
}

fn touch_endpoints(world: &World) {
    let mark = world.server.version().to_string();
    let patch =
        json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": mark}}});
    for (name, endpoints) in world.objects("v1", "Endpoints") {
        if endpoints["metadata"]["labels"].get("endpoints.kubernetes.io/managed-by").is_none() {
            world.merge(&format!("{}/{name}", path("endpoints")), &patch);
        }
    }
}

fn restart(world: &Arc<World>, front: usize, before: Duration, milliseconds: u64) {
    let world = Arc::clone(world);
    let restart = async move {
        sleep(before).await;
        world.with(|state| {
            state.fronts[front].down = true;
            state.fronts[front].epoch.send_modify(|epoch| *epoch += 1);
        });
        sleep(Duration::from_millis(milliseconds)).await;
        world.with(|state| state.fronts[front].down = false);
    };
    tokio::spawn(restart);
}

/// Lets other clients write objects that nothing here watches, once each period, until the history ends.
pub fn others_write(world: &Arc<World>, period: Duration) {
    let world = Arc::downgrade(world);
    tokio::spawn(async move {
        loop {
            sleep(period).await;
            let Some(world) = world.upgrade() else { return };
            let mark = world.server.version().to_string();
            world.merge(
                &format!("/api/v1/namespaces/{NAMESPACE}"),
                &json!({"metadata": {"annotations": {"written": mark}}}),
            );
        }
    });
}

fn restore(world: &World, bump: u64) {
    let Some(Backup { snapshot, version }) = world.with(|state| state.backup.clone()) else {
        return;
    };
    world.server.restore(&snapshot, Some(version + 1 + bump));
    world.with(|state| {
        for front in &state.fronts {
            front.epoch.send_modify(|epoch| *epoch += 1);
        }
        state.watcher.restored(world.server.version());
    });
    world.look_again();
    // Nodes that the restore took or brought are not noticed by themselves, as in a cluster.
    touch(world, &NAMES.map(ToOwned::to_owned));
}

/// Refusals are as good as successes: after a restore, objects of an operation may be missing.
fn operate(world: &World, operation: &Operation) {
    let (mut status, mut answer) = (StatusCode::OK, Value::Null);
    for request in operation.requests(NAMESPACE, &world.now()) {
        (status, answer) = if adds_addresses_without_node(world, &request) {
            (StatusCode::GONE, Value::Null)
        } else {
            world.answer(&request)
        };
        if request.method == Method::PUT && status == StatusCode::NOT_FOUND {
            (status, answer) = world.send(&Method::POST, request.collection(), &request.body);
        }
    }
    if !status.is_success() {
        world.log(|| format!("  refused: {status} {}", answer["message"]));
    }
}

/// After a restore a pod may be unbound again, and such a pod never has addresses.
fn adds_addresses_without_node(world: &World, request: &Request) -> bool {
    let pod = request.path.strip_suffix("/status").filter(|_| !request.body["status"]["podIPs"].is_null());
    pod.is_some_and(|pod| world.send(&Method::GET, pod, &Value::Null).1["spec"]["nodeName"].is_null())
}

/// Creates the Service that must stay reachable, its pods, and objects of other controllers for it.
pub fn create_bedrock(world: &World) {
    neighbour::bedrock(&world.now()).iter().for_each(|request| world.apply(request));
}

/// A ready pod of that Service comes or goes.
fn extra(world: &World, number: usize, present: bool) {
    if !present {
        world.apply(&Request::delete_pod(&format!("{}/{BEDROCK}-{number}", path("pods")), 0));
        return;
    }
    neighbour::bedrock_pod(number, &world.now()).iter().for_each(|request| world.apply(request));
}

/// The namespace of another tenant comes, with all of its Services and their pods.
fn tenant(world: &World, services: usize) {
    world.apply(&neighbour::tenant());
    let requests = (0..services).flat_map(|number| neighbour::tenant_service(number, &world.now()));
    requests.for_each(|request| world.apply(&request));
}

/// Ready pods of the Service with many pods come, and with the first of them the Service.
fn crowd(world: &World, from: usize, to: usize) {
    if from == 0 {
        world.apply(&neighbour::crowd());
    }
    let pods = (from..to).flat_map(|number| neighbour::crowd_pod(number, &world.now()));
    pods.for_each(|request| world.apply(&request));
}
