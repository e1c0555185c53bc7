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
//! Reading and writing are treated differently because they cost differently. A controller reads every Pod of a
//! cluster and needs fifteen fields of each, so views *scan*: they borrow from the message, step over what nobody asked
//! for, and take one to two microseconds per Pod where Go's decoding takes twelve. What a controller writes it must carry
//! whole, since a field that is forgotten between read and write is a field erased; so the kinds that are written have
//! a full codec, [`Message`].
//!
//! Nothing here does IO, keeps state beyond a [`FrameReader`]'s buffer, or panics, whatever the bytes. Nesting is
//! followed only as deep as the known types go, so no message can exhaust the stack, and memory is bounded by a small
//! multiple of the input.
//!
//! # What is deliberately absent
//!
//! No generated code and no `.proto` files: field numbers stand in the code that reads them, taken from the
//! `generated.proto` files of `k8s.io/api` and `k8s.io/apimachinery` v0.36.3, and files made by the Go types themselves
//! (`testdata/`) prove them. Fields that a message doesn't know are skipped in views and dropped by
//! [`Message::decode`]; only [`without_managed_fields`] keeps them.

mod delete_options;
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
pub use envelope::{MAGIC, Unknown, wrap};
pub use error::{DecodeError, DecodeErrorKind};
pub use frames::{DEFAULT_MAX_FRAME_BYTES, FrameReader};
pub use list::{Items, List};
pub use managed_fields::{MAX_LAST_MANAGERS, last_managers, without_managed_fields};
pub use message::Message;
pub use reader::{Fields, Value};
pub use scan::{
    MetaView, NodeView, PodView, PortView, ServicePortView, ServiceView, TargetPort, meta, meta_until_damage,
};
pub use status::{CauseView, StatusView};
pub use watch::{EventType, WatchEvent};
