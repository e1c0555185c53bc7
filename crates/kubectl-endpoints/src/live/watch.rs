//! The watch of one kind, for ever.

use std::io;
use std::time::Duration;

use controller_kit::backoff::Backoff;
use endpoint_diagnostics::snapshot::Kind;
use endpoint_diagnostics_page::follow::Change;
use futures::TryStreamExt as _;
use futures::io::{AsyncBufReadExt as _, AsyncReadExt as _};
use http_body_util::BodyExt as _;
use kube_api::{ApiClient, ApiError, Status, error_chain};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep, timeout};

use super::kinds::Resource;
use super::list::{Selection, current_version, escaped, list};

/// The time after which the server ends a watch.
const LIFETIME: u32 = 300;
/// The longest wait for the beginning of a response.
const HEADER: Duration = Duration::from_secs(30);
/// The age from which a watch counts as one that works.
const WORKS_AFTER: Duration = Duration::from_secs(1);
/// The longest wait for an event: the API server sends a bookmark about every minute.
const SILENCE: Duration = Duration::from_secs(150);
/// The time after which a version that no watch has confirmed is not continued from: the versions of a restored backup may have
/// reached it. The API server forgets versions of about this age.
const CONFIRMED_FOR: Duration = Duration::from_secs(300);
/// The longest event, in bytes, far above any object of a real cluster.
const MAX: u64 = 64 << 20;

#[derive(Debug, thiserror::Error)]
#[error("an event of the watch is longer than {MAX} bytes")]
struct TooLong;

/// A message of a watch.
#[derive(Debug)]
pub(crate) enum Message {
    Changed(Change),
    /// The watch is open.
    Live(Kind),
    /// The watch can't be opened, or broke, for this reason.
    Failed(Kind, String),
}

/// Sends the changes after a resourceVersion, or after a list if there is none, until the receiver is gone.
pub(super) async fn watch(
    client: ApiClient,
    resource: Resource,
    version: Option<String>,
    messages: Sender<Message>,
) {
    let mut watch = Watch { client, resource, version, confirmed: Instant::now(), messages, accepted: None };
    let mut backoff = Backoff::default();
    loop {
        let end = watch.attempt().await;
        let worked = watch.accepted.take().is_some_and(|accepted| accepted.elapsed() >= WORKS_AFTER);
        let failure = match end {
            Err(End::NotReceived) => return,
            // Watches end regularly, and connections break; the next one goes on from there.
            Ok(()) | Err(End::Failed(ApiError::Transport(_) | ApiError::Timeout(_))) if worked => {
                backoff.reset();
                continue;
            }
            Ok(()) => Some("the API server ended the watch at once".to_owned()),
            Err(End::Failed(error)) => {
                // Another watch from the same version would fail in the same way.
                if matches!(error, ApiError::Malformed(_)) || error.is_invalid() {
                    watch.version = None;
                }
                Some(error_chain(&error))
            }
            Err(End::Expired) => {
                watch.version = None;
                None
            }
        };
        if let Some(failure) = failure
            && watch.send(Message::Failed(watch.resource.kind, failure)).await.is_err()
        {
            return;
        }
        sleep(backoff.next_delay()).await;
    }
}

struct Watch {
    client: ApiClient,
    resource: Resource,
    /// The resourceVersion to continue from; none requires a list.
    version: Option<String>,
    /// The time at which the version was last known to be of the history that the API server has.
    confirmed: Instant,
    messages: Sender<Message>,
    /// The time at which the watch of the current attempt was accepted.
    accepted: Option<Instant>,
}

/// The end of an attempt other than a regular one.
enum End {
    NotReceived,
    Expired,
    Failed(ApiError),
}

impl From<ApiError> for End {
    fn from(error: ApiError) -> Self {
        if error.is_expired() { Self::Expired } else { Self::Failed(error) }
    }
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Default, Deserialize)]
struct Identity {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    namespace: String,
    name: String,
    resource_version: String,
}

impl Watch {
    async fn send(&self, message: Message) -> Result<(), End> {
        self.messages.send(message).await.map_err(|_| End::NotReceived)
    }

