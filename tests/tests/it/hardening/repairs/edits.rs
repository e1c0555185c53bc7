//! Edits of an object of the controllers: every field that the API server allows clients to change.

use std::fmt;

use random_operations::{MANAGED_BY, SERVICE_NAME};
use serde_json::{Value, json};

/// One change of an object, as JSON.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    pub(crate) name: &'static str,
    apply: fn(&mut Value),
}

impl Change {
    pub(crate) fn apply(self, object: &mut Value) {
        (self.apply)(object);
    }
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

const fn change(name: &'static str, apply: fn(&mut Value)) -> Change {
    Change { name, apply }
}

const ENDPOINTS_MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const HEADLESS: &str = "service.kubernetes.io/headless";
const TRIGGER_TIME: &str = "endpoints.kubernetes.io/last-change-trigger-time";
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
/// The uid of no object.
const OTHER_UID: &str = "00000000-0000-4000-8000-000000000000";

/// Changes of any object.
const METADATA: &[Change] = &[
    change("no owners", |it| it["metadata"]["ownerReferences"] = Value::Null),
    change("owner with another uid", |it| owner(it)["uid"] = json!(OTHER_UID)),
    change("owner that is not a controller", |it| owner(it)["controller"] = json!(false)),
    change("owner that blocks no deletion", |it| owner(it)["blockOwnerDeletion"] = Value::Null),
    change("one more owner", |it| {
        let another = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": OTHER_UID});
        list(&mut it["metadata"]["ownerReferences"]).push(another);
    }),
    change("one more annotation", |it| it["metadata"]["annotations"]["example.com/note"] = json!("x")),
    change("no annotations", |it| it["metadata"]["annotations"] = Value::Null),
    change("trigger time", |it| {
        it["metadata"]["annotations"][TRIGGER_TIME] = json!("1999-12-31T23:59:59Z");
    }),
    change("one more label", |it| it["metadata"]["labels"]["example.com/label"] = json!("x")),
    change("no labels", |it| it["metadata"]["labels"] = Value::Null),
    change("copied label changed", |it| it["metadata"]["labels"]["team"] = json!("wrong")),
    change("copied label removed", |it| it["metadata"]["labels"]["team"] = Value::Null),
    change("headless label", |it| it["metadata"]["labels"][HEADLESS] = json!("wrong")),
    change("no headless label", |it| it["metadata"]["labels"][HEADLESS] = Value::Null),
    change("finalizer", |it| it["metadata"]["finalizers"] = json!(["example.com/hold"])),
];

const SLICE: &[Change] = &[
    change("no service-name", |it| it["metadata"]["labels"][SERVICE_NAME] = Value::Null),
    change("service-name of another", |it| it["metadata"]["labels"][SERVICE_NAME] = json!("other")),
    change("service-name of none", |it| it["metadata"]["labels"][SERVICE_NAME] = json!("absent")),
    change("no managed-by", |it| it["metadata"]["labels"][MANAGED_BY] = Value::Null),
    change("managed-by of another", |it| it["metadata"]["labels"][MANAGED_BY] = json!("them.example")),
    change("no endpoints", |it| it["endpoints"] = json!([])),
    change("one endpoint less", |it| drop(take_first(&mut it["endpoints"]))),
    change("one endpoint twice", |it| {
        let first = first(it).clone();
        list(&mut it["endpoints"]).push(first);
    }),
    change("one more endpoint", |it| {
        let mut another = first(it).clone();
        another["addresses"] = json!([other_address(&it["addressType"])]);
        list(&mut it["endpoints"]).push(another);
    }),
    change("endpoints in another order", |it| list(&mut it["endpoints"]).reverse()),
    change("address", |it| {
        let other = other_address(&it["addressType"]);
        first(it)["addresses"] = json!([other]);
    }),
    change("one more address", |it| {
        let other = other_address(&it["addressType"]);
        list(&mut first(it)["addresses"]).push(json!(other));
    }),
    change("ready", |it| negate(&mut first(it)["conditions"]["ready"])),
    change("serving", |it| negate(&mut first(it)["conditions"]["serving"])),
    change("terminating", |it| negate(&mut first(it)["conditions"]["terminating"])),
    change("no conditions", |it| first(it)["conditions"] = Value::Null),
    change("node", |it| first(it)["nodeName"] = json!("b")),
    change("no node", |it| first(it)["nodeName"] = Value::Null),
    change("zone", |it| first(it)["zone"] = json!("wrong")),
    change("no zone", |it| first(it)["zone"] = Value::Null),
    change("hints", |it| first(it)["hints"] = json!({"forZones": [{"name": "wrong"}]})),
    change("hostname", |it| first(it)["hostname"] = json!("wrong")),
    change("target's uid", |it| first(it)["targetRef"]["uid"] = json!(OTHER_UID)),
    change("target's name", |it| first(it)["targetRef"]["name"] = json!("wrong")),
    change("no target", |it| first(it)["targetRef"] = Value::Null),
    change("old topology", |it| {
        first(it)["deprecatedTopology"] = json!({"kubernetes.io/hostname": "wrong"});
    }),
    change("no ports", |it| it["ports"] = json!([])),
    change("one port less", |it| drop(list(&mut it["ports"]).pop())),
    change("one more port", |it| list(&mut it["ports"]).push(json!({"name": "more", "port": 1234}))),
    change("ports in another order", |it| list(&mut it["ports"]).reverse()),
    change("port's number", |it| it["ports"][0]["port"] = json!(1234)),
    change("port's name", |it| it["ports"][0]["name"] = json!("wrong")),
    change("port's protocol", |it| it["ports"][0]["protocol"] = json!("SCTP")),
    change("port's application protocol", |it| it["ports"][0]["appProtocol"] = json!("kubernetes.io/h2c")),
];

/// With an address type, which is immutable.
const RECREATED_SLICE: &[Change] = &[
    change("the same", |_| {}),
    change("as FQDN", |it| {
        it["addressType"] = json!("FQDN");
        it["endpoints"] = json!([{"addresses": ["a.example.com"]}]);
    }),
    change("in the other family", |it| {
        let other = if it["addressType"] == "IPv4" { "IPv6" } else { "IPv4" };
        it["addressType"] = json!(other);
        it["endpoints"] = json!([{"addresses": [other_address(&it["addressType"])]}]);
    }),
];

const ENDPOINTS: &[Change] = &[
    change("no managed-by", |it| it["metadata"]["labels"][ENDPOINTS_MANAGED_BY] = Value::Null),
    change("managed-by of another", |it| it["metadata"]["labels"][ENDPOINTS_MANAGED_BY] = json!("them")),
    change("over capacity", |it| it["metadata"]["annotations"][OVER_CAPACITY] = json!("truncated")),
    change("no subsets", |it| it["subsets"] = Value::Null),
    change("one address less", |it| drop(take_first(&mut it["subsets"][0]["addresses"]))),
    change("one more address", |it| {
        list(&mut it["subsets"][0]["addresses"]).push(json!({"ip": "192.0.2.1"}))
    }),
    change("addresses in another order", |it| list(&mut it["subsets"][0]["addresses"]).reverse()),
    change("address", |it| first_address(it)["ip"] = json!("192.0.2.1")),
    change("not ready", |it| {
        let subset = &mut it["subsets"][0];
        let address = take_first(&mut subset["addresses"]);
        list(&mut subset["notReadyAddresses"]).extend(address);
    }),
    change("node", |it| first_address(it)["nodeName"] = json!("b")),
    change("no node", |it| first_address(it)["nodeName"] = Value::Null),
    change("hostname", |it| first_address(it)["hostname"] = json!("wrong")),
    change("target's uid", |it| first_address(it)["targetRef"]["uid"] = json!(OTHER_UID)),
    change("target's version", |it| {
        first_address(it)["targetRef"]["resourceVersion"] = json!("1");
    }),
    change("no target", |it| first_address(it)["targetRef"] = Value::Null),
    change("no ports", |it| it["subsets"][0]["ports"] = Value::Null),
    change("one more port", |it| {
        list(&mut it["subsets"][0]["ports"]).push(json!({"name": "more", "port": 1234}));
    }),
    change("port's number", |it| it["subsets"][0]["ports"][0]["port"] = json!(1234)),
    change("port's name", |it| it["subsets"][0]["ports"][0]["name"] = json!("wrong")),
    change("port's protocol", |it| it["subsets"][0]["ports"][0]["protocol"] = json!("SCTP")),
    change("port's application protocol", |it| it["subsets"][0]["ports"][0]["appProtocol"] = json!("h2c")),
    change("one more subset", |it| {
        let another = json!({"addresses": [{"ip": "192.0.2.1"}], "ports": [{"name": "more", "port": 1234}]});
        list(&mut it["subsets"]).push(another);
    }),
    change("one subset for each address", |it| {
        let subset = it["subsets"][0].clone();
        let one = |address: &Value| json!({"addresses": [address], "ports": subset["ports"]});
        let addresses = subset["addresses"].as_array().cloned().unwrap_or_default();
        it["subsets"] = addresses.iter().map(one).collect();
    }),
];

/// The object of a place to edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The slice of this address type.
    Slice(&'static str),
    Endpoints,
}

/// The way to change it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    Put(Change),
    /// Two changes in one request.
    PutTwo(Change, Change),
    Delete,
    /// A deletion that a finalizer delays.
    DeleteHeld,
    /// Deletes the object and creates it under the same name.
    Recreate(Change),
    /// Creates a copy under another name.
    Copy(Change),
}

