//! `handover` and `rollback` with real processes of both programs: the test plays the operator, the kubelets and the
//! Deployment's controller.
//!
//! `cargo xtask handover-drill` sets `HANDOVER_ROUNDS`, the number of times that the writer changes both ways (2).

pub(crate) mod nodes;
mod operator;
mod ours;

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1 as core;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;
use tests::audit::{Mark, Request};
use tests::barrier;
use tests::cluster::{Cluster, ClusterOptions, User};
use tests::dialogue::Dialogue;
use tests::manager::Controller;
use tests::scenario::{NAMESPACE, Pod, World};
use tests::tool::{self, Ended};
use tests::variables::variable;
use tests::wait::{LIMIT, until};
use tests::{binaries, requests};
use tokio::task::JoinSet;

use crate::deploy::site::{HOLD, RELEASED};
use nodes::ControlPlaneNode;
use operator::Site;
use ours::Ours;

const UPSTREAM: &str = "kube-controller-manager";
const OURS: &str = "endpoint-controller-manager";

/// Services with pods, and custom Endpoints, which all three controllers have handled.
async fn settled(cluster: &Cluster) -> World {
    let world = World::prepare(cluster.client(), Controller::ALL).await;
    let ports = json!([{"name": "http", "port": 80}]);
    for (number, app) in ["web", "api", "db"].into_iter().enumerate() {
        world.service(app, json!({}), json!({"selector": {"app": app}, "ports": ports})).await;
        let pod = |index: u16| {
            Pod::new(&format!("{app}-{index}"), app, u16::try_from(number).unwrap() * 10 + index)
        };
        world.pods((0..3).map(pod)).await;
    }
    world
}

/// Writes of Endpoints and slices, but for those of the barrier and of the canary, whose slice the garbage collector of
/// kube-controller-manager deletes.
fn writes(cluster: &Cluster, mark: Mark) -> Vec<Request> {
    let mut requests = cluster.audit().since(mark);
    let is_counted = |request: &Request| {
        let resource = request.resource.split('/').next().unwrap_or_default();
        request.is_write()
            && ["endpoints", "endpointslices"].contains(&resource)
            && request.namespace != barrier::NAMESPACE
            && !request.name.starts_with("endpoint-controller-manager-canary")
    };
    requests.retain(is_counted);
    requests
}

/// The programs of these writes in their order, each once until another writes.
fn writers(cluster: &Cluster, mark: Mark) -> Vec<String> {
    let mut written = writes(cluster, mark);
    written.sort_by_key(|request| request.received);
    let mut writers: Vec<String> = written.iter().map(|request| request.program().to_owned()).collect();
    writers.dedup();
    writers
}

