//! Help for upstream, which may mirror late or never: see the table of [`random`](super).

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Endpoints, Service};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt as _};
use random_operations::NAMES;

use super::apply::unless_missing;
use crate::canonical::{MANAGED_BY, MIRRORED, SERVICE_NAME};
use crate::scenario::{NAMESPACE, World};

/// The time that a difference may persist. Upstream retries a sync that it takes for stale after 1 s, 2 s, 4 s, …, and
/// takes more of them for stale on a busy machine: eight in a row take longer than the limit of other conditions.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);

/// The time that upstream gets to mirror without help.
const BEFORE_HELP: Duration = Duration::from_secs(4);

/// The number of times that slices of upstream are deleted to help it. If it sees such a deletion before it has recorded its
/// own create, it waits for this slice for ever; only a deletion of the Endpoints makes it forget what it waits for.
const DELETIONS: usize = 2;

/// The help that upstream got while objects differed after an operation.
pub(crate) struct Help {
    start: Instant,
    after: Duration,
    given: usize,
}

impl Help {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), after: BEFORE_HELP, given: 0 }
    }

    /// The time since the operation.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub(crate) fn is_due(&self) -> bool {
        self.elapsed() > self.after
    }

    /// Makes upstream mirror the Endpoints of these Services again.
    pub(crate) async fn give(&mut self, world: &World, is_concerned: impl Fn(&str) -> bool) {
        self.given += 1;
        for service in NAMES.into_iter().filter(|name| is_concerned(name)) {
            if self.given > DELETIONS {
                recreate_endpoints(world, service).await;
            } else {
                delete_mirrored(world, service).await;
            }
        }
        // A deletion makes its cache stale as well, so the time grows.
        self.after = self.elapsed() * 2;
    }
}

/// Deletes the mirrored slices of Endpoints.
async fn delete_mirrored(world: &World, service: &str) {
    let query = ListParams::default().labels(&format!("{SERVICE_NAME}={service},{MANAGED_BY}={MIRRORED}"));
    for slice in world.slices().list(&query).await.expect("listing slices") {
        let deleted = world.slices().delete(&slice.name_any(), &DeleteParams::default()).await.map(drop);
        unless_missing(deleted).expect("deleting a slice");
    }
}

/// Deletes custom Endpoints, and creates them again once the controllers have noticed.
async fn recreate_endpoints(world: &World, service: &str) {
    let services: Api<Service> = Api::namespaced(world.client().clone(), NAMESPACE);
    let found = services.get_opt(service).await.expect("reading a Service");
    if found.and_then(|service| service.spec).is_none_or(|spec| spec.selector.is_some()) {
        // They are the controller's now, which creates them again.
        return;
    }
    let api: Api<Endpoints> = Api::namespaced(world.client().clone(), NAMESPACE);
    let Some(mut endpoints) = api.get_opt(service).await.expect("reading Endpoints") else { return };
    let deleted = api.delete(service, &DeleteParams::default()).await;
    deleted.expect("deleting Endpoints");
    world.settle().await;
    endpoints.metadata.resource_version = None;
    endpoints.metadata.uid = None;
    api.create(&PostParams::default(), &endpoints).await.expect("creating Endpoints again");
}
