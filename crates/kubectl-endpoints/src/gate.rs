//! The takeover gate of the leader (`--takeover-max-writes`), as the events of its Lease show it.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Event;
use kube_api::{ApiClient, ApiError};

use crate::objects;

/// The state of the gate since the Lease was acquired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gate {
    /// The reason why it is closed.
    pub(crate) held: Option<String>,
    /// The time at which it was opened, in whole seconds.
    pub(crate) passed: Option<Timestamp>,
}

impl Gate {
    /// Reads the events of a Lease that was acquired then.
    pub(crate) async fn read(
        client: &ApiClient,
        namespace: &str,
        lease: &str,
        acquired: Timestamp,
    ) -> Result<Self, ApiError> {
        let selector = format!("involvedObject.kind%3DLease%2CinvolvedObject.name%3D{lease}");
        let path = format!("/api/v1/namespaces/{namespace}/events?fieldSelector={selector}");
        let events: Vec<Event> = objects::list(client, &path).await?;
        Ok(Self::of(&events, acquired))
    }

    fn of(events: &[Event], acquired: Timestamp) -> Self {
        // Times of events have whole seconds.
        let begin = acquired.checked_sub(SignedDuration::from_secs(1)).unwrap_or(acquired);
        let newest = |reason: &str| {
            let of_reason = events.iter().filter(|event| event.reason.as_deref() == Some(reason));
            let dated = of_reason.filter_map(|event| Some((time(event)?, event)));
            dated.filter(|(time, _)| *time >= begin).max_by_key(|(time, _)| *time)
        };
        let passed = newest("TakeoverPassed").map(|(time, _)| time);
        let held = newest("TakeoverHeld").filter(|_| passed.is_none());
        Self { held: held.and_then(|(_, event)| event.message.clone()), passed }
    }
}

fn time(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
    let times = [
        series.map(|time| time.0),
        event.last_timestamp.as_ref().map(|time| time.0),
        event.event_time.as_ref().map(|time| time.0),
    ];
    times.into_iter().flatten().next()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_gate_is_that_of_the_present_leader() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let event = |reason: &str, second: i64| -> Event {
            serde_json::from_value(json!({"metadata": {}, "involvedObject": {}, "reason": reason,
                "message": format!("{reason} at {second}"), "lastTimestamp": at(second).to_string()}))
            .unwrap()
        };
        let earlier = [event("TakeoverHeld", 50), event("TakeoverPassed", 60), event("LeaderElection", 101)];
        assert_eq!(Gate::of(&earlier, at(100)), Gate::default());
        let held = [&earlier[..], &[event("TakeoverHeld", 102)]].concat();
        let gate = Gate::of(&held, at(100));
        assert_eq!((gate.held.as_deref(), gate.passed), (Some("TakeoverHeld at 102"), None));
        let passed = [&held[..], &[event("TakeoverPassed", 130)]].concat();
        assert_eq!(Gate::of(&passed, at(100)), Gate { held: None, passed: Some(at(130)) });
    }
}
