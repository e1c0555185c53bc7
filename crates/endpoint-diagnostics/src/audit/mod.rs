//! The audit of a cluster: rules over the snapshot, each of which finds one kind of defect.
//!
//! ```text
//! Snapshot ─> groups (one for each Service name) ─> rules ─> findings ─> repairs, for objects of the controllers
//! ```
//!
//! A rule is data: an id, its severities, the kinds of objects that it needs, and a function over one group. What a
//! settled cluster of kube-controller-manager shows is at most [`Severity::Info`]. `docs/operate/audit.md` lists the rules.
//!
//! Cost: linear in objects and endpoints, times the logarithm of the number of objects.

mod capacity;
mod content;
pub mod dns;
mod finding;
mod group;
mod labels;
mod leftovers;
mod managers;
mod network;
mod object;
mod ownership;
pub mod proxy;
mod recent;
mod repair;
mod rule;
mod sync;
mod wrong;

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use crate::snapshot::{Kind, Snapshot};
use rule::Context;

pub use finding::{Finding, Severity};
pub(crate) use group::{elects_a_leader, is_managed, opts_out};
pub use object::{ObjectRef, Subject};
pub use repair::{Action, Repair};
pub use rule::{Options, Rule};
pub(crate) use sync::only_zones_differ;
pub use wrong::{Expected, Target, Wrong};

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// The findings: by severity, the gravest first, then by object and rule.
    pub findings: Vec<Finding>,
    /// The rules that were not applied, because the caller may not read what they need.
    pub skipped: Vec<Skipped>,
}

impl Audit {
    /// Adds findings of another source than the rules, each in its place.
    pub fn add(&mut self, findings: Vec<Finding>) {
        self.findings.extend(findings);
        let order = |finding: &Finding| {
            (std::cmp::Reverse(finding.severity), finding.object.clone(), finding.rule, finding.field.clone())
        };
        self.findings.sort_by_cached_key(order);
    }
}

/// A rule that was not applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// The rule.
    pub rule: &'static str,
    /// The resources that the caller may not list.
    pub needs: Vec<&'static str>,
}

/// All rules.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    let groups: [&'static [Rule]; 8] = [
        &content::RULES,
        &ownership::RULES,
        &managers::RULES,
        &capacity::RULES,
        &labels::RULES,
        &leftovers::RULES,
        &sync::RULES,
        &network::RULES,
    ];
    groups.into_iter().flatten()
}

/// True if the rule of a finding finds the same in these objects, with the same repair. For a look just before that write, when
/// only what belongs to the Service is read again; rules that need other objects find nothing then.
pub fn is_found_in(finding: &Finding, snapshot: &Snapshot) -> bool {
    let found = audit(snapshot, &Options::default()).findings;
    found
        .iter()
        .any(|now| now.rule == finding.rule && now.object == finding.object && now.repair == finding.repair)
}

/// Applies all rules to a snapshot. [`Audit::without_explained`] drops what other findings explain, once those that do not count
/// are left out.
pub fn audit(snapshot: &Snapshot, options: &Options) -> Audit {
    let groups = group::groups(snapshot);
    let has_managed_endpoints = groups.iter().any(|group| group.is_served() && group.endpoints.is_some());
    let context = Context { snapshot, options, has_managed_endpoints };
    let mut audit = Audit::default();
    let (mut applied, mut skipped): (Vec<&Rule>, Vec<Skipped>) = Default::default();
    for rule in rules() {
        let needs: Vec<&str> = missing(rule, snapshot).map(Kind::resource).collect();
        if needs.is_empty() {
            applied.push(rule);
        } else {
            skipped.push(Skipped { rule: rule.id, needs });
        }
    }
    for group in &groups {
        for rule in &applied {
            let others = audit.findings.len();
            (rule.check)(&context, group, &mut audit.findings);
            audit.findings.iter_mut().skip(others).for_each(|finding| finding.rule = rule.id);
        }
    }
    audit.add(Vec::new());
    audit.skipped = skipped;
    audit
}

/// The kinds that a rule needs and the caller may not read.
fn missing<'a>(rule: &'a Rule, snapshot: &'a Snapshot) -> impl Iterator<Item = Kind> + 'a {
    rule.needs.iter().copied().filter(|kind| !snapshot.can_read(*kind))
}

impl Audit {
    /// This audit without what an earlier one did not find, and so was about to end or has just begun. Of findings about parts of
    /// an object, one of these must be the same: in a rollout, slices have another stale pod at each look.
    #[must_use]
    pub fn confirming(mut self, earlier: &Self) -> Self {
        let key = |finding: &Finding| (finding.rule, finding.object.clone());
        let mut known: HashMap<_, HashSet<&str>> = HashMap::new();
        for finding in &earlier.findings {
            known.entry(key(finding)).or_default().extend(finding.about.iter().map(String::as_str));
        }
        self.findings.retain(|finding| {
            known.get(&key(finding)).is_some_and(|about| {
                finding.about.is_empty() || finding.about.iter().any(|it| about.contains(it.as_str()))
            })
        });
        self
    }

    /// This audit without findings that say of a Service that it is out of sync, where another of them says why. It comes after
    /// all that leaves findings out: one that is not reported explains nothing.
    #[must_use]
    pub fn without_explained(mut self) -> Self {
        fn key(finding: &Finding) -> (&str, &str) {
            (&finding.object.namespace, finding.concerns())
        }
        let mut by_service: HashMap<(&str, &str), Vec<&Finding>> = HashMap::new();
        for finding in &self.findings {
            by_service.entry(key(finding)).or_default().push(finding);
        }
        let others = |finding| by_service.get(&key(finding)).into_iter().flatten();
        let keep: Vec<bool> = self
            .findings
            .iter()
            .map(|finding| !others(finding).any(|other| sync::is_explained(finding, other)))
            .collect();
        let mut keep = keep.into_iter();
        self.findings.retain(|_| keep.next().unwrap_or(true));
        self
    }

    /// The gravest severity found.
    pub fn gravest(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}
