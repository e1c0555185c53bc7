//! Parts of the cluster that the result leaves out, and the reasons.

use std::collections::{BTreeMap, BTreeSet};

use endpoint_diagnostics::{PodReport, Reason, ServiceReport};

/// The most names in one line.
const MAX_NAMES: usize = 5;

/// Reasons for which a Service gets no endpoints, by their codes.
const REASONS: [(&str, &str); 3] = [
    ("external-name", "Services of type ExternalName, which have no endpoints"),
    ("selects-no-pods", "Services that select no pod"),
    ("no-endpoints-to-mirror", "Services without a selector and without Endpoints to mirror"),
];
const DELEGATED: &str =
    "Services of other controllers (label service.kubernetes.io/endpoint-controller-name)";

/// A line for each reason for which Services get no endpoints, and one about pods without an address.
pub(super) fn lines(reports: &[ServiceReport]) -> Vec<String> {
    let mut skipped: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for ServiceReport { namespace, name, reasons, pods, .. } in reports {
        let has = |code: &str| reasons.iter().any(|reason| reason.code == code);
        let mut add =
            |reason, name: &str| skipped.entry(reason).or_default().insert(format!("{namespace}/{name}"));
        // What the stored slices say about the gate is not what the flags say.
        if has("delegated") || has("delegation-ignored") {
            add(DELEGATED, name);
            continue;
        }
        if let Some((_, reason)) = REASONS.into_iter().find(|(code, _)| has(code)) {
            add(reason, name);
        }
        for pod in pods.iter().filter(|pod| lacks_address(pod)) {
            add("pods without an address", &pod.name);
        }
    }
    let line = |(reason, names): (&str, BTreeSet<String>)| {
        format!("{reason}: {}", listed(&names.into_iter().collect::<Vec<_>>()))
    };
    skipped.into_iter().map(line).collect()
}

/// True if a pod that the Service selects, and that may still run, has no address.
fn lacks_address(pod: &PodReport) -> bool {
    let is_missing = |reason: &Reason| ["no-address", "not-scheduled"].contains(&reason.code);
    pod.addresses.is_empty() && pod.reasons.iter().any(is_missing)
}

/// The first names, and the number of the others.
pub(crate) fn listed(names: &[String]) -> String {
    let first = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        let names: Vec<String> = (0..7).map(|number| number.to_string()).collect();
        assert_eq!(listed(&names), "0, 1, 2, 3, 4 and 2 more");
        assert_eq!(listed(&names[..2]), "0, 1");
    }
}
