//! The codes of all reasons: names that never change, for programs and for docs/explain.md.

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

pub(crate) const EXTERNAL_NAME: Code = Code::of_service(
    "external-name",
    Scope::Both,
    "A Service of type ExternalName is a DNS alias: no controller keeps slices or Endpoints for it.",
);
pub(super) const NO_SELECTOR: Code = Code::of_service(
    "no-selector",
    Scope::Both,
    "The Service has no selector: its Endpoints are written by users or other programs, and mirrored to slices.",
);
pub(super) const NO_ENDPOINTS: Code = Code::of_service(
    "no-endpoints-to-mirror",
    Scope::Both,
    "The Service has no selector, and no Endpoints of its name exist.",
);
pub(super) const SKIP_MIRROR: Code = Code::of_service(
    "skip-mirror",
    Scope::Slices,
    "The Endpoints opt out of mirroring by the label endpointslice.kubernetes.io/skip-mirror.",
);
pub(super) const LEADER_LOCK: Code = Code::of_service(
    "leader-lock",
    Scope::Slices,
    "The Endpoints carry the annotation of a leader election, so they are not mirrored.",
);
pub(super) const MIRROR_TRUNCATED: Code = Code::of_service(
    "mirror-truncated",
    Scope::Slices,
    "A subset of the Endpoints has more addresses than are mirrored (1,000 by default).",
);
pub(super) const MIRROR_REFUSED: Code = Code::of_service(
    "mirror-address-refused",
    Scope::Slices,
    "Addresses of the Endpoints are no IP addresses, or ones that slices may not have; they are not mirrored.",
);
pub(super) const DELEGATED: Code = Code::of_service(
    "delegated",
    Scope::Both,
    "The label service.kubernetes.io/endpoint-controller-name leaves the Service to another controller.",
);
pub(super) const DELEGATION_IGNORED: Code = Code::of_service(
    "delegation-ignored",
    Scope::Both,
    "The Service has that label, but Kubernetes' controllers still keep its slices or Endpoints.",
);
pub(super) const SELECTS_NO_PODS: Code = Code::of_service(
    "selects-no-pods",
    Scope::Both,
    "No pod of the namespace has all labels of the selector.",
);
pub(super) const MORE_NEAR_MISSES: Code = Code::of_service(
    "more-near-misses",
    Scope::Both,
    "Further pods lack one label of the selector; only the closest are listed.",
);
pub(super) const NO_PORTS: Code = Code::of_service(
    "no-ports",
    Scope::Endpoints,
    "A Service that is not headless and has no ports has no addresses in its Endpoints.",
);
pub(super) const OVER_CAPACITY: Code = Code::of_service(
    "over-capacity",
    Scope::Endpoints,
    "Endpoints hold at most 1,000 addresses; slices have all of them.",
);
pub(super) const ANOTHER_MANAGER: Code = Code::of_service(
    "another-manager",
    Scope::Slices,
    "A slice with the Service's name belongs to another controller; consumers use it, Kubernetes leaves it alone.",
);
pub(super) const LEFTOVER_SLICES: Code = Code::of_service(
    "leftover-slices",
    Scope::Slices,
    "Slices are left from when the Service had a selector or another type; the controller no longer looks at them.",
);
pub(super) const LEFTOVER_ENDPOINTS: Code = Code::of_service(
    "leftover-endpoints",
    Scope::Endpoints,
    "The Endpoints are left from when the Service had a selector or another type.",
);
pub(super) const TERMINATING_SLICE: Code = Code::of_service(
    "terminating-slice",
    Scope::Slices,
    "A slice is being deleted and kept by a finalizer; consumers still use it.",
);
pub(super) const SERVICE_TERMINATING: Code = Code::of_service(
    "service-terminating",
    Scope::Both,
    "The Service is being deleted: no slices are created for it.",
);
pub(super) const NAMESPACE_TERMINATING: Code = Code::of_service(
    "namespace-terminating",
    Scope::Both,
    "The namespace is being deleted: the API server refuses new slices and Endpoints.",
);
pub(super) const HINTS_DROPPED: Code = Code::of_service(
    "hints-dropped",
    Scope::Slices,
    "The Service requests topology-aware hints, and they are impossible; the message says why.",
);
pub(super) const HINTS_IGNORED: Code = Code::of_service(
    "hints-ignored",
    Scope::Slices,
    "A request for hints has no effect: another one hides it, or its value is unknown.",
);
pub(super) const SLICES_OUTDATED: Code = Code::of_service(
    "slices-outdated",
    Scope::Slices,
    "Slices differ from what they should be in other ways than their pods: labels, owner, hints, or one is missing.",
);
pub(super) const ENDPOINTS_OUTDATED: Code = Code::of_service(
    "endpoints-outdated",
    Scope::Endpoints,
    "The Endpoints differ from what they should be in other ways than their pods, or are missing.",
);
pub(super) const ENDPOINTS_NOT_KEPT: Code = Code::of_service(
    "endpoints-not-kept",
    Scope::Endpoints,
    "No Endpoints of the Endpoints controller exist in the whole cluster: it seems to be switched off.",
);
pub(super) const UNREADABLE: Code =
    Code::of_service("unreadable", Scope::Both, "Objects that the answer depends on may not be read.");

