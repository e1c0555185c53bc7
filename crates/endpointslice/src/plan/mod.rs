//! Plans: the few writes that make the slices of one owner carry its desired endpoints.

mod hints;
mod options;
mod pack;
mod planner;
mod slice_plan;
mod template;
mod tolerated;
mod up_to_date;

pub use hints::{Hints, TrafficDistribution};
pub use options::{Packing, PlanOptions};
pub use planner::{plan, plan_incremental};
pub use slice_plan::{AddressTypePlan, PlanStatistics, PortGroupStatistics, SlicePlan};
pub use template::{AnnotationPolicy, Owner, OwnershipPolicy, SliceTemplate, UpdateMode};
pub use up_to_date::{MissingEndpoints, UpToDateSlice};
