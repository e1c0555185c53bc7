//! `--watch`: each change of Services, after the first result.

use std::collections::BTreeMap;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::{ServiceReport, Snapshot};
use endpoint_diagnostics_page::follow::Change;
use jiff::Timestamp;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::time::sleep;

use super::command::Explanation;
use super::output::{self, View};
use super::select::{present, select};
use crate::cluster::Cluster;
use crate::exit::{self, Failure};
use crate::live::{Message, Watches};

/// The time for which changes are gathered before they are shown.
const BATCH: Duration = Duration::from_secs(1);

/// Prints the Services, and each again when it changes, until the reader of stdout closes it.
///
/// # Errors
/// A line about a cluster that cannot be read, about a Service that does not exist, or about watches that have ended.
pub(super) async fn watch(explanation: &Explanation, cluster: &Cluster) -> Result<(), Failure> {
    let view = View::of(explanation);
    let namespace = cluster.namespace.as_deref();
    let (mut snapshot, versions) = cluster.read_to_watch().await?;
    let first = select(explanation, &snapshot, namespace, &cluster.server)?;
    if !exit::show(&output::text(&first, view))? {
        return Ok(());
    }
    let mut shown = by_name(first);

    let mut watches = Watches::start(&cluster.client, namespace, versions);
    while let Some(batch) = next(&mut watches).await {
        if batch.is_empty() && !shown.values().any(ServiceReport::depends_on_time) {
            continue;
        }
        for message in batch {
            apply(&mut snapshot, message);
        }
        snapshot.set_now(Timestamp::now());
        // A Service that was asked for may be gone for a while.
        let now = by_name(present(explanation, &snapshot, namespace).0);
        for key in shown.keys().filter(|key| !now.contains_key(*key)) {
            let fate = if snapshot.service(key).is_some() { "is no longer selected" } else { "is deleted" };
            exit::note(&format!("Service {key} {fate}"));
        }
        let changed = now.iter().filter(|(key, report)| shown.get(*key) != Some(*report));
        let changed: Vec<ServiceReport> = changed.map(|(_, report)| report.clone()).collect();
        if !changed.is_empty() && !exit::show(&output::changed(&changed, view))? {
            return Ok(());
        }
        shown = now;
    }
    Err(Failure::Access("the watches have ended".to_owned()))
}

/// The messages of a while.
async fn next(watches: &mut Watches) -> Option<Vec<Message>> {
    sleep(BATCH).await;
    let mut batch = Vec::new();
    loop {
        match watches.try_next() {
            Ok(message) => batch.push(message),
            Err(TryRecvError::Empty) => return Some(batch),
            Err(TryRecvError::Disconnected) => return None,
        }
    }
}

fn apply(snapshot: &mut Snapshot, message: Message) {
    match message {
        Message::Changed(Change::Upserted(object)) => snapshot.upsert(object),
        Message::Changed(Change::Deleted { kind, namespace, name }) => {
            snapshot.remove(kind, &namespace, &name)
        }
        Message::Changed(Change::Listed(kind, objects)) => snapshot.replace(kind, objects),
        Message::Live(_) => {}
        Message::Failed(kind, reason) => {
            exit::note(&format!("Cannot watch {}, trying again: {reason}", kind.resource()));
        }
    }
}

fn by_name(reports: Vec<ServiceReport>) -> BTreeMap<ObjectKey, ServiceReport> {
    let key = |report: &ServiceReport| ObjectKey::new(report.namespace.as_str(), report.name.as_str());
    reports.into_iter().map(|report| (key(&report), report)).collect()
}
