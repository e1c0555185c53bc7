//! The outcome of each step of a history.
//!
//! A step lasts from one entry of the workload to the next; the last one lasts until the end. Its outcome is the set of
//! writes of slices and Endpoints that were committed in it, by their content: without versions, uids and generated names,
//! and in any order.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Write as _};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method};
use k8s_openapi::api::core::v1::{EndpointAddress, Endpoints};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use random_operations::SERVICE_NAME;

use crate::decode::{decode, resource};
use crate::dice::fnv;

/// The outcomes of the steps, by the number of the entry with which each begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steps {
    current: usize,
    outcomes: BTreeMap<usize, u64>,
}

impl Steps {
    /// Begins a step.
    pub fn begin(&mut self, entry: usize) {
        self.current = entry;
    }

    /// Adds a committed write, from its answer.
    pub fn add(&mut self, change: &Change, headers: &HeaderMap, body: &Bytes) {
        let mut hash = Hash(fnv(0, change.method.as_str().as_bytes()));
        if change.method == Method::DELETE {
            hash.add(&(change.of_slices, &change.name));
        } else if change.of_slices {
            decode(headers, body).iter().for_each(|slice| add_slice(&mut hash, slice));
        } else {
            decode(headers, body).iter().for_each(|endpoints| add_endpoints(&mut hash, endpoints));
        }
        let outcome = self.outcomes.entry(self.current).or_default();
        // In any order.
        *outcome = outcome.wrapping_add(hash.0);
    }
}

/// A write of a slice or of Endpoints under way.
#[derive(Debug)]
pub struct Change {
    method: Method,
    of_slices: bool,
    name: String,
}

impl Change {
    /// The change that a request is; `None` for others.
    pub fn of(head: &Parts) -> Option<Self> {
        let path = head.uri.path();
        let of_slices = match resource(path) {
            "endpointslices" => true,
            "endpoints" => false,
            _ => return None,
        };
        if head.method == Method::GET {
            return None;
        }
        let name = path.rsplit('/').next().unwrap_or_default();
        // The end of a slice's name is random.
        let name = if of_slices { name.rsplit_once('-').map_or(name, |(name, _)| name) } else { name };
        Some(Self { method: head.method.clone(), of_slices, name: name.to_owned() })
    }
}

fn add_slice(hash: &mut Hash, slice: &EndpointSlice) {
    let service = slice.metadata.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME));
    hash.add(&(service, &slice.address_type, &slice.ports));
    for endpoint in slice.endpoints.iter().flatten() {
        let target = endpoint.target_ref.as_ref().and_then(|target| target.name.as_deref());
        hash.add(&(&endpoint.addresses, &endpoint.conditions, &endpoint.hostname, &endpoint.node_name));
        hash.add(&(&endpoint.zone, target));
    }
}

fn add_endpoints(hash: &mut Hash, endpoints: &Endpoints) {
    hash.add(&endpoints.metadata.name);
    let address = |hash: &mut Hash, address: &EndpointAddress| {
        let target = address.target_ref.as_ref().and_then(|target| target.name.as_deref());
        hash.add(&(&address.ip, &address.hostname, &address.node_name, target));
    };
    for subset in endpoints.subsets.iter().flatten() {
        hash.add(&subset.ports);
        subset.addresses.iter().flatten().for_each(|it| address(hash, it));
        hash.add(&"not ready");
        subset.not_ready_addresses.iter().flatten().for_each(|it| address(hash, it));
    }
}

/// A hash of what is written to it as text.
struct Hash(u64);

impl Hash {
    fn add(&mut self, part: &dyn Debug) {
        write!(self, "{part:?}").expect("a hash takes all");
    }
}

impl fmt::Write for Hash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = fnv(self.0, text.as_bytes());
        Ok(())
    }
}
