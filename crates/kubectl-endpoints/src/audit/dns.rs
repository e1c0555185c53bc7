//! `audit --dns`: whether DNS servers answer for headless Services as their slices say.
//!
//! Questions go over TCP, which `kubectl port-forward` forwards and answers of any length fit in.

mod client;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::Snapshot;
use endpoint_diagnostics::audit::Finding;
use endpoint_diagnostics::audit::dns::{Wrong, headless_services};
use futures::future::join_all;
use tokio::time::{Instant, sleep};

use self::client::Client;
use super::command::Dns;
use crate::cluster::Cluster;
use crate::exit::{self, Failure};

/// The number of looks after the first.
const LOOKS: u32 = 8;
const DNS_PORT: u16 = 53;

/// What a server has answered wrongly at every look, by Service.
type Suspects = BTreeMap<ObjectKey, Wrong>;

/// Asks the servers until nothing is wrong, or has been for the whole time. `snapshot` is the cluster as it was read last; it is
/// read again for each further look.
///
/// # Errors
/// There is no server, none can be asked, or the cluster cannot be read again.
pub(super) async fn check(
    dns: &Dns,
    cluster: &Cluster,
    snapshot: &Snapshot,
) -> Result<Vec<Finding>, Failure> {
    let servers = if dns.servers.is_empty() { servers(snapshot)? } else { dns.servers.clone() };
    let start = Instant::now();
    let services = headless_services(snapshot);
    let answers = join_all(servers.iter().map(|server| ask(*server, &dns.domain, &services, None))).await;
    let mut wrong: Vec<(SocketAddr, Suspects)> = Vec::new();
    for (server, suspects) in servers.into_iter().zip(answers) {
        match suspects {
            Ok(suspects) => wrong.push((server, suspects)),
            Err(error) => exit::note(&format!("Note: DNS server {server} is not compared: {error}")),
        }
    }
    if wrong.is_empty() {
        return Err(Failure::Access(
            "no DNS server could be asked; is this a pod, or a port forwarded?".to_owned(),
        ));
    }
    while wrong.iter().any(|(_, suspects)| !suspects.is_empty()) && start.elapsed() < dns.timeout {
        sleep(dns.timeout / LOOKS).await;
        let services = headless_services(&cluster.read().await?);
        for (server, suspects) in wrong.iter_mut().filter(|(_, suspects)| !suspects.is_empty()) {
            match ask(*server, &dns.domain, &services, Some(&*suspects)).await {
                Ok(still) => *suspects = still,
                // One that is being replaced.
                Err(error) => {
                    suspects.clear();
                    exit::note(&format!("Note: DNS server {server} is not compared: {error}"));
                }
            }
        }
    }
    let time = start.elapsed();
    let findings = wrong.iter().flat_map(|(server, suspects)| {
        suspects.iter().map(move |(service, wrong)| wrong.finding(service, &server.to_string(), time))
    });
    Ok(findings.collect())
}

/// The servers of a cluster: the ready endpoints of the Service `kube-system/kube-dns`, which kubelets' `--cluster-dns` is by
/// convention, whichever server it is.
fn servers(snapshot: &Snapshot) -> Result<Vec<SocketAddr>, Failure> {
    let slices =
        snapshot.namespace("kube-system").into_iter().flat_map(|objects| objects.slices_of("kube-dns"));
    let mut servers = Vec::new();
    for slice in slices {
        let tcp =
            slice.ports.iter().flatten().find(|port| {
                port.protocol.as_deref() == Some("TCP") && port.name.as_deref() == Some("dns-tcp")
            });
        let port = tcp.and_then(|port| u16::try_from(port.port?).ok()).unwrap_or(DNS_PORT);
        let ready = slice.endpoints.iter().flatten().filter(|endpoint| {
            endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) != Some(false)
        });
        let addresses = ready.filter_map(|endpoint| endpoint.addresses.first()?.parse().ok());
        servers.extend(addresses.map(|address| SocketAddr::new(address, port)));
    }
    if servers.is_empty() {
        let missing = "the Service kube-system/kube-dns has no ready endpoints; name a DNS server by --dns-server=IP:PORT";
        return Err(Failure::Input(missing.to_owned()));
    }
    Ok(servers)
}

/// One look at one server: at all Services, or at those that were wrong before.
async fn ask(
    server: SocketAddr,
    domain: &str,
    services: &[(ObjectKey, BTreeSet<IpAddr>)],
    before: Option<&Suspects>,
) -> Result<Suspects, String> {
    let mut client = Client::connect(server).await?;
    if before.is_none() {
        check_domain(&mut client, domain).await?;
    }
    let mut suspects = Suspects::new();
    for (key, expected) in services {
        let earlier = before.map(|before| before.get(key));
        if earlier == Some(None) {
            continue;
        }
        let name = format!("{}.{}.svc.{domain}", key.name, key.namespace);
        let answered = client.addresses(&name).await.map_err(|error| format!("{name}: {error}"))?;
        let wrong = match earlier.flatten() {
            Some(earlier) => earlier.clone().and(&answered, expected),
            None => Wrong::new(&answered, expected),
        };
        if let (Some(wrong), Entry::Vacant(entry)) = (wrong, suspects.entry(key.clone())) {
            entry.insert(wrong);
        }
    }
    Ok(suspects)
}

/// Asks for a name that each cluster has: of a wrong domain, every answer would be wrong.
async fn check_domain(client: &mut Client, domain: &str) -> Result<(), String> {
    let name = format!("kubernetes.default.svc.{domain}");
    match client.addresses(&name).await {
        Ok(addresses) if addresses.is_empty() => {
            Err(format!("it does not know {name}; is --cluster-domain right?"))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

#[cfg(test)]
mod tests;
