//! Runs a trace under upstream and under ours at the same time, step by step, and compares after every barrier.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Instant;

use k8s_openapi::api::core::v1::{Endpoints, Service};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};
use random_operations::Step;

use super::apply::{apply, touch, unless_missing};
use super::disturbance::Disturbance;
use super::help::{Help, PATIENCE};
use super::options::Options;
use super::report::Report;
use super::view::{Pair, View};
use crate::audit::{Mark, Request};
use crate::canonical::{Detail, MANAGED_BY, MIRRORED, Snapshot};
use crate::manager::{Controller, Kind, ManagerOptions};
use crate::parity::{Run, Writes, Written, service_of};
use crate::policies;
use crate::release::Release;
use crate::scenario::NAMESPACE;
use crate::simulate;

/// Both clusters and their common state.
struct Race<'a> {
    options: &'a Options,
    upstream: Run,
    ours: Run,
    before: Pair,
    report: Report,
    /// Steps in which ours wrote more than upstream.
    excess: String,
}

/// Runs a trace.
///
/// # Panics
/// If anything differs that upstream determines, or ours wrote more, or a take-over wrote at all. The message has the
/// seed, the number of the operation, the difference, and the command to run it again.
pub async fn run(options: &Options) -> Report {
    let start = Instant::now();
    let managers = |flags| ManagerOptions {
        flags,
        max_endpoints_per_slice: options.max(),
        max_endpoints_per_subset: options.max(),
        ..ManagerOptions::of(options.controllers)
    };
    let (upstream, ours) = tokio::join!(
        Box::pin(Run::start_as(Kind::Upstream, managers(Vec::new()))),
        Box::pin(Run::start_as(options.candidate, managers(options.own_flags()))),
    );
    if options.policy() && Release::of(upstream.world.client()).await.has_mutating_policies() {
        tokio::join!(policies::enforce(&upstream.world), policies::enforce(&ours.world));
    }
    let mut race = Race {
        options,
        upstream,
        ours,
        before: Pair::default(),
        report: Report::default(),
        excess: String::new(),
    };
    let steps = options.trace();
    race.steps(&steps).await;
    race.report.final_groups = race.before.groups_in_total();
    let Race { upstream, ours, mut report, excess, .. } = race;
    let (seed, again) = (options.seed, options.command());
    let rewritten = match steps.last() {
        Some(last) if options.topology => rewritten(&upstream, last).await,
        _ => BTreeSet::new(),
    };
    let restores = restores(&ours);
    assert_eq!(restores, 0, "seed {seed}: ours took answers for those of a restored backup\nAgain: {again}");
    assert!(excess.is_empty(), "seed {seed}: ours wrote more than upstream\n{excess}\nAgain: {again}");
    tokio::join!(remove_leftovers(&upstream), remove_leftovers(&ours));
    let flags = [
        format!("--max-endpoints-per-slice={}", options.max()),
        format!("--mirroring-max-endpoints-per-subset={}", options.max()),
        format!("--controllers={}", Controller::list(options.controllers)),
    ];
    let mut predicted = simulate::changes(&simulate::dump(upstream.world.client()).await, &flags);
    let synced = steps.last().map(|step| step.synced.clone()).unwrap_or_default();
    predicted.retain(|change| {
        !rewritten.contains(&change.service) && (!options.policy() || synced.contains(&change.service))
    });
    let predicted: Vec<String> = predicted.iter().map(ToString::to_string).collect();
    let differences = predicted.join("\n");
    assert!(predicted.is_empty(), "seed {seed}: simulate --diff finds\n{differences}\nAgain: {again}");
    let (by_ours, by_upstream) = tokio::join!(
        Box::pin(upstream.hand_over(options.candidate)),
        Box::pin(ours.hand_over(Kind::Upstream))
    );
    let [mut by_ours, mut by_upstream] = [of_endpoints(&by_ours), of_endpoints(&by_upstream)];
    by_ours.retain(|write| !rewritten.contains(service_of(write)));
    for writes in [&mut by_ours, &mut by_upstream] {
        writes.retain(|write| !options.policy() || !is_mirrored(write));
    }
    if let Some(Step { chance, .. }) = steps.last() {
        by_upstream.retain(|write| match write.resource.as_str() {
            "endpointslices" if !is_mirrored(write) => !chance.hints.contains(service_of(write)),
            _ => !chance.reserved.contains(service_of(write)),
        });
    }
    for (who, writes) in [("ours after upstream", by_ours), ("upstream after ours", by_upstream)] {
        assert!(writes.is_empty(), "seed {seed}: {who} wrote:\n{}\nAgain: {again}", texts(&writes));
    }
    report.elapsed = start.elapsed();
    report
}

