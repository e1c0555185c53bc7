//! The steps of the demo.

use std::time::{Duration, Instant};

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::json;
use tests::manager::Kind;

use crate::fixture::{Fixture, NAMESPACE, milliseconds, plural};
use crate::samples;
use crate::slice_table::{Counts, SliceTable};

/// More than fit into one slice.
const MANY: usize = 130;

/// Pods made at the same time in the burst.
const CONCURRENCY: usize = 16;

/// The time to watch a new process that has nothing to write.
const TIME_TO_WRITE: Duration = Duration::from_secs(1);

/// Runs the demo with one of the managers, on kube-apiserver or on the embedded API server.
pub(crate) async fn play(kind: Kind, real: bool, pauses: bool) {
    let begun = Instant::now();
    let mut fixture = Fixture::start(kind, real, pauses).await;
    let objects = samples::read();
    create(&mut fixture, &objects).await;
    start(&mut fixture).await;
    pods_become_ready(&mut fixture, &objects).await;
    one_pod_comes_and_goes(&mut fixture).await;
    a_service_is_relabelled(&mut fixture).await;
    custom_endpoints_are_mirrored(&mut fixture).await;
    many_pods_at_once(&mut fixture, &objects).await;
    metrics_are_read(&mut fixture).await;
    the_manager_is_restarted(&mut fixture).await;
    println!("\n{}", fixture.stop_manager().await);
    drop(fixture);
    println!(
        "the demo took {:.0} s; what it started has ended, its files are gone",
        begun.elapsed().as_secs_f64()
    );
}

async fn create(fixture: &mut Fixture, objects: &[DynamicObject]) {
    fixture.begin("The objects of config/samples are created. The pods are not scheduled yet");
    for kind in ["Node", "Service", "Pod", "Endpoints"] {
        let of_kind: Vec<_> = objects.iter().filter(|object| samples::kind(object) == kind).collect();
        for object in &of_kind {
            samples::create(&fixture.client(), NAMESPACE, object).await;
        }
        let names: Vec<_> = of_kind.iter().map(|object| object.name_any()).collect();
        println!("    {}: {}", plural(names.len(), kind), names.join(", "));
    }
}

async fn start(fixture: &mut Fixture) {
    let step = fixture.begin(
        "The manager starts with its defaults and is elected. Services get their Endpoints and slices, empty as yet; those \
         of archive are mirrored",
    );
    fixture.start_manager().await;
    let reached = |slices: &SliceTable| {
        [("web", 1), ("database", 1), ("dns", 2), ("archive", 1)]
            .into_iter()
            .all(|(service, count)| slices.slices_of(service).len() == count)
    };
    fixture.end(step, "its start", reached).await;
    println!(
        "    its flags: kubeconfigs for its work, for authentication and for authorization, a port and an address"
    );
    println!("    leader, by the Lease: {}", fixture.leader().await);
}

async fn pods_become_ready(fixture: &mut Fixture, objects: &[DynamicObject]) {
    let step = fixture.begin("The pods are scheduled, get addresses, and become ready one after another");
    let mut times = Vec::new();
    for object in objects.iter().filter(|object| samples::kind(object) == "Pod") {
        let (pod, service) = (object.name_any(), object.labels()["app"].clone());
        fixture.nodes.start(&pod).await;
        let changed = Instant::now();
        fixture.nodes.ready(&pod, true).await;
        fixture.until(|slices| slices.is_ready(&service, &pod)).await;
        times.push(changed.elapsed());
    }
    times.sort();
    let [fastest, median, slowest] =
        [0, times.len() / 2, times.len() - 1].map(|index| milliseconds(times[index]));
    let remark = format!("ready in the slices {fastest} to {slowest} after the change (median {median})");
    fixture.show(&step, &remark).await;
}

