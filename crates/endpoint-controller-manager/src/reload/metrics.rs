//! Metrics of reloads, by the names that Prometheus has for its own, and Kubernetes' count by status.

use jiff::Timestamp;
use kube_api::plain_counter::PlainCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The metrics of a process; without `--config` nothing is counted.
pub(super) struct ReloadMetrics {
    successful: Gauge,
    success_time: Gauge,
    reloads: Family<[(&'static str, &'static str); 1], PlainCounter>,
    restart: Family<[(&'static str, &'static str); 1], Gauge>,
}

impl ReloadMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            successful: Gauge::default(),
            success_time: Gauge::default(),
            reloads: Family::default(),
            restart: Family::default(),
        };
        metrics.successful.set(1);
        for status in [SUCCESS, FAILURE] {
            drop(metrics.reloads.get_or_create(&[("status", status)]));
        }
        registry.register(
            "config_last_reload_successful",
            "[ALPHA] Whether the configuration file was applied when it was last read: 1, also without --config, or 0 if it \
             was refused or changes a field that needs a restart",
            metrics.successful.clone(),
        );
        registry.register(
            "config_last_reload_success_timestamp_seconds",
            "[ALPHA] Time at which the configuration file was last applied, the start included, in seconds since the epoch; \
             0 without --config",
            metrics.success_time.clone(),
        );
        registry.register(
            "config_reloads_total",
            "[ALPHA] Number of times that the configuration file was read again, by the status success or failure",
            metrics.reloads.clone(),
        );
        registry.register(
            "config_restart_required",
            "[ALPHA] A metric with a constant '1' value for each field of the configuration file that has changed since the \
             start and takes effect at the next one",
            metrics.restart.clone(),
        );
        metrics
    }

    /// The file is in force.
    pub(super) fn succeeded(&self, now: Timestamp) {
        self.successful.set(1);
        self.success_time.set(now.as_second());
        self.restart.clear();
    }

    /// The file is not in force, because of these fields if it was not refused.
    pub(super) fn failed(&self, need_restart: &[&'static str]) {
        self.successful.set(0);
        self.restart.clear();
        for field in need_restart {
            self.restart.get_or_create(&[("field", *field)]).set(1);
        }
    }

    pub(super) fn count(&self, success: bool) {
        self.reloads.get_or_create(&[("status", if success { SUCCESS } else { FAILURE })]).inc();
    }
}

const SUCCESS: &str = "success";
const FAILURE: &str = "failure";
