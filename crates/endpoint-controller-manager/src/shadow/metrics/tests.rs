use super::*;

/// A page with every metric.
pub(crate) fn page() -> String {
    let (mut registry, mut page) = (Registry::default(), String::new());
    let metrics = Metrics::default();
    metrics.register(&mut registry);
    let took = vec![std::time::Duration::from_secs(1)];
    let controller = "endpoints-controller";
    metrics.of(controller).count(controller, &Outcome { took, ..Outcome::default() });
    prometheus_client::encoding::text::encode(&mut page, &registry).unwrap();
    page
}