async fn one_pod_comes_and_goes(fixture: &mut Fixture) {
    let step = fixture.begin("web-1 stops being ready");
    fixture.nodes.ready("web-1", false).await;
    fixture.end(step, "the change", |slices| slices.counts("web").ready == 2).await;

    let step = fixture.begin("web-2 is terminating: it still serves, but gets no new connections");
    fixture.nodes.terminate("web-2").await;
    fixture.end(step, "the change", |slices| slices.counts("web").terminating == 1).await;

    let step = fixture.begin("web-2 is gone, web-1 is ready again");
    fixture.nodes.ended("web-2").await;
    fixture.nodes.ready("web-1", true).await;
    fixture
        .end(step, "the change", |slices| slices.counts("web").all == 2 && slices.counts("web").ready == 2)
        .await;
}

async fn a_service_is_relabelled(fixture: &mut Fixture) {
    let step =
        fixture.begin("The Service dns gets the label team=network, and so do its slices (not in the table)");
    fixture.label("dns", "team", "network").await;
    let labelled = |slices: &SliceTable| {
        slices
            .slices_of("dns")
            .iter()
            .all(|slice| slice.labels().get("team").is_some_and(|team| team == "network"))
    };
    fixture.end(step, "the change", labelled).await;
}

async fn custom_endpoints_are_mirrored(fixture: &mut Fixture) {
    let step = fixture.begin(
        "The archive, a Service without a selector, moves: its user writes the Endpoints, and the slice is updated",
    );
    let subset = json!({"addresses": [{"ip": "192.0.2.20"}], "ports": [{"name": "https", "port": 8443}]});
    fixture.change_endpoints("archive", json!({"subsets": [subset]})).await;
    fixture.end(step, "the change", |slices| slices.counts("archive").all == 1).await;
}

async fn many_pods_at_once(fixture: &mut Fixture, objects: &[DynamicObject]) {
    let template = objects.iter().find(|object| object.name_any() == "web-0").expect("the sample has web-0");
    let template: Pod = template.clone().try_parse().expect("a pod");
    let pod = |number| {
        let mut pod = template.clone();
        pod.metadata.name = Some(format!("web-{number}"));
        pod
    };
    let now = fixture.look(|slices| slices.counts("web").all);
    let step = fixture
        .begin(&format!("web is scaled to {MANY} pods, {CONCURRENCY} at a time: more than a slice may hold"));
    let nodes = &fixture.nodes;
    let pods = (0..MANY - now).map(|number| nodes.create(pod(number + 3)));
    futures::stream::iter(pods).buffer_unordered(CONCURRENCY).collect::<()>().await;
    let made = Instant::now();
    fixture.until(|slices| slices.counts("web").ready == MANY).await;
    let (lag, all) = (milliseconds(made.elapsed()), milliseconds(step.elapsed()));
    let remark = format!("complete {lag} after the last pod became ready, {all} after the first was created");
    fixture.show(&step, &remark).await;
}

async fn metrics_are_read(fixture: &mut Fixture) {
    fixture.begin(
        "Prometheus reads the metrics over HTTPS: the API server confirms its token and its right, and refuses another token",
    );
    for line in fixture.scrape().await {
        println!("    {line}");
    }
}

async fn the_manager_is_restarted(fixture: &mut Fixture) {
    let step = fixture.begin(
        "The manager is stopped and started again. All objects are up to date, so it writes none of them",
    );
    println!("    {}", fixture.stop_manager().await);
    let ready = fixture.start_manager().await;
    tokio::time::sleep(TIME_TO_WRITE).await;
    fixture.show(&step, &ready).await;
    println!("    leader, by the Lease: {}", fixture.leader().await);

    let step = fixture.begin("database-1 stops being ready: the new process updates the slice");
    fixture.nodes.ready("database-1", false).await;
    let expected = Counts { all: 2, ready: 1, serving: 1, terminating: 0 };
    fixture.end(step, "the change", |slices| slices.counts("database") == expected).await;
}
