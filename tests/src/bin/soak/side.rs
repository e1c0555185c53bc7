//! One cluster with its replicas: operations, faults, the oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use expected_objects::Objects;
use futures::future::join_all;
use http::Method;
use random_operations::requests::{Request, path};
use random_operations::{NAMESPACE, Step};
use serde_json::{Value, json};
use tests::audit::Mark;
use tests::cluster::{Cluster, ClusterOptions};
use tests::manager::{Controller, Kind, ManagerOptions};
use tests::policies;
use tests::random::operation;
use tests::scenario::World;
use tests::wait::LIMIT;
use tokio::time::sleep;

use crate::access::{Access, PAUSE, is_refusal};
use crate::fault::Action;
use crate::neighbour;
use crate::options::Options;
use crate::replica::Replica;

/// The time between two looks at the objects.
const STEP: Duration = Duration::from_secs(1);
/// The least age of a backup that is restored: longer than the five minutes for which `endpoint-informers` remembers versions, and
/// than any fault.
const BACKUP_AGE: Duration = Duration::from_secs(330);
/// The time without a write after which a cluster is at rest.
const QUIET: Duration = Duration::from_secs(6);

/// A cluster under one of the two programs.
pub(crate) struct Side {
    pub(crate) kind: Kind,
    // Fields drop in this order: programs before the servers they use.
    pub(crate) replicas: Vec<Replica>,
    world: World,
    access: Access,
    cluster: Cluster,
    manager: ManagerOptions,
    /// Names of objects that other clients have changed.
    pub(crate) tampered: BTreeSet<String>,
    /// True while the controllers' user has no roles.
    withdrawn: bool,
    /// The value of `withdrawn` at the last backup, if there is one, and the time of that backup.
    backup: Option<(bool, Instant)>,
    /// Backups that were restored.
    pub(crate) restores: usize,
    /// Answers that were taken for a restored backup's before the first restore.
    false_before: usize,
    /// Operations that the API server refused, because an object was gone.
    pub(crate) refused: usize,
}

/// The state of a cluster some time after the last fault.
pub(crate) struct Verdict {
    /// Wrong objects, with the lines that differ.
    pub(crate) wrong: BTreeMap<String, Vec<String>>,
    /// Rules about slices that are broken.
    pub(crate) rules: Vec<String>,
    /// The time until the objects were right and nothing was written any more; none if it was longer than the bound.
    pub(crate) recovery: Option<Duration>,
}

impl Verdict {
    pub(crate) fn is_right(&self) -> bool {
        self.wrong.is_empty() && self.rules.is_empty()
    }
}

impl Side {
    /// A fresh cluster, and replicas of a program that start now.
    pub(crate) async fn start(kind: Kind, options: &Options) -> Self {
        // Watches end, connections are drained, and old versions are compacted soon, as on a busy API server.
        let flags = ["--min-request-timeout=60", "--goaway-chance=0.01", "--etcd-compaction-interval=30s"];
        let apiserver_flags = flags.map(ToOwned::to_owned).to_vec();
        let cluster =
            Box::pin(Cluster::start(ClusterOptions { apiserver_flags, ..ClusterOptions::default() }));
        let cluster = cluster.await;
        cluster.allow_election().await;
        let world = Box::pin(World::prepare(cluster.client(), Controller::ALL)).await;
        let manager = options.manager();
        let mut replicas = Vec::new();
        for _ in 0..options.replicas {
            replicas.push(Replica::new(kind, &cluster, &manager).await);
        }
        let access = Access(cluster.client());
        let (tampered, withdrawn, backup, restores, false_before, refused) = Default::default();
        let mut side = Self {
            kind,
            replicas,
            world,
            access,
            cluster,
            manager,
            tampered,
            withdrawn,
            backup,
            restores,
            false_before,
            refused,
        };
        neighbour::move_in(&side.access).await;
        side.supervise();
        side
    }

    /// Starts processes that have ended. Called all the time.
    pub(crate) fn supervise(&mut self) {
        for replica in &mut self.replicas {
            replica.supervise(&self.cluster);
        }
    }

    /// Applies an operation, and makes the controllers sync the Services that must be touched after it.
    pub(crate) async fn operate(&mut self, number: usize, step: &Step) {
        let start = Instant::now();
        while let Err(error) = operation(&self.world, &step.operation).await {
            if is_refusal(&error) {
                self.refused += 1;
                break;
            }
            assert!(start.elapsed() < LIMIT, "{step}: {error}");
            sleep(PAUSE).await;
        }
        if step.touch {
            self.touch(&step.synced, number).await;
        }
    }

    async fn touch(&self, services: &[String], mark: usize) {
        let change = json!({"metadata": {"annotations": {"touched": mark.to_string()}}});
        let (change, services) =
            (&change, services.iter().map(|name| format!("{}/{name}", path("services"))));
        join_all(services.map(async |path| self.access.send(&Method::PATCH, &path, change).await)).await;
    }

    /// Makes the controllers sync all Services.
    pub(crate) async fn touch_all(&self, mark: usize) {
        let services: Vec<String> = self.access.read().await.services.into_keys().collect();
        self.touch(&services, mark).await;
    }

