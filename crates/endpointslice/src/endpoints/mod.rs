//! Subsets of Endpoints objects in their canonical form, for controllers that read or write Endpoints.

mod fnv;
mod order;
mod subsets;

pub(crate) use fnv::Fnv128a;
pub(crate) use subsets::MAX_LISTED;
pub use subsets::{SubsetBuilder, SubsetPort, repack_subsets};
