//! The report on a run, as text and as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use cli_runtime::printing::aligned;
use controller_kit::environment;
use go_text::duration::format_go_duration;
use jiff::{SignedDuration, Timestamp};
use kube_api::time::Instant;
use serde_json::{Value, json};

use super::comparison::{Summary, object};
use super::differences::Lasting;
use super::found::Field;

/// A report.
pub(crate) struct Report {
    grace: Duration,
    length: Duration,
    services: usize,
    controllers: Vec<Summary>,
    /// The same moment on both clocks.
    now: (Instant, Timestamp),
}

impl Report {
    /// The report on a run that took `length`. `services` is the number of Services in the cache.
    pub(super) fn new(grace: Duration, length: Duration, services: usize, controllers: Vec<Summary>) -> Self {
        Self { grace, length, services, controllers, now: (Instant::now(), environment::now()) }
    }

    /// The number of differences that outlasted the grace period.
    pub(crate) fn lasting(&self) -> u64 {
        self.sum(|controller| controller.totals.lasting)
    }

    /// Those of them that did while pods of lost nodes kept their readiness.
    fn lasting_while_kept(&self) -> u64 {
        self.sum(|controller| controller.totals.lasting_while_kept)
    }

    fn sum(&self, of: impl Fn(&Summary) -> u64) -> u64 {
        self.controllers.iter().map(of).sum()
    }

    fn listed(&self) -> impl Iterator<Item = (&'static str, &Lasting)> {
        self.controllers
            .iter()
            .flat_map(|controller| controller.lasting.iter().map(|lasting| (controller.controller, lasting)))
    }

    fn not_listed(&self) -> u64 {
        self.lasting().saturating_sub(self.listed().count().try_into().unwrap_or_default())
    }

    fn time(&self, instant: Instant) -> String {
        self.ago(self.now.0.saturating_duration_since(instant))
    }

    fn ago(&self, duration: Duration) -> String {
        let ago = SignedDuration::try_from(duration).unwrap_or_default();
        let time = self.now.1.checked_sub(ago).unwrap_or(self.now.1);
        time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "Compared {} Services for {}, with a grace period of {}\n\n",
            self.services,
            format_go_duration(Duration::from_secs(self.length.as_secs())),
            format_go_duration(self.grace)
        );
        let head = ["CONTROLLER", "COMPARISONS", "WAITING", "DIFFERENCES", "LONGEST", "RECENT", "LASTING"];
        let row = |controller: &Summary| {
            let totals = controller.totals;
            vec![
                controller.controller.to_owned(),
                totals.comparisons.to_string(),
                controller.waiting.to_string(),
                totals.differences.to_string(),
                format_go_duration(Duration::from_millis(
                    totals.longest.as_millis().try_into().unwrap_or(u64::MAX),
                )),
                controller.recent.to_string(),
                totals.lasting.to_string(),
            ]
        };
        let rows: Vec<_> = std::iter::once(head.map(str::to_owned).to_vec())
            .chain(self.controllers.iter().map(row))
            .collect();
        text += &aligned(&rows);
        let untracked = self.controllers.iter().map(|controller| controller.untracked).sum::<usize>();
        // Writing to a String does not fail.
        let _ = match self.lasting() {
            0 => writeln!(text, "\nNo difference outlasted the grace period"),
            lasting => writeln!(text, "\n{lasting} differences outlasted the grace period"),
        };
        if self.lasting_while_kept() > 0 {
            let _ = writeln!(
                text,
                "{} of them while pods of lost nodes kept their readiness here (kept-ready)",
                self.lasting_while_kept()
            );
        }
        for (controller, lasting) in self.listed() {
            let Lasting { key, identity, fields, more, since, until, keeps_pods } = lasting;
            let until = until.map_or_else(|| "now".to_owned(), |until| self.time(until));
            let _ = writeln!(
                text,
                "\n{} {} of Service {key}, by the {controller}, from {} to {until}{}",
                identity.kind.name(),
                object(identity),
                self.time(*since),
                if *keeps_pods { ", kept-ready" } else { "" }
            );
            for Field { path, before, after } in fields {
                for (sign, value) in [('-', before), ('+', after)] {
                    if let Some(value) = value {
                        let _ = writeln!(text, "  {sign} {path}: {value}");
                    }
                }
            }
            if *more > 0 {
                let _ = writeln!(text, "  and {more} more fields");
            }
        }
        if self.not_listed() > 0 {
            let _ = writeln!(text, "\nand {} more differences that are not listed", self.not_listed());
        }
        if untracked > 0 {
            let _ = writeln!(
                text,
                "\n{untracked} more objects differ now; so many differ that their ages are not known"
            );
        }
        text
    }

    pub(crate) fn json(&self) -> Value {
        let controller = |controller: &Summary| {
            let totals = controller.totals;
            json!({
                "name": controller.controller,
                "comparisons": totals.comparisons,
                "waiting": controller.waiting,
                "differences": totals.differences,
                "longestSeconds": totals.longest.as_secs_f64(),
                "recent": controller.recent,
                "lasting": totals.lasting,
                "untracked": controller.untracked,
            })
        };
        json!({
            "from": self.ago(self.length),
            "to": self.ago(Duration::ZERO),
            "graceSeconds": self.grace.as_secs_f64(),
            "services": self.services,
            "controllers": self.controllers.iter().map(controller).collect::<Value>(),
            "lasting": self.listed().map(|(controller, lasting)| self.entry(controller, lasting)).collect::<Value>(),
            "lastingNotListed": self.not_listed(),
            "lastingWhileKeptReady": self.lasting_while_kept(),
        })
    }

    fn entry(&self, controller: &str, lasting: &Lasting) -> Value {
        let Lasting { key, identity, fields, more, since, until, keeps_pods } = lasting;
        let name = if identity.is_generated { "generateName" } else { "name" };
        let until = until.map(|until| ("until".to_owned(), Value::from(self.time(until))));
        let mut entry = json!({
            "controller": controller,
            "namespace": &*key.namespace,
            "service": &*key.name,
            "action": identity.kind.name(),
            "kind": identity.object,
            name: &*identity.name,
            "fields": fields,
            "moreFields": more,
            "since": self.time(*since),
            "keptReady": keeps_pods,
        });
        if let Value::Object(entry) = &mut entry {
            entry.extend(until);
        }
        entry
    }
}

#[cfg(test)]
mod tests;