    async fn attempt(&mut self) -> Result<(), End> {
        if self.confirmed.elapsed() > CONFIRMED_FOR {
            self.version = None;
        }
        let version = if let Some(version) = &self.version {
            version.clone()
        } else {
            let found = list(&self.client, &self.resource, &Selection::All).await?;
            self.send(Message::Changed(Change::Listed(self.resource.kind, found.objects))).await?;
            self.version.insert(found.version).clone()
        };
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={LIFETIME}&resourceVersion={}",
            self.resource.path(),
            escaped(&version)
        );
        let body = self.client.open(&path, HEADER).await?.into_body();
        self.accepted = Some(Instant::now());
        if went_back(&version, &current_version(&self.client, &self.resource).await?) {
            return Err(End::Expired);
        }
        self.confirmed = Instant::now();
        self.send(Message::Live(self.resource.kind)).await?;
        let mut body = body.into_data_stream().map_err(io::Error::other).into_async_read();
        loop {
            let (mut line, mut limited) = (Vec::new(), (&mut body).take(MAX));
            let read = timeout(SILENCE, limited.read_until(b'\n', &mut line)).await;
            let read = read.map_err(|_| ApiError::Timeout(SILENCE))?;
            read.map_err(|error| ApiError::Transport(Box::new(error)))?;
            match line.last() {
                Some(b'\n') if line.trim_ascii().is_empty() => {}
                Some(b'\n') => self.event(&line).await?,
                _ if limited.limit() == 0 => return Err(ApiError::malformed(TooLong).into()),
                // A line that was cut is sent again by the next watch.
                _ => return Ok(()),
            }
        }
    }

    async fn event(&mut self, line: &[u8]) -> Result<(), End> {
        // Parameters of drivers need not be UTF-8.
        let line = String::from_utf8_lossy(line);
        let event: Event<'_> = serde_json::from_str(&line).map_err(ApiError::malformed)?;
        let object = event.object.get();
        if event.kind == "ERROR" {
            let status = serde_json::from_str(object).map_err(ApiError::malformed)?;
            return Err(ApiError::Refused(Box::new(Status::from_json(status))).into());
        }
        let Metadata { namespace, name, resource_version } =
            serde_json::from_str::<Identity>(object).map_err(ApiError::malformed)?.metadata;
        let kind = self.resource.kind;
        match event.kind {
            "ADDED" | "MODIFIED" => {
                if let Some(object) = self.resource.readable(object) {
                    self.send(Message::Changed(Change::Upserted(object))).await?;
                }
            }
            "DELETED" => self.send(Message::Changed(Change::Deleted { kind, namespace, name })).await?,
            // Bookmarks.
            _ => {}
        }
        self.confirmed = Instant::now();
        if !resource_version.is_empty() {
            self.version = Some(resource_version);
        }
        Ok(())
    }
}

/// True if the storage is at an earlier version than one that was seen, as after the restore of a backup: the API server accepts a
/// watch from there, and sends nothing before it has reached that version again.
fn went_back(seen: &str, current: &str) -> bool {
    let number = |version: &str| version.parse::<u64>().ok();
    number(seen).zip(number(current)).is_some_and(|(seen, current)| current < seen)
}

#[cfg(test)]
mod tests {
    use embedded_apiserver::ApiServer;
    use http::{Method, Request};
    use kube_api::Encoding;
    use scripted_api::script::{Answer, Script, Step};
    use serde_json::{Value, json};
    use tokio::sync::mpsc::{self, Receiver};

    use super::*;

    const NODES: &str = "/api/v1/nodes";

    async fn send(client: &kube::Client, method: Method, path: &str, body: &Value) {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.body(body.to_string().into_bytes()).unwrap();
        client.request::<Value>(request).await.unwrap();
    }

    fn node(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    }

    /// A message in short.
    fn short(message: Message) -> String {
        let name = |object: &endpoint_diagnostics::Object| object.key().1.to_owned();
        match message {
            Message::Changed(Change::Listed(_, objects)) => {
                format!("listed {}", objects.iter().map(name).collect::<Vec<_>>().join(","))
            }
            Message::Changed(Change::Upserted(object)) => format!("upserted {}", name(&object)),
            Message::Changed(Change::Deleted { name, .. }) => format!("deleted {name}"),
            Message::Live(_) => "live".to_owned(),
            Message::Failed(_, reason) => format!("failed: {reason}"),
        }
    }

    /// Watches nodes from a version.
    fn start(client: kube::Client, version: &str) -> Receiver<Message> {
        let (sender, messages) = mpsc::channel(10);
        let client = ApiClient::new(client, Encoding::Json, "test");
        let nodes = Resource { kind: Kind::Nodes, namespace: None };
        tokio::spawn(watch(client, nodes, Some(version.to_owned()), sender));
        messages
    }

    async fn expect(messages: &mut Receiver<Message>, expected: &[&str]) {
        for expected in expected {
            assert_eq!(short(messages.recv().await.unwrap()), *expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_sends_changes_and_lists_again_after_a_gap() {
        let server = ApiServer::new();
        let client = kube::Client::new(server.clone(), "default");
        send(&client, Method::POST, NODES, &node("a")).await;
        let first = server.version().to_string();
        let mut messages = start(client.clone(), &first);
        expect(&mut messages, &["live"]).await;
        send(&client, Method::POST, NODES, &node("b")).await;
        expect(&mut messages, &["upserted b"]).await;
        send(&client, Method::DELETE, &format!("{NODES}/a"), &json!({})).await;
        expect(&mut messages, &["deleted a"]).await;

        server.compact();
        // The API server accepts the watch, and says in its first event that the version is too old.
        expect(&mut start(client, &first), &["live", "listed b", "live"]).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_lists_again_after_the_restore_of_a_backup() {
        let server = ApiServer::new();
        let client = kube::Client::new(server.clone(), "default");
        send(&client, Method::POST, NODES, &node("a")).await;
        let backup = server.snapshot();
        send(&client, Method::POST, NODES, &node("b")).await;
        let lost = server.version().to_string();
        server.restore(&backup, None);
        expect(&mut start(client, &lost), &["listed a", "live"]).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_malformed_event_is_reported_and_not_asked_for_again() {
        let answer = |body: &'static str| Answer::new(200, "application/json", body);
        let watch = |version| Step::new(Method::GET, NODES, answer("x\n").hang()).has(version);
        let list = answer(r#"{"metadata": {"resourceVersion": "7"}, "items": []}"#);
        let list = Step::new(Method::GET, NODES, list).lacks("watch");
        let script = Script::new([watch("resourceVersion=5"), list, watch("resourceVersion=7")]);
        let failed = "failed: malformed response from the API server: expected value at line 1 column 1";
        expect(&mut start(script.client(), "5"), &["live", failed, "listed ", "live", failed]).await;
    }
}
