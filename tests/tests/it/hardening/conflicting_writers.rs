//! Clients that undo the controllers' writes to the objects of one Service as fast as they can: each causes no more writes
//! than upstream makes and one event that names it, and delays no other Service.

use std::fmt::{self, Write as _};
use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{Endpoints, Event};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::{Api, Client, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tests::audit::Request;
use tests::cluster::{Cluster, User};
use tests::manager::{Controller, Manager, ManagerOptions};
use tests::scenario::{NAMESPACE, World};
use tests::wait::{self, Calm, LIMIT};
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use super::fixture::{calm, change, kind, measured, serve};

/// The duration of the conflict.
const CONFLICT: Duration = Duration::from_secs(60);
/// The repairs at once, the first edit included.
const AT_ONCE: usize = 11;
/// The slices in place of those that get another manager, until one waits a minute; the first loss is free.
const REPLACED: usize = 4;
/// The time until a Service is repaired after the conflict: one write a minute, and the duration of the write.
const RECOVERY: Duration = Duration::from_secs(75);
/// The limit for a Service without conflicts.
const BOUND: Duration = Duration::from_secs(5);

const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// The address that the conflicting writers publish, and no pod has.
const FOREIGN_ADDRESS: &str = "192.0.2.1";

/// True for slices of the controllers.
fn is_theirs(slice: &EndpointSlice) -> bool {
    slice.labels().get(MANAGED_BY).is_some_and(|by| by == "endpointslice-controller.k8s.io")
}

/// True if a slice publishes pods and nothing else.
fn serves(slice: &EndpointSlice) -> bool {
    let mut addresses = slice.endpoints.iter().flatten().flat_map(|endpoint| &endpoint.addresses).peekable();
    addresses.peek().is_some() && addresses.all(|address| address != FOREIGN_ADDRESS)
}

/// True if Endpoints publish pods and nothing else.
fn is_served(endpoints: &Endpoints) -> bool {
    let subsets = endpoints.subsets.iter().flatten();
    let mut addresses = subsets.flat_map(|subset| subset.addresses.iter().flatten()).peekable();
    addresses.peek().is_some() && addresses.all(|address| address.ip != FOREIGN_ADDRESS)
}

/// A client that writes to each object of a Service as soon as it sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    /// Claims slices by their label.
    RelabelSlices,
    DeleteSlices,
    /// Publishes another endpoint instead.
    EditSlices,
    DeleteEndpoints,
    /// Publishes another address instead.
    EditEndpoints,
}

impl Writer {
    const ALL: [Self; 5] = [
        Self::RelabelSlices,
        Self::DeleteSlices,
        Self::EditSlices,
        Self::DeleteEndpoints,
        Self::EditEndpoints,
    ];

