//! The slices and Endpoints that a Service should have, by the controllers' own plans.

use std::borrow::Cow;

use endpoints_controller::{Plan, Unready};
use endpointslice::topology::NoHints;
use endpointslice::well_known::{
    ENDPOINTS_OVER_CAPACITY, ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER, HEADLESS,
};
use endpointslice::{AddressType, Hints, Packing, PlanOptions, SlicePlan};
use endpointslice_controller::ServicePlanOptions;
use endpointslice_mirroring_controller::Mirror;
use k8s_openapi::api::core::v1::Endpoints;
use k8s_openapi::api::discovery::v1::EndpointSlice;

use super::subject::{EndpointSource, Subject};
use crate::audit::{only_zones_differ, opts_out};
use crate::metadata::annotation;
use crate::snapshot::Kind;

/// The default of `--max-endpoints-per-slice`.
const MAX_ENDPOINTS_PER_SLICE: usize = 100;
/// The default of `--mirroring-max-endpoints-per-subset`.
const MAX_ENDPOINTS_PER_SUBSET: usize = 1000;

/// The objects that a Service should have.
pub(super) struct Planned<'a> {
    /// The slices of Kubernetes' controllers.
    pub(super) slices: Vec<Cow<'a, EndpointSlice>>,
    /// The plan of the slices of the Service's pods.
    pub(super) slice_plan: SlicePlan,
    /// The plan of slices that mirror Endpoints; it deletes all of them if there is nothing to mirror.
    pub(super) mirror: Mirror,
    /// The Endpoints.
    pub(super) endpoints: Option<Cow<'a, Endpoints>>,
    /// True if the stored Endpoints differ from them.
    pub(super) endpoints_change: bool,
}

impl<'a> Planned<'a> {
    pub(super) fn new(subject: &Subject<'a>) -> Self {
        let ours: Vec<&EndpointSlice> = subject.managed_by(ENDPOINTSLICE_CONTROLLER).collect();
        let mirrors: Vec<&EndpointSlice> = subject.managed_by(ENDPOINTSLICE_MIRRORING_CONTROLLER).collect();
        let slice_plan = if subject.source == EndpointSource::Pods {
            plan_slices(subject, &ours)
        } else {
            SlicePlan::default()
        };
        let mirror = plan_mirror(subject, &mirrors);
        let mut slices = applied(&slice_plan, ours);
        slices.extend(applied(&mirror.plan, mirrors));
        let plan = if subject.source == EndpointSource::Pods && subject.snapshot.can_read(Kind::Endpoints) {
            plan_endpoints(subject)
        } else {
            Plan::Nothing
        };
        let (endpoints, endpoints_change) = match plan {
            Plan::Nothing => (subject.endpoints.map(Cow::Borrowed), false),
            Plan::Create(endpoints) | Plan::Update(endpoints) => (Some(Cow::Owned(endpoints)), true),
        };
        Self { slices, slice_plan, mirror, endpoints, endpoints_change }
    }

    /// True if there is nothing to write but zones and hints of stored endpoints.
    pub(super) fn changes_only_zones(&self, subject: &Subject<'a>) -> bool {
        let ours: Vec<&EndpointSlice> = subject.managed_by(ENDPOINTSLICE_CONTROLLER).collect();
        let follows = |updated: &EndpointSlice| {
            ours.iter()
                .find(|slice| slice.metadata.name == updated.metadata.name)
                .is_some_and(|stored| hints_follow_zones(stored, updated))
        };
        !self.slice_plan.is_empty()
            && self.mirror.plan.is_empty()
            && only_zones_differ(&self.slice_plan, &ours)
            && self.slice_plan.types.iter().flat_map(|plan| &plan.update).all(follows)
    }

    /// The reasons for no topology hints.
    pub(super) fn no_hints(&self) -> impl Iterator<Item = (AddressType, &NoHints)> {
        let outcomes = self.slice_plan.topology_outcomes();
        outcomes.filter_map(|(address_type, outcome)| Some((address_type, outcome?.as_ref().err()?)))
    }

    /// True if the Endpoints should have fewer addresses than there are.
    pub(super) fn is_over_capacity(&self) -> bool {
        let is_cut =
            |endpoints: &Endpoints| annotation(&endpoints.metadata, ENDPOINTS_OVER_CAPACITY).is_some();
        self.endpoints.as_deref().is_some_and(is_cut)
    }
}