impl Race<'_> {
    /// Barriers besides the regular ones. The slices that a Service leaves behind when they are no longer kept up to
    /// date depend on earlier writes; and upstream gets stuck on a Service that is created again before it noticed the
    /// deletion.
    fn is_barrier(&self, steps: &[Step], number: usize, open: usize) -> bool {
        let step = &steps[number];
        let leaves_slices = |step: &Step| {
            matches!(step.operation.kind(), "delete Service" | "Service type" | "Service selector")
        };
        open >= self.options.overlap
            || step.touch
            || leaves_slices(step)
            || steps.get(number + 1).is_none_or(leaves_slices)
    }

    async fn steps(&mut self, steps: &[Step]) {
        let mut open = 0;
        for (number, step) in steps.iter().enumerate() {
            open += 1;
            self.step(steps, number, step, open).await;
            if self.is_barrier(steps, number, open) {
                open = 0;
            }
        }
    }

    async fn step(&mut self, steps: &[Step], number: usize, step: &Step, open: usize) {
        let wait = self.is_barrier(steps, number, open);
        let marks = [self.upstream.audit().mark(), self.ours.audit().mark()];
        tokio::join!(
            apply(&self.upstream.world, number, step, wait),
            apply(&self.ours.world, number, step, wait),
        );
        if wait {
            let after = self.compare(steps, number, step, marks).await;
            // The slices may be equal before the last write of one of them is in the audit log.
            tokio::join!(self.upstream.world.workers_rest(), self.ours.world.workers_rest());
            let packed = after.packed_groups();
            self.report.packed.0 += packed.0;
            self.report.packed.1 += packed.1;
            let requests = [self.upstream.writes_since(marks[0]), self.ours.writes_since(marks[1])];
            self.count(&requests, &after, number, step);
            self.before = after;
            if self.options.overlap == 1
                && let Some(disturbance) = Disturbance::after(self.options.seed, number, step)
            {
                self.disturb(&disturbance, number, step).await;
            }
        } else {
            let requests = [self.upstream.writes_since(marks[0]), self.ours.writes_since(marks[1])];
            self.add(&requests.map(|requests| Writes::count(&requests)), false);
        }
    }

    /// Lets another client act on both sides. Both have the same endpoints as before in the end.
    async fn disturb(&mut self, disturbance: &Disturbance, number: usize, step: &Step) {
        let start = Instant::now();
        tokio::join!(disturbance.apply(&self.upstream.world), disturbance.apply(&self.ours.world));
        loop {
            tokio::join!(self.upstream.world.settle(), self.ours.world.settle());
            let (upstream, ours) = tokio::join!(self.view(&self.upstream, step), self.view(&self.ours, step));
            let after = Pair { upstream, ours };
            let lost = after.changed_endpoints(&self.before);
            if lost.is_empty() {
                self.before = after;
                return;
            }
            let again = Options { operations: number + 1, ..self.options.clone() };
            assert!(
                start.elapsed() < PATIENCE,
                "seed {}: after operation {number}, {disturbance}, and differ (- before, + after):\n{lost}\nAgain: {}",
                self.options.seed,
                again.command(),
            );
            self.report.late += 1;
        }
    }

    /// The slices of both sides, once they are as equal as required.
    async fn compare(&mut self, steps: &[Step], number: usize, step: &Step, marks: [Mark; 2]) -> Pair {
        let mut help = Help::new();
        loop {
            let (upstream, ours) = tokio::join!(self.view(&self.upstream, step), self.view(&self.ours, step));
            let after = Pair { upstream, ours };
            let differences = if self.options.overlap == 1 {
                after.differences(&self.before)
            } else {
                after.endpoint_differences()
            };
            if differences.is_empty() {
                return after;
            }
            assert!(help.elapsed() < PATIENCE, "{}", self.failure(steps, number, &differences, marks));
            self.report.late += 1;
            if self.options.overlap > 1 {
                // Upstream may take its cache for stale, with a long back-off. Ours must converge without this.
                touch(&self.upstream.world, &format!("{number} again {}", self.report.late), step).await;
            }
            if help.is_due() {
                let mirrored = differing(&differences);
                help.give(&self.upstream.world, |service| mirrored.contains(service)).await;
            }
            tokio::join!(self.upstream.world.settle(), self.ours.world.settle());
        }
    }

    fn failure(&self, steps: &[Step], number: usize, differences: &str, marks: [Mark; 2]) -> String {
        let again = Options { operations: number + 1, ..self.options.clone() };
        let [upstream, ours] = [(&self.upstream, marks[0]), (&self.ours, marks[1])]
            .map(|(run, mark)| texts(&of_endpoints(&run.writes_since(mark))));
        format!(
            "what happened to these objects and to nodes before:\n{}\n\
             written by upstream since operation {number}:\n{upstream}by ours:\n{ours}\
             seed {}: the slices differ (- upstream, + ours) after operation {number}, {}\n\n{differences}\n\
             Again: {}",
            history(&steps[..number], differences),
            self.options.seed,
            steps[number],
            again.command(),
        )
    }

    async fn view(&self, run: &Run, step: &Step) -> View {
        let snapshot = Snapshot::take(run.world.client(), NAMESPACE).await;
        let violations = snapshot.violations(usize::try_from(self.options.max()).unwrap());
        View::new(&snapshot.canonical(Detail::Exact), &step.chance, violations)
    }

    fn count(&mut self, requests: &[Vec<Request>; 2], after: &Pair, number: usize, step: &Step) {
        let writes: [BTreeMap<Written, Writes>; 2] =
            [Writes::by_service(&requests[0]), Writes::by_service(&requests[1])];
        let all: BTreeSet<&Written> = writes.iter().flat_map(BTreeMap::keys).collect();
        for written in all {
            let of = |side: usize| writes[side].get(written).copied().unwrap_or_default();
            let (upstream, ours) = (of(0), of(1));
            let (resource, service) = written;
            let is_rewritten = self.options.policy() && resource == "endpointslices";
            let determined = self.options.overlap == 1
                && (!is_rewritten || step.synced.contains(service))
                && if resource == "endpoints" {
                    // One object, which upstream does not choose. Before 1.37 the API server deletes it with the Service; a
                    // controller that sees its deletion before the Service's creates it once more.
                    step.operation.kind() != "delete Service" || step.operation.name() != service
                } else {
                    self.before.determines_writes(after, service)
                };
            self.add(&[upstream, ours], determined);
            let excess = match self.options.candidate {
                Kind::Ours => ours.total() > upstream.total(),
                // Some attempts of upstream fail.
                Kind::Upstream => ours.total() - ours.failed > upstream.total() - upstream.failed,
            };
            if determined && excess {
                let of_service = |requests: &[Request]| {
                    let mut requests = of_endpoints(requests);
                    requests
                        .retain(|request| service_of(request) == service && request.resource == *resource);
                    texts(&requests)
                };
                writeln!(
                    self.excess,
                    "operation {number}, {step}\n  {resource} of {service}: upstream {upstream}, ours {ours}\n  upstream:\n{}  ours:\n{}",
                    of_service(&requests[0]),
                    of_service(&requests[1]),
                )
                .unwrap();
            }
        }
    }

    fn add(&mut self, writes: &[Writes; 2], determined: bool) {
        let sums = if determined { &mut self.report.determined } else { &mut self.report.undetermined };
        for (sum, writes) in sums.iter_mut().zip(writes) {
            *sum = *sum + *writes;
        }
    }
}

