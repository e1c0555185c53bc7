//! The state of Services as text and JSON. Pure; the time is an argument.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use cli_runtime::printing::aligned;
use controller_kit::key::ObjectKey;
use controller_kit::queue::{KeyState, LastError};
use jiff::Timestamp;
use serde::Serialize;

/// The state of a Service in one controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum SyncState {
    /// Its last sync succeeded, and nothing has changed since.
    InSync,
    /// A change waits for others, or for its turn.
    Delayed,
    /// The cache does not show the last write yet.
    WaitingForCache,
    /// Its plan waits for the rate limit.
    WaitingToWrite,
    Queued,
    Syncing,
    /// Its last sync failed. It is retried until one succeeds.
    Failing,
}

impl SyncState {
    fn of(state: &KeyState) -> Self {
        let KeyState { syncing, queued, delayed, retry, waits_to_write, failures, error, .. } = state;
        match () {
            () if *failures > 0 || error.is_some() => Self::Failing,
            () if syncing.is_some() => Self::Syncing,
            () if queued.is_some() => Self::Queued,
            () if waits_to_write.is_some() => Self::WaitingToWrite,
            () if retry.is_some() => Self::WaitingForCache,
            () if delayed.is_some() => Self::Delayed,
            () => Self::InSync,
        }
    }
}

/// The state of a Service in one controller.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ControllerSync {
    controller: &'static str,
    pub(super) state: SyncState,
    /// The event that ends the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<&'static str>,
    /// The urgency of the plan that waits for the rate limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    urgency: Option<&'static str>,
    /// The number of consecutive failures.
    failures: u32,
    /// The start of the sync that runs, or the time of the last one if that failed; those that succeeded are not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_sync: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_error: Option<Failure>,
    /// The time of the next sync, unless it runs or waits for a worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_sync: Option<String>,
    /// The time of the oldest change that is not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    unwritten_since: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Failure {
    reason: &'static str,
    message: String,
}

impl ControllerSync {
    /// From the state of the key in the controller's queue, which may know nothing about it.
    pub(super) fn of(controller: &'static str, state: Option<KeyState>, now: Timestamp) -> Self {
        let key = state.unwrap_or_default();
        let state = SyncState::of(&key);
        let KeyState { syncing, queued, delayed, retry, waits_to_write, failures, unwritten, error } = key;
        let next = delayed.into_iter().chain(retry).min();
        let waits_for = match () {
            () if syncing.is_some() => Some("the end of its sync"),
            () if queued.is_some() => Some("a worker"),
            () if waits_to_write.is_some() => Some("its turn under the rate limit"),
            () if next.is_none() => None,
            () if next == delayed => Some("the end of its delay"),
            () if state == SyncState::Failing => Some("its retry"),
            () => Some("the cache to show its last write"),
        };
        let ago = |age: Duration| time(now, age, Timestamp::checked_sub);
        Self {
            controller,
            state,
            waits_for,
            urgency: waits_to_write,
            failures,
            last_sync: syncing.or(error.as_ref().map(|error| error.age)).and_then(ago),
            last_error: error.map(|LastError { reason, text, .. }| Failure { reason, message: text }),
            next_sync: next
                .filter(|_| syncing.is_none() && queued.is_none())
                .and_then(|wait| time(now, wait, Timestamp::checked_add)),
            unwritten_since: unwritten.and_then(ago),
        }
    }

    fn row(&self) -> [String; 6] {
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        [
            format!("{:?}", self.state),
            self.failures.to_string(),
            shown(&self.last_sync),
            shown(&self.next_sync),
            shown(&self.unwritten_since),
            match (self.waits_for, self.urgency) {
                (Some(event), Some(urgency)) if self.state == SyncState::WaitingToWrite => {
                    format!("{event}: {urgency}")
                }
                (event, _) => event.unwrap_or("-").to_owned(),
            },
        ]
    }

    /// The error on one line. It may hold what a webhook answered.
    fn error_line(&self) -> Option<String> {
        let Failure { reason, message } = self.last_error.as_ref()?;
        Some(format!("{}: {reason}: {}\n", self.controller, message.replace(char::is_control, " ")))
    }
}

