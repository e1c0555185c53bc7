//! From a request to its response.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Response};

use super::call::{Call, Content, Outcome};
use super::cascade::cascade;
use super::create::{self, Creation};
use super::decode::{self, Expected};
use super::meta;
use super::options::{WriteOptions, manager};
use super::record::{self, Created};
use super::render::{self, Renderer};
use super::scale::{self, SCALE};
use super::{patch, read, remove, subresources, tracking, update};
use crate::core::{Core, Entry};
use crate::discovery;
use crate::http::body::Body;
use crate::http::content_type::{declared, format_of};
use crate::http::negotiate::{Endpoint, Format, negotiate};
use crate::http::query::{Query, decode_percent};
use crate::http::response::{TEXT, error, object, of, text, tree};
use crate::http::route::{Route, Target, Verb, not_found, route};
use crate::http::warnings;
use crate::kinds::KINDS;
use crate::openapi;
use crate::reviews::{self, Review};
use crate::schema::Type;
use crate::status::Status;

/// Answers a request.
pub(crate) async fn answer(core: &Arc<Core>, request: &Parts, body: Result<Bytes, Status>) -> Response<Body> {
    let user = core.users.of(&request.headers);
    let event = core
        .auditor
        .as_ref()
        .and_then(|_| record::event(request, body.as_ref().ok(), user, core.environment.now()));
    let response = routed(core, request, body).await;
    if let (Some(auditor), Some(mut event)) = (&core.auditor, event) {
        if let Some(Created(name)) = response.extensions().get() {
            event.name.clone_from(name);
        }
        event.code = response.status().as_u16();
        event.answered = core.environment.now();
        auditor(&event);
    }
    response
}

async fn routed(core: &Arc<Core>, request: &Parts, body: Result<Bytes, Status>) -> Response<Body> {
    let Parts { method, uri, headers, .. } = request;
    let query = Query::parse(uri.query().unwrap_or_default());
    let path = decode_percent(uri.path());
    match route(method, &path) {
        Ok(Route::Objects(target)) => {
            let Some(entry) = Entry::of(target.kind) else {
                return error(&Status::internal("a kind without a schema"), headers);
            };
            let call = Call { core, entry, target: &target, headers, query: &query, body: &body };
            let mut texts = Vec::new();
            let answered = objects(call, &mut texts).await;
            let mut response = answered.unwrap_or_else(|status| error(&status, headers));
            warnings::write(response.headers_mut(), &texts);
            response
        }
        Ok(Route::Review(review)) => {
            let answered = review_response(core, review, headers, &query, &body);
            answered.unwrap_or_else(|status| error(&status, headers))
        }
        Ok(Route::Other { in_api }) => other(request, &path, in_api),
        Err(status) => error(&status, headers),
    }
}

/// Discovery, health, and what is nowhere.
fn other(request: &Parts, path: &str, in_api: bool) -> Response<Body> {
    let Parts { method, headers, .. } = request;
    if method == Method::GET {
        match path.trim_end_matches('/') {
            "/healthz" | "/livez" | "/readyz" => return text(200, "ok"),
            // A single check is written by another function upstream, without the header against sniffing.
            "/healthz/ping" | "/livez/ping" | "/readyz/ping" => return of(200, TEXT, b"ok".to_vec()),
            _ => {}
        }
        if let Some(response) = openapi::answer(path) {
            return response.map(Body::from);
        }
        if let Some(object) = discovery::answer(path, KINDS) {
            return match negotiate(headers, Endpoint::Other) {
                Ok(_) => tree(200, &object),
                Err(status) => error(&status, headers),
            };
        }
    }
    if in_api { error(&not_found(), headers) } else { text(404, "404 page not found\n") }
}

