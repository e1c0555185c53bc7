//! Audit events of requests.

use bytes::Bytes;
use http::HeaderMap;
use http::header::USER_AGENT;
use http::request::Parts;
use jiff::Timestamp;
use serde_json::Value;

use super::decode;
use super::meta;
use crate::audit::AuditEvent;
use crate::codec::json::FieldValidation;
use crate::core::Entry;
use crate::http::content_type::format_of;
use crate::http::query::{Query, decode_percent};
use crate::http::route::{Route, Target, Verb, route};
use crate::schema::Type;

/// The name of an object that the server has created, as an extension of the response.
#[derive(Debug, Clone)]
pub(crate) struct Created(pub(crate) String);

/// The event of a request for objects before its response is known; `None` for all other requests.
pub(crate) fn event(
    request: &Parts,
    body: Option<&Bytes>,
    user: &str,
    received: Timestamp,
) -> Option<AuditEvent> {
    let path = decode_percent(request.uri.path());
    let Ok(Route::Objects(target)) = route(&request.method, &path) else { return None };
    let entry = Entry::of(target.kind)?;
    let query = Query::parse(request.uri.query().unwrap_or_default());
    let verb = match target.verb {
        Verb::Get => "get",
        Verb::List if query.flag("watch").unwrap_or_default() => "watch",
        Verb::List => "list",
        Verb::Create => "create",
        Verb::Update => "update",
        Verb::Patch => "patch",
        Verb::Delete => "delete",
    };
    let request_object = body.and_then(|body| object(entry, &target, &request.headers, body));
    let created = request_object.as_ref().filter(|_| target.name.is_empty() && target.verb == Verb::Create);
    let name = created.map_or(target.name.as_str(), |object| meta::text(object, "name")).to_owned();
    let agent =
        request.headers.get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    Some(AuditEvent {
        verb,
        group: target.kind.group.to_owned(),
        version: target.kind.version.to_owned(),
        resource: target.kind.plural.to_owned(),
        subresource: target.subresource.to_owned(),
        namespace: target.namespace.clone(),
        name,
        user: user.to_owned(),
        user_agent: agent.unwrap_or_default(),
        code: 0,
        received,
        answered: received,
        request_object,
    })
}

fn object(entry: &'static Entry, target: &Target, headers: &HeaderMap, body: &Bytes) -> Option<Value> {
    if body.is_empty() {
        return None;
    }
    match target.verb {
        Verb::Patch => serde_json::from_slice(body).ok(),
        Verb::Delete => {
            let type_ = Type::named("k8s.io/apimachinery/pkg/apis/meta/v1.DeleteOptions")?;
            decode::options(format_of(headers).ok()?, body, type_).ok()
        }
        _ => {
            let format = format_of(headers).ok()?;
            decode::body(format, body, entry.into(), FieldValidation::Ignore, &mut Vec::new()).ok()
        }
    }
}
