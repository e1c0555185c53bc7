//! The queries of the dashboard.

use serde_json::Value;

use crate::rules::repository;
use crate::stage::Stage;

/// The queries of metrics that we have, with Grafana's variables replaced: neither kube-proxy nor CoreDNS runs here.
pub(crate) fn queries() -> Vec<String> {
    let text =
        std::fs::read_to_string(repository("deploy/monitoring/dashboard.json")).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let query = |target: &Value| {
        let query = target["expr"].as_str().expect("a query");
        let query = query.replace("$__rate_interval", "1m").replace("$job", "endpoint-controller-manager");
        assert!(!query.contains('$'), "an unknown variable in {query}");
        query
    };
    let is_ours = |query: &String| !query.contains("kubeproxy_") && !query.contains("coredns_");
    targets.map(query).filter(is_ours).collect()
}

/// Waits until each query returns series. Returns their number.
pub(crate) async fn check(stage: &mut Stage) -> usize {
    let queries = queries();
    stage
        .until("series for every query of the dashboard", async |stage| {
            for query in &queries {
                stage.shows(query).await?;
            }
            Ok(())
        })
        .await;
    queries.len()
}
