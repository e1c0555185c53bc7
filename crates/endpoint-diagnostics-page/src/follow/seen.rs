//! Observed changes: history, answers of controllers, and numbers of writes.

use std::collections::BTreeMap;

use controller_kit::key::ObjectKey;
use endpoint_diagnostics::snapshot::Kind as ObjectKind;
use endpoint_diagnostics::{EndpointCounts, Object, ServiceReport, Snapshot, Verdict};
use jiff::Timestamp;

use crate::history::{Event, History, Kind, Tone, of_change};
use crate::overview::Writes;
use crate::row::Row;

/// The changes since the watch began.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) history: History,
    pub(super) writes: Writes,
    /// Changes that no write has answered yet.
    waiting: BTreeMap<ObjectKey, Waiting>,
}

/// The times of the oldest changes of a Service that the controllers have not answered.
#[derive(Default)]
struct Waiting {
    slices: Option<Timestamp>,
    endpoints: Option<Timestamp>,
}

impl Seen {
    /// Notes a change, before it is applied to the snapshot.
    pub(super) fn change(
        &mut self,
        at: Timestamp,
        snapshot: &Snapshot,
        kind: ObjectKind,
        key: (&str, &str),
        after: Option<&Object>,
    ) {
        for (service, event) in of_change(snapshot, kind, key, after) {
            self.event(at, service, event);
        }
    }

    fn event(&mut self, at: Timestamp, service: Option<ObjectKey>, event: Event) {
        if matches!(event.kind, Kind::Slice | Kind::Endpoints) {
            self.writes.add(at);
        }
        let took = service.as_ref().and_then(|key| self.answered(at, key, &event));
        self.history.push(at, service, event, took);
    }

    /// The milliseconds from the change that a write answers. A change is answered by the first write after it.
    fn answered(&mut self, at: Timestamp, key: &ObjectKey, event: &Event) -> Option<u64> {
        let since = match event.kind {
            Kind::Pod | Kind::Service => {
                let waiting = self.waiting.entry(key.clone()).or_default();
                waiting.slices.get_or_insert(at);
                waiting.endpoints.get_or_insert(at);
                None
            }
            Kind::Slice => self.waiting.get_mut(key)?.slices.take(),
            Kind::Endpoints => self.waiting.get_mut(key)?.endpoints.take(),
            Kind::Node | Kind::Report | Kind::Watch => None,
        };
        u64::try_from(at.duration_since(since?).as_millis()).ok()
    }

    /// Notes that the objects of a kind were listed anew, after a gap.
    pub(super) fn gap(&mut self, at: Timestamp, kind: ObjectKind) {
        let text = "were listed again after a gap; changes in it are seen as one";
        self.history.push(at, None, Event::new(Kind::Watch, kind.resource(), text, Tone::Neutral), None);
    }

    /// Notes what a new report says that the one before did not.
    pub(super) fn report(
        &mut self,
        now: Timestamp,
        key: &ObjectKey,
        before: Option<&Row>,
        report: &ServiceReport,
        traffic: &EndpointCounts,
    ) {
        if matches!(report.verdict, Verdict::Ok | Verdict::Unknown) {
            // Nothing is left to answer.
            self.waiting.remove(key);
        }
        let Some(before) = before else { return };
        let mut note = |text: &str, tone| {
            self.history.push(now, Some(key.clone()), Event::new(Kind::Report, &key.name, text, tone), None);
        };
        match (before.verdict == Verdict::Wrong, report.verdict == Verdict::Wrong) {
            (false, true) => note("differs from what the controllers would write", Tone::Bad),
            (true, false) => note("is what the controllers would write again", Tone::Good),
            _ => {}
        }
        match (before.traffic.ready > 0, traffic.ready > 0) {
            (true, false) => note("has no ready endpoint any more", Tone::Bad),
            (false, true) => note("has a ready endpoint", Tone::Good),
            _ => {}
        }
    }

    /// Forgets a Service that is gone, but not its history.
    pub(super) fn gone(&mut self, key: &ObjectKey) {
        self.waiting.remove(key);
    }
}
