//! `audit --dns`: whether DNS servers answer for headless Services as their slices say.
//!
//! Questions go over TCP, which `kubectl port-forward` forwards, and in which answers are not cut off at 512 bytes.

mod client;
mod server;

use std::net::SocketAddr;

use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::audit::dns::headless_services;
use endpoint_diagnostics::traffic::is_ready;
use futures::future::join_all;
use tokio::time::sleep;

use self::server::Server;
use super::command::Dns;
use super::consumers::ConsumerFindings;
use crate::cluster::Cluster;
use crate::exit::{self, Failure};

/// The number of checks in which an answer must be wrong, after the first.
const CHECKS: u32 = 8;
/// The most checks: some answers may fail.
const MAX_CHECKS: u32 = 2 * CHECKS;
const DNS_PORT: u16 = 53;

/// Asks the servers until nothing is wrong, or has been for the whole time. `snapshot` is the cluster as it was read last; its
/// Services and slices are read again for each further check.
///
/// Cost: two questions for each headless Service and server, all servers at the same time; at most five minutes for each check.
///
/// # Errors
/// There is no server, none answers, or the cluster cannot be read again.
pub(super) async fn check(
    dns: &Dns,
    cluster: &Cluster,
    snapshot: &Snapshot,
) -> Result<ConsumerFindings, Failure> {
    let addresses = if dns.servers.is_empty() { servers(snapshot)? } else { dns.servers.clone() };
    let mut servers: Vec<Server> =
        addresses.into_iter().map(|address| Server::new(address, dns.timeout)).collect();
    let services = headless_services(snapshot);
    join_all(servers.iter_mut().map(|server| server.check_first(&dns.domain, &services))).await;
    if let Some(first) = servers.first().filter(|_| servers.iter().all(Server::is_silent)) {
        return Err(Failure::Access(format!(
            "none of {} DNS servers answers: {first}; run this in a pod, or forward a port and name it by --dns-server",
            servers.len()
        )));
    }
    let mut last = None;
    for _ in 0..MAX_CHECKS {
        if !servers.iter().any(Server::is_open) {
            break;
        }
        sleep(dns.timeout / CHECKS).await;
        let services = headless_services(last.insert(cluster.read_slices().await?));
        join_all(servers.iter_mut().map(|server| server.check_again(&dns.domain, &services))).await;
    }
    servers.iter().filter_map(Server::note).for_each(|note| exit::note(&note));
    let is_incomplete = servers.iter().any(|server| server.note().is_some());
    let findings = servers.iter().flat_map(Server::findings).collect();
    let mut asked = ConsumerFindings { findings, is_incomplete, ..ConsumerFindings::default() };
    let snapshot = last.as_ref().unwrap_or(snapshot);
    for server in &servers {
        asked.touch(server.touches(snapshot));
    }
    Ok(asked)
}

/// The servers of a cluster: the ready endpoints of the Service `kube-system/kube-dns`. By convention kubelets' `--cluster-dns` is
/// its cluster IP, whichever server it is.
fn servers(snapshot: &Snapshot) -> Result<Vec<SocketAddr>, Failure> {
    let slices =
        snapshot.namespace("kube-system").into_iter().flat_map(|objects| objects.slices_of("kube-dns"));
    let mut servers = Vec::new();
    for slice in slices {
        let mut ports = slice.ports.iter().flatten();
        let tcp = ports.find(|port| port.name.as_deref() == Some("dns-tcp"));
        let port = tcp.and_then(|port| u16::try_from(port.port?).ok()).unwrap_or(DNS_PORT);
        let ready = slice.endpoints.iter().flatten().filter(|endpoint| is_ready(endpoint));
        let addresses = ready.filter_map(|endpoint| endpoint.addresses.first()?.parse().ok());
        servers.extend(addresses.map(|address| SocketAddr::new(address, port)));
    }
    if servers.is_empty() {
        let missing = "the Service kube-system/kube-dns has no ready endpoints; name a DNS server by --dns-server=IP:PORT";
        return Err(Failure::Input(missing.to_owned()));
    }
    Ok(servers)
}

#[cfg(test)]
mod tests;
