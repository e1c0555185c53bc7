//! Addresses of pods in the networks of their Services, by the rules of `pod-network-controller`.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use endpoint_informers::cache::{Cache, CachedResource as _, Delta};
use endpoint_informers::reconciler::SliceReconciler as _;
use endpoint_informers::resource::Resource as _;
use endpointslice::desired::Attachment;
use endpointslice::model::Uid;
use endpointslice::well_known::ENDPOINT_CONTROLLER_NAME;
use endpointslice::{Interner, Pod, Service};
use k8s_openapi::api::core::v1 as core;
use pod_network_controller::{Missing, NAME, PodNetworks, ResourceClaim};

use crate::metadata::label;

/// The addresses of a Service's pods in its network, by uid; or the reason for which a pod has none.
pub type Attachments = HashMap<Uid, Result<Attachment<Vec<IpAddr>>, Missing>>;

/// The ResourceClaims, and the rules for them.
#[derive(Default)]
pub struct Networks {
    rules: PodNetworks,
    claims: Cache,
}

impl Networks {
    /// Without claims, Services whose networks they describe are not compared.
    pub(super) fn without_claims() -> Self {
        Self { rules: PodNetworks::without_claims(), claims: Cache::default() }
    }

    /// An interner that keeps the annotations by which Services and pods name networks.
    pub(super) fn interner() -> Interner {
        Interner::keeping_annotations(PodNetworks::ANNOTATIONS.iter().copied())
    }

    pub(super) fn upsert(&self, claim: Arc<ResourceClaim>) {
        self.claims.upsert(Arc::unwrap_or_clone(claim));
    }

    pub(super) fn remove(&self, namespace: &str, name: &str) {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let deleted = Delta::<ResourceClaim>::Delete { namespace, name, resource_version: String::new() };
        self.claims.apply([deleted], "", false);
    }

    /// The namespaces and names of the ResourceClaims.
    pub fn claims(&self) -> Vec<(String, String)> {
        let key = |claim: &Arc<ResourceClaim>| (claim.namespace().to_owned(), claim.name().to_owned());
        self.claims.read(|state| ResourceClaim::table(state).iter().map(key).collect())
    }

    /// The names of the pods that a ResourceClaim is reserved for; none if it does not exist.
    pub fn claim_consumers(&self, namespace: &str, name: &str) -> Option<Vec<String>> {
        self.claims.read(|state| {
            let claim = ResourceClaim::table(state).get(namespace, name)?;
            Some(claim.pods.iter().map(|pod| pod.name.to_string()).collect())
        })
    }

    /// The address of a pod in the network of the Service; none if the Service is on no pod network, names none, or names one of
    /// ResourceClaims that are not known.
    pub fn attachment(
        &self,
        service: &Service,
        pod: &Pod,
    ) -> Option<Result<Attachment<Vec<IpAddr>>, Missing>> {
        self.is_known(service)
            .then(|| self.claims.read(|state| self.rules.attachment(service, pod, state)))?
    }

    /// True if a label or annotation of the Service names a network.
    pub fn names_network(&self, service: &Service) -> bool {
        self.rules.names_network(service)
    }

    /// The device because of which the attachment of a pod is not ready, if this is known.
    pub fn unready(&self, service: &Service, pod: &Pod) -> Option<String> {
        self.claims.read(|state| self.rules.unready(service, pod, state))
    }

    /// Two networks that the Service may mean, if its pods are in several: then no pod is published.
    pub fn several<'a>(
        &self,
        service: &Service,
        pods: impl Iterator<Item = &'a Pod>,
    ) -> Option<(String, String)> {
        let published = pods.filter(|pod| !pod.terminal && pod.node_name.is_some());
        let published = published.filter(|pod| matches!(self.attachment(service, pod), Some(Ok(_))));
        let network = |pod: &Pod| self.claims.read(|state| self.rules.network(service, pod, state));
        let networks: BTreeSet<String> = published.filter_map(network).collect();
        let mut networks = networks.into_iter();
        Some((networks.next()?, networks.next()?))
    }

    /// False for a Service that is on no pod network, or on one of ResourceClaims that are not known.
    fn is_known(&self, service: &Service) -> bool {
        let is_readable = || self.claims.read(|state| self.rules.check_readable(service, state).is_ok());
        is_on_pod_network(service) && service.selector.is_some() && is_readable()
    }

    /// The addresses of pods that the Service selects; none like [`Self::attachment`].
    pub fn attachments<'a>(
        &self,
        service: &Service,
        pods: impl Iterator<Item = &'a Pod> + Clone,
    ) -> Option<Attachments> {
        self.is_known(service).then_some(())?;
        let ambiguous =
            self.several(service, pods.clone()).map(|(one, other)| Missing::Ambiguous(one, other));
        let pods = pods.filter(|pod| !pod.terminal && pod.node_name.is_some());
        let attachment = |pod: &Pod| match &ambiguous {
            Some(missing) => Some(Err(missing.clone())),
            None => self.attachment(service, pod),
        };
        pods.map(|pod| Some((pod.uid.clone(), attachment(pod)?))).collect()
    }
}

/// True if the slices of this Service depend on ResourceClaims.
pub fn needs_claims(service: &core::Service) -> bool {
    label(&service.metadata, ENDPOINT_CONTROLLER_NAME) == Some(NAME)
        && PodNetworks::reads_claims(&Service::from_api(service, &mut Networks::interner()))
}

/// True if `pod-network-controller` is to publish this Service.
pub fn is_on_pod_network(service: &Service) -> bool {
    service.labels.get(ENDPOINT_CONTROLLER_NAME) == Some(NAME)
}
