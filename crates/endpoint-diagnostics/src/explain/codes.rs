//! The codes of all reasons: names that never change, for programs and for docs/operate/explain.md.

use crate::report::{Reason, Scope};
use cli_runtime::text::one_line;

/// The code of a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The name, in kebab case.
    pub name: &'static str,
    /// The objects it is about.
    pub scope: Scope,
    /// True for a reason of a Service, false for one of a pod.
    pub of_service: bool,
    /// The meaning, as a sentence for the documentation.
    pub meaning: &'static str,
}

impl Code {
    const fn of_service(name: &'static str, scope: Scope, meaning: &'static str) -> Self {
        Self { name, scope, of_service: true, meaning }
    }

    const fn of_pod(name: &'static str, scope: Scope, meaning: &'static str) -> Self {
        Self { name, scope, of_service: false, meaning }
    }

    /// A reason with this code.
    pub(super) fn reason(self, message: impl Into<String>) -> Reason {
        Reason { code: self.name, message: one_line(message), remedy: None, scope: self.scope }
    }

    /// A reason with this code and a remedy.
    pub(super) fn with_remedy(self, message: impl Into<String>, remedy: impl Into<String>) -> Reason {
        Reason { remedy: Some(one_line(remedy)), ..self.reason(message) }
    }

    /// A reason with this code about less than the code is about.
    pub(super) fn within(self, scope: Scope, message: impl Into<String>) -> Reason {
        Reason { scope, ..self.reason(message) }
    }
}

// The Service.

pub(crate) const EXTERNAL_NAME: Code =
    Code::of_service("external-name", Scope::Both, "A DNS alias, without slices and Endpoints.");
pub(super) const NO_SELECTOR: Code =
    Code::of_service("no-selector", Scope::Both, "Users write the Endpoints, which are mirrored to slices.");
pub(super) const NO_ENDPOINTS: Code = Code::of_service(
    "no-endpoints-to-mirror",
    Scope::Both,
    "The Service has neither a selector nor Endpoints of its name.",
);
pub(super) const SKIP_MIRROR: Code =
    Code::of_service("skip-mirror", Scope::Slices, "The label endpointslice.kubernetes.io/skip-mirror.");
pub(super) const LEADER_LOCK: Code =
    Code::of_service("leader-lock", Scope::Slices, "The annotation of a leader election: not mirrored.");
pub(super) const MIRROR_TRUNCATED: Code = Code::of_service(
    "mirror-truncated",
    Scope::Slices,
    "A subset has more addresses than are mirrored (1,000 by default).",
);
pub(super) const MIRROR_REFUSED: Code = Code::of_service(
    "mirror-address-refused",
    Scope::Slices,
    "Addresses of the Endpoints are invalid, or slices may not have them.",
);
pub(super) const DELEGATED: Code =
    Code::of_service("delegated", Scope::Both, "A label leaves the Service to another controller.");
pub(super) const NO_NETWORK: Code = Code::of_service(
    "no-network",
    Scope::Slices,
    "No label or annotation names a network (pod-network-controller).",
);
pub(super) const AMBIGUOUS_NETWORK: Code = Code::of_service(
    "ambiguous-network",
    Scope::Slices,
    "The pods are in several networks that the Service may mean (pod-network-controller).",
);
pub(super) const DELEGATION_IGNORED: Code = Code::of_service(
    "delegation-ignored",
    Scope::Both,
    "Kubernetes' controllers keep slices or Endpoints despite the label.",
);
pub(super) const SELECTS_NO_PODS: Code = Code::of_service(
    "selects-no-pods",
    Scope::Both,
    "No pod of the namespace has all labels of the selector.",
);
pub(super) const MORE_NEAR_MISSES: Code =
    Code::of_service("more-near-misses", Scope::Both, "Further pods lack one label of the selector.");
pub(super) const NO_PORTS: Code =
    Code::of_service("no-ports", Scope::Endpoints, "The Service is not headless, and has no ports.");
pub(super) const OVER_CAPACITY: Code = Code::of_service(
    "over-capacity",
    Scope::Endpoints,
    "Endpoints hold at most 1,000 addresses; slices have all.",
);
pub(super) const ANOTHER_MANAGER: Code = Code::of_service(
    "another-manager",
    Scope::Slices,
    "A slice with the Service's name belongs to another controller; consumers use it.",
);
pub(super) const LEFTOVER_SLICES: Code =
    Code::of_service("leftover-slices", Scope::Slices, "Slices from an earlier selector or type.");
pub(super) const LEFTOVER_ENDPOINTS: Code =
    Code::of_service("leftover-endpoints", Scope::Endpoints, "Endpoints from an earlier selector or type.");
