//! Publishes the addresses that pods have in an annotation, for Services with the same annotation, in slices of its own.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use endpointslice::desired::desired_from_service_with;
use endpointslice::model::parse_ip;
use endpointslice::plan::AddressTypePlan;
use endpointslice::well_known::MANAGED_BY;
use endpointslice::{Interner, Node, PlanOptions, Pod, Service, SlicePlan, SliceTemplate, plan};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{DeleteParams, ListParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};

/// The controller's name: the value of the label `managed-by` of its slices.
const NAME: &str = "own-slices.example.com";
/// Annotation of a pod: its addresses, separated by commas. A Service opts in by the same annotation.
const ADDRESSES: &str = "example.com/addresses";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::try_default().await?;
    loop {
        if let Err(error) = sync_all(&client).await {
            eprintln!("Sync failed, retrying in 2 s: {error}");
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}

/// Reads the cluster, and syncs every Service: one that does not opt in should have no slices of ours.
async fn sync_all(client: &Client) -> kube::Result<()> {
    let everything = ListParams::default();
    let services = Api::<core::Service>::all(client.clone()).list(&everything).await?;
    let pods = Api::<core::Pod>::all(client.clone()).list(&everything).await?;
    let nodes = Api::<core::Node>::all(client.clone()).list(&everything).await?;
    let ours = ListParams::default().labels(&format!("{MANAGED_BY}={NAME}"));
    let slices = Api::<EndpointSlice>::all(client.clone()).list(&ours).await?;

    let mut interner = Interner::keeping_annotations([ADDRESSES]); // by default, annotations are not kept
    let services =
        services.iter().map(|service| Service::from_api(service, &mut interner)).collect::<Vec<_>>();
    let pods: Vec<Pod> = pods.iter().map(|pod| Pod::from_api(pod, &mut interner)).collect();
    let nodes: Vec<Node> = nodes.iter().map(|node| Node::from_api(node, &mut interner)).collect();
    for service in &services {
        let existing = slices_of(service, &slices.items);
        let plan = match service.annotations.get(ADDRESSES) {
            Some(_) => plan_for(service, &pods, &nodes, &existing),
            None => SlicePlan::delete_all(existing),
        };
        if let Err(error) = apply(&Api::namespaced(client.clone(), &service.namespace), &plan).await {
            eprintln!("{}/{}: {error}", service.namespace, service.name); // the other Services do not wait
        }
    }
    Ok(())
}

/// The slices of one Service, without those that are being deleted.
fn slices_of(service: &Service, slices: &[EndpointSlice]) -> Vec<EndpointSlice> {
    let is_of_service = |slice: &&EndpointSlice| {
        let owners = slice.owner_references();
        let is_owned = owners.iter().any(|owner| owner.kind == "Service" && *owner.name == *service.name);
        let deleting = slice.metadata.deletion_timestamp.is_some();
        is_owned && !deleting && slice.namespace().as_deref() == Some(&*service.namespace)
    };
    slices.iter().filter(is_of_service).cloned().collect()
}

/// Plans the slices of one Service as Kubernetes does, but with other addresses.
fn plan_for(service: &Service, pods: &[Pod], nodes: &[Node], existing: &[EndpointSlice]) -> SlicePlan {
    let selector = service.selector.as_ref();
    let is_selected = |pod: &&Pod| {
        pod.namespace == service.namespace && selector.is_some_and(|selector| selector.selects(&pod.labels))
    };
    let node = |name: &str| nodes.iter().find(|node| &*node.name == name);
    let desired =
        desired_from_service_with(service, pods.iter().filter(is_selected), node, |pod| -> Vec<IpAddr> {
            let addresses = pod.annotation(ADDRESSES).unwrap_or_default();
            addresses.split(',').filter_map(parse_ip).collect()
        });
    for skipped in desired.skipped() {
        println!("{}/{}: skipped {}: {:?}", service.namespace, service.name, skipped.name, skipped.reason);
    }
    let template = SliceTemplate::for_service(service, NAME);
    plan(existing, desired, &template, &PlanOptions::default())
}

/// Makes the writes of a plan, in its order.
async fn apply(api: &Api<EndpointSlice>, plan: &SlicePlan) -> kube::Result<()> {
    for AddressTypePlan { create, update, delete, creates_suppressed, .. } in &plan.types {
        for slice in create.iter().filter(|_| !creates_suppressed) {
            let created = api.create(&PostParams::default(), slice).await?;
            println!("created {}", created.name_any());
        }
        for slice in update {
            api.replace(&slice.name_any(), &PostParams::default(), slice).await?;
            println!("updated {}", slice.name_any());
        }
        for slice in delete {
            remove(api, slice, None).await?;
        }
    }
    for slice in &plan.delete_if_unchanged {
        remove(api, slice, slice.resource_version()).await?;
    }
    Ok(())
}

/// Deletes a slice, unless it is gone or another slice has its name.
async fn remove(
    api: &Api<EndpointSlice>,
    slice: &EndpointSlice,
    version: Option<String>,
) -> kube::Result<()> {
    let preconditions = Preconditions { uid: slice.uid(), resource_version: version };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match api.delete(&slice.name_any(), &parameters).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        outcome => outcome.map(|_| println!("deleted {}", slice.name_any())),
    }
}
