//! The report of a Service: the stored state of its pods, the state they should have, and the reasons.

mod stored;

use std::collections::BTreeSet;

use controller_kit::key::ObjectKey;

use crate::report::{Counts, PodReport, Presence, ServiceReport, Verdict};
use crate::snapshot::Snapshot;
use stored::Stored;

/// The report of one Service; none if the snapshot doesn't have it.
pub fn explain(snapshot: &Snapshot, key: &ObjectKey) -> Option<ServiceReport> {
    let objects = snapshot.namespace(&key.namespace)?;
    let entry = objects.service(&key.name)?;
    let stored = Stored::read(objects, &key.name);
    let selected =
        entry.service.selector.as_ref().map(|it| objects.labels().selected(it)).unwrap_or_default();
    let present = stored.slices.keys().chain(stored.endpoints.keys()).copied();
    let names: BTreeSet<&str> = selected.iter().map(|name| &**name).chain(present).collect();
    let pods = names.iter().map(|name| {
        let pod = objects.pod(name);
        PodReport {
            name: (*name).to_owned(),
            node: pod.and_then(|entry| entry.pod.node_name.as_deref()).map(Into::into),
            addresses: pod
                .map(|entry| entry.pod.addresses.iter().map(ToString::to_string).collect())
                .unwrap_or_default(),
            slices: stored.slices.get(name).copied().unwrap_or(Presence::Absent),
            endpoints: stored.endpoints.get(name).copied().unwrap_or(Presence::Absent),
            verdict: Verdict::Ok,
            reasons: vec![],
        }
    });
    let is_ready = |name: &&std::sync::Arc<str>| objects.pod(name).is_some_and(|entry| entry.pod.ready);
    Some(ServiceReport {
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        verdict: Verdict::Ok,
        counts: Counts {
            pods: selected.len(),
            ready: selected.iter().filter(is_ready).count(),
            in_slices: stored.slices.len(),
            in_endpoints: stored.endpoints.len(),
        },
        reasons: vec![],
        slices: stored.slice_reports(),
        endpoints: stored.endpoints_report(),
        pods: pods.collect(),
    })
}

/// The reports of all Services, by namespace and name.
pub fn explain_all(snapshot: &Snapshot) -> Vec<ServiceReport> {
    snapshot.services().filter_map(|key| explain(snapshot, &key)).collect()
}
