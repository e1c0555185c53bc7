//! The label on a cluster whose operator has switched the feature gate on.

use serde_json::json;

use super::stage::{DELEGATION, ENDPOINTS, MIRRORED, SLICES, Seen, Stage, THEM};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_label_with_the_gate_on() {
    let mut stage = Stage::start(DELEGATION).await;
    kep_4770_created_with_the_label_then_without(&stage).await;
    kep_4770_created_without_the_label_then_with(&stage).await;
    l2_any_value_counts(&stage).await;
    l3_created_with_the_label(&stage).await;
    l4_label_added(&stage).await;
    l5_label_removed(&stage).await;
    l8_mirroring(&stage).await;
    l9_what_others_made_survives(&stage).await;
    l10_another_value_changes_nothing(&stage).await;
    a_deleted_service_costs_no_request_for_its_slices(&stage).await;
    custom_endpoints_of_a_deleted_service_go(&stage).await;
    endpoints_of_a_service_without_a_selector_stay_whatever_their_labels_say(&mut stage).await;
}

async fn kep_4770_created_with_the_label_then_without(stage: &Stage) {
    stage.service("kep-1", Some("external"), &[1]).await;
    stage.remains("kep-1", &Seen::nothing()).await;
    stage.label("kep-1", None).await;
    stage.expect("kep-1", &Seen::ours(&["10.1.0.1"])).await;
}

async fn kep_4770_created_without_the_label_then_with(stage: &Stage) {
    stage.service("kep-2", None, &[2]).await;
    stage.expect("kep-2", &Seen::ours(&["10.1.0.2"])).await;
    stage.label("kep-2", Some("external")).await;
    stage.expect("kep-2", &Seen::nothing()).await;
    stage.remains("kep-2", &Seen::nothing()).await;
}

async fn l2_any_value_counts(stage: &Stage) {
    for (name, value) in [("l2-empty", ""), ("l2-ours", ENDPOINTS), ("l2-theirs", "x.y_z-0")] {
        stage.service(name, Some(value), &[]).await;
    }
    stage.world.settle().await;
    for name in ["l2-empty", "l2-ours", "l2-theirs"] {
        assert_eq!(stage.see(name).await, Seen::nothing(), "{name}");
        stage.label(name, None).await;
        stage.expect(name, &Seen::ours(&[])).await;
        stage.label(name, Some("")).await;
        stage.expect(name, &Seen::nothing()).await;
    }
}

/// Neither does a change of its pods cost anything.
async fn l3_created_with_the_label(stage: &Stage) {
    let mark = stage.mark();
    stage.service("l3", Some("external"), &[3]).await;
    stage.world.ready("l3-3", false).await;
    stage.remains("l3", &Seen::nothing()).await;
    assert_eq!(stage.writes_since(mark), [""; 0]);
}

/// Exactly what is ours goes, each with one request.
async fn l4_label_added(stage: &Stage) {
    stage.service("l4", None, &[4]).await;
    stage.slice("l4-theirs", "l4", "192.0.2.4").await;
    stage.expect("l4", &Seen::ours(&["10.1.0.4"]).slice(THEM, &["192.0.2.4"])).await;
    let ours = stage.slices_of("l4").await.into_iter().filter_map(|slice| slice.metadata.name);
    let ours: Vec<String> = ours.filter(|name| name != "l4-theirs").collect();
    let mark = stage.mark();
    stage.label("l4", Some("external")).await;
    stage.expect("l4", &Seen::nothing().slice(THEM, &["192.0.2.4"])).await;
    stage.world.settle().await;
    let mut writes = stage.writes_since(mark);
    writes.sort();
    assert_eq!(writes, ["delete endpoints l4".to_owned(), format!("delete endpointslices {}", ours[0])]);
}

/// With whatever pods there are by then.
async fn l5_label_removed(stage: &Stage) {
    stage.service("l5", Some("external"), &[5]).await;
    stage.world.ready("l5-5", false).await;
    // Pods and Services are watched apart, and both must be seen in this order.
    stage.world.settle().await;
    let mark = stage.mark();
    stage.label("l5", None).await;
    stage.expect("l5", &Seen::ours(&[])).await;
    stage.world.ready("l5-5", true).await;
    stage.expect("l5", &Seen::ours(&["10.1.0.5"])).await;
    stage.world.settle().await;
    assert_eq!(
        stage.writes_since(mark).len(),
        4,
        "a create and an update of each: {:?}",
        stage.writes_since(mark)
    );
}

