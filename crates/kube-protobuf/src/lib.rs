//! Kubernetes protobuf on the wire: envelope, watch frames, field scanning for reads, full encoding of what is
//! written.
//!
//! ```text
//! list body   ──────────────> Unknown ──> List ──> item ─┐
//! watch body ──> FrameReader ──> WatchEvent ──> Unknown ─┴─> PodView, ServiceView, NodeView, meta    borrowed
//! answer to a write ────────> Unknown ──> Message::decode, StatusView                                owned, full
//! body of a write   <──────── wrap    <── Message::encode, DeleteOptions
//! ```
//!
//! Reading and writing differ because their costs differ. A controller reads every Pod of a cluster and needs fifteen
//! fields of each, so views *scan*: they borrow from the message, skip all other fields, and take 1–2 µs per Pod, where
//! decoding in Go takes 12 µs. An object that a controller writes must be complete, because a field that is dropped between
//! read and write is erased; so the kinds that are written have a full codec, [`Message`].
//!
//! The crate does no IO, keeps no state beyond the buffer of a [`FrameReader`], and does not panic on any input. Nesting is
//! limited to that of the known types, so no message can exhaust the stack, and memory is bounded by a small multiple of
//! the input.
//!
//! ```
//! use kube_protobuf::{FrameReader, PodView, Unknown, WatchEvent, wrap};
//!
//! // a Pod with metadata.name "web-0", as a list or a watch event contains it
//! let object = wrap("v1", "Pod", b"\x0a\x07\x0a\x05web-0");
//! let pod = PodView::parse(Unknown::parse(&object)?.raw)?;
//! assert_eq!(pod.meta.name, "web-0");
//!
//! let mut frames = FrameReader::default();
//! frames.push(&[]); // each chunk of a watch body
//! while let Some(frame) = frames.next_frame()? {
//!     let event = WatchEvent::parse(frame)?;
//!     println!("{:?} {}", event.event_type, event.object.kind);
//! }
//! # Ok::<(), kube_protobuf::DecodeError>(())
//! ```
//!
//! # What is deliberately absent
//!
//! Generated code and `.proto` files. The code that reads a field contains its number, from the `generated.proto` files of
//! `k8s.io/api` and `k8s.io/apimachinery` v0.36.3, and tests verify the numbers with files that the Go types wrote
//! (`testdata/`). Views skip unknown fields and [`Message::decode`] drops them; only [`without_managed_fields`] keeps them.

mod delete_options;
mod encoded_endpoint;
mod envelope;
mod error;
mod frames;
mod list;
mod managed_fields;
mod message;
mod reader;
mod scan;
mod status;
mod watch;
mod writer;

pub use delete_options::DeleteOptions;
pub use encoded_endpoint::{
    PodAddress, PodEndpoint, SubsetView, address_and_hostname, endpoint_target_name, split_endpoint_slice,
    split_endpoints_object,
};
pub use envelope::{MAGIC, Unknown, wrap};
pub use error::{DecodeError, DecodeErrorKind};
pub use frames::{DEFAULT_MAX_FRAME_BYTES, FrameReader};
pub use list::{Items, List};
pub use managed_fields::{MAX_LAST_MANAGERS, last_managers, without_managed_fields};
pub use message::Message;
pub use reader::{Fields, Value};
pub use scan::{
    ConditionView, MetaView, NodeView, PodConditionsView, PodView, PortView, ServicePortView, ServiceView,
    TargetPort, meta, meta_lossy,
};
pub use status::StatusView;
pub use watch::{EventType, WatchEvent};
pub use writer::varint;
