//! Differences of one controller over time: since when they exist, which outlast the grace period, and how long those that ended
//! took. Pure; the clock is an argument.
//!
//! The age of an object that would be updated is that of its oldest differing field: a slice that is always a little late is
//! not a difference that lasts, as long as each of its endpoints is right in time.

use std::collections::HashMap;
use std::mem;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use kube_api::time::Instant;

use super::found::{Field, Found, Identity, Kind};

/// The most fields of one object that are followed. Others take their place when they end.
pub(super) const MAX_FIELDS: usize = 10;
/// The most objects that are followed, in a few hundred bytes to a few kilobytes each. Others are counted.
const MAX_OBJECTS: usize = 10_000;
/// The most lasting differences that a report lists. Others are counted.
const MAX_LISTED: usize = 1_000;

/// The differences of one controller.
#[derive(Debug, Default)]
pub(super) struct Differences {
    grace: Duration,
    max_objects: usize,
    open: HashMap<ObjectKey, Vec<Open>>,
    /// The number of objects in `open`.
    followed: usize,
    /// The number of those that have outlasted the grace period.
    lasting: usize,
    /// Differing objects that are not followed.
    untracked: HashMap<ObjectKey, usize>,
    /// The lasting differences that are listed, in the order in which they outlasted the grace period.
    pub(super) listed: Vec<Lasting>,
    pub(super) totals: Totals,
}

/// The figures of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) comparisons: u64,
    /// Objects that differed, once for each time.
    pub(super) differences: u64,
    /// Those of them that outlasted the grace period.
    pub(super) lasting: u64,
    /// Those that did while pods of lost nodes kept their readiness (`EndpointsKeepReadyOnDisruption`).
    pub(super) lasting_while_kept: u64,
    /// The longest time that a difference took to end.
    pub(super) longest: Duration,
}

#[derive(Debug)]
struct Open {
    identity: Identity,
    since: Instant,
    fields: Vec<(Field, Instant)>,
    /// The number of fields that are not followed.
    more: usize,
    /// Since when it differs, if it has outlasted the grace period.
    lasting_since: Option<Instant>,
}

/// A difference that outlasted the grace period.
#[derive(Clone, Debug)]
pub(super) struct Lasting {
    pub(super) key: ObjectKey,
    pub(super) identity: Identity,
    pub(super) fields: Vec<Field>,
    /// The number of fields that are not listed.
    pub(super) more: usize,
    pub(super) since: Instant,
    pub(super) until: Option<Instant>,
    /// It is one of endpoints, and outlasted the grace period while pods of lost nodes kept their readiness.
    pub(super) keeps_pods: bool,
}

/// The consequences of a comparison.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Differences that outlast the grace period from now on. The second is true if the report lists it.
    pub(super) lasting: Vec<(Lasting, bool)>,
    /// Lasting differences that have ended, and their begin.
    pub(super) ended: Vec<(Identity, Instant)>,
    /// For each object, the longest time that a difference of it took to end.
    pub(super) took: Vec<Duration>,
    /// The time until the next comparison, if there is a difference.
    pub(super) again: Option<Duration>,
    /// The number of objects that differ and have not outlasted the grace period.
    pub(super) recent: usize,
}

impl Open {
    fn new(found: Found, now: Instant) -> Self {
        let identity = found.identity;
        let mut open = Self { identity, since: now, fields: Vec::new(), more: 0, lasting_since: None };
        open.follow(found.fields, now);
        open
    }

    /// The time since which the object differs.
    fn oldest(&self) -> Instant {
        if self.identity.kind != Kind::Update {
            return self.since;
        }
        self.fields.iter().map(|(_, since)| *since).min().unwrap_or(self.since)
    }

    /// Replaces the fields by those found now. Returns the longest time that one of the others took to end.
    fn update(&mut self, found: Vec<Field>, now: Instant) -> Option<Duration> {
        let old = mem::take(&mut self.fields);
        let had_fields = !old.is_empty();
        let (mut kept, mut new) = (Vec::new(), Vec::new());
        for field in found {
            match old.iter().find(|(known, _)| known.path == field.path) {
                Some((_, since)) => kept.push((field, *since)),
                None => new.push(field),
            }
        }
        let is_kept = |field: &Field| kept.iter().any(|(kept, _)| kept.path == field.path);
        let ended = old.iter().filter(|(field, _)| !is_kept(field));
        let took = ended.map(|(_, since)| now.saturating_duration_since(*since)).max();
        self.fields = kept;
        self.follow(new, now);
        took.filter(|_| had_fields && self.identity.kind == Kind::Update)
    }

    /// Follows as many of these fields as there is room for.
    fn follow(&mut self, new: Vec<Field>, now: Instant) {
        let room = MAX_FIELDS.saturating_sub(self.fields.len());
        self.more = new.len().saturating_sub(room);
        self.fields.extend(new.into_iter().take(room).map(|field| (field, now)));
    }
}