/// A time to the second.
fn time<E>(
    now: Timestamp,
    distance: Duration,
    step: fn(Timestamp, Duration) -> Result<Timestamp, E>,
) -> Option<String> {
    let time = step(now, distance).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

const HEAD: [&str; 6] = ["STATE", "FAILURES", "LAST SYNC", "NEXT SYNC", "UNWRITTEN SINCE", "WAITS FOR"];

const STANDBY: &str = "The controllers of this replica do not run: ask the one that holds the Lease.\n";

/// The state of a Service in several controllers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServiceState {
    namespace: String,
    name: String,
    /// False: the controllers of this replica do not run. Not in a list, which has it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    leads: Option<bool>,
    /// False if the cache has no such Service, as for custom Endpoints that lost theirs. Not in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    exists: Option<bool>,
    pub(super) controllers: Vec<ControllerSync>,
}

impl ServiceState {
    /// An entry of a list: the controllers in which the Service is in a state.
    pub(super) fn of_state(
        key: &ObjectKey,
        state: SyncState,
        controllers: impl Iterator<Item = ControllerSync>,
    ) -> Self {
        Self::new(key, controllers.filter(|controller| controller.state == state).collect())
    }

    pub(super) fn new(key: &ObjectKey, controllers: Vec<ControllerSync>) -> Self {
        let (namespace, name) = (key.namespace.to_string(), key.name.to_string());
        Self { namespace, name, leads: None, exists: None, controllers }
    }

    /// The same on a page of its own.
    pub(super) fn on_page(self, leads: bool, exists: bool) -> Self {
        Self { leads: Some(leads), exists: Some(exists), ..self }
    }

    fn rows(&self, service: Option<&str>) -> impl Iterator<Item = Vec<String>> {
        self.controllers.iter().map(move |controller| {
            let first = service.into_iter().chain([controller.controller]).map(str::to_owned);
            first.chain(controller.row()).collect()
        })
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("Service {}/{}\n", self.namespace, self.name);
        if self.exists == Some(false) {
            text.push_str("It is not in the cache.\n");
        }
        if self.leads == Some(false) {
            text.push_str(STANDBY);
        }
        let head = ["CONTROLLER"].into_iter().chain(HEAD).map(str::to_owned).collect();
        text.push('\n');
        text.push_str(&aligned(&std::iter::once(head).chain(self.rows(None)).collect::<Vec<_>>()));
        text + &errors(&self.controllers)
    }
}

/// The Services that fail, or that wait to be written.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServiceList {
    pub(super) leads: bool,
    pub(super) state: SyncState,
    /// Their number; the list may be shorter.
    pub(super) total: usize,
    pub(super) services: Vec<ServiceState>,
    /// The numbers of plans that wait for the rate limit, by their urgency; of all controllers.
    pub(super) waiting_to_write: BTreeMap<&'static str, usize>,
}

impl ServiceList {
    pub(super) fn text(&self) -> String {
        let what = match self.state {
            SyncState::WaitingToWrite => "Services whose plan waits for the rate limit",
            _ => "Services whose last sync failed",
        };
        let mut text = format!("{what}: {}\n", self.total);
        if !self.waiting_to_write.is_empty() {
            let counts = self.waiting_to_write.iter().map(|(urgency, count)| format!("{urgency} {count}"));
            let counts: Vec<String> = counts.collect();
            let _ = writeln!(text, "Plans that wait for the rate limit: {}", counts.join(", "));
        }
        if self.services.len() < self.total {
            let _ = writeln!(text, "The first {} of them:", self.services.len()); // into a String: cannot fail
        }
        if !self.leads {
            text.push_str(STANDBY);
        }
        if self.services.is_empty() {
            return text;
        }
        let mut rows = vec![["SERVICE", "CONTROLLER"].into_iter().chain(HEAD).map(str::to_owned).collect()];
        for service in &self.services {
            rows.extend(service.rows(Some(&format!("{}/{}", service.namespace, service.name))));
        }
        text.push('\n');
        text + &aligned(&rows)
    }
}

fn errors(controllers: &[ControllerSync]) -> String {
    let lines: String = controllers.iter().filter_map(ControllerSync::error_line).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

#[cfg(test)]
mod tests;