/// True if nothing but zones can be why an update of the same endpoints has other hints: it neither introduces nor drops them, nor
/// the label of headless Services, as it would after a change of the Service.
fn hints_follow_zones(stored: &EndpointSlice, updated: &EndpointSlice) -> bool {
    let is_headless =
        |slice: &EndpointSlice| slice.metadata.labels.as_ref().is_some_and(|it| it.contains_key(HEADLESS));
    let mut endpoints = stored.endpoints.iter().flatten().zip(updated.endpoints.iter().flatten());
    is_headless(stored) == is_headless(updated)
        && endpoints.all(|(old, new)| old.zone.is_none() || old.hints.is_some() == new.hints.is_some())
}

fn plan_slices(subject: &Subject<'_>, existing: &[&EndpointSlice]) -> SlicePlan {
    let service = subject.service();
    let largest = existing.iter().map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len)).max();
    let knows_nodes = subject.snapshot.can_read(Kind::Nodes) && !subject.is_disrupted();
    let hints = if knows_nodes || !service.wants_topology_hints() {
        Hints::for_service(service, subject.snapshot.nodes().topology())
    } else {
        Hints::Keep
    };
    let plan = PlanOptions {
        packing: Packing::Pack { max: largest.unwrap_or_default().max(MAX_ENDPOINTS_PER_SLICE) },
        placeholder: true,
        hints,
    };
    let options = ServicePlanOptions { plan, ..ServicePlanOptions::default() };
    let pods = subject.selected.iter().map(|entry| subject.pod(entry));
    endpointslice_controller::plan_service(service, pods, |name| subject.node(name), existing, &options).0
}

fn plan_mirror(subject: &Subject<'_>, existing: &[&EndpointSlice]) -> Mirror {
    let is_mirrored = |endpoints: &&Endpoints| {
        !matches!(subject.source, EndpointSource::Delegated(_))
            && subject.service().selector.is_none()
            && !opts_out(endpoints)
    };
    let existing = || existing.iter().map(|slice| (*slice).clone()).collect();
    // Without the Endpoints nothing is known about their mirrors.
    let nothing = Mirror { plan: SlicePlan::default(), invalid: 0, skipped: 0 };
    match subject.endpoints.filter(is_mirrored) {
        Some(endpoints) => {
            let existing: Vec<EndpointSlice> = existing();
            let largest = existing.iter().map(|slice| slice.endpoints.as_ref().map_or(0, Vec::len)).max();
            let max = largest.unwrap_or_default().max(MAX_ENDPOINTS_PER_SUBSET);
            endpointslice_mirroring_controller::mirror(endpoints, &existing, max)
        }
        None if subject.snapshot.can_read(Kind::Endpoints) => {
            Mirror { plan: SlicePlan::delete_all(existing()), ..nothing }
        }
        None => nothing,
    }
}

fn plan_endpoints(subject: &Subject<'_>) -> Plan {
    let service = subject.service();
    let pods = subject.selected.iter().map(|entry| subject.pod(entry));
    let unready = Unready::of(service, false);
    endpoints_controller::plan_service(service, pods, subject.endpoints, unready, None).0
}

/// The slices after a plan is applied.
fn applied<'a>(plan: &SlicePlan, existing: Vec<&'a EndpointSlice>) -> Vec<Cow<'a, EndpointSlice>> {
    let name = |slice: &EndpointSlice| slice.metadata.name.clone();
    let types = || plan.types.iter();
    let deleted = types().flat_map(|plan| &plan.delete).chain(&plan.delete_if_unchanged);
    let mut gone: Vec<Option<String>> = deleted.map(name).collect();
    gone.extend(types().flat_map(|plan| &plan.update).map(name));
    let kept = existing.into_iter().filter(|slice| !gone.contains(&slice.metadata.name)).map(Cow::Borrowed);
    let created = types().filter(|plan| !plan.creates_suppressed).flat_map(|plan| &plan.create);
    let written = types().flat_map(|plan| &plan.update).chain(created).cloned().map(Cow::Owned);
    kept.chain(written).collect()
}