impl Act {
    /// All acts on a target, except those with two changes.
    pub(crate) fn all(target: Target) -> Vec<Self> {
        let (own, remade) = match target {
            Target::Slice(_) => (SLICE, RECREATED_SLICE),
            // Endpoints that a client creates again may come too late.
            Target::Endpoints => (ENDPOINTS, &[][..]),
        };
        let mut all: Vec<Self> = Self::changes(own).map(Self::Put).collect();
        all.extend([Self::Delete, Self::DeleteHeld]);
        all.extend(remade.iter().copied().map(Self::Recreate));
        all.extend(remade.iter().copied().map(Self::Copy));
        all
    }

    /// An act with two changes at once.
    pub(crate) fn two(target: Target, rng: &mut fastrand::Rng) -> Self {
        let own = if target == Target::Endpoints { ENDPOINTS } else { SLICE };
        // Objects that other clients write have the right headless label; upstream leaves a wrong one on them.
        let changes: Vec<Change> = Self::changes(own).filter(|it| !it.name.contains("headless")).collect();
        let mut two = [(); 2].map(|()| changes[rng.usize(..changes.len())]);
        // A change that empties a list comes last: the other change may be of an item.
        two.sort_by_key(|it| matches!(it.name, "no endpoints" | "no subsets" | "no ports"));
        Self::PutTwo(two[0], two[1])
    }

