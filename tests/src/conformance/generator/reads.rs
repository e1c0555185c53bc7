//! Get, list, watch.

use super::{Generator, PROTOBUF, Resource, SEQUENCE, TABLE, query};
use crate::conformance::request::{Cell, Request};

fn cell(resource: &Resource, verb: &'static str, option: &'static str) -> Cell {
    Cell { resource: resource.plural, verb, option }
}

pub(super) fn get(g: &mut Generator, resource: &'static Resource, option: &'static str) {
    let name = g.existing(resource);
    let mut request = g.request(cell(resource, "get", option), "GET", resource.object_path(&name));
    request.subject = Some(resource.subject(&name));
    match option {
        "missing" => request.path = resource.object_path("⟦ns⟧-none"),
        "protobuf" => request.accept = Some(PROTOBUF),
        "table" => request.accept = Some(TABLE),
        "table object" => {
            request.accept = Some(TABLE);
            request.query = query(&[("includeObject", *g.rng.pick(&["Object", "Metadata", "x"]))]);
        }
        "bad accept" => request.accept = Some("application/json;as=Unknown;g=meta.k8s.io;v=v1"),
        "several accepts" => {
            request.accept = Some(*g.rng.pick(&[
                "application/vnd.kubernetes.protobuf,application/json",
                "text/html,application/json",
                "application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
                "application/yaml;q=0.1,application/json;q=0.9",
            ]))
        }
        "any accept" => request.accept = *g.rng.pick(&[None, Some("*/*"), Some("")]),
        "json stream" => request.accept = Some("application/json;stream=watch"),
        _ => {}
    }
    g.push(request);
}

/// The label selector by which a sequence keeps to its own objects. The real server's repair of Services at times writes
/// Events.
fn own(resource: &Resource, request: &mut Request, more: &str) {
    let alone = resource.namespaced && resource.plural != "events";
    let selector = match (alone, more.is_empty()) {
        (true, true) => return,
        (true, false) => more.to_owned(),
        (false, true) => SEQUENCE.to_owned(),
        (false, false) => format!("{SEQUENCE},{more}"),
    };
    request.query.push(("labelSelector".to_owned(), selector));
}

#[expect(clippy::too_many_lines, reason = "one arm for each option")]
pub(super) fn list(g: &mut Generator, resource: &'static Resource, option: &'static str) {
    let mut request = g.request(cell(resource, "list", option), "GET", resource.path());
    let mut label = "";
    let number = request.number.to_string();
    let known = g.lists.iter().rev().find(|(_, path)| *path == resource.path()).map(|(number, _)| *number);
    match option {
        "limit" | "limit protobuf" | "limit version 0" | "continue with version" => {
            limited(g, resource, option, request);
            return;
        }
        "version 0" => {
            request.query = query(&[("resourceVersion", "0")]);
            request.sync = Some(resource.path());
        }
        "not older than" => {
            request.query = query(&[
                ("resourceVersion", &format!("⟦list:{}⟧", known.unwrap_or(usize::MAX))),
                ("resourceVersionMatch", "NotOlderThan"),
            ]);
            request.sync = Some(resource.path());
        }
        "not older than zero" => {
            request.query = query(&[("resourceVersion", "0"), ("resourceVersionMatch", "NotOlderThan")]);
            request.sync = Some(resource.path());
        }
        "exact" => {
            // Of a list of any kind, as the Endpoints controller asks for Endpoints at the version of a Service. Not exactly
            // zero, which is refused.
            let last = g.lists.last().map(|(number, _)| *number);
            let version = last.map_or("999999999999".to_owned(), |number| format!("⟦list:{number}⟧"));
            request.query = query(&[("resourceVersion", &version), ("resourceVersionMatch", "Exact")]);
        }
        "exact old" => {
            let name = g.existing(resource);
            request.query = query(&[
                ("resourceVersion", &format!("⟦first:{}⟧", resource.subject(&name))),
                ("resourceVersionMatch", "Exact"),
            ]);
        }
        "label set" => {
            label = *g.rng.pick(&["app in (a,b)", "app notin (a)", "app in (a),tier", "app==a", " app = a "])
        }
        "label not" => label = *g.rng.pick(&["app!=a", "!app", "app!=a,!tier"]),
        "label exists" => label = *g.rng.pick(&["app", "example.com/x", "tier,app"]),
        "bad label" => {
            label = *g.rng.pick(&["app in", "a=b=c", "app=!", "=", "app in (", "a b", "app>1.5", "-x"])
        }
        "field" => {
            if let Some(selector) = g.rng.any(resource.fields) {
                request.query = query(&[("fieldSelector", selector)]);
            }
        }
        "field name" => {
            let name = g.existing(resource);
            let operator = *g.rng.pick(&["=", "!=", "=="]);
            let more =
                if resource.namespaced && g.rng.percent(30) { ",metadata.namespace=⟦ns⟧" } else { "" };
            request.query = query(&[("fieldSelector", &format!("metadata.name{operator}{name}{more}"))]);
        }
        "unknown field" => {
            request.query = query(&[(
                "fieldSelector",
                *g.rng.pick(&[
                    "spec.unknown=x",
                    "status.conditions=x",
                    "metadata.labels=x",
                    "metadata.uid=x",
                ]),
            )])
        }
        "bad field" => {
            request.query = query(&[(
                "fieldSelector",
                *g.rng.pick(&["metadata.name", "metadata.name=a=b", "metadata.name in (a)", ",", "=x"]),
            )])
        }
        "all namespaces" => {
            request.path = format!("{}/{}", resource.api, resource.plural);
            if resource.namespaced {
                label = SEQUENCE;
            }
        }
        "protobuf" => request.accept = Some(PROTOBUF),
        "table" => request.accept = Some(TABLE),
        "table object" => {
            request.accept = Some(TABLE);
            request.query = query(&[("includeObject", "Object")]);
        }
        // Its gate is off.
        "shard" => request.query = query(&[("shardSelector", "x")]),
        "future version" => {
            request.query = query(&[
                ("resourceVersion", "999999999999"),
                ("resourceVersionMatch", *g.rng.pick(&["NotOlderThan", "Exact"])),
            ])
        }
        _ => {}
    }
    own(resource, &mut request, label);
    g.push(request);
    if matches!(option, "plain" | "label set" | "version 0") {
        g.lists.push((number.parse().unwrap_or_default(), resource.path()));
    }
}

