//! The endpoints to which kube-proxy should send connections, by the slices that it reads.
//!
//! With a traffic policy or hints, a node may use any endpoint that they allow, and need not use any of them: which
//! hints count depends on the zone that kube-proxy last saw of its node.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpointslice::model::ServiceType;
use endpointslice::well_known::HEADLESS;
use k8s_openapi::api::core::v1::ServiceSpec;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::finding::{Finding, Severity};
use super::object::{ObjectRef, Subject};
use super::wrong::{Expected, Wrong};
use crate::metadata::label;
use crate::snapshot::{ServiceEntry, Snapshot};

/// The id of the findings. No rule of [`rules`](super::rules) has it: it needs the rules of a node as well as the objects.
pub const PROXY_OUT_OF_SYNC: &str = "proxy-out-of-sync";

/// Label of a Service that another proxy serves (`pkg/proxy/apis/well_known_labels.go`).
const SERVICE_PROXY_NAME: &str = "service.kubernetes.io/service-proxy-name";

/// A cluster IP and port of a Service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frontend {
    /// The cluster IP and the port.
    pub address: SocketAddr,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
}

impl fmt::Display for Frontend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.protocol)
    }
}

/// The endpoints by which kube-proxy should serve each port of each Service with a cluster IP.
///
/// Cost: linear in Services, slices and endpoints, times the ports of a Service.
pub fn frontends(snapshot: &Snapshot) -> BTreeMap<(ObjectKey, Frontend), Expected<SocketAddr>> {
    let mut all = BTreeMap::new();
    for (_, objects) in snapshot.by_namespace() {
        for entry in objects.services().filter(|entry| is_proxied(entry)) {
            let Some(spec) = &entry.object.spec else { continue };
            let slices = objects.slices_of(&entry.service.name).map(|slice| &**slice);
            let slices: Vec<&EndpointSlice> =
                slices.filter(|slice| label(&slice.metadata, HEADLESS).is_none()).collect();
            let is_local = spec.internal_traffic_policy.as_deref() == Some("Local");
            for ip in cluster_ips(spec) {
                for port in spec.ports.iter().flatten() {
                    let Ok(number) = u16::try_from(port.port) else { continue };
                    let protocol = port.protocol.as_deref().unwrap_or("TCP");
                    let address = SocketAddr::new(ip, number);
                    let name = port.name.as_deref().unwrap_or_default();
                    let expected = Candidates::of(&slices, ip, name, protocol).expected(is_local);
                    all.insert((entry.key(), Frontend { address, protocol: protocol.to_owned() }), expected);
                }
            }
        }
    }
    all
}

fn is_proxied(entry: &ServiceEntry) -> bool {
    entry.has_cluster_ip()
        && entry.service.service_type != ServiceType::ExternalName
        && [SERVICE_PROXY_NAME, HEADLESS].iter().all(|key| label(&entry.object.metadata, key).is_none())
}

fn cluster_ips(spec: &ServiceSpec) -> BTreeSet<IpAddr> {
    let texts = spec.cluster_ips.iter().flatten().chain(&spec.cluster_ip);
    texts.filter_map(|text| text.parse().ok()).collect()
}

/// The endpoints of a port in slices of its family.
#[derive(Default)]
struct Candidates {
    ready: BTreeSet<SocketAddr>,
    /// Serving while their pods are being deleted: used if none is ready.
    going: BTreeSet<SocketAddr>,
    /// Neither. Of one that is in several slices, kube-proxy takes any entry that is not terminating.
    idle: BTreeSet<SocketAddr>,
    have_hints: bool,
}

impl Candidates {
    fn of(slices: &[&EndpointSlice], ip: IpAddr, name: &str, protocol: &str) -> Self {
        let family = if ip.is_ipv4() { "IPv4" } else { "IPv6" };
        let mut all = Self::default();
        for slice in slices.iter().filter(|slice| slice.address_type == family) {
            let ports = slice.ports.iter().flatten().filter(|port| {
                port.name.as_deref() == Some(name) && port.protocol.as_deref().unwrap_or("TCP") == protocol
            });
            for port in ports.filter_map(|port| u16::try_from(port.port?).ok().filter(|port| *port > 0)) {
                slice.endpoints.iter().flatten().for_each(|endpoint| all.add(endpoint, port));
            }
        }
        all
    }

    fn add(&mut self, endpoint: &Endpoint, port: u16) {
        let Some(ip) = endpoint.addresses.first().and_then(|address| address.parse().ok()) else { return };
        let conditions = endpoint.conditions.as_ref();
        let is_ready = conditions.and_then(|it| it.ready).unwrap_or(true);
        let is_serving = conditions.and_then(|it| it.serving).unwrap_or(true);
        let is_terminating = conditions.and_then(|it| it.terminating).unwrap_or(false);
        let state = match (is_ready, is_terminating) {
            (true, _) => &mut self.ready,
            (false, true) if is_serving => &mut self.going,
            (false, true) => return,
            (false, false) => &mut self.idle,
        };
        state.insert(SocketAddr::new(ip, port));
        self.have_hints |= endpoint.hints.is_some();
    }

    /// As kube-proxy chooses (`pkg/proxy/topology.go` `CategorizeEndpoints`).
    fn expected(self, is_local: bool) -> Expected<SocketAddr> {
        let Self { ready, going, idle, have_hints } = self;
        let used = if ready.is_empty() { &going } else { &ready };
        let required: BTreeSet<SocketAddr> = used.difference(&idle).copied().collect();
        if is_local || have_hints || required.is_empty() {
            return Expected { required: BTreeSet::new(), allowed: &ready | &going };
        }
        Expected { required, allowed: used.clone() }
    }
}

impl Wrong<SocketAddr> {
    /// The finding that the rules of this node have been so for a time.
    pub fn finding(&self, service: &ObjectKey, frontend: &Frontend, time: Duration) -> Finding {
        let has = ["have had", "which kube-proxy should not use by the slices"];
        let lacks = ["have lacked", "which it should use"];
        let clauses = self.clauses(has, lacks);
        let message = format!("For {} s, the rules of kube-proxy for {frontend} {clauses}", time.as_secs());
        let object = ObjectRef::new(Subject::Service, &service.namespace, &service.name);
        let remedy = "See whether the log of kube-proxy on this node tells of failing syncs, or of failing requests to the \
                      API server; restart it. If only some Services are concerned, --touch sends their slices again";
        Finding { rule: PROXY_OUT_OF_SYNC, ..Finding::new(Severity::Error, object, message, remedy) }
    }
}
