//! Random clusters that upstream settled: the states of a trace between its operations, for checks of programs that only
//! read.
//!
//! A trace of [`random_operations`] runs under kube-controller-manager on a real API server. Every few operations, when
//! upstream has handled all of them, the objects are dumped and checked. A check that fails is repeated while upstream may
//! be about to write: it retries after back-off, and sometimes needs help (see the table of [`random`](crate::random)).

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use kube::Api;
use kube::api::DeleteParams;
use random_operations::{Generator, NAMESPACE, Step};
use serde_json::Value;

use crate::cluster::User;
use crate::manager::{Kind, ManagerOptions};
use crate::parity::Run;
use crate::random::{Help, PATIENCE, TOPOLOGY, apply, touch, unless_missing};
use crate::simulate;

use k8s_openapi::api::discovery::v1::EndpointSlice;

/// A trace, and the states of it to look at.
#[derive(Debug, Clone)]
pub struct Trace {
    /// Names the trace.
    pub seed: u64,
    /// The number of states.
    pub states: usize,
    /// Operations before each state.
    pub every: usize,
}

/// One settled state.
#[derive(Debug)]
pub struct State {
    /// The trace.
    pub seed: u64,
    /// The number of operations so far.
    pub operations: usize,
    /// The last one, and what upstream leaves to chance after it.
    pub step: Step,
    /// `--max-endpoints-per-slice`, and the maximum of mirrored addresses.
    pub max: usize,
    /// The objects, as `kubectl get -A -o json` prints them, without those of the barrier.
    pub items: Vec<Value>,
    /// The API server as its administrator, for programs that read it.
    pub kubeconfig: PathBuf,
}

impl State {
    /// The objects of a kind, in all namespaces.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.items.iter().filter(move |item| item["kind"] == kind)
    }

    /// The objects of the trace's namespace, for the oracle.
    pub fn expected(&self) -> expected_objects::Objects {
        let of = |kind: &str| {
            let named = self.of_kind(kind).filter(|item| {
                let namespace = item["metadata"].get("namespace").and_then(Value::as_str);
                namespace.is_none_or(|namespace| namespace == NAMESPACE)
            });
            named
                .map(|item| {
                    (item["metadata"]["name"].as_str().unwrap_or_default().to_owned(), Arc::new(item.clone()))
                })
                .collect()
        };
        expected_objects::Objects {
            services: of("Service"),
            pods: of("Pod"),
            nodes: of("Node"),
            endpoints: of("Endpoints"),
            slices: of("EndpointSlice"),
            gate: false,
        }
    }
}

/// Runs a trace under upstream, and checks its states. `check` returns what is wrong with one.
///
/// Returns the number of checks that had to be repeated.
///
/// # Panics
/// If a state stays wrong.
pub async fn settle(trace: &Trace, mut check: impl FnMut(&State) -> Vec<String>) -> usize {
    // Odd seeds have slices so small that Services need several of them.
    let max = if trace.seed.is_multiple_of(2) { 100 } else { 5 };
    let options = ManagerOptions {
        max_endpoints_per_slice: max,
        max_endpoints_per_subset: max,
        ..ManagerOptions::of(crate::manager::Controller::ALL)
    };
    let run = Box::pin(Run::start_as(Kind::Upstream, options)).await;
    let mut generator = Generator::new(trace.seed, TOPOLOGY, true, true);
    let mut repeated = 0;
    for number in 0..trace.states * trace.every {
        let step = generator.step();
        apply(&run.world, number, &step, true).await;
        if (number + 1).is_multiple_of(trace.every) {
            let state = State {
                seed: trace.seed,
                operations: number + 1,
                step,
                max: usize::try_from(max).unwrap(),
                items: Vec::new(),
                kubeconfig: run.cluster.kubeconfig(User::Admin),
            };
            repeated += checked(&run, state, &mut check).await;
        }
    }
    repeated
}

/// Checks one state until it is right. Returns the number of repetitions.
async fn checked(run: &Run, mut state: State, check: &mut impl FnMut(&State) -> Vec<String>) -> usize {
    let mut help = Help::new();
    for repetition in 0.. {
        state.items = collected(run).await;
        let wrong = check(&state);
        if wrong.is_empty() {
            return repetition;
        }
        assert!(
            help.elapsed() < PATIENCE,
            "seed {}, after {} operations:\n{}\nthe last: {}",
            state.seed,
            state.operations,
            wrong.join("\n"),
            state.step
        );
        if help.is_due() {
            help.give(&run.world, |service| wrong.iter().any(|line| line.contains(service))).await;
            touch(&run.world, &format!("{} again {repetition}", state.operations), &state.step).await;
        }
        run.world.settle().await;
    }
    0
}

/// The objects without those that the garbage collector deletes, which does not run.
async fn collected(run: &Run) -> Vec<Value> {
    loop {
        let mut dump = simulate::dump(run.world.client()).await;
        let items = dump["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        let uids: BTreeSet<&str> = items.iter().filter_map(|item| item["metadata"]["uid"].as_str()).collect();
        let garbage = items.iter().filter(|item| {
            let owner = item["metadata"]["ownerReferences"][0]["uid"].as_str();
            item["kind"] == "EndpointSlice" && owner.is_some_and(|owner| !uids.contains(owner))
        });
        let names = |item: &Value| {
            ["namespace", "name"].map(|key| item["metadata"][key].as_str().unwrap().to_owned())
        };
        let garbage: Vec<[String; 2]> = garbage.map(names).collect();
        if garbage.is_empty() {
            return items;
        }
        for [namespace, name] in garbage {
            let slices: Api<EndpointSlice> = Api::namespaced(run.world.client().clone(), &namespace);
            // Upstream may be about to delete it.
            let deleted = slices.delete(&name, &DeleteParams::default()).await.map(drop);
            unless_missing(deleted).expect("deleting a slice");
        }
        run.world.settle().await;
    }
}