/// A list in pages.
fn limited(g: &mut Generator, resource: &Resource, option: &'static str, mut request: Request) {
    let limit = (1 + g.rng.below(2)).to_string();
    request.query = query(&[("limit", &limit)]);
    match option {
        "limit protobuf" => request.accept = Some(PROTOBUF),
        "limit version 0" => {
            request.query.push(("resourceVersion".to_owned(), "0".to_owned()));
            request.sync = Some(resource.path());
        }
        _ => {}
    }
    own(resource, &mut request, "");
    let first = g.push(request.clone());
    if option == "limit protobuf" {
        return;
    }
    let mut last = first;
    for _ in 0..2 {
        let mut next = request.clone();
        next.query = query(&[("limit", &limit), ("continue", &format!("⟦continue:{last}⟧"))]);
        match option {
            "continue with version" => {
                next.query.push(("resourceVersion".to_owned(), (*g.rng.pick(&["1", "0"])).to_owned()))
            }
            _ if g.rng.percent(10) => next.query.retain(|(key, _)| key != "limit"),
            _ => {}
        }
        own(resource, &mut next, "");
        last = g.push(next);
        if g.rng.percent(50) {
            return;
        }
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each option")]
pub(super) fn watch(g: &mut Generator, resource: &'static Resource, option: &'static str) {
    let mut request = g.request(cell(resource, "watch", option), "GET", resource.path());
    request.query = query(&[("watch", *g.rng.pick(&["true", "1"]))]);
    // Whatever it begins with may come from the cache.
    request.sync = Some(resource.path());
    let name = g.existing(resource);
    let subject = resource.subject(&name);
    let push = |request: &mut Request, key: &str, value: &str| {
        request.query.push((key.to_owned(), value.to_owned()))
    };
    let mut label = "";
    let mut awaits_end = false;
    let last = format!("⟦rv:{subject}⟧");
    let initial = |request: &mut Request, version: &str| {
        for (key, value) in [
            ("sendInitialEvents", "true"),
            ("resourceVersionMatch", "NotOlderThan"),
            ("allowWatchBookmarks", "true"),
            ("resourceVersion", version),
        ] {
            request.query.push((key.to_owned(), value.to_owned()));
        }
    };
    match option {
        "version 0" => push(&mut request, "resourceVersion", "0"),
        "old version" => push(&mut request, "resourceVersion", &format!("⟦first:{subject}⟧")),
        "last version" => push(&mut request, "resourceVersion", &last),
        "list version" => {
            let known =
                g.lists.iter().rev().find(|(_, path)| *path == resource.path()).map(|(number, _)| *number);
            push(&mut request, "resourceVersion", &format!("⟦list:{}⟧", known.unwrap_or(usize::MAX)));
        }
        "compacted" => push(&mut request, "resourceVersion", "1"),
        "initial events" => initial(&mut request, ""),
        "initial events protobuf" => {
            initial(&mut request, "");
            request.accept = Some(PROTOBUF);
        }
        "initial events version" => {
            let version = (*g.rng.pick(&["0", "1", last.as_str()])).to_owned();
            initial(&mut request, &version);
        }
        "label" => label = *g.rng.pick(&["app=a", "app!=a", "app in (a,b)", "!app"]),
        "bad label" => label = "a=(",
        "field" => {
            if let Some(selector) = g.rng.any(resource.fields) {
                push(&mut request, "fieldSelector", selector);
            }
        }
        "one name" => push(&mut request, "fieldSelector", &format!("metadata.name={name}")),
        "watch a name" => request.path = resource.object_path(&name),
        "protobuf" => {
            request.accept =
                Some(*g.rng.pick(&[PROTOBUF, "application/vnd.kubernetes.protobuf;stream=watch"]))
        }
        "table" => request.accept = Some(TABLE),
        "timeout" => {
            push(&mut request, "timeoutSeconds", "1");
            awaits_end = true;
        }
        "bookmarks" => {
            push(&mut request, "timeoutSeconds", "4");
            push(&mut request, "allowWatchBookmarks", "true");
            awaits_end = true;
        }
        _ => {}
    }
    if option == "watch a name" {
        if !resource.namespaced {
            request.sync = Some(resource.path());
        }
    } else {
        own(resource, &mut request, label);
    }
    let collection = resource.path();
    g.push_watch(request, awaits_end, collection);
}
