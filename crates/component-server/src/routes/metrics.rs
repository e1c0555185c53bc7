//! `/metrics` and `/metrics/slis`.

use std::sync::Arc;

use axum::extract::RawQuery;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};

use super::component_info::ComponentInfo;
use super::exposition::{selected, with_go_bounds, without};
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
    any(move |RawQuery(query): RawQuery| async move { respond(&info, &disabled, query.as_deref(), encode) })
}

pub(super) fn slis_page(info: Arc<ComponentInfo>, disabled: Disabled, slis: Slis) -> MethodRouter {
    any(move |method: Method, RawQuery(query): RawQuery| async move {
        if method == Method::DELETE {
            slis.reset();
            return ([(CONTENT_TYPE, "text/plain; charset=utf-8")], "metrics reset\n").into_response();
        }
        respond(&info, &disabled, query.as_deref(), |text| slis.encode(info.started, text))
    })
}

/// Responds with metrics, and the start time of the process in a header.
fn respond(
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
            let text = with_go_bounds(&selected(without(text, disabled), query.unwrap_or_default()));
            let started = info.started.as_second().to_string();
            let content_type = (CONTENT_TYPE.as_str(), TEXT_FORMAT.to_owned());
            ([content_type, ("process-start-time-unix", started)], text).into_response()
        }
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("unable to encode metrics: {error}")),
    }
}
