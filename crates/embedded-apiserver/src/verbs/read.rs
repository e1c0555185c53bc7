//! `GET`: one object, a list, a watch. `handlers/get.go`.

use std::sync::Arc;
use std::time::Duration;

use http::Response;

use super::call::Call;
use super::names;
use super::render::{self, Renderer};
use crate::http::body::Body;
use crate::http::negotiate::Media;
use crate::list::{self, ListOptions, Request};
use crate::status::Status;
use crate::store::Stored;
use crate::watch;

/// Time of a watch that sets none: half of upstream's longest, `--min-request-timeout` of 30 minutes, which varies there.
const WATCH_TIME: Duration = Duration::from_secs(45 * 60);

/// Reads an object, as it is now.
/// Errors: 404 if there is none.
pub(crate) fn get(call: Call<'_>) -> Result<Arc<Stored>, Status> {
    let Call { core, entry, target, .. } = call;
    let key = names::key_of(entry, &target.namespace, &target.name)?;
    let stored = core.store.get(entry.resource, &key);
    stored.ok_or_else(|| Status::not_found(entry.kind.group, entry.kind.plural, &target.name))
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
        // The API server has no watch cache of Events.
        cached: entry.kind.plural != "events",
        selectable: entry.selectable.clone(),
    };
    Request::new(list_target, options)
}
