//! The informers: one for each kind that an enabled controller needs.

use endpoint_informers::cache::Cache;
use endpoint_informers::kinds::{CachedEndpoints, CachedSlice, DelegatedService, POSSIBLE_ENDPOINTS};
use endpoint_informers::list_watch::Informers;
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Node, Pod, Service};

use crate::config::Config;
use crate::controllers::Controller::{self, EndpointSlice, EndpointSliceMirroring, Endpoints};
use crate::gates;

/// The cache that the informers of this configuration fill.
pub fn cache(config: &Config) -> Cache {
    config.disruption.map_or_else(Cache::default, Cache::with_disruption_policy)
}

/// Starts the informers that the controllers of this configuration need. With the gate
/// `EndpointControllerNameWellKnownLabel`, Services that carry the label [`ENDPOINT_CONTROLLER_NAME`] belong to other
/// controllers.
pub fn start(watches: &mut Informers, config: &Config) {
    let needed_by = |users: &[Controller]| users.iter().any(|user| config.controllers.contains(user));
    let delegation = config.gates.enabled(gates::ENDPOINT_CONTROLLER_NAME_WELL_KNOWN_LABEL);
    let services = watches.of::<Service>();
    if delegation {
        watches.start(services.with_label_selector(&format!("!{ENDPOINT_CONTROLLER_NAME}")));
    } else {
        watches.start(services);
    }
    // The mirroring controller removes the slices of a Service that is not in the cache, deleted or delegated alike.
    if delegation && needed_by(&[Endpoints, EndpointSlice]) {
        let delegated = watches.of::<DelegatedService>();
        watches.start(delegated.with_label_selector(ENDPOINT_CONTROLLER_NAME));
    }
    if needed_by(&[EndpointSlice]) || config.disruption.is_some() && needed_by(&[Endpoints]) {
        watches.start(watches.of::<Node>());
    }
    if config.disruption.is_some() {
        watches.follow_disruptions();
    }
    if needed_by(&[EndpointSlice, EndpointSliceMirroring]) {
        watches.start(watches.of::<CachedSlice>());
    }
    if needed_by(&[Endpoints, EndpointSliceMirroring]) {
        watches.start(watches.of::<CachedEndpoints>());
    }
    if needed_by(&[Endpoints, EndpointSlice]) {
        let pods = watches.of::<Pod>();
        watches.start(if config.select_pods { pods.with_field_selector(POSSIBLE_ENDPOINTS) } else { pods });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use embedded_apiserver::ApiServer;
    use kube_api::{ApiClient, Encoding};
    use serde_json::json;

    use super::*;
    use crate::options::parse;

    /// The pods in the cache of a program with these flags.
    async fn cached_pods(flags: &[&str]) -> Vec<String> {
        let server = ApiServer::new();
        let pods = [
            ("running", "Running", Some("10.1.0.1")),
            ("pending", "Pending", None),
            ("ended", "Failed", Some("10.1.0.2")),
        ];
        for (name, phase, ip) in pods {
            let ips: Vec<_> = ip.iter().map(|ip| json!({"ip": ip})).collect();
            let loaded = server.load(&json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
                "spec": {"containers": [{"name": "main", "image": "none"}]},
                "status": {"phase": phase, "podIP": ip, "podIPs": ips},
            }));
            assert!(loaded.is_ok(), "{loaded:?}");
        }
        let config = parse(flags).expect("the flags are right");
        let cache = Arc::new(cache(&config));
        let client = ApiClient::new(kube::Client::new(server, "default"), Encoding::Protobuf, "test");
        let mut watches = Informers::new(client, Arc::clone(&cache));
        start(&mut watches, &config);
        watches.caches().synced().await;
        let mut names: Vec<String> =
            cache.read(|state| state.pods.iter().map(|pod| pod.name.to_string()).collect());
        names.sort_unstable();
        names
    }

    #[tokio::test(start_paused = true)]
    async fn only_pods_that_may_be_endpoints_are_requested_unless_a_flag_says_otherwise() {
        assert_eq!(cached_pods(&[]).await, ["running"]);
        assert_eq!(
            cached_pods(&["--enable-pod-field-selector=false"]).await,
            ["ended", "pending", "running"]
        );
    }
}
