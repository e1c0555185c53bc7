//! The endpoints that the cluster should have, by rules of its own, and those that it has: as text.

use std::collections::{BTreeMap, BTreeSet};

use embedded_apiserver::ApiServer;
use endpointslice::well_known::{MANAGED_BY, SERVICE_NAME, TOPOLOGY_ZONE};
use serde_json::{Value, json};

use super::{HIDE, NUMBER, PUBLISH, Rules};
use crate::reconciler::SliceReconciler as _;

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub(super) fn custom(server: &ApiServer) -> Vec<Value> {
    [server.objects("v1", "ServiceAccount"), server.objects("v1", "Namespace")].concat()
}

/// The number of a custom object, as it was when it was last readable.
pub(super) fn number(object: &Value) -> Option<u8> {
    object["metadata"]["annotations"][NUMBER].as_str()?.trim_start_matches('?').parse().ok()
}

pub(super) fn is_unreadable(object: &Value) -> bool {
    object["metadata"]["annotations"][NUMBER].as_str().is_some_and(|text| text.starts_with('?'))
}

/// The endpoints that the controller should publish, with this number in the file; and the address types without any.
pub(super) fn expected(server: &ApiServer, file: u8) -> BTreeSet<String> {
    let services = server.objects("v1", "Service").into_iter();
    let published = services.filter(|it| it["spec"]["type"] != "ExternalName");
    published.filter_map(|service| expected_of(server, file, &service)).flatten().collect()
}

fn expected_of(server: &ApiServer, file: u8, service: &Value) -> Option<Vec<String>> {
    let [namespace, name, uid] = ["namespace", "name", "uid"].map(|it| &service["metadata"][it]);
    let annotation = service["metadata"]["annotations"][PUBLISH].as_str()?;
    let custom = custom(server);
    let of = |namespace: &Value, name: &Value| {
        let is_it =
            |it: &&Value| it["metadata"]["namespace"] == *namespace && it["metadata"]["name"] == *name;
        custom.iter().find(is_it).and_then(number)
    };
    let numbers = [annotation.parse().ok(), of(namespace, name), of(&Value::Null, namespace), Some(file)];
    let port = &service["spec"]["ports"][0]["targetPort"];
    let fields =
        json!([null, null, null, null, null, null, if port.is_string() { &Value::Null } else { port }]);
    let numbers = (1..).zip(numbers);
    let numbers =
        numbers.filter_map(|(source, it)| Some((format!("172.16.{source}.{}", it?), fields.clone())));
    let (pods, nodes) = (server.objects("v1", "Pod"), server.objects("v1", "Node"));
    let pods = pods.iter().filter_map(|pod| {
        let fields = fields_of(pod, &nodes, service)?;
        Some(items(&pod["status"]["podIPs"]).map(move |ip| (text(&ip["ip"]), fields.clone())))
    });
    let all: Vec<(String, Value)> = numbers.chain(pods.flatten()).collect();
    let lines_of = |family: &Value| {
        let service = format!("{}/{}", text(namespace), text(name));
        let of_family = all.iter().filter(|(ip, _)| ip.contains(':') == (family == "IPv6"));
        let line = |(ip, fields): &(String, Value)| format!("{service} {ip} {fields} of {}", text(uid));
        let lines: Vec<String> = of_family.map(line).collect();
        if lines.is_empty() { vec![format!("{service} {}", text(family))] } else { lines }
    };
    Some(items(&service["spec"]["ipFamilies"]).flat_map(lines_of).collect())
}

