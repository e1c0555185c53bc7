//! Kubelets that lose the API server, and the node lifecycle controller that notices.
//!
//! Such histories are a mode of their own (`--kubelets`), without other faults but processes that end, so that every withdrawal
//! is a decision and no delay. All three nodes of the workload are lost, or fewer, or one flaps; they come back one by one. The
//! node of the Service that must stay reachable is never lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use expected_objects::Named;
use http::Method;
use random_operations::Operation;
use random_operations::requests::path;
use random_operations::rng::Rng;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::action::Action;
use crate::fault::Fault;
use crate::setup::Setup;
use crate::timeline::{Entry, insert};
use crate::world::World;

/// The nodes that may be lost: three of four, and so the share that [`PERCENT`] is; or all of one zone, of two.
const NODES: [&str; 3] = ["a", "b", "c"];
/// `--disruption-lost-nodes-percent`.
pub const PERCENT: u32 = 75;

/// The time before the first change. Conditions of nodes that are younger than a minute are those of their registration, and so
/// say nothing about a return.
const NEW_NODES: u64 = 65_000;

type Entries = Vec<(u64, Action)>;

/// Replaces the faults of a history by kubelets that are lost.
pub(crate) fn replace_faults(
    seed: u64,
    setup: &mut Setup,
    rates: &mut Vec<(Fault, u32)>,
    timeline: &mut Vec<Entry>,
) {
    setup.writes_per_second = None;
    let mut rng = Rng::new(seed ^ 0x1057_0000_0000_0000);
    // A twentieth without the gate: the cluster then does as upstream, and the oracle must agree.
    setup.keeps_ready = rng.percent(95);
    rates.clear();
    let is_kept = |entry: &Entry| {
        // Without the low rate of requests, the Services of the other tenant do not matter.
        let is_dropped =
            matches!(entry.action, Action::Backup | Action::Tenant { .. } | Action::TenantUnready { .. });
        entry.action.fault().is_none() && !is_dropped && !is_of_node(&entry.action)
    };
    timeline.retain(is_kept);
    let end = timeline.last().map_or(0, |entry| entry.milliseconds);
    let start = NEW_NODES + below(&mut rng, end + 3_000);
    let mut entries: Entries = Vec::new();
    match rng.below(10) {
        0..=5 => NODES.iter().for_each(|node| cut(&mut rng, start, node, &mut entries)),
        6 | 7 => NODES.iter().take(2).for_each(|node| cut(&mut rng, start, node, &mut entries)),
        8 => flapping(&mut rng, start, &mut entries),
        _ => {
            NODES.iter().for_each(|node| cut(&mut rng, start, node, &mut entries));
            let again = start + 150_000 + below(&mut rng, 60_000);
            NODES.iter().for_each(|node| cut(&mut rng, again, node, &mut entries));
        }
    }
    if rng.percent(50) {
        let replica = rng.below(setup.replicas);
        entries.push((start + below(&mut rng, 90_000), Action::Terminate { replica }));
    }
    if rng.percent(20) {
        let replica = rng.below(setup.replicas);
        entries.push((start + below(&mut rng, 90_000), Action::Crash { replica }));
    }
    // In the last case too few are lost: those of a zone are not the cluster.
    (setup.scope_is_zone, setup.has_other_zone) = *rng.pick(&[
        (false, false),
        (false, false),
        (false, false),
        (false, false),
        (false, false),
        (true, false),
        (true, true),
        (true, true),
        (true, true),
        (false, true),
    ]);
    // What is there at the beginning stays there.
    let later = |milliseconds: u64| if milliseconds == 0 { 0 } else { milliseconds + NEW_NODES };
    timeline.iter_mut().for_each(|entry| entry.milliseconds = later(entry.milliseconds));
    insert(timeline, entries);
}

fn is_of_node(action: &Action) -> bool {
    use Operation::{ChangeNodeReadiness, CreateNode, DeleteNode, LabelNode};
    let Action::Operation { operation, .. } = action else { return false };
    matches!(
        **operation,
        CreateNode { .. } | LabelNode { .. } | ChangeNodeReadiness { .. } | DeleteNode { .. }
    )
}

fn below(rng: &mut Rng, bound: u64) -> u64 {
    u64::try_from(rng.below(usize::try_from(bound).unwrap())).unwrap()
}

