//! Random histories of one Service.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::time::Duration;

use endpointslice::{PortSet, SlicePlan};
use k8s_openapi::api::core::v1::PodReadinessGate;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::LONGEST;
use crate::plan_properties::identity;
use crate::support::{Cluster, PodExt, SERVICE, endpoints, pod, service_port};

/// A cluster with a few ready pods, and what happens then.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) cluster: Cluster,
    pub(super) steps: Vec<Step>,
}

/// Pods that change at the same time.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The time since the last step.
    pub(super) after: Duration,
    pods: Vec<(usize, PodState)>,
}

#[derive(Clone, Copy, Debug)]
struct PodState {
    phase: Phase,
    node: &'static str,
    /// The number of the named port.
    port: i32,
    /// The pod has the address of the pod before it, as pods with the network of their node have.
    shares_address: bool,
    has_gates: bool,
}

/// The phases of a pod's life, as far as endpoints depend on them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Absent,
    Unready,
    Ready,
    TerminatingReady,
    Terminating,
    OnUnknownNode,
}

const PODS: usize = 8;

/// Histories with at most this number of endpoints in a slice.
pub(super) fn world(max: Range<usize>) -> impl Strategy<Value = World> {
    let policies =
        select(vec!["", "", "", "internal", "external", "zones", "udp", "headless", "not ready too"]);
    let families = select(vec![vec!["IPv4"], vec!["IPv4"], vec!["IPv4", "IPv6"]]);
    (policies, families, any::<bool>(), max, vec(step(), 1..20)).prop_map(
        |(policy, families, named, max, steps)| {
            let mut cluster = Cluster { max, ..Cluster::with_pods(5) };
            let families: Vec<String> = families.into_iter().map(str::to_owned).collect();
            let dual = families.len() > 1;
            let target = if named { IntOrString::String("http".to_owned()) } else { IntOrString::Int(8080) };
            let spec = cluster.spec();
            spec.ip_families = Some(families);
            spec.ports = Some(vec![service_port("http", target.clone())]);
            match policy {
                "internal" => spec.internal_traffic_policy = Some("Local".to_owned()),
                "external" => spec.external_traffic_policy = Some("Local".to_owned()),
                "zones" => spec.traffic_distribution = Some("PreferSameZone".to_owned()),
                "udp" => {
                    let mut port = service_port("dns", target);
                    port.protocol = Some("UDP".to_owned());
                    spec.ports.get_or_insert_default().push(port);
                }
                "headless" => spec.cluster_ip = Some("None".to_owned()),
                "not ready too" => spec.publish_not_ready_addresses = Some(true),
                _ => {}
            }
            for pod in &mut cluster.pods {
                pod.set_ports(&[("http", "TCP", 8000)]);
                if dual {
                    let ip = pod.edit().2.pod_ips.as_ref().unwrap()[0].ip.clone();
                    let v6 = format!("fd00::{}", ip.rsplit_once('.').unwrap().1);
                    pod.set_addresses(&[&ip, &v6]);
                }
            }
            cluster.sync();
            World { cluster, steps }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let phases = select(vec![
        Phase::Absent,
        Phase::Absent,
        Phase::Unready,
        Phase::Unready,
        Phase::Ready,
        Phase::Ready,
        Phase::Ready,
        Phase::TerminatingReady,
        Phase::TerminatingReady,
        Phase::Terminating,
        Phase::Terminating,
    ]);
    let phase = prop_oneof![40 => phases, 1 => Just(Phase::OnUnknownNode)];
    let nodes = select(vec!["node-a", "node-a", "node-b"]);
    let state = (
        phase,
        nodes,
        select(vec![8000, 8000, 8000, 8001]),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.02),
    )
        .prop_map(|(phase, node, port, shares_address, has_gates)| PodState {
            phase,
            node,
            port,
            shares_address,
            has_gates,
        });
    (select(vec![0, 100, 1000, 2500, 4999, 5000, 7000]), vec((0..PODS, state), 1..3))
        .prop_map(|(after, pods)| Step { after: Duration::from_millis(after), pods })
}

impl Step {
    /// Changes the pods. Dual-stack Services have pods with two addresses.
    pub(super) fn take(&self, cluster: &mut Cluster) {
        let dual = cluster.spec().ip_families.as_ref().is_some_and(|families| families.len() > 1);
        for (number, state) in &self.pods {
            let new = pod(*number);
            cluster.pods.retain(|pod| pod.metadata.name != new.metadata.name);
            if state.phase == Phase::Absent {
                continue;
            }
            let host = number.saturating_sub(usize::from(state.shares_address));
            let (v4, v6) = (format!("10.1.0.{host}"), format!("fd00::{host}"));
            let addresses: &[&str] = if dual { &[&v4, &v6] } else { &[&v4] };
            let ready = matches!(state.phase, Phase::Ready | Phase::TerminatingReady | Phase::OnUnknownNode);
            let mut new = new.ready(ready).addresses(addresses).ports(&[("http", "TCP", state.port)]);
            if matches!(state.phase, Phase::Terminating | Phase::TerminatingReady) {
                new.set_terminating();
            }
            new.set_node(if state.phase == Phase::OnUnknownNode { "node-x" } else { state.node });
            new.edit().1.readiness_gates =
                state.has_gates.then(|| vec![PodReadinessGate { condition_type: SERVICE.to_owned() }]);
            cluster.pods.push(new);
        }
    }
}

/// The time for which endpoints have been in slices otherwise than desired.
#[derive(Default)]
pub(super) struct Differences(BTreeMap<String, Duration>);

impl Differences {
    /// Fails if an endpoint has differed for longer than the longest wait.
    pub(super) fn observe(&mut self, cluster: &Cluster, now: Duration) -> Result<(), TestCaseError> {
        let mut different = BTreeMap::new();
        let groups = cluster.desired();
        for (address_type, _, set) in groups.groups() {
            for endpoint in set.iter() {
                different.insert(
                    (address_type.to_string(), identity(endpoint)),
                    vec![endpoint.conditions.clone()],
                );
            }
        }
        for slice in &cluster.slices {
            for endpoint in endpoints(slice) {
                match different.entry((slice.address_type.clone(), identity(endpoint))) {
                    Entry::Occupied(entry) if entry.get()[..] == [endpoint.conditions.clone()] => {
                        drop(entry.remove())
                    }
                    entry => entry.or_default().push(None),
                }
            }
        }
        let different: Vec<String> =
            different.into_keys().map(|(family, identity)| family + &identity).collect();
        self.0.retain(|endpoint, _| different.contains(endpoint));
        for endpoint in different {
            let since = *self.0.entry(endpoint.clone()).or_insert(now);
            prop_assert!(now < since + LONGEST, "{endpoint} has waited since {since:?}, now it is {now:?}");
        }
        Ok(())
    }
}

/// The statistics of a plan count the slices that are there after it.
pub(super) fn statistics_count_slices(after: &Cluster, plan: &SlicePlan) -> Result<(), TestCaseError> {
    for plan in &plan.types {
        for (ports, group) in &plan.statistics.groups {
            let of_group = after.slices.iter().filter(|slice| {
                slice.address_type == plan.address_type.as_str() && PortSet::of(slice) == *ports
            });
            prop_assert_eq!(of_group.count(), group.slices);
        }
    }
    Ok(())
}
