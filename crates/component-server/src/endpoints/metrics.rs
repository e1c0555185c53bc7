//! Metrics pages.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any};
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};

use super::{BuildFacts, Slis};
use crate::refusal::plain;

/// The Prometheus text format, as upstream names it.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

pub(super) fn page<F>(facts: Arc<BuildFacts>, encode: F) -> MethodRouter
where
    F: Fn(&mut String) -> std::fmt::Result + Clone + Send + Sync + 'static,
{
    any(move || async move { exposition(&facts, encode) })
}

pub(super) fn slis_page<F>(facts: Arc<BuildFacts>, slis: Slis, filter: F) -> MethodRouter
where
    F: Fn(String) -> String + Clone + Send + Sync + 'static,
{
    any(move |method: Method| async move {
        if method == Method::DELETE {
            slis.reset();
            return ([(CONTENT_TYPE, "text/plain; charset=utf-8")], "metrics reset\n").into_response();
        }
        exposition(&facts, |text| {
            slis.encode(facts.started, text)?;
            *text = filter(std::mem::take(text));
            Ok(())
        })
    })
}

/// Metrics, with the time that the process started in a header of its own.
fn exposition(facts: &BuildFacts, encode: impl FnOnce(&mut String) -> std::fmt::Result) -> Response {
    let mut text = String::new();
    match encode(&mut text) {
        Ok(()) => {
            // The end of the other format, OpenMetrics.
            if let Some(rest) = text.strip_suffix("# EOF\n") {
                text.truncate(rest.len());
            }
            let started = facts.started.as_second().to_string();
            let content_type = (CONTENT_TYPE.as_str(), TEXT_FORMAT.to_owned());
            ([content_type, ("process-start-time-unix", started)], text).into_response()
        }
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot encode metrics: {error}")),
    }
}
