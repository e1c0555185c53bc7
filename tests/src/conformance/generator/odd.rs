//! Requests that are not about one object of a kind: paths and methods that do not exist, reviews, tokens.

use serde_json::{Value, json};

use super::{Generator, JSON, PROTOBUF, Resource, SEQUENCE, options, query};
use crate::conformance::request::{Body, Cell};

fn groups() -> [(&'static str, &'static [&'static str]); 3] {
    ["reviews", "token", "paths"].map(|resource| (resource, options(resource)))
}

/// The cells of this module, apart from those of the verb `bad`.
pub(super) fn cells() -> impl Iterator<Item = Cell> {
    groups().into_iter().flat_map(|(resource, options)| {
        options.iter().map(move |option| Cell { resource, verb: "bad", option })
    })
}

pub(super) fn bad(g: &mut Generator, resource: &'static Resource, option: &'static str) {
    let name = g.existing(resource);
    let cell = Cell { resource: resource.plural, verb: "bad", option };
    let mut request = g.request(cell, "GET", resource.object_path(&name));
    let body = Body::Json(
        json!({"kind": resource.kind, "apiVersion": resource.api_version, "metadata": {"name": name}}),
    );
    match option {
        "put collection" | "patch collection" => {
            request.method = if option == "put collection" { "PUT" } else { "PATCH" };
            request.path = resource.path();
            request.content_type =
                Some(if option == "put collection" { JSON } else { "application/merge-patch+json" });
            request.body = body;
        }
        "post object" => {
            request.method = "POST";
            request.content_type = Some(JSON);
            request.body = body;
        }
        "unknown subresource" => request.path.push_str("/unknown"),
        "post status" | "delete status" => {
            request.path.push_str("/status");
            request.method = if option == "post status" { "POST" } else { "DELETE" };
        }
        "head" => request.method = "HEAD",
        "options" => request.method = "OPTIONS",
        "unknown method" => request.method = *g.rng.pick(&["FETCH", "TRACE"]),
        "trailing slash" | "empty name" => {
            let slashes = if option == "empty name" { "//" } else { "/" };
            request.path = format!("{}{slashes}", resource.path());
            request.query = query(&[("labelSelector", SEQUENCE)]);
        }
        "percent" => {
            let name = *g.rng.pick(&["a%20b", "%41", "a%2Fb", "a..b"]);
            request.path = resource.object_path(name);
        }
        "bad namespace" => request.path = format!("{}/namespaces/Bad_Name/{}", resource.api, resource.plural),
        "unknown version" => request.path = request.path.replacen("/v1/", "/v9/", 1),
        "status of collection" => request.path = format!("{}/status", resource.path()),
        "delete parameters" => {
            request.method = "DELETE";
            request.path = resource.object_path("⟦ns⟧-none");
            request.query = query(&[("dryRun", "Some")]);
        }
        "bad field validation" | "bad field manager" => {
            request.method = "POST";
            request.path = resource.path();
            request.content_type = Some(JSON);
            request.body = body;
            let long = "x".repeat(130);
            request.query = if option == "bad field validation" {
                query(&[("fieldValidation", "Loose")])
            } else {
                query(&[("fieldManager", &long)])
            };
        }
        _ => request.path = request.path.replace("⟦ns⟧", "⟦ns⟧-none"),
    }
    g.push(request);
}

pub(super) fn make(g: &mut Generator) {
    let groups = groups();
    let (resource, options) = *g.rng.pick(&groups);
    let option = *g.rng.pick(options);
    let cell = Cell { resource, verb: "bad", option };
    match resource {
        "reviews" => review(g, cell),
        "token" => token(g, cell),
        _ => path(g, cell),
    }
}

fn review(g: &mut Generator, cell: Cell) {
    let authentication = "/apis/authentication.k8s.io/v1/tokenreviews";
    let authorization = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let token = json!({"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "spec": {"token": "token-of-admin"}});
    let attributes = json!({"namespace": "⟦ns⟧", "verb": "get", "resource": "pods"});
    let access = json!({"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": {"resourceAttributes": attributes, "user": "u", "groups": ["system:masters"]}});
    let mut request = g.request(cell, "POST", authentication.to_owned());
    request.content_type = Some(JSON);
    let mut document = token;
    match cell.option {
        "unknown token" => document["spec"]["token"] = json!("unknown"),
        "subject access review" | "review protobuf" => {
            authorization.clone_into(&mut request.path);
            document = access;
            if g.rng.percent(30) {
                document["spec"] = json!({"nonResourceAttributes": {"path": "/healthz", "verb": "get"}, "user": "u", "groups": ["system:masters"]});
            }
            if cell.option == "review protobuf" {
                request.accept = Some(PROTOBUF);
            }
        }
        "self subject access review" => {
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".clone_into(&mut request.path);
            document["kind"] = json!("SelfSubjectAccessReview");
            document["apiVersion"] = json!("authorization.k8s.io/v1");
            document["spec"] = json!({"resourceAttributes": attributes});
        }
        "get review" => {
            request.method = "GET";
            request.content_type = None;
            document = Value::Null;
        }
        _ => {}
    }
    if !document.is_null() {
        request.body = Body::Json(document);
    }
    g.push(request);
}

fn token(g: &mut Generator, cell: Cell) {
    let accounts = super::RESOURCES.iter().find(|resource| resource.plural == "serviceaccounts").unwrap();
    let name = if cell.option == "missing account" { "none".to_owned() } else { g.existing(accounts) };
    let mut request = g.request(cell, "POST", format!("{}/token", accounts.object_path(&name)));
    request.content_type = Some(JSON);
    let mut document = json!({"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "spec": {}});
    match cell.option {
        "audiences" => document["spec"]["audiences"] = json!(["a", "b"]),
        "expiration" => document["spec"]["expirationSeconds"] = json!(700),
        "get token" => request.method = "GET",
        _ => {}
    }
    request.body = Body::Json(document);
    g.push(request);
}

fn path(g: &mut Generator, cell: Cell) {
    let paths: &[&str] = match cell.option {
        "unknown path" => &["/unknown", "/api/v1/", "/api/v2", "/apis/", "/apis/discovery.k8s.io/v1/"],
        "unknown group" => &["/apis/example.com/v1/pods", "/apis/example.com", "/apis/example.com/v1"],
        "unknown resource" => {
            &["/api/v1/things", "/api/v1/namespaces/⟦ns⟧/things", "/apis/apps/v1/namespaces/⟦ns⟧/things/x"]
        }
        "health" => &["/healthz", "/livez", "/readyz", "/livez/ping", "/readyz/ping"],
        _ => &["/apis/apps/v1", "/api/v1", "/api"],
    };
    let path = (*g.rng.pick(paths)).to_owned();
    let mut request = g.request(cell, "GET", path);
    if matches!(cell.option, "unknown path")
        && matches!(request.path.as_str(), "/api/v1/" | "/apis/" | "/apis/discovery.k8s.io/v1/")
    {
        request.path.push('x');
    }
    if cell.option == "post to a group" {
        request.method = "POST";
    }
    g.push(request);
}
