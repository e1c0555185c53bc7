//! Reports as tables.

use std::fmt::Write as _;

use endpoint_diagnostics::ServiceReport;
use endpoint_diagnostics::report::{PodReport, Presence, Reason, Verdict};

use super::output::Summary;
use crate::printing::aligned;

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
