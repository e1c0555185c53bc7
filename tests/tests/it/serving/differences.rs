//! Differences that are intended, or due to two different programs.

use serde::Deserialize;

use super::requests::Case;

/// Lines that only one side has, in the answers to these requests: an element of `differences.yaml`, which describes them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Difference {
    pub(crate) what: String,
    pub(crate) requests: Vec<String>,
    #[serde(default)]
    pub(crate) upstream: Vec<String>,
    #[serde(default)]
    pub(crate) ours: Vec<String>,
    #[serde(default)]
    below: String,
}

impl Difference {
    /// True if the difference shows in the answers to this request.
    pub(crate) fn concerns(&self, case: &Case) -> bool {
        self.requests.iter().any(|name| is_named(name, case))
    }
}

/// True if a name of a [`Difference`] stands for this request.
pub(crate) fn is_named(name: &str, case: &Case) -> bool {
    case.to_string().split_once(' ').is_some_and(|(_, request)| request == name)
}

pub(crate) fn all() -> Vec<Difference> {
    let mut all: Vec<Difference> = serde_yaml::from_str(include_str!("differences.yaml")).unwrap();
    for Difference { below, upstream, ours, .. } in &mut all {
        for line in upstream.iter_mut().chain(ours) {
            line.insert_str(0, below);
        }
    }
    all
}
