//! Looking at one key, which changes nothing.

use std::time::Instant;

use super::super::delays::Wait;
use super::super::key::QueueKey;
use super::super::key_state::KeyState;
use super::super::unwritten::{Unwritten, merged};
use super::Core;

impl<K: QueueKey> Core<K> {
    /// The state of a key; none if nothing is known about it, because its last sync succeeded.
    pub(in super::super) fn key_state(&self, key: &K, now: Instant) -> Option<KeyState> {
        let age = |since: Instant| now.saturating_duration_since(since);
        let until = |deadline: Instant| deadline.saturating_duration_since(now);
        let (ready, processing, again) = (self.ready.get(key), self.processing.get(key), self.dirty.get(key));
        let (delay, retry) = (self.delays.get(Wait::Add, key), self.delays.get(Wait::Retry, key));
        let state = KeyState {
            syncing: processing.map(|processing| age(processing.since)),
            queued: ready.map(|(since, _)| since).or(again.map(|again| again.since)).map(age),
            delayed: delay.map(|delay| until(delay.deadline)),
            retry: retry.map(|retry| until(retry.deadline)),
            waits_to_write: self.delays.get(Wait::Turn, key).and_then(|turn| turn.urgency),
            failures: self.limiter.failures(key),
            unwritten: self.change_of(key).map(|change| age(change.since)),
            error: self.limiter.last_error(key, now),
        };
        (state != KeyState::default()).then_some(state)
    }

    /// The oldest change of a key that has not been written, wherever it is.
    pub(in super::super) fn change_of(&self, key: &K) -> Option<Unwritten> {
        let changes = [
            self.ready.get(key).and_then(|(_, change)| change),
            self.processing.get(key).and_then(|processing| processing.change),
            self.dirty.get(key).and_then(|again| again.change),
            self.delays.get(Wait::Add, key).and_then(|delay| delay.change),
            self.delays.get(Wait::Retry, key).and_then(|retry| retry.change),
            self.delays.get(Wait::Turn, key).and_then(|turn| turn.change),
        ];
        changes.into_iter().fold(None, merged)
    }

    /// Keeps the error of a key whose sync has just failed, if there is room.
    pub(in super::super) fn keep_error(&mut self, key: &K, reason: &'static str, text: &str, now: Instant) {
        self.limiter.keep_error(key, reason, text, now);
    }
}
