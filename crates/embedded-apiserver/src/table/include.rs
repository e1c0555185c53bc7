//! The choices of a client that asks for a table.

use crate::status::Status;

/// The part of its object that each row has besides the cells: the query parameter `includeObject`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    Metadata,
    Object,
}

impl Include {
    /// Reads the query parameter `includeObject`.
    /// Errors: 400 if it has another value than `None`, `Metadata`, `Object` or none.
    pub(crate) fn parse(include_object: Option<&str>) -> Result<Self, Status> {
        match include_object.unwrap_or_default() {
            "" | "None" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            other => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', \
                     'Object', 'None', or empty"
            ))),
        }
    }
}
