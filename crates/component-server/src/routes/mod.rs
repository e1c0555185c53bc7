//! The pages of a component: health, metrics, configuration, flags, status, log level.

mod builder;
mod checks;
mod component_info;
mod debug_flags;
mod exposition;
mod health;
mod metrics;
mod slis;
mod zpages;

pub use builder::Routes;
pub use checks::Checks;
pub use component_info::ComponentInfo;
pub use slis::Slis;