/// A node is lost within 15 s of the start and marked soon after; its kubelet is back after seconds or minutes.
fn cut(rng: &mut Rng, start: u64, node: &'static str, entries: &mut Entries) {
    let lost = start + below(rng, 15_000);
    let marked = lost + 1 + below(rng, 3_000);
    let spread = *rng.pick(&[5_000, 120_000]);
    let back = start + 20_000 + below(rng, spread);
    let reported = back + 1 + below(rng, 15_000);
    entries.push((lost, Action::LoseKubelet { node }));
    entries.push((marked, Action::MarkPods { node }));
    // Sometimes its node is not ready until then.
    entries.push((back, Action::RestoreKubelet { node, ready: !back.is_multiple_of(3) }));
    entries.push((reported, Action::ReportPods { node }));
}

/// One node is lost again and again.
fn flapping(rng: &mut Rng, start: u64, entries: &mut Entries) {
    let node = *rng.pick(&NODES);
    for turn in 0..2 + below(rng, 5) {
        let time = start + turn * 12_000;
        entries.push((time, Action::LoseKubelet { node }));
        entries.push((time + 1 + below(rng, 3_000), Action::MarkPods { node }));
        entries.push((time + 4_000 + below(rng, 3_000), Action::RestoreKubelet { node, ready: true }));
        entries.push((time + 7_500 + below(rng, 3_000), Action::ReportPods { node }));
    }
}

/// Changes of Nodes and pods by the node lifecycle controller and kubelets.
#[derive(Debug, Default)]
pub struct Kubelets {
    /// The nodes that are lost.
    lost: BTreeSet<&'static str>,
    /// The pods that were marked, until a kubelet has reported on them.
    marked: BTreeMap<String, Mark>,
    /// The nodes whose pods keep their readiness when they are marked: those that were lost when all were.
    keeping: BTreeMap<&'static str, Instant>,
    /// The time at which the first node came back when all had been lost, in seconds.
    ended: Option<String>,
}

#[derive(Debug)]
struct Mark {
    node: &'static str,
    /// When it was made, in seconds.
    time: String,
    /// The pod keeps its readiness since.
    kept: Option<Instant>,
}

impl Kubelets {
    /// Of a node that is lost again the pods stay whose mark is of the disruption before; a mark of this loss is that of a dead
    /// node, unless all are lost.
    fn lose(&mut self, node: &'static str) {
        self.lost.insert(node);
        self.keeping.remove(node);
        let ended = self.ended.as_ref();
        let of_node = self.marked.values_mut().filter(|mark| mark.node == node);
        of_node.filter(|mark| Some(&mark.time) >= ended).for_each(|mark| mark.kept = None);
        if self.lost.len() == NODES.len() {
            let now = Instant::now();
            for node in &self.lost {
                self.keeping.entry(node).or_insert(now);
            }
            self.marked.values_mut().for_each(|mark| mark.kept = mark.kept.or(Some(now)));
        }
    }

    fn restore(&mut self, node: &'static str, now: String) {
        if self.lost.len() == NODES.len() {
            self.ended = Some(now);
        }
        self.lost.remove(node);
    }

    /// True if a pod keeps the readiness that it had when it was marked, and has for this long.
    fn keeps(&self, pod: &str, age: Duration) -> bool {
        let kept = self.marked.get(pod).and_then(|mark| mark.kept);
        kept.is_some_and(|since| since.elapsed() >= age)
    }
}

fn conditions(ready: &str, others: &str, reason: &str, now: &str) -> Value {
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": reason, "lastTransitionTime": now});
    let pressure = ["MemoryPressure", "DiskPressure", "PIDPressure"].map(|kind| condition(kind, others));
    let all = pressure.into_iter().chain([condition("Ready", ready)]);
    json!({"status": {"conditions": all.collect::<Value>()}})
}

fn set_conditions(world: &World, node: &str, patch: &Value) {
    world.merge(&format!("/api/v1/nodes/{node}/status"), patch);
}

/// The node lifecycle controller finds that a kubelet has stopped posting.
pub(crate) fn lose(world: &World, node: &'static str) {
    world.with(|state| state.kubelets.lose(node));
    set_conditions(world, node, &conditions("Unknown", "Unknown", "NodeStatusUnknown", &world.now()));
}

/// It marks the ready pods of a lost node: it changes the status of their condition Ready, and nothing else.
pub(crate) fn mark(world: &World, node: &'static str) {
    if !world.with(|state| state.kubelets.lost.contains(node)) {
        return;
    }
    for (name, pod) in pods_of(world, node) {
        if set_ready(world, &name, &pod, ("True", "False")) {
            let time = world.now();
            world.with(|state| {
                let kept = state.kubelets.keeping.get(node).copied();
                state.kubelets.marked.insert(name, Mark { node, time, kept });
            });
        }
    }
}

