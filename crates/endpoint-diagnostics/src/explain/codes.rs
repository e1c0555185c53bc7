//! The codes of all reasons: names that never change, for programs. docs/operate/explain.md has their meanings.

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
}

impl Code {
    const fn of_service(name: &'static str, scope: Scope) -> Self {
        Self { name, scope, of_service: true }
    }

    const fn of_pod(name: &'static str, scope: Scope) -> Self {
        Self { name, scope, of_service: false }
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

pub(crate) const EXTERNAL_NAME: Code = Code::of_service("external-name", Scope::Both);
pub(super) const NO_SELECTOR: Code = Code::of_service("no-selector", Scope::Both);
pub(super) const NO_ENDPOINTS: Code = Code::of_service("no-endpoints-to-mirror", Scope::Both);
pub(super) const SKIP_MIRROR: Code = Code::of_service("skip-mirror", Scope::Slices);
pub(super) const LEADER_LOCK: Code = Code::of_service("leader-lock", Scope::Slices);
pub(super) const MIRROR_TRUNCATED: Code = Code::of_service("mirror-truncated", Scope::Slices);
pub(super) const MIRROR_REFUSED: Code = Code::of_service("mirror-address-refused", Scope::Slices);
pub(super) const DELEGATED: Code = Code::of_service("delegated", Scope::Both);
pub(super) const NO_NETWORK: Code = Code::of_service("no-network", Scope::Slices);
pub(super) const AMBIGUOUS_NETWORK: Code = Code::of_service("ambiguous-network", Scope::Slices);
pub(super) const DELEGATION_IGNORED: Code = Code::of_service("delegation-ignored", Scope::Both);
pub(super) const SELECTS_NO_PODS: Code = Code::of_service("selects-no-pods", Scope::Both);
pub(super) const MORE_NEAR_MISSES: Code = Code::of_service("more-near-misses", Scope::Both);
pub(super) const NO_PORTS: Code = Code::of_service("no-ports", Scope::Endpoints);
pub(super) const OVER_CAPACITY: Code = Code::of_service("over-capacity", Scope::Endpoints);
pub(super) const ANOTHER_MANAGER: Code = Code::of_service("another-manager", Scope::Slices);
pub(super) const LEFTOVER_SLICES: Code = Code::of_service("leftover-slices", Scope::Slices);
pub(super) const LEFTOVER_ENDPOINTS: Code = Code::of_service("leftover-endpoints", Scope::Endpoints);
pub(super) const TERMINATING_SLICE: Code = Code::of_service("terminating-slice", Scope::Slices);
pub(super) const SERVICE_TERMINATING: Code = Code::of_service("service-terminating", Scope::Both);
pub(super) const NAMESPACE_TERMINATING: Code = Code::of_service("namespace-terminating", Scope::Both);
pub(super) const HINTS_DROPPED: Code = Code::of_service("hints-dropped", Scope::Slices);
pub(super) const HINTS_IGNORED: Code = Code::of_service("hints-ignored", Scope::Slices);
pub(super) const SLICES_OUTDATED: Code = Code::of_service("slices-outdated", Scope::Slices);
pub(super) const ZONES_OUTDATED: Code = Code::of_service("zones-outdated", Scope::Slices);
pub(super) const ENDPOINTS_OUTDATED: Code = Code::of_service("endpoints-outdated", Scope::Endpoints);
pub(super) const ENDPOINTS_NOT_KEPT: Code = Code::of_service("endpoints-not-kept", Scope::Endpoints);
pub(super) const UNREADABLE: Code = Code::of_service("unreadable", Scope::Both);

// The pod: membership.

pub(super) const LABEL_DIFFERS: Code = Code::of_pod("label-differs", Scope::Both);
pub(super) const NOT_SELECTED: Code = Code::of_pod("not-selected", Scope::Both);
pub(super) const POD_GONE: Code = Code::of_pod("pod-gone", Scope::Both);
pub(super) const POD_REPLACED: Code = Code::of_pod("pod-replaced", Scope::Both);
pub(super) const WRITTEN_BY_USER: Code = Code::of_pod("written-by-user", Scope::Both);
pub(super) const IN_FOREIGN_SLICE: Code = Code::of_pod("in-foreign-slice", Scope::Slices);

// The pod: life.

pub(super) const SUCCEEDED: Code = Code::of_pod("succeeded", Scope::Both);
pub(super) const FAILED: Code = Code::of_pod("failed", Scope::Both);
pub(super) const TERMINATING: Code = Code::of_pod("terminating", Scope::Both);
pub(super) const NOT_SCHEDULED: Code = Code::of_pod("not-scheduled", Scope::Both);
pub(super) const NODE_UNKNOWN: Code = Code::of_pod("node-unknown", Scope::Slices);

// The pod: addresses and ports.

pub(super) const NO_ADDRESS: Code = Code::of_pod("no-address", Scope::Both);
pub(super) const NO_ADDRESS_OF_FAMILY: Code = Code::of_pod("no-address-of-family", Scope::Both);
pub(super) const ADDRESS_REFUSED: Code = Code::of_pod("address-refused", Scope::Both);
pub(super) const ADDRESS_TOLERATED: Code = Code::of_pod("address-tolerated", Scope::Both);
pub(crate) const PORT_UNRESOLVED: Code = Code::of_pod("port-unresolved", Scope::Both);
pub(crate) const PORT_OF_OTHER_PROTOCOL: Code = Code::of_pod("port-of-other-protocol", Scope::Both);
pub(super) const CUT: Code = Code::of_pod("cut-at-capacity", Scope::Endpoints);

// The pod: readiness.

pub(super) const READINESS_GATE: Code = Code::of_pod("readiness-gate", Scope::Both);
pub(super) const CONTAINER_WAITING: Code = Code::of_pod("container-waiting", Scope::Both);
pub(super) const CONTAINER_TERMINATED: Code = Code::of_pod("container-terminated", Scope::Both);
pub(super) const PROBE_FAILS: Code = Code::of_pod("readiness-probe", Scope::Both);
pub(super) const STARTUP_PROBE: Code = Code::of_pod("startup-probe", Scope::Both);
pub(super) const INITIALIZING: Code = Code::of_pod("initializing", Scope::Both);
pub(super) const NODE_NOT_READY: Code = Code::of_pod("node-not-ready", Scope::Both);
pub(super) const NOT_READY: Code = Code::of_pod("not-ready", Scope::Both);
pub(super) const NO_READY_CONDITION: Code = Code::of_pod("no-ready-condition", Scope::Both);
pub(super) const KEPT_READY: Code = Code::of_pod("kept-ready", Scope::Both);
pub(super) const PUBLISHED_UNREADY: Code = Code::of_pod("published-unready", Scope::Both);

// The pod: hints.

pub(super) const NO_ZONE: Code = Code::of_pod("no-zone", Scope::Slices);

pub(super) const NOT_IN_NETWORK: Code = Code::of_pod("not-in-network", Scope::Slices);
pub(super) const NETWORK_NOT_READY: Code = Code::of_pod("network-not-ready", Scope::Slices);

// The pod: comparison.

pub(super) const LAGS: Code = Code::of_pod("lags", Scope::Both);
pub(super) const OUTDATED: Code = Code::of_pod("outdated", Scope::Both);
pub(super) const UNDECIDED: Code = Code::of_pod("undecided", Scope::Slices);
pub(super) const UNEXPLAINED: Code = Code::of_pod("unexplained", Scope::Both);

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
    ZONES_OUTDATED,
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
