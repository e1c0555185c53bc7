//! `EndpointSlices` and Endpoints without the parts that may differ between two runs of the same workload.
//!
//! Names, uids, resource versions and times always differ. The distribution of endpoints over the slices of a group is
//! random upstream, so a group (Service, family, manager, port list) is compared as the union of its endpoints and the
//! multiset of its slices. If it has several slices, the one that a change of an endpoint wrote, and stamped with the
//! time of the change, is left out as well. The order of ports is kept: it is deterministic, and clients may rely on
//! it. In Endpoints the order of subsets and addresses depends on uids, and is left out.
//!
//! The form is a sorted multiset of lines. Each line fully describes one endpoint, one slice or one Endpoints object, so
//! equality is equality of text, and a difference is readable.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write as _};

use k8s_openapi::api::core::v1::{EndpointAddress, Endpoints, ObjectReference, Pod, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use crate::manager::Controller;
use crate::release::Release;
use crate::scenario;

const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
/// Labels that the Endpoints controller sets itself.
const RESERVED: [&str; 2] = ["endpoints.kubernetes.io/managed-by", "service.kubernetes.io/headless"];
pub(crate) use random_operations::{MANAGED_BY, SERVICE_NAME};
pub(crate) const MIRRORED: &str = "endpointslicemirroring-controller.k8s.io";

/// The extent to which a workload determines the slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything: the controller saw each change before the next was made.
    Exact,
    /// Only endpoints and labels: the batching of changes decides the sizes of slices and the trigger times.
    Content,
}

/// The objects of a cluster that the form refers to instead of naming their uids.
#[derive(Debug, Clone)]
pub struct Snapshot {
    slices: Vec<EndpointSlice>,
    endpoints: Vec<Endpoints>,
    services: HashMap<(String, String), ObjectMeta>,
    pods: HashMap<(String, String), ObjectMeta>,
    release: Release,
}

