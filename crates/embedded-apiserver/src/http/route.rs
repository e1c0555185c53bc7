//! Paths: `k8s.io/apiserver pkg/endpoints/request` and the routes of its installer.

use http::Method;

use crate::kinds::{KINDS, Kind, Subresource};
use crate::reviews::{REVIEWS, Review};
use crate::status::Status;

/// The meaning of a method and path.
#[derive(Debug)]
pub(crate) enum Route {
    /// Objects of a kind.
    Objects(Target),
    /// A kind that is answered and never stored.
    Review(&'static Review),
    /// Discovery, health and the like. `in_api` tells whether an unknown path is answered with a Status.
    Other { in_api: bool },
}

/// Objects of a kind, and the action on them.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) kind: &'static Kind,
    pub(crate) verb: Verb,
    /// Empty for all namespaces, and for cluster-scoped kinds.
    pub(crate) namespace: String,
    /// Empty for collections.
    pub(crate) name: String,
    /// Empty for the object itself.
    pub(crate) subresource: &'static str,
}

/// An action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    /// Also watches, by a parameter.
    List,
    Create,
    Update,
    Patch,
    Delete,
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.api_version(), self.plural)
    }
}

/// Finds the route of a request, by its decoded path.
pub(crate) fn route(method: &Method, path: &str) -> Result<Route, Status> {
    let tokens: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, version, rest) = match tokens.as_slice() {
        ["api", version, rest @ ..] if path.starts_with("/api/") => ("", *version, rest),
        ["apis", group, version, rest @ ..] if path.starts_with("/apis/") && is_group(group) => {
            (*group, *version, rest)
        }
        _ => {
            let in_api = match tokens.as_slice() {
                ["api", ..] => path == "/api" || path.starts_with("/api/"),
                ["apis", group] => path.starts_with("/apis/") && is_group(group),
                _ => false,
            };
            return other(method, in_api);
        }
    };
    if rest.is_empty() {
        return other(method, true);
    }
    objects(method, group, version, rest).unwrap_or_else(|| Err(not_found()))
}

/// 404 of a path in a known group.
pub(crate) fn not_found() -> Status {
    Status::new(404, "NotFound", "the server could not find the requested resource").with_details()
}

/// 405 of a known path.
pub(crate) fn not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    Status::new(405, "MethodNotAllowed", message).with_details()
}

fn is_group(group: &str) -> bool {
    !group.is_empty()
        && (KINDS.iter().any(|kind| kind.group == group)
            || REVIEWS.iter().any(|review| review.group == group))
}

fn other(method: &Method, in_api: bool) -> Result<Route, Status> {
    if in_api && method != Method::GET {
        return Err(not_allowed());
    }
    Ok(Route::Other { in_api })
}

/// A collection or an object, by its path.
struct Place<'a> {
    plural: &'a str,
    namespaced: bool,
    namespace: &'a str,
    name: &'a str,
    subresource: &'a str,
}

fn places<'a>(rest: &[&'a str]) -> Vec<Place<'a>> {
    let place = |plural, namespaced, namespace, name, subresource| Place {
        plural,
        namespaced,
        namespace,
        name,
        subresource,
    };
    match *rest {
        [plural] => vec![place(plural, false, "", "", "")],
        [plural, name] => vec![place(plural, false, "", name, "")],
        // An action on a namespace, or a collection in it.
        ["namespaces", namespace, plural] => {
            vec![place("namespaces", false, "", namespace, plural), place(plural, true, namespace, "", "")]
        }
        [plural, name, subresource] => vec![place(plural, false, "", name, subresource)],
        ["namespaces", namespace, plural, name] => vec![place(plural, true, namespace, name, "")],
        ["namespaces", namespace, plural, name, subresource] => {
            vec![place(plural, true, namespace, name, subresource)]
        }
        _ => Vec::new(),
    }
}

/// `None` if there is no such path.
fn objects(method: &Method, group: &str, version: &str, rest: &[&str]) -> Option<Result<Route, Status>> {
    places(rest).iter().find_map(|place| {
        // The plural first: it differs most often, mostly in its length.
        let kinds = KINDS
            .iter()
            .find(|kind| kind.plural == place.plural && kind.group == group && kind.version == version);
        if let Some(kind) = kinds {
            return of_kind(method, kind, place);
        }
        let review = REVIEWS.iter().find(|review| {
            review.plural == place.plural && review.group == group && review.version == version
        })?;
        if place.namespaced || !place.name.is_empty() {
            return None;
        }
        Some(match *method {
            Method::POST => Ok(Route::Review(review)),
            _ => Err(not_allowed()),
        })
    })
}

fn of_kind(method: &Method, kind: &'static Kind, place: &Place<'_>) -> Option<Result<Route, Status>> {
    let everywhere = kind.namespaced && !place.namespaced;
    if place.namespaced && !kind.namespaced || everywhere && !place.name.is_empty() {
        return None;
    }
    let (subresource, verbs) = if place.subresource.is_empty() {
        ("", kind.verbs)
    } else {
        let Subresource { name, verbs, .. } =
            kind.subresources.iter().find(|subresource| subresource.name == place.subresource)?;
        (*name, *verbs)
    };
    let (verb, name) = match (method, place.name.is_empty()) {
        (&Method::GET, true) => (Verb::List, "list"),
        (&Method::GET, false) => (Verb::Get, "get"),
        (&Method::POST, true) if !everywhere => (Verb::Create, "create"),
        (&Method::POST, false) if !subresource.is_empty() => (Verb::Create, "create"),
        (&Method::PUT, false) => (Verb::Update, "update"),
        (&Method::PATCH, false) => (Verb::Patch, "patch"),
        (&Method::DELETE, false) => (Verb::Delete, "delete"),
        _ => return Some(Err(not_allowed())),
    };
    if !verbs.contains(&name) {
        return Some(Err(not_allowed()));
    }
    Some(Ok(Route::Objects(Target {
        kind,
        verb,
        namespace: place.namespace.to_owned(),
        name: place.name.to_owned(),
        subresource,
    })))
}
