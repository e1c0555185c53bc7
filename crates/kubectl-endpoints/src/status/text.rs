//! The status on one screen.

use std::fmt::Write as _;

use cli_runtime::printing::aligned;
use cli_runtime::style::Tone;
use endpoint_diagnostics::report::Verdict;
use endpoint_diagnostics::{ServiceReport, Traffic};
use jiff::Timestamp;

use super::facts::{Replica, Status, Write};
use crate::explain;
use crate::lease::{Lease, ago};

/// Services that are shown, at most.
const SHOWN: usize = 10;

/// The status as text, with the worst Services below it.
pub(super) fn text(status: &Status, reports: &[ServiceReport], now: Timestamp, wide: bool) -> String {
    let mut rows = vec![
        row("Leader", leader(status.lease.as_ref(), now)),
        row("kube-controller-manager", built_in(status.built_in.as_ref(), now)),
    ];
    for (index, replica) in status.replicas.iter().enumerate() {
        rows.push(row(if index == 0 { "Replicas" } else { "" }, of_replica(replica)));
    }
    rows.push(row(
        "Last write",
        status.last_write.as_ref().map_or("none".to_owned(), |write| last(write, now)),
    ));
    for reason in &status.unknown {
        rows.push(row("Unknown", Tone::Doubtful.paint(reason)));
    }
    let mut text = aligned(&rows);
    let mut open: Vec<&ServiceReport> = reports.iter().filter(|report| !is_in_order(report)).collect();
    open.sort_by_key(|report| std::cmp::Reverse(report.verdict));
    let more = open.len().saturating_sub(SHOWN);
    let worst: Vec<ServiceReport> = open.into_iter().take(SHOWN).cloned().collect();
    text.push('\n');
    text.push_str(&explain::summary_table(&worst, status.summary, wide, true));
    if more > 0 {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{more} more are not in order: kubectl endpoints explain -A");
    }
    text
}

fn row(name: &str, value: String) -> Vec<String> {
    vec![if name.is_empty() { String::new() } else { Tone::Strong.paint(name) }, value]
}

fn is_in_order(report: &ServiceReport) -> bool {
    report.verdict == Verdict::Ok && Traffic::of(report).is_none_or(|traffic| !traffic.is_none())
}

fn leader(lease: Option<&Lease>, now: Timestamp) -> String {
    match lease {
        None => {
            "endpoint-controller-manager has no Lease in kube-system: it is not installed, or may not be seen"
                .to_owned()
        }
        Some(Lease { holder, is_on_hold, .. }) if holder.is_empty() => {
            let why = if *is_on_hold { "the Lease is on hold" } else { "the Lease is free" };
            Tone::Doubtful.paint(&format!("nobody: {why}"))
        }
        Some(lease) if lease.is_expired => Tone::Bad.paint(&format!(
            "nobody: {} has not renewed the Lease{}",
            lease.holder,
            renewed(lease, now)
        )),
        Some(lease) => {
            let since = lease.since.map(|since| format!(", since {}", ago(since, now))).unwrap_or_default();
            let hold = if lease.is_on_hold { "; on hold: nobody succeeds it" } else { "" };
            let held = lease.takeover_held.as_ref().map(|why| format!("; writes nothing: {why}"));
            let tone = if held.is_some() { Tone::Bad } else { Tone::Good };
            let held = held.unwrap_or_default();
            format!("{}{since}{}{hold}{held}", tone.paint(&lease.holder), renewed(lease, now))
        }
    }
}

fn renewed(lease: &Lease, now: Timestamp) -> String {
    lease.renewed.map(|time| format!(", renewed {}", ago(time, now))).unwrap_or_default()
}

fn built_in(lease: Option<&Lease>, now: Timestamp) -> String {
    match lease {
        None => "not seen".to_owned(),
        Some(lease) if lease.holder.is_empty() || lease.is_expired => {
            format!("does not lead{}", renewed(lease, now))
        }
        Some(lease) => {
            format!(
                "{} leads{}; preflight shows which controllers it runs",
                lease.holder,
                renewed(lease, now)
            )
        }
    }
}

fn of_replica(replica: &Replica) -> String {
    let Replica { namespace, name, node, version, ready } = replica;
    let state = if *ready { Tone::Good.paint("ready") } else { Tone::Bad.paint("not ready") };
    format!("{namespace}/{name} {version} on {}, {state}", if node.is_empty() { "no node" } else { node })
}

fn last(Write { time, by, slice }: &Write, now: Timestamp) -> String {
    let by = if by.is_empty() { "an unnamed program" } else { by };
    format!("{}, by {by}: EndpointSlice {slice}", ago(*time, now))
}

#[cfg(test)]
mod tests {
    use cli_runtime::style;

    use super::*;
    use crate::explain::Summary;

    #[test]
    fn one_screen_names_the_leader_and_the_last_write() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let status = Status {
            lease: Some(Lease {
                holder: "ecm-a".to_owned(),
                since: Some(at(0)),
                renewed: Some(at(98)),
                ..Lease::default()
            }),
            built_in: None,
            replicas: vec![Replica {
                namespace: "kube-system".to_owned(),
                name: "ecm-a".to_owned(),
                node: "ash".to_owned(),
                version: "0.1.0".to_owned(),
                ready: true,
            }],
            last_write: Some(Write {
                time: at(90),
                by: "endpoint-controller-manager".to_owned(),
                slice: "shop/web-x".to_owned(),
            }),
            summary: Summary { services: 1, ok: 1, ..Summary::default() },
            unknown: vec![],
        };
        let text = text(&status, &[], at(100), false);
        let expected = "\
Leader                    ecm-a, since 100 s ago, renewed 2 s ago
kube-controller-manager   not seen
Replicas                  kube-system/ecm-a 0.1.0 on ash, ready
Last write                10 s ago, by endpoint-controller-manager: EndpointSlice shop/web-x

1 Service: 0 without traffic; controllers: 1 in sync, 0 lagging, 0 unknown, 0 wrong
";
        assert_eq!(style::rendered(&text, false), expected);
    }

    #[test]
    fn a_lease_without_a_leader_says_why() {
        let now = Timestamp::from_second(100).unwrap();
        let free = Lease::default();
        assert!(leader(Some(&free), now).contains("the Lease is free"));
        let hold = Lease { is_on_hold: true, ..Lease::default() };
        assert!(leader(Some(&hold), now).contains("on hold"));
        let expired = Lease { holder: "a".to_owned(), is_expired: true, ..Lease::default() };
        assert!(leader(Some(&expired), now).contains("a has not renewed"));
        assert!(leader(None, now).contains("not installed"));
    }
}
