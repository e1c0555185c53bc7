//! Options of a plan.

use super::hints::Hints;

/// Rules by which slices are filled.
///
/// The default is that of Kubernetes' EndpointSlice controller without hints: at most 100 endpoints in a slice, and a
/// placeholder.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// The spread of the endpoints of one group over slices.
    pub packing: Packing,
    /// True if an address type without endpoints gets one empty slice, so that consumers can distinguish "no endpoints"
    /// from "not yet reconciled".
    pub placeholder: bool,
    /// The hints of endpoints.
    pub hints: Hints,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self { packing: Packing::Pack { max: 100 }, placeholder: true, hints: Hints::None }
    }
}

/// The spread of the endpoints of one group over slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Few writes rather than few slices: those that are written anyway are filled first, each up to `max` endpoints.
    Pack {
        /// The most endpoints a slice may carry; 0 counts as 1.
        max: usize,
    },
    /// One slice for each group; endpoints beyond `max` are left out, and a group without endpoints has no slice.
    Single {
        /// The most endpoints a slice may carry; 0 counts as 1.
        max: usize,
    },
}

impl Packing {
    /// The most endpoints a slice may carry.
    pub(super) fn max(self) -> usize {
        let (Self::Pack { max } | Self::Single { max }) = self;
        max.max(1)
    }
}
