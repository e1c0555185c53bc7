//! The stored and the desired objects of a Service, field by field.

use std::collections::BTreeMap;

use endpointslice::SlicePlan;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};

use super::entries::{pod_name, slice_port, state, subset_port};
use super::planned::Planned;
use super::subject::Subject;
use crate::report::{Change, Difference, FieldDifference, Presence};

/// The most fields of one Service that are listed.
const MAX_FIELDS: usize = 500;

/// The objects that differ from those that the controllers would write, and the number of fields that are left out.
pub(super) fn differences(subject: &Subject<'_>, planned: &Planned<'_>) -> (Vec<Difference>, usize) {
    let has_alternatives = subject.service().wants_topology_hints();
    let mut found = vec![];
    for plan in [&planned.slice_plan, &planned.mirror.plan] {
        found.extend(of_plan(subject, plan, has_alternatives));
    }
    if let Some(wanted) = planned.endpoints.as_deref().filter(|_| planned.endpoints_change) {
        let stored = subject.endpoints.map(of_endpoints).unwrap_or_default();
        let change = if subject.endpoints.is_some() { Change::Update } else { Change::Create };
        found.push(difference(
            "Endpoints",
            subject.service().name.to_string(),
            change,
            &stored,
            &of_endpoints(wanted),
        ));
    }
    found.retain(|difference| difference.change != Change::Update || !difference.fields.is_empty());
    let mut room = MAX_FIELDS;
    let mut omitted = 0;
    for difference in &mut found {
        omitted += difference.fields.len().saturating_sub(room);
        difference.fields.truncate(room);
        room -= difference.fields.len();
    }
    (found, omitted)
}

fn of_plan(subject: &Subject<'_>, plan: &SlicePlan, has_alternatives: bool) -> Vec<Difference> {
    let fields = |slice: &EndpointSlice| of_slice(slice, has_alternatives);
    let slice = |slice: &EndpointSlice, change, stored: &Fields, wanted: &Fields| {
        let name = slice.metadata.name.clone().or_else(|| slice.metadata.generate_name.clone());
        difference("EndpointSlice", name.unwrap_or_default(), change, stored, wanted)
    };
    let none = Fields::new();
    let mut found = vec![];
    for of_type in &plan.types {
        for update in &of_type.update {
            let stored = subject.slices.iter().find(|stored| stored.metadata.name == update.metadata.name);
            let stored = stored.map(|stored| fields(stored)).unwrap_or_default();
            found.push(slice(update, Change::Update, &stored, &fields(update)));
        }
        for create in of_type.create.iter().filter(|_| !of_type.creates_suppressed) {
            found.push(slice(create, Change::Create, &none, &fields(create)));
        }
    }
    let deleted = plan.types.iter().flat_map(|of_type| &of_type.delete).chain(&plan.delete_if_unchanged);
    found.extend(deleted.map(|delete| slice(delete, Change::Delete, &fields(delete), &none)));
    found
}

/// Values by what they belong to, and field. The field of an endpoint itself is empty, so that it comes first.
type Fields = BTreeMap<(String, String), String>;

fn difference(
    kind: &'static str,
    name: String,
    change: Change,
    stored: &Fields,
    wanted: &Fields,
) -> Difference {
    let keys = stored.keys().chain(wanted.keys().filter(|key| !stored.contains_key(*key)));
    let mut fields: Vec<FieldDifference> = keys
        .filter(|key| stored.get(*key) != wanted.get(*key))
        // An endpoint that is there on one side only is one difference.
        .filter(|(of, field)| {
            field.is_empty() || {
                let itself = (of.clone(), String::new());
                stored.contains_key(&itself) == wanted.contains_key(&itself)
            }
        })
        .map(|key| FieldDifference {
            of: key.0.clone(),
            field: key.1.clone(),
            present: stored.get(key).cloned(),
            desired: wanted.get(key).cloned(),
        })
        .collect();
    fields.sort_by(|a, b| (&a.of, &a.field).cmp(&(&b.of, &b.field)));
    Difference { kind, name, change, fields }
}

fn of_slice(slice: &EndpointSlice, has_alternatives: bool) -> Fields {
    let mut fields = Fields::new();
    let ports: Vec<String> = slice.ports.iter().flatten().map(slice_port).collect();
    fields.insert((String::new(), "ports".to_owned()), ports.join(", "));
    for (key, value) in slice.metadata.labels.iter().flatten() {
        fields.insert((String::new(), format!("labels.{key}")), value.clone());
    }
    for endpoint in slice.endpoints.iter().flatten() {
        let of = name_of(&endpoint.addresses.join(", "), endpoint.target_ref.as_ref().and_then(pod_name));
        for (field, value) in of_endpoint(endpoint, has_alternatives) {
            if !value.is_empty() {
                fields.insert((of.clone(), field.to_owned()), value);
            }
        }
        fields.insert((of, String::new()), word(state(endpoint.conditions.as_ref())).to_owned());
    }
    fields
}

fn of_endpoint(endpoint: &Endpoint, has_alternatives: bool) -> [(&'static str, String); 8] {
    let conditions = endpoint.conditions.clone().unwrap_or_default();
    let condition = |value: Option<bool>| value.map(|value| value.to_string()).unwrap_or_default();
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let zones = endpoint.hints.iter().flat_map(|hints| hints.for_zones.iter().flatten());
    let zones: Vec<&str> = zones.map(|zone| zone.name.as_str()).filter(|_| !has_alternatives).collect();
    [
        ("conditions.ready", condition(conditions.ready)),
        ("conditions.serving", condition(conditions.serving)),
        ("conditions.terminating", condition(conditions.terminating)),
        ("hints.forZones", zones.join(", ")),
        ("hostname", text(&endpoint.hostname)),
        ("nodeName", text(&endpoint.node_name)),
        (
            "targetRef.uid",
            endpoint.target_ref.as_ref().and_then(|target| target.uid.clone()).unwrap_or_default(),
        ),
        ("zone", text(&endpoint.zone)),
    ]
}

fn of_endpoints(endpoints: &Endpoints) -> Fields {
    let mut fields = Fields::new();
    for subset in endpoints.subsets.iter().flatten() {
        let ports: Vec<String> = subset.ports.iter().flatten().map(subset_port).collect();
        for (list, presence) in
            [(&subset.addresses, Presence::Ready), (&subset.not_ready_addresses, Presence::NotReady)]
        {
            for address in list.iter().flatten() {
                let of = name_of(&address.ip, address.target_ref.as_ref().and_then(pod_name));
                fields.insert((of.clone(), "ports".to_owned()), ports.join(", "));
                fields.insert((of, String::new()), word(presence).to_owned());
            }
        }
    }
    fields
}

fn name_of(addresses: &str, pod: Option<&str>) -> String {
    pod.map_or_else(|| addresses.to_owned(), |pod| format!("{pod} ({addresses})"))
}

fn word(presence: Presence) -> &'static str {
    match presence {
        Presence::Ready => "ready",
        Presence::Serving => "serving, terminating",
        _ => "not ready",
    }
}
