//! `preflight` on real servers alongside kube-controller-manager: a prepared cluster is in order, each planted fault is found,
//! and the audit log has no write but access reviews.

mod faults;
mod refusals;
mod site;

use serde_json::json;

use site::{PREPARED, Site};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prepared_cluster_is_in_order_and_nothing_is_written() {
    let site = Site::prepare().await;
    let (manager, _world) = site.settle().await;
    site.manager_pod("kcm", "*,bootstrapsigner,tokencleaner").await;
    let mark = site.cluster.audit().mark();
    let report = site.preflight(PREPARED);
    let others: Vec<_> = report.checks.iter().filter(|(_, check)| check["status"] != json!("ok")).collect();
    assert!(others.is_empty() && report.code == 0, "{others:#?}");
    assert_eq!(report.checks.len(), 18, "{:#?}", report.checks);
    assert!(report.message("last-writers").contains("kube-controller-manager"), "{report:?}");
    assert!(report.message("priority-of-lease").contains("leader-election"), "{report:?}");

    let writes = site.admin_writes(mark);
    assert!(writes.len() > 20, "{writes:#?}");
    let is_review = |line: &&String| {
        !["create selfsubjectaccessreviews", "create subjectaccessreviews"].contains(&line.as_str())
    };
    assert_eq!(writes.iter().filter(is_review).count(), 0, "{writes:#?}");
    drop(manager);
}
