//! Metrics pages.

use std::sync::Arc;

use axum::extract::RawQuery;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};

use super::component_info::ComponentInfo;
use super::slis::Slis;
use crate::error_response::plain;

/// Media type of the Prometheus text format, as upstream sends it.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// The metrics that no page shows, by their full names (`--disabled-metrics`).
pub(super) type Disabled = Arc<[String]>;

pub(super) fn page<F>(info: Arc<ComponentInfo>, disabled: Disabled, encode: F) -> MethodRouter
where
    F: Fn(&mut String) -> std::fmt::Result + Clone + Send + Sync + 'static,
{
    any(
        move |RawQuery(query): RawQuery| async move { exposition(&info, &disabled, query.as_deref(), encode) },
    )
}

pub(super) fn slis_page(info: Arc<ComponentInfo>, disabled: Disabled, slis: Slis) -> MethodRouter {
    any(move |method: Method, RawQuery(query): RawQuery| async move {
        if method == Method::DELETE {
            slis.reset();
            return ([(CONTENT_TYPE, "text/plain; charset=utf-8")], "metrics reset\n").into_response();
        }
        exposition(&info, &disabled, query.as_deref(), |text| slis.encode(info.started, text))
    })
}

/// Responds with metrics, and the start time of the process in a header.
fn exposition(
    info: &ComponentInfo,
    disabled: &[String],
    query: Option<&str>,
    encode: impl FnOnce(&mut String) -> std::fmt::Result,
) -> Response {
    let mut text = String::new();
    match encode(&mut text) {
        Ok(()) => {
            // The end marker of OpenMetrics, which the text format lacks.
            if let Some(rest) = text.strip_suffix("# EOF\n") {
                text.truncate(rest.len());
            }
            let text = selected(without(text, disabled), query.unwrap_or_default());
            let started = info.started.as_second().to_string();
            let content_type = (CONTENT_TYPE.as_str(), TEXT_FORMAT.to_owned());
            ([content_type, ("process-start-time-unix", started)], text).into_response()
        }
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("unable to encode metrics: {error}")),
    }
}

/// The metrics but these.
fn without(text: String, disabled: &[String]) -> String {
    if disabled.is_empty() {
        text
    } else {
        keep_metrics(&text, |metric| !disabled.iter().any(|name| name == metric))
    }
}

/// The metrics that the parameters `name[]` of a query name; all without one.
fn selected(text: String, query: &str) -> String {
    let parameters = form_urlencoded::parse(query.as_bytes());
    let names: Vec<_> = parameters.filter(|(key, _)| key == "name[]").map(|(_, name)| name).collect();
    if names.is_empty() {
        return text;
    }
    keep_metrics(&text, |metric| names.iter().any(|name| name == metric))
}

/// The metrics of the text format whose names `is_wanted` returns true for. Other comments are kept.
///
/// A metric is everything from its first comment line to the comment line of another.
fn keep_metrics(text: &str, is_wanted: impl Fn(&str) -> bool) -> String {
    let mut is_kept = true;
    let keep = |line: &&str| {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.split_whitespace();
            let describes_one = words.next().is_some_and(|word| matches!(word, "HELP" | "TYPE" | "UNIT"));
            is_kept = !describes_one || words.next().is_some_and(&is_wanted);
        }
        is_kept
    };
    text.split_inclusive('\n').filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::{selected, without};

    #[test]
    fn metrics_can_be_selected_by_name() {
        const TEXT: &str =
            "# HELP up Up.\n# TYPE up gauge\nup 1\n# TYPE upper gauge\nupper{a=\"# TYPE up\"} 1\n";
        let of = |query| selected(TEXT.to_owned(), query);
        assert_eq!(of("a=b"), TEXT);
        assert_eq!(of("name[]=up"), "# HELP up Up.\n# TYPE up gauge\nup 1\n");
        assert_eq!(of("name%5B%5D=up&name[]=upper"), TEXT);
        assert_eq!(of("name[]="), "");
    }

    #[test]
    fn disabled_metrics_are_left_out_whole() {
        const TEXT: &str = "# HELP a_total A.\n# TYPE a_total counter\na_total{x=\"y\"} 1\n\
                            # HELP b_seconds B.\n# TYPE b_seconds histogram\nb_seconds_sum 1\nb_seconds_count 1\n\
                            b_seconds_bucket{le=\"+Inf\"} 1\n# HELP b B.\n# TYPE b gauge\nb 1\n";
        let of = |names: &[&str]| {
            without(TEXT.to_owned(), &names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), TEXT);
        assert_eq!(of(&["c", ""]), TEXT);
        assert_eq!(of(&["b_seconds", "a_total"]), "# HELP b B.\n# TYPE b gauge\nb 1\n");
        assert!(of(&["b"]).ends_with("le=\"+Inf\"} 1\n"));
    }
}
