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
use super::list::{Selection, escaped, list};

/// The time after which the server ends a watch.
const LIFETIME: u32 = 300;
/// The longest wait for the beginning of a response.
const HEADER: Duration = Duration::from_secs(30);
/// The age from which a watch counts as one that works.
const WORKS_AFTER: Duration = Duration::from_secs(1);
/// The longest wait for an event: the API server sends a bookmark about every minute.
const SILENCE: Duration = Duration::from_secs(150);
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
    let mut watch = Watch { client, resource, version, messages, accepted: None };
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
            Err(End::Failed(error)) => Some(error_chain(&error)),
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
        self.version = Some(resource_version);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use embedded_apiserver::ApiServer;
    use http::{Method, Request};
    use kube_api::Encoding;
    use serde_json::{Value, json};
    use tokio::sync::mpsc;

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

    #[tokio::test(start_paused = true)]
    async fn a_watch_sends_changes_and_lists_again_after_a_gap() {
        let server = ApiServer::new();
        let client = kube::Client::new(server.clone(), "default");
        send(&client, Method::POST, NODES, &node("a")).await;
        let api = ApiClient::new(client.clone(), Encoding::Json, "test");
        let resource = Resource { kind: Kind::Nodes, namespace: None };
        let first = list(&api, &resource, &Selection::All).await.unwrap();
        assert_eq!(first.objects.len(), 1);

        let (sender, mut messages) = mpsc::channel(10);
        let running = tokio::spawn(watch(api.clone(), resource.clone(), Some(first.version.clone()), sender));
        let mut next = async || short(messages.recv().await.unwrap());
        assert_eq!(next().await, "live");
        send(&client, Method::POST, NODES, &node("b")).await;
        assert_eq!(next().await, "upserted b");
        send(&client, Method::DELETE, &format!("{NODES}/a"), &json!({})).await;
        assert_eq!(next().await, "deleted a");
        running.abort();

        server.compact();
        let (sender, mut messages) = mpsc::channel(10);
        tokio::spawn(watch(api, resource, Some(first.version), sender));
        let mut next = async || short(messages.recv().await.unwrap());
        // The API server accepts the watch, and says in its first event that the version is too old.
        for expected in ["live", "listed b", "live"] {
            assert_eq!(next().await, expected);
        }
    }
}
