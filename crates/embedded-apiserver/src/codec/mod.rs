//! Encodings of objects, by the facts of the schema: JSON as clients send and read it, protobuf as it is stored.
//!
//! ```text
//! body ── json::decode, protobuf::decode ──> tree (canonical) ── protobuf::encode ──> stored bytes
//! stored bytes ── protobuf::decode ──> tree ──> updates, patches; json::encode ──> JSON of get, list and watch
//! ```
//!
//! A tree is canonical if it is what Go's encoder prints for the typed object: fields are absent if `omitempty` or
//! `omitzero` leaves them out, structs that are not pointers are there, quantities and times have their canonical form.

mod error;
pub(crate) mod fields_v1;
pub(crate) mod json;
pub(crate) mod protobuf;
mod quantity;
mod text;
mod time;

pub(crate) use error::DecodeError;
pub(crate) use quantity::nanos as quantity_in_nanos;

#[cfg(test)]
mod tests;
