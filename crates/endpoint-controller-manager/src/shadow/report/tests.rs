use controller_kit::key::ObjectKey;

use super::super::differences::Totals;
use super::super::found::{Identity, Kind};
use super::*;

const HOUR: Duration = Duration::from_secs(3600);

fn lasting(start: Instant) -> [Lasting; 2] {
    let identity = |kind, name: &str| Identity {
        kind,
        object: "EndpointSlice",
        name: name.into(),
        is_generated: kind == Kind::Create,
        number: 0,
    };
    let field = |path: &str, before: Option<&str>, after: Option<&str>| Field {
        path: path.into(),
        before: before.map(Into::into),
        after: after.map(Into::into),
    };
    let key = ObjectKey::new("shop", "web");
    [
        Lasting {
            key: key.clone(),
            identity: identity(Kind::Update, "web-a"),
            fields: vec![
                field("metadata.labels.team", Some("a"), Some("b")),
                field("ports[http/80/TCP]", None, Some("80")),
            ],
            more: 3,
            since: start,
            until: Some(start + Duration::from_secs(90)),
            keeps_pods: true,
        },
        Lasting {
            key,
            identity: identity(Kind::Create, "web-"),
            fields: Vec::new(),
            more: 0,
            since: start,
            until: None,
            keeps_pods: false,
        },
    ]
}

/// A report on an hour, of which all times are known.
fn report(lasting: Vec<Lasting>, not_listed: u64) -> Report {
    let totals = Totals {
        comparisons: 7,
        differences: 3,
        lasting: lasting.len() as u64 + not_listed,
        lasting_while_kept: 0,
        longest: Duration::from_millis(1_500),
    };
    let summary = Summary {
        controller: "endpointslice-controller",
        totals,
        lasting,
        recent: 1,
        untracked: 0,
        waiting: 2,
    };
    let now = (Instant::now(), "2026-01-01T12:00:00Z".parse().unwrap());
    Report { now, ..Report::new(Duration::from_secs(60), HOUR, 12, vec![summary]) }
}

fn with_differences() -> Report {
    let mut report = report(Vec::new(), 0);
    let start = report.now.0;
    report.now.0 = start + HOUR;
    report.controllers[0].lasting = lasting(start).to_vec();
    report.controllers[0].totals.lasting = 5;
    report.controllers[0].totals.lasting_while_kept = 1;
    report
}

#[test]
fn the_text_names_each_object_and_field() {
    let report = with_differences();
    assert_eq!(
        report.text(),
        "\
Compared 12 Services for 1h0m0s, with a grace period of 1m0s

CONTROLLER                 COMPARISONS   WAITING   DIFFERENCES   LONGEST   RECENT   LASTING
endpointslice-controller   7             2         3             1.5s      1        5

5 differences outlasted the grace period
1 of them while pods of lost nodes kept their readiness here (kept-ready)

update EndpointSlice/web-a of Service shop/web, by the endpointslice-controller, from 2026-01-01T11:00:00Z to \
2026-01-01T11:01:30Z, kept-ready
  - metadata.labels.team: a
  + metadata.labels.team: b
  + ports[http/80/TCP]: 80
  and 3 more fields

create EndpointSlice/web-<generated> of Service shop/web, by the endpointslice-controller, from 2026-01-01T11:00:00Z to now

and 3 more differences that are not listed
"
    );
}

#[test]
fn json_has_the_same() {
    let report = with_differences().json();
    assert_eq!(
        report,
        json!({
            "from": "2026-01-01T11:00:00Z",
            "to": "2026-01-01T12:00:00Z",
            "graceSeconds": 60.0,
            "services": 12,
            "controllers": [{
                "name": "endpointslice-controller", "comparisons": 7, "waiting": 2, "differences": 3,
                "longestSeconds": 1.5, "recent": 1, "lasting": 5, "untracked": 0,
            }],
            "lasting": [{
                "controller": "endpointslice-controller", "namespace": "shop", "service": "web", "action": "update",
                "kind": "EndpointSlice", "name": "web-a",
                "fields": [
                    {"path": "metadata.labels.team", "before": "a", "after": "b"},
                    {"path": "ports[http/80/TCP]", "after": "80"},
                ],
                "moreFields": 3, "since": "2026-01-01T11:00:00Z", "until": "2026-01-01T11:01:30Z",
                "keptReady": true,
            }, {
                "controller": "endpointslice-controller", "namespace": "shop", "service": "web", "action": "create",
                "kind": "EndpointSlice", "generateName": "web-", "fields": [], "moreFields": 0,
                "since": "2026-01-01T11:00:00Z", "keptReady": false,
            }],
            "lastingNotListed": 3,
            "lastingWhileKeptReady": 1,
        })
    );
}

#[test]
fn a_run_without_differences_says_so() {
    let report = report(Vec::new(), 0);
    assert_eq!(report.lasting(), 0);
    let text = report.text();
    assert!(text.ends_with("\nNo difference outlasted the grace period\n"), "{text}");
}
