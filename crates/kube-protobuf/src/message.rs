//! Full codecs of the kinds that controllers write.

mod codec;
mod endpoint_slice;
mod endpoints;
mod event;
mod lease;
mod meta;
mod time;

pub(crate) use codec::{Codec, read};

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
/// The encoding is canonical and equals Go's: fields in ascending order, map entries sorted by key.
///
/// # Absent and empty
///
/// An object has the same value whether it was read from protobuf or from the JSON of the API server. Because the Go types
/// convert between the two, that requires three rules:
///
/// - A field that Go holds behind a pointer (`EndpointPort.name` of slices, all of `LeaseSpec`) is present if it is on
///   the wire, even if empty, zero or false.
/// - A field that Go holds by value is always on the wire, and omitted from JSON if empty. Empty text and zero are read as
///   `None`, and `None` is written as empty text and zero. Where Go's JSON keeps an empty value
///   (`Endpoint.conditions`, `Lease.spec`, `Event.source`, `reportingComponent`, `reportingInstance`), it is read as
///   `Some` of the empty value.
/// - An empty list or map is absent on the wire. It is read as `None`, or as an empty `Vec` for a field that is not an
///   `Option`. (JSON has `null` for an empty `EndpointSlice.endpoints` or `ports`; that is `None`, too.)
///
/// So `decode(encode(x))` equals `x`, except for `managedFields`, for every `x` that was read from an API server in either
/// encoding; other values are converted to this normal form. Times have the precision of JSON: seconds for `Time`,
/// microseconds for `MicroTime`.
///
/// Text that is not UTF-8 is read with replacement characters, as in the JSON of the API server: one invalid annotation
/// must not make an object unreadable.
pub trait Message: Codec {
    /// Group and version for the envelope.
    const API_VERSION: &'static str;
    /// Kind for the envelope.
    const KIND: &'static str;

    /// Reads an object from its message (an item of a list, or the [`raw`](crate::Unknown::raw) of an envelope).
    ///
    /// Drops `metadata.managedFields` and unknown fields. The API server preserves managedFields if an update omits them.
    ///
    /// Cost: one allocation per string and list.
    fn decode(raw: &[u8]) -> Result<Self, DecodeError> {
        codec::read(raw)
    }

    /// Returns the message without envelope, see [`wrap`](crate::wrap). Never writes `metadata.managedFields`.
    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::with_capacity(1024);
        self.write(&mut writer);
        writer.finish()
    }
}

#[cfg(test)]
mod tests;
