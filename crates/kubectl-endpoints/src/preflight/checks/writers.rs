//! The check of who wrote last.

use std::collections::BTreeMap;

use endpoint_controller_manager::config::Config;
use jiff::SignedDuration;

use crate::lease::ago;
use crate::preflight::check::{Judged, counted, ok, warning};
use crate::preflight::facts::Facts;
use crate::preflight::writers::{Writers, Written};

/// The names under which kube-controller-manager writes: its own, and those of the programs that have it inside.
pub(crate) const UPSTREAM: [&str; 3] = ["kube-controller-manager", "k3s", "kubelite"];
/// The time in which writes of both programs mean that both write.
const RECENT: SignedDuration = SignedDuration::from_mins(10);

pub(super) fn last_writers<'a>(facts: &'a Facts, config: &Config) -> Judged<'a> {
    let Writers(writers) = facts.writers.as_ref()?;
    let (ours, now) = (config.user_agent_name.as_str(), facts.now);
    if writers.is_empty() {
        return ok("There are no Endpoints and EndpointSlices of the controllers");
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
        return warning(
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
        return warning(
            all,
            "Unless the migration was in the last ten minutes, both programs write: disable the built-in controllers",
        );
    }
    ok(all)
}
