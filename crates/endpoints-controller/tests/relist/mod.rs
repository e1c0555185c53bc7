//! A new list after a broken watch: what we wrote and nobody will ever tell us about.

use std::time::Duration;

use endpointslice::Service;
use serde_json::json;

use crate::fake::Fake;
use crate::support::{pod, service};
use crate::{MOMENT, NONE};

/// By then a key that waits for the cache is in its longest back-off.
const LONG: Duration = Duration::from_secs(5000);

/// A Service without pods, and its object, which the cache shows unless the watch is `broken`.
async fn begun(broken: bool) -> Fake {
    let fake = Fake::start(Duration::ZERO, |api| api.show::<Service>(service("web", json!({}))));
    if broken {
        fake.break_watch();
    }
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web"]);
    fake.forget_requests();
    fake
}

/// No event tells of an object that was never in the cache.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_before_the_cache_shows_it_is_made_again() {
    for waiting in [false, true] {
        let fake = begun(true).await;
        fake.take_unseen("web");
        if waiting {
            fake.pod(pod("web-1", &["10.0.0.1"], true));
            fake.advance(LONG).await;
            assert_eq!(fake.requests(), NONE, "the cache doesn't show the object");
        }
        fake.relist();
        fake.advance(MOMENT).await;
        assert_eq!(fake.requests(), ["POST web"], "the list wakes it, not the back-off");
        assert!(fake.stored("web").is_some());
    }
}

/// The API server is restored from a backup: its versions go back or are bumped, as etcd's restore does it if asked.
#[tokio::test(start_paused = true)]
async fn a_write_that_a_restored_backup_undoes_is_made_again() {
    for bump in [0, 1000] {
        for (seen, waiting) in [(false, false), (false, true), (true, false)] {
            let fake = begun(false).await;
            let backup = fake.backup();
            if !seen {
                fake.break_watch();
            }
            fake.pod(pod("web-1", &["10.0.0.1"], true));
            fake.advance(MOMENT).await;
            assert_eq!(fake.requests(), ["PUT web"]);
            if waiting {
                fake.pod(pod("web-2", &["10.0.0.2"], true));
                fake.advance(LONG).await;
            }
            fake.restore(backup, bump);
            fake.relist();
            fake.advance(MOMENT).await;
            assert_eq!(fake.requests(), ["PUT web", "PUT web"], "{bump} {seen} {waiting}");
            assert_eq!(fake.addresses("web").len(), 1 + usize::from(waiting));
            fake.pod(pod("web-3", &["10.0.0.3"], true));
            fake.advance(MOMENT).await;
            assert_eq!(fake.addresses("web").len(), 2 + usize::from(waiting), "and life goes on");
        }
    }
}

/// The list may be older than a write that is acknowledged while it is under way.
#[tokio::test(start_paused = true)]
async fn a_write_during_a_list_is_still_waited_for() {
    let fake = begun(false).await;
    fake.break_watch();
    let list = fake.begin_list();
    fake.pod(pod("web-1", &["10.0.0.1"], true));
    fake.advance(MOMENT).await;
    assert_eq!(fake.requests(), ["PUT web"]);
    fake.pod(pod("web-2", &["10.0.0.2"], true));
    fake.advance(MOMENT).await;
    fake.finish_list(list);
    fake.settle().await;
    assert_eq!(fake.requests(), ["PUT web"], "the cache doesn't show the first write");
    fake.relist();
    fake.advance(MOMENT).await;
    assert_eq!(fake.requests(), ["PUT web", "PUT web"]);
    assert_eq!(fake.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_causes_a_sync_only_if_it_shows_a_foreign_change() {
    let fake = begun(false).await;
    let done = || fake.metric("workqueue_adds_total{name=\"endpoint\"}");
    let before = done();
    fake.relist();
    fake.settle().await;
    assert_eq!((fake.requests(), done()), (Vec::new(), before));
    fake.break_watch();
    let mut edited = fake.stored("web").unwrap();
    edited.metadata.labels.get_or_insert_default().insert("edited".into(), "yes".into());
    fake.put_unseen(edited);
    fake.relist();
    fake.settle().await;
    assert_eq!((fake.requests(), done()), (vec!["PUT web".to_owned()], before + 1));
}