/// The number of times that ours took an answer for that of a restored backup. None is restored here.
fn restores(ours: &Run) -> usize {
    let log = std::fs::read_to_string(ours.cluster.folder().join("endpoint-controller-manager.log"));
    log.unwrap_or_default().matches("resourceVersion went back").count()
}

fn of_endpoints(requests: &[Request]) -> Vec<&Request> {
    requests.iter().filter(|request| request.is_of_endpoints()).collect()
}

fn is_mirrored(request: &Request) -> bool {
    let labels = request.body.as_ref().and_then(|body| body.pointer("/metadata/labels"));
    labels.and_then(|labels| labels.get(MANAGED_BY)).is_some_and(|by| by == MIRRORED)
}

fn texts(requests: &[&Request]) -> String {
    requests.iter().fold(String::new(), |text, request| {
        let line: String = request.to_string().chars().take(600).collect();
        text + "    " + &line + "\n"
    })
}

/// The Services whose mirrored slices a text of differences names.
fn differing(differences: &str) -> BTreeSet<&str> {
    let lines = differences.lines().filter_map(|line| line.split_once(" × "));
    let mirrored = lines.map(|(_, line)| line).filter(|line| line.contains(" mirrored "));
    mirrored.filter_map(|line| line.split_once(' ')).map(|(service, _)| service).collect()
}

