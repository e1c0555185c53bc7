//! Events: what happened to an object, for the people who look at it with `kubectl describe`.
//!
//! ```text
//! sync ─ event() ─> queue of 1,000 ─> correlator ─┬─> create ──┐
//! sync ─ event() ─────────┘   (full: dropped)     ├─> patch ───┼─> API server
//!                                                 └─> nothing  └─> tried again later, or given up
//! ```
//!
//! The events are those of client-go's `tools/record`: core/v1 objects in the namespace of their object. An event that
//! merely repeats does not become another object:
//!
//! 1. *Repetition.* The same event again raises `count` and `lastTimestamp` of the first by a patch.
//! 2. *Aggregation.* From the tenth message of the same type and reason about the same object on, within a group that
//!    is never silent for more than ten minutes, new messages share one event whose message is the latest one behind
//!    `(combined from similar events): `.
//! 3. *Spam limit.* For each type, 25 writes about one object, then one every five minutes. What is held back is
//!    counted and shows in the next write.
//!
//! All three remember the 4,096 objects, groups and events that occurred last, and of a message only a hash. A message
//! is at most 1 KiB long. What is written goes to the log as well.
//!
//! # Failure
//!
//! Nobody waits for an event. Events are written one after another, so one waits for another's try, which is given up
//! after 30 s, but never for the time between tries. Refusals (4xx) are final, except for 429; all else is tried 12
//! times, about ten seconds apart. (client-go also gives up on 429 and 5xx, and holds up all events between tries.) A loss is never silent: it is [counted](Recorder::lost), logged at debug level
//! with its reason, and each time the count reaches a power of two, as a warning.
//!
//! # Inside
//!
//! `correlator` is the three rules, pure; `writer` is the task that carries its decisions out.
//!
//! # What is deliberately absent
//!
//! The newer `events.k8s.io/v1` with its series: upstream's controllers write core/v1.

mod correlator;
mod lru;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use tokio::sync::mpsc;
use tracing::{debug, warn};

use self::correlator::Occurrence;
pub use self::writer::EventWriter;
use kube_api::ApiClient;

/// How many events wait to be looked at before more are dropped (`maxQueuedEvents`).
const MAX_QUEUED: usize = 1000;

/// `type` of a Kubernetes Event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// As it should be.
    Normal,
    /// Something may need attention.
    Warning,
}

impl EventType {
    /// The value in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Records events of one source. Clones are handles to the same queue.
///
/// ```no_run
/// use controller_kit::recorder::{EventType, Recorder};
/// use k8s_openapi::api::core::v1::ObjectReference;
///
/// # async fn example(client: kube_api::ApiClient, stop: impl Future<Output = ()> + Send + 'static) {
/// let (recorder, writer) = Recorder::new(client, "endpoint-slice-controller");
/// tokio::spawn(writer.run(stop));
///
/// let service = ObjectReference {
///     api_version: Some("v1".to_owned()),
///     kind: Some("Service".to_owned()),
///     namespace: Some("default".to_owned()),
///     name: Some("web".to_owned()),
///     ..ObjectReference::default() // better: with uid and resourceVersion
/// };
/// recorder.event(&service, EventType::Warning, "FailedToListPods", "Error listing Pods for Service default/web: …");
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Recorder {
    queue: mpsc::Sender<Occurrence>,
    losses: Arc<Losses>,
}

impl Recorder {
    /// A recorder whose events name `component` as their source, and the task that writes them.
    ///
    /// Until that task runs, events wait; once it has ended, they are lost.
    pub fn new(client: ApiClient, component: &str) -> (Self, EventWriter) {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED);
        let losses = Arc::new(Losses::default());
        let writer = EventWriter::new(client, component, receiver, Arc::clone(&losses));
        (Self { queue: sender, losses }, writer)
    }

    /// Records that something happened to `object`, which is kept in the event as `involvedObject`.
    ///
    /// `reason` is for programs: short, fixed, `UpperCamelCase`. `message` is for people, and cut to 1 KiB. Returns at
    /// once, whatever the state of the API server. The event goes to the log as well, unless the spam limit holds it back
    /// (upstream logs it before that limit).
    pub fn event(
        &self,
        object: &ObjectReference,
        event_type: EventType,
        reason: &str,
        message: impl Into<String>,
    ) {
        let message = cut(message.into());
        match self.queue.try_reserve() {
            Ok(place) => place.send(Occurrence {
                object: object.clone(),
                event_type,
                reason: reason.to_owned(),
                message,
                at: Timestamp::now(),
            }),
            Err(error) => self.losses.add(reason, &error.to_string()),
        }
    }

    /// How many events were lost so far: the queue was full, the API server refused them or could not be reached for
    /// too long, or the end came first. Events held back by the rules above and those of a deleted namespace don't
    /// count.
    pub fn lost(&self) -> u64 {
        self.losses.0.load(Ordering::Relaxed)
    }
}

/// The longest message, in bytes: the limit of `events.k8s.io/v1` for its note.
pub const MAX_MESSAGE: usize = 1024;

/// The message, or as much of it as fits.
fn cut(mut message: String) -> String {
    const MORE: &str = "...";
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE - MORE.len()));
        message.push_str(MORE);
    }
    message
}

/// The number of events that were lost.
#[derive(Debug, Default)]
struct Losses(AtomicU64);

impl Losses {
    fn add(&self, event: &str, why: &str) {
        let lost = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        if lost.is_power_of_two() {
            warn!(event, lost, err = why, "Events are lost");
        } else {
            debug!(event, lost, err = why, "Events are lost");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_message_is_longer_than_a_kibibyte(text in "\\PC{0,600}") {
            let whole = text.clone();
            let cut = cut(text);
            prop_assert!(cut.len() <= MAX_MESSAGE);
            prop_assert!(cut == whole || whole.starts_with(cut.strip_suffix("...").unwrap()));
        }
    }
}
