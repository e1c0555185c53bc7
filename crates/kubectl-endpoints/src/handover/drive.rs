//! The loop of a migration: observe, decide, act.

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;
use kube_api::time::{Instant, sleep};
use kube_api::{ApiError, error_chain};

use super::command::Migration;
use super::facts::{Facts, Goal, Record};
use super::observe::{Observer, State};
use super::patience::{PATIENCE, PERIOD, patiently};
use super::rules::{confirmed, misfit, plan, silent, wrong_writer};
use super::steps::{Action, Step, Write, has_begun, next, steps};
use super::{canary, checks, gap, instructions, own_flags, write};
use crate::ask;
use crate::cluster::Cluster;
use crate::exit::{Failure, print};

/// The time in which the right program writes, besides that in which its caches are filled.
const SOON: Duration = Duration::from_secs(45);
/// The age at which a record that is only newer is written again.
const RECORD_PERIOD: Duration = Duration::from_secs(10);

/// Drives a migration to its end. Returns the reason for which it stops before.
///
/// # Errors
/// A line about a request that failed, a question without an answer, or a step that took too long.
pub(super) async fn drive(migration: &Migration) -> Result<Option<String>, Failure> {
    let cluster = Cluster::of(&migration.target, migration.goal.name()).await?;
    drive_in(&cluster, migration).await
}

/// The same in a cluster.
async fn drive_in(cluster: &Cluster, migration: &Migration) -> Result<Option<String>, Failure> {
    let mut observer = Observer::new(cluster, migration);
    let state = first_observation(cluster, migration, &mut observer).await?;
    let has_all = state.facts.has_pods() && state.facts.all(Facts::is_with);
    if migration.goal == Goal::Rollback && state.facts.lease.is_none() && has_all {
        print(
            "Nothing to roll back: endpoint-controller-manager has no Lease, and kube-controller-manager has the controllers\n",
        );
        return Ok(None);
    }
    print(&format!("{} in {}\n{}\n", title(migration), cluster.server, instructions::seen(&state.facts)));
    if let Some(reason) = begin(migration, cluster, &state).await? {
        return Ok(Some(reason));
    }
    if migration.flags.dry_run {
        print(&plan(migration, &state.facts));
        return Ok(None);
    }
    print(&format!("{}\n", instructions::ways(migration.goal)));
    Drive {
        migration,
        cluster,
        shown: None,
        step: None,
        last_renewal: None,
        noted: Instant::now(),
        has_begun: false,
        has_led: false,
        approved: None,
    }
    .run(&mut observer)
    .await
}

/// Reads the cluster until it is known whether the holder of our Lease lives: one that has ended without a release looks as if
/// it did.
async fn first_observation(
    cluster: &Cluster,
    migration: &Migration,
    observer: &mut Observer<'_>,
) -> Result<State, Failure> {
    let is_known = |state: &State| state.facts.lease.as_ref().is_none_or(|lease| lease.is_watched);
    let mut state = observer.read().await.map_err(|error| unread(cluster, &error))?;
    if !is_known(&state) {
        let lease = &migration.settings.lease;
        print(&format!("waiting for the holder of the Lease {lease} to renew it, or the Lease to expire\n"));
    }
    while !is_known(&state) {
        sleep(PERIOD).await;
        state = read(cluster, observer).await?;
    }
    Ok(state)
}

/// Looks for reasons not to begin, unless the migration has begun.
async fn begin(migration: &Migration, cluster: &Cluster, state: &State) -> Result<Option<String>, Failure> {
    if let Some(reason) = misfit(migration, &state.facts) {
        return Ok(Some(reason));
    }
    if migration.goal == Goal::Rollback || migration.flags.skip_checks || has_begun(&state.facts) {
        return Ok(None);
    }
    checks::refusal(cluster, migration, state).await
}

fn title(migration: &Migration) -> String {
    format!("{} of {}", migration.goal.name(), own_flags::names(&migration.controllers))
}

struct Drive<'a> {
    migration: &'a Migration,
    cluster: &'a Cluster,
    /// The instruction that was shown last.
    shown: Option<String>,
    /// The number of the current step, and the time at which it or its last instruction began.
    step: Option<(usize, Instant)>,
    /// The last renewal by a kube-controller-manager with the controllers.
    last_renewal: Option<Timestamp>,
    noted: Instant,
    /// True once the Lease had the goal of this command.
    has_begun: bool,
    /// True if a replica of ours has led since the Lease was released.
    has_led: bool,
    /// The request that the operator approved and that has not succeeded yet.
    approved: Option<Write>,
}

