//! The choices of a client that asks for a table.

use crate::status::Status;

/// The options of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    /// The part of its object that each row has besides the cells.
    pub(crate) include: Include,
    /// The version of `meta.k8s.io` that the client accepts.
    pub(crate) version: Version,
}

/// The query parameter `includeObject`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    Metadata,
    Object,
}

/// A version of `meta.k8s.io` that has tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V1Beta1,
}

impl Options {
    /// Reads the version of the media type (`v=`) and the query parameter `includeObject`.
    ///
    /// # Errors
    /// 406 if this version has no tables, 400 if the parameter has another value than `None`, `Metadata`, `Object` or none.
    pub(crate) fn parse(version: &str, include_object: Option<&str>) -> Result<Self, Status> {
        let version = match version {
            "v1" => Version::V1,
            "v1beta1" => Version::V1Beta1,
            other => {
                let message = format!("no Table exists in group version meta.k8s.io/{other}");
                return Err(Status::new(406, "NotAcceptable", message));
            }
        };
        let include = match include_object.unwrap_or_default() {
            "None" => Include::None,
            "" | "Metadata" => Include::Metadata,
            "Object" => Include::Object,
            other => {
                return Err(Status::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', \
                     'Object', 'None', or empty"
                )));
            }
        };
        Ok(Self { include, version })
    }

    pub(super) fn api_version(self) -> &'static str {
        match self.version {
            Version::V1 => "meta.k8s.io/v1",
            Version::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}
