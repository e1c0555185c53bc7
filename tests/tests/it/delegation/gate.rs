//! The feature gate switched on and off by restarting our program, with Services that carry the label all the while.

use super::stage::{DEFAULTS, DELEGATION, MIRRORED, Seen, Stage, THEM};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gate_switched_by_restarts() {
    let mut stage = Stage::start(DEFAULTS).await;
    kep_4770_gate_disabled(&stage).await;
    l1_without_the_gate_the_label_is_ignored(&stage).await;
    l6_what_is_ours_goes_at_the_start_with_the_gate(&mut stage).await;
    l7_without_the_gate_everything_comes_back_and_with_it_goes_again(&mut stage).await;
    l9_what_others_made_survived(&stage).await;
}

async fn kep_4770_gate_disabled(stage: &Stage) {
    stage.service("labelled", Some("external"), &[1]).await;
    stage.service("plain", None, &[2]).await;
    stage.expect("labelled", &Seen::ours(&["10.1.0.1"])).await;
    stage.expect("plain", &Seen::ours(&["10.1.0.2"])).await;
}

async fn l1_without_the_gate_the_label_is_ignored(stage: &Stage) {
    stage.custom_endpoints("mirrored", None, "192.0.2.3").await;
    stage.bare_service("mirrored", Some("external")).await;
    stage.expect("mirrored", &mirrored()).await;
    stage.slice("theirs", "labelled", "192.0.2.1").await;
    let mark = stage.mark();
    for value in [None, Some(""), Some("external")] {
        stage.label("labelled", value).await;
        stage.label("mirrored", value).await;
    }
    stage.remains("labelled", &ours()).await;
    stage.remains("mirrored", &mirrored()).await;
    let deleted = stage.writes_since(mark).into_iter().filter(|write| write.starts_with("delete"));
    assert_eq!(deleted.collect::<Vec<_>>(), [""; 0], "it is a label like others, carried over and no more");
}

async fn l6_what_is_ours_goes_at_the_start_with_the_gate(stage: &mut Stage) {
    let mark = stage.mark();
    stage.switch(DELEGATION).await;
    only_theirs_is_left(stage).await;
    assert_eq!(stage.writes_since(mark).len(), 3, "ours, and nothing else: {:?}", stage.writes_since(mark));
    let mark = stage.mark();
    stage.switch(DELEGATION).await;
    only_theirs_is_left(stage).await;
    assert_eq!(stage.writes_since(mark), [""; 0], "once");
}

async fn l7_without_the_gate_everything_comes_back_and_with_it_goes_again(stage: &mut Stage) {
    stage.switch(DEFAULTS).await;
    stage.expect("labelled", &ours()).await;
    stage.expect("mirrored", &mirrored()).await;
    stage.switch(DELEGATION).await;
    only_theirs_is_left(stage).await;
}

/// Endpoints of a labelled Service with a selector can only be somebody's while the gate is on.
async fn l9_what_others_made_survived(stage: &Stage) {
    let theirs = stage.slices.get("theirs").await.unwrap();
    assert_eq!(theirs.metadata.generation, Some(1), "never written again");
    let custom = stage.endpoints.get("mirrored").await.unwrap();
    let managers = custom.metadata.managed_fields.unwrap_or_default();
    assert_eq!(managers.len(), 1, "written by one client only: {managers:?}");
}

async fn only_theirs_is_left(stage: &Stage) {
    stage.expect("labelled", &Seen::nothing().slice(THEM, &["192.0.2.1"])).await;
    stage.expect("mirrored", &Seen::nothing().endpoints("", &["192.0.2.3"])).await;
    stage.remains("plain", &Seen::ours(&["10.1.0.2"])).await;
}

fn ours() -> Seen {
    Seen::ours(&["10.1.0.1"]).slice(THEM, &["192.0.2.1"])
}

fn mirrored() -> Seen {
    Seen::nothing().endpoints("", &["192.0.2.3"]).slice(MIRRORED, &["192.0.2.3"])
}
