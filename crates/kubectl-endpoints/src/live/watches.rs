//! The watches of all kinds.

use endpoint_diagnostics::Object;
use endpoint_diagnostics::snapshot::{Kind, is_on_pod_network};
use endpoint_diagnostics_page::follow::Change;
use endpointslice::Service;
use kube_api::ApiClient;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::kinds::Resource;
use super::list::{Selection, list};
use super::message::Message;
use super::watch::watch;

/// Messages that wait to be applied.
const MESSAGES: usize = 1_000;

/// Watches that run until they are dropped.
pub(crate) struct Watches {
    messages: Receiver<Message>,
    /// Starts the watch of ResourceClaims with the first Service on a pod network: a cluster may have as many claims as pods, and
    /// most have no such Service.
    start_claims: Option<oneshot::Sender<()>>,
    _tasks: JoinSet<()>,
}

impl Watches {
    /// Watches these resources from their versions, and also ResourceClaims when a Service needs them.
    pub(crate) fn start(
        client: &ApiClient,
        namespace: Option<&str>,
        resources: Vec<(Resource, String)>,
    ) -> Self {
        let (sender, messages) = mpsc::channel(MESSAGES);
        let mut tasks = JoinSet::new();
        let has_claims = resources.iter().any(|(resource, _)| resource.kind == Kind::ResourceClaims);
        for (resource, version) in resources {
            tasks.spawn(watch(client.clone(), resource, version, sender.clone()));
        }
        let (start, started) = oneshot::channel();
        let resource = Resource { kind: Kind::ResourceClaims, namespace: namespace.map(str::to_owned) };
        tasks.spawn(watch_later(client.clone(), resource, started, sender));
        Self { messages, start_claims: (!has_claims).then_some(start), _tasks: tasks }
    }

    /// The next message; none if the watches have ended.
    ///
    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        let message = self.messages.recv().await;
        self.seen(message.as_ref());
        message
    }

    /// The next message, if there is one.
    ///
    /// # Errors
    /// There is none now, or the watches have ended.
    pub(crate) fn try_next(&mut self) -> Result<Message, TryRecvError> {
        let message = self.messages.try_recv();
        self.seen(message.as_ref().ok());
        message
    }

    fn seen(&mut self, message: Option<&Message>) {
        if self.start_claims.is_some() && message.is_some_and(has_service_on_pod_network) {
            // Fails only if the tasks have ended.
            _ = self.start_claims.take().map(|start| start.send(()));
        }
    }
}

fn has_service_on_pod_network(message: &Message) -> bool {
    let is_one = |object: &Object| matches!(object, Object::Service(service) if is_on_pod_network(&Service::from(&**service)));
    match message {
        Message::Changed(Change::Upserted(object)) => is_one(object),
        Message::Changed(Change::Listed(_, objects)) => objects.iter().any(is_one),
        _ => false,
    }
}

/// Lists and watches a resource that the reports can do without, when they need it. Ends if the list is refused.
async fn watch_later(
    client: ApiClient,
    resource: Resource,
    needed: oneshot::Receiver<()>,
    messages: Sender<Message>,
) {
    if needed.await.is_err() {
        return;
    }
    let Ok(found) = list(&client, &resource, &Selection::All).await else { return };
    let listed = Message::Changed(Change::Listed(resource.kind, found.objects));
    if messages.send(listed).await.is_ok() {
        watch(client, resource, found.version, messages).await;
    }
}
