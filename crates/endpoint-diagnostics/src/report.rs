//! The report of one Service.

use serde::Serialize;

/// The codes of a Service that are notes.
const NOTES: [&str; 7] = [
    "delegation-ignored",
    "local-traffic",
    "more-near-misses",
    "hints-dropped",
    "hints-ignored",
    "zones-outdated",
    "endpoints-not-kept",
];

/// One Service: its pods, slices and Endpoints, and the reasons for what differs from a reader's expectation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ServiceReport {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The worst verdict of the Service itself and its pods.
    pub verdict: Verdict,
    /// True if clients reach the Service by an address of its own, and a port.
    #[serde(skip)]
    pub has_cluster_ip: bool,
    /// Numbers of pods.
    pub counts: Counts,
    /// Reasons that concern the Service as a whole.
    pub reasons: Vec<Reason>,
    /// The stored slices with the Service's name, of every manager, by name.
    pub slices: Vec<SliceReport>,
    /// The stored Endpoints of the Service's name.
    pub endpoints: Option<EndpointsReport>,
    /// The pods of interest, by name: selected ones, those that the selector misses by one label, and those that slices or
    /// Endpoints have although they are not selected or gone.
    pub pods: Vec<PodReport>,
}

impl ServiceReport {
    /// True if the Service has no selector: users or other programs write its Endpoints or slices.
    pub fn is_custom(&self) -> bool {
        self.reasons.iter().any(|reason| reason.code == "no-selector")
    }

    /// The first reason of the Service that is no [note](Reason::is_note).
    pub fn cause(&self) -> Option<&Reason> {
        self.reasons.iter().find(|reason| !reason.is_note())
    }

    /// True if time alone changes the report: a verdict that is late becomes wrong, and a pod is kept ready for a while.
    pub fn depends_on_time(&self) -> bool {
        let is_kept = |reason: &Reason| reason.code == "kept-ready";
        self.verdict == Verdict::Lagging || self.pods.iter().flat_map(|pod| &pod.reasons).any(is_kept)
    }
}

/// Numbers of pods of a Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// Pods that the Service selects.
    pub pods: usize,
    /// Selected pods whose Ready condition is true.
    pub ready: usize,
    /// Pods that some slice has, in any condition.
    pub in_slices: usize,
    /// Pods that the Endpoints have, ready or not.
    pub in_endpoints: usize,
}

/// One stored slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SliceReport {
    /// The name.
    pub name: String,
    /// `addressType`.
    pub address_type: String,
    /// The value of the label `endpointslice.kubernetes.io/managed-by`; empty if absent.
    pub managed_by: String,
    /// Ports, as `name:number/protocol`.
    pub ports: Vec<String>,
    /// The number of endpoints.
    pub endpoints: usize,
    /// The number of endpoints that are ready.
    pub ready: usize,
    /// The number of endpoints that are terminating and still serve.
    #[serde(skip)]
    pub serving: usize,
    /// True if connections to the Service reach its endpoints.
    #[serde(skip)]
    pub is_used: bool,
}

/// The stored Endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndpointsReport {
    /// Ready addresses, each counted once.
    pub addresses: usize,
    /// Addresses that are not ready, each counted once.
    pub not_ready: usize,
    /// True if the annotation says that the object lacks addresses beyond its capacity.
    pub truncated: bool,
}

/// One pod, with respect to one Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodReport {
    /// The name.
    pub name: String,
    /// The node; none if the pod is not scheduled, or gone.
    pub node: Option<String>,
    /// The pod's addresses.
    pub addresses: Vec<String>,
    /// The stored state in the slices.
    pub slices: Presence,
    /// True if the Service has a cluster IP, and no connection to it reaches the pod: its slices have none of the Service's ports, are
    /// of another family, or are labelled as those of a headless Service.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_ports: bool,
    /// The stored state in the Endpoints.
    pub endpoints: Presence,
    /// The comparison of both with what they should be.
    pub verdict: Verdict,
    /// The reasons for a presence other than [`Presence::Ready`], or for a verdict other than [`Verdict::Ok`].
    pub reasons: Vec<Reason>,
}

/// The state of a pod in slices or Endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Presence {
    /// Present and ready in every place.
    Ready,
    /// Present, terminating and still serving.
    Serving,
    /// Present and not ready.
    NotReady,
    /// Not present.
    #[default]
    Absent,
    /// No controller maintains slices or Endpoints of this Service by its pods.
    NotApplicable,
}

/// The comparison of stored objects with what they should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// As it should be, which may be absent by design.
    #[default]
    Ok,
    /// The answer depends on objects that the caller may not read.
    Unknown,
    /// Different, but the newest change that it depends on is younger than the bound: the controller may be about to write.
    Lagging,
    /// Different.
    Wrong,
}

/// The objects that a reason is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// The slices.
    Slices,
    /// The Endpoints.
    Endpoints,
    /// Slices and Endpoints.
    Both,
}

/// A reason, as text for a reader and a code for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reason {
    /// The code, in kebab case: a name that never changes.
    pub code: &'static str,
    /// A sentence without a full stop, which names the objects and values concerned.
    pub message: String,
    /// A remedy, if the state may be unwanted and the reader can change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The objects concerned.
    pub scope: Scope,
}

impl Reason {
    /// True for a note about a Service: it says why hints, zones or Endpoints are as they are, and never why endpoints are
    /// missing.
    pub fn is_note(&self) -> bool {
        NOTES.contains(&self.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::CODES;

    #[test]
    fn notes_are_codes_of_services() {
        for note in NOTES {
            assert!(CODES.iter().any(|code| code.name == note && code.of_service), "{note}");
        }
    }
}