    /// Does what an entry of a timeline says.
    pub(crate) async fn apply(&mut self, action: Action) {
        match action {
            Action::RestartServer(down) => {
                self.cluster.stop_apiserver();
                sleep(down).await;
                Box::pin(self.cluster.start_apiserver()).await;
            }
            Action::FreezeServer(time) => {
                self.cluster.freeze_apiserver().await;
                sleep(time).await;
                self.cluster.thaw_apiserver();
            }
            Action::BackUp if self.backup.is_none() => {
                Box::pin(self.cluster.back_up()).await;
                self.backup = Some((self.withdrawn, Instant::now()));
            }
            // One backup is for one restore, once it is old enough.
            Action::Restore => {
                let old = self.backup.take_if(|(_, at)| at.elapsed() > BACKUP_AGE);
                let Some((withdrawn, _)) = old else { return };
                self.false_before = self.false_restores();
                Box::pin(self.cluster.restore()).await;
                (self.withdrawn, self.restores) = (withdrawn, self.restores + 1);
            }
            Action::Withdraw if !self.withdrawn => {
                self.cluster.withdraw_roles(self.manager.user).await;
                self.withdrawn = true;
            }
            Action::Grant if self.withdrawn => {
                self.cluster.grant_roles(self.manager.user).await;
                self.withdrawn = false;
            }
            Action::Withdraw | Action::Grant | Action::BackUp => {}
            Action::Policy(present) => {
                // The one before may be there still, or gone.
                let requests = if present { policies::create() } else { policies::delete() };
                for Request { method, path, body } in requests {
                    self.access.send(&method, &path, &body).await;
                }
            }
            Action::CreateLease => self.cluster.create_lease().await,
            Action::Interfere(fault, pick) => {
                self.tampered.extend(neighbour::interfere(&self.access, fault, pick).await);
            }
            Action::Cut(replica, _)
            | Action::Stall(replica, _)
            | Action::Swallow(replica)
            | Action::Forward(replica)
            | Action::Idle(replica, _)
            | Action::Signal(replica, _) => self.replicas[replica].apply(action),
        }
    }

    /// Deletes slices whose owner is gone, as the garbage collector does, which does not run.
    pub(crate) async fn collect_garbage(&self) {
        self.collect_slices(&self.access.read().await).await;
    }

    async fn collect_slices(&self, objects: &Objects) -> usize {
        let mut collected = 0;
        for (name, slice) in &objects.slices {
            let owner = slice["metadata"]["ownerReferences"][0]["uid"].as_str();
            if owner.is_some_and(|owner| !objects.owners().any(|uid| uid == owner)) {
                self.access
                    .send(&Method::DELETE, &format!("{}/{name}", path("endpointslices")), &Value::Null)
                    .await;
                collected += 1;
            }
        }
        collected
    }

    /// Deletes pods whose node is gone, as the collector of pods does: a controller need not look at a Service again
    /// because a node went.
    async fn collect_pods(&self, objects: &Objects) -> usize {
        let mut collected = 0;
        for pod in objects.pods_of_lost_nodes() {
            let path = format!("{}/{pod}", path("pods"));
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
            self.access.send(&Method::DELETE, &path, &options).await;
            self.access.send(&Method::PATCH, &path, &json!({"metadata": {"finalizers": null}})).await;
            collected += 1;
        }
        collected
    }

    /// Waits until the objects are right and nothing is written any more, up to a bound.
    pub(crate) async fn settle(&mut self, bound: Duration) -> Verdict {
        let max = usize::try_from(self.manager.max_endpoints_per_slice).expect("a small number");
        let start = Instant::now();
        let (mut versions, mut changed, mut right) = (Vec::new(), start, None);
        loop {
            self.supervise();
            let objects = self.access.read().await;
            let collected = self.collect_pods(&objects).await + self.collect_slices(&objects).await;
            let now = written(&objects);
            if versions != now || collected > 0 {
                (versions, changed) = (now, Instant::now());
            }
            let mut rules = objects.broken_rules(max, &self.tampered);
            rules.extend(objects.evicted());
            let mut verdict = Verdict { wrong: objects.wrong_objects(), rules, recovery: None };
            right = if verdict.is_right() { right.or(Some(Instant::now())) } else { None };
            if let Some(since) = right.filter(|_| changed.elapsed() >= QUIET) {
                verdict.recovery = Some(since.max(changed) - start);
                return verdict;
            }
            if start.elapsed() > bound + QUIET {
                return verdict;
            }
            sleep(STEP).await;
        }
    }

    /// A position in the log of requests.
    pub(crate) fn mark(&self) -> Mark {
        self.cluster.audit().mark()
    }

    /// The writes of the workload's Endpoints and slices since then, and those that were refused.
    pub(crate) fn writes(&self, mark: Mark) -> [usize; 2] {
        let mut writes = self.cluster.audit().writes_since(mark, self.manager.user);
        writes.retain(|write| {
            write.namespace == NAMESPACE && matches!(write.resource.as_str(), "endpoints" | "endpointslices")
        });
        [writes.len(), writes.iter().filter(|write| write.code >= 300).count()]
    }

    /// The number of times that a replica took an answer for that of a restored backup, before the first restore.
    pub(crate) fn false_restores(&self) -> usize {
        if self.restores > 0 {
            return self.false_before;
        }
        self.log().matches("resourceVersion went back").count()
    }

    /// The log of the replicas.
    pub(crate) fn log(&self) -> String {
        let name = match self.kind {
            Kind::Upstream => "kube-controller-manager.log",
            Kind::Ours => "endpoint-controller-manager.log",
        };
        std::fs::read_to_string(self.cluster.folder().join(name)).unwrap_or_default()
    }
}

/// The versions of the controllers' objects.
fn written(objects: &Objects) -> Vec<(String, String)> {
    let all = objects.endpoints.iter().chain(&objects.slices);
    all.map(|(name, object)| (name.clone(), object["metadata"]["resourceVersion"].to_string())).collect()
}