// The pod: membership.

pub(super) const LABEL_DIFFERS: Code = Code::of_pod(
    "label-differs",
    Scope::Both,
    "The pod has all labels of the selector but one; the message has the key, the value wanted and the one found.",
);
pub(super) const NOT_SELECTED: Code = Code::of_pod(
    "not-selected",
    Scope::Both,
    "The Service does not select the pod (any more), although slices or Endpoints have it.",
);
pub(super) const POD_GONE: Code =
    Code::of_pod("pod-gone", Scope::Both, "Slices or Endpoints have a pod that does not exist.");
pub(super) const POD_REPLACED: Code = Code::of_pod(
    "pod-replaced",
    Scope::Both,
    "Slices or Endpoints have an earlier pod of this name, with another uid.",
);
pub(super) const WRITTEN_BY_USER: Code = Code::of_pod(
    "written-by-user",
    Scope::Both,
    "The Service has no selector; its Endpoints name the pod, and they are written by users or other programs.",
);
pub(super) const IN_FOREIGN_SLICE: Code =
    Code::of_pod("in-foreign-slice", Scope::Slices, "A slice of another controller has the pod.");

// The pod: life.

pub(super) const SUCCEEDED: Code =
    Code::of_pod("succeeded", Scope::Both, "The pod has ended in the phase Succeeded, and never comes back.");
pub(super) const FAILED: Code = Code::of_pod(
    "failed",
    Scope::Both,
    "The pod has ended in the phase Failed, for example because it was evicted, and never comes back.",
);
pub(super) const TERMINATING: Code = Code::of_pod(
    "terminating",
    Scope::Both,
    "The pod is being deleted: no longer ready in slices, absent in Endpoints.",
);
pub(super) const NOT_SCHEDULED: Code =
    Code::of_pod("not-scheduled", Scope::Both, "No node has been found for the pod.");
pub(super) const NODE_UNKNOWN: Code = Code::of_pod(
    "node-unknown",
    Scope::Slices,
    "The pod's node does not exist, so its zone is unknown and slices leave the pod out.",
);

// The pod: addresses and ports.

