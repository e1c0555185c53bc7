//! Reports as tables.

use std::fmt::Write as _;

use cli_runtime::printing::aligned;
use endpoint_diagnostics::ServiceReport;
use endpoint_diagnostics::report::{PodReport, Presence, Reason, Verdict};

use super::summary::Summary;

/// One Service with its pods, and the reasons.
pub(super) fn service(report: &ServiceReport, wide: bool) -> String {
    let mut text = format!("{}/{}: {}\n", report.namespace, report.name, verdict(report.verdict));
    let _ = writeln!(text, "{}", objects(report));
    for reason in &report.reasons {
        add(&mut text, "* ", reason, wide);
    }
    if !report.pods.is_empty() {
        text.push('\n');
        text.push_str(&pods(report, wide));
    }
    text
}

/// The objects of a Service in a line.
fn objects(report: &ServiceReport) -> String {
    let counts = report.counts;
    let mut line = format!("{}, {} ready", number(counts.pods, "selected pod"), counts.ready);
    let endpoints: usize = report.slices.iter().map(|slice| slice.endpoints).sum();
    let ready: usize = report.slices.iter().map(|slice| slice.ready).sum();
    let _ = write!(
        line,
        "; {} with {}, {ready} ready",
        number(report.slices.len(), "slice"),
        number(endpoints, "endpoint")
    );
    match &report.endpoints {
        Some(object) => {
            let all = object.addresses + object.not_ready;
            let _ = write!(line, "; Endpoints with {}, {} ready", addresses(all), object.addresses);
        }
        None => line.push_str("; no Endpoints"),
    }
    line
}

fn number(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn addresses(count: usize) -> String {
    if count == 1 { "1 address".to_owned() } else { format!("{count} addresses") }
}

fn pods(report: &ServiceReport, wide: bool) -> String {
    let mut head = vec!["POD", "SLICES", "ENDPOINTS", "VERDICT"];
    if wide {
        head.extend(["NODE", "ADDRESSES"]);
    }
    head.push("WHY");
    let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<String>>()];
    for pod in &report.pods {
        let mut reasons = pod.reasons.iter().map(|reason| cell(reason, wide));
        let first = reasons.next().unwrap_or_default();
        rows.push(row(pod, first, wide));
        let blank = if wide { 6 } else { 4 };
        rows.extend(reasons.map(|reason| {
            let mut row = vec![String::new(); blank];
            row.push(reason);
            row
        }));
    }
    aligned(&rows)
}

fn row(pod: &PodReport, why: String, wide: bool) -> Vec<String> {
    let mut row = vec![
        pod.name.clone(),
        presence(pod.slices).to_owned(),
        presence(pod.endpoints).to_owned(),
        verdict(pod.verdict).to_owned(),
    ];
    if wide {
        row.push(pod.node.clone().unwrap_or_else(|| "<none>".to_owned()));
        row.push(if pod.addresses.is_empty() { "<none>".to_owned() } else { pod.addresses.join(",") });
    }
    row.push(why);
    row
}

fn cell(reason: &Reason, wide: bool) -> String {
    match reason.remedy.as_ref().filter(|_| wide) {
        Some(remedy) => format!("{} ({}). Remedy: {remedy}", reason.message, reason.code),
        None => format!("{} ({})", reason.message, reason.code),
    }
}

fn add(text: &mut String, mark: &str, reason: &Reason, wide: bool) {
    let _ = writeln!(text, "{mark}{}", cell(reason, wide));
}

/// A row for each Service, and a line with the totals.
pub(super) fn summary(reports: &[ServiceReport], summary: Summary, wide: bool) -> String {
    if reports.is_empty() {
        return "No Services found\n".to_owned();
    }
    let mut head = vec!["NAMESPACE", "SERVICE", "VERDICT", "PODS", "READY", "IN SLICES", "IN ENDPOINTS"];
    if wide {
        head.push("SLICES");
    }
    head.push("WHY");
    let mut rows = vec![head.into_iter().map(str::to_owned).collect::<Vec<String>>()];
    for report in reports {
        let counts = report.counts;
        let mut row = vec![report.namespace.clone(), report.name.clone(), verdict(report.verdict).to_owned()];
        row.extend(
            [counts.pods, counts.ready, counts.in_slices, counts.in_endpoints].map(|count| count.to_string()),
        );
        if wide {
            row.push(report.slices.len().to_string());
        }
        row.push(why(report));
        rows.push(row);
    }
    let Summary { services, ok, lagging, unknown, wrong } = summary;
    let mut text = aligned(&rows);
    let _ = writeln!(
        text,
        "\n{}: {ok} ok, {lagging} lagging, {unknown} unknown, {wrong} wrong",
        number(services, "Service")
    );
    text
}

