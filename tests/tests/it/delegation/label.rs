//! The label on a cluster with the feature gate on.

use serde_json::json;

use super::fixture::{DELEGATION, ENDPOINTS, Fixture, MIRRORED, OTHER_CONTROLLER, SLICES, Seen};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_label_with_the_gate_on() {
    let mut fixture = Fixture::start(DELEGATION).await;
    l2_any_value_counts(&fixture).await;
    l3_created_with_the_label(&fixture).await;
    l4_label_added(&fixture).await;
    l5_label_removed(&fixture).await;
    l8_mirroring(&fixture).await;
    l9_foreign_objects_survive(&fixture).await;
    l10_another_value_changes_nothing(&fixture).await;
    custom_endpoints_of_a_deleted_service_go(&fixture).await;
    endpoints_of_a_service_without_a_selector_stay_whatever_their_labels_say(&mut fixture).await;
}

async fn l2_any_value_counts(fixture: &Fixture) {
    for (name, value) in [("l2-empty", ""), ("l2-ours", ENDPOINTS), ("l2-theirs", "x.y_z-0")] {
        fixture.service(name, Some(value), &[2]).await;
    }
    fixture.settle().await;
    for name in ["l2-empty", "l2-ours", "l2-theirs"] {
        assert_eq!(fixture.see(name).await, Seen::nothing(), "{name}");
        fixture.label(name, None).await;
        fixture.expect(name, &Seen::ours(&["10.1.0.2"])).await;
        fixture.label(name, Some("")).await;
        fixture.expect(name, &Seen::nothing()).await;
    }
}

/// A change of its pods causes no write either.
async fn l3_created_with_the_label(fixture: &Fixture) {
    let mark = fixture.mark().await;
    fixture.service("l3", Some("external"), &[3]).await;
    fixture.world.ready("l3-3", false).await;
    fixture.remains("l3", &Seen::nothing()).await;
    assert_eq!(fixture.writes_since(mark), [""; 0]);
}

/// Exactly our objects are deleted, each with one request.
async fn l4_label_added(fixture: &Fixture) {
    fixture.service("l4", None, &[4]).await;
    fixture.slice("l4-theirs", "l4", "192.0.2.4").await;
    fixture.expect("l4", &Seen::ours(&["10.1.0.4"]).slice(OTHER_CONTROLLER, &["192.0.2.4"])).await;
    let ours = fixture.slices_of("l4").await.into_iter().filter_map(|slice| slice.metadata.name);
    let ours: Vec<String> = ours.filter(|name| name != "l4-theirs").collect();
    let mark = fixture.mark().await;
    fixture.label("l4", Some("external")).await;
    fixture.expect("l4", &Seen::nothing().slice(OTHER_CONTROLLER, &["192.0.2.4"])).await;
    fixture.settle().await;
    let mut writes = fixture.writes_since(mark);
    writes.sort();
    assert_eq!(writes, ["delete endpoints l4".to_owned(), format!("delete endpointslices {}", ours[0])]);
}

/// The slices have the pods of that moment.
async fn l5_label_removed(fixture: &Fixture) {
    fixture.service("l5", Some("external"), &[5]).await;
    fixture.world.ready("l5-5", false).await;
    // Pods and Services have separate watches, and both changes must be seen in this order.
    fixture.settle().await;
    let mark = fixture.mark().await;
    fixture.label("l5", None).await;
    fixture.expect("l5", &Seen::ours(&[])).await;
    fixture.world.ready("l5-5", true).await;
    fixture.expect("l5", &Seen::ours(&["10.1.0.5"])).await;
    fixture.settle().await;
    assert_eq!(
        fixture.writes_since(mark).len(),
        4,
        "a create and an update of each: {:?}",
        fixture.writes_since(mark)
    );
}

async fn l8_mirroring(fixture: &Fixture) {
    fixture.custom_endpoints("l8", None, "192.0.2.8").await;
    fixture.bare_service("l8", Some("external")).await;
    let custom = Seen::nothing().endpoints("", &["192.0.2.8"]);
    fixture.remains("l8", &custom).await;
    let mirrored = custom.clone().slice(MIRRORED, &["192.0.2.8"]);
    for _ in 0..2 {
        fixture.label("l8", None).await;
        fixture.expect("l8", &mirrored).await;
        fixture.label("l8", Some("external")).await;
        fixture.expect("l8", &custom).await;
    }
    fixture.remains("l8", &custom).await;
}

