//! The state that controllers keep at the end: nothing of objects that are gone.

use std::collections::BTreeSet;

use random_operations::neighbour::TENANT;
use random_operations::{NAMESPACE, SERVICE_NAME};

use crate::replica::Replica;
use crate::world::World;

/// Tables that are empty when nothing is left to do. The others may have an entry for each Service, Endpoints or owner of
/// slices that exists: some keys fail for ever, as those with addresses that the API server refuses.
const TRANSIENT: [&str; 6] =
    ["conflicted", "deferred", "sync_caches", "orphaned", "unfinished", "waiting_writes"];

/// The table of keys that are to be retried.
const FAILING: &str = "failing";

/// The entries that a controller should have forgotten.
pub fn leaked(world: &World, replicas: &[Replica]) -> Vec<String> {
    let mut names: BTreeSet<String> =
        ["Service", "Endpoints"].iter().flat_map(|kind| world.objects("v1", kind).into_keys()).collect();
    let slices = world.objects("discovery.k8s.io/v1", "EndpointSlice").into_values();
    names.extend(
        slices.filter_map(|slice| Some(slice["metadata"]["labels"][SERVICE_NAME].as_str()?.to_owned())),
    );
    let mut leaked = Vec::new();
    for replica in replicas {
        for state in replica.controller_states() {
            let remembered = state.remembered();
            let fails = |key| remembered.iter().any(|(table, other)| *table == FAILING && other == key);
            for (table, key) in &remembered {
                // Nothing of the other tenant goes.
                let exists =
                    &*key.namespace == TENANT || &*key.namespace == NAMESPACE && names.contains(&*key.name);
                // Each retry looks at the pods, and remembers them for a while; it keeps the times of writes that fail, and that
                // a low rate of writes kept it from trying all of them.
                let is_retried = ["deferred", "sync_caches", "unfinished"].contains(table) && fails(key);
                let is_transient = TRANSIENT.contains(table) && !is_retried;
                if !exists || is_transient {
                    leaked.push(format!("r{} remembers {key} as {table}", replica.number()));
                }
            }
        }
    }
    leaked
}

/// True if some key is to be retried, which may be for ever.
pub fn is_failing(replicas: &[Replica]) -> bool {
    let states = replicas.iter().flat_map(Replica::controller_states);
    states.flat_map(|state| state.remembered()).any(|(table, _)| table == FAILING)
}
