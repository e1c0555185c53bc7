//! Pods, reduced to the fields that endpoints depend on.

use std::sync::Arc;

use k8s_openapi::api::core::v1 as core;

use super::address::{Addresses, parse_ip};
use super::api_fields::{pairs, text};
use super::conditions::{ConditionFields, only_marked_not_ready};
use super::ids::{ResourceVersion, Uid};
use super::interner::Interner;
use super::labels::LabelSet;
use super::ports::NamedPort;

/// A Pod, reduced to the fields that endpoints depend on.
///
/// A pod is a few hundred bytes this way, most of them shared with its siblings through an [`Interner`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Box<str>,
    /// The uid, which goes into `targetRef`.
    pub uid: Uid,
    /// The resourceVersion, to tell a repeated object from a changed one.
    pub version: ResourceVersion,
    /// The labels, by which Services select pods.
    pub labels: LabelSet,
    /// `spec.nodeName`, once scheduled.
    pub node_name: Option<Arc<str>>,
    /// `status.podIPs` in order, without entries that are not IP addresses.
    pub addresses: Addresses,
    /// Named ports of the containers, then those of restartable init containers, each in spec order.
    pub ports: Arc<[NamedPort]>,
    /// True if the Ready condition is true, or [counts as true](crate::disruption).
    pub ready: bool,
    /// True if the Ready condition is false only because the node lifecycle controller said so, as far as conditions were
    /// read. False for a pod that is being deleted or has ended.
    pub marked_not_ready: bool,
    /// True if the phase is `Succeeded` or `Failed`.
    pub terminal: bool,
    /// True if `spec.readinessGates` has an entry.
    pub has_readiness_gates: bool,
    ready_changed_at: OptionalTime,
    uncommon: Option<Box<Uncommon>>,
}

/// The fields that most pods don't have, kept apart from the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Uncommon {
    annotations: LabelSet,
    hostname: Option<Arc<str>>,
    subdomain: Option<Arc<str>>,
    deletion_timestamp: Option<i64>,
}

/// Seconds since the epoch, in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OptionalTime(i64);

impl OptionalTime {
    /// No time: 300 billion years ago.
    const NONE: Self = Self(i64::MIN);

    fn get(self) -> Option<i64> {
        (self != Self::NONE).then_some(self.0)
    }
}

/// A pod's Ready condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReadyCondition {
    /// True if the status is `True`; a pod without the condition is not ready.
    pub status: bool,
    /// `lastTransitionTime`, in seconds since the epoch.
    pub last_transition: Option<i64>,
}

/// The raw fields that a [`Pod`] is made of, borrowed from a decoder or an API object.
#[derive(Clone, Debug, Default)]
pub struct PodFields<'a> {
    /// `metadata.namespace`.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.uid`.
    pub uid: &'a str,
    /// `metadata.resourceVersion`.
    pub resource_version: &'a str,
    /// `metadata.labels`, in any order.
    pub labels: Vec<(&'a str, &'a str)>,
    /// `metadata.annotations`, in any order.
    pub annotations: Vec<(&'a str, &'a str)>,
    /// `metadata.deletionTimestamp`, in seconds since the epoch.
    pub deletion_timestamp: Option<i64>,
    /// `spec.nodeName`.
    pub node_name: &'a str,
    /// `spec.hostname`.
    pub hostname: &'a str,
    /// `spec.subdomain`.
    pub subdomain: &'a str,
    /// Name, protocol and number of named ports: containers first, then restartable init containers.
    pub ports: Vec<(&'a str, &'a str, i32)>,
    /// True if `spec.readinessGates` has an entry.
    pub has_readiness_gates: bool,
    /// `status.phase`.
    pub phase: &'a str,
    /// `status.podIPs[].ip`.
    pub addresses: Vec<&'a str>,
    /// The condition of type Ready.
    pub ready: ReadyCondition,
}

impl Pod {
    /// Builds the compact form; equal strings are shared through `interner`.
    pub fn new(mut fields: PodFields<'_>, interner: &mut Interner) -> Self {
        let ports = fields.ports.iter().map(|(name, protocol, number)| NamedPort {
            name: interner.string(name),
            protocol: interner.string(if protocol.is_empty() { "TCP" } else { protocol }),
            number: *number,
        });
        let ports = ports.collect();
        let uncommon = Uncommon {
            annotations: interner.annotations(&fields.annotations),
            hostname: (!fields.hostname.is_empty()).then(|| fields.hostname.into()),
            subdomain: interner.non_empty(fields.subdomain),
            deletion_timestamp: fields.deletion_timestamp,
        };
        Self {
            namespace: interner.string(fields.namespace),
            name: fields.name.into(),
            uid: fields.uid.into(),
            version: fields.resource_version.into(),
            labels: interner.labels(&mut fields.labels),
            node_name: interner.non_empty(fields.node_name),
            addresses: fields.addresses.iter().filter_map(|address| parse_ip(address)).collect(),
            ports: interner.ports(ports),
            ready: fields.ready.status,
            marked_not_ready: false,
            terminal: matches!(fields.phase, "Succeeded" | "Failed"),
            has_readiness_gates: fields.has_readiness_gates,
            ready_changed_at: fields.ready.last_transition.map_or(OptionalTime::NONE, OptionalTime),
            uncommon: (uncommon != Uncommon::default()).then(|| Box::new(uncommon)),
        }
    }