impl Differences {
    pub(super) fn new(grace: Duration) -> Self {
        Self { grace, max_objects: MAX_OBJECTS, ..Self::default() }
    }

    /// Records a comparison of a key, which found these differences. `keeps_pods` is true while pods of lost nodes keep their
    /// readiness.
    pub(super) fn compare(
        &mut self,
        key: &ObjectKey,
        found: Vec<Found>,
        now: Instant,
        keeps_pods: bool,
    ) -> Outcome {
        self.totals.comparisons += 1;
        let mut outcome = Outcome::default();
        let mut old = self.open.remove(key).unwrap_or_default();
        self.followed -= old.len();
        let (mut open, mut new) = (Vec::new(), Vec::new());
        for found in found {
            match old.iter().position(|open| open.identity == found.identity) {
                Some(known) => {
                    let mut known = old.swap_remove(known);
                    outcome.took.extend(known.update(found.fields, now));
                    open.push(known);
                }
                None => new.push(found),
            }
        }
        let room = self.max_objects.saturating_sub(self.followed + open.len()).min(new.len());
        let untracked = new.split_off(room).len();
        self.totals.differences += u64::try_from(room).unwrap_or_default();
        open.extend(new.into_iter().map(|found| Open::new(found, now)));
        for ended in old {
            outcome.took.push(now.saturating_duration_since(ended.oldest()));
            outcome.ended.extend(self.end(key, &ended, now));
        }
        for open in &mut open {
            let is_lasting = now.saturating_duration_since(open.oldest()) >= self.grace;
            if !is_lasting {
                outcome.ended.extend(self.end(key, open, now));
                open.lasting_since = None;
            } else if open.lasting_since.is_none() {
                open.lasting_since = Some(open.oldest());
                outcome.lasting.push(self.begin(key, open, now, keeps_pods));
            }
        }
        let longest = outcome.took.iter().max().copied().unwrap_or_default();
        self.totals.longest = self.totals.longest.max(longest);
        let waits = open.iter().filter(|open| open.lasting_since.is_none());
        let waits = waits.map(|open| self.grace.saturating_sub(now.saturating_duration_since(open.oldest())));
        if !open.is_empty() || untracked > 0 {
            outcome.again = Some(waits.min().unwrap_or(self.grace));
        }
        self.followed += open.len();
        if !open.is_empty() {
            self.open.insert(key.clone(), open);
        }
        if untracked > 0 {
            self.untracked.insert(key.clone(), untracked);
        } else {
            self.untracked.remove(key);
        }
        outcome.recent = self.recent();
        outcome
    }

    fn begin(&mut self, key: &ObjectKey, open: &Open, now: Instant, keeps_pods: bool) -> (Lasting, bool) {
        let is_update = open.identity.kind == Kind::Update;
        let is_old = |since: Instant| now.saturating_duration_since(since) >= self.grace;
        let old = open.fields.iter().filter(|(_, since)| !is_update || is_old(*since));
        let fields: Vec<Field> = old.map(|(field, _)| field.clone()).collect();
        // Labels, and objects that are missing or too many, have other reasons.
        let is_of_endpoints =
            |field: &Field| ["endpoints", "subsets"].iter().any(|it| field.path.starts_with(it));
        let keeps_pods = keeps_pods && is_update && fields.iter().any(is_of_endpoints);
        let (key, identity) = (key.clone(), open.identity.clone());
        let lasting =
            Lasting { key, identity, fields, more: open.more, since: open.oldest(), until: None, keeps_pods };
        self.totals.lasting += 1;
        self.totals.lasting_while_kept += u64::from(keeps_pods);
        self.lasting += 1;
        let is_listed = self.listed.len() < MAX_LISTED;
        if is_listed {
            self.listed.push(lasting.clone());
        }
        (lasting, is_listed)
    }

    /// Ends a difference if it is a lasting one, and its entry if it is listed.
    fn end(&mut self, key: &ObjectKey, open: &Open, now: Instant) -> Option<(Identity, Instant)> {
        let since = open.lasting_since?;
        self.lasting -= 1;
        let is_same = |lasting: &&mut Lasting| {
            lasting.until.is_none() && lasting.key == *key && lasting.identity == open.identity
        };
        if let Some(listed) = self.listed.iter_mut().rev().find(is_same) {
            listed.until = Some(now);
        }
        Some((open.identity.clone(), since))
    }

    /// The number of objects that differ now and have not outlasted the grace period.
    pub(super) fn recent(&self) -> usize {
        self.followed - self.lasting
    }

    /// The number of objects that differ now and are not followed.
    pub(super) fn untracked(&self) -> usize {
        self.untracked.values().sum()
    }
}

#[cfg(test)]
mod tests;