/// The duration in the line about the time without a writer.
fn gap(text: &str) -> Duration {
    let line = text.lines().find_map(|line| line.strip_prefix("Longest time without a writer: "));
    let time = line.and_then(|line| line.split(',').next()).unwrap_or_else(|| panic!("no time in {text}"));
    let (minutes, seconds) = time.rsplit_once('m').filter(|(_, rest)| *rest != "s").unwrap_or(("0", time));
    if let Some(milliseconds) = time.strip_suffix("ms") {
        return Duration::from_secs_f64(milliseconds.parse::<f64>().unwrap() / 1000.0);
    }
    let seconds: f64 = seconds.trim_end_matches('s').parse().unwrap_or_else(|_| panic!("{time}"));
    Duration::from_secs_f64(minutes.parse::<f64>().unwrap() * 60.0 + seconds)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_writer_changes_both_ways_without_a_write() {
    let rounds: usize = variable("HANDOVER_ROUNDS").unwrap_or(2);
    let cluster = Cluster::start(ClusterOptions::default()).await;
    cluster.allow_election().await;
    let nodes = ControlPlaneNode::all(&cluster, false);
    let mut site = Site { cluster: &cluster, nodes, ours: Ours::default(), forgets: None };
    site.tick().await;
    let world = settled(&cluster).await;
    world.settle().await;
    let mut longest = [Duration::ZERO; 2];
    for round in 1..=rounds {
        // Every second time, the command is killed at each step.
        let kills = round % 2 == 0;
        for (index, (goal, writer)) in [("handover", OURS), ("rollback", UPSTREAM)].into_iter().enumerate() {
            let mark = cluster.audit().mark();
            let text = site.run(goal, kills, &[]).await;
            world.settle().await;
            let caused = writes(&cluster, mark);
            assert!(caused.is_empty(), "{goal} {round} caused writes: {caused:#?}\n{text}");

            let mark = cluster.audit().mark();
            let is_ready = goal == "rollback";
            world.ready("web-0", is_ready).await;
            world.expect("web", "IPv4", 3, if is_ready { 3 } else { 2 }).await;
            world.settle().await;
            let written = writes(&cluster, mark);
            assert!(
                !written.is_empty() && written.iter().all(|it| it.program() == writer),
                "{goal}: {written:#?}"
            );
            let gap = gap(&text);
            println!(
                "{goal} {round}{}: 0 writes, {:.1} s without a writer",
                if kills { ", killed at each step" } else { "" },
                gap.as_secs_f64()
            );
            if !kills {
                longest[index] = longest[index].max(gap);
            }
        }
    }
    println!(
        "{rounds} times both ways: 0 writes; longest time without a writer {:.1} s (handover), {:.1} s (rollback), where the \
         command was not killed",
        longest[0].as_secs_f64(),
        longest[1].as_secs_f64()
    );
}

/// Where the flags of kube-controller-manager cannot be seen, the operator confirms each change. A pod changes all the
/// time: no write of one program is between two of the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plain_processes_never_write_together() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    cluster.allow_election().await;
    let world = settled(&cluster).await;
    let nodes = ControlPlaneNode::all(&cluster, true);
    for node in &nodes {
        node.register(&cluster).await;
    }
    let mut site = Site { cluster: &cluster, nodes, ours: Ours::default(), forgets: None };
    site.tick().await;
    world.settle().await;
    let mark = cluster.audit().mark();
    let _churn = churn(&cluster);
    for (goal, writer) in [("handover", OURS), ("rollback", UPSTREAM)] {
        let text = site.run(goal, false, &[]).await;
        assert!(text.contains("#k3s-rke2") && text.contains("(k3s)"), "{text}");
        println!("{goal} of plain processes: {:.1} s without a writer", gap(&text).as_secs_f64());
        until(&format!("{writer} to write after the {goal}"), LIMIT, async || {
            let writers = writers(&cluster, mark);
            if writers.last().is_some_and(|last| last == writer) {
                Ok(())
            } else {
                Err(format!("{writers:?}"))
            }
        })
        .await;
        world.sync().await;
    }
    let order: Vec<String> = writes(&cluster, mark)
        .iter()
        .map(|it| {
            format!("{} {} {} {}/{} {}", it.received, it.program(), it.verb, it.namespace, it.name, it.code)
        })
        .collect();
    assert_eq!(writers(&cluster, mark), [UPSTREAM, OURS, UPSTREAM], "{order:#?}");
}

/// An operator who restarts kube-controller-manager with its old flags, where they cannot be seen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_shows_that_the_old_writer_still_writes() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    cluster.allow_election().await;
    let world = settled(&cluster).await;
    let nodes = ControlPlaneNode::all(&cluster, true);
    for node in &nodes {
        node.register(&cluster).await;
    }
    let mut site = Site { cluster: &cluster, nodes, ours: Ours::default(), forgets: Some(&world) };
    site.tick().await;
    world.sync().await;
    // Without being asked for, because flags cannot be seen.
    let text = site.run("handover", false, &[]).await;
    assert!(text.contains("Refused: kube-controller-manager writes, though"), "{text}");
    assert!(!text.contains("done: step 5 of 8"), "{text}");
    // There, the same shows that the right program writes.
    site.run("rollback", false, &[]).await;
    let services: Api<core::Service> = Api::namespaced(cluster.client(), "default");
    let names: Vec<_> = services.list(&ListParams::default()).await.unwrap().items;
    assert!(names.iter().all(|it| it.metadata.name.as_deref() == Some("kubernetes")), "{names:?}");
}