/// A kubelet is back and posts the conditions of its node.
pub(crate) fn restore(world: &World, node: &'static str, is_ready: bool) {
    let now = world.now();
    let conditions = if is_ready {
        conditions("True", "False", "KubeletReady", &now)
    } else {
        conditions("False", "False", "KubeletNotReady", &now)
    };
    world.with(|state| state.kubelets.restore(node, now));
    set_conditions(world, node, &conditions);
}

/// The node is ready, if it was not.
fn become_ready(world: &World, node: &str) {
    let (_, object) = world.send(&Method::GET, &format!("/api/v1/nodes/{node}"), &Value::Null);
    let mut conditions = object["status"]["conditions"].clone();
    let now = world.now();
    let is_not_ready = |it: &&mut Value| it["type"] == "Ready" && it["status"] == "False";
    if let Some(ready) = conditions.as_array_mut().into_iter().flatten().find(is_not_ready) {
        ready["status"] = json!("True");
        ready["lastTransitionTime"] = json!(now);
        set_conditions(world, node, &json!({"status": {"conditions": conditions}}));
    }
}

/// A kubelet that is back reports on its pods, all of which have been as ready as before.
pub(crate) fn report(world: &World, node: &'static str) {
    if world.with(|state| state.kubelets.lost.contains(node)) {
        return;
    }
    become_ready(world, node);
    for (name, pod) in pods_of(world, node).into_iter().filter(|(_, pod)| is_marked(pod)) {
        set_ready(world, &name, &pod, ("False", "True"));
    }
    world.with(|state| {
        state.kubelets.keeping.remove(node);
        state.kubelets.marked.retain(|_, mark| mark.node != node);
    });
}

/// All kubelets are back and have reported.
pub(crate) fn heal(world: &World) {
    let (lost, marked) = world.with(|state| {
        let marked: BTreeSet<&str> = state.kubelets.marked.values().map(|mark| mark.node).collect();
        (state.kubelets.lost.clone(), marked)
    });
    lost.iter().for_each(|node| restore(world, node, true));
    lost.union(&marked).for_each(|node| report(world, node));
}

fn pods_of(world: &World, node: &str) -> Vec<(String, Arc<Value>)> {
    let pods = world.objects("v1", "Pod").into_iter();
    pods.filter(|(_, pod)| pod["spec"]["nodeName"] == node).collect()
}

/// Changes the status of a pod's condition Ready, if it is the first of these. Returns whether it was.
fn set_ready(world: &World, name: &str, pod: &Value, (from, to): (&str, &str)) -> bool {
    let mut conditions = pod["status"]["conditions"].clone();
    let now = world.now();
    let ready = conditions.as_array_mut().into_iter().flatten().find(|it| it["type"] == "Ready");
    let Some(ready) = ready.filter(|ready| ready["status"] == from) else { return false };
    ready["status"] = json!(to);
    ready["lastTransitionTime"] = json!(now);
    let patch = json!({"status": {"conditions": conditions}});
    let path = format!("{}/{name}/status", path("pods"));
    world.request(&Method::PATCH, &path, "application/merge-patch+json", &patch).0.is_success()
}

/// True if only the node lifecycle controller calls a pod not ready.
fn is_marked(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let has = |kind: &str, status: &str| {
        conditions.clone().any(|it| it["type"] == kind && it["status"] == status && it["reason"].is_null())
    };
    let has_gates = pod["spec"]["readinessGates"].as_array().is_some_and(|gates| !gates.is_empty());
    has("Ready", "False") && has("ContainersReady", "True") && !has_gates
}

/// Makes the pods ready that keep their readiness, and have for this long.
pub(crate) fn keep_ready(world: &World, pods: &mut Named, age: Duration) {
    if !world.plan.setup.keeps_pods_of_lost_nodes() {
        return;
    }
    let is_kept = |name: &str| world.with(|state| state.kubelets.keeps(name, age));
    let kept = pods.iter_mut().filter(|(name, pod)| is_marked(pod) && is_kept(name));
    for (_, pod) in kept {
        let conditions = Arc::make_mut(pod)["status"]["conditions"].as_array_mut().into_iter().flatten();
        conditions.filter(|it| it["type"] == "Ready").for_each(|it| it["status"] = json!("True"));
    }
}