impl Snapshot {
    /// Reads the slices and Endpoints of a namespace and the objects that they refer to.
    pub async fn take(client: &Client, namespace: &str) -> Self {
        let all = ListParams::default();
        let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), namespace);
        let endpoints: Api<Endpoints> = Api::namespaced(client.clone(), namespace);
        let services: Api<Service> = Api::namespaced(client.clone(), namespace);
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let key = |meta: &ObjectMeta| {
            (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default())
        };
        let services = services.list_metadata(&all).await.expect("listing Services").items;
        let pods = pods.list_metadata(&all).await.expect("listing pods").items;
        Self {
            slices: slices.list(&all).await.expect("listing slices").items,
            endpoints: endpoints.list(&all).await.expect("listing Endpoints").items,
            services: services
                .into_iter()
                .map(|service| (key(&service.metadata), service.metadata))
                .collect(),
            release: Release::of(client).await,
            pods: pods.into_iter().map(|pod| (key(&pod.metadata), pod.metadata)).collect(),
        }
    }

    /// The release of the cluster.
    pub(crate) fn release(&self) -> Release {
        self.release
    }

    /// Drops the objects that only controllers other than these can have made.
    pub(crate) fn of(&self, controllers: &[Controller]) -> Self {
        let mut own = self.clone();
        if !controllers.contains(&Controller::Endpoints) {
            own.endpoints.clear();
        }
        if !controllers.contains(&Controller::EndpointSliceMirroring) {
            own.slices.retain(|slice| !is_mirrored(&slice.metadata));
        }
        own
    }

    /// Drops the times of the last change, which upstream does not determine, and the random names of slices whose
    /// Service is gone.
    #[must_use]
    pub fn without_times_and_lost_names(mut self) -> Self {
        for slice in &mut self.slices {
            if !slice.labels().contains_key(SERVICE_NAME) {
                slice.metadata.name = Some("lost".to_owned());
            }
        }
        let slices = self.slices.iter_mut().map(|slice| &mut slice.metadata);
        let endpoints = self.endpoints.iter_mut().map(|endpoints| &mut endpoints.metadata);
        for meta in slices.chain(endpoints) {
            meta.annotations.get_or_insert_default().remove(TRIGGER_TIME);
        }
        self
    }

    /// Drops the times of the last change from what belongs to these Services.
    #[must_use]
    pub(crate) fn without_times_of(mut self, services: &[&str]) -> Self {
        let slices = self.slices.iter_mut().map(|slice| {
            let service = slice.labels().get(SERVICE_NAME).cloned().unwrap_or_default();
            (service, &mut slice.metadata)
        });
        let endpoints =
            self.endpoints.iter_mut().map(|endpoints| (endpoints.name_any(), &mut endpoints.metadata));
        for (_, meta) in slices.chain(endpoints).filter(|(service, _)| services.contains(&&**service)) {
            meta.annotations.get_or_insert_default().remove(TRIGGER_TIME);
        }
        self
    }

    /// The canonical form.
    pub fn canonical(&self, detail: Detail) -> Canonical {
        let mut canonical = Canonical::default();
        let mut group_sizes: HashMap<String, usize> = HashMap::new();
        for slice in &self.slices {
            *group_sizes.entry(self.group(slice)).or_default() += 1;
        }
        for slice in &self.slices {
            let group = self.group(slice);
            for endpoint in slice.endpoints.iter().flatten() {
                canonical.add(format!("{group} {}", self.endpoint(endpoint)));
            }
            match detail {
                Detail::Exact => {
                    let size = slice.endpoints.iter().flatten().count();
                    canonical.add(format!("{group} slice of {size}"));
                    let is_rewritten = self.release.rewrites_slices_without_ports()
                        && slice.ports.as_ref().is_none_or(Vec::is_empty);
                    let stamped = group_sizes.get(&group) == Some(&1) && !is_rewritten;
                    canonical.add(format!("{group} slice {}", self.metadata(&slice.metadata, stamped)));
                }
                Detail::Content => {
                    let labels = map(slice.labels());
                    canonical.lines.insert(format!("{group} slices labels={labels}"), 1);
                }
            }
        }
        for endpoints in &self.endpoints {
            self.add_endpoints(&mut canonical, endpoints, detail);
        }
        canonical
    }

    /// Service, family, manager and ports; a slice without a Service is a group under its own name.
    fn group(&self, slice: &EndpointSlice) -> String {
        let ports = self.join(slice.ports.iter().flatten().map(port));
        let service = slice.labels().get(SERVICE_NAME).cloned().unwrap_or_else(|| slice.name_any());
        let namespace = slice.namespace().unwrap_or_default();
        let mirrored = if is_mirrored(&slice.metadata) { " mirrored" } else { "" };
        format!("{namespace}/{service} {}{mirrored} [{ports}]", slice.address_type)
    }

    /// The ports of an object.
    fn join(&self, ports: impl Iterator<Item = String>) -> String {
        let mut ports: Vec<String> = ports.collect();
        if self.release.has_other_order() {
            ports.sort_unstable();
        }
        ports.join(" ")
    }

    /// Endpoints are one object: their metadata is as determined as their addresses.
    fn add_endpoints(&self, canonical: &mut Canonical, endpoints: &Endpoints, detail: Detail) {
        let meta = &endpoints.metadata;
        let group = format!("{}/{} Endpoints []", optional(meta.namespace.as_ref()), endpoints.name_any());
        for subset in endpoints.subsets.iter().flatten() {
            let ports = self.join(subset.ports.iter().flatten().map(endpoints_port));
            for (ready, addresses) in [(true, &subset.addresses), (false, &subset.not_ready_addresses)] {
                for address in addresses.iter().flatten() {
                    canonical
                        .add(format!("{group} endpoint [{ports}] ready={ready} {}", self.address(address)));
                }
            }
        }
        let labels = map(endpoints.labels());
        match detail {
            Detail::Exact => {
                let metadata = self.metadata(meta, !self.is_written_at_every_sync(meta));
                canonical.add(format!("{group} endpoint labels and annotations {metadata}"));
            }
            Detail::Content => canonical.add(format!("{group} endpoint labels={labels}")),
        }
    }

    /// True if upstream writes these Endpoints at every sync, if only to remove the time of the last change.
    fn is_written_at_every_sync(&self, meta: &ObjectMeta) -> bool {
        let has =
            |map: Option<&BTreeMap<String, String>>, key: &str| map.is_some_and(|map| map.contains_key(key));
        // That of the same name, whatever Service a label names.
        let key = (meta.namespace.clone().unwrap_or_default(), meta.name.clone().unwrap_or_default());
        let labels = self.services.get(&key).and_then(|service| service.labels.as_ref());
        has(meta.annotations.as_ref(), OVER_CAPACITY) || RESERVED.iter().any(|key| has(labels, key))
    }

    fn address(&self, address: &EndpointAddress) -> String {
        let node = optional(address.node_name.as_ref());
        let mut line = format!("{} node={node} hostname={}", address.ip, optional(address.hostname.as_ref()));
        if let Some(target) = &address.target_ref {
            self.add_target(&mut line, target);
        }
        line
    }

    /// Violations of invariants that hold for slices of every controller: a slice over the maximum, an endpoint twice.
    pub fn violations(&self, max_endpoints_per_slice: usize) -> Vec<String> {
        let mut violations = Vec::new();
        for slice in &self.slices {
            let size = slice.endpoints.iter().flatten().count();
            if size > max_endpoints_per_slice {
                violations.push(format!("{} has {size} endpoints", slice.name_any()));
            }
        }
        // Endpoints that a user writes may break these rules.
        let slices = Self { endpoints: Vec::new(), ..self.clone() };
        let twice = slices.canonical(Detail::Content).lines.into_iter().filter(|(_, count)| *count > 1);
        violations.extend(twice.map(|(line, count)| format!("{count} times: {line}")));
        violations
    }

    fn endpoint(&self, endpoint: &Endpoint) -> String {
        let mut addresses = endpoint.addresses.clone();
        addresses.sort();
        let mut line = format!("endpoint {}", addresses.join(","));
        let conditions = endpoint.conditions.clone().unwrap_or_default();
        for (name, value) in [
            ("ready", conditions.ready),
            ("serving", conditions.serving),
            ("terminating", conditions.terminating),
        ] {
            write!(line, " {name}={}", optional(value)).unwrap();
        }
        write!(
            line,
            " node={} zone={}",
            optional(endpoint.node_name.as_ref()),
            optional(endpoint.zone.as_ref())
        )
        .unwrap();
        write!(line, " hostname={}", optional(endpoint.hostname.as_ref())).unwrap();
        if let Some(target) = &endpoint.target_ref {
            self.add_target(&mut line, target);
        }
        if let Some(hints) = &endpoint.hints {
            write!(line, " hints={}", serde_json::to_string(hints).unwrap()).unwrap();
        }
        if let Some(topology) = &endpoint.deprecated_topology {
            write!(line, " deprecatedTopology={}", map(topology)).unwrap();
        }
        line
    }

    fn add_target(&self, line: &mut String, target: &ObjectReference) {
        let key = (target.namespace.clone().unwrap_or_default(), target.name.clone().unwrap_or_default());
        let uid = uid(target.uid.as_deref(), self.pods.get(&key));
        write!(line, " target={}/{}/{} uid={uid}", optional(target.kind.as_ref()), key.0, key.1).unwrap();
        // No controller sets either; if one is set, it is in the output.
        for field in [&target.api_version, &target.resource_version, &target.field_path] {
            write!(line, "{}", field.as_ref().map_or(String::new(), |value| format!(" {value}"))).unwrap();
        }
    }

    /// Of a slice or of Endpoints.
    fn metadata(&self, meta: &ObjectMeta, stamped: bool) -> String {
        let service = self.service(meta);
        let mut annotations = meta.annotations.clone().unwrap_or_default();
        if !stamped {
            annotations.remove(TRIGGER_TIME);
        } else if let Some(time) = annotations.get_mut(TRIGGER_TIME) {
            // The workload sets the times of pods; only the creation of a Service is the server's clock. A slice
            // of a predecessor may by chance carry its successor's time, which has the precision of seconds.
            let owned = |service: &&ObjectMeta| match &meta.owner_references {
                Some(owners) => owners.iter().any(|owner| service.uid.as_ref() == Some(&owner.uid)),
                None => true,
            };
            let creation = service.filter(owned).and_then(|meta| meta.creation_timestamp.as_ref());
            if creation.is_some_and(|created| created.0.to_string() == *time) {
                "creation-of-the-Service".clone_into(time);
            } else if !time.starts_with(scenario::YEAR) {
                "another-time-of-the-server's-clock".clone_into(time);
            }
        }
        let owners: Vec<String> =
            meta.owner_references.iter().flatten().map(|owner| self.owner_text(owner, meta)).collect();
        format!(
            "labels={} annotations={} owners=[{}] generateName={} finalizers={:?}{}",
            map(meta.labels.as_ref().unwrap_or(&BTreeMap::new())),
            map(&annotations),
            owners.join("; "),
            // Upstream keeps it only if it reuses another slice, which it chooses at random.
            optional(meta.generate_name.as_ref().filter(|_| !is_mirrored(meta))),
            meta.finalizers.clone().unwrap_or_default(),
            if meta.deletion_timestamp.is_some() { " deleting" } else { "" },
        )
    }

    /// The Service that a slice's label names; for Endpoints, the Service of the same name.
    fn service(&self, meta: &ObjectMeta) -> Option<&ObjectMeta> {
        let label = meta.labels.as_ref().and_then(|labels| labels.get(SERVICE_NAME));
        let name = if meta.generate_name.is_some() { label? } else { label.or(meta.name.as_ref())? };
        self.services.get(&(meta.namespace.clone()?, name.clone()))
    }

    fn owner_text(&self, owner: &OwnerReference, owned: &ObjectMeta) -> String {
        let endpoints = || {
            let mut metas = self.endpoints.iter().map(|endpoints| &endpoints.metadata);
            metas.find(|meta| meta.name.as_ref() == Some(&owner.name))
        };
        let named = if owner.kind == "Endpoints" { endpoints() } else { self.service(owned) };
        format!(
            "{} {} {} uid={} controller={} block={}",
            owner.api_version,
            owner.kind,
            owner.name,
            uid(Some(&owner.uid), named),
            optional(owner.controller),
            optional(owner.block_owner_deletion),
        )
    }
}

