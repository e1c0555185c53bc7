//! Clusters of any size within seconds: objects are written directly into etcd.

use std::time::Duration;

use super::{Cluster, ClusterOptions};
use crate::{binaries, process};

/// The objects of a cluster.
#[derive(Debug, Clone)]
pub struct Seed {
    /// Services, each with one port and IPv4 only.
    pub services: u32,
    /// Pods of each.
    pub pods: u32,
    /// Nodes on which they run.
    pub nodes: u32,
    /// Namespaces of the Services.
    pub namespaces: u32,
    /// Further pods, which are not endpoints.
    pub bystanders: u32,
    /// The time that it may take.
    pub limit: Duration,
}

impl Default for Seed {
    fn default() -> Self {
        Self {
            services: 100,
            pods: 10,
            nodes: 10,
            namespaces: 1,
            bystanders: 0,
            limit: Duration::from_secs(60),
        }
    }
}

impl Cluster {
    /// Starts a cluster with these objects, and none that a controller makes.
    pub async fn seeded(seed: &Seed) -> Self {
        let program = binaries::servers().etcd().with_file_name("seed");
        assert!(program.is_file(), "the seed command is not there: install Go and run hack/testenv/build");
        let mut cluster = Self::start(ClusterOptions {
            // The cluster IPs of the seeded Services are in this range.
            service_cluster_ip_range: "10.0.0.0/12".to_owned(),
            ..ClusterOptions::default()
        })
        .await;
        // Its caches begin with all objects in them, for both programs alike.
        cluster.stop_apiserver();
        let args = [
            format!("--etcd={}", cluster.etcd_url()),
            format!("--services={}", seed.services),
            format!("--pods-per-service={}", seed.pods),
            format!("--nodes={}", seed.nodes),
            format!("--namespaces={}", seed.namespaces),
            format!("--bystanders={}", seed.bystanders),
        ];
        let args = args.each_ref().map(String::as_str);
        let output = process::output(&program, &args, seed.limit);
        assert!(output.status.success(), "seeding: {}", String::from_utf8_lossy(&output.stderr));
        cluster.start_apiserver().await;
        cluster
    }
}
