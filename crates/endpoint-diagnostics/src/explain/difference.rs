//! The stored and the desired objects of a Service, field by field.

use cli_runtime::differences::{Action, Change};
use endpoint_informers::pending::{PendingWrite, pending_slices};
use endpointslice::well_known::LAST_CHANGE_TRIGGER_TIME;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::planned::Planned;
use super::subject::Subject;

/// The most fields of one Service that are listed.
const MAX_FIELDS: usize = 500;

/// The writes that would end the differences, and the number of fields that are left out.
pub(super) fn differences(subject: &Subject<'_>, planned: Planned<'_>) -> (Vec<Change>, usize) {
    let existing: Vec<EndpointSlice> = subject.slices.iter().map(|slice| (*slice).clone()).collect();
    let plans = [planned.slice_plan, planned.mirror.plan].into_iter();
    let mut writes: Vec<PendingWrite> = plans.flat_map(|plan| pending_slices(plan, &existing)).collect();
    if let Some(wanted) = planned.endpoints.filter(|_| planned.endpoints_change) {
        let wanted = wanted.into_owned().into();
        writes.push(match subject.endpoints {
            Some(stored) => PendingWrite::Update(stored.clone().into(), wanted),
            None => PendingWrite::Create(wanted),
        });
    }
    let mut found: Vec<Change> = writes.iter().map(|write| change(subject, write)).collect();
    found.retain(|change| change.action != Action::Update || !change.fields.is_empty());
    let mut room = MAX_FIELDS;
    let mut omitted = 0;
    for change in &mut found {
        omitted += change.fields.len().saturating_sub(room);
        change.fields.truncate(room);
        room -= change.fields.len();
    }
    (found, omitted)
}

fn change(subject: &Subject<'_>, write: &PendingWrite) -> Change {
    let (before, after) = write.sides();
    let mut change = Change::of_write(before, after, LAST_CHANGE_TRIGGER_TIME);
    if subject.service().wants_topology_hints() {
        // Several divisions of endpoints among zones are right.
        change.fields.retain(|field| !field.path.contains("].hints"));
    }
    change
}