/// See the [module](self).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Canonical {
    /// Each line, and how often it occurs.
    lines: BTreeMap<String, usize>,
}

impl Canonical {
    pub(crate) fn add(&mut self, line: String) {
        *self.lines.entry(line).or_default() += 1;
    }

    /// Each line, and how often it occurs.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, usize)> {
        self.lines.iter().map(|(line, count)| (line.as_str(), *count))
    }

    /// True if there are no slices at all.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Lines that only one of the two has: `-` for this one, `+` for the other. None if they are equal.
    pub fn difference(&self, other: &Self) -> Option<String> {
        let mut text = String::new();
        let lines: std::collections::BTreeSet<&String> =
            self.lines.keys().chain(other.lines.keys()).collect();
        for line in lines {
            let count = |side: &Self| side.lines.get(line).copied().unwrap_or(0);
            let (here, there) = (count(self), count(other));
            let (sign, times) = if here > there { ('-', here - there) } else { ('+', there - here) };
            match times {
                0 => {}
                1 => writeln!(text, "{sign} {line}").unwrap(),
                _ => writeln!(text, "{sign} {times} × {line}").unwrap(),
            }
        }
        (!text.is_empty()).then_some(text)
    }
}

impl fmt::Display for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|(line, count)| writeln!(f, "{count} × {line}"))
    }
}

