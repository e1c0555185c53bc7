//! Computes the write for each event: no client, clock, lock or randomness.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Event, EventSource};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube_api::token_bucket::{Rate, TokenBucket};

use super::event::{Occurrence, cut};
use super::lru::Lru;

/// The number of objects, groups and events remembered, each (`maxLruCacheEntries`).
pub(super) const REMEMBERED: usize = 4096;
/// The number of messages with one reason about one object from which on they are combined
/// (`defaultAggregateMaxEvents`).
pub(super) const MAX_SIMILAR: usize = 10;
/// A group without a message for longer than this starts anew (`defaultAggregateIntervalInSeconds`).
pub(super) const SIMILAR_WITHIN: Duration = Duration::from_secs(600);
/// The number of events of one type about one object that are written at once (`defaultSpamBurst`).
pub(super) const SPAM_BURST: u32 = 25;
/// The time until one more may be written (`defaultSpamQPS`).
pub(super) const SPAM_INTERVAL: Duration = Duration::from_secs(300);
const SPAM_LIMIT: Rate = Rate::every(SPAM_INTERVAL, SPAM_BURST);

const COMBINED: &str = "(combined from similar events): ";

/// The write of an event.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Write {
    pub(super) event: Event,
    pub(super) verb: Verb,
}

/// The request that stores an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// A new event.
    Create,
    /// A repetition: [`Write::patch`] changes the stored event. If that is gone, the event is created again.
    Patch,
}

impl Write {
    pub(super) fn name(&self) -> &str {
        self.event.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn namespace(&self) -> &str {
        self.event.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// The change of a repetition, as a strategic merge patch.
    pub(super) fn patch(&self) -> serde_json::Value {
        serde_json::json!({
            "count": self.event.count,
            "lastTimestamp": self.event.last_timestamp,
            "message": self.event.message,
        })
    }
}

/// The state of one event source.
#[derive(Debug)]
pub(super) struct Correlator {
    component: String,
    groups: Lru<Group>,
    series: Lru<Series>,
    buckets: Lru<TokenBucket>,
    /// Hashes messages, with a random key.
    hasher: RandomState,
    /// The number in the last name, so that names are unique.
    last_number: u64,
}

/// The state of events that differ only in their message.
#[derive(Debug, Default)]
struct Group {
    /// Hashes of messages.
    messages: Vec<u64>,
    last: Option<Instant>,
}

/// The state of a stored event.
#[derive(Debug, Default)]
struct Series {
    count: i32,
    name: String,
    first: Option<Time>,
}

impl Correlator {
    pub(super) fn new(component: &str) -> Self {
        Self {
            component: component.to_owned(),
            groups: Lru::new(REMEMBERED),
            series: Lru::new(REMEMBERED),
            buckets: Lru::new(REMEMBERED),
            hasher: RandomState::new(),
            last_number: 0,
        }
    }

    /// The write for an occurrence, if any. `now` is compared only with other values of `now`.
    ///
    /// Events held back as spam are counted, so that the next write has the true count.
    pub(super) fn correlate(&mut self, occurrence: Occurrence, now: Instant) -> Option<Write> {
        let hash = self.hasher.hash_one(&occurrence.message);
        let keys = Keys::of(&occurrence, hash);
        let Occurrence { object, event_type, reason, message, at } = occurrence;
        let combined = self.groups.touch(&keys.group).combines(hash, now);
        let (key, message) = if combined {
            (&keys.group, cut(format!("{COMBINED}{message}")))
        } else {
            (&keys.series, message)
        };
        let series = self.series.touch(key);
        let verb = if series.count == 0 { Verb::Create } else { Verb::Patch };
        if verb == Verb::Create {
            let nanoseconds = u64::try_from(at.as_nanosecond()).unwrap_or_default();
            self.last_number = nanoseconds.max(self.last_number.saturating_add(1));
            series.name = event_name(object.name.as_deref(), &self.component, self.last_number);
        }
        series.count = series.count.saturating_add(1);
        let first = series.first.get_or_insert(Time(at)).clone();
        self.buckets.touch(&keys.object).take_within(Duration::ZERO, SPAM_LIMIT, now)?;
        let namespace = object.namespace.clone().filter(|namespace| !namespace.is_empty());
        // client-go leaves these two out of combined events.
        let reporter = if combined { "" } else { &self.component };
        let event = Event {
            metadata: ObjectMeta {
                name: Some(series.name.clone()),
                namespace: Some(namespace.unwrap_or_else(|| "default".to_owned())),
                ..ObjectMeta::default()
            },
            involved_object: object,
            type_: Some(event_type.as_str().to_owned()),
            reason: Some(reason),
            message: Some(message),
            count: Some(series.count),
            first_timestamp: Some(first),
            last_timestamp: Some(Time(at)),
            source: Some(EventSource { component: Some(self.component.clone()), host: None }),
            reporting_component: Some(reporter.to_owned()),
            reporting_instance: Some(String::new()),
            ..Event::default()
        };
        Some(Write { event, verb })
    }
}

/// The keys by which occurrences are grouped. They lack the source: there is one per correlator.
struct Keys {
    /// Object and type (`getSpamKey`).
    object: String,
    /// Object, type and reason (`EventAggregatorByReasonFunc`).
    group: String,
    /// Everything but the time (`getEventKey`).
    series: String,
}

impl Keys {
    fn of(occurrence: &Occurrence, message: u64) -> Self {
        let Occurrence { object, event_type, reason, .. } = occurrence;
        let parts = [&object.kind, &object.namespace, &object.name, &object.uid, &object.api_version];
        let parts = parts.map(|part| part.as_deref().unwrap_or_default());
        // No name contains the separator.
        let object_key = format!("{}\0{}", parts.join("\0"), event_type.as_str());
        let group = format!("{object_key}\0{reason}");
        let field_path = object.field_path.as_deref().unwrap_or_default();
        let series = format!("{group}\0{field_path}\0{message:x}");
        Self { object: object_key, group, series }
    }
}

impl Group {
    /// Adds a message, and returns whether it is combined with others.
    ///
    /// The first nine messages keep events of their own as long as the group is active; all others share one.
    /// (client-go drops one of ten at random.)
    fn combines(&mut self, message: u64, now: Instant) -> bool {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) > SIMILAR_WITHIN) {
            self.messages.clear();
        }
        self.last = Some(now);
        if self.messages.contains(&message) {
            return false;
        }
        let full = self.messages.len() + 1 >= MAX_SIMILAR;
        if !full {
            self.messages.push(message);
        }
        full
    }
}

/// `<object>.<number in hex>`; with the component's name if that would be no valid name. (client-go uses a random UUID
/// then.)
fn event_name(object: Option<&str>, component: &str, number: u64) -> String {
    let name = format!("{}.{number:x}", object.unwrap_or_default());
    if is_dns_subdomain(&name) { name } else { format!("{component}.{number:x}") }
}

/// True for a DNS subdomain by RFC 1123 as Kubernetes reads it (`IsDNS1123Subdomain`).
fn is_dns_subdomain(name: &str) -> bool {
    let label = |label: &str| {
        let ends = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
        let bytes = label.as_bytes();
        bytes.iter().all(|c| ends(*c) || *c == b'-')
            && bytes.first().is_some_and(|c| ends(*c))
            && bytes.last().is_some_and(|c| ends(*c))
    };
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests;
