//! The steps of the delay from a pod's change to its slice, by the API server's audit log.

use std::collections::HashMap;

use jiff::Timestamp;
use tests::audit::Request;

use super::figures::Figures;

/// Adds the median time, in milliseconds, of each step of the changes that a phase made: the patch of the pod, what passes from
/// its answer to the write of the slice, and the writes of slice and Endpoints. The second is negative where the write is sent
/// before the client of the patch has its answer.
pub(crate) fn add(figures: &mut Figures, requests: &[Request], user: &str) {
    let patched: HashMap<(&str, &str), &Request> = requests
        .iter()
        .filter(|request| request.resource == "pods/status")
        .filter_map(|request| Some(((&*request.namespace, service_of(&request.name)?), request)))
        .collect();
    let writes = |resource: &'static str| {
        let of_kind = move |request: &&Request| request.resource == resource && request.user == user;
        requests.iter().filter(of_kind).filter(|request| request.is_write())
    };
    let slices = || writes("endpointslices");
    let since_patch = |write: &Request| {
        let patch = patched.get(&(&*write.namespace, service_of(&write.name)?))?;
        Some(milliseconds(patch.answered, write.received))
    };
    let took = |request: &Request| milliseconds(request.received, request.answered);
    let steps = [
        ("patch_p50_milliseconds", patched.values().map(|patch| took(patch)).collect()),
        ("patch_to_write_p50_milliseconds", slices().filter_map(since_patch).collect()),
        ("slice_write_p50_milliseconds", slices().map(took).collect()),
        ("endpoints_write_p50_milliseconds", writes("endpoints").map(took).collect()),
    ];
    figures.extend(steps.map(|(name, times)| (name, median(times))));
}

/// The Service whose pod or slice has this name: seeded Services are called `svc-N`.
fn service_of(name: &str) -> Option<&str> {
    name.match_indices('-').nth(1).map(|(end, _)| &name[..end])
}

fn milliseconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64() * 1e3
}

/// The median; 0 of no values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
