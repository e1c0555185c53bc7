//! Other clients that change the controllers' objects and the Lease, as those of the simulator do.

use std::collections::BTreeSet;
use std::sync::Arc;

use expected_objects::Objects;
use http::Method;
use jiff::Timestamp;
use random_operations::neighbour::{self, Interference};
use random_operations::requests::{Request, path};
use random_operations::{MANAGED_BY, SERVICE_NAME};
use serde_json::{Value, json};
use tests::manager::LeaderElection;

use crate::access::Access;
use crate::fault::Fault;

/// Creates the Service that must stay reachable, its pods, and objects of other controllers for it, which no controller may
/// change.
pub(crate) async fn move_in(access: &Access) {
    for Request { method, path, body } in neighbour::bedrock(&now()) {
        access.must(&method, &path, &body).await;
    }
}

fn now() -> String {
    format!("{:.0}", Timestamp::now())
}

/// Changes the Lease, or one of the controllers' objects, whose name it returns. Refusals do not matter: the object may
/// be gone.
pub(crate) async fn interfere(access: &Access, fault: Fault, pick: usize) -> Option<String> {
    let lease =
        format!("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{}", LeaderElection::LEASE);
    match fault {
        Fault::LeaseStolen => {
            let now = format!("{:.6}", Timestamp::now());
            let spec = json!({"holderIdentity": "thief", "leaseDurationSeconds": 15, "renewTime": now});
            access.send(&Method::PATCH, &lease, &json!({"spec": spec})).await;
        }
        Fault::LeaseDeleted => drop(access.send(&Method::DELETE, &lease, &Value::Null).await),
        Fault::LeaseEdited => {
            let edited = json!({"metadata": {"annotations": {"edited": pick.to_string()}}});
            access.send(&Method::PATCH, &lease, &edited).await;
        }
        Fault::ForeignEdit => return change(access, Interference::Edit, pick).await,
        Fault::ForeignDelete => return change(access, Interference::Delete, pick).await,
        Fault::ForeignRelabel => return change(access, Interference::Relabel, pick).await,
        Fault::ForeignOwner => return change(access, Interference::Owner, pick).await,
        Fault::ForeignRecreate => return change(access, Interference::Recreate, pick).await,
        Fault::ForeignNothing => return change(access, Interference::Nothing, pick).await,
        Fault::ForeignDeleteAll => delete_slices(access, pick).await,
        _ => {}
    }
    None
}

/// Our objects that may be changed so, in an order that is the same on both sides.
fn victims(objects: Objects, what: Interference) -> Vec<(&'static str, Arc<Value>)> {
    let mut victims = neighbour::victims(what, objects.slices.into_values(), objects.endpoints.into_values());
    victims.sort_by_cached_key(|(resource, object)| {
        let labels = &object["metadata"]["labels"];
        let of = if *resource == "endpoints" { &object["metadata"]["name"] } else { &labels[SERVICE_NAME] };
        format!("{of} {resource} {} {}", labels[MANAGED_BY], object["addressType"])
    });
    victims
}

/// Deletes all our slices of one Service, one after another.
async fn delete_slices(access: &Access, pick: usize) {
    let objects = access.read().await;
    let mut victims = neighbour::victims(Interference::Delete, objects.slices.into_values(), []);
    let services: BTreeSet<String> =
        victims.iter().map(|(_, slice)| neighbour::service(slice).to_owned()).collect();
    let Some(service) = services.iter().nth(pick % services.len().max(1)) else { return };
    victims.retain(|(_, slice)| neighbour::service(slice) == service);
    for (_, slice) in victims {
        let path = format!("{}/{}", path("endpointslices"), neighbour::name(&slice));
        access.send(&Method::DELETE, &path, &Value::Null).await;
    }
}

async fn change(access: &Access, what: Interference, pick: usize) -> Option<String> {
    let mut victims = victims(access.read().await, what);
    if victims.is_empty() {
        return None;
    }
    let index = pick % victims.len();
    let (resource, object) = victims.swap_remove(index);
    let name = neighbour::name(&object);
    for Request { method, path, body } in neighbour::interfere(what, pick, resource, &object) {
        access.send(&method, &path, &body).await;
    }
    Some(name)
}
