//! The controllers of a process.

pub mod first_writes;
pub mod informers;

use std::fmt;
use std::sync::Arc;

use controller_kit::key::ObjectKey;
use controller_kit::queue::{QueueMetrics, WorkQueue};
use controller_kit::recorder::EventWriter;
use endpoint_informers::cache::Cache;
use endpoint_informers::lifecycle::ControllerTask;
use endpoints_controller::EndpointsController;
use endpointslice_controller::EndpointSliceController;
use endpointslice_mirroring_controller::EndpointSliceMirroringController;
use kube_api::ApiClient;
use kube_api::plain_counter::PlainCounter;
use prometheus_client::registry::Registry;

use crate::config::Config;
use crate::controllers::Controller;
use crate::shadow::Shadow;
use first_writes::FirstWrites;

/// The most syncs of a controller that wait for the API server at the same time, unless its flag says more: the highest number
/// that upstream's flags accept. With two busy controllers, one HTTP/2 connection still takes all requests (100).
const MAX_IN_FLIGHT: u8 = 50;

/// The syncs of a controller that may be under way at the same time: those that spend the tokens of a quarter second, which
/// is what upstream's defaults allow (5 syncs, 20 requests a second). With more, a change would wait longer for the tokens
/// that other syncs have reserved.
fn in_flight(qps: f64) -> usize {
    let has_tokens = |n: &u8| qps <= 0.0 || f64::from(*n) < qps / 4.0;
    (0..MAX_IN_FLIGHT).filter(has_tokens).count()
}

/// Controllers that have not started yet, and what can be asked about them.
#[derive(Default)]
pub struct ControllerSet {
    /// The controllers.
    pub tasks: Vec<ControllerTask>,
    /// Their first writes.
    pub first_writes: FirstWrites,
    /// The state of each between syncs.
    pub states: Vec<ControllerState>,
    /// The name and the queue of each.
    pub queues: Vec<(&'static str, WorkQueue<ObjectKey>)>,
    /// The foreign writes that each sees; none of a shadow.
    pub(crate) foreign_writes: Vec<(&'static str, PlainCounter)>,
}

/// The controllers of a configuration, for a program without metrics. `client` makes a client whose user agent ends in this.
pub fn prepare_all(
    config: &Config,
    cache: &Arc<Cache>,
    client: impl Fn(&'static str) -> ApiClient,
) -> ControllerSet {
    let mut registry = Registry::default();
    let queues = QueueMetrics::register(&mut registry);
    let mut deps = ControllerDeps { config, cache, queues: &queues, registry: &mut registry, shadow: None };
    let mut set = ControllerSet::default();
    for which in &config.controllers {
        deps.prepare(*which, client(which.client()), &mut set);
    }
    set
}

/// The parts that controllers share.
pub(crate) struct ControllerDeps<'a> {
    pub(crate) config: &'a Config,
    pub(crate) cache: &'a Arc<Cache>,
    pub(crate) queues: &'a QueueMetrics,
    pub(crate) registry: &'a mut Registry,
    /// Set if the controllers only compare.
    pub(crate) shadow: Option<&'a Shadow>,
}

impl ControllerDeps<'_> {
    /// Adds a controller, whose requests go through `client`.
    pub(crate) fn prepare(&mut self, which: Controller, client: ApiClient, set: &mut ControllerSet) {
        let (config, queues, cache) = (self.config, self.queues, Arc::clone(self.cache));
        match which {
            Controller::Endpoints => {
                let parts = EndpointsController::new(config.endpoints, cache, client, queues);
                self.add(which, parts, set);
            }
            Controller::EndpointSlice => {
                let new = EndpointSliceController::new;
                let parts = new(config.endpointslice, cache, client, queues, self.registry);
                self.add(which, parts, set);
            }
            Controller::EndpointSliceMirroring => {
                let new = EndpointSliceMirroringController::new;
                let parts = new(config.mirroring, cache, client, queues, self.registry);
                self.add(which, parts, set);
            }
        }
    }

    fn add<C: endpoint_informers::controller::Controller>(
        &self,
        which: Controller,
        (controller, events): (Arc<C>, EventWriter),
        set: &mut ControllerSet,
    ) {
        let parts = controller.parts();
        let policy = self.shadow.map(|shadow| shadow.follow(which, parts.queue, self.cache));
        let repairs = parts.repairs.filter(|_| policy.is_none());
        set.foreign_writes.extend(repairs.map(|repairs| (C::NAME, repairs.foreign_writes())));
        set.first_writes.add(&controller);
        set.states.push(ControllerState::of(&controller));
        set.queues.push((C::NAME, parts.queue.clone()));
        let in_flight = in_flight(self.config.rate.highest());
        set.tasks.push(ControllerTask::new((controller, events), in_flight, policy));
    }
}

/// The keys that a controller keeps between syncs, to be read while it runs. Does not keep the controller alive.
#[derive(Clone)]
pub struct ControllerState(Arc<dyn Fn() -> Vec<(&'static str, ObjectKey)> + Send + Sync>);

impl ControllerState {
    fn of<C: endpoint_informers::controller::Controller>(controller: &Arc<C>) -> Self {
        let controller = Arc::downgrade(controller);
        Self(Arc::new(move || {
            let Some(controller) = controller.upgrade() else { return Vec::new() };
            let mut remembered = controller.remembered();
            remembered.extend(controller.parts().queue.failing().into_iter().map(|key| ("failing", key)));
            remembered.sort();
            remembered
        }))
    }

    /// Everything that the controller [remembers], in order, and the keys in its queue whose last sync failed, as the table
    /// `failing`. Empty once the controller is gone.
    ///
    /// [remembers]: endpoint_informers::controller::Controller::remembered
    pub fn remembered(&self) -> Vec<(&'static str, ObjectKey)> {
        (self.0)()
    }
}

impl fmt::Debug for ControllerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.remembered()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_second_of_tokens_is_in_flight() {
        let cases = [(20.0, 5), (0.5, 1), (100.0, 25), (200.0, 50), (5000.0, 50), (0.0, 50), (-1.0, 50)];
        for (qps, expected) in cases {
            assert_eq!(in_flight(qps), expected, "{qps} requests a second");
        }
    }
}
