//! Other clients between two steps: they delete all slices of a Service, or send updates that change nothing.
//!
//! Both programs create deleted slices again a second after the event, with the same endpoints.

use std::fmt;

use random_operations::requests::path;
use random_operations::rng::Rng;
use random_operations::{CONTROLLERS, MANAGED_BY, SERVICE_NAME, Step};
use serde_json::Value;

use crate::requests::must;
use crate::scenario::World;

/// The share of steps that are followed by one.
const SHARE: usize = 6;

/// An act of another client on the slices of one Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Disturbance {
    DeleteSlices(String),
    /// Replaces each slice by itself.
    Nothing(String),
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeleteSlices(service) => write!(f, "all slices of {service} are deleted"),
            Self::Nothing(service) => write!(f, "the slices of {service} are replaced by themselves"),
        }
    }
}

impl Disturbance {
    /// The one after a step, if there is one.
    pub(crate) fn after(seed: u64, number: usize, step: &Step) -> Option<Self> {
        let mut rng = Rng::new(seed.wrapping_mul(1_000_003) ^ u64::try_from(number).ok()?);
        if !rng.percent(SHARE) {
            return None;
        }
        // Those that the controllers keep: slices of others stay gone.
        let service = rng.any(&step.synced)?.clone();
        Some(if rng.percent(70) { Self::DeleteSlices(service) } else { Self::Nothing(service) })
    }

    /// Does it.
    pub(crate) async fn apply(&self, world: &World) {
        let (Self::DeleteSlices(service) | Self::Nothing(service)) = self;
        let all = path("endpointslices");
        // Not those of Endpoints that it had before it had a selector.
        let list =
            format!("{all}?labelSelector={SERVICE_NAME}%3D{service},{MANAGED_BY}%3D{}", CONTROLLERS[0]);
        let mut slices = must(world.client(), "GET", &list, &Value::Null).await;
        for slice in slices["items"].as_array_mut().into_iter().flatten() {
            let path = format!("{all}/{}", slice["metadata"]["name"].as_str().unwrap_or_default());
            match self {
                Self::DeleteSlices(_) => must(world.client(), "DELETE", &path, &Value::Null).await,
                Self::Nothing(_) => must(world.client(), "PUT", &path, slice).await,
            };
        }
    }
}
