//! The types of the Kubernetes API, as Go declares them: names, encodings, and the rules of patches.
//!
//! The facts come from `schema/types.txt`, which `hack/checks/schema` writes from the Go types and kube-apiserver's `OpenAPI`
//! definitions. Everything that depends on a field (JSON, protobuf, patches, server-side apply, `OpenAPI`) reads them here.

mod load;
mod types;

use std::sync::LazyLock;

pub(crate) use types::{Entry, Field, ListType, Message, Node, Part, Shape, Type};

/// All types of the schema. Cost: parses 80 kB at first use.
pub(crate) fn types() -> &'static [Type] {
    static LOADED: LazyLock<()> = LazyLock::new(|| {
        // a test proves that the file is well formed
        types::install(load::parse(include_str!("../../schema/types.txt")).unwrap_or_default());
    });
    LazyLock::force(&LOADED);
    types::installed()
}

impl Type {
    /// The type of this package path and name, such as `k8s.io/api/core/v1.Pod`.
    ///
    /// Cost: compares all names; keep the result.
    pub(crate) fn named(path: &str) -> Option<&'static Self> {
        types().iter().find(|candidate| candidate.path == path)
    }
}

#[cfg(test)]
mod tests;
