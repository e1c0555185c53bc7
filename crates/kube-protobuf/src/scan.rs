//! Borrowed views: the fields that endpoints need, read in one pass without decoding the others.
//!
//! Parsing a view fails if one of its fields is malformed; other fields are skipped unread. Two rules handle text that the
//! API server does not validate. The value of an annotation that is not UTF-8 is empty, and an annotation whose key is not is
//! left out, because one Pod must not stop the watch of a whole cluster. Text that is only compared with a known word is
//! compared as bytes, so text that is not UTF-8 is unequal.
//!
//! Repeated fields follow protobuf: the last value wins, nested messages merge, lists and maps append.

mod conditions;
mod meta;
mod node;
mod pod;
mod service;
mod values;

pub use conditions::{ConditionView, PodConditionsView};
pub(crate) use meta::metadata;
pub use meta::{MetaView, meta, meta_lossy};
pub use node::NodeView;
pub use pod::{PodView, PortView};
pub use service::{ServicePortView, ServiceView, TargetPort};
pub(crate) use values::time_seconds;

#[cfg(test)]
mod tests;
