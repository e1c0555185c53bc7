//! A relist after a broken watch, and our writes whose watch events were lost.

use std::time::Duration;

use endpointslice::Service;
use serde_json::json;

use crate::MOMENT;
use crate::harness::Harness;
use crate::objects::{pod, service};

/// Long enough for a key that waits for the cache to reach its longest back-off.
const LONG: Duration = Duration::from_secs(5000);

/// A Service without pods, and its Endpoints.
async fn begun() -> Harness {
    let harness = Harness::start(Duration::ZERO, |api| api.upsert::<Service>(service("web", json!({}))));
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web"]);
    harness.api.forget_requests();
    harness
}

/// The API server is restored from a backup: its versions go back, or are raised with etcd's `--bump-revision`.
#[tokio::test(start_paused = true)]
async fn a_write_that_a_restored_backup_undoes_is_repeated() {
    for bump in [0, 1000] {
        for (seen, waiting) in [(false, false), (false, true), (true, false)] {
            let harness = begun().await;
            let backup = harness.api.backup();
            if !seen {
                harness.api.break_watch();
            }
            harness.api.pod(pod("web-1", &["10.0.0.1"], true));
            harness.api.advance(MOMENT).await;
            assert_eq!(harness.api.requests(), ["PUT web"]);
            if waiting {
                harness.api.pod(pod("web-2", &["10.0.0.2"], true));
                harness.api.advance(LONG).await;
            }
            harness.api.restore(backup, bump);
            harness.api.relist();
            harness.api.advance(MOMENT).await;
            assert_eq!(harness.api.requests(), ["PUT web", "PUT web"], "{bump} {seen} {waiting}");
            assert_eq!(harness.addresses("web").len(), 1 + usize::from(waiting));
            harness.api.pod(pod("web-3", &["10.0.0.3"], true));
            harness.api.advance(MOMENT).await;
            assert_eq!(harness.addresses("web").len(), 2 + usize::from(waiting), "later changes are written");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_causes_a_sync_only_if_it_shows_a_foreign_change() {
    let harness = begun().await;
    let done = || harness.metric("workqueue_adds_total{name=\"endpoint\"}");
    let before = done();
    harness.api.relist();
    harness.api.settle().await;
    assert_eq!((harness.api.requests(), done()), (Vec::new(), before));
    harness.api.break_watch();
    let mut edited = harness.api.stored("web").unwrap();
    edited.metadata.labels.get_or_insert_default().insert("edited".into(), "yes".into());
    harness.api.put_without_event(edited);
    harness.api.relist();
    harness.api.settle().await;
    assert_eq!((harness.api.requests(), done()), (vec!["PUT web".to_owned()], before + 1));
}
