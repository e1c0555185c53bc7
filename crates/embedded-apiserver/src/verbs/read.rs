//! `GET`: one object, a list, a watch. `handlers/get.go`.

use std::time::Duration;

use http::Response;

use super::call::{Call, Content, Outcome};
use super::names;
use super::render::{self, Renderer};
use crate::http::body::Body;
use crate::http::negotiate::Media;
use crate::list::{self, ListOptions, Request, parse_version, too_large, wait_for};
use crate::status::Status;
use crate::watch;

/// Time of a watch that sets none: half of upstream's longest, `--min-request-timeout` of 30 minutes, which varies there.
const WATCH_TIME: Duration = Duration::from_secs(45 * 60);

/// Reads an object.
pub(crate) async fn get(call: Call<'_>) -> Result<Outcome, Status> {
    let Call { core, entry, target, query, .. } = call;
    let key = names::key_of(entry, &target.namespace, &target.name)?;
    if let Some(version) = query.first("resourceVersion").filter(|version| !version.is_empty()) {
        let cached = is_cached(call);
        let version = parse_version(version).map_err(|error| {
            if cached {
                Status::new(500, "", error)
            } else {
                Status::bad_request(format!("invalid resource version: {error}"))
            }
        })?;
        if cached {
            wait_for(&core.store, version).await?;
        } else if version > core.store.version() {
            return Err(too_large(version, core.store.version(), 0));
        }
    }
    let stored = core.store.get(entry.resource, &key);
    let stored =
        stored.ok_or_else(|| Status::not_found(entry.kind.group, entry.kind.plural, &target.name))?;
    Ok(Outcome::new(200, Content::Stored(stored.body().clone())))
}

/// Lists or watches objects.
pub(crate) async fn list(call: Call<'_>, media: Media) -> Result<Response<Body>, Status> {
    let renderer = || Renderer::new(call.entry, media, call.query, &call.core.environment);
    let request = request(call)?;
    if !request.options.watch {
        let page = list::list(&call.core.store, &request).await?;
        return Ok(render::list(&renderer()?, &page));
    }
    let store = call.core.store.clone();
    let renderer = renderer()?;
    let watch = watch::watch(store, request, Some(WATCH_TIME)).await?;
    Ok(render::watch(renderer, watch))
}

/// The list or watch that a call asks for.
fn request(call: Call<'_>) -> Result<Request, Status> {
    let Call { entry, target, query, .. } = call;
    let options = ListOptions::parse(query)?;
    let list_target = list::Target {
        resource: entry.resource,
        namespaced: entry.kind.namespaced,
        namespace: target.namespace.clone(),
        cached: is_cached(call),
        selectable: entry.selectable.clone(),
    };
    Request::new(list_target, options)
}

/// True if the API server has a watch cache for the kind.
fn is_cached(call: Call<'_>) -> bool {
    call.entry.kind.plural != "events"
}
