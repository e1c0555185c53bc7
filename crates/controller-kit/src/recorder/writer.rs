//! The task that writes events.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use kube_api::time::{Instant, sleep_until, timeout};
use kube_api::{ApiClient, ApiError, error_chain};
use tokio::sync::mpsc;
use tracing::{debug, info};

use super::correlator::{Correlator, Verb, Write};
use super::event::Occurrence;
use super::losses::Losses;

/// The number of tries of a write (`maxTriesPerEvent`).
pub(super) const MAX_TRIES: u32 = 12;
/// The time until the next try (`defaultSleepDuration`). Before the second try a random part of it, so that the clients
/// of an API server that was down do not retry all at once.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(10);
/// The longest a try may take, waits that the server asked for included.
const TRY_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of events that may wait for another try. With more, new events stay in the queue.
pub(super) const MAX_WAITING: usize = 1000;
/// The bound on the flush at the end.
pub(super) const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// The bound on the write in progress, before the flush. A request cancelled after its header is an error in the API
/// server's log, and would be repeated.
const UNDER_WAY_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes the events of a [`Recorder`](super::Recorder).
///
/// An event whose write failed delays no other. If it is reported again before its next try, the two become one write.
/// Every write is idempotent: a name is never used twice, and a patch sets the count instead of adding to it.
#[must_use = "events are written only while this runs"]
pub struct EventWriter {
    client: ApiClient,
    correlator: Correlator,
    queue: mpsc::Receiver<Occurrence>,
    /// Writes not known to be stored, by name; includes the write in progress, which a stop must not lose.
    waiting: BTreeMap<String, Waiting>,
    losses: Arc<Losses>,
}

struct Waiting {
    write: Write,
    tries: u32,
    due: Instant,
}

/// The outcome of a try.
enum Outcome {
    Stored,
    /// The namespace is deleted or being deleted, and its events with it.
    NamespaceGone,
    /// The server refused the event; not retried.
    Refused(ApiError),
    /// To be retried.
    Failed(ApiError),
}

impl EventWriter {
    pub(super) fn new(
        client: ApiClient,
        component: &str,
        queue: mpsc::Receiver<Occurrence>,
        losses: Arc<Losses>,
    ) -> Self {
        Self { client, correlator: Correlator::new(component), queue, waiting: BTreeMap::new(), losses }
    }

    /// Writes events until `stop` completes, or until all recorders are dropped and all events are written.
    ///
    /// After `stop`, the write in progress has a second to finish; then all remaining events get one more try, together
    /// within 5 s.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        while let Some(name) = tokio::select! {
            biased;
            () = &mut stop => None,
            name = self.next() => match name {
                Some(name) => Some(name),
                None => return,
            },
        } {
            let mut attempt = pin!(self.attempt(&name));
            tokio::select! {
                biased;
                () = &mut attempt => continue,
                () = &mut stop => {}
            }
            let _ = timeout(UNDER_WAY_TIMEOUT, attempt).await;
            break;
        }
        self.flush_within(FLUSH_TIMEOUT).await;
    }

    /// Writes the remaining events, and counts those not written within `limit` as lost.
    async fn flush_within(mut self, limit: Duration) {
        self.queue.close();
        let _ = timeout(limit, self.flush()).await;
        for name in self.waiting.keys() {
            self.losses.add(name, "not written by the end");
        }
    }

    /// The name of the next write: new events first, then those whose next try is due; while too many wait, only the
    /// latter. `None` if there will be no more.
    ///
    /// Cancel safe.
    async fn next(&mut self) -> Option<String> {
        loop {
            let next_try = self.waiting.iter().map(|(name, waiting)| (waiting.due, name)).min();
            let next_try = next_try.map(|(due, name)| (due, name.clone()));
            let takes_new = self.waiting.len() < MAX_WAITING;
            let name = tokio::select! {
                biased;
                Some(occurrence) = self.queue.recv(), if takes_new => self.accept(occurrence),
                Some(name) = when_due(next_try) => Some(name),
                else => return None,
            };
            if name.is_some() {
                return name;
            }
        }
    }

    /// Tries every remaining event once.
    async fn flush(&mut self) {
        while let Some(occurrence) = self.queue.recv().await {
            self.accept(occurrence);
        }
        let names: Vec<String> = self.waiting.keys().cloned().collect();
        for name in names {
            self.attempt(&name).await;
        }
    }

    /// Stores the write for an occurrence, and returns its name unless an earlier one waits for its next try.
    fn accept(&mut self, occurrence: Occurrence) -> Option<String> {
        let now = Instant::now();
        let write = self.correlator.correlate(occurrence, now.into_std())?;
        log(&write.event);
        if let Some(waiting) = self.waiting.get_mut(write.name()) {
            waiting.write = write;
            return None;
        }
        let name = write.name().to_owned();
        self.waiting.insert(name.clone(), Waiting { write, tries: 0, due: now });
        Some(name)
    }

    async fn attempt(&mut self, name: &str) {
        let Some(waiting) = self.waiting.get_mut(name) else { return };
        waiting.tries += 1;
        let outcome = timeout(TRY_TIMEOUT, store(&self.client, &waiting.write)).await;
        let loss = match outcome.unwrap_or(Outcome::Failed(ApiError::Timeout(TRY_TIMEOUT))) {
            Outcome::Failed(error) if waiting.tries < MAX_TRIES => {
                debug!(event = name, err = %error_chain(&error), "Failed to write event, will retry");
                let part = if waiting.tries == 1 { fastrand::f64() } else { 1.0 };
                waiting.due = Instant::now() + RETRY_DELAY.mul_f64(part);
                return;
            }
            Outcome::Stored => None,
            Outcome::NamespaceGone => {
                debug!(event = name, "Dropped event of a deleted namespace");
                None
            }
            Outcome::Refused(error) | Outcome::Failed(error) => Some(error_chain(&error)),
        };
        self.waiting.remove(name);
        if let Some(loss) = loss {
            self.losses.add(name, &loss);
        }
    }
}

/// Logs an event that is to be written.
fn log(event: &Event) {
    let object = &event.involved_object;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    info!(
        object = format!("{}/{}", text(&object.namespace), text(&object.name)),
        kind = text(&object.kind),
        r#type = text(&event.type_),
        reason = text(&event.reason),
        note = text(&event.message),
        "Event occurred"
    );
}

/// Waits until the try is due.
async fn when_due(next_try: Option<(Instant, String)>) -> Option<String> {
    let (due, name) = next_try?;
    sleep_until(due).await;
    Some(name)
}

/// Sends a write.
async fn store(client: &ApiClient, write: &Write) -> Outcome {
    let collection = format!("/api/v1/namespaces/{}/events", write.namespace());
    if write.verb == Verb::Patch {
        let path = format!("{collection}/{}", write.name());
        match client.patch::<Event>(&path, &write.patch()).await {
            // Expired, deleted, or never written.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Outcome::of(error),
            Ok(_) => return Outcome::Stored,
        }
    }
    match client.create(&collection, &write.event).await {
        // An earlier try that seemed to fail succeeded.
        Err(error) if error.is_already_exists() => Outcome::Stored,
        Err(error) if error.is_not_found() => Outcome::NamespaceGone,
        Err(error) => Outcome::of(error),
        Ok(_) => Outcome::Stored,
    }
}

impl Outcome {
    fn of(error: ApiError) -> Self {
        match &error {
            _ if error.is_namespace_terminating() => Self::NamespaceGone,
            ApiError::Refused(status) if status.code < 500 && status.code != 429 => Self::Refused(error),
            _ => Self::Failed(error),
        }
    }
}
