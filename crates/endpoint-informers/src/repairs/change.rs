//! Changes of our objects by other clients.

use std::collections::HashSet;

use endpointslice::model::{Uid, endpoints_of};
use k8s_openapi::api::discovery::v1::{EndpointConditions, EndpointSlice};

use super::author::Author;

/// A change of one of our objects by another client.
#[derive(Debug)]
pub struct ForeignChange<'a> {
    /// The object.
    pub object: &'a Uid,
    /// The client.
    pub author: Author,
    /// The effect on the object.
    pub effect: Effect,
}

/// The effect of a foreign change. Upstream repairs deletions and losses without a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The object was deleted.
    Deletion,
    /// Endpoints that receive traffic are gone from the object, or receive less.
    Loss,
    /// Any other change.
    Other,
}

/// True if an endpoint that receives traffic by the first slice receives none by the second, or only where no endpoint is ready.
/// Cost: a look at each endpoint.
pub(crate) fn takes_endpoints(before: &EndpointSlice, after: &EndpointSlice) -> bool {
    let is_elsewhere = before.ports != after.ports || before.address_type != after.address_type;
    let kept: HashSet<(&[String], Use)> = if is_elsewhere { HashSet::new() } else { in_use(after).collect() };
    in_use(before).any(|(addresses, used)| {
        !kept.contains(&(addresses, Use::Always))
            && (used == Use::Always || !kept.contains(&(addresses, Use::WithoutOthers)))
    })
}

/// The case in which consumers send traffic to an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Use {
    /// It is ready.
    Always,
    /// It is serving alone, as one that terminates: if no endpoint is ready (KEP-1669).
    WithoutOthers,
}

/// The endpoints that may receive traffic, by their addresses.
fn in_use(slice: &EndpointSlice) -> impl Iterator<Item = (&[String], Use)> {
    endpoints_of(slice).iter().filter_map(|endpoint| {
        let conditions = endpoint.conditions.as_ref();
        let is = |condition: fn(&EndpointConditions) -> Option<bool>| conditions.and_then(condition);
        let used = match (is(|it| it.ready), is(|it| it.serving)) {
            (None | Some(true), _) => Use::Always,
            (Some(false), Some(true)) => Use::WithoutOthers,
            (Some(false), _) => return None,
        };
        Some((&*endpoint.addresses, used))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn slice(endpoints: &Value, port: u16) -> EndpointSlice {
        serde_json::from_value(json!({
            "metadata": {}, "addressType": "IPv4", "endpoints": endpoints, "ports": [{"port": port}]
        }))
        .unwrap()
    }

    #[test]
    fn an_endpoint_in_use_that_is_gone_is_taken() {
        let a = json!({"addresses": ["10.0.0.1"], "conditions": {"ready": true}});
        let b = json!({"addresses": ["10.0.0.2"]});
        let unready = json!({"addresses": ["10.0.0.1"], "conditions": {"ready": false}});
        let draining = json!({"addresses": ["10.0.0.1"], "conditions": {"ready": false, "serving": true}});
        let in_zone = json!({"addresses": ["10.0.0.1"], "conditions": {"ready": true}, "zone": "a"});
        for (before, after, port, expected) in [
            (json!([a, b]), json!([b, a]), 80, false),
            (json!([a]), json!([a, b]), 80, false),
            (json!([a]), json!([in_zone]), 80, false),
            (json!([a, b]), json!([a]), 80, true),
            (json!([a]), Value::Null, 80, true),
            (json!([a]), json!([unready]), 80, true),
            (json!([a]), json!([draining]), 80, true),
            (json!([draining]), json!([a]), 80, false),
            (json!([draining]), json!([draining]), 80, false),
            (json!([draining]), json!([unready]), 80, true),
            (json!([draining]), json!([]), 80, true),
            (json!([unready]), json!([]), 80, false),
            (json!([a]), json!([a]), 81, true),
            (json!([unready]), json!([unready]), 81, false),
        ] {
            let (old, new) = (slice(&before, 80), slice(&after, port));
            assert_eq!(takes_endpoints(&old, &new), expected, "{before} to {after}, port {port}");
        }
    }
}
