//! Errors of decoding.

use kube_protobuf::DecodeErrorKind;

/// A body that cannot be decoded, in Go's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DecodeError(pub(crate) String);

impl From<kube_protobuf::DecodeError> for DecodeError {
    fn from(error: kube_protobuf::DecodeError) -> Self {
        Self(match error.kind() {
            DecodeErrorKind::Truncated => "unexpected EOF".to_owned(),
            DecodeErrorKind::VarintOverflow => "proto: integer overflow".to_owned(),
            DecodeErrorKind::FieldNumber => {
                format!("proto: {}: illegal tag 0 (wire type 0)", error.message())
            }
            _ => format!("proto: {error}"),
        })
    }
}
