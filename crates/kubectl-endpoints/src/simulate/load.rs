//! Brings the input onto the API server.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cli_runtime::input::object::{Object, Origin, key, text};
use cli_runtime::input::problem;
use cli_runtime::input::source::Source;
use serde_json::Value;

use super::added::{Added, MadePods};
use super::api::{Api, ApiError};
use super::catalog::stored;
use super::cluster::addresses::{Addresses, DualStack};
use super::cluster::kubelet::{self, Kubelets, Nodes, needs_status};
use super::cluster::replicas::own;
use super::cluster::workload::Workload;
use super::plan::{Step, plan};
use super::server::Server;
use super::skipped::listed;
use crate::exit::Failure;
use crate::objects::collection;
use crate::progress::Progress;
use crate::simulate::refusal::{self, Problem};

/// The most problems that are listed.
const MAX_PROBLEMS: usize = 20;

/// Starts an API server with these objects, and makes what they lack to have endpoints. Also returns lines about what was added and what was left out.
///
/// # Errors
/// The objects that the API server refuses.
pub(crate) async fn load(
    sources: &[Source],
    objects: Vec<Object>,
    namespace: &str,
    progress: &Progress,
) -> Result<(Server, Vec<String>), Failure> {
    let server = Server::new().map_err(Failure::Input)?;
    let api = Api::new(server.client());
    let plan = plan(objects, &stored(), namespace).map_err(|twice| Failure::Input(twice.line(sources)))?;
    let added = Added::to(&plan);
    let mut kubelets = Kubelets {
        nodes: Nodes::new(plan.of_kind("Node").map(|node| &node.tree).chain(&added.nodes)),
        addresses: Addresses::default(),
        dual_stack: DualStack::new(plan.of_kind("Service").map(|service| &service.tree)),
    };
    plan.of_kind("Pod").for_each(|pod| kubelets.addresses.take(&pod.tree));
    let notes = added.notes.clone();
    let (stored, manifests): (Vec<Step>, Vec<Step>) =
        plan.steps.into_iter().partition(|step| step.object.is_from_cluster());
    let mut loader = Loader { sources, api, kubelets, problems: BTreeMap::new(), notes };
    loader.store(&server, stored, progress);
    loader.add(added, manifests, progress).await;
    if loader.problems.is_empty() {
        return Ok((server, loader.notes));
    }
    Err(listed_problems(loader.problems.into_values().flatten().collect()))
}

/// The first problems, and the number of the others.
pub(super) fn listed_problems(mut problems: Vec<String>) -> Failure {
    let more = problems.len().saturating_sub(MAX_PROBLEMS);
    problems.truncate(MAX_PROBLEMS);
    if more > 0 {
        problems.push(format!("and {more} more"));
    }
    Failure::Inputs(problems)
}

/// Creates the objects that do not come from a cluster.
struct Loader<'a> {
    sources: &'a [Source],
    api: Api,
    kubelets: Kubelets,
    /// By source and document: in the order of the input, which is not that of the requests.
    problems: BTreeMap<(usize, usize), Vec<String>>,
    notes: Vec<String>,
}

