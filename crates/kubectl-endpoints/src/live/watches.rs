//! The watches of all kinds.

use std::sync::Arc;

use endpoint_diagnostics::Object;
use endpoint_diagnostics::snapshot::{Kind, needs_claims};
use endpoint_diagnostics_page::follow::Change;
use kube_api::{ApiClient, ApiError};
use tokio::sync::Notify;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{self, Receiver, WeakSender};
use tokio::task::JoinSet;

use super::kinds::Resource;
use super::list::{Selection, list};
use super::watch::{Message, watch};

/// Messages that wait to be applied.
const MESSAGES: usize = 1_000;

/// Watches that run until they are dropped.
pub(crate) struct Watches {
    messages: Receiver<Message>,
    /// Starts the watch of ResourceClaims with the first Service that depends on them: a cluster may have as many claims as pods,
    /// and most have no such Service.
    needs_claims: Arc<Notify>,
    _tasks: JoinSet<()>,
}

impl Watches {
    /// Watches these resources from their versions, and also ResourceClaims when a Service depends on them.
    pub(crate) fn start(
        client: &ApiClient,
        namespace: Option<&str>,
        resources: Vec<(Resource, String)>,
    ) -> Self {
        let (sender, messages) = mpsc::channel(MESSAGES);
        let (mut tasks, needs_claims) = (JoinSet::new(), Arc::new(Notify::new()));
        if resources.iter().all(|(resource, _)| resource.kind != Kind::ResourceClaims) {
            let resource = Resource { kind: Kind::ResourceClaims, namespace: namespace.map(str::to_owned) };
            let needed = Arc::clone(&needs_claims);
            tasks.spawn(watch_when(needed, client.clone(), resource, sender.downgrade()));
        }
        for (resource, version) in resources {
            tasks.spawn(watch(client.clone(), resource, Some(version), sender.clone()));
        }
        Self { messages, needs_claims, _tasks: tasks }
    }

    /// The next message; none if the watches have ended.
    ///
    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        let message = self.messages.recv().await?;
        self.seen(&message);
        Some(message)
    }

    /// The next message, if there is one.
    ///
    /// # Errors
    /// There is none now, or the watches have ended.
    pub(crate) fn try_next(&mut self) -> Result<Message, TryRecvError> {
        let message = self.messages.try_recv()?;
        self.seen(&message);
        Ok(message)
    }

    fn seen(&self, message: &Message) {
        let needs_claims =
            |object: &Object| matches!(object, Object::Service(service) if needs_claims(service));
        let needs_claims = match message {
            Message::Changed(Change::Upserted(object)) => needs_claims(object),
            Message::Changed(Change::Listed(_, objects)) => objects.iter().any(needs_claims),
            _ => false,
        };
        if needs_claims {
            self.needs_claims.notify_one();
        }
    }
}

/// Lists and watches a resource from the time at which it is needed. If the list is refused, as by an API server that does not have
/// the resource, it waits for the next time.
async fn watch_when(
    needed: Arc<Notify>,
    client: ApiClient,
    resource: Resource,
    messages: WeakSender<Message>,
) {
    loop {
        needed.notified().await;
        let listed = list(&client, &resource, &Selection::All).await;
        let Some(messages) = messages.upgrade() else { return };
        let version = match listed {
            Ok(found) => {
                let listed = Message::Changed(Change::Listed(resource.kind, found.objects));
                _ = messages.send(listed).await;
                Some(found.version)
            }
            Err(ApiError::Refused(status)) if matches!(status.code, 403 | 404) => continue,
            // It is tried again, and meanwhile the failure is shown.
            Err(_) => None,
        };
        return watch(client, resource, version, messages).await;
    }
}