/// A question may stay open for days: after the answer, the cluster decides whether the request is still the right one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_comes_too_late_releases_nothing() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let leases: Api<Lease> = Api::namespaced(cluster.client(), "kube-system");
    let record = json!({"goal": "handover", "leader": "a_1",
        "confirmed": ["start", "standbys", "leader"], "silent": ""});
    let annotations = json!({HOLD: "a test", "endpoint-controller-manager/handover": record.to_string()});
    let held = json!({"metadata": {"name": OURS, "annotations": annotations}});
    let lives = json!({"metadata": {"name": UPSTREAM},
        "spec": {"holderIdentity": "a_1", "leaseDurationSeconds": 3_600}});
    let create = async |lease| {
        leases.create(&PostParams::default(), &serde_json::from_value(lease).unwrap()).await.unwrap();
    };
    create(held).await;
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig(User::Admin).display());
    let args = ["handover", "--ours=processes", &kubeconfig].map(str::to_owned);
    let mut command = Dialogue::start(&binaries::kubectl_endpoints(), cluster.folder(), &args);
    says(&mut command, "step 6 of 8: release the Lease").await;
    // The process that writes is back.
    create(lives).await;
    command.answer("y");
    says(&mut command, "step 4 of 8: disable the controllers in the leader").await;
    // Another one leads, and may have the controllers: the silence before does not count.
    let another = json!({"spec": {"holderIdentity": "a_3", "renewTime": "2026-01-01T00:00:00.000000Z"}});
    leases.patch(UPSTREAM, &PatchParams::default(), &Patch::Merge(another)).await.unwrap();
    says(&mut command, "step 5 of 8: see by a canary").await;
    let annotations = leases.get(OURS).await.unwrap().metadata.annotations.unwrap();
    assert!(!annotations.contains_key(RELEASED), "{annotations:?}");
}

/// Waits for the beginning of a line.
async fn says(command: &mut Dialogue, begin: &str) {
    let start = Instant::now();
    while !command.line().is_some_and(|line| line.starts_with(begin)) {
        assert!(start.elapsed() < LIMIT, "{begin} is not in {}", command.text());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Makes a pod ready and unready in turns, until it is dropped.
fn churn(cluster: &Cluster) -> JoinSet<()> {
    let pods: Api<core::Pod> = Api::namespaced(cluster.client(), NAMESPACE);
    let mut churn = JoinSet::new();
    churn.spawn(async move {
        for status in ["False", "True"].into_iter().cycle() {
            // With the time, as a kubelet does: it shows preflight that each difference is of another change. It has whole
            // seconds, so that changes need more than one: a second one of the same time removes the time of the first.
            let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            let ready = json!({"type": "Ready", "status": status, "lastTransitionTime": now});
            let change = json!({"status": {"conditions": [ready]}});
            // The next one comes in a second, whatever a busy server answers.
            let _ = pods.patch_status("web-0", &PatchParams::default(), &Patch::Merge(change)).await;
            tokio::time::sleep(Duration::from_millis(1_100)).await;
        }
    });
    churn
}

/// A start would delete Endpoints without a Service: the handover does not begin, and says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handover_that_would_delete_is_refused() {
    let cluster = Cluster::start(ClusterOptions::default()).await;
    let state = json!({"apiVersion": "v1", "kind": "Endpoints",
        "metadata": {"name": "state", "namespace": "default"}, "subsets": [{"addresses": [{"ip": "10.9.0.1"}]}]});
    requests::create(&cluster.client(), &state).await.unwrap();
    let mark = cluster.audit().mark();
    let kubeconfig = cluster.kubeconfig(User::Admin);
    let run = |words: &[&str]| tool::about(&kubeconfig, &[&["handover", "--ours=processes"], words].concat());
    // Nothing of kube-controller-manager is in this cluster.
    for goal in ["handover", "rollback"] {
        let Ended { code, stderr, .. } = tool::about(&kubeconfig, &[goal, "--yes"]);
        assert_eq!(code, Some(3), "{goal}: {stderr}");
        assert!(
            stderr.contains("no kube-controller-manager of this cluster can be seen"),
            "{goal}: {stderr}"
        );
    }
    let Ended { code, stderr, .. } = run(&["--yes"]);
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("start-up-deletions: ") && stderr.contains("default/state"), "{stderr}");
    // No process holds it, which is no more than a warning elsewhere.
    assert!(stderr.contains("lease-kube-controller-manager: "), "{stderr}");

    let Ended { code, stdout, .. } = run(&["--dry-run", "--skip-checks"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("step 7 of 8: wait until endpoint-controller-manager leads (to do)"), "{stdout}");
    // Without a terminal there is no answer.
    assert_eq!(run(&["--skip-checks"]).code, Some(1));
    let mut writes = cluster.audit().writes_since(mark, User::Admin);
    // Answered, and not stored.
    writes.retain(|request| !request.resource.ends_with("accessreviews"));
    assert_eq!(writes.len(), 0, "{writes:#?}");
}