impl Loader<'_> {
    /// Stores what comes from a cluster.
    fn store(&mut self, server: &Server, steps: Vec<Step>, progress: &Progress) {
        let count = counted(progress, "Stored", steps.len());
        for Step { object: Object { tree, origin }, .. } in steps {
            if let Err(error) = server.load(&tree) {
                for Problem { field, reason } in refusal::of_message(&error) {
                    self.add_problem(&origin, &field, &reason);
                }
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn add(&mut self, added: Added, manifests: Vec<Step>, progress: &Progress) {
        for (origin, field, reason) in &added.problems {
            self.add_problem(origin, field, reason);
        }
        for (plural, object) in added.implied() {
            self.add_implied(plural, &object).await;
        }
        let count = counted(progress, "Created", manifests.len());
        let mut started = Vec::new();
        let mut owners = HashMap::new();
        for Step { mut object, resource } in manifests {
            if object.kind() == "Node" {
                kubelet::start(&mut object.tree);
            }
            let path = collection(resource.api_version, resource.plural, object.namespace());
            if object.kind() == "Pod" {
                let (key, needs_status) = (key(&object.tree), needs_status(&object.tree));
                if self.add_pod(&path, object.tree, &object.origin, "").await && needs_status {
                    started.push(key);
                }
            } else {
                let created = self.api.create(&strict(&path), &object.tree).await;
                let exists =
                    matches!(&created, Err(ApiError::Refused(status)) if status.reason == "AlreadyExists");
                if let (Ok(tree), Some(kind)) = (&created, Workload::of(object.api_version(), object.kind()))
                {
                    owners.insert((kind, key(tree)), tree.clone());
                }
                // Every cluster has some namespaces.
                if !(exists && object.kind() == "Namespace") {
                    self.keep(&object.origin, "", created.map(drop));
                }
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
        if !started.is_empty() {
            let line = format!("Made ready pods of those without a status: {}", listed(&started));
            self.notes.push(line);
        }
        for MadePods { pods, origin, owner } in added.pods {
            let owner = owners.get(&owner);
            for mut pod in pods {
                if let Some(owner) = owner {
                    own(&mut pod, owner);
                }
                let path = collection("v1", "pods", text(&pod, &["metadata", "namespace"]));
                if !self.add_pod(&path, pod, &origin, "spec.template").await {
                    break;
                }
            }
        }
    }

    /// Records why an object was refused, and returns whether it was accepted.
    fn keep(&mut self, origin: &Origin, prefix: &str, outcome: Result<(), ApiError>) -> bool {
        let problems = match outcome {
            Ok(()) => return true,
            Err(ApiError::Refused(status)) => refusal::problems(&status),
            Err(ApiError::Broken(error)) => refusal::of_message(&error),
        };
        for Problem { field, reason } in problems {
            let joint = if prefix.is_empty() || field.is_empty() { "" } else { "." };
            self.add_problem(origin, &format!("{prefix}{joint}{field}"), &reason);
        }
        false
    }

    fn add_problem(&mut self, origin: &Origin, field: &str, reason: &str) {
        let line = problem::of_field(self.sources, origin, field, reason);
        self.problems.entry((origin.source, origin.document)).or_default().push(line);
    }

    /// Creates an object that the input implies. It may exist in every cluster.
    async fn add_implied(&mut self, plural: &str, object: &Value) {
        match self.api.create(&collection("v1", plural, ""), object).await {
            Err(ApiError::Refused(status)) if status.reason == "AlreadyExists" => {}
            Err(error) => {
                let line = format!("{plural} {}: {error}", text(object, &["metadata", "name"]));
                self.problems.entry((0, 0)).or_default().push(line);
            }
            Ok(_) => {}
        }
    }

    /// Creates a pod, on a node and ready unless the manifest has a status. Returns false if it was refused.
    async fn add_pod(&mut self, path: &str, mut pod: Value, origin: &Origin, prefix: &str) -> bool {
        let status =
            if needs_status(&pod) { Some(self.kubelets.start(&mut pod)) } else { pod.get("status").cloned() };
        let outcome = match self.api.create(&strict(path), &pod).await {
            Ok(mut created) => {
                let name = text(&created, &["metadata", "name"]).to_owned();
                if let (Some(fields), Some(status)) = (created.as_object_mut(), status) {
                    fields.insert("status".into(), status);
                }
                self.api.replace(&format!("{path}/{name}/status"), &created).await
            }
            Err(error) => Err(error),
        };
        self.keep(origin, prefix, outcome.map(drop))
    }
}

/// Begins a step of `total` objects, and returns its counter.
fn counted(progress: &Progress, verb: &'static str, total: usize) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    progress.step(move || format!("{verb} {} of {total} objects", counted.load(Ordering::Relaxed)));
    count
}

/// Refuses unknown fields, as kubectl asks for.
fn strict(path: &str) -> String {
    format!("{path}?fieldValidation=Strict")
}
