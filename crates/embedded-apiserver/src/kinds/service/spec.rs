//! Questions about the spec of a Service.

use serde_json::Value;

use crate::tree;

/// The `spec` of a Service.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spec<'a>(pub(super) &'a Value);

impl<'a> Spec<'a> {
    /// The spec of the object.
    pub(super) fn of(object: &'a Value) -> Self {
        Self(tree::field(object, "spec"))
    }

    pub(super) fn service_type(self) -> &'a str {
        tree::text(self.0, "type")
    }

    pub(super) fn cluster_ip(self) -> &'a str {
        tree::text(self.0, "clusterIP")
    }

    pub(super) fn cluster_ips(self) -> Vec<&'a str> {
        tree::texts(self.0, "clusterIPs")
    }

    pub(super) fn families(self) -> Vec<&'a str> {
        tree::texts(self.0, "ipFamilies")
    }

    /// `ipFamilyPolicy`; empty if unset.
    pub(super) fn policy(self) -> &'a str {
        tree::text(self.0, "ipFamilyPolicy")
    }

    pub(super) fn ports(self) -> &'a [Value] {
        tree::list(self.0, "ports")
    }

    pub(super) fn has_selector(self) -> bool {
        tree::entries(self.0, "selector").next().is_some()
    }

    /// True if `clusterIPs` is `None`.
    pub(super) fn is_headless(self) -> bool {
        matches!(tree::list(self.0, "clusterIPs"), [one] if one.as_str() == Some("None"))
    }

    pub(super) fn is_external_name(self) -> bool {
        self.service_type() == "ExternalName"
    }

    /// `ExternallyAccessible`.
    pub(super) fn is_externally_accessible(self) -> bool {
        match self.service_type() {
            "LoadBalancer" | "NodePort" => true,
            "ClusterIP" => !tree::list(self.0, "externalIPs").is_empty(),
            _ => false,
        }
    }

    /// True if the type has node ports, allocated or not.
    pub(super) fn has_node_ports(self) -> bool {
        matches!(self.service_type(), "NodePort" | "LoadBalancer")
    }

    /// True if node ports are allocated for ports that have none.
    pub(super) fn allocates_node_ports(self) -> bool {
        match self.service_type() {
            "NodePort" => true,
            "LoadBalancer" => tree::field(self.0, "allocateLoadBalancerNodePorts").as_bool() != Some(false),
            _ => false,
        }
    }

    /// `NeedsHealthCheck`.
    pub(super) fn needs_health_check(self) -> bool {
        self.service_type() == "LoadBalancer" && tree::text(self.0, "externalTrafficPolicy") == "Local"
    }

    pub(super) fn health_check_port(self) -> i64 {
        tree::int(self.0, "healthCheckNodePort")
    }

    /// The node ports that are set.
    pub(super) fn node_ports(self) -> Vec<i64> {
        self.ports().iter().map(|port| tree::int(port, "nodePort")).filter(|port| *port != 0).collect()
    }

    pub(super) fn is_same(self, other: Self, key: &str) -> bool {
        tree::same(tree::field(self.0, key), tree::field(other.0, key))
    }

    pub(super) fn has_same_cluster_ips(self, other: Self) -> bool {
        self.is_same(other, "clusterIPs")
    }

    pub(super) fn has_same_families(self, other: Self) -> bool {
        self.is_same(other, "ipFamilies")
    }
}