impl Drive<'_> {
    async fn run(mut self, observer: &mut Observer<'_>) -> Result<Option<String>, Failure> {
        loop {
            let mut state = read(self.cluster, observer).await?;
            if let Some(reason) = self.overtaken(&state.facts.record) {
                return Ok(Some(reason));
            }
            self.follow(&mut state.facts);
            let Some((index, step)) = next(self.migration.goal, &state.facts) else {
                self.enter(steps(self.migration.goal).len(), &state.facts);
                if let Some(reason) = self.see_writer(&state.facts).await? {
                    return Ok(Some(reason));
                }
                print(
                    &(gap::line(self.migration.goal, &state.facts)
                        + "\n"
                        + &instructions::after(self.migration.goal, &state.facts, &self.migration.settings)),
                );
                return Ok(None);
            };
            self.enter(index, &state.facts);
            self.check_time(step)?;
            let action = (step.action)(&state.facts, &self.migration.settings);
            self.approved = self.approved.filter(|request| action == Action::Write(*request));
            match action {
                Action::Refuse(reason) => return Ok(Some(reason)),
                Action::Write(request) => {
                    self.write(&state, request).await?;
                    continue;
                }
                Action::Confirm { step, text } => {
                    self.confirm(observer, &state.facts, step, &text).await?;
                    continue;
                }
                Action::Canary => {
                    if let Some(reason) = self.see_silence(observer, &state.facts).await? {
                        return Ok(Some(reason));
                    }
                    continue;
                }
                Action::Instruct(text) => self.show(&format!("\n{text}\n\n")),
                Action::Wait(what) => self.show(&format!("  waiting for {what}\n")),
            }
            self.keep_record(&state).await?;
            sleep(PERIOD).await;
        }
    }

    /// The reason to stop, if another command has begun the other direction since this one began.
    fn overtaken(&mut self, record: &Record) -> Option<String> {
        let goal = record.goal?;
        self.has_begun |= goal == self.migration.goal;
        (self.has_begun && goal != self.migration.goal).then(|| {
            let (lease, goal) = (&self.migration.settings.lease, goal.name());
            format!(
                "a {goal} was begun by another command, as the Lease {lease} says: continue with that one"
            )
        })
    }

    /// Adds what was seen before to the facts.
    fn follow(&mut self, facts: &mut Facts) {
        self.has_led |= self.migration.goal == Goal::Handover && facts.record.released && facts.leads();
        facts.has_led = self.has_led;
        if self.migration.goal != Goal::Handover
            || facts.record.goal != Some(Goal::Handover)
            || facts.record.released
        {
            return;
        }
        let known = self.last_renewal.max(facts.record.last_renewal);
        self.last_renewal = facts.built_in_renewal().max(known);
        facts.record.last_renewal = self.last_renewal;
    }

    /// Prints the steps that are done, and the one that begins.
    fn enter(&mut self, index: usize, facts: &Facts) {
        let steps = steps(self.migration.goal);
        let current = self.step.map(|(current, _)| current);
        if current == Some(index) {
            return;
        }
        let count = steps.len();
        for (number, step) in steps.iter().enumerate().take(index).skip(current.unwrap_or(0)) {
            let state = if step.is_left_out(facts) { "left out" } else { "done" };
            print(&format!("{state}: step {} of {count}: {}\n", number + 1, step.name));
        }
        if let Some(step) = steps.get(index) {
            print(&format!("step {} of {count}: {}\n", index + 1, step.name));
        }
        self.step = Some((index, Instant::now()));
        self.shown = None;
    }

    fn show(&mut self, text: &str) {
        if self.shown.as_deref() != Some(text) {
            print(text);
            self.shown = Some(text.to_owned());
            self.restart_time();
        }
    }

    /// Counts the time of the step from now: the operator may take any.
    fn restart_time(&mut self) {
        self.step = self.step.map(|(index, _)| (index, Instant::now()));
    }

    async fn write(&mut self, state: &State, request: Write) -> Result<(), Failure> {
        let what = write::describe(request, self.migration);
        if !self.migration.flags.yes && self.approved != Some(request) {
            if !is_yes(&format!("  {what}?")).await? {
                return Err(Failure::Input(format!("nothing was done after the reply to: {what}")));
            }
            // The answer may have taken days: the next observation decides whether the request is still the right one.
            self.approved = Some(request);
            self.restart_time();
            return Ok(());
        }
        if write::send(self.cluster, self.migration, state, request).await? {
            self.approved = None;
            self.has_begun = true;
            print(&format!("  {what}: written\n"));
        } else {
            sleep(PERIOD).await;
        }
        Ok(())
    }

    /// Asks for what the cluster does not show, and notes the answer on the Lease.
    async fn confirm(
        &mut self,
        observer: &mut Observer<'_>,
        asked: &Facts,
        step: &str,
        text: &str,
    ) -> Result<(), Failure> {
        self.show(&format!("\n{text}\n\n"));
        let is_done = is_yes("Is this done?").await?;
        self.restart_time();
        if !is_done {
            return Ok(());
        }
        let start = Instant::now();
        // A leader that renews the Lease meanwhile is not a reason to ask again.
        loop {
            let mut state = read(self.cluster, observer).await?;
            // The answer may have taken days.
            if state.facts.record.goal != Some(self.migration.goal) {
                return Ok(());
            }
            self.follow(&mut state.facts);
            let record = confirmed(asked, &state.facts, step);
            if write::note(self.cluster, self.migration, &state, &record).await? || start.elapsed() > PATIENCE
            {
                return Ok(());
            }
            sleep(PERIOD).await;
        }
    }

    /// Sees that no program writes. Returns the reason to stop, if one does.
    async fn see_silence(
        &mut self,
        observer: &mut Observer<'_>,
        facts: &Facts,
    ) -> Result<Option<String>, Failure> {
        let time = canary::silence(self.cluster).await?;
        self.show(&format!("  waiting {} s for a write, which must not come\n", time.as_secs()));
        let writers = canary::writers(self.cluster, self.migration, time).await?;
        if !writers.is_empty() {
            return Ok(Some(format!(
                "{} writes, though endpoint-controller-manager does not lead: a kube-controller-manager still has the \
                 controllers. In --controllers the first entry that names a controller counts, so that NAME,-NAME enables it. \
                 `rollback` goes back",
                writers.join(", ")
            )));
        }
        let state = read(self.cluster, observer).await?;
        if let Some(record) = silent(facts, &state.facts) {
            write::note(self.cluster, self.migration, &state, &record).await?;
        }
        Ok(None)
    }

    /// Sees that the right program writes. Returns the reason to look closer, if it does not.
    async fn see_writer(&self, facts: &Facts) -> Result<Option<String>, Failure> {
        if !facts.wants_canary {
            return Ok(None);
        }
        let time = canary::silence(self.cluster).await? + SOON;
        let writers = canary::writers(self.cluster, self.migration, time).await?;
        Ok(wrong_writer(self.migration.goal, &facts.ours.writer, &writers))
    }

    /// Writes what only this process has seen, from time to time.
    async fn keep_record(&mut self, state: &State) -> Result<(), Failure> {
        let facts = &state.facts;
        if facts.lease.is_none() || facts.record.goal != Some(self.migration.goal) {
            return Ok(());
        }
        let nodes = write::nodes(facts);
        let is_new = nodes.iter().any(|node| !facts.record.nodes.contains(node));
        let is_newer =
            self.migration.goal == Goal::Handover && self.noted.elapsed() > RECORD_PERIOD && facts.is_held();
        if is_new || is_newer {
            self.noted = Instant::now();
            let record = Record { nodes, ..facts.record.clone() };
            return write::note(self.cluster, self.migration, state, &record).await.map(drop);
        }
        Ok(())
    }

    fn check_time(&self, step: &Step) -> Result<(), Failure> {
        let limit = step.limit.unwrap_or(self.migration.flags.timeout);
        match self.step {
            Some((_, since)) if since.elapsed() > limit => Err(Failure::Timeout(format!(
                "not within {} s: {}. {}",
                limit.as_secs(),
                step.name,
                instructions::ways(self.migration.goal)
            ))),
            _ => Ok(()),
        }
    }
}

/// Reads the cluster, once its API server answers.
async fn read(cluster: &Cluster, observer: &mut Observer<'_>) -> Result<State, Failure> {
    patiently(PATIENCE, async || observer.read().await).await.map_err(|error| unread(cluster, &error))
}

fn unread(cluster: &Cluster, error: &ApiError) -> Failure {
    Failure::Access(format!("cannot read {}: {}", cluster.server, error_chain(error)))
}

/// Asks, and fails without an answer.
async fn is_yes(question: &str) -> Result<bool, Failure> {
    ask::is_yes(question).await?.ok_or_else(|| {
        Failure::Input(format!(
            "no reply to the question: {question} Reply on a terminal, or by a pipe; --yes answers what the cluster shows"
        ))
    })
}
