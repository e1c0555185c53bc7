//! `--diff`: what the controllers would change in the cluster of a dump, by a [dry run](crate::dry_run).

use cli_runtime::differences::Change;
use cli_runtime::input::object::Object;
use cli_runtime::input::source::Source;
use cli_runtime::input::{self, problem, source};

use super::added::Added;
use super::catalog::OF_ENDPOINTS;
use super::command::Simulation;
use super::explained::reports;
use super::load::listed_problems;
use super::plan::{Plan, plan};
use super::session::Outcome;
use super::{result, skipped};
use crate::dry_run::{DryRun, Planned};
use crate::exit::{Code, Failure};
use crate::progress::Progress;

/// Plans by the input, and shows the writes.
///
/// # Errors
/// The error in the input.
pub(super) async fn diff(simulation: &Simulation, progress: &Progress) -> Result<Outcome, Failure> {
    let sources =
        source::read(&simulation.flags.inputs, simulation.flags.recursive).map_err(Failure::Input)?;
    let objects = input::objects(&sources).map_err(Failure::Input)?;
    let namespace = simulation.flags.namespace.as_deref();
    let plan = plan(objects, OF_ENDPOINTS, namespace.unwrap_or("default"))
        .map_err(|twice| Failure::Input(twice.line(&sources)))?;
    refuse_manifests(&plan, &sources)?;
    let added = Added::to(&plan);
    let mut notes = added.notes;
    if !["EndpointSlice", "Endpoints"].iter().any(|kind| plan.of_kind(kind).next().is_some()) {
        notes.push("The input holds no EndpointSlices and no Endpoints: all of them are new".to_owned());
    }
    let mut dry_run = DryRun::new(&simulation.config);
    let mut problems = Vec::new();
    for Object { tree, origin } in plan.steps.iter().map(|step| &step.object) {
        if let Err(reason) = dry_run.add(tree) {
            problems.push(problem::of_field(&sources, origin, "", &reason));
        }
    }
    if !problems.is_empty() {
        return Err(listed_problems(problems));
    }
    for node in &added.nodes {
        dry_run.add(node).map_err(Failure::Input)?;
    }
    notes.extend(without_endpoints(plan, simulation));
    progress.step(|| "Planning".to_owned());
    let Planned { mut changes, mut failing } =
        dry_run.plan(&simulation.config).await.map_err(Failure::Input)?;
    let is_shown = |of: &str| namespace.is_none_or(|namespace| of == namespace);
    changes.retain(|change| is_shown(&change.namespace));
    failing.retain(|(key, _)| is_shown(&key.namespace));
    notes.extend(failing.iter().map(|(_, line)| format!("Error: {line}")));
    notes.push(result::count(&changes));
    let text = result::changes(&changes, simulation.flags.output);
    Ok(Outcome { text, notes, code: code(&changes, failing.is_empty()) })
}

fn code(changes: &[Change], is_settled: bool) -> Code {
    match (is_settled, changes.is_empty()) {
        (false, _) => Code::Incomplete,
        (true, false) => Code::Wrong,
        (true, true) => Code::Done,
    }
}

/// Fails for objects that no API server has completed: they have no uid.
fn refuse_manifests(plan: &Plan, sources: &[Source]) -> Result<(), Failure> {
    let stored = plan.steps.iter().map(|step| &step.object);
    let workloads = plan.workloads.iter().map(|(_, object)| object);
    let manifests = stored.chain(workloads).filter(|object| !object.is_from_cluster());
    let line = |object: &Object| {
        let reason = "--diff reads dumps of a cluster, and this object is from none: it has no metadata.uid";
        problem::of_field(sources, &object.origin, "", reason)
    };
    let problems: Vec<String> = manifests.map(line).collect();
    if problems.is_empty() { Ok(()) } else { Err(listed_problems(problems)) }
}

/// Lines about what has no endpoints.
fn without_endpoints(plan: Plan, simulation: &Simulation) -> Vec<String> {
    let trees = plan.steps.into_iter().map(|step| step.object.tree);
    skipped::lines(&reports(trees, &simulation.config))
}