    fn changes(own: &[Change]) -> impl Iterator<Item = Change> {
        METADATA.iter().chain(own).copied()
    }
}

fn list(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = json!([]);
    }
    value.as_array_mut().unwrap()
}

/// The index of the lowest address, as the order of endpoints is chance.
fn least(items: &Value) -> Option<usize> {
    let address = |item: &Value| item["addresses"][0].as_str().or(item["ip"].as_str()).map(str::to_owned);
    let items = items.as_array()?.iter().enumerate();
    items.min_by_key(|(_, item)| address(item)).map(|(number, _)| number)
}

/// The endpoint with the lowest address; an empty one if there is none.
fn first(slice: &mut Value) -> &mut Value {
    of_least(&mut slice["endpoints"])
}

/// The lowest ready address.
fn first_address(endpoints: &mut Value) -> &mut Value {
    of_least(&mut endpoints["subsets"][0]["addresses"])
}

fn of_least(items: &mut Value) -> &mut Value {
    let number = least(items).unwrap_or_default();
    let items = list(items);
    if items.is_empty() {
        items.push(json!({}));
    }
    &mut items[number]
}

fn take_first(items: &mut Value) -> Option<Value> {
    let number = least(items)?;
    Some(list(items).remove(number))
}

/// The first owner; a new one if there is none.
fn owner(object: &mut Value) -> &mut Value {
    let owners = list(&mut object["metadata"]["ownerReferences"]);
    if owners.is_empty() {
        owners.push(json!({"apiVersion": "v1", "kind": "Service", "name": "web", "uid": OTHER_UID}));
    }
    &mut owners[0]
}

fn negate(value: &mut Value) {
    *value = json!(!value.as_bool().unwrap_or_default());
}

fn other_address(address_type: &Value) -> &'static str {
    if address_type == "IPv4" { "192.0.2.1" } else { "2001:db8::1" }
}