async fn l9_foreign_objects_survive(fixture: &Fixture) {
    fixture.service("l9", None, &[9]).await;
    fixture.slice("l9-theirs", "l9", "192.0.2.9").await;
    fixture.expect("l9", &Seen::ours(&["10.1.0.9"]).slice(OTHER_CONTROLLER, &["192.0.2.9"])).await;
    let theirs = |seen: Seen| seen.slice(OTHER_CONTROLLER, &["192.0.2.9"]);
    fixture.label("l9", Some("external")).await;
    fixture.expect("l9", &theirs(Seen::nothing())).await;
    for managed_by in [None, Some(OTHER_CONTROLLER)] {
        fixture.custom_endpoints("l9", managed_by, "192.0.2.99").await;
        let custom = Seen::nothing().endpoints(managed_by.unwrap_or_default(), &["192.0.2.99"]);
        fixture.remains("l9", &theirs(custom.clone())).await;
        fixture.label("l9", Some("another")).await;
        fixture.world.ready("l9-9", managed_by.is_none()).await;
        fixture.remains("l9", &theirs(custom)).await;
    }
    // Only one Endpoints object can have the name: without the label our program writes it again.
    fixture.label("l9", None).await;
    fixture.world.ready("l9-9", true).await;
    fixture.expect("l9", &theirs(Seen::ours(&["10.1.0.9"]))).await;
}

async fn l10_another_value_changes_nothing(fixture: &Fixture) {
    fixture.service("l10", Some("one"), &[10]).await;
    fixture.custom_endpoints("l10", Some(OTHER_CONTROLLER), "192.0.2.10").await;
    fixture.slice("l10-theirs", "l10", "192.0.2.10").await;
    let theirs =
        Seen::nothing().endpoints(OTHER_CONTROLLER, &["192.0.2.10"]).slice(OTHER_CONTROLLER, &["192.0.2.10"]);
    fixture.remains("l10", &theirs).await;
    let mark = fixture.mark().await;
    for value in ["two", "", "one"] {
        fixture.label("l10", Some(value)).await;
    }
    fixture.remains("l10", &theirs).await;
    assert_eq!(fixture.writes_since(mark), [""; 0]);
}

/// The same as without the gate.
async fn custom_endpoints_of_a_deleted_service_go(fixture: &Fixture) {
    fixture.bare_service("bare", None).await;
    fixture.custom_endpoints("bare", None, "192.0.2.12").await;
    fixture
        .expect("bare", &Seen::nothing().endpoints("", &["192.0.2.12"]).slice(MIRRORED, &["192.0.2.12"]))
        .await;
    fixture.world.change_service("bare", json!({"metadata": {"annotations": {"a": "b"}}})).await;
    fixture.world.delete_service("bare").await;
    fixture.expect("bare", &Seen::nothing()).await;
}

/// They were ours while the Service had a selector, have been edited by hand, and still have our label.
async fn endpoints_of_a_service_without_a_selector_stay_whatever_their_labels_say(fixture: &mut Fixture) {
    fixture.service("handed", None, &[13]).await;
    fixture.expect("handed", &Seen::ours(&["10.1.0.13"])).await;
    fixture.world.change_service("handed", json!({"spec": {"selector": null}})).await;
    fixture.custom_endpoints("handed", Some(ENDPOINTS), "192.0.2.13").await;
    let custom = Seen::nothing().endpoints(ENDPOINTS, &["192.0.2.13"]);
    let mirrored = custom.clone().slice(SLICES, &["10.1.0.13"]).slice(MIRRORED, &["192.0.2.13"]);
    fixture.expect("handed", &mirrored).await;
    fixture.label("handed", Some("external")).await;
    fixture.expect("handed", &custom).await;
    fixture.remains("handed", &custom).await;
    fixture.switch(DELEGATION).await;
    fixture.remains("handed", &custom).await;
}