/// The fields of the endpoint of a pod: ready, serving, terminating, zone, node, uid and port.
fn fields_of(pod: &Value, nodes: &[Value], service: &Value) -> Option<Value> {
    let (metadata, spec, status) = (&pod["metadata"], &pod["spec"], &pod["status"]);
    let is_its = metadata["namespace"] == service["metadata"]["namespace"]
        && metadata["labels"]["app"] == service["spec"]["selector"]["app"]
        && metadata["labels"]["drain"].is_null()
        && metadata["annotations"][HIDE].is_null()
        && status["phase"] != "Succeeded";
    let node = nodes.iter().find(|node| is_its && node["metadata"]["name"] == spec["nodeName"])?;
    let serving = items(&status["conditions"]).any(|it| it["type"] == "Ready" && it["status"] == "True");
    let terminating = !metadata["deletionTimestamp"].is_null();
    let zone = &node["metadata"]["labels"][TOPOLOGY_ZONE];
    let port = match &service["spec"]["ports"][0]["targetPort"] {
        Value::String(_) => &spec["containers"][0]["ports"][0]["containerPort"],
        number => number,
    };
    let ready = serving && !terminating;
    Some(json!([ready, serving, terminating, zone, spec["nodeName"], metadata["uid"], port]))
}

/// Service and address of each endpoint that should be published, with the versions of the Service and the pod.
pub(super) fn versions(server: &ApiServer, expected: &BTreeSet<String>) -> BTreeMap<String, String> {
    let (services, pods) = (server.objects("v1", "Service"), server.objects("v1", "Pod"));
    let version = |object: Option<&Value>| object.map(|it| text(&it["metadata"]["resourceVersion"]));
    let versions_of = |line: &String| {
        let [service, address]: [&str; 2] = line.split(' ').take(2).collect::<Vec<_>>().try_into().ok()?;
        let is_its = |it: &&Value| {
            let metadata = &it["metadata"];
            format!("{}/{}", text(&metadata["namespace"]), text(&metadata["name"])) == service
        };
        let has_it = |it: &&Value| items(&it["status"]["podIPs"]).any(|ip| ip["ip"] == address);
        let versions = [version(services.iter().find(is_its)), version(pods.iter().find(has_it))];
        let is_address = address.contains(['.', ':']);
        is_address.then(|| (format!("{service} {address} "), format!("{versions:?}")))
    };
    expected.iter().filter_map(versions_of).collect()
}

/// The slices of the controller. Those of a Service that does not exist are the garbage collector's.
pub(super) fn slices_of(server: &ApiServer) -> impl Iterator<Item = Value> {
    let services = server.objects("v1", "Service");
    let slices = server.objects("discovery.k8s.io/v1", "EndpointSlice").into_iter();
    slices.filter(move |slice| {
        let (metadata, labels) = (&slice["metadata"], &slice["metadata"]["labels"]);
        let owns = |service: &Value| {
            let service = &service["metadata"];
            service["namespace"] == metadata["namespace"] && service["name"] == labels[SERVICE_NAME]
        };
        labels[MANAGED_BY] == Rules::NAME && services.iter().any(owns)
    })
}

/// The endpoints that the controller publishes.
pub(super) fn published(server: &ApiServer) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for slice in slices_of(server) {
        let (metadata, labels) = (&slice["metadata"], &slice["metadata"]["labels"]);
        let service = format!("{}/{}", text(&metadata["namespace"]), text(&labels[SERVICE_NAME]));
        let more = if labels["more"].is_null() { "" } else { ", with another label" };
        let line = |endpoint: &Value| {
            let [ready, serving, terminating] =
                ["ready", "serving", "terminating"].map(|it| &endpoint["conditions"][it]);
            let (uid, port) = (&endpoint["targetRef"]["uid"], &slice["ports"][0]["port"]);
            let fields =
                json!([ready, serving, terminating, endpoint["zone"], endpoint["nodeName"], uid, port]);
            let owner = text(&metadata["ownerReferences"][0]["uid"]);
            format!("{service} {} {fields} of {owner}{more}", text(&endpoint["addresses"][0]))
        };
        let mut of_slice: Vec<_> = items(&slice["endpoints"]).map(line).collect();
        if of_slice.is_empty() {
            // A lone one without an owner stays, as upstream's does.
            of_slice.push(format!("{service} {}{more}", text(&slice["addressType"])));
        }
        for line in of_slice {
            let twice = format!("{line}, twice");
            if !lines.insert(line) {
                lines.insert(twice);
            }
        }
    }
    lines
}
