//! Answers of DNS servers about headless Services, compared with the slices that the servers read.
//!
//! CoreDNS's plugin `kubernetes` answers for a headless Service with the ready addresses of all slices that name it, whoever
//! manages them. A server whose watch has died, or that misses events, goes on answering with those of earlier slices, and nothing
//! in the API shows it (cilium/cilium#48050 is the like of another consumer).
//!
//! A slice takes a moment to a server, and servers and clients cache answers, so that one answer proves nothing. [`Wrong`] has
//! the addresses that are wrong in each of several answers.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpointslice::model::ServiceType;

use super::finding::{Finding, Severity};
use super::object::{ObjectRef, Subject};
use crate::snapshot::Snapshot;

/// The id of the findings. No rule of [`rules`](super::rules) has it: it needs answers beside the objects.
pub const DNS_OUT_OF_SYNC: &str = "dns-out-of-sync";

/// The most addresses that a message names.
const NAMED: usize = 3;

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
            let ready = endpoints.filter(|endpoint| {
                endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) != Some(false)
            });
            let addresses = ready.flat_map(|endpoint| &endpoint.addresses);
            (entry.key(), addresses.filter_map(|address| address.parse().ok()).collect())
        })
        .collect()
}

/// The addresses that every answer of a DNS server for one Service has had wrong so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Addresses in all answers, which no slice has had.
    surplus: BTreeSet<IpAddr>,
    /// Addresses that slices have had all the time, and no answer.
    missing: BTreeSet<IpAddr>,
}

impl Wrong {
    /// The difference at the first look; `None` if there is none.
    pub fn new(answered: &BTreeSet<IpAddr>, expected: &BTreeSet<IpAddr>) -> Option<Self> {
        let surplus = answered.difference(expected).copied().collect();
        let missing = expected.difference(answered).copied().collect();
        Self { surplus, missing }.unless_empty()
    }

    /// The addresses that another answer has wrong, too; `None` if there are none.
    #[must_use]
    pub fn and(mut self, answered: &BTreeSet<IpAddr>, expected: &BTreeSet<IpAddr>) -> Option<Self> {
        self.surplus.retain(|address| answered.contains(address) && !expected.contains(address));
        self.missing.retain(|address| expected.contains(address) && !answered.contains(address));
        self.unless_empty()
    }

    fn unless_empty(self) -> Option<Self> {
        (!self.surplus.is_empty() || !self.missing.is_empty()).then_some(self)
    }

    /// The finding that this server has answered so for a time.
    pub fn finding(&self, service: &ObjectKey, server: &str, time: Duration) -> Finding {
        let mut message = format!("For {} s, DNS server {server}", time.as_secs());
        let sides = [
            ("has answered", &self.surplus, "which no slice has as ready"),
            ("has not answered", &self.missing, "which slices have as ready"),
        ];
        let sides = sides.into_iter().filter(|(_, addresses, _)| !addresses.is_empty());
        for (index, (what, addresses, why)) in sides.enumerate() {
            let and = if index > 0 { ", and" } else { "" };
            // Writing to a String does not fail.
            let _ = write!(message, "{and} {what} {}, {why}", named(addresses));
        }
        let object = ObjectRef::new(Subject::Service, &service.namespace, &service.name);
        let remedy = "See whether the log of the server tells of failing requests to the API server; restart it. If only \
                      some Services are concerned, it misses events of slices: report it to its project";
        Finding::new(DNS_OUT_OF_SYNC, Severity::Error, object, message, remedy)
    }
}

fn named(addresses: &BTreeSet<IpAddr>) -> String {
    let names: Vec<String> = addresses.iter().take(NAMED).map(ToString::to_string).collect();
    let more = addresses.len().saturating_sub(NAMED);
    if more == 0 { names.join(", ") } else { format!("{} and {more} more", names.join(", ")) }
}
