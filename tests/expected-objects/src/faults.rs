//! Faults that random operations put into a cluster: an audit that finds them is right.

use random_operations::{MANAGED_BY, SERVICE_NAME};
use serde_json::Value;

use crate::CONTROLLERS;
use crate::objects::{Objects, elects_a_leader, has_selector, label};
use crate::ports::{has_ambiguous_ports, list, text};

/// The label for slices of Services without a cluster IP.
const HEADLESS: &str = "service.kubernetes.io/headless";

impl Objects {
    /// True if the objects have the fault that a rule of an audit finds in one of them: users made it, or upstream leaves
    /// it. `max` is `--mirroring-max-endpoints-per-subset`.
    pub fn has_fault(&self, rule: &str, kind: &str, name: &str, max: usize) -> bool {
        match (rule, kind) {
            ("endpoints-without-service", "Endpoints") => self.has_no_service(name),
            ("headless-label", "EndpointSlice") => self.is_hidden(name),
            ("skip-mirror", "Endpoints") => self.opts_out_by_mistake(name),
            ("mirror-out-of-sync", "Endpoints") => {
                self.endpoints.get(name).is_some_and(|it| has_ambiguous_ports(it))
            }
            ("truncated-endpoints", "Endpoints") => self.exceeds(name, max),
            _ => false,
        }
    }

    /// Endpoints with more addresses in a subset than are mirrored.
    fn exceeds(&self, name: &str, max: usize) -> bool {
        let subsets = self.endpoints.get(name).map(|it| list(it, "/subsets")).unwrap_or_default();
        let count =
            |subset: &Value| list(subset, "/addresses").len() + list(subset, "/notReadyAddresses").len();
        subsets.iter().any(|subset| count(subset) > max)
    }

    /// Endpoints that the next start deletes.
    fn has_no_service(&self, name: &str) -> bool {
        let is_lock = self.endpoints.get(name).is_some_and(|it| elects_a_leader(it));
        !is_lock && !self.services.contains_key(name)
    }

    /// A slice that kube-proxy does not read although its Service has a cluster IP: users labelled the Endpoints that it
    /// mirrors, or its Service changed by way of `ExternalName`.
    fn is_hidden(&self, name: &str) -> bool {
        let Some(slice) = self.slices.get(name) else { return false };
        let service = label(slice, SERVICE_NAME).unwrap_or_default();
        let has_cluster_ip = self
            .services
            .get(service)
            .is_some_and(|service| !matches!(text(service, "/spec/clusterIP"), "" | "None"));
        let is_ours = label(slice, MANAGED_BY).is_some_and(|manager| CONTROLLERS.contains(&manager));
        is_ours && has_cluster_ip && label(slice, HEADLESS).is_some()
    }

    /// Custom Endpoints that opt out, of a Service without any slice.
    fn opts_out_by_mistake(&self, name: &str) -> bool {
        let Some(endpoints) = self.endpoints.get(name) else { return false };
        let opts_out = label(endpoints, "endpointslice.kubernetes.io/skip-mirror") == Some("true")
            || elects_a_leader(endpoints);
        let is_custom = self.services.get(name).is_some_and(|service| !has_selector(service));
        opts_out
            && is_custom
            && !list(endpoints, "/subsets").is_empty()
            && !self.slices.values().any(|slice| label(slice, SERVICE_NAME) == Some(name))
    }
}
