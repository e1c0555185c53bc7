//! The number of slices that endpoints need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::objects::Objects;
use crate::ports::list;

impl Objects {
    /// The number of slices that an owner, a Service or custom Endpoints, needs for its endpoints.
    pub fn needed_slices(&self, owner: &str, max: usize) -> usize {
        let is_owner = |(_, object): &(&String, &Arc<Value>)| object["metadata"]["uid"] == owner;
        if let Some((name, service)) = self.services.iter().find(is_owner) {
            let lines = self.slice_lines(name, service);
            // A family without endpoints has a slice, too.
            let families = lines.iter().filter(|line| line.ends_with(" has slices")).count();
            let filled: usize = groups(&lines).into_values().map(|count| count.div_ceil(max)).sum();
            return filled.max(families);
        }
        let endpoints = self.endpoints.values().find(|object| object["metadata"]["uid"] == owner);
        // A slice for each subset and family.
        endpoints.map_or(0, |endpoints| 2 * list(endpoints, "/subsets").len())
    }
}

/// The number of endpoints of each family and set of ports.
fn groups(lines: &BTreeSet<String>) -> BTreeMap<&str, usize> {
    let mut groups = BTreeMap::new();
    for (group, _) in lines.iter().filter_map(|line| line.split_once("} ")) {
        *groups.entry(group).or_default() += 1;
    }
    groups
}