    /// The Service whose objects it edits.
    fn service(self) -> &'static str {
        match self {
            Self::RelabelSlices => "relabelled",
            Self::DeleteSlices => "deleted",
            Self::EditSlices => "edited",
            Self::DeleteEndpoints => "deleted-endpoints",
            Self::EditEndpoints => "edited-endpoints",
        }
    }

    /// Its field manager.
    fn manager(self) -> String {
        format!("conflicting-{}", self.service())
    }

    /// The most writes that it may cause in this time.
    fn most_writes(self, seconds: usize) -> usize {
        match self {
            Self::RelabelSlices => REPLACED + seconds / 60,
            Self::EditEndpoints => AT_ONCE + seconds / 60,
            // Endpoints are gone each time: as fast as upstream.
            Self::DeleteSlices | Self::EditSlices | Self::DeleteEndpoints => AT_ONCE + seconds,
        }
    }

    fn resource(self) -> &'static str {
        match self {
            Self::RelabelSlices | Self::DeleteSlices | Self::EditSlices => "endpointslices",
            Self::DeleteEndpoints | Self::EditEndpoints => "endpoints",
        }
    }

    /// True if the objects show the client that changed them. Deleted objects do not.
    fn leaves_traces(self) -> bool {
        !matches!(self, Self::DeleteSlices | Self::DeleteEndpoints)
    }

    /// Edits objects until it is aborted.
    async fn act(self, client: Client) {
        let name = self.service();
        if self.resource() == "endpoints" {
            let query = WatchParams::default().fields(&format!("metadata.name={name}"));
            let endpoints: Api<Endpoints> = Api::namespaced(client, NAMESPACE);
            self.edit_when(endpoints, query, is_served).await;
        } else {
            let query = WatchParams::default().labels(&format!("{SERVICE_NAME}={name}"));
            let slices: Api<EndpointSlice> = Api::namespaced(client, NAMESPACE);
            let edits = self == Self::EditSlices;
            let is_theirs = move |slice: &EndpointSlice| is_theirs(slice) && (!edits || serves(slice));
            self.edit_when(slices, query, is_theirs).await;
        }
    }

    async fn edit_when<K>(self, api: Api<K>, query: WatchParams, is_wanted: impl Fn(&K) -> bool)
    where
        K: Clone + fmt::Debug + DeserializeOwned + ResourceExt,
    {
        loop {
            let Ok(stream) = api.watch(&query, "0").await else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let mut stream = std::pin::pin!(stream);
            while let Ok(Some(event)) = stream.try_next().await {
                let (WatchEvent::Added(object) | WatchEvent::Modified(object)) = event else { continue };
                if is_wanted(&object) {
                    // The object may have been changed or deleted since.
                    let _ = self.edit(&api, &object.name_any()).await;
                }
            }
        }
    }

    async fn edit<K>(self, api: &Api<K>, name: &str) -> kube::Result<()>
    where
        K: Clone + fmt::Debug + DeserializeOwned,
    {
        let change: Value = match self {
            Self::RelabelSlices => json!({"metadata": {"labels": {MANAGED_BY: "conflicting.example"}}}),
            Self::EditSlices => json!({"endpoints": [{"addresses": [FOREIGN_ADDRESS]}]}),
            Self::EditEndpoints => json!({"subsets": [{"addresses": [{"ip": FOREIGN_ADDRESS}]}]}),
            Self::DeleteSlices | Self::DeleteEndpoints => {
                return api.delete(name, &DeleteParams::default()).await.map(drop);
            }
        };
        let manager = self.manager();
        let params = PatchParams { field_manager: Some(manager), ..PatchParams::default() };
        api.patch(name, &params, &Patch::Merge(change)).await.map(drop)
    }

    /// The number of our writes to the objects that it edits.
    fn writes(self, requests: &[Request]) -> usize {
        let mine = |request: &&Request| {
            let name = match self.resource() {
                "endpoints" => Some(request.name.as_str()),
                _ => request.name.rsplit_once('-').map(|(name, _)| name),
            };
            request.resource == self.resource() && name == Some(self.service())
        };
        requests.iter().filter(mine).count()
    }
}

/// Warnings about a Service, one line each.
async fn warnings(client: &Client, service: &str) -> Vec<String> {
    let events: Api<Event> = Api::namespaced(client.clone(), NAMESPACE);
    let about = ListParams::default().fields(&format!("involvedObject.name={service},type=Warning"));
    let list = events.list(&about).await.unwrap();
    list.items
        .into_iter()
        .map(|event| {
            let about = event.involved_object.kind.unwrap_or_default();
            let (reason, message) = (event.reason.unwrap_or_default(), event.message.unwrap_or_default());
            format!("{about} {reason} {message}")
        })
        .collect()
}

