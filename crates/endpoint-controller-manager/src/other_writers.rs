//! Other writers of the controllers' objects: the metric that counts their writes, and the policies that yield to them.

use std::fmt;
use std::sync::Arc;

use controller_kit::election::LeaseEvents;
use controller_kit::recorder::EventType;
use endpoint_informers::controller::Controller;
use endpoint_informers::pending::WritePolicy;
use endpoint_informers::yielding::{GRACE, Transition, Yielding};
use kube_api::plain_counter::PlainCounter;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::gates::{FeatureGates, YIELD_TO_OTHER_WRITERS};

/// The other writers that the controllers of a process see.
#[derive(Clone)]
pub(crate) struct OtherWriters {
    /// Yield to them.
    yields: bool,
    /// Records a change of turn; without an election, only the log has it.
    events: Option<LeaseEvents>,
    controllers: Arc<Mutex<Vec<Seen>>>,
}

/// The other writers that one controller sees.
struct Seen {
    controller: &'static str,
    writes: PlainCounter,
    policy: Option<Arc<Yielding>>,
}

impl OtherWriters {
    /// Registers the metric.
    pub(crate) fn register(
        gates: &FeatureGates,
        events: Option<LeaseEvents>,
        registry: &mut Registry,
    ) -> Self {
        let yields = gates.enabled(YIELD_TO_OTHER_WRITERS);
        let writers = Self { yields, events, controllers: Arc::default() };
        registry.register_collector(Box::new(writers.clone()));
        writers
    }

    /// Counts the foreign writes of a controller's objects from now on. Returns the policy that yields to them, if the gate
    /// is on.
    pub(crate) fn follow<C: Controller>(&self, controller: &C) -> Option<Arc<dyn WritePolicy>> {
        let writes = controller.repairs()?.foreign_writes();
        let policy = self.yields.then(|| Arc::new(Yielding::new(C::NAME, self.report())));
        self.controllers.lock().push(Seen { controller: C::NAME, writes, policy: policy.clone() });
        policy.map(|policy| policy as _)
    }

    /// Records an event about the Lease at each transition.
    fn report(&self) -> impl Fn(&'static str, &Transition) + Send + Sync + 'static {
        let events = self.events.clone();
        move |controller, transition| {
            let Some(events) = &events else { return };
            match transition {
                Transition::Yields { to } => {
                    let message = format!(
                        "Field manager {to:?} writes the objects of {controller} too: leaving the writes to it, except \
                         for what is still wrong after {GRACE:?}"
                    );
                    events.event(EventType::Warning, "OtherWriterDetected", message);
                }
                Transition::Acts => {
                    let message =
                        format!("No other client writes the objects of {controller}: writing at once");
                    events.event(EventType::Normal, "NoOtherWriter", message);
                }
            }
        }
    }

    /// The turn of each controller, for `/statusz`, if the gate is on.
    pub(crate) fn status(&self) -> Option<impl Fn() -> String + Clone + Send + Sync + 'static> {
        let writers = self.yields.then(|| self.clone())?;
        Some(move || {
            let controllers = writers.controllers.lock();
            let policies = controllers.iter().filter_map(|seen| seen.policy.as_ref());
            policies.map(ToString::to_string).collect::<Vec<_>>().join(", ")
        })
    }
}

impl fmt::Debug for OtherWriters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtherWriters").field("yields", &self.yields).finish_non_exhaustive()
    }
}

impl Collector for OtherWriters {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = "[ALPHA] Number of versions of this controller's objects that other field managers wrote while this \
                    process led";
        let mut family =
            encoder.encode_descriptor("foreign_writes_total", help, None, MetricType::Counter)?;
        for &Seen { controller, ref writes, .. } in &*self.controllers.lock() {
            writes.encode(family.encode_family(&[("controller", controller)])?)?;
        }
        Ok(())
    }
}
