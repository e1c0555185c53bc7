//! Services that belong to another controller.

use std::sync::Arc;

use controller_kit::key::ObjectKey;
use endpointslice::{Interner, Service};
use k8s_openapi::api::core::v1 as core;
use kube_protobuf::{DecodeError, ServiceView};

use crate::resource::Resource;

/// A Service with the label `service.kubernetes.io/endpoint-controller-name`: its name, and whether it has a selector.
///
/// It is not among `State::services`, so that no change of a pod leads to it. It is cached for one question: was a
/// Service that has left the main watch deleted, or delegated? The event is the same for both: `DELETED`, with the
/// object in its last state. If the Service is not listed here, it was deleted and the garbage collector removes its
/// slices; if it is, our controllers delete their slices. A change of the label's value, or of anything else, is
/// not a change here.
#[derive(Debug)]
pub struct DelegatedService {
    /// The namespace.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// True if the Service selects pods. The Endpoints of a Service without a selector belong to users.
    pub has_selector: bool,
}

/// Watched alongside [`Service`], with another label selector. Whole objects are requested, although only two fields are
/// read: the API server encodes an event once for all clients that watch whole Services, and once more for each client
/// that doesn't.
impl Resource for DelegatedService {
    const KIND: &'static str = "Service";
    const RESOURCE: &'static str = "delegated-services";
    const PATH: &'static str = <Service as Resource>::PATH;
    const HAS_PROTOBUF: bool = true;

    type Index = ();

    fn read_protobuf<'a>(raw: &'a [u8], interner: &mut Interner) -> Result<(Self, &'a str), DecodeError> {
        let ServiceView { meta, selector, .. } = ServiceView::parse(raw)?;
        let namespace = interner.string(meta.namespace);
        let object = Self { namespace, name: meta.name.into(), has_selector: !selector.is_empty() };
        Ok((object, meta.resource_version))
    }

    fn read_json(json: &str, interner: &mut Interner) -> Result<(Self, String), serde_json::Error> {
        let service: core::Service = serde_json::from_str(json)?;
        let metadata = service.metadata;
        let text = Option::unwrap_or_default;
        let selector = service.spec.and_then(|spec| spec.selector);
        let object = Self {
            namespace: interner.string(&text(metadata.namespace)),
            name: text(metadata.name).into(),
            has_selector: selector.is_some_and(|selector| !selector.is_empty()),
        };
        Ok((object, text(metadata.resource_version)))
    }

    fn namespace(&self) -> &str {
        &self.namespace
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn key(&self) -> ObjectKey {
        ObjectKey { namespace: Arc::clone(&self.namespace), name: Arc::clone(&self.name) }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.has_selector == other.has_selector
    }
}
