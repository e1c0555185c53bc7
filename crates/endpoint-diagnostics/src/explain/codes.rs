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

/// The codes as constants, and as one list.
macro_rules! codes {
    ($($name:ident = $of:ident($text:literal, $scope:ident);)*) => {
        $(pub(crate) const $name: Code = Code::$of($text, Scope::$scope);)*

        /// All codes, in the order of the documentation.
        pub const CODES: &[Code] = &[$($name),*];
    };
}

codes! {
    // The Service.
    EXTERNAL_NAME = of_service("external-name", Both);
    NO_SELECTOR = of_service("no-selector", Both);
    NO_ENDPOINTS = of_service("no-endpoints-to-mirror", Both);
    SKIP_MIRROR = of_service("skip-mirror", Slices);
    LEADER_LOCK = of_service("leader-lock", Slices);
    MIRROR_TRUNCATED = of_service("mirror-truncated", Slices);
    MIRROR_REFUSED = of_service("mirror-address-refused", Slices);
    DELEGATED = of_service("delegated", Both);
    NO_NETWORK = of_service("no-network", Slices);
    AMBIGUOUS_NETWORK = of_service("ambiguous-network", Slices);
    DELEGATION_IGNORED = of_service("delegation-ignored", Both);
    SELECTS_NO_PODS = of_service("selects-no-pods", Both);
    MORE_NEAR_MISSES = of_service("more-near-misses", Both);
    NO_PORTS = of_service("no-ports", Endpoints);
    OVER_CAPACITY = of_service("over-capacity", Endpoints);
    LOCAL_TRAFFIC = of_service("local-traffic", Slices);
    ANOTHER_MANAGER = of_service("another-manager", Slices);
    BYPASSED_SLICE = of_service("bypassed-slice", Slices);
    LEFTOVER_SLICES = of_service("leftover-slices", Slices);
    LEFTOVER_ENDPOINTS = of_service("leftover-endpoints", Endpoints);
    TERMINATING_SLICE = of_service("terminating-slice", Slices);
    SERVICE_TERMINATING = of_service("service-terminating", Both);
    NAMESPACE_TERMINATING = of_service("namespace-terminating", Both);
    HINTS_DROPPED = of_service("hints-dropped", Slices);
    HINTS_IGNORED = of_service("hints-ignored", Slices);
    SLICES_OUTDATED = of_service("slices-outdated", Slices);
    ZONES_OUTDATED = of_service("zones-outdated", Slices);
    ENDPOINTS_OUTDATED = of_service("endpoints-outdated", Endpoints);
    ENDPOINTS_NOT_KEPT = of_service("endpoints-not-kept", Endpoints);
    UNREADABLE = of_service("unreadable", Both);

    // The pod: membership.
    LABEL_DIFFERS = of_pod("label-differs", Both);
    NOT_SELECTED = of_pod("not-selected", Both);
    POD_GONE = of_pod("pod-gone", Both);
    POD_REPLACED = of_pod("pod-replaced", Both);
    WRITTEN_BY_USER = of_pod("written-by-user", Both);
    IN_FOREIGN_SLICE = of_pod("in-foreign-slice", Slices);

    // The pod: life.
    SUCCEEDED = of_pod("succeeded", Both);
    FAILED = of_pod("failed", Both);
    TERMINATING = of_pod("terminating", Both);
    NOT_SCHEDULED = of_pod("not-scheduled", Both);
    NODE_UNKNOWN = of_pod("node-unknown", Slices);

    // The pod: addresses and ports.
    NO_ADDRESS = of_pod("no-address", Both);
    NO_ADDRESS_OF_FAMILY = of_pod("no-address-of-family", Both);
    ADDRESS_REFUSED = of_pod("address-refused", Both);
    ADDRESS_TOLERATED = of_pod("address-tolerated", Both);
    PORT_UNRESOLVED = of_pod("port-unresolved", Both);
    PORT_OF_OTHER_PROTOCOL = of_pod("port-of-other-protocol", Both);
    CUT = of_pod("cut-at-capacity", Endpoints);

    // The pod: readiness.
    READINESS_GATE = of_pod("readiness-gate", Both);
    CONTAINER_WAITING = of_pod("container-waiting", Both);
    CONTAINER_TERMINATED = of_pod("container-terminated", Both);
    PROBE_FAILS = of_pod("readiness-probe", Both);
    STARTUP_PROBE = of_pod("startup-probe", Both);
    INITIALIZING = of_pod("initializing", Both);
    NODE_NOT_READY = of_pod("node-not-ready", Both);
    NOT_READY = of_pod("not-ready", Both);
    NO_READY_CONDITION = of_pod("no-ready-condition", Both);
    KEPT_READY = of_pod("kept-ready", Both);
    PUBLISHED_UNREADY = of_pod("published-unready", Both);

    // The pod: hints.
    NO_ZONE = of_pod("no-zone", Slices);

    NOT_IN_NETWORK = of_pod("not-in-network", Slices);
    NETWORK_NOT_READY = of_pod("network-not-ready", Slices);

    // The pod: comparison.
    LAGS = of_pod("lags", Both);
    OUTDATED = of_pod("outdated", Both);
    UNDECIDED = of_pod("undecided", Slices);
    UNEXPLAINED = of_pod("unexplained", Both);
}
