//! `running_managed_controllers`: the controllers that run in this process.

use endpoint_informers::lifecycle::Phase;
use kube_api::computed::{self, encode_series};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use crate::controllers::Controller;
use crate::version;

/// Registers the gauge of Go's controller managers (`component-base` `metrics/prometheus/controllers`). kube-controller-manager
/// sets it only for controllers of nodes, to 1 from their start.
///
/// Here it is read at the scrape. It is 0 in a standby, and in a leader whose controllers have not started: while it relists,
/// or while the takeover gate is closed. So 0 everywhere means that nothing writes, also if a replica leads.
pub(crate) fn register(controllers: Vec<Controller>, phase: watch::Receiver<Phase>, registry: &mut Registry) {
    computed::register(registry, move |encoder| {
        let running = i64::from(*phase.borrow() == Phase::Running);
        let labels = |controller: &Controller| [("manager", version::NAME), ("name", controller.name())];
        let name = "running_managed_controllers";
        let help = "[BETA] Indicates where instances of a controller are currently running";
        let series = controllers.iter().map(|controller| (labels(controller), running));
        encode_series(encoder, name, help, MetricType::Gauge, series)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leader that relists, or whose takeover gate is closed, leads and writes nothing.
    #[test]
    fn controllers_run_in_one_phase_only() {
        let phase = watch::Sender::new(Phase::Starting);
        let mut registry = Registry::default();
        let controllers = vec![Controller::Endpoints, Controller::EndpointSlice];
        register(controllers, phase.subscribe(), &mut registry);
        for (now, running) in [
            (Phase::Starting, 0),
            (Phase::Standby, 0),
            (Phase::Relisting, 0),
            (Phase::Running, 1),
            (Phase::Stopping, 0),
        ] {
            phase.send_replace(now);
            let text = scripted_api::candidates::metrics(&registry);
            let expected = ["endpoints-controller", "endpointslice-controller"].map(|name| {
                format!("running_managed_controllers{{manager=\"endpoint-controller-manager\",name=\"{name}\"}} {running}")
            });
            let series: Vec<&str> = text.lines().filter(|line| line.starts_with("running_")).collect();
            assert_eq!(series, expected, "{now:?}");
        }
    }
}