    /// The same pod, with what its conditions and those of its readiness gates say about who said that it is not ready.
    ///
    /// Not a field of [`PodFields`], because most readers have no use for conditions, and reading them costs time.
    #[must_use]
    pub fn with_conditions(self, conditions: &[ConditionFields<'_>], readiness_gates: &[&str]) -> Self {
        let is_running = !self.terminal && !self.is_terminating();
        let marked_not_ready = is_running && only_marked_not_ready(conditions, readiness_gates);
        Self { marked_not_ready, ..self }
    }

    fn uncommon<'a, T: ?Sized>(&'a self, field: impl FnOnce(&'a Uncommon) -> Option<&'a T>) -> Option<&'a T> {
        self.uncommon.as_deref().and_then(field)
    }

    /// The value of an annotation that the interner [keeps](Interner::keeping_annotations); by default it keeps none.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.uncommon(|uncommon| uncommon.annotations.get(key))
    }

    /// `spec.hostname`, unless empty.
    pub fn hostname(&self) -> Option<&str> {
        self.uncommon(|uncommon| uncommon.hostname.as_deref())
    }

    /// `spec.subdomain`, unless empty.
    pub fn subdomain(&self) -> Option<&str> {
        self.uncommon(|uncommon| uncommon.subdomain.as_deref())
    }

    /// The `lastTransitionTime` of the Ready condition, in seconds since the epoch.
    pub fn ready_changed_at(&self) -> Option<i64> {
        self.ready_changed_at.get()
    }

    /// True if the pod is being deleted.
    pub fn is_terminating(&self) -> bool {
        self.uncommon.as_ref().is_some_and(|uncommon| uncommon.deletion_timestamp.is_some())
    }

    /// True if an endpoint made from `other` could differ from one made from `self`, labels aside.
    ///
    /// Compares every field that endpoints depend on. Upstream's check is narrower: it misses a change of the phase, node
    /// or uid alone (`util/controller_utils.go` `podEndpointsChanged`).
    pub fn differs_as_endpoint(&self, other: &Self) -> bool {
        self.uid != other.uid
            || self.addresses != other.addresses
            || self.ready != other.ready
            || self.terminal != other.terminal
            || self.node_name != other.node_name
            || self.uncommon != other.uncommon
            || self.ports != other.ports
    }

    /// Builds the compact form of an API object; equal strings are shared through `interner`.
    pub fn from_api(pod: &core::Pod, interner: &mut Interner) -> Self {
        let read = Self::new(PodFields::from(pod), interner);
        if read.ready || !interner.reads_conditions() {
            return read;
        }
        let conditions = pod.status.iter().filter_map(|status| status.conditions.as_ref()).flatten();
        let conditions: Vec<ConditionFields<'_>> = conditions.map(ConditionFields::from).collect();
        let gates = pod.spec.iter().filter_map(|spec| spec.readiness_gates.as_ref()).flatten();
        let gates: Vec<&str> = gates.map(|gate| gate.condition_type.as_str()).collect();
        read.with_conditions(&conditions, &gates)
    }
}

impl From<&core::Pod> for Pod {
    fn from(pod: &core::Pod) -> Self {
        Self::from_api(pod, &mut Interner::default())
    }
}

impl<'a> From<&'a core::Pod> for PodFields<'a> {
    fn from(pod: &'a core::Pod) -> Self {
        let metadata = &pod.metadata;
        let mut fields = Self {
            namespace: text(metadata.namespace.as_ref()),
            name: text(metadata.name.as_ref()),
            uid: text(metadata.uid.as_ref()),
            resource_version: text(metadata.resource_version.as_ref()),
            labels: pairs(metadata.labels.as_ref()),
            annotations: pairs(metadata.annotations.as_ref()),
            deletion_timestamp: metadata.deletion_timestamp.as_ref().map(|time| time.0.as_second()),
            ..Self::default()
        };
        if let Some(spec) = &pod.spec {
            fields.node_name = text(spec.node_name.as_ref());
            fields.hostname = text(spec.hostname.as_ref());
            fields.subdomain = text(spec.subdomain.as_ref());
            fields.ports = named_ports(spec);
            fields.has_readiness_gates = spec.readiness_gates.iter().flatten().next().is_some();
        }
        if let Some(status) = &pod.status {
            fields.phase = text(status.phase.as_ref());
            fields.addresses = status.pod_ips.iter().flatten().map(|ip| ip.ip.as_str()).collect();
            let ready = status.conditions.iter().flatten().find(|condition| condition.type_ == "Ready");
            fields.ready = ready.map_or_else(ReadyCondition::default, |condition| ReadyCondition {
                status: condition.status == "True",
                last_transition: condition.last_transition_time.as_ref().map(|time| time.0.as_second()),
            });
        }
        fields
    }
}

fn named_ports(spec: &core::PodSpec) -> Vec<(&str, &str, i32)> {
    let sidecars = spec.init_containers.iter().flatten();
    let sidecars = sidecars.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let containers = spec.containers.iter().chain(sidecars);
    let ports = containers.flat_map(|container| container.ports.iter().flatten());
    ports
        .filter(|port| port.name.as_deref().is_some_and(|name| !name.is_empty()))
        .map(|port| (text(port.name.as_ref()), text(port.protocol.as_ref()), port.container_port))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_small() {
        // 192 bytes with the counts of an `Arc` and what an allocation costs.
        assert!(size_of::<Pod>() <= 168, "{}", size_of::<Pod>());
    }

    #[test]
    fn an_annotation_matters_if_it_is_kept() {
        let pod = |interner: &mut Interner, value| {
            let annotations = vec![("other", value), ("read", value)];
            Pod::new(PodFields { annotations, ..PodFields::default() }, interner)
        };
        for (mut interner, kept) in
            [(Interner::default(), false), (Interner::keeping_annotations(["read"]), true)]
        {
            let [old, new] = ["old", "new"].map(|value| pod(&mut interner, value));
            assert_eq!(old.differs_as_endpoint(&new), kept);
            assert_eq!((new.annotation("read"), new.annotation("other")), (kept.then_some("new"), None));
        }
    }
}
