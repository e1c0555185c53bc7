//! Answers of DNS servers about headless Services, compared with the slices that the servers read.
//!
//! CoreDNS's plugin `kubernetes` answers for a headless Service with the ready addresses of all slices that name it, whoever
//! manages them. A server whose watch has died, or that misses events, goes on answering with those of earlier slices, and nothing
//! in the API shows it (cilium/cilium#48050 is the like of another consumer).
//!
//! Servers and clients cache answers, so that one proves less than that of another consumer.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpointslice::model::ServiceType;

use super::finding::{Finding, Severity};
use super::object::{ObjectRef, Subject};
use super::wrong::Wrong;
use crate::snapshot::Snapshot;
use crate::traffic::is_ready;

/// The id of the findings. No rule of [`rules`](super::rules) has it: it needs answers as well as the objects.
pub const DNS_OUT_OF_SYNC: &str = "dns-out-of-sync";

/// The addresses by which a DNS server should answer for each headless Service of a snapshot, by Service. Those with slices of
/// domain names are left out, because servers answer with what they resolve to.
///
/// Cost: linear in Services, slices and endpoints.
pub fn headless_services(snapshot: &Snapshot) -> Vec<(ObjectKey, BTreeSet<IpAddr>)> {
    let namespaces = snapshot.by_namespace();
    let services = namespaces.flat_map(|(_, objects)| objects.services().map(move |entry| (objects, entry)));
    let headless = services.filter(|(_, entry)| {
        let service = &entry.service;
        service.is_headless() && service.service_type != ServiceType::ExternalName && !service.deleting
    });
    headless
        .filter(|(objects, entry)| {
            objects.slices_of(&entry.service.name).all(|slice| slice.address_type != "FQDN")
        })
        .map(|(objects, entry)| {
            let slices = objects.slices_of(&entry.service.name);
            let endpoints = slices.flat_map(|slice| slice.endpoints.iter().flatten());
            let addresses =
                endpoints.filter(|endpoint| is_ready(endpoint)).flat_map(|endpoint| &endpoint.addresses);
            (entry.key(), addresses.filter_map(|address| address.parse().ok()).collect())
        })
        .collect()
}

impl Wrong<IpAddr> {
    /// The finding that this server has answered so for a time.
    pub fn finding(&self, service: &ObjectKey, server: &str, time: Duration) -> Finding {
        let has = ["has answered", "which no slice has as ready"];
        let lacks = ["has not answered", "which slices have as ready"];
        let message = format!("For {} s, DNS server {server} {}", time.as_secs(), self.clauses(has, lacks));
        let object = ObjectRef::new(Subject::Service, &service.namespace, &service.name);
        let remedy = "See whether the log of the server tells of failing requests to the API server; restart it. If only \
                      some Services are concerned, it misses events of slices: report it to its project; --touch sends \
                      their slices again";
        Finding { rule: DNS_OUT_OF_SYNC, ..Finding::new(Severity::Error, object, message, remedy) }
    }
}
