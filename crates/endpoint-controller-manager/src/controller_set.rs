//! The controllers of a process.

pub mod informers;

use std::sync::Arc;

use controller_kit::queue::QueueMetrics;
use controller_kit::recorder::EventWriter;
use endpoint_informers::cache::Cache;
use endpoint_informers::lifecycle::ControllerTask;
use endpoints_controller::EndpointsController;
use endpointslice_controller::EndpointSliceController;
use endpointslice_mirroring_controller::EndpointSliceMirroringController;
use kube_api::ApiClient;
use prometheus_client::registry::Registry;

use crate::config::Config;
use crate::controllers::Controller;
use crate::metrics::foreign_writes::ForeignWrites;
use crate::server::service_states::ControllerQueues;
use crate::shadow::Shadow;

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

/// The controllers of a configuration, for a program without metrics. `client` makes a client whose user agent ends in this.
pub fn tasks(
    config: &Config,
    cache: &Arc<Cache>,
    client: impl Fn(&'static str) -> ApiClient,
) -> Vec<ControllerTask> {
    let mut registry = Registry::default();
    let queues = QueueMetrics::register(&mut registry);
    let mut deps = ControllerDeps {
        config,
        cache,
        queues: &queues,
        registry: &mut registry,
        foreign_writes: None,
        states: &ControllerQueues::default(),
        shadow: None,
    };
    config.controllers.iter().map(|which| deps.prepare(*which, client(which.client()))).collect()
}

/// The parts that controllers share.
pub(crate) struct ControllerDeps<'a> {
    pub(crate) config: &'a Config,
    pub(crate) cache: &'a Arc<Cache>,
    pub(crate) queues: &'a QueueMetrics,
    pub(crate) registry: &'a mut Registry,
    /// `None` if they need no metric.
    pub(crate) foreign_writes: Option<&'a ForeignWrites>,
    /// Receives the queue of each controller.
    pub(crate) states: &'a ControllerQueues,
    /// Set if the controllers only compare.
    pub(crate) shadow: Option<&'a Shadow>,
}

impl ControllerDeps<'_> {
    /// One controller, whose requests go through `client`.
    pub(crate) fn prepare(&mut self, which: Controller, client: ApiClient) -> ControllerTask {
        let (config, queues, cache) = (self.config, self.queues, Arc::clone(self.cache));
        match which {
            Controller::Endpoints => {
                let parts = EndpointsController::new(config.endpoints, cache, client, queues);
                self.task(which, parts)
            }
            Controller::EndpointSlice => {
                let new = EndpointSliceController::new;
                let parts = new(config.endpointslice, cache, client, queues, self.registry);
                self.task(which, parts)
            }
            Controller::EndpointSliceMirroring => {
                let new = EndpointSliceMirroringController::new;
                let parts = new(config.mirroring, cache, client, queues, self.registry);
                self.task(which, parts)
            }
        }
    }

    fn task<C: endpoint_informers::controller::Controller>(
        &self,
        which: Controller,
        parts: (Arc<C>, EventWriter),
    ) -> ControllerTask {
        self.states.follow(C::NAME, parts.0.queue().clone());
        let policy = self.shadow.map(|shadow| shadow.follow(which, parts.0.queue(), self.cache));
        if let (None, Some(foreign_writes)) = (self.shadow, self.foreign_writes) {
            foreign_writes.follow(&*parts.0);
        }
        ControllerTask::new(parts, in_flight(self.config.rate.highest()), policy)
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
