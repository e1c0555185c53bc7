//! Full codecs for the kinds that are written.

mod endpoint_slice;
mod endpoints;
mod event;
mod lease;
mod meta;
mod part;

use part::Part;

use crate::error::DecodeError;
use crate::writer::Writer;

/// An object that can be read and written in full: `EndpointSlice`, `Endpoints`, `Event` (core/v1) and `Lease`.
///
/// ```
/// use k8s_openapi::api::coordination::v1::Lease;
/// use kube_protobuf::{Message, Unknown, wrap};
///
/// let lease = Lease { spec: Some(Default::default()), ..Lease::default() };
/// let body = wrap(Lease::API_VERSION, Lease::KIND, &lease.encode());
/// assert_eq!(Lease::decode(Unknown::parse(&body)?.raw)?, lease);
/// # Ok::<(), kube_protobuf::DecodeError>(())
/// ```
///
/// Encoding is canonical: fields in ascending order, maps by key; equal values are equal bytes, the same that Go writes.
///
/// # Absent and empty
///
/// An object is the same value whether it came as protobuf or as the API server's JSON. That takes three rules, because
/// the Go types stand between the two:
///
/// - A field that Go holds behind a pointer (`EndpointPort.name` of slices, all of `LeaseSpec`) is present if it is on
///   the wire, even if empty, zero or false.
/// - A field that Go holds by value is always on the wire, and left out of JSON when empty; here, empty text and zero
///   become `None`, and `None` is written as empty text and zero. Where Go's JSON keeps an empty value
///   (`Endpoint.conditions`, `Lease.spec`, `Event.source`, `reportingComponent`, `reportingInstance`), it is `Some` of
///   the empty value.
/// - Lists and maps can't be empty on the wire, only absent; here, they are `None`, or an empty `Vec` for a field that
///   isn't an `Option`. (`EndpointSlice.endpoints` and `ports` are `null` in JSON then, not left out; that is `None`.)
///
/// So `decode(encode(x))` is `x` for every `x` that was read from an API server, in either encoding, save for its
/// `managedFields`; other values come back in this normal form. Times lose what JSON loses: `Time` has seconds,
/// `MicroTime` microseconds.
///
/// Text that isn't UTF-8 is read with replacement characters, as the API server's JSON has it: one bad annotation must
/// not make an object unreadable.
pub trait Message: Part {
    /// Group and version, for the envelope.
    const API_VERSION: &'static str;
    /// The kind, for the envelope.
    const KIND: &'static str;

    /// Reads an object from its message (an item of a list, or the [`raw`](crate::Unknown::raw) of an envelope).
    ///
    /// `metadata.managedFields` and fields that this crate doesn't know are dropped. The API server keeps managedFields
    /// by itself when an update comes without them.
    ///
    /// Cost: an allocation per string and list, like any owned value.
    fn decode(raw: &[u8]) -> Result<Self, DecodeError> {
        part::read(raw)
    }

    /// The message, without envelope: see [`wrap`](crate::wrap). `metadata.managedFields` are never written.
    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::with_capacity(1024);
        self.write(&mut writer);
        writer.finish()
    }
}

#[cfg(test)]
mod tests;
