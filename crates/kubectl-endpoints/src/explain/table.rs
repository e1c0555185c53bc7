//! Reports as tables.

use std::fmt::Write as _;

use cli_runtime::printing::aligned;
use cli_runtime::text::one_line;
use endpoint_diagnostics::ServiceReport;
use endpoint_diagnostics::report::{PodReport, Reason, Verdict};

use super::summary::Summary;
use super::words;

/// One Service with its pods, and the reasons.
pub(super) fn service(report: &ServiceReport, wide: bool, headers: bool) -> String {
    let ServiceReport { namespace, name, .. } = report;
    let mut text = one_line(format!(
        "{namespace}/{name}: {}; controllers: {}",
        words::sentence(report),
        words::controller(report.verdict)
    ));
    let _ = writeln!(text, "\n{}", objects(report));
    for reason in &report.reasons {
        add(&mut text, "* ", reason, wide);
    }
    if !report.pods.is_empty() {
        text.push('\n');
        text.push_str(&pods(report, wide, headers));
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

fn pods(report: &ServiceReport, wide: bool, headers: bool) -> String {
    let mut head = vec!["POD", "SLICES", "ENDPOINTS", "CONTROLLERS"];
    if wide {
        head.extend(["NODE", "ADDRESSES"]);
    }
    head.push("WHY");
    let mut rows = head_row(&head, headers);
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
        words::presence(pod.slices),
        words::presence(pod.endpoints),
        words::of_pod(pod),
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
pub(crate) fn summary(reports: &[ServiceReport], summary: Summary, wide: bool, headers: bool) -> String {
    if summary.services == 0 {
        return "No Services found\n".to_owned();
    }
    let mut head = vec!["NAMESPACE", "SERVICE", "TRAFFIC", "CONTROLLERS", "PODS"];
    if wide {
        head.extend(["READY", "IN SLICES", "IN ENDPOINTS", "SLICES"]);
    }
    head.push("WHY");
    let mut all = head_row(&head, headers && !reports.is_empty());
    all.extend(reports.iter().map(|report| service_row(report, wide)));
    let mut text = aligned(&all);
    if headers {
        let Summary { services, without_traffic, ok, lagging, unknown, wrong } = summary;
        let gap = if reports.is_empty() { "" } else { "\n" };
        let _ = writeln!(
            text,
            "{gap}{}: {without_traffic} without traffic; controllers: {ok} in sync, {lagging} lagging, {unknown} unknown, \
             {wrong} wrong",
            number(services, "Service")
        );
    }
    text
}

/// The rows of Services alone.
pub(super) fn rows(reports: &[ServiceReport], wide: bool) -> String {
    let rows: Vec<_> = reports.iter().map(|report| service_row(report, wide)).collect();
    aligned(&rows)
}

fn service_row(report: &ServiceReport, wide: bool) -> Vec<String> {
    let counts = report.counts;
    let mut row = vec![
        report.namespace.clone(),
        report.name.clone(),
        words::traffic(report),
        words::controller(report.verdict),
        counts.pods.to_string(),
    ];
    if wide {
        let of_objects = [counts.ready, counts.in_slices, counts.in_endpoints, report.slices.len()];
        row.extend(of_objects.map(|count| count.to_string()));
    }
    row.push(why(report));
    row
}

fn head_row(head: &[&str], headers: bool) -> Vec<Vec<String>> {
    let row = || head.iter().map(|&heading| heading.to_owned()).collect();
    headers.then(row).into_iter().collect()
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

#[cfg(test)]
mod tests {
    use cli_runtime::style;
    use endpoint_diagnostics::report::{Counts, Presence, Scope};

    use super::super::output::{self, View};
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
            reasons,
            ..PodReport::default()
        };
        let broken = vec![
            reason("readiness-probe", "container main fails", Some("see its events")),
            reason("readiness-gate", "the gate is closed", None),
        ];
        ServiceReport {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            has_cluster_ip: true,
            counts: Counts { pods: 2, ready: 1, in_slices: 2, in_endpoints: 2 },
            reasons: vec![reason("hints-dropped", "no zones", None)],
            pods: vec![pod("web-1", Presence::Ready, vec![]), pod("web-2", Presence::NotReady, broken)],
            ..ServiceReport::default()
        }
    }

    fn shown(text: &str) -> String {
        style::rendered(text, false).into_owned()
    }

    fn text(reports: &[ServiceReport], format: Format) -> String {
        shown(&output::text(reports, View { format, is_detailed: false, headers: true }))
    }

    #[test]
    fn each_reason_has_a_line() {
        let expected = "\
shop/web: 1 of 2 pods gets traffic; controllers: in sync
2 selected pods, 1 ready; 0 slices with 0 endpoints, 0 ready; no Endpoints
* no zones (hints-dropped)

POD     SLICES      ENDPOINTS   CONTROLLERS   WHY
web-1   ready       ready       in sync
web-2   not ready   not ready   in sync       container main fails (readiness-probe)
                                              the gate is closed (readiness-gate)
";
        assert_eq!(shown(&service(&report(), false, true)), expected);
        let wide = shown(&service(&report(), true, true));
        assert!(wide.contains("NODE") && wide.contains("Remedy: see its events"), "{wide}");
    }

    #[test]
    fn a_summary_has_a_line_for_each_service_and_totals() {
        let expected = "\
NAMESPACE   SERVICE   TRAFFIC   CONTROLLERS   PODS   WHY
shop        web       1/2       in sync       2      hints-dropped, readiness-probe, readiness-gate

1 Service: 0 without traffic; controllers: 1 in sync, 0 lagging, 0 unknown, 0 wrong
";
        assert_eq!(text(&[report()], Format::Table), expected);
        assert_eq!(text(&[], Format::Table), "No Services found\n");
        assert_eq!(text(&[report()], Format::Name), "service/web\n");
        let forged = ServiceReport { name: "a\nservice/b".to_owned(), ..report() };
        assert_eq!(text(std::slice::from_ref(&forged), Format::Name), "service/a\\nservice/b\n");
        assert!(service(&forged, false, true).starts_with("shop/a\\nservice/b: "));
        assert_eq!(
            shown(&summary(&[report()], Summary::of(&[report()]), false, false)),
            "shop   web   1/2   in sync   2   hints-dropped, readiness-probe, readiness-gate\n"
        );
    }

    #[test]
    fn a_service_without_a_ready_pod_is_not_in_order() {
        let mut report = report();
        report.pods.remove(0);
        let line = shown(&service(&report, false, true));
        assert!(
            line.starts_with(
                "shop/web: no traffic: container main fails (readiness-probe); controllers: in sync\n"
            ),
            "{line}"
        );
        assert!(text(&[report], Format::Table).contains("none      in sync"));
    }

    #[test]
    fn documents_have_a_summary_and_the_services() {
        let json: serde_json::Value = serde_json::from_str(&text(&[report()], Format::Json)).unwrap();
        assert_eq!((&json["summary"]["ok"], &json["services"][0]["name"]), (&1.into(), &"web".into()));
        assert_eq!(
            (&json["services"][0]["traffic"]["ready"], &json["summary"]["withoutTraffic"]),
            (&1.into(), &0.into())
        );
        assert!(text(&[report()], Format::Yaml).contains("code: readiness-probe"));
    }
}
