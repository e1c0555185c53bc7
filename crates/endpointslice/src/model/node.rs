//! Nodes, reduced to the fields that endpoints and their hints depend on.

use std::sync::Arc;

use k8s_openapi::api::core::v1 as core;

use super::api_fields::{pairs, text};
use super::conditions::{ConditionFields, Kubelet};
use super::interner::Interner;
use crate::well_known::{EXCLUDE_DISRUPTION, TOPOLOGY_ZONE};

/// A Node, reduced to the fields that endpoints and their hints depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The Node's name.
    pub name: Arc<str>,
    /// The value of `topology.kubernetes.io/zone`, unless empty.
    pub zone: Option<Arc<str>>,
    /// True if the Ready condition is `True`, or [counts as such](crate::disruption).
    pub ready: bool,
    /// The state of the kubelet, by the conditions, if they were read.
    pub kubelet: Kubelet,
    /// True if the Node has the label `node.kubernetes.io/exclude-disruption`, and its conditions were read.
    pub excluded_from_disruption: bool,
    /// True if the Node has a control-plane role label: such nodes don't count for topology hints.
    pub control_plane: bool,
    /// Allocatable CPU in thousandths of a core; 0 if absent or unreadable.
    pub allocatable_milli_cpu: u64,
}

impl Node {
    /// True if `label` marks a control-plane node (`topologycache/topologycache.go`).
    pub fn is_control_plane_label(label: &str) -> bool {
        matches!(label, "node-role.kubernetes.io/control-plane" | "node-role.kubernetes.io/master")
    }

    /// The same Node, with what its conditions say about its kubelet. `created` is its creation time, in seconds since the
    /// epoch.
    ///
    /// Not a field of [`NodeFields`], because most readers have no use for conditions, and reading them costs time.
    #[must_use]
    pub fn with_conditions(
        self,
        labels: &[(&str, &str)],
        conditions: &[ConditionFields<'_>],
        created: Option<i64>,
    ) -> Self {
        Self {
            kubelet: Kubelet::of(conditions, created),
            excluded_from_disruption: labels.iter().any(|(label, _)| *label == EXCLUDE_DISRUPTION),
            ..self
        }
    }
}

/// The raw fields that a [`Node`] is made of, borrowed from a decoder or an API object.
#[derive(Clone, Debug, Default)]
pub struct NodeFields<'a> {
    /// `metadata.name`.
    pub name: &'a str,
    /// `metadata.labels`, in any order.
    pub labels: Vec<(&'a str, &'a str)>,
    /// True if the Ready condition is `True`.
    pub ready: bool,
    /// `status.allocatable.cpu`.
    pub allocatable_cpu: &'a str,
}

impl Node {
    /// Builds the compact form; equal strings are shared through `interner`.
    pub fn new(fields: &NodeFields<'_>, interner: &mut Interner) -> Self {
        let zone = fields.labels.iter().find(|(key, _)| *key == TOPOLOGY_ZONE).map_or("", |(_, zone)| zone);
        Self {
            name: interner.string(fields.name),
            zone: interner.non_empty(zone),
            ready: fields.ready,
            kubelet: Kubelet::Unread,
            excluded_from_disruption: false,
            control_plane: fields.labels.iter().any(|(key, _)| Self::is_control_plane_label(key)),
            allocatable_milli_cpu: milli_cpu(fields.allocatable_cpu),
        }
    }

    /// Builds the compact form of an API object; equal strings are shared through `interner`.
    pub fn from_api(node: &core::Node, interner: &mut Interner) -> Self {
        let status = node.status.as_ref();
        let allocatable = status.and_then(|status| status.allocatable.as_ref());
        let fields = NodeFields {
            name: text(node.metadata.name.as_ref()),
            labels: pairs(node.metadata.labels.as_ref()),
            ready: conditions_of(node)
                .any(|condition| condition.type_ == "Ready" && condition.status == "True"),
            allocatable_cpu: allocatable.and_then(|cpu| cpu.get("cpu")).map_or("", |quantity| &quantity.0),
        };
        let read = Self::new(&fields, interner);
        if !interner.reads_conditions() {
            return read;
        }
        let conditions: Vec<ConditionFields<'_>> = conditions_of(node).map(ConditionFields::from).collect();
        let created = node.metadata.creation_timestamp.as_ref().map(|time| time.0.as_second());
        read.with_conditions(&fields.labels, &conditions, created)
    }
}

fn conditions_of(node: &core::Node) -> impl Iterator<Item = &core::NodeCondition> {
    node.status.iter().filter_map(|status| status.conditions.as_ref()).flatten()
}

impl From<&core::Node> for Node {
    fn from(node: &core::Node) -> Self {
        Self::from_api(node, &mut Interner::default())
    }
}

/// Reads a CPU quantity as thousandths of a core, rounded up; 0 if the text is not a quantity.
///
/// Accepts the forms of `k8s.io/apimachinery` `resource.Quantity`: a decimal number with a decimal (`n u m k M G T P E`)
/// or binary (`Ki … Ei`) suffix or an exponent.
fn milli_cpu(quantity: &str) -> u64 {
    let number_length = quantity.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-')));
    let (number, suffix) = quantity.split_at(number_length.unwrap_or(quantity.len()));
    let Ok(number) = number.parse::<f64>() else { return 0 };
    let Some(factor) = suffix_factor(suffix) else { return 0 };
    let milli = (number * factor * 1000.0 - 1e-6).ceil();
    // A saturating conversion: negative and NaN become 0.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let milli = milli as u64;
    milli
}

fn suffix_factor(suffix: &str) -> Option<f64> {
    const DECIMAL: [(&str, i32); 9] =
        [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15)];
    const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some(10_f64.powi(*exponent));
    }
    if let Some(position) = BINARY.iter().position(|name| *name == suffix) {
        return Some(1024_f64.powi(i32::try_from(position).ok()? + 1));
    }
    if suffix == "E" {
        return Some(1e18);
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (-30..=30).contains(&exponent).then(|| 10_f64.powi(exponent))
}

#[cfg(test)]
mod tests {
    use super::milli_cpu;

    #[test]
    fn cpu_quantities_are_read_as_thousandths_of_a_core() {
        for (quantity, milli) in [
            ("4", 4000),
            ("3920m", 3920),
            ("1.5", 1500),
            ("0.1", 100),
            ("100u", 1),
            ("1500000n", 2),
            ("2k", 2_000_000),
            ("1e3", 1_000_000),
            ("1Ki", 1_024_000),
            ("0", 0),
            ("", 0),
            ("-1", 0),
            ("4 cores", 0),
            ("e", 0),
        ] {
            assert_eq!(milli_cpu(quantity), milli, "{quantity}");
        }
    }
}
