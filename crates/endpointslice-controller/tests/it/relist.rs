//! A relist after a broken watch, and our writes whose watch events were lost.

use std::time::Duration;

use crate::MOMENT;
use crate::harness::{Harness, pod, web};

/// Long enough for a key that waits for the cache to reach its longest back-off.
const LONG: Duration = Duration::from_secs(5000);

/// A Service without pods, and its slice `web-1`, which the cache shows unless the watch is `broken`.
async fn begun(broken: bool) -> Harness {
    let harness = Harness::start(Duration::ZERO, web(0));
    if broken {
        harness.api.break_watch();
    }
    harness.api.settle().await;
    assert_eq!(harness.api.requests(), ["POST web-"]);
    harness.api.forget_requests();
    harness
}

/// A slice that was never in the cache causes no deletion event.
#[tokio::test(start_paused = true)]
async fn a_slice_deleted_before_the_cache_showed_it_is_created_again() {
    for waiting in [false, true] {
        let harness = begun(true).await;
        harness.api.delete_slice_without_event("web");
        if waiting {
            harness.api.pod(pod("web-1", "10.0.0.1", true));
            harness.api.advance(LONG).await;
            assert_eq!(harness.api.requests(), Vec::<String>::new(), "the cache doesn't show the slice");
        }
        harness.api.relist();
        harness.api.advance(MOMENT).await;
        assert_eq!(
            harness.api.requests().len(),
            usize::from(waiting),
            "the relist requeues the key, not the back-off"
        );
        harness.api.settle().await;
        assert_eq!((harness.api.requests(), harness.slice_count("web")), (vec!["POST web-".to_owned()], 1));
    }
}

/// The API server is restored from a backup: its versions go back, or are raised with etcd's `--bump-revision`.
#[tokio::test(start_paused = true)]
async fn a_write_that_a_restored_backup_undoes_is_repeated() {
    for bump in [0, 1000] {
        for waiting in [false, true] {
            let harness = begun(false).await;
            let backup = harness.api.backup();
            harness.api.break_watch();
            harness.api.pod(pod("web-1", "10.0.0.1", true));
            harness.api.advance(MOMENT).await;
            assert_eq!(harness.api.requests(), ["PUT web-1"]);
            if waiting {
                harness.api.pod(pod("web-2", "10.0.0.2", true));
                harness.api.advance(LONG).await;
            }
            harness.api.restore(backup, bump);
            harness.api.relist();
            harness.api.settle().await;
            assert_eq!(harness.api.requests(), ["PUT web-1", "PUT web-1"], "{bump} {waiting}");
            assert_eq!(harness.api.addresses("web").len(), 1 + usize::from(waiting));
            harness.api.pod(pod("web-3", "10.0.0.3", true));
            harness.api.advance(MOMENT).await;
            assert_eq!(
                harness.api.addresses("web").len(),
                2 + usize::from(waiting),
                "later changes are written"
            );
        }
    }
}
