//! Writes of Endpoints, and what writes of slices have in common with them.

use std::collections::BTreeMap;

use endpoint_diagnostics::picture::newest_write;
use k8s_openapi::api::core::v1::{EndpointAddress, Endpoints};

use super::event::{Event, Kind, Tone};

/// Names in one text.
const NAMES: usize = 3;

/// Endpoints by pod or address: readiness, and all else that consumers read.
pub(super) type Members = BTreeMap<String, (bool, String)>;

/// The event of a write; none if nothing that consumers read has changed.
pub(super) fn event(name: &str, before: Option<&Endpoints>, after: Option<&Endpoints>) -> Option<Event> {
    let ports = |object: &Endpoints| -> Vec<_> {
        object.subsets.iter().flatten().map(|subset| subset.ports.clone()).collect()
    };
    let differ = matches!((before, after), (Some(before), Some(after)) if ports(before) != ports(after));
    let is = [before.is_some(), after.is_some()];
    let (text, tone) = write(is, &members(before), &members(after), differ)?;
    let by =
        after.and_then(|object| newest_write(&object.metadata)).and_then(|write| write.manager.as_deref());
    Some(Event::new(Kind::Endpoints, name, text, tone).by(by))
}

fn members(object: Option<&Endpoints>) -> Members {
    let mut members = Members::new();
    for subset in object.into_iter().flat_map(|object| object.subsets.iter().flatten()) {
        for (list, ready) in [(&subset.addresses, true), (&subset.not_ready_addresses, false)] {
            members.extend(list.iter().flatten().map(|address| (key(address), (ready, address.ip.clone()))));
        }
    }
    members
}

fn key(address: &EndpointAddress) -> String {
    address.target_ref.as_ref().and_then(|target| target.name.clone()).unwrap_or_else(|| address.ip.clone())
}

/// The text of a write, from an object that was there before and is there after, or not.
pub(super) fn write(
    [was, is]: [bool; 2],
    before: &Members,
    after: &Members,
    ports_differ: bool,
) -> Option<(String, Tone)> {
    let names = |found: Vec<&String>| {
        let more = found.len().saturating_sub(NAMES);
        let text = found.iter().take(NAMES).map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        if more > 0 { format!("{text} and {more} more") } else { text }
    };
    let ready = |members: &Members, name: &String| members.get(name).map(|(ready, _)| *ready);
    let select = |members: &Members, wanted: &dyn Fn(&String) -> bool| -> Vec<String> {
        members.keys().filter(|name| wanted(name)).cloned().collect()
    };
    let parts = [
        ("added", select(after, &|name| !before.contains_key(name))),
        ("removed", select(before, &|name| !after.contains_key(name))),
        (
            "ready",
            select(after, &|name| ready(before, name) == Some(false) && ready(after, name) == Some(true)),
        ),
        (
            "not ready",
            select(after, &|name| ready(before, name) == Some(true) && ready(after, name) == Some(false)),
        ),
        (
            "changed",
            select(after, &|name| {
                ready(before, name) == ready(after, name) && before.get(name) != after.get(name)
            }),
        ),
    ];
    let mut texts: Vec<String> = match (was, is) {
        (false, true) => vec!["was created".to_owned()],
        (true, false) => vec!["was deleted".to_owned()],
        _ => vec![],
    };
    texts.extend(
        parts
            .iter()
            .filter(|(_, found)| !found.is_empty())
            .map(|(what, found)| format!("{what}: {}", names(found.iter().collect()))),
    );
    if ports_differ {
        texts.push("other ports".to_owned());
    }
    let count = |members: &Members| members.values().filter(|(ready, _)| *ready).count();
    let tone = match count(after).cmp(&count(before)) {
        std::cmp::Ordering::Greater => Tone::Good,
        std::cmp::Ordering::Less => Tone::Bad,
        std::cmp::Ordering::Equal => Tone::Neutral,
    };
    (!texts.is_empty()).then(|| (texts.join("; "), tone))
}
