//! Random load on a cluster with upstream alone, and on one with both.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use random_operations::Generator;
use tokio::time::{Instant, sleep_until};

use super::alternation::alternations;
use super::steady::{self, Published};
use super::{Written, all_counted, by_program, yielding};
use crate::barrier;
use crate::cluster::{Cluster, ClusterOptions};
use crate::manager::{Controller, Manager, ManagerOptions};
use crate::random::apply;
use crate::scenario::World;
use crate::simulate;
use crate::wait::{self, LIMIT};

/// The load.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Names the operations.
    pub seed: u64,
    /// Their number.
    pub operations: u32,
    /// The least time from one to the next, which comes when the last one has been handled.
    pub pause: Duration,
    /// The feature gate of ours.
    pub yields: bool,
}

/// What was seen on one cluster.
#[derive(Debug)]
pub struct Outcome {
    /// Writes by program.
    pub written: BTreeMap<String, Written>,
    /// Writes that undid one of the other program.
    pub alternations: Vec<String>,
    /// Pods that are ready all the time, and were not published at some moment.
    pub missing: Vec<String>,
    /// The number of watch events that were looked at for that.
    pub events: usize,
}

impl Outcome {
    /// The accepted writes of all programs.
    pub fn accepted(&self) -> usize {
        self.written.values().map(|written| written.accepted).sum()
    }

    /// The refused writes of all programs.
    pub fn refused(&self) -> usize {
        self.written.values().map(|written| written.refused).sum()
    }
}

/// Runs the same load under upstream alone and under both, at the same time.
///
/// # Panics
/// If the objects are not right at the end.
pub async fn run(load: Load) -> [Outcome; 2] {
    let (alone, both) = tokio::join!(Box::pin(run_under(load, false)), Box::pin(run_under(load, true)));
    [alone, both]
}

async fn run_under(load: Load, both: bool) -> Outcome {
    let cluster = Cluster::start(ClusterOptions { audit_responses: true, ..ClusterOptions::default() }).await;
    let world = World::prepare(cluster.client(), Controller::ALL).await;
    let begin = cluster.audit().mark();
    let options = ManagerOptions::of(Controller::ALL);
    let _upstream = Manager::upstream(&cluster, &options);
    let ours = if load.yields { yielding(&options) } else { options.clone() };
    let ours = if both { Some(Manager::ours(&cluster, &ours).await) } else { None };
    steady::prepare(&world).await;
    let published = Published::follow(&world);
    published.until("steady pods", LIMIT, Published::is_complete, |published| format!("{published:?}")).await;
    world.sync().await;

    let mark = cluster.audit().mark();
    let (mut generator, mut rng) = (Generator::new(load.seed, false, true, true), Rng::with_seed(load.seed));
    let start = Instant::now();
    for number in 0..load.operations {
        apply(&world, number as usize, &generator.step(), false).await;
        steady::change(&world, &mut rng).await;
        // A slow machine takes longer than the pause, and would make one cluster merge more changes than the other.
        tokio::join!(sleep_until(start + load.pause * (number + 1)), world.sync());
    }
    if both {
        // Upstream gets stuck on some Services; what it leaves is written after a minute at most.
        wait::until("all objects to be right", 2 * LIMIT, || async {
            let mut changes = simulate::changes(&simulate::dump(world.client()).await, &[]);
            // Custom Endpoints of a deleted Service, which either program deletes when it starts.
            changes.retain(|change| !change.summary.starts_with("delete Endpoints"));
            if changes.is_empty() { Ok(()) } else { Err(format!("{changes:#?}")) }
        })
        .await;
    } else {
        world.sync().await;
    }
    if let Some(ours) = ours.as_ref().filter(|_| load.yields) {
        // Users change Endpoints here too, and upstream updates some without a change.
        let slices = &[Controller::EndpointSlice, Controller::EndpointSliceMirroring];
        all_counted(ours, &cluster, begin, slices).await;
    }
    let mut requests = cluster.audit().since(mark);
    requests.retain(|request| request.namespace != barrier::NAMESPACE);
    let (missing, events) = published.with(|published| (published.missing().to_vec(), published.events()));
    Outcome { written: by_program(&requests), alternations: alternations(&requests), missing, events }
}