pub(super) const NO_ADDRESS: Code = Code::of_pod("no-address", Scope::Both, "The pod has no IP address yet.");
pub(super) const NO_ADDRESS_OF_FAMILY: Code = Code::of_pod(
    "no-address-of-family",
    Scope::Both,
    "The pod has no address of a family that the Service has; Endpoints use the first family alone.",
);
pub(super) const ADDRESS_REFUSED: Code = Code::of_pod(
    "address-refused",
    Scope::Both,
    "The API server refuses the pod's address in slices and Endpoints: loopback, link-local and the like.",
);
pub(super) const ADDRESS_TOLERATED: Code = Code::of_pod(
    "address-tolerated",
    Scope::Both,
    "Slices or Endpoints have an address that would be refused today; it stays until they change otherwise.",
);
pub(super) const PORT_UNRESOLVED: Code = Code::of_pod(
    "port-unresolved",
    Scope::Both,
    "No container of the pod has a port with the name that the Service's target port has.",
);
pub(super) const PORT_OF_OTHER_PROTOCOL: Code = Code::of_pod(
    "port-of-other-protocol",
    Scope::Both,
    "A container has a port of that name, but of another protocol than the Service's port.",
);
pub(super) const CUT: Code = Code::of_pod(
    "cut-at-capacity",
    Scope::Endpoints,
    "The Endpoints are full: 1,000 other addresses are kept.",
);

// The pod: readiness.

pub(super) const READINESS_GATE: Code = Code::of_pod(
    "readiness-gate",
    Scope::Both,
    "A condition that the pod names as readiness gate is not True; the message names it.",
);
pub(super) const CONTAINER_WAITING: Code = Code::of_pod(
    "container-waiting",
    Scope::Both,
    "A container is not running: image pull, crash loop, configuration; the message has the kubelet's reason.",
);
pub(super) const CONTAINER_TERMINATED: Code =
    Code::of_pod("container-terminated", Scope::Both, "A container has ended and is not running again yet.");
pub(super) const PROBE_FAILS: Code = Code::of_pod(
    "readiness-probe",
    Scope::Both,
    "A container runs and is not ready: its readiness probe fails or has not succeeded yet.",
);
pub(super) const STARTUP_PROBE: Code = Code::of_pod(
    "startup-probe",
    Scope::Both,
    "A container runs, and its startup probe has not succeeded yet.",
);
pub(super) const INITIALIZING: Code =
    Code::of_pod("initializing", Scope::Both, "The pod's init containers have not completed.");
pub(super) const NODE_NOT_READY: Code = Code::of_pod(
    "node-not-ready",
    Scope::Both,
    "The pod's node is not ready, so its pods are marked as not ready.",
);
pub(super) const NOT_READY: Code = Code::of_pod(
    "not-ready",
    Scope::Both,
    "The pod's Ready condition is not True, for a reason that its status does not show.",
);
pub(super) const NO_READY_CONDITION: Code = Code::of_pod(
    "no-ready-condition",
    Scope::Both,
    "The pod's status has no Ready condition; that counts as not ready.",
);
pub(super) const PUBLISHED_UNREADY: Code = Code::of_pod(
    "published-unready",
    Scope::Both,
    "The pod is not ready or is being deleted, and counts as ready because of publishNotReadyAddresses.",
);

// The pod: hints.

pub(super) const NO_ZONE: Code = Code::of_pod(
    "no-zone",
    Scope::Slices,
    "The Service requests hints for zones, and the pod's node has no zone, so the endpoint has none.",
);

// The pod: comparison.

pub(super) const LAGS: Code = Code::of_pod(
    "lags",
    Scope::Both,
    "Slices or Endpoints do not show the newest change yet; it is seconds old, and the message says how many.",
);
pub(super) const OUTDATED: Code = Code::of_pod(
    "outdated",
    Scope::Both,
    "Slices or Endpoints differ from what they should be, and not because of a recent change.",
);
pub(super) const UNDECIDED: Code = Code::of_pod(
    "undecided",
    Scope::Slices,
    "Slices leave the pod out, which is right if its node does not exist; nodes may not be read.",
);
pub(super) const UNEXPLAINED: Code = Code::of_pod(
    "unexplained",
    Scope::Both,
    "The controllers' plan and these reasons disagree: a defect of this command, please report it.",
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
    PUBLISHED_UNREADY,
    NO_ZONE,
    LAGS,
    OUTDATED,
    UNDECIDED,
    UNEXPLAINED,
];