fn is_mirrored(meta: &ObjectMeta) -> bool {
    meta.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY)).is_some_and(|by| by == MIRRORED)
}

fn endpoints_port(port: &k8s_openapi::api::core::v1::EndpointPort) -> String {
    let (name, protocol) = (optional(port.name.as_ref()), optional(port.protocol.as_ref()));
    let app = port.app_protocol.as_ref().map_or(String::new(), |app| format!("({app})"));
    format!("{name}:{protocol}/{}{app}", port.port)
}

fn port(port: &EndpointPort) -> String {
    let name = port.name.as_ref().map_or("nil".to_owned(), |name| format!("{name:?}"));
    let protocol = optional(port.protocol.as_ref());
    let app = port.app_protocol.as_ref().map_or(String::new(), |app| format!("({app})"));
    format!("{name}:{protocol}/{}{app}", optional(port.port))
}

/// Tells whether a uid belongs to the object that now has the name.
fn uid(uid: Option<&str>, named: Option<&ObjectMeta>) -> &'static str {
    match (uid, named) {
        (None, _) => "nil",
        (Some(_), None) => "of a deleted object",
        (Some(uid), Some(named)) if named.uid.as_deref() == Some(uid) => "its own",
        (Some(_), Some(_)) => "of a predecessor",
    }
}

