//! Planning the slices of one Service with 1,000 pods. One item is one pod.

use std::hint::black_box;
use std::sync::Arc;

use endpointslice::plan::AddressTypePlan;
use endpointslice::well_known::ENDPOINTSLICE_CONTROLLER;
use endpointslice::{
    DesiredEndpoints, Interner, Node, PlanOptions, Pod, Service, SlicePlan, SliceTemplate,
    desired_from_service, plan,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;

use crate::objects;

/// The pods of the Service.
pub(crate) const PODS: u64 = 1_000;

struct World {
    service: Service,
    pods: Vec<Pod>,
    nodes: Vec<Arc<Node>>,
    template: SliceTemplate,
}

impl World {
    /// A Service whose first pods are not ready.
    fn new(unready: usize) -> Self {
        let interner = &mut Interner::default();
        let service = objects::service(0, interner);
        let count = usize::try_from(PODS).unwrap();
        let pods = (0..count).map(|number| objects::pod(0, number, number >= unready, interner)).collect();
        let nodes = objects::nodes(interner);
        let template = SliceTemplate::for_service(&service, ENDPOINTSLICE_CONTROLLER);
        Self { service, pods, nodes, template }
    }

    fn desired(&self) -> DesiredEndpoints {
        let node = |name: &str| {
            let number: usize = name.strip_prefix("node-")?.parse().ok()?;
            self.nodes.get(number).map(|node| &**node)
        };
        desired_from_service(&self.service, &self.pods, node)
    }

    fn plan(&self, existing: &[EndpointSlice], desired: DesiredEndpoints) -> SlicePlan {
        plan(existing, desired, &self.template, &PlanOptions::default())
    }
}

/// The slices of the Service, as they are after the first sync.
pub(crate) fn written_slices() -> Vec<EndpointSlice> {
    let world = World::new(0);
    let plan = world.plan(&[], world.desired());
    let mut slices: Vec<EndpointSlice> = plan.types.into_iter().flat_map(|plan| plan.create).collect();
    for (number, slice) in slices.iter_mut().enumerate() {
        slice.metadata.name = Some(format!("app-0-{number:05}"));
        slice.metadata.resource_version = Some("100".to_owned());
    }
    assert_eq!(slices.len(), 10, "1,000 endpoints in slices of 100");
    slices
}

pub(crate) fn desired() -> Box<dyn FnMut()> {
    let world = World::new(0);
    Box::new(move || drop(black_box(black_box(&world).desired())))
}

pub(crate) fn all_new() -> Box<dyn FnMut()> {
    counted(0, Vec::new(), 10)
}

pub(crate) fn nothing() -> Box<dyn FnMut()> {
    counted(0, written_slices(), 0)
}

pub(crate) fn one_change() -> Box<dyn FnMut()> {
    counted(1, written_slices(), 1)
}

/// Plans once, and checks the number of writes.
fn counted(unready: usize, existing: Vec<EndpointSlice>, writes: usize) -> Box<dyn FnMut()> {
    let world = World::new(unready);
    let mut desired = Some(world.desired());
    Box::new(move || {
        let plan = world.plan(&existing, desired.take().unwrap());
        assert_eq!(plan.types.iter().map(AddressTypePlan::changes).sum::<usize>(), writes, "writes");
    })
}