pub(super) const TERMINATING_SLICE: Code = Code::of_service(
    "terminating-slice",
    Scope::Slices,
    "A finalizer keeps a slice that is being deleted; consumers use it.",
);
pub(super) const SERVICE_TERMINATING: Code =
    Code::of_service("service-terminating", Scope::Both, "The Service is being deleted, and gets no slices.");
pub(super) const NAMESPACE_TERMINATING: Code = Code::of_service(
    "namespace-terminating",
    Scope::Both,
    "The API server refuses new slices and Endpoints in the namespace.",
);
pub(super) const HINTS_DROPPED: Code =
    Code::of_service("hints-dropped", Scope::Slices, "Topology-aware hints are requested and impossible.");
pub(super) const HINTS_IGNORED: Code = Code::of_service(
    "hints-ignored",
    Scope::Slices,
    "A request for hints is hidden by another one, or unknown.",
);
pub(super) const SLICES_OUTDATED: Code = Code::of_service(
    "slices-outdated",
    Scope::Slices,
    "Labels, owner or hints are wrong, or a slice is missing.",
);
pub(super) const ENDPOINTS_OUTDATED: Code = Code::of_service(
    "endpoints-outdated",
    Scope::Endpoints,
    "Missing, or wrong in other ways than their pods.",
);
pub(super) const ENDPOINTS_NOT_KEPT: Code = Code::of_service(
    "endpoints-not-kept",
    Scope::Endpoints,
    "No Endpoints controller seems to run in the cluster.",
);
pub(super) const UNREADABLE: Code =
    Code::of_service("unreadable", Scope::Both, "The verdict depends on objects that may not be read.");

// The pod: membership.

pub(super) const LABEL_DIFFERS: Code =
    Code::of_pod("label-differs", Scope::Both, "One label of the selector is missing or differs.");
pub(super) const NOT_SELECTED: Code = Code::of_pod(
    "not-selected",
    Scope::Both,
    "Slices or Endpoints have a pod that the Service does not select.",
);
pub(super) const POD_GONE: Code =
    Code::of_pod("pod-gone", Scope::Both, "Slices or Endpoints have a pod that does not exist.");
pub(super) const POD_REPLACED: Code =
    Code::of_pod("pod-replaced", Scope::Both, "Slices or Endpoints have an earlier pod of the name.");
pub(super) const WRITTEN_BY_USER: Code =
    Code::of_pod("written-by-user", Scope::Both, "Endpoints of a Service without a selector name the pod.");
pub(super) const IN_FOREIGN_SLICE: Code =
    Code::of_pod("in-foreign-slice", Scope::Slices, "A slice of another controller has the pod.");

// The pod: life.

pub(super) const SUCCEEDED: Code = Code::of_pod("succeeded", Scope::Both, "Ended in the phase Succeeded.");
pub(super) const FAILED: Code =
    Code::of_pod("failed", Scope::Both, "Ended in the phase Failed, for example by eviction.");
pub(super) const TERMINATING: Code =
    Code::of_pod("terminating", Scope::Both, "Being deleted: not ready in slices, absent in Endpoints.");
pub(super) const NOT_SCHEDULED: Code = Code::of_pod("not-scheduled", Scope::Both, "No node has been found.");
pub(super) const NODE_UNKNOWN: Code =
    Code::of_pod("node-unknown", Scope::Slices, "The pod's node does not exist, so its zone is unknown.");

// The pod: addresses and ports.

pub(super) const NO_ADDRESS: Code = Code::of_pod("no-address", Scope::Both, "No IP address yet.");
pub(super) const NO_ADDRESS_OF_FAMILY: Code = Code::of_pod(
    "no-address-of-family",
    Scope::Both,
    "No address of a family of the Service; Endpoints use the first.",
);
pub(super) const ADDRESS_REFUSED: Code = Code::of_pod(
    "address-refused",
    Scope::Both,
    "The API server refuses the pod's address, such as loopback or link-local.",
);
pub(super) const ADDRESS_TOLERATED: Code = Code::of_pod(
    "address-tolerated",
    Scope::Both,
    "An address that would be refused today stays until they change.",
);
pub(crate) const PORT_UNRESOLVED: Code = Code::of_pod(
    "port-unresolved",
    Scope::Both,
    "No container has a port of the name that the Service targets.",
);
pub(crate) const PORT_OF_OTHER_PROTOCOL: Code = Code::of_pod(
    "port-of-other-protocol",
    Scope::Both,
    "A container's port of that name has another protocol.",
);
pub(super) const CUT: Code =
    Code::of_pod("cut-at-capacity", Scope::Endpoints, "The Endpoints have 1,000 other addresses.");

// The pod: readiness.

pub(super) const READINESS_GATE: Code =
    Code::of_pod("readiness-gate", Scope::Both, "A readiness gate of the pod is not True.");
pub(super) const CONTAINER_WAITING: Code =
    Code::of_pod("container-waiting", Scope::Both, "A container does not run, for the kubelet's reason.");