/// Removes the Endpoints of deleted Services, as each Endpoints controller does when it starts.
async fn remove_leftovers(run: &Run) {
    let endpoints: Api<Endpoints> = Api::namespaced(run.world.client().clone(), NAMESPACE);
    let services: Api<Service> = Api::namespaced(run.world.client().clone(), NAMESPACE);
    let all = ListParams::default();
    let services = services.list(&all).await.expect("listing Services").items;
    let known: BTreeSet<String> = services.iter().map(ResourceExt::name_any).collect();
    for left in endpoints.list(&all).await.expect("listing Endpoints") {
        if !known.contains(&left.name_any()) {
            let deleted = endpoints.delete(&left.name_any(), &DeleteParams::default()).await.map(drop);
            unless_missing(deleted).expect("deleting Endpoints");
        }
    }
    run.world.settle().await;
}

/// The Services whose slices upstream writes again and again although nothing changes, until it converges by chance:
/// those with hints over the maximum of a zone.
async fn rewritten(upstream: &Run, last: &Step) -> BTreeSet<String> {
    const TRIES: usize = 5;
    let mut rewritten = BTreeSet::new();
    for number in 0..TRIES {
        let mark = upstream.audit().mark();
        touch(&upstream.world, &format!("at rest? {number}"), last).await;
        upstream.world.settle().await;
        let writes = upstream.writes_since(mark);
        rewritten = of_endpoints(&writes).into_iter().map(|write| service_of(write).to_owned()).collect();
        rewritten.retain(|service| last.chance.hints.contains(service.as_str()));
        if rewritten.is_empty() {
            break;
        }
    }
    rewritten
}

/// The last steps on Services or pods that a text names, or on nodes.
fn history(steps: &[Step], text: &str) -> String {
    const MOST: usize = 25;
    let words: BTreeSet<&str> = text.split([' ', '/', ',', '\n', '=']).collect();
    let lines: Vec<String> = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| step.operation.is_of_node() || words.contains(step.operation.name()))
        .map(|(number, step)| format!("{number:4}  {step}"))
        .collect();
    lines[lines.len().saturating_sub(MOST)..].join("\n")
}
