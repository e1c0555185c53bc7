//! The scripted workload of the parity tests.
//!
//! In an exact phase no Service is touched twice without a [`World::sync`] in between, so that the controller
//! cannot merge two changes into one write, and the number of writes is determined. Phases of changes that
//! overlap come last: they determine content only.

mod objects;
mod phases;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::canonical::Detail;
use crate::release::Release;
use crate::scenario::World;

const V4: &str = "IPv4";
const V6: &str = "IPv6";
const ENDPOINTS: &str = "endpoints";
const SLICES: &str = "endpointslices";

/// A part of the workload, after which slices are compared and writes counted.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    /// The phase as a sentence.
    pub name: &'static str,
    /// The extent to which it determines the result.
    pub detail: Detail,
    /// The resources and Services that upstream writes a different number of times in every run.
    chance: &'static [(&'static str, &'static str)],
    /// The same, where the API server deletes Endpoints too.
    deleted_by_two: &'static [(&'static str, &'static str)],
    run: for<'a> fn(&'a World) -> BoxFuture<'a, ()>,
}

impl Phase {
    /// True if upstream writes this resource of this Service a different number of times in every run on this release.
    pub(crate) fn is_chance(&self, resource: &str, service: &str, release: Release) -> bool {
        let at_every_sync = resource == ENDPOINTS && WRITTEN_AT_EVERY_SYNC.contains(&service);
        let by_two = release.deletes_endpoints() && self.deleted_by_two.contains(&(resource, service));
        at_every_sync || by_two || self.chance.contains(&(resource, service))
    }

    const fn with_chance(self, chance: &'static [(&'static str, &'static str)]) -> Self {
        Self { chance, ..self }
    }

    const fn deleting(self, deleted_by_two: &'static [(&'static str, &'static str)]) -> Self {
        Self { deleted_by_two, ..self }
    }

    /// Makes the changes, and returns when the controllers have handled them.
    pub async fn run(&self, world: &World) {
        (self.run)(world).await;
        world.settle().await;
    }
}

/// The phases in order; each builds on the ones before.
pub const PHASES: &[Phase] = &[
    exact("create pods, then Services of all kinds", |w| phases::create(w).boxed()),
    exact("pods become ready and not ready", |w| phases::readiness(w).boxed()),
    exact("pods terminate", |w| phases::termination(w).boxed()),
    exact("pods go, finish, come back", |w| phases::replacement(w).boxed()),
    exact("pods change labels and addresses", |w| phases::relabelling(w).boxed()),
    exact("Services change labels", |w| phases::service_labels(w).boxed()),
    exact("Services change ports", |w| phases::service_ports(w).boxed()),
    exact("Services change selectors; 130 endpoints become 250", |w| phases::selectors(w).boxed())
        .with_chance(MIRRORED_FOR_A_WHILE),
    exact("a large Service grows pod by pod", |w| phases::growth(w).boxed()),
    exact("Services change type and families", |w| phases::types(w).boxed()),
    exact("Services are deleted and created again", |w| phases::recreation(w).boxed())
        .deleting(DELETED_BY_TWO),
    exact("slices change under the controller", |w| phases::interference(w).boxed()),
    exact("a missing node appears", |w| phases::missing_node(w).boxed()),
    exact("a large Service shrinks", |w| phases::shrinking(w).boxed()),
    overlapping("a rollout of 40 pods, everything at once", |w| phases::rollout(w).boxed()),
];

/// Services whose Endpoints upstream writes at every sync, because they carry a label that the controller sets itself.
/// The number of changes that share a sync is a matter of timing.
pub const WRITTEN_AT_EVERY_SYNC: &[&str] = &["reserved"];

/// Services of which a pod ends, or has a Ready condition and no address.
pub(crate) const PODS_END: &[&str] = &["end", "same"];

/// When the selector is back, mirrored slices are deleted on account of the Service and of its Endpoints. The second
/// request finds them gone, or is not made because its sync sees that.
const MIRRORED_FOR_A_WHILE: &[(&str, &str)] = &[(SLICES, "early")];

/// Before 1.37 the API server deletes the Endpoints of a Service together with it, and so does the controller. The order of the two
/// decides whether the controller's request finds them, and whether it creates them once more in between.
const DELETED_BY_TWO: &[(&str, &str)] = &[
    (ENDPOINTS, "web"),
    (ENDPOINTS, "empty"),
    (ENDPOINTS, "named"),
    (ENDPOINTS, "portless"),
    (ENDPOINTS, "same"),
];

const fn exact(name: &'static str, run: for<'a> fn(&'a World) -> BoxFuture<'a, ()>) -> Phase {
    Phase { name, detail: Detail::Exact, chance: &[], deleted_by_two: &[], run }
}

const fn overlapping(name: &'static str, run: for<'a> fn(&'a World) -> BoxFuture<'a, ()>) -> Phase {
    Phase { name, detail: Detail::Content, chance: &[], deleted_by_two: &[], run }
}
