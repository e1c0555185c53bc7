//! A Prometheus server: `PROMETHEUS`, which `cargo xtask alerts` sets.

use std::collections::BTreeMap;
use std::path::Path;

use kube::Client;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tests::process::Process;
use tests::wait::{self, LIMIT};

use crate::rules::Alerts;

/// The job of the `PodMonitor`.
const JOB: &str = "endpoint-controller-manager";

/// The server.
pub(crate) struct Prometheus {
    process: Process,
    client: Client,
    url: String,
}

/// How to scrape.
pub(crate) struct Scrape<'a> {
    /// `host:port` of each replica.
    pub(crate) targets: &'a [String],
    /// The bearer token.
    pub(crate) token: &'a str,
    /// The certificates that the replicas signed themselves.
    pub(crate) authorities: &'a str,
}

impl Prometheus {
    /// Starts the server with these alerts, and waits until it is ready.
    pub(crate) async fn start(folder: &Path, port: u16, alerts: &Alerts, scrape: &Scrape<'_>) -> Self {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            path.display().to_string()
        };
        let rules = write("rules.yaml", &alerts.rules);
        let token = write("prometheus.token", scrape.token);
        let authorities = write("replicas.crt", scrape.authorities);
        // As the two endpoints of the PodMonitor.
        let job = |name: &str, path: &str| {
            json!({
                "job_name": name, "metrics_path": path, "scheme": "https",
                "authorization": {"credentials_file": token},
                "tls_config": {"ca_file": authorities},
                "static_configs": [{"targets": scrape.targets, "labels": {"job": JOB, "metrics_path": path}}],
            })
        };
        let config = json!({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [rules],
            "scrape_configs": [job("metrics", "/metrics"), job("slis", "/metrics/slis")],
        });
        let config = write("prometheus.yaml", &config.to_string());
        let program =
            std::env::var_os("PROMETHEUS").expect("PROMETHEUS names the program: use cargo xtask alerts");
        let args = [
            format!("--config.file={config}"),
            format!("--storage.tsdb.path={}", folder.join("tsdb").display()),
            format!("--web.listen-address=127.0.0.1:{port}"),
            "--log.level=warn".to_owned(),
        ];
        let process = Process::start("prometheus", program.as_ref(), folder, args);
        let url = format!("http://127.0.0.1:{port}");
        let config = kube::Config::new(url.parse().expect("a URL"));
        let client = Client::try_from(config).expect("a client");
        let prometheus = Self { process, client, url };
        wait::until("Prometheus", LIMIT, async || prometheus.get("/-/ready").await).await;
        prometheus
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn alive(&mut self) -> Result<(), String> {
        self.process.alive()
    }

    async fn get(&self, path: &str) -> Result<String, String> {
        let request = http::Request::get(path).body(Vec::new()).expect("a request");
        self.client.request_text(request).await.map_err(|error| error.to_string())
    }

    async fn data(&self, path: &str) -> Result<Value, String> {
        let text = self.get(path).await?;
        let mut answer: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        Ok(answer["data"].take())
    }

    /// The series that a query returns now, with their values.
    ///
    /// # Errors
    /// If the query is wrong.
    pub(crate) async fn query(&self, query: &str) -> Result<Vec<Value>, String> {
        let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
        let mut data = self.data(&format!("/api/v1/query?query={query}")).await?;
        Ok(data["result"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    /// The alerts that are pending or firing, by name: the state that is further.
    pub(crate) async fn alerts(&self) -> Result<BTreeMap<String, String>, String> {
        let data = self.data("/api/v1/alerts").await?;
        let mut states = BTreeMap::<String, String>::new();
        for alert in data["alerts"].as_array().into_iter().flatten() {
            let name = alert["labels"]["alertname"].as_str().unwrap_or_default().to_owned();
            let state = alert["state"].as_str().unwrap_or_default();
            let known = states.entry(name).or_default();
            if known != "firing" {
                state.clone_into(known);
            }
        }
        Ok(states)
    }
}
