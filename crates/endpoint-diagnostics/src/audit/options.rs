//! Options of an audit.

/// The flags of the controllers that audited clusters run with, as far as rules depend on them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `--max-endpoints-per-slice`, if it is known.
    pub max_endpoints_per_slice: Option<usize>,
    /// `--mirroring-max-endpoints-per-subset`, if it is known.
    pub max_endpoints_per_subset: Option<usize>,
}

impl Options {
    /// The maximum of endpoints in a slice; without the flag, the default.
    pub(super) fn max_per_slice(&self) -> usize {
        self.max_endpoints_per_slice.unwrap_or(100).max(1)
    }

    /// The maximum of mirrored addresses of a subset; without the flag, the default.
    pub(super) fn max_per_subset(&self) -> usize {
        self.max_endpoints_per_subset.unwrap_or(1000).max(1)
    }
}
