//! Repairs as requests.

use endpoint_controller_manager::version;
use endpoint_diagnostics::audit::{Action, ObjectRef, Repair, Subject};
use http::{Method, Request, header};
use serde_json::{Value, json};

/// The request of a repair. It fails if the object has another uid or resourceVersion than the one that was looked at.
///
/// # Errors
/// If the name of the object makes no URL.
pub(super) fn request(repair: &Repair, dry_run: bool) -> Result<Request<Vec<u8>>, http::Error> {
    let (uid, version) = (&repair.uid, &repair.resource_version);
    let patch = |key: &str, value: Value| {
        let metadata = json!({"uid": uid, "resourceVersion": version, key: value});
        (Method::PATCH, "application/strategic-merge-patch+json", json!({ "metadata": metadata }))
    };
    let (method, content, body) = match &repair.action {
        Action::Delete => {
            let preconditions = json!({"uid": uid, "resourceVersion": version});
            // With a body, the API server ignores the parameters of the URL.
            let dry_run: &[&str] = if dry_run { &["All"] } else { &[] };
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions,
                "dryRun": dry_run});
            (Method::DELETE, "application/json", options)
        }
        Action::SetLabel { key, value } => patch("labels", json!({*key: value})),
        Action::RemoveLabel { key } => patch("labels", json!({*key: null})),
        Action::SetAnnotation { key, value } => patch("annotations", json!({*key: value})),
        // The strategy merges by uid.
        Action::AddOwner { kind, name, uid } => {
            let owner = json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": uid,
                "controller": true, "blockOwnerDeletion": true});
            patch("ownerReferences", json!([owner]))
        }
    };
    let query = if dry_run { "?dryRun=All" } else { "" };
    Request::builder()
        .method(method)
        .uri(format!("{}{query}", path(&repair.object)))
        .header(header::CONTENT_TYPE, content)
        .header(header::ACCEPT, "application/json")
        .header(header::USER_AGENT, version::user_agent(crate::name::NAME, super::command::NAME))
        .body(body.to_string().into_bytes())
}

/// The path of an object.
pub(super) fn path(object: &ObjectRef) -> String {
    let (group, resource) = match object.kind {
        Subject::EndpointSlice => ("/apis/discovery.k8s.io/v1", "endpointslices"),
        Subject::Endpoints => ("/api/v1", "endpoints"),
        Subject::Service => ("/api/v1", "services"),
    };
    format!("{group}/namespaces/{}/{resource}/{}", object.namespace, object.name)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use endpoint_diagnostics::audit::{Options, audit};
    use endpoint_diagnostics::snapshot::{Object, Snapshot};
    use jiff::Timestamp;

    use super::*;

    /// The repair of one slice of a Service that exists or not.
    fn repair(labels: &Value, exists: bool) -> Repair {
        let mut snapshot = Snapshot::new(Timestamp::UNIX_EPOCH, []);
        if exists {
            let spec = json!({"selector": {"app": "web"}, "clusterIP": "10.96.0.1"});
            let service = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "s"}, "spec": spec});
            snapshot.upsert(Object::Service(Arc::new(serde_json::from_value(service).unwrap())));
        }
        let mut metadata = json!({"name": "web-a", "namespace": "shop", "uid": "u", "resourceVersion": "7"});
        metadata["labels"] = json!({"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            "kubernetes.io/service-name": "web"});
        metadata["labels"].as_object_mut().unwrap().extend(labels.as_object().unwrap().clone());
        if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
            metadata["ownerReferences"] =
                json!([{"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "s"}]);
        }
        let endpoints = json!([{"addresses": ["10.1.0.1"]}]);
        let slice = json!({"metadata": metadata, "addressType": "IPv4", "endpoints": endpoints, "ports": []});
        snapshot.upsert(Object::EndpointSlice(Arc::new(serde_json::from_value(slice).unwrap())));
        audit(&snapshot, &Options::default()).findings.into_iter().find_map(|finding| finding.repair).unwrap()
    }

    fn sent(repair: &Repair, dry_run: bool) -> (String, Value) {
        let request = request(repair, dry_run).unwrap();
        let body = serde_json::from_slice(request.body()).unwrap();
        (format!("{} {}", request.method(), request.uri()), body)
    }

    const PATH: &str = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-a";

    #[test]
    fn every_write_has_the_uid_and_the_version_that_was_seen() {
        let orphan = repair(&json!({}), false);
        let (line, body) = sent(&orphan, false);
        assert_eq!(line, format!("DELETE {PATH}"));
        assert_eq!(body["preconditions"], json!({"uid": "u", "resourceVersion": "7"}));
        let asked = path(orphan.unless_exists.as_ref().unwrap());
        assert_eq!(asked, "/api/v1/namespaces/shop/services/web");

        let (line, body) = sent(&repair(&json!({}), true), false);
        assert_eq!(line, format!("PATCH {PATH}"));
        let owners = &body["metadata"]["ownerReferences"];
        assert_eq!((&owners[0]["kind"], &owners[0]["uid"]), (&json!("Service"), &json!("s")));
        assert_eq!(
            (&body["metadata"]["uid"], &body["metadata"]["resourceVersion"]),
            (&json!("u"), &json!("7"))
        );

        let (_, body) = sent(&repair(&json!({"service.kubernetes.io/headless": ""}), true), false);
        assert_eq!(body["metadata"]["labels"], json!({"service.kubernetes.io/headless": null}));
        let (_, body) = sent(&repair(&json!({"kubernetes.io/service-name": ""}), true), false);
        assert_eq!(body["metadata"]["labels"], json!({"kubernetes.io/service-name": "web"}));
    }

    #[test]
    fn a_dry_run_is_said_where_the_api_server_reads_it() {
        let (line, body) = sent(&repair(&json!({}), false), true);
        assert_eq!((line, &body["dryRun"]), (format!("DELETE {PATH}?dryRun=All"), &json!(["All"])));
        let (line, _) = sent(&repair(&json!({}), true), true);
        assert_eq!(line, format!("PATCH {PATH}?dryRun=All"));
    }
}
