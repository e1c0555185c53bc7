//! The words of reports, in tones.

use cli_runtime::style::Tone;
use endpoint_diagnostics::report::{PodReport, Presence, Verdict};
use endpoint_diagnostics::{ServiceReport, Traffic};

/// The sentence about the work of the controllers.
pub(super) fn controller(verdict: Verdict) -> String {
    match verdict {
        Verdict::Ok => Tone::Good.paint("in sync"),
        Verdict::Unknown => Tone::Doubtful.paint("unknown"),
        Verdict::Lagging => Tone::Doubtful.paint("lagging"),
        Verdict::Wrong => Tone::Bad.paint("wrong"),
    }
}

/// The same for a pod; a dash for one that is rightly in neither slices nor Endpoints, because it is not selected.
pub(super) fn of_pod(pod: &PodReport) -> String {
    let is_other = |code: &str| matches!(code, "label-differs" | "not-selected");
    if pod.verdict == Verdict::Ok && pod.reasons.iter().any(|reason| is_other(reason.code)) {
        return "-".to_owned();
    }
    controller(pod.verdict)
}

/// The state in slices or Endpoints.
pub(super) fn presence(presence: Presence) -> String {
    match presence {
        Presence::Ready => Tone::Good.paint("ready"),
        Presence::Serving => Tone::Doubtful.paint("serving"),
        Presence::NotReady => Tone::Doubtful.paint("not ready"),
        Presence::Absent => "absent".to_owned(),
        Presence::NotApplicable => "-".to_owned(),
    }
}

/// The pods that get traffic, of those that should, for a cell: `3/4`, `none`.
pub(super) fn traffic(report: &ServiceReport) -> String {
    let Some(traffic) = Traffic::of(report) else { return unknown(report).to_owned() };
    let cell = match traffic {
        Traffic { ready: 0, serving: 0, .. } => "none".to_owned(),
        Traffic { ready: 0, serving, .. } => format!("{serving} terminating"),
        Traffic { ready, of, .. } => format!("{ready}/{of}"),
    };
    tone(&traffic).paint(&cell)
}

/// The same as a sentence, with the reason if there is none.
pub(super) fn sentence(report: &ServiceReport) -> String {
    let Some(traffic) = Traffic::of(report) else {
        return if unknown(report) == "-" { "a DNS alias".to_owned() } else { "traffic unknown".to_owned() };
    };
    let noun = |count| match (report.pods.is_empty() || report.is_custom(), count) {
        (true, 1) => "endpoint",
        (true, _) => "endpoints",
        (false, 1) => "pod",
        (false, _) => "pods",
    };
    let Traffic { ready, of, serving, reason } = &traffic;
    let sentence = if *ready > 0 {
        let verb = if *ready == 1 { "gets" } else { "get" };
        format!("{ready} of {of} {} {verb} traffic", noun(*of))
    } else if *serving > 0 {
        format!("only {serving} terminating {} left to serve", noun(*serving))
    } else {
        let why = reason.as_ref().map(|reason| format!(": {} ({})", reason.message, reason.code));
        format!("no traffic{}", why.unwrap_or_default())
    };
    tone(&traffic).paint(&sentence)
}

fn tone(traffic: &Traffic) -> Tone {
    match traffic {
        Traffic { ready: 0, serving: 0, .. } => Tone::Bad,
        Traffic { ready, of, .. } if ready == of => Tone::Good,
        _ => Tone::Doubtful,
    }
}

/// The cell of a Service whose traffic is not known.
fn unknown(report: &ServiceReport) -> &'static str {
    if report.verdict == Verdict::Unknown { "unknown" } else { "-" }
}
