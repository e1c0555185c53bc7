//! The feature gate switched on and off by restarting our program, with Services that have the label all the time.

use super::fixture::{DEFAULTS, DELEGATION, Fixture, MIRRORED, OTHER_CONTROLLER, Seen};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gate_switched_by_restarts() {
    let mut fixture = Fixture::start(DEFAULTS).await;
    kep_4770_gate_disabled(&fixture).await;
    l1_without_the_gate_the_label_is_ignored(&fixture).await;
    l6_our_objects_go_at_the_start_with_the_gate(&mut fixture).await;
    l7_without_the_gate_everything_comes_back_and_with_it_goes_again(&mut fixture).await;
    l9_foreign_objects_survived(&fixture).await;
}

async fn kep_4770_gate_disabled(fixture: &Fixture) {
    fixture.service("labelled", Some("external"), &[1]).await;
    fixture.service("plain", None, &[2]).await;
    fixture.expect("labelled", &Seen::ours(&["10.1.0.1"])).await;
    fixture.expect("plain", &Seen::ours(&["10.1.0.2"])).await;
}

async fn l1_without_the_gate_the_label_is_ignored(fixture: &Fixture) {
    fixture.custom_endpoints("mirrored", None, "192.0.2.3").await;
    fixture.bare_service("mirrored", Some("external")).await;
    fixture.expect("mirrored", &mirrored()).await;
    fixture.slice("theirs", "labelled", "192.0.2.1").await;
    let mark = fixture.mark().await;
    for value in [None, Some(""), Some("external")] {
        fixture.label("labelled", value).await;
        fixture.label("mirrored", value).await;
    }
    fixture.remains("labelled", &ours()).await;
    fixture.remains("mirrored", &mirrored()).await;
    let deleted = fixture.writes_since(mark).into_iter().filter(|write| write.starts_with("delete"));
    assert_eq!(deleted.collect::<Vec<_>>(), [""; 0], "it is a label like others, carried over and no more");
}

async fn l6_our_objects_go_at_the_start_with_the_gate(fixture: &mut Fixture) {
    let mark = fixture.mark().await;
    fixture.switch(DELEGATION).await;
    only_theirs_is_left(fixture).await;
    assert_eq!(
        fixture.writes_since(mark).len(),
        3,
        "ours, and nothing else: {:?}",
        fixture.writes_since(mark)
    );
    let mark = fixture.mark().await;
    fixture.switch(DELEGATION).await;
    only_theirs_is_left(fixture).await;
    assert_eq!(fixture.writes_since(mark), [""; 0], "once");
}

async fn l7_without_the_gate_everything_comes_back_and_with_it_goes_again(fixture: &mut Fixture) {
    fixture.switch(DEFAULTS).await;
    fixture.expect("labelled", &ours()).await;
    fixture.expect("mirrored", &mirrored()).await;
    fixture.switch(DELEGATION).await;
    only_theirs_is_left(fixture).await;
}

/// Endpoints of a labelled Service with a selector can belong to another controller only while the gate is on.
async fn l9_foreign_objects_survived(fixture: &Fixture) {
    let theirs = fixture.slices.get("theirs").await.unwrap();
    assert_eq!(theirs.metadata.generation, Some(1), "never written again");
    let custom = fixture.endpoints.get("mirrored").await.unwrap();
    let managers = custom.metadata.managed_fields.unwrap_or_default();
    assert_eq!(managers.len(), 1, "written by one client only: {managers:?}");
}

async fn only_theirs_is_left(fixture: &Fixture) {
    fixture.expect("labelled", &Seen::nothing().slice(OTHER_CONTROLLER, &["192.0.2.1"])).await;
    fixture.expect("mirrored", &Seen::nothing().endpoints("", &["192.0.2.3"])).await;
    fixture.remains("plain", &Seen::ours(&["10.1.0.2"])).await;
}

fn ours() -> Seen {
    Seen::ours(&["10.1.0.1"]).slice(OTHER_CONTROLLER, &["192.0.2.1"])
}

fn mirrored() -> Seen {
    Seen::nothing().endpoints("", &["192.0.2.3"]).slice(MIRRORED, &["192.0.2.3"])
}
