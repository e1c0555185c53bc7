//! Events about objects, for users of `kubectl describe`.
//!
//! ```text
//! sync ─ event() ─> queue of 1,000 ─> correlator ─┬─> create ──┐
//! sync ─ event() ─────────┘   (full: dropped)     ├─> patch ───┼─> API server
//!                                                 └─> nothing  └─> retried later, or given up
//! ```
//!
//! The events are those of client-go's `tools/record`: core/v1 objects in the namespace of their object. An event that
//! repeats does not become another object:
//!
//! 1. *Repetition.* The same event again raises `count` and `lastTimestamp` of the first by a patch.
//! 2. *Aggregation.* From the tenth message with one type and reason about one object on, new messages share one event,
//!    whose message is the latest one after `(combined from similar events): `. The group starts anew after ten minutes
//!    without a message.
//! 3. *Spam limit.* For each object and type, 25 writes, then one every five minutes. Events held back are counted and
//!    show in the next write.
//!
//! All three remember the last 4,096 objects, groups and events, and of a message only a hash. A message is at most 1
//! KiB long. Written events go to the log as well.
//!
//! # Failure
//!
//! Recording never waits. Events are written one after another, so an event waits for the try of another, at most 30 s,
//! but never for the time between tries. Refusals (4xx) are final, except for 429; all other errors are retried, 12
//! tries about ten seconds apart. (client-go also gives up on 429 and 5xx, and delays all events between tries.) Each
//! loss is [counted](Recorder::lost) and logged with its reason: at debug level, and as a warning each time the count
//! reaches a power of two.
//!
//! Events have a rate limit of their own, as a kubelet's: a burst of them delays no other request of the client. (With
//! kube-controller-manager, events and writes of a controller share one.)
//!
//! # Modules
//!
//! `correlator` is the three rules, pure; `writer` is the task that sends its writes.
//!
//! # What is deliberately absent
//!
//! The newer `events.k8s.io/v1` with its series: upstream's controllers write core/v1.

mod correlator;
mod event;
mod losses;
mod lru;
mod writer;

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use kube_api::ApiClient;
use tokio::sync::mpsc;

pub use self::event::{EventType, MAX_MESSAGE};
use self::event::{Occurrence, cut};
use self::losses::Losses;
pub use self::writer::EventWriter;
use crate::environment;
use crate::key::ObjectKey;

/// The number of events that wait for the correlator before more are dropped (`maxQueuedEvents`).
const MAX_QUEUED: usize = 1000;

/// The reference of an event to its object, of a kind in `v1`.
pub fn object_reference(
    kind: &str,
    key: &ObjectKey,
    uid: Option<impl ToString>,
    resource_version: Option<impl ToString>,
) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some(kind.to_owned()),
        namespace: Some(key.namespace.to_string()),
        name: Some(key.name.to_string()),
        uid: uid.map(|uid| uid.to_string()),
        resource_version: resource_version.map(|version| version.to_string()),
        field_path: None,
    }
}

/// Records events of one source. Clones are handles to the same queue.
///
/// ```no_run
/// use controller_kit::recorder::{EventType, Recorder};
/// use k8s_openapi::api::core::v1::ObjectReference;
///
/// # async fn example(client: kube_api::ApiClient, stop: impl Future<Output = ()> + Send + 'static) {
/// let (recorder, writer) = Recorder::new(client, "widget-controller");
/// tokio::spawn(writer.run(stop));
///
/// let widget = ObjectReference {
///     api_version: Some("example.com/v1".to_owned()),
///     kind: Some("Widget".to_owned()),
///     namespace: Some("default".to_owned()),
///     name: Some("web".to_owned()),
///     ..ObjectReference::default() // better: with uid and resourceVersion
/// };
/// recorder.event(&widget, EventType::Warning, "FailedToSync", "Error syncing Widget default/web: …");
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
    /// Until that task runs, events wait; after it has ended, they are lost. If `client` has a rate limit, the events have one
    /// of their own with the same rate.
    pub fn new(client: ApiClient, component: &str) -> (Self, EventWriter) {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED);
        let losses = Arc::new(Losses::default());
        let writer = EventWriter::new(client.with_separate_limit(), component, receiver, Arc::clone(&losses));
        (Self { queue: sender, losses }, writer)
    }

    /// Records an event about `object`, its `involvedObject`.
    ///
    /// `reason` is for programs: short, fixed, `UpperCamelCase`. `message` is for people, and cut to 1 KiB. Returns at
    /// once, whatever the state of the API server. The event goes to the log as well, unless the spam limit holds it
    /// back (upstream logs it before that limit).
    pub fn event(
        &self,
        object: &ObjectReference,
        event_type: EventType,
        reason: &str,
        message: impl Into<String>,
    ) {
        let message = cut(message.into());
        match self.queue.try_reserve() {
            Ok(permit) => permit.send(Occurrence {
                object: object.clone(),
                event_type,
                reason: reason.to_owned(),
                message,
                at: environment::now(),
            }),
            Err(error) => self.losses.add(reason, &error.to_string()),
        }
    }

    /// The number of events lost so far: the queue was full, the API server refused them or was unavailable for too
    /// long, or the process ended. Events held back by the rules above and those of a deleted namespace don't count.
    pub fn lost(&self) -> u64 {
        self.losses.count()
    }
}