/// The codes of a Service, and of its pods with their number, those of the worst verdict first.
fn why(report: &ServiceReport) -> String {
    let mut codes: Vec<(Verdict, &str, usize)> = vec![];
    let of_service = report.reasons.iter().map(|reason| (Verdict::Ok, reason.code, 0));
    let of_pods =
        report.pods.iter().flat_map(|pod| pod.reasons.iter().map(|reason| (pod.verdict, reason.code, 1)));
    for (verdict, code, pods) in of_service.chain(of_pods) {
        match codes.iter_mut().find(|known| known.1 == code) {
            Some(known) => *known = (known.0.max(verdict), code, known.2 + pods),
            None => codes.push((verdict, code, pods)),
        }
    }
    codes.sort_by_key(|(verdict, ..)| std::cmp::Reverse(*verdict));
    let text = |(_, code, pods): &(Verdict, &str, usize)| {
        if *pods > 1 { format!("{code} ({pods} pods)") } else { (*code).to_owned() }
    };
    codes.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "ok",
        Verdict::Unknown => "unknown",
        Verdict::Lagging => "lagging",
        Verdict::Wrong => "wrong",
    }
}

fn presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Ready => "ready",
        Presence::Serving => "serving",
        Presence::NotReady => "not ready",
        Presence::Absent => "absent",
        Presence::NotApplicable => "-",
    }
}

#[cfg(test)]
mod tests {
    use endpoint_diagnostics::report::{Counts, Scope};

    use super::super::output;
    use super::*;
    use crate::format::Format;

    fn report() -> ServiceReport {
        let reason = |code, message: &str, remedy: Option<&str>| Reason {
            code,
            message: message.to_owned(),
            remedy: remedy.map(str::to_owned),
            scope: Scope::Both,
        };
        let pod = |name: &str, presence, reasons| PodReport {
            name: name.to_owned(),
            node: Some("a".to_owned()),
            addresses: vec!["10.1.0.1".to_owned()],
            slices: presence,
            endpoints: presence,
            verdict: Verdict::Ok,
            reasons,
        };
        let broken = vec![
            reason("readiness-probe", "container main fails", Some("see its events")),
            reason("readiness-gate", "the gate is closed", None),
        ];
        ServiceReport {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            verdict: Verdict::Ok,
            counts: Counts { pods: 2, ready: 1, in_slices: 2, in_endpoints: 2 },
            reasons: vec![reason("hints-dropped", "no zones", None)],
            slices: vec![],
            endpoints: None,
            pods: vec![pod("web-1", Presence::Ready, vec![]), pod("web-2", Presence::NotReady, broken)],
        }
    }

    #[test]
    fn each_reason_has_a_line() {
        let expected = "\
shop/web: ok
2 selected pods, 1 ready; 0 slices with 0 endpoints, 0 ready; no Endpoints
* no zones (hints-dropped)

POD     SLICES      ENDPOINTS   VERDICT   WHY
web-1   ready       ready       ok
web-2   not ready   not ready   ok        container main fails (readiness-probe)
                                          the gate is closed (readiness-gate)
";
        assert_eq!(service(&report(), false), expected);
        let wide = service(&report(), true);
        assert!(wide.contains("NODE") && wide.contains("Remedy: see its events"), "{wide}");
    }

    #[test]
    fn a_summary_has_a_line_for_each_service_and_totals() {
        let text = output::text(&[report()], Format::Table, false);
        let expected = "\
NAMESPACE   SERVICE   VERDICT   PODS   READY   IN SLICES   IN ENDPOINTS   WHY
shop        web       ok        2      1       2           2              hints-dropped, readiness-probe, readiness-gate

1 Service: 1 ok, 0 lagging, 0 unknown, 0 wrong
";
        assert_eq!(text, expected);
        assert_eq!(output::text(&[], Format::Table, false), "No Services found\n");
    }

    #[test]
    fn documents_have_a_summary_and_the_services() {
        let json: serde_json::Value =
            serde_json::from_str(&output::text(&[report()], Format::Json, true)).unwrap();
        assert_eq!((&json["summary"]["ok"], &json["services"][0]["name"]), (&1.into(), &"web".into()));
        assert!(output::text(&[report()], Format::Yaml, true).contains("code: readiness-probe"));
    }
}
