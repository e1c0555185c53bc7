//! `audit --proxy`: whether the rules of kube-proxy on this node are as the slices say.
//!
//! They are those of its mode `nftables`. kube-proxy knows of a failing watch or write no more than its log says, and its rules
//! serve on.

mod nft;
mod rules;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::audit::Wrong;
use endpoint_diagnostics::audit::proxy::{Frontend, frontends};
use tokio::time::sleep;

use self::rules::Rules;
use super::consumers::{ConsumerFindings, Suspects};
use crate::cluster::Cluster;
use crate::exit::{self, Failure};

/// The number of checks in which rules must be wrong, after the first.
const CHECKS: u32 = 4;
/// Rules that are wrong, right and wrong again are checked for longer.
const MAX_CHECKS: u32 = 2 * CHECKS;

/// The rules of both families; none where kube-proxy has no table.
struct Node {
    ip: Option<Rules>,
    ip6: Option<Rules>,
}

impl Node {
    async fn read() -> Result<Self, Failure> {
        let ip = nft::rules("ip").await.map_err(Failure::Access)?;
        let ip6 = nft::rules("ip6").await.map_err(Failure::Access)?;
        if ip.is_none() && ip6.is_none() {
            let missing =
                "kube-proxy has no table in nftables here: run this on a node where its mode is nftables";
            return Err(Failure::Access(missing.to_owned()));
        }
        Ok(Self { ip, ip6 })
    }

    /// The endpoints to which connections go; none where there is no table.
    fn targets(&self, frontend: &Frontend) -> Option<BTreeSet<SocketAddr>> {
        let rules = if frontend.address.is_ipv4() { &self.ip } else { &self.ip6 };
        rules.as_ref().map(|rules| rules.targets(frontend))
    }
}

/// Compares until nothing is wrong, or has been for the whole time. `snapshot` is the cluster as it was read last; its Services
/// and slices are read again for each further check.
///
/// # Errors
/// The rules or the cluster cannot be read.
pub(super) async fn check(
    timeout: Duration,
    cluster: &Cluster,
    snapshot: &Snapshot,
) -> Result<ConsumerFindings, Failure> {
    compare(timeout, cluster, snapshot, Node::read).await
}

async fn compare(
    timeout: Duration,
    cluster: &Cluster,
    snapshot: &Snapshot,
    read: impl AsyncFn() -> Result<Node, Failure>,
) -> Result<ConsumerFindings, Failure> {
    let mut asked = ConsumerFindings::default();
    let mut suspects = Suspects::new(timeout);
    let node = read().await?;
    let mut without_table = 0;
    for (key, expected) in frontends(snapshot) {
        match node.targets(&key.1) {
            Some(found) => suspects.add(key, Wrong::new(&found, &expected)),
            None => without_table += 1,
        }
    }
    if without_table > 0 {
        asked.is_incomplete = true;
        exit::note(&format!(
            "Note: {without_table} ports of Services are not compared: kube-proxy has no table of their family here"
        ));
    }
    let mut last = None;
    for _ in 0..MAX_CHECKS {
        if suspects.open() == 0 {
            break;
        }
        sleep(timeout / CHECKS).await;
        let expected = frontends(last.insert(cluster.read_slices().await?));
        let node = read().await?;
        suspects.retain(|key| expected.contains_key(key));
        for (key, expected) in &expected {
            let Some(found) = node.targets(&key.1) else { continue };
            suspects.check_again(key, |before| before.and(&found, expected));
        }
    }
    // Their table is gone.
    asked.is_incomplete |= suspects.open() > 0;
    let snapshot = last.as_ref().unwrap_or(snapshot);
    for ((service, frontend), wrong, time) in suspects.confirmed() {
        asked.findings.push(wrong.finding(service, frontend, time));
        asked.touch(wrong.touches(service, snapshot));
    }
    Ok(asked)
}

#[cfg(test)]
mod tests;
