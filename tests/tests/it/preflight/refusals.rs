//! Clusters that cannot be read, or that lack what the program uses.

use tests::cluster::{Cluster, ClusterOptions, User};
use tests::tool::{self, Ended};

use super::site::{PREPARED, Site};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_server_that_cannot_be_reached_is_one_line() {
    let mut cluster = Cluster::embedded().await;
    cluster.stop_apiserver();
    let kubeconfig = format!("--kubeconfig={}", cluster.kubeconfig(User::Admin).display());
    for (words, code, expected) in [
        (vec!["preflight", &kubeconfig], 4, "Error: cannot reach the API server https://127.0.0.1"),
        (vec!["preflight", "--kubeconfig=/nowhere"], 1, "Error: --kubeconfig: cannot read /nowhere"),
        (vec!["preflight", "--no-such"], 1, "Error: unknown flag: --no-such"),
    ] {
        let Ended { code: ended, stdout, stderr } = tool::run(&words);
        assert_eq!(ended, Some(code), "{words:?}: {stderr}");
        assert!(stderr.starts_with(expected) && stderr.lines().count() == 1, "{words:?}: {stderr}");
        assert!(stdout.is_empty(), "{words:?}");
    }
}

/// An API server without streaming lists and without priority and fairness, and a user without permissions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_permissions_are_one_line_for_each_check() {
    let flags = ["--feature-gates=WatchList=false", "--enable-priority-and-fairness=false"];
    let apiserver_flags = flags.map(str::to_owned).to_vec();
    let cluster = Cluster::start(ClusterOptions { apiserver_flags, ..ClusterOptions::default() }).await;
    let site = Site { cluster };
    unknown_callers(&site);
    let report = site.preflight(&["--confirm-after=0"]);
    report.expect("streaming-lists", "warning", "does not stream lists");
    report.expect("priority-of-lease", "ok", "no priority and fairness");
    report.expect("rbac-serving", "ok", "the user of the kubeconfig has all of 3 permissions");
    report.expect("lease-kube-controller-manager", "warning", "No process holds it");
    report.expect("built-in-controllers", "warning", "cannot be read");

    let report = site.preflight_as(User::ThirdParty, PREPARED);
    assert_eq!(report.code, 6, "{report:#?}");
    report.expect("api-server-version", "ok", "v1.");
    for (id, permission) in [
        ("streaming-lists", "watch services"),
        ("rbac-endpoints-controller", "create subjectaccessreviews"),
        ("priority-of-lease", "list flowschemas"),
        ("last-writers", "list endpointslices"),
        ("lease-endpoint-controller-manager", "get leases in kube-system"),
        ("built-in-controllers", "list pods in kube-system"),
        ("kubeadm-controllers", "get configmaps in kube-system"),
        ("start-up-deletions", "list services"),
        ("first-plans", "list services"),
        ("leftover-workloads", "list deployments"),
    ] {
        report.expect(id, "notChecked", &format!("This needs permission to {permission}"));
    }
    // Its own permissions are known to every user.
    let report = site.preflight_as(User::ThirdParty, &[]);
    report.expect("rbac-endpoints-controller", "failed", "may not: list services");
}

fn unknown_callers(site: &Site) {
    let valid = std::fs::read_to_string(site.cluster.kubeconfig(User::ThirdParty)).unwrap();
    let path = site.cluster.folder().join("unknown.kubeconfig");
    std::fs::write(&path, valid.replace(&User::ThirdParty.token(), "none")).unwrap();
    let Ended { code, stdout, stderr } = tool::about(&path, &["preflight"]);
    assert_eq!(code, Some(4), "{stderr}");
    assert!(stderr.contains("credentials of the kubeconfig are not valid"), "{stderr}");
    assert!(stdout.is_empty() && stderr.lines().count() == 1, "{stderr}");
}