/// Changes a Service without conflicts while the others have them. Returns the longest delay.
async fn bystander(world: &World) -> Duration {
    let end = Instant::now() + CONFLICT;
    let mut longest = Duration::ZERO;
    for ready in [false, true].into_iter().cycle() {
        if Instant::now() > end {
            break;
        }
        let took = change(world, "bystander", ready, LIMIT).await.unwrap();
        longest = longest.max(took);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    longest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conflicting_writers_cost_bounded_writes_and_delay_no_other_service() {
    let cluster = Cluster::embedded().await;
    let world = World::prepare(cluster.client(), Controller::ALL).await;
    let manager = Manager::start(kind(), &cluster, &ManagerOptions::of(Controller::ALL)).await;
    for (number, name) in (0..).zip(Writer::ALL.map(Writer::service).into_iter().chain(["bystander"])) {
        serve(&world, name, number).await;
        world.expect(name, "IPv4", 1, 1).await;
    }
    world.settle().await;
    let calm = calm(&world, "bystander").await;

    let mark = cluster.audit().mark();
    let begin = Instant::now();
    let end = tokio::time::Instant::now() + CONFLICT;
    let mut writers = JoinSet::new();
    for writer in Writer::ALL {
        writers.spawn(writer.act(cluster.client()));
    }
    let longest = bystander(&world).await;
    sleep_until(end).await;
    writers.shutdown().await;
    let client = cluster.client();
    let requests = cluster.audit().writes_since(mark, User::EndpointControllers);
    let lasted = usize::try_from(begin.elapsed().as_secs()).unwrap();

    measured("change of a Service beside conflicting writers, longest delay", longest);
    let recovered = Writer::ALL.map(|writer| served_again(writer, &client, &world, calm));
    let recovered = futures::future::join_all(recovered).await;
    let mut failures = String::new();
    for writer in Writer::ALL {
        let writes = writer.writes(&requests);
        let edits = edits_by(&cluster.audit().since(mark), writer);
        println!("{writer:?}: {writes} writes in {lasted} s against {edits}");
        if writes > writer.most_writes(lasted) {
            writeln!(failures, "{writer:?}: {writes} writes in {lasted} s").unwrap();
        }
        let (about, name) = (format!("Service {}", writer.service()), writer.manager());
        let named = async || {
            let warnings = warnings(&cluster.client(), writer.service()).await;
            let named = warnings.iter().filter(|it| it.starts_with("Service ") && it.contains(&name)).count();
            (named, warnings)
        };
        // Events are sent in the background.
        wait::until("the event about a writer", LIMIT, async || match named().await {
            (0, warnings) if writer.leaves_traces() => Err(format!("{warnings:?}")),
            _ => Ok(()),
        })
        .await;
        let (named, warnings) = named().await;
        println!("  {warnings:?}");
        if writer.leaves_traces() && named != 1 {
            writeln!(failures, "{writer:?}: {named} events on {about} name {name}: {warnings:?}").unwrap();
        }
    }
    for (writer, result) in Writer::ALL.into_iter().zip(recovered) {
        match result {
            Ok(took) => measured(&format!("repair after {writer:?} has stopped"), took),
            Err(error) => writeln!(failures, "{writer:?}: not repaired afterwards: {error}").unwrap(),
        }
    }
    let warned = warnings(&cluster.client(), "bystander").await;
    if longest > calm.bound(BOUND) || !warned.is_empty() {
        writeln!(failures, "the bystander waited {longest:.1?} with warnings {warned:?}").unwrap();
    }
    assert!(failures.is_empty(), "{failures}");
    assert!(manager.stop().await.success());
}

/// Waits until a Service is served by objects of ours again. Returns the time that took.
///
/// # Errors
/// If it takes longer than [`RECOVERY`], and some changes in the calm.
async fn served_again(
    writer: Writer,
    client: &Client,
    world: &World,
    calm: Calm,
) -> Result<Duration, String> {
    let (start, service) = (Instant::now(), writer.service());
    let endpoints: Api<Endpoints> = Api::namespaced(client.clone(), NAMESPACE);
    loop {
        let slices = world.slices_of(service, "IPv4").await?;
        let stored = endpoints.get_opt(service).await.map_err(|error| error.to_string())?;
        let in_slices = slices.iter().any(|slice| is_theirs(slice) && serves(slice));
        let in_endpoints = stored.as_ref().is_some_and(is_served);
        if in_slices && in_endpoints {
            return Ok(start.elapsed());
        }
        if start.elapsed() > calm.after(RECOVERY) {
            return Err(format!("served by slices: {in_slices}, by Endpoints: {in_endpoints}"));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The number of an writer's writes.
fn edits_by(requests: &[Request], writer: Writer) -> usize {
    let is_edit = |request: &&Request| {
        request.user == User::Admin.name()
            && request.is_write()
            && request.resource == writer.resource()
            && request.name.starts_with(writer.service())
    };
    requests.iter().filter(is_edit).count()
}
