//! The readiness of a Service over the last quarter of an hour.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

/// The time that a trend covers.
const SPAN: SignedDuration = SignedDuration::from_mins(15);
/// The points of a trend.
const POINTS: usize = 24;

/// The endpoints of a Service at the times at which their number changed, the newest last: seconds since the epoch, those that
/// are ready, and all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Trend(VecDeque<(i64, usize, usize)>);

impl Trend {
    /// The trend after a time, if it is new.
    pub(crate) fn after(&self, now: Timestamp, ready: usize, all: usize) -> Self {
        let mut points = self.0.clone();
        if points.back().is_none_or(|(_, was_ready, were_all)| (*was_ready, *were_all) != (ready, all)) {
            points.push_back((now.as_second(), ready, all));
        }
        let start = now.checked_sub(SPAN).unwrap_or(Timestamp::MIN).as_second();
        // Of the points before the span the last one says what it began with.
        while points.len() > POINTS || points.get(1).is_some_and(|(time, ..)| *time <= start) {
            points.pop_front();
        }
        Self(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn changes_of_the_last_quarter_of_an_hour_are_kept() {
        let trend = [(0, 1), (10, 1), (20, 2), (30, 1), (1000, 3)]
            .into_iter()
            .fold(Trend::default(), |trend, (time, ready)| trend.after(at(time), ready, 3));
        assert_eq!(
            serde_json::to_string(&trend).unwrap(),
            "[[30,1,3],[1000,3,3]]",
            "with what the span began"
        );
    }

    #[test]
    fn a_service_that_flaps_has_a_bound() {
        let flapping = (0..1000)
            .fold(Trend::default(), |trend, time| trend.after(at(time), usize::from(time % 2 == 0), 1));
        assert_eq!(flapping.0.len(), POINTS);
    }
}
