//! Checks of who writes now, and whether exactly one program does.

mod built_in;
mod leases;

use std::collections::BTreeMap;

use endpoint_controller_manager::config::Config;
use jiff::{SignedDuration, Timestamp};

use crate::lease::ago;
use crate::preflight::check::{Check, WRITERS, counted};
use crate::preflight::facts::Facts;
use crate::preflight::writers::{Writers, Written};

/// The names under which kube-controller-manager writes: its own, and those of the programs that have it inside.
pub(crate) const UPSTREAM: [&str; 3] = ["kube-controller-manager", "k3s", "kubelite"];
/// The time in which writes of both programs mean that both write.
const RECENT: SignedDuration = SignedDuration::from_mins(10);

pub(super) fn writers(facts: &Facts, config: &Config, before_release: bool) -> Vec<Check> {
    let last = match &facts.writers {
        Ok(writers) => last_writers(writers, &config.user_agent_name, facts.now),
        Err(unknown) => Check::not_checked(WRITERS, unknown),
    };
    let [upstream, own] = leases::leases(facts, config);
    vec![last, upstream, own, built_in::built_ins(facts, config, before_release), built_in::kubeadm(facts)]
}

fn last_writers(Writers(writers): &Writers, ours: &str, now: Timestamp) -> Check {
    if writers.is_empty() {
        return Check::ok(WRITERS, "There are no Endpoints and EndpointSlices of the controllers");
    }
    let line = |(manager, written): (&String, &Written)| {
        let Written { count, newest, object } = written;
        format!("{manager}: {}, the newest {object} {}", counted(*count, "object"), ago(*newest, now))
    };
    let all: Vec<String> = writers.iter().map(line).collect();
    let all = format!("Last written by {}", all.join("; "));
    let others: Vec<&str> = writers
        .keys()
        .map(String::as_str)
        .filter(|manager| *manager != ours && !UPSTREAM.contains(manager))
        .collect();
    if !others.is_empty() {
        return Check::warning(
            WRITERS,
            all,
            format!(
                "Find out why {} writes objects of the controllers; a takeover writes them as they should be",
                others.join(", ")
            ),
        );
    }
    let is_recent = |writers: &BTreeMap<String, Written>, is_meant: &dyn Fn(&str) -> bool| {
        let mut meant = writers.iter().filter(|(manager, _)| is_meant(manager));
        meant.any(|(_, written)| now.duration_since(written.newest) < RECENT)
    };
    if is_recent(writers, &|manager| manager == ours)
        && is_recent(writers, &|manager| UPSTREAM.contains(&manager))
    {
        return Check::warning(
            WRITERS,
            all,
            "Unless the migration was in the last ten minutes, both programs write: disable the built-in controllers",
        );
    }
    Check::ok(WRITERS, all)
}
