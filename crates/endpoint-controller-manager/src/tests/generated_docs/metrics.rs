//! `docs/reference/metrics.md`, collected from the pages of a running program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use kube_api::{ApiClient, Encoding, connect};
use scripted_api::mutual_tls::Authority;
use serde_json::json;

use super::{REFRESH, api_server, assert_current};
use crate::logging::Logs;
use crate::manager::{self, ProcessContext};
use crate::options;
use crate::runtimes::{Handles, Runtimes};
use crate::shadow;
use crate::signals::{Approvals, StopSignals};
use crate::version::KUBERNETES;

/// For everything to have happened once that a metric counts.
const LIMIT: Duration = Duration::from_secs(60);
/// Metrics that appear last, when what they count has happened.
const LAST: [&str; 4] = [
    "leader_election_slowpath_total{",
    "rest_client_request_retries_total{",
    "endpoint_slice_controller_changes{",
    "endpoint_slice_mirroring_controller_changes{",
];

#[derive(Default)]
struct Metric {
    kind: String,
    labels: BTreeSet<String>,
}

/// Metrics of a page in the text format, by name.
fn parse(text: &str) -> BTreeMap<String, Metric> {
    let mut metrics = BTreeMap::<String, Metric>::new();
    let mut name = String::new();
    for line in text.lines() {
        let words = |prefix| line.strip_prefix(prefix)?.split_once(' ');
        if let Some((metric, kind)) = words("# TYPE ") {
            name = metric.to_owned();
            metrics.entry(name.clone()).or_default().kind = kind.to_owned();
        } else if let Some((_, labels)) = line.split_once('{') {
            let labels =
                labels.split("\",").filter_map(|label| label.split_once('=')).map(|(label, _)| label);
            metrics.entry(name.clone()).or_default().labels.extend(labels.map(str::to_owned));
        }
    }
    metrics
}

/// Metrics with their labels and types, a line each.
fn list(text: &str) -> String {
    let line = |(name, metric): (String, Metric)| {
        let labels: Vec<&str> =
            metric.labels.iter().map(String::as_str).filter(|label| *label != "le").collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        format!("{name}{labels} {}\n", metric.kind)
    };
    let list: String = parse(text).into_iter().map(line).collect();
    format!("```text\n{list}```\n")
}

fn document(metrics: &str, slis: &str) -> String {
    let release = &KUBERNETES[1..];
    format!(
        "# Metrics\n\n\
         Generated from the program by `{REFRESH}`.\n\n\
         Names, types, labels and buckets are those of kube-controller-manager {release} wherever it has the metric; `# HELP` of the page\n\
         describes each. A metric with labels appears with its first series; those of `deferred_writes` need the feature gate\n\
         `EndpointSliceCoalescing`, those of `kubelet_disruption` `EndpointsKeepReadyOnDisruption`, and\n\
         `rest_client_certificate_expiration_seconds` a kubeconfig with a client certificate.\n\n\
         ## From a change to its write\n\n\
         `change_write_duration_seconds` is for a service level objective. It begins when the cache's handler queues a key for a change,\n\
         deletions included, and ends when a sync that had something to write has succeeded; the oldest change counts. It includes\n\
         batching, queueing, the client's rate limit, the API server and all retries, but not the way of the event from the API server.\n\n\
         `oldest_unwritten_change_age_seconds` is computed at the scrape. What a broken watch has not delivered has no age:\n\
         `list_watch_failures_total` and `list_watch_gaps_total` show that.\n\n\
         ## `/metrics`\n\n{}\n## `/metrics/slis`\n\n{}\n## `/metrics` of `shadow`\n\n\
         [`shadow`](../operate/shadow.md) has these as well.\n\n{}",
        list(metrics),
        list(slis),
        list(&shadow::metrics_page())
    )
}

/// A kubeconfig with a client certificate.
fn kubeconfig(directory: &str) -> String {
    let identity = Authority::new("clients").client();
    for (name, pem) in [("client.crt", &identity.certificate_pem), ("client.key", &identity.key_pem)] {
        fs::write(format!("{directory}/{name}"), pem).unwrap();
    }
    let user = json!({"client-certificate": "client.crt", "client-key": "client.key"});
    let kubeconfig = json!({
        "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1"}}],
        "users": [{"name": "a", "user": user}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    });
    let path = format!("{directory}/kubeconfig");
    fs::write(&path, kubeconfig.to_string()).unwrap();
    path
}

/// A command line for all controllers and an election, whose pages need no credentials.
fn command_line(certificates: &str, port: u16) -> Vec<String> {
    [
        format!("--kubeconfig={}", kubeconfig(certificates)),
        "--kube-api-content-type=application/json".to_owned(),
        "--leader-elect-retry-period=100ms".to_owned(),
        "--feature-gates=EndpointSliceCoalescing=true,EndpointsKeepReadyOnDisruption=true".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--cert-dir={certificates}"),
        "--authentication-skip-lookup".to_owned(),
        "--authorization-always-allow-paths=/metrics,/metrics/slis,/readyz".to_owned(),
    ]
    .to_vec()
}

/// Scrapes both pages once every metric is there.
async fn scrape(certificates: &str, port: u16) -> (String, String) {
    let mut config = kube::Config::new(format!("https://127.0.0.1:{port}").parse().unwrap());
    config.root_cert_file = Some(format!("{certificates}/endpoint-controller-manager.crt").into());
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        // The certificate is not there at first.
        let Ok(connection) = connect(&config) else { continue };
        let client = ApiClient::new(connection, Encoding::Json, "test");
        let get =
            async |path| client.get_raw(path).await.map(|page| String::from_utf8_lossy(&page).into_owned());
        let (Ok(_), Ok(metrics), Ok(slis)) =
            (get("/readyz").await, get("/metrics").await, get("/metrics/slis").await)
        else {
            continue;
        };
        if LAST.iter().all(|name| metrics.contains(name)) {
            return (metrics, slis);
        }
    }
}

#[test]
fn metrics_md_is_current() {
    let api: http::Uri = api_server::start().parse().unwrap();
    let certificates = tempfile::tempdir().unwrap();
    let certificates = certificates.path().to_str().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let words = command_line(certificates, port);
    let config = options::parse(words).unwrap();
    let logs = Logs::to(std::io::sink(), 1);
    let (metrics, slis) = Runtimes::start().unwrap().run(async |handles: Handles| {
        let context = ProcessContext {
            handles,
            // The server has no TLS, for which no certificate would be read.
            connect: Arc::new(move |config: &kube::Config| {
                let mut config = config.clone();
                config.cluster_url = api.clone();
                connect(&config)
            }),
            logs: Some(logs.dropped()),
            metrics: None,
            controller_states: None,
            shadow: None,
            approvals: Approvals::default(),
        };
        let stop = StopSignals::listen().unwrap();
        tokio::select! {
            ended = manager::run(config, context, stop) => panic!("{ended:?}"),
            pages = scrape(certificates, port) => pages,
            () = tokio::time::sleep(LIMIT) => panic!("{LAST:?} have not appeared"),
        }
    });
    assert_current("metrics.md", &document(&metrics, &slis));
}