fn optional(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "nil".to_owned(), |value| value.to_string())
}

fn map(entries: &BTreeMap<String, String>) -> String {
    let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{{{}}}", entries.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(slices: serde_json::Value) -> Snapshot {
        let meta = |name: &str| ObjectMeta { uid: Some(format!("uid-{name}")), ..ObjectMeta::default() };
        let named = |name: &str| (("a".to_owned(), name.to_owned()), meta(name));
        Snapshot {
            slices: serde_json::from_value(slices).unwrap(),
            endpoints: Vec::new(),
            services: HashMap::from([named("web")]),
            pods: HashMap::from([named("p"), named("q")]),
            release: Release(37),
        }
    }

    fn slice(name: &str, pods: &[&str]) -> serde_json::Value {
        let endpoints: Vec<_> = pods
            .iter()
            .map(|pod| {
                let target = serde_json::json!({"kind": "Pod", "namespace": "a", "name": pod, "uid": format!("uid-{pod}")});
                serde_json::json!({"addresses": [format!("address-of-{pod}")], "targetRef": target})
            })
            .collect();
        serde_json::json!({
            "metadata": {"name": name, "namespace": "a", "labels": {SERVICE_NAME: "web"}},
            "addressType": "IPv4",
            "endpoints": endpoints,
        })
    }

    #[test]
    fn names_and_the_slice_of_an_endpoint_are_not_compared() {
        let left = snapshot(serde_json::json!([slice("web-1", &["p"]), slice("web-2", &["q"])]));
        let right = snapshot(serde_json::json!([slice("web-3", &["q"]), slice("web-4", &["p"])]));
        let (left, right) = (left.canonical(Detail::Exact), right.canonical(Detail::Exact));
        assert_eq!(left.difference(&right), None);
    }

    #[test]
    fn sizes_are_compared_only_in_detail() {
        let left = snapshot(serde_json::json!([slice("web-1", &["p"]), slice("web-2", &["q"])]));
        let right = snapshot(serde_json::json!([slice("web-3", &["q", "p"])]));
        let differ = |detail| left.canonical(detail).difference(&right.canonical(detail));
        assert_eq!(differ(Detail::Content), None);
        assert!(differ(Detail::Exact).unwrap().contains("- 2 × a/web IPv4 [] slice of 1"));
    }

    #[test]
    fn an_endpoint_twice_and_a_slice_too_full_are_violations() {
        let twice = snapshot(serde_json::json!([slice("web-1", &["p", "q"]), slice("web-2", &["q"])]));
        let violations = twice.violations(1);
        assert_eq!(violations.len(), 2, "{violations:?}");
    }
}
