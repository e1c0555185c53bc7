//! The report of a Service: the stored state of its pods, the state they should have, and the reasons.
//!
//! The state that pods should have is the outcome of the controllers' own plans. The reasons come from predicates on the
//! pods, which predict that state once more; a prediction that differs from the plan is reported as `unexplained`.
//!
//! A difference between stored and planned objects is `lagging` if the newest change that it depends on is younger than
//! [`LAG_BOUND`], else `wrong`. A pod that is gone leaves no time behind, so that its remains in slices are `wrong` at
//! once; the message says that a moment's delay may be the cause.

pub(crate) mod codes;
mod comparison;
mod difference;
pub(crate) mod entries;
mod membership;
mod network;
mod planned;
mod predicted;
mod readiness;
mod service;
pub(crate) mod subject;
pub(crate) mod time;
mod verdict;

use cli_runtime::differences::Change;
use controller_kit::key::ObjectKey;
use endpointslice::well_known::ENDPOINTS_OVER_CAPACITY;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::metadata::{annotation, name, slice_manager};
use crate::report::{Counts, EndpointsReport, Presence, ServiceReport, SliceReport, Verdict};
use crate::snapshot::Snapshot;
use comparison::Comparison;
use entries::{Entries, presence, slice_port};
use planned::Planned;
use subject::Subject;

pub use codes::{CODES, Code};
pub use time::LAG_BOUND;

/// The report of one Service; none if the snapshot doesn't have it.
///
/// Cost: linear in the Service's pods and endpoints, as a sync.
pub fn explain(snapshot: &Snapshot, key: &ObjectKey) -> Option<ServiceReport> {
    let subject = Subject::new(snapshot, key)?;
    Some(report(&subject, &Planned::new(&subject), key))
}

/// The report of one Service, with the writes by which its slices and Endpoints become what they should be, and the number of
/// fields that are left out there. There are some only if the verdict is lagging or wrong.
pub fn explain_with_differences(
    snapshot: &Snapshot,
    key: &ObjectKey,
) -> Option<(ServiceReport, Vec<Change>, usize)> {
    let subject = Subject::new(snapshot, key)?;
    let planned = Planned::new(&subject);
    let report = report(&subject, &planned, key);
    let (differences, omitted) = match report.verdict {
        Verdict::Lagging | Verdict::Wrong => difference::differences(&subject, planned),
        Verdict::Ok | Verdict::Unknown => (vec![], 0),
    };
    Some((report, differences, omitted))
}

fn report(subject: &Subject<'_>, planned: &Planned<'_>, key: &ObjectKey) -> ServiceReport {
    let comparison = Comparison::new(subject, planned);
    let pods = comparison.pods();
    let of_service = comparison.of_service(&pods);
    let verdicts = pods.iter().map(|pod| pod.verdict).chain(of_service.iter().map(|(found, _)| *found));
    let mut verdict = verdicts.max().unwrap_or(Verdict::Ok);
    // Readers take the first reason for the cause: notes come last.
    let (notes, differences): (Vec<_>, Vec<_>) =
        of_service.into_iter().partition(|(found, _)| *found == Verdict::Ok);
    let mut reasons: Vec<_> = differences.into_iter().map(|(_, reason)| reason).collect();
    reasons.extend(service::reasons(subject, planned));
    reasons.extend(notes.into_iter().map(|(_, reason)| reason));
    if subject.is_undecided() {
        verdict = verdict.max(Verdict::Unknown);
    }
    let present = |state: fn(&crate::report::PodReport) -> Presence| {
        pods.iter().filter(|pod| !matches!(state(pod), Presence::Absent | Presence::NotApplicable)).count()
    };
    let counts = Counts {
        pods: subject.selected.len(),
        ready: subject.selected.iter().filter(|entry| subject.pod(entry).ready).count(),
        in_slices: present(|pod| pod.slices),
        in_endpoints: present(|pod| pod.endpoints),
    };
    ServiceReport {
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        verdict,
        has_cluster_ip: subject.entry.has_cluster_ip(),
        counts,
        reasons,
        slices: subject.slices.iter().map(|slice| slice_report(subject, slice)).collect(),
        endpoints: subject.endpoints.map(endpoints_report),
        pods,
    }
}

/// The reports of all Services, by namespace and name.
pub fn explain_all(snapshot: &Snapshot) -> Vec<ServiceReport> {
    snapshot.services().filter_map(|key| explain(snapshot, &key)).collect()
}

fn slice_report(subject: &Subject<'_>, slice: &EndpointSlice) -> SliceReport {
    let entries = Entries::of_slices([slice], false);
    let all = || entries.pods.values().flatten().chain(&entries.others);
    let count = |wanted| all().filter(|entry| presence(std::slice::from_ref(*entry)) == wanted).count();
    SliceReport {
        name: name(&slice.metadata).to_owned(),
        address_type: slice.address_type.clone(),
        managed_by: slice_manager(slice).to_owned(),
        ports: slice.ports.iter().flatten().map(slice_port).collect(),
        endpoints: slice.endpoints.as_ref().map_or(0, Vec::len),
        ready: count(Presence::Ready),
        serving: count(Presence::Serving),
        is_used: subject.entry.bypasses(slice).is_none(),
    }
}

fn endpoints_report(endpoints: &Endpoints) -> EndpointsReport {
    let entries = Entries::of_endpoints(Some(endpoints));
    let all = || entries.pods.values().flatten().chain(&entries.others);
    let count = |wanted| {
        let of = all().filter(|entry| presence(std::slice::from_ref(*entry)) == wanted).map(|entry| entry.ip);
        of.collect::<std::collections::BTreeSet<_>>().len()
    };
    EndpointsReport {
        addresses: count(Presence::Ready),
        not_ready: count(Presence::NotReady),
        truncated: annotation(&endpoints.metadata, ENDPOINTS_OVER_CAPACITY).is_some(),
    }
}
