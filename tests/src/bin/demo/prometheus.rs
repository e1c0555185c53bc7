//! A stand-in for Prometheus, which reads the manager's metrics with the token of its service account.

use http::header::{ACCEPT, AUTHORIZATION};
use tests::cluster::Cluster;
use tests::pages::{Page, Pages};

const NAMESPACE: &str = "monitoring";
const ACCOUNT: &str = "prometheus-k8s";

/// The metrics to show.
const SHOWN: [&str; 4] = [
    "leader_election_master_status",
    "endpoint_slice_controller_endpoints_desired",
    "endpoint_slice_controller_num_endpoint_slices",
    "endpoint_slice_controller_syncs",
];

pub(crate) struct Prometheus {
    token: String,
}

impl Prometheus {
    /// Creates its service account, with the permission to read metrics.
    pub(crate) async fn prepare(cluster: &Cluster) -> Self {
        Self { token: cluster.scraper(NAMESPACE, ACCOUNT).await }
    }

    /// Reads the metrics. Returns those to show, and checks that other tokens are refused.
    pub(crate) async fn scrape(&self, pages: &Pages) -> Vec<String> {
        let refused = get(pages, "another").await;
        assert_eq!(refused.status, 401, "{}", refused.text);
        let page = get(pages, &self.token).await;
        assert_eq!(page.status, 200, "{}", page.text);
        let is_shown = |line: &&str| SHOWN.contains(&line.split(['{', ' ']).next().unwrap_or_default());
        let lines: Vec<String> = page.text.lines().filter(is_shown).map(str::to_owned).collect();
        let leads = lines.iter().any(|line| line.starts_with(SHOWN[0]) && line.ends_with(" 1"));
        assert!(leads, "no leader: {lines:?}");
        lines
    }
}

async fn get(pages: &Pages, token: &str) -> Page {
    let request = http::Request::get("/metrics")
        .header(ACCEPT, "text/plain;version=0.0.4")
        .header(AUTHORIZATION, format!("Bearer {token}"));
    pages.send(request.body(Vec::new()).unwrap()).await.expect("reading metrics")
}
