//! Admission policies: they change slices and Endpoints that replicas create or update, on their way into the store.
//!
//! What a mutating webhook or `MutatingAdmissionPolicy` does to the object of a request, a change of the request's body does as
//! well: both come before validation, and the API server attributes either to the client.

use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method};
use k8s_openapi::Metadata;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_protobuf::{Message, wrap};
use random_operations::{MANAGED_BY, SERVICE_NAME};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use crate::decode::{decode, resource};
use crate::fault::Fault;
use crate::world::World;

/// The label and the annotation of policies that mark objects.
pub const MARK: &str = "policy.example/mark";

/// A policy, and the time for which it is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    pub change: Change,
    /// The share of writes that it changes.
    pub percent: usize,
    /// It leaves Endpoints alone.
    pub only_slices: bool,
    /// Until faults end, at the latest; `None` for as long as the history lasts.
    pub milliseconds: Option<u64>,
}

/// The change that a policy makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Label,
    Annotate,
    /// Names another manager, or none. Endpoints have no such label.
    Manager(Option<&'static str>),
    /// Names a Service that does not exist.
    Service,
}

/// A policy in force.
#[derive(Debug, Clone)]
pub struct InForce {
    policy: Policy,
    until: Option<Instant>,
}

impl Policy {
    pub fn fault(&self) -> Fault {
        match self.change {
            Change::Label | Change::Annotate => Fault::PolicyMark,
            Change::Manager(_) | Change::Service => Fault::PolicyReassign,
        }
    }

    /// The policy from now on.
    pub fn begin(&self) -> InForce {
        let until = self.milliseconds.map(|time| Instant::now() + Duration::from_millis(time));
        InForce { policy: self.clone(), until }
    }
}

impl InForce {
    /// True if it outlasts the faults.
    pub fn is_lasting(&self) -> bool {
        self.until.is_none()
    }

    fn is_of(&self, resource: &str) -> bool {
        let is_of = match resource {
            "endpointslices" => true,
            "endpoints" => !self.policy.only_slices && self.policy.fault() == Fault::PolicyMark,
            _ => false,
        };
        is_of && self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// The body of a request of a replica as the policies in force leave it. True if one of them has changed it, or did before:
/// the controller then writes what it needs to write although nothing else has changed.
pub fn admit(world: &World, head: &Parts, body: Bytes) -> (Bytes, bool) {
    let resource = resource(head.uri.path());
    let is_of = matches!(resource, "endpointslices" | "endpoints");
    if !is_of || !world.has_policies || !matches!(head.method, Method::POST | Method::PUT) {
        return (body, false);
    }
    let changes = world.with(|state| {
        let mut rng = state.dice.roll("policies".to_owned());
        let met = state.policies.iter().filter(|policy| policy.is_of(resource));
        let met = met.filter(|it| rng.percent(it.policy.percent));
        met.map(|it| it.policy.change).collect::<Vec<_>>()
    });
    if changes.is_empty() {
        let was_marked = head.method == Method::PUT && is_marked(world, head.uri.path());
        return (body, was_marked);
    }
    let changed = match resource {
        "endpoints" => change::<Endpoints>(&head.headers, &body, &changes),
        _ => change::<EndpointSlice>(&head.headers, &body, &changes),
    };
    world.log(|| format!("  policies: {changes:?}"));
    (changed.expect("a body of its kind"), true)
}

fn is_marked(world: &World, path: &str) -> bool {
    let (_, object) = world.send(&Method::GET, path, &Value::Null);
    ["labels", "annotations"].iter().any(|field| object["metadata"][field].get(MARK).is_some())
}

fn change<T>(headers: &HeaderMap, body: &Bytes, changes: &[Change]) -> Option<Bytes>
where
    T: Message + Metadata<Ty = ObjectMeta> + Serialize + DeserializeOwned,
{
    let mut object: T = decode(headers, body)?;
    changes.iter().for_each(|change| change.apply(object.metadata_mut()));
    let content = headers.get(http::header::CONTENT_TYPE)?.to_str().ok()?;
    Some(if content.contains("protobuf") {
        wrap(<T as Message>::API_VERSION, <T as Message>::KIND, &object.encode()).into()
    } else {
        serde_json::to_vec(&object).ok()?.into()
    })
}

impl Change {
    fn apply(self, metadata: &mut ObjectMeta) {
        let labels = metadata.labels.get_or_insert_default();
        match self {
            Self::Label => drop(labels.insert(MARK.to_owned(), "team-a".to_owned())),
            Self::Annotate => {
                let annotations = metadata.annotations.get_or_insert_default();
                annotations.insert(MARK.to_owned(), "team-a".to_owned());
            }
            Self::Manager(Some(name)) => drop(labels.insert(MANAGED_BY.to_owned(), name.to_owned())),
            Self::Manager(None) => drop(labels.remove(MANAGED_BY)),
            Self::Service => drop(labels.insert(SERVICE_NAME.to_owned(), "elsewhere".to_owned())),
        }
    }
}
