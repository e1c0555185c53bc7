//! A new list after a broken watch: what we wrote and nobody will ever tell us about.

use std::time::Duration;

use serde_json::json;

use crate::fake::{Fake, pod, service};

const MOMENT: Duration = Duration::from_millis(1);
/// By then a key that waits for the cache is in its longest back-off.
const LONG: Duration = Duration::from_secs(5000);

/// A Service without pods, and its slice `web-1`, which the cache shows unless the watch is `broken`.
async fn begun(broken: bool) -> Fake {
    let fake = Fake::start(Duration::ZERO, |cache| {
        cache.node("node-1", "zone-a");
        cache.service(service("web", json!({})));
    });
    if broken {
        fake.break_watch();
    }
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST web-"]);
    fake.forget_requests();
    fake
}

/// No event tells of a slice that was never in the cache.
#[tokio::test(start_paused = true)]
async fn a_slice_that_is_gone_before_the_cache_shows_it_is_made_again() {
    for waiting in [false, true] {
        let fake = begun(true).await;
        fake.lose_slice("web");
        if waiting {
            fake.pod(pod("web-1", "10.0.0.1", true));
            fake.advance(LONG).await;
            assert_eq!(fake.requests(), Vec::<String>::new(), "the cache doesn't show the slice");
        }
        fake.relist();
        fake.advance(MOMENT).await;
        assert_eq!(fake.requests().len(), usize::from(waiting), "the list wakes it, not the back-off");
        fake.settle().await;
        assert_eq!((fake.requests(), fake.slice_count("web")), (vec!["POST web-".to_owned()], 1));
    }
}

/// The API server is restored from a backup: its versions go back or are bumped, as etcd's restore does it if asked.
#[tokio::test(start_paused = true)]
async fn a_write_that_a_restored_backup_undoes_is_made_again() {
    for bump in [0, 1000] {
        for waiting in [false, true] {
            let fake = begun(false).await;
            let backup = fake.backup();
            fake.break_watch();
            fake.pod(pod("web-1", "10.0.0.1", true));
            fake.advance(MOMENT).await;
            assert_eq!(fake.requests(), ["PUT web-1"]);
            if waiting {
                fake.pod(pod("web-2", "10.0.0.2", true));
                fake.advance(LONG).await;
            }
            fake.restore(backup, bump);
            fake.relist();
            fake.settle().await;
            assert_eq!(fake.requests(), ["PUT web-1", "PUT web-1"], "{bump} {waiting}");
            assert_eq!(fake.addresses("web").len(), 1 + usize::from(waiting));
            fake.pod(pod("web-3", "10.0.0.3", true));
            fake.advance(MOMENT).await;
            assert_eq!(fake.addresses("web").len(), 2 + usize::from(waiting), "and life goes on");
        }
    }
}

/// The same for what the cache has shown already.
#[tokio::test(start_paused = true)]
async fn a_write_that_was_seen_and_is_undone_is_made_again() {
    for bump in [0, 1000] {
        let fake = begun(false).await;
        let backup = fake.backup();
        fake.pod(pod("web-1", "10.0.0.1", true));
        fake.settle().await;
        fake.break_watch();
        fake.restore(backup, bump);
        fake.relist();
        fake.settle().await;
        assert_eq!(fake.requests(), ["PUT web-1", "PUT web-1"], "{bump}");
        assert_eq!(fake.addresses("web"), ["10.0.0.1"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_a_restored_backup_undoes_is_made_again() {
    for bump in [0, 1000] {
        let fake = begun(false).await;
        let mut surplus = fake.slices("web").remove(0);
        surplus.metadata.name = Some("web-2".into());
        fake.put(surplus);
        let backup = fake.backup();
        fake.break_watch();
        fake.settle().await;
        assert_eq!(fake.requests(), ["DELETE web-2"]);
        fake.restore(backup, bump);
        fake.relist();
        fake.settle().await;
        assert_eq!(fake.requests(), ["DELETE web-2", "DELETE web-2"]);
        fake.pod(pod("web-1", "10.0.0.1", true));
        fake.advance(MOMENT).await;
        assert_eq!(fake.addresses("web"), ["10.0.0.1"], "and life goes on");
    }
}

/// The list may be older than a write that is acknowledged while it is under way.
#[tokio::test(start_paused = true)]
async fn a_write_during_a_list_is_still_waited_for() {
    let fake = begun(false).await;
    fake.break_watch();
    let list = fake.begin_list();
    fake.pod(pod("web-1", "10.0.0.1", true));
    fake.advance(MOMENT).await;
    assert_eq!(fake.requests(), ["PUT web-1"]);
    fake.pod(pod("web-2", "10.0.0.2", true));
    fake.advance(MOMENT).await;
    fake.finish_list(list);
    fake.settle().await;
    assert_eq!(fake.requests(), ["PUT web-1"], "the cache doesn't show the first write");
    fake.relist();
    fake.advance(MOMENT).await;
    assert_eq!(fake.requests(), ["PUT web-1", "PUT web-1"]);
    assert_eq!(fake.addresses("web"), ["10.0.0.1", "10.0.0.2"]);
}

/// Until the list, the cache takes low versions for seen, and doesn't wait for what it hasn't seen.
#[tokio::test(start_paused = true)]
async fn what_was_written_twice_while_versions_went_back_is_put_right() {
    let fake = begun(false).await;
    let backup = fake.backup();
    fake.restore(fake.backup(), 1000);
    fake.relist();
    fake.break_watch();
    fake.restore(backup, 0);
    fake.service(service("db", json!({})));
    fake.settle().await;
    fake.pod(pod("db-1", "10.0.0.1", true));
    fake.settle().await;
    assert_eq!(fake.requests(), ["POST db-", "POST db-"]);
    fake.relist();
    fake.settle().await;
    assert_eq!((fake.slice_count("db"), fake.addresses("db")), (1, vec!["10.0.0.1".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_shows_what_is_expected_causes_no_sync() {
    let fake = begun(false).await;
    let syncs = fake.syncs();
    fake.relist();
    fake.settle().await;
    assert_eq!((fake.requests(), fake.syncs()), (vec![], syncs));
}
