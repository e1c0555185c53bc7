//! `shadow`: the controllers, which only compare, alongside those of kube-controller-manager.
//!
//! ```text
//! informers ─> cache ─> handlers ─> queues ─> policy ─> pending writes ─> Differences ─> log, metrics, report
//!                 └──── changes of slices and Endpoints ──^
//! ```
//!
//! Informers, handlers and queues are those of the program. In place of each sync, its policy asks for the writes that the sync
//! would make: none if the cluster is as this program would have it. Differences that outlast the grace period are named.
//! Nothing is written: no policy ever allows a sync, there is no election, and the clients refuse to send writes.

mod comparison;
mod differences;
mod found;
mod metrics;
mod report;

use std::sync::Arc;
use std::time::Duration;

use controller_kit::key::ObjectKey;
use controller_kit::queue::WorkQueue;
use endpoint_informers::cache::Cache;
use endpoint_informers::pending::WritePolicy;
use kube_api::time::Instant;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;

use crate::controllers::Controller;
use comparison::Comparison;
use metrics::Metrics;
#[cfg(test)]
pub(crate) use metrics::tests::page as metrics_page;
pub(crate) use report::Report;

/// The comparisons of all controllers.
pub(crate) struct Shadow {
    grace: Duration,
    started: Instant,
    metrics: Metrics,
    comparisons: Mutex<Vec<Arc<Comparison>>>,
    cache: Mutex<Option<Arc<Cache>>>,
}

impl Shadow {
    pub(crate) fn new(grace: Duration) -> Self {
        let (metrics, comparisons, cache) = Default::default();
        Self { grace, started: Instant::now(), metrics, comparisons, cache }
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        self.metrics.register(registry);
    }

    /// The policy of a controller that reads this cache. The queue gets every key whose objects change.
    pub(crate) fn follow(
        &self,
        which: Controller,
        queue: &WorkQueue<ObjectKey>,
        cache: &Arc<Cache>,
    ) -> Arc<dyn WritePolicy> {
        let (weak, metrics) = (Arc::downgrade(cache), self.metrics.of(which.name()));
        let comparison = Comparison::new(which, queue.clone(), self.grace, weak, metrics);
        let comparison = Arc::new(comparison);
        cache.attach(Arc::clone(&comparison) as _, |_| {});
        self.comparisons.lock().push(Arc::clone(&comparison));
        *self.cache.lock() = Some(Arc::clone(cache));
        comparison
    }

    /// The report until now; `None` if nothing was compared.
    pub(crate) fn report(&self) -> Option<Report> {
        let services =
            self.cache.lock().as_ref().map(|cache| cache.read(|state| state.services.iter().count()));
        let controllers: Vec<_> =
            self.comparisons.lock().iter().map(|comparison| comparison.summary()).collect();
        let compared = controllers.iter().any(|controller| controller.totals.comparisons > 0);
        compared.then(|| {
            Report::new(self.grace, self.started.elapsed(), services.unwrap_or_default(), controllers)
        })
    }
}
