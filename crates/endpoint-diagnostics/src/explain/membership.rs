//! The pods that a selector misses, and those that slices or Endpoints have although it does.

use endpointslice::model::LabelSet;

use super::codes;
use super::subject::Subject;
use crate::report::Reason;
use crate::snapshot::{NearMiss, PodEntry};

/// The most near misses that are listed for a Service.
pub(super) const MAX_NEAR_MISSES: usize = 10;

/// The pods that have all labels of the selector but one, the closest first, and the number of all.
pub(super) fn near_misses(subject: &Subject<'_>) -> (Vec<NearMiss>, usize) {
    let Some(selector) = subject.service().selector.as_ref() else { return (vec![], 0) };
    let is_running =
        |miss: &NearMiss| subject.objects.pod(&miss.pod).is_some_and(|entry| !entry.pod.terminal);
    let mut misses: Vec<NearMiss> =
        subject.objects.labels().near_misses(selector).into_iter().filter(is_running).collect();
    let all = misses.len();
    misses.sort_by_cached_key(|miss| (miss.distance(), miss.pod.clone()));
    misses.truncate(MAX_NEAR_MISSES);
    (misses, all)
}

/// The reason for a pod that the selector misses by one label.
pub(super) fn label_differs(miss: &NearMiss) -> Reason {
    let NearMiss { key, wanted, found, .. } = miss;
    let found = match found {
        Some(found) => format!("the pod has {key}={found}"),
        None => format!("the pod has no label {key}"),
    };
    codes::LABEL_DIFFERS.with_remedy(
        format!("the selector wants {key}={wanted}, and {found}"),
        format!("if the pod belongs to the Service, set {key}={wanted} in the labels of its template"),
    )
}

/// The reason for a pod that slices or Endpoints have and the Service doesn't select.
pub(super) fn not_selected(selector: Option<&LabelSet>, entry: &PodEntry) -> Reason {
    let labels = &entry.pod.labels;
    let differs = selector.into_iter().flat_map(LabelSet::iter).filter_map(|(key, wanted)| {
        let found = labels.get(key);
        (found != Some(&**wanted)).then(|| match found {
            Some(found) => format!("{key}={found} instead of {wanted}"),
            None => format!("no {key}={wanted}"),
        })
    });
    let differs: Vec<String> = differs.collect();
    codes::NOT_SELECTED.reason(format!("the Service does not select the pod: it has {}", differs.join(", ")))
}