async fn objects(call: Call<'_>, warnings: &mut Vec<String>) -> Result<Response<Body>, Status> {
    let Call { entry, target, headers, query, .. } = call;
    let verb = target.verb;
    if verb == Verb::Patch && !patch::is_patch_type(declared(headers)) {
        return Err(Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type").with_details());
    }
    warnings.extend(entry.kind.deprecation.map(str::to_owned));
    let media = negotiate(headers, Endpoint::Resource)?;
    let renderer = || Renderer::new(entry, media, query, &call.core.environment);
    let outcome = match verb {
        Verb::List => return read::list(call, media).await,
        Verb::Get if target.subresource == SCALE => scale::get(call)?,
        Verb::Get => Outcome::new(200, Content::Stored(read::get(call)?.body().clone())),
        Verb::Create if target.subresource.is_empty() => created(call, warnings)?,
        Verb::Create => subresources::create(call, warnings)?,
        Verb::Update if target.subresource == SCALE => scale::update(call, warnings)?,
        Verb::Update => update::update(call, warnings)?,
        Verb::Patch if target.subresource == SCALE => scale::patch(call, warnings)?,
        Verb::Patch => patch::patch(call, warnings)?,
        Verb::Delete => remove::one(call)?,
    };
    if verb != Verb::Get {
        cascade(call.core);
    }
    let created = outcome.created.clone();
    let mut response = show(media.format, &renderer()?, outcome);
    if let Some(name) = created {
        response.extensions_mut().insert(Created(name));
    }
    Ok(response)
}

fn show(format: Format, renderer: &Renderer, outcome: Outcome) -> Response<Body> {
    let code = outcome.code;
    match outcome.content {
        Content::Stored(body) => render::object(code, renderer, &body),
        Content::Other(api_version, kind, type_, shown) => {
            object(code, format, (api_version, kind), type_, shown)
        }
    }
}

/// `handlers/create.go`.
fn created(call: Call<'_>, warnings: &mut Vec<String>) -> Result<Outcome, Status> {
    let Call { core, entry, target, .. } = call;
    let Target { namespace, .. } = target;
    let format = format_of(call.headers)?;
    let body = call.body()?;
    let options = WriteOptions::parse(call.query, "CreateOptions")?;
    let mut object = decode::body(format, body, entry.into(), options.validation, warnings)?;
    entry.kind.strategy.default(&mut object);
    let by = manager(&options, call.headers);
    let creation = Creation { entry, namespace, dry_run: options.dry_run, manager: &by };
    let generates = core.auditor.is_some() && meta::text(&object, "name").is_empty();
    let body = create::create(core, creation, object)?;
    let created = if generates { Some(meta::text(&entry.tree(&body)?, "name").to_owned()) } else { None };
    Ok(Outcome { code: 201, content: Content::Stored(body), created })
}

fn review_response(
    core: &Core,
    review: &'static Review,
    headers: &HeaderMap,
    query: &Query,
    body: &Result<Bytes, Status>,
) -> Result<Response<Body>, Status> {
    let media = negotiate(headers, Endpoint::Resource)?;
    let format = format_of(headers)?;
    let body = body.as_ref().map_err(Clone::clone)?;
    let options = WriteOptions::parse(query, "CreateOptions")?;
    let type_ = Type::named(review.type_name)
        .ok_or_else(|| Status::internal(format!("no schema of {}", review.kind)))?;
    let api_version = format!("{}/{}", review.group, review.version);
    let expected = Expected { api_version: &api_version, kind: review.kind, type_ };
    let mut texts = Vec::new();
    let mut question = decode::body(format, body, expected, options.validation, &mut texts)?;
    let by = manager(&options, headers);
    let fields = tracking::of_other(type_, &api_version, review.kind, "");
    fields.update(None, &mut question, &by, core.environment.now());
    let answered = reviews::answer(review, question, &core.users)?;
    let mut response = object(201, media.format, (&api_version, review.kind), Some(type_), answered);
    warnings::write(response.headers_mut(), &texts);
    Ok(response)
}
