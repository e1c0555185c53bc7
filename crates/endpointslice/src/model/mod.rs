//! Services, Pods and Nodes, reduced to the few fields that endpoints depend on, with shared strings.
//!
//! * [`Service`], [`Pod`] and [`Node`] are made of API objects ([`Pod::from_api`]) or of borrowed fields
//!   ([`PodFields`]), whichever a client decodes;
//! * [`Interner`] makes equal strings, label sets and port lists one allocation;
//! * [`Kubelet`] and [`only_marked_not_ready`] tell what kubelets said from what the node lifecycle controller said;
//! * [`Uid`] and [`ResourceVersion`] are identity in few bytes.

mod address;
mod api_fields;
mod conditions;
mod endpoint_slice;
mod ids;
mod interner;
mod labels;
mod node;
mod pod;
mod ports;
mod service;

pub use address::{AddressType, Addresses, append_address, is_allowed_in_slices, parse_ip};
pub(crate) use api_fields::text;
pub use conditions::{ConditionFields, Kubelet, only_marked_not_ready};
pub use endpoint_slice::endpoints_of;
pub(crate) use endpoint_slice::{endpoint_list, endpoints_of_mut, name_of};
pub use ids::{ResourceVersion, Uid};
pub use interner::Interner;
pub use labels::LabelSet;
pub use node::{Node, NodeFields};
pub use pod::{Pod, PodFields, ReadyCondition};
pub use ports::{NamedPort, ServicePort, TargetPort};
pub use service::{Families, PortFields, Service, ServiceFields, ServiceType, parse_bool};
