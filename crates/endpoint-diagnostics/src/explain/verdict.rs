//! The verdict about a difference between stored objects and what they should be, and the differences that are in no pod.

use endpointslice::SlicePlan;
use endpointslice::well_known::{ENDPOINTS_MANAGED_BY, ENDPOINTS_OVER_CAPACITY, HEADLESS};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::codes::{self, Code};
use super::entries::differing;
use super::planned::Planned;
use super::subject::{EndpointSource, Subject};
use super::time::{self, LAG_BOUND};
use crate::metadata::{annotation, name};
use crate::report::{Reason, Scope, Verdict};

/// A difference: lag if the `newest` change it depends on is young, else wrong.
pub(super) fn judge(
    now: Timestamp,
    newest: Option<Timestamp>,
    scope: Scope,
    difference: &str,
) -> (Verdict, Reason) {
    let objects = objects(scope);
    let age = newest.map(|newest| now.duration_since(newest)).filter(|age| age.abs() < LAG_BOUND);
    match age {
        Some(age) => {
            let seconds = age.as_secs().max(0);
            let message =
                format!("the newest change is {seconds} s old, and the {objects} lag behind: {difference}");
            (Verdict::Lagging, codes::LAGS.within(scope, message))
        }
        None => (Verdict::Wrong, outdated(codes::OUTDATED, scope, difference)),
    }
}

fn outdated(code: Code, scope: Scope, difference: &str) -> Reason {
    let reason = code.with_remedy(
        format!("{} differ from what they should be: {difference}", objects(scope)),
        "look at the events of the Service and the log of the controller; any change of the Service starts a new sync",
    );
    Reason { scope, ..reason }
}

fn objects(scope: Scope) -> &'static str {
    match scope {
        Scope::Slices => "slices",
        Scope::Endpoints => "Endpoints",
        Scope::Both => "slices and Endpoints",
    }
}

/// The differences that are in no pod; to be called if no pod of the scope differs.
pub(super) fn of_service(
    subject: &Subject<'_>,
    planned: &Planned<'_>,
    others: Others,
) -> Vec<(Verdict, Reason)> {
    let now = subject.snapshot.now();
    let of_service = time::of_metadata(&subject.entry.object.metadata, now);
    let of_endpoints = subject.endpoints.and_then(|endpoints| time::of_metadata(&endpoints.metadata, now));
    let newest = of_service.max(of_endpoints);
    let mut found = vec![];
    let differs = if others.slices { slices_differ(subject, planned, others.slices_differ) } else { None };
    if let Some(difference) = differs {
        found.push(as_service(judge(now, newest, Scope::Slices, &difference), codes::SLICES_OUTDATED));
    }
    let wanted = planned.endpoints.as_deref().filter(|_| others.endpoints && planned.endpoints_change);
    let differs =
        wanted.and_then(|wanted| endpoints_differ(subject.endpoints, wanted, others.addresses_differ));
    if let Some(difference) = differs {
        found.push(as_service(
            judge(now, of_service, Scope::Endpoints, &difference),
            codes::ENDPOINTS_OUTDATED,
        ));
    }
    if subject.refuses_objects() {
        found.clear();
    }
    found
}

/// The scopes in which no pod differs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Others {
    pub(super) slices: bool,
    pub(super) endpoints: bool,
    /// True if addresses that are not pods differ.
    pub(super) slices_differ: bool,
    pub(super) addresses_differ: bool,
}

/// A difference of a Service has its own code.
fn as_service((verdict, reason): (Verdict, Reason), code: Code) -> (Verdict, Reason) {
    let code = if verdict == Verdict::Wrong { code.name } else { reason.code };
    (verdict, Reason { code, ..reason })
}

/// The differences of the metadata and the number of slices.
fn slices_differ(subject: &Subject<'_>, planned: &Planned<'_>, others: bool) -> Option<String> {
    let plans: [&SlicePlan; 2] = [&planned.slice_plan, &planned.mirror.plan];
    let mut found: Vec<String> =
        others.then(|| "addresses that do not belong to pods".to_owned()).into_iter().collect();
    for plan in plans {
        for slice in &plan.delete_if_unchanged {
            found.push(format!("slice {} should not exist", name(&slice.metadata)));
        }
        for plan in &plan.types {
            found.extend(
                plan.delete.iter().map(|slice| format!("slice {} should not exist", name(&slice.metadata))),
            );
            if !plan.creates_suppressed {
                found.extend(
                    plan.create.iter().map(|slice| format!("a slice for {} is missing", slice.address_type)),
                );
            }
            let updates = plan.update.iter().filter_map(|update| {
                let stored =
                    subject.slices.iter().find(|slice| slice.metadata.name == update.metadata.name)?;
                update_differs(stored, update, subject)
            });
            found.extend(updates);
        }
    }
    (!found.is_empty()).then(|| found.join("; "))
}

fn update_differs(stored: &EndpointSlice, update: &EndpointSlice, subject: &Subject<'_>) -> Option<String> {
    let hints = |slice: &EndpointSlice| -> Vec<_> {
        let endpoints = slice.endpoints.iter().flatten();
        endpoints.map(|endpoint| (endpoint.addresses.clone(), endpoint.hints.clone())).collect()
    };
    let ports = |slice: &EndpointSlice| slice.ports.clone().unwrap_or_default();
    let count = |slice: &EndpointSlice| slice.endpoints.as_ref().map_or(0, Vec::len);
    let mirrored = subject.source == EndpointSource::CustomEndpoints;
    // Several divisions of endpoints among zones are right, and upstream's need not be ours.
    let hints_count = !subject.service().wants_topology_hints();
    let fields = differing([
        ("labels", stored.metadata.labels != update.metadata.labels),
        ("annotations", mirrored && stored.metadata.annotations != update.metadata.annotations),
        ("owner", mirrored && stored.metadata.owner_references != update.metadata.owner_references),
        ("ports", ports(stored) != ports(update)),
        ("endpoints", count(stored) != count(update)),
        ("hints", hints_count && hints(stored) != hints(update)),
    ]);
    (!fields.is_empty())
        .then(|| format!("slice {} has outdated {}", name(&stored.metadata), fields.join(", ")))
}

/// The differences between Endpoints that have the same pods.
fn endpoints_differ(stored: Option<&Endpoints>, wanted: &Endpoints, others: bool) -> Option<String> {
    let Some(stored) = stored else { return Some("the object is missing".to_owned()) };
    // Releases before 1.33 don't set it.
    let labels = |endpoints: &Endpoints| {
        let mut labels = endpoints.metadata.labels.clone().unwrap_or_default();
        labels.remove(ENDPOINTS_MANAGED_BY);
        labels.remove(HEADLESS);
        labels
    };
    let [was_cut, is_cut] =
        [stored, wanted].map(|object| annotation(&object.metadata, ENDPOINTS_OVER_CAPACITY));
    let fields = differing([
        ("labels", labels(stored) != labels(wanted)),
        ("the annotation about capacity", was_cut != is_cut),
        ("addresses that do not belong to pods", others),
    ]);
    (!fields.is_empty()).then(|| format!("outdated {}", fields.join(", ")))
}
