//! The controllers of this process.

use std::sync::Arc;

use controller_kit::queue::QueueMetrics;
use endpoint_informers::cache::Cache;
use endpoint_informers::lifecycle::ControllerTask;
use endpoints_controller::EndpointsController;
use endpointslice_controller::EndpointSliceController;
use endpointslice_mirroring_controller::EndpointSliceMirroringController;
use kube_api::ApiClient;
use prometheus_client::registry::Registry;

use crate::config::Config;
use crate::controllers::Controller;

/// The parts that controllers share.
pub(crate) struct ControllerDeps<'a> {
    pub(crate) config: &'a Config,
    pub(crate) cache: &'a Arc<Cache>,
    pub(crate) queues: &'a QueueMetrics,
    pub(crate) registry: &'a mut Registry,
}

impl ControllerDeps<'_> {
    /// One controller, whose requests go through `client`.
    pub(crate) fn prepare(&mut self, which: Controller, client: ApiClient) -> ControllerTask {
        let Self { config, cache, queues, registry } = self;
        let cache = Arc::clone(cache);
        match which {
            Controller::Endpoints => {
                ControllerTask::new(EndpointsController::new(config.endpoints, cache, client, queues))
            }
            Controller::EndpointSlice => {
                let new = EndpointSliceController::new;
                ControllerTask::new(new(config.endpointslice, cache, client, queues, registry))
            }
            Controller::EndpointSliceMirroring => {
                let new = EndpointSliceMirroringController::new;
                ControllerTask::new(new(config.mirroring, cache, client, queues, registry))
            }
        }
    }
}