pub(super) const CONTAINER_TERMINATED: Code =
    Code::of_pod("container-terminated", Scope::Both, "A container has ended and is not running again yet.");
pub(super) const PROBE_FAILS: Code =
    Code::of_pod("readiness-probe", Scope::Both, "A readiness probe fails, or has not succeeded yet.");
pub(super) const STARTUP_PROBE: Code =
    Code::of_pod("startup-probe", Scope::Both, "A startup probe has not succeeded yet.");
pub(super) const INITIALIZING: Code =
    Code::of_pod("initializing", Scope::Both, "Init containers have not completed.");
pub(super) const NODE_NOT_READY: Code = Code::of_pod("node-not-ready", Scope::Both, "The node is not ready.");
pub(super) const NOT_READY: Code =
    Code::of_pod("not-ready", Scope::Both, "Not ready, for a reason that the status does not show.");
pub(super) const NO_READY_CONDITION: Code =
    Code::of_pod("no-ready-condition", Scope::Both, "No Ready condition, which counts as not ready.");
pub(super) const KEPT_READY: Code = Code::of_pod(
    "kept-ready",
    Scope::Both,
    "Ready as before its kubelet and most others were lost, with the feature gate EndpointsKeepReadyOnDisruption.",
);
pub(super) const PUBLISHED_UNREADY: Code =
    Code::of_pod("published-unready", Scope::Both, "Ready because of publishNotReadyAddresses.");

// The pod: hints.

pub(super) const NO_ZONE: Code =
    Code::of_pod("no-zone", Scope::Slices, "Hints for zones are requested, and the node has no zone.");

pub(super) const NOT_IN_NETWORK: Code = Code::of_pod(
    "not-in-network",
    Scope::Slices,
    "The pod has no address in the network that the Service names (pod-network-controller).",
);
pub(super) const NETWORK_NOT_READY: Code = Code::of_pod(
    "network-not-ready",
    Scope::Slices,
    "The pod's device in the network has a condition Ready that is not true (pod-network-controller).",
);

// The pod: comparison.

pub(super) const LAGS: Code =
    Code::of_pod("lags", Scope::Both, "The newest change is seconds old, and not yet written.");
pub(super) const OUTDATED: Code =
    Code::of_pod("outdated", Scope::Both, "Wrong, and not because of a recent change.");
pub(super) const UNDECIDED: Code = Code::of_pod(
    "undecided",
    Scope::Slices,
    "Left out, which is right if the node does not exist; nodes may not be read.",
);
pub(super) const UNEXPLAINED: Code = Code::of_pod(
    "unexplained",
    Scope::Both,
    "The controllers' plan and these reasons disagree: a defect, please report it.",
);

/// All codes, in the order of the documentation.
pub const CODES: &[Code] = &[
    EXTERNAL_NAME,
    NO_SELECTOR,
    NO_ENDPOINTS,
    SKIP_MIRROR,
    LEADER_LOCK,
    MIRROR_TRUNCATED,
    MIRROR_REFUSED,
    DELEGATED,
    NO_NETWORK,
    AMBIGUOUS_NETWORK,
    DELEGATION_IGNORED,
    SELECTS_NO_PODS,
    MORE_NEAR_MISSES,
    NO_PORTS,
    OVER_CAPACITY,
    ANOTHER_MANAGER,
    LEFTOVER_SLICES,
    LEFTOVER_ENDPOINTS,
    TERMINATING_SLICE,
    SERVICE_TERMINATING,
    NAMESPACE_TERMINATING,
    HINTS_DROPPED,
    HINTS_IGNORED,
    SLICES_OUTDATED,
    ENDPOINTS_OUTDATED,
    ENDPOINTS_NOT_KEPT,
    UNREADABLE,
    LABEL_DIFFERS,
    NOT_SELECTED,
    POD_GONE,
    POD_REPLACED,
    WRITTEN_BY_USER,
    IN_FOREIGN_SLICE,
    SUCCEEDED,
    FAILED,
    TERMINATING,
    NOT_SCHEDULED,
    NODE_UNKNOWN,
    NO_ADDRESS,
    NO_ADDRESS_OF_FAMILY,
    ADDRESS_REFUSED,
    ADDRESS_TOLERATED,
    PORT_UNRESOLVED,
    PORT_OF_OTHER_PROTOCOL,
    CUT,
    READINESS_GATE,
    CONTAINER_WAITING,
    CONTAINER_TERMINATED,
    PROBE_FAILS,
    STARTUP_PROBE,
    INITIALIZING,
    NODE_NOT_READY,
    NOT_READY,
    NO_READY_CONDITION,
    KEPT_READY,
    PUBLISHED_UNREADY,
    NO_ZONE,
    NOT_IN_NETWORK,
    NETWORK_NOT_READY,
    LAGS,
    OUTDATED,
    UNDECIDED,
    UNEXPLAINED,
];
