//! The one task that writes events.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{debug, info};

use super::Losses;
use super::correlator::{Correlator, Occurrence, Verb, Write};
use kube_api::error_chain;
use kube_api::{ApiClient, ApiError};

/// How often a write is tried (`maxTriesPerEvent`).
pub(super) const MAX_TRIES: u32 = 12;
/// How long until the next try; before the second, a random part of it, so that not all clients of an API server that
/// went down come back as one (`defaultSleepDuration`).
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(10);
/// How long one try may take, waits that the server asked for included.
const TRY_TIMEOUT: Duration = Duration::from_secs(30);
/// How many events wait for another try before new ones are left in the queue.
pub(super) const MAX_WAITING: usize = 1000;
/// How long the events left at the end may take.
pub(super) const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// How long before that the write under way may take. A request that is cancelled after its header
/// is an error in the API server's log, and would be repeated.
const UNDER_WAY_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes what a [`Recorder`](super::Recorder) records.
///
/// An event whose write fails steps aside until its next try, so it holds up no other. If the same event comes again
/// meanwhile, the two become one write. Every write may be repeated without harm: a name is never used twice, and a
/// patch says what the count is, not how much to add.
#[must_use = "events are written only while this runs"]
pub struct EventWriter {
    client: ApiClient,
    correlator: Correlator,
    queue: mpsc::Receiver<Occurrence>,
    /// What is not known to be written, by name; also the write under way, which a stop must not lose.
    waiting: BTreeMap<String, Waiting>,
    losses: Arc<Losses>,
}

struct Waiting {
    write: Write,
    tries: u32,
    due: Instant,
}

/// What came of a try.
enum Outcome {
    Stored,
    /// The namespace is going or gone, and its events with it: ordinary.
    NamespaceGone,
    /// The server will not have it, however often it is asked.
    Refused(ApiError),
    /// Worth another try.
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

    /// Writes events until `stop` completes, or until all recorders are gone and everything is written.
    ///
    /// At the end, the write under way has a second to finish; then whatever is left gets one more try, all together
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

    /// Writes what is left, and counts what is not written by then.
    async fn flush_within(mut self, limit: Duration) {
        self.queue.close();
        let _ = timeout(limit, self.flush()).await;
        for name in self.waiting.keys() {
            self.losses.add(name, "not written by the end");
        }
    }

    /// The name of the next write: fresh events first, then those whose next try is due; while too many wait, only
    /// those. None if there will not be another.
    ///
    /// Cancelling this loses nothing.
    async fn next(&mut self) -> Option<String> {
        loop {
            let next_try = self.waiting.iter().map(|(name, waiting)| (waiting.due, name)).min();
            let next_try = next_try.map(|(due, name)| (due, name.clone()));
            let has_room = self.waiting.len() < MAX_WAITING;
            let name = tokio::select! {
                biased;
                Some(occurrence) = self.queue.recv(), if has_room => self.take_in(occurrence),
                Some(name) = when_due(next_try) => Some(name),
                else => return None,
            };
            if name.is_some() {
                return name;
            }
        }
    }

    /// Gives everything one try.
    async fn flush(&mut self) {
        while let Some(occurrence) = self.queue.recv().await {
            self.take_in(occurrence);
        }
        let names: Vec<String> = self.waiting.keys().cloned().collect();
        for name in names {
            self.attempt(&name).await;
        }
    }

    /// Notes the write that an occurrence leads to, and returns its name unless it has to wait.
    fn take_in(&mut self, occurrence: Occurrence) -> Option<String> {
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
                debug!(event = name, err = %error_chain(&error), "Event not written, will retry");
                let part = if waiting.tries == 1 { fastrand::f64() } else { 1.0 };
                waiting.due = Instant::now() + RETRY_DELAY.mul_f64(part);
                return;
            }
            Outcome::Stored => None,
            Outcome::NamespaceGone => {
                debug!(event = name, "Event not written, its namespace is gone");
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

/// Logs an event that is going to be written.
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

/// The name, when its time has come.
async fn when_due(next_try: Option<(Instant, String)>) -> Option<String> {
    let (due, name) = next_try?;
    sleep_until(due).await;
    Some(name)
}

/// Makes a write.
async fn store(client: &ApiClient, write: &Write) -> Outcome {
    let collection = format!("/api/v1/namespaces/{}/events", write.namespace());
    if write.verb == Verb::Patch {
        let path = format!("{collection}/{}", write.name());
        match client.patch::<Event>(&path, &write.patch()).await {
            // It has expired, was deleted, or was never written.
            Err(error) if error.is_not_found() => {}
            Err(error) => return Outcome::of(error),
            Ok(_) => return Outcome::Stored,
        }
    }
    match client.create(&collection, &write.event).await {
        // An earlier try that seemed to fail got through.
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
