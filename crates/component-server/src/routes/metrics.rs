//! Metrics pages.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};

use super::component_info::ComponentInfo;
use super::slis::Slis;
use crate::error_response::plain;

/// Media type of the Prometheus text format, as upstream sends it.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

pub(super) fn page<F>(info: Arc<ComponentInfo>, encode: F) -> MethodRouter
where
    F: Fn(&mut String) -> std::fmt::Result + Clone + Send + Sync + 'static,
{
    any(move || async move { exposition(&info, encode) })
}

pub(super) fn slis_page<F>(info: Arc<ComponentInfo>, slis: Slis, filter: F) -> MethodRouter
where
    F: Fn(String) -> String + Clone + Send + Sync + 'static,
{
    any(move |method: Method| async move {
        if method == Method::DELETE {
            slis.reset();
            return ([(CONTENT_TYPE, "text/plain; charset=utf-8")], "metrics reset\n").into_response();
        }
        exposition(&info, |text| {
            slis.encode(info.started, text)?;
            *text = filter(std::mem::take(text));
            Ok(())
        })
    })
}

/// Responds with metrics, and the start time of the process in a header.
fn exposition(info: &ComponentInfo, encode: impl FnOnce(&mut String) -> std::fmt::Result) -> Response {
    let mut text = String::new();
    match encode(&mut text) {
        Ok(()) => {
            // The end marker of OpenMetrics, which the text format lacks.
            if let Some(rest) = text.strip_suffix("# EOF\n") {
                text.truncate(rest.len());
            }
            let started = info.started.as_second().to_string();
            let content_type = (CONTENT_TYPE.as_str(), TEXT_FORMAT.to_owned());
            ([content_type, ("process-start-time-unix", started)], text).into_response()
        }
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("unable to encode metrics: {error}")),
    }
}