async fn l8_mirroring(stage: &Stage) {
    stage.custom_endpoints("l8", None, "192.0.2.8").await;
    stage.bare_service("l8", Some("external")).await;
    let custom = Seen::nothing().endpoints("", &["192.0.2.8"]);
    stage.remains("l8", &custom).await;
    let mirrored = custom.clone().slice(MIRRORED, &["192.0.2.8"]);
    for _ in 0..2 {
        stage.label("l8", None).await;
        stage.expect("l8", &mirrored).await;
        stage.label("l8", Some("external")).await;
        stage.expect("l8", &custom).await;
    }
    stage.remains("l8", &custom).await;
}

async fn l9_what_others_made_survives(stage: &Stage) {
    stage.service("l9", None, &[9]).await;
    stage.slice("l9-theirs", "l9", "192.0.2.9").await;
    stage.expect("l9", &Seen::ours(&["10.1.0.9"]).slice(THEM, &["192.0.2.9"])).await;
    let theirs = |seen: Seen| seen.slice(THEM, &["192.0.2.9"]);
    stage.label("l9", Some("external")).await;
    stage.expect("l9", &theirs(Seen::nothing())).await;
    for managed_by in [None, Some(THEM)] {
        stage.custom_endpoints("l9", managed_by, "192.0.2.99").await;
        let custom = Seen::nothing().endpoints(managed_by.unwrap_or_default(), &["192.0.2.99"]);
        stage.remains("l9", &theirs(custom.clone())).await;
        stage.label("l9", Some("another")).await;
        stage.world.ready("l9-9", managed_by.is_none()).await;
        stage.remains("l9", &theirs(custom)).await;
    }
    // There is one Endpoints object of a name: without the label it is ours to write again.
    stage.label("l9", None).await;
    stage.world.ready("l9-9", true).await;
    stage.expect("l9", &theirs(Seen::ours(&["10.1.0.9"]))).await;
}

async fn l10_another_value_changes_nothing(stage: &Stage) {
    stage.service("l10", Some("one"), &[10]).await;
    stage.custom_endpoints("l10", Some(THEM), "192.0.2.10").await;
    stage.slice("l10-theirs", "l10", "192.0.2.10").await;
    let theirs = Seen::nothing().endpoints(THEM, &["192.0.2.10"]).slice(THEM, &["192.0.2.10"]);
    stage.remains("l10", &theirs).await;
    let mark = stage.mark();
    for value in ["two", "", "one"] {
        stage.label("l10", Some(value)).await;
    }
    stage.remains("l10", &theirs).await;
    assert_eq!(stage.writes_since(mark), [""; 0]);
}

/// Here nobody collects garbage, so what we don't delete stays.
async fn a_deleted_service_costs_no_request_for_its_slices(stage: &Stage) {
    stage.service("gone", None, &[11]).await;
    stage.expect("gone", &Seen::ours(&["10.1.0.11"])).await;
    let mark = stage.mark();
    stage.world.delete_service("gone").await;
    let left = Seen::nothing().slice(SLICES, &["10.1.0.11"]);
    stage.expect("gone", &left).await;
    stage.remains("gone", &left).await;
    // The API server deletes Endpoints with their Service. What ours does about them depends on what it sees go first,
    // and is the affair of other tests.
    let mut writes = stage.writes_since(mark);
    writes.retain(|write| !write.ends_with(" endpoints gone"));
    assert_eq!(writes, [""; 0]);
}

/// As without the gate.
async fn custom_endpoints_of_a_deleted_service_go(stage: &Stage) {
    stage.bare_service("bare", None).await;
    stage.custom_endpoints("bare", None, "192.0.2.12").await;
    stage
        .expect("bare", &Seen::nothing().endpoints("", &["192.0.2.12"]).slice(MIRRORED, &["192.0.2.12"]))
        .await;
    stage.world.change_service("bare", json!({"metadata": {"annotations": {"a": "b"}}})).await;
    stage.world.delete_service("bare").await;
    stage.expect("bare", &Seen::nothing()).await;
}

/// They were ours while the Service had a selector, were edited by hand since, and still carry our label.
async fn endpoints_of_a_service_without_a_selector_stay_whatever_their_labels_say(stage: &mut Stage) {
    stage.service("handed", None, &[13]).await;
    stage.expect("handed", &Seen::ours(&["10.1.0.13"])).await;
    stage.world.change_service("handed", json!({"spec": {"selector": null}})).await;
    stage.custom_endpoints("handed", Some(ENDPOINTS), "192.0.2.13").await;
    let custom = Seen::nothing().endpoints(ENDPOINTS, &["192.0.2.13"]);
    let mirrored = custom.clone().slice(SLICES, &["10.1.0.13"]).slice(MIRRORED, &["192.0.2.13"]);
    stage.expect("handed", &mirrored).await;
    stage.label("handed", Some("external")).await;
    stage.expect("handed", &custom).await;
    stage.remains("handed", &custom).await;
    stage.switch(DELEGATION).await;
    stage.remains("handed", &custom).await;
}
