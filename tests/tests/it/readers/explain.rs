//! What `explain` says about a settled state, compared with what is stored: for each Service and each pod, the presence must
//! be the stored one, and the verdict `ok`.

use std::collections::BTreeMap;

use random_operations::{NAMESPACE, SERVICE_NAME};
use serde_json::Value;
use tests::settled::State;
use tests::tool;

/// The conditions of each endpoint, by Service and pod.
type Presences<'a> = BTreeMap<(&'a str, &'a str), &'static str>;

/// The Services about which the program says something else, each with a line.
pub(super) fn disagreements(state: &State) -> Vec<String> {
    let reports = reports(state);
    let places = [("slices", in_slices(state)), ("endpoints", in_endpoints(state))];
    let mut wrong = Vec::new();
    for service in of_kind(state, "Service").map(name) {
        let report = reports.iter().find(|it| it["namespace"] == NAMESPACE && it["name"] == service);
        let Some(report) = report else {
            wrong.push(format!("{service}: no report"));
            continue;
        };
        let mut lines = Vec::new();
        if report["verdict"] != "ok" || report.to_string().contains("\"unexplained\"") {
            lines.push(format!("verdict {}", report["verdict"]));
        }
        for pod in of_kind(state, "Pod").map(name) {
            let row = report["pods"].as_array().into_iter().flatten().find(|row| row["name"] == pod);
            for (field, stored) in &places {
                let stored = stored.get(&(service, pod)).copied().unwrap_or("absent");
                let said = row.and_then(|row| row[field].as_str()).unwrap_or("absent");
                if stored != said && !(stored == "absent" && said == "notApplicable") {
                    lines.push(format!("{pod} is {stored} in {field}, and said to be {said}"));
                }
            }
        }
        if !lines.is_empty() {
            wrong.push(format!("{service}: {}: {report}", lines.join(", ")));
        }
    }
    wrong
}

/// The reports of the program.
fn reports(state: &State) -> Vec<Value> {
    tool::about(&state.kubeconfig, &["explain", "-A", "-o", "json"]).json()["services"]
        .as_array()
        .expect("a list")
        .clone()
}

fn in_slices(state: &State) -> Presences<'_> {
    let mut presences = BTreeMap::new();
    for slice in of_kind(state, "EndpointSlice") {
        let service = slice["metadata"]["labels"][SERVICE_NAME].as_str().unwrap_or_default();
        for endpoint in slice["endpoints"].as_array().into_iter().flatten() {
            let is = |condition: &str| endpoint["conditions"][condition] == true;
            let found = match (is("ready"), is("serving") && is("terminating")) {
                (true, _) => "ready",
                (false, true) => "serving",
                (false, false) => "notReady",
            };
            add(&mut presences, service, endpoint, found);
        }
    }
    presences
}

fn in_endpoints(state: &State) -> Presences<'_> {
    let mut presences = BTreeMap::new();
    for endpoints in of_kind(state, "Endpoints") {
        for subset in endpoints["subsets"].as_array().into_iter().flatten() {
            for (list, found) in [("addresses", "ready"), ("notReadyAddresses", "notReady")] {
                for address in subset[list].as_array().into_iter().flatten() {
                    add(&mut presences, name(endpoints), address, found);
                }
            }
        }
    }
    presences
}

/// Of several entries of a pod, the best counts.
fn add<'a>(presences: &mut Presences<'a>, service: &'a str, entry: &'a Value, found: &'static str) {
    let rank = |state: &str| ["ready", "serving", "notReady"].iter().position(|it| *it == state);
    let Some(pod) = entry["targetRef"]["name"].as_str() else { return };
    let known = presences.entry((service, pod)).or_insert(found);
    if rank(found) < rank(known) {
        *known = found;
    }
}

/// The objects of a kind in the namespace of the trace.
fn of_kind<'a>(state: &'a State, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    state.of_kind(kind).filter(|item| item["metadata"]["namespace"] == NAMESPACE)
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}
