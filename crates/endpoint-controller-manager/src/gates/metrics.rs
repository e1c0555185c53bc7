//! `kubernetes_feature_enabled`.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::FeatureGates;

impl FeatureGates {
    /// Registers a series for each gate, 1 if it is on (`component-base` `metrics/prometheus/feature`).
    pub(crate) fn register(&self, registry: &mut Registry) {
        let family = Family::<[(&str, &str); 2], Gauge>::default();
        for feature in self.features() {
            let labels = [("name", feature.name), ("stage", feature.stage.label())];
            family.get_or_create(&labels).set(i64::from(feature.enabled));
        }
        let help = "[BETA] This metric records the data about the stage and enablement of a k8s feature";
        registry.register("kubernetes_feature_enabled", help, family);
    }
}
