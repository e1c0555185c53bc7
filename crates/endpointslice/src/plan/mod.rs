//! Plans: the few writes that make the slices of one owner carry its desired endpoints.

mod hints;
mod options;
mod pack;
mod planner;
mod settled;
mod slice_plan;
mod template;
mod tolerated;

pub use hints::{Hints, TrafficDistribution};
pub use options::{Packing, PlanOptions};
pub use planner::{plan, plan_incremental};
pub use settled::{MissingEndpoints, Settled};
pub use slice_plan::{AddressTypePlan, PlanStatistics, PortGroupStatistics, SlicePlan};
pub use template::{AnnotationPolicy, Owner, OwnershipPolicy, SliceTemplate, UpdateMode};
