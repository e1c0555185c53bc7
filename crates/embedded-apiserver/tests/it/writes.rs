//! Creation, update and patch.

use embedded_apiserver::ApiServer;
use serde_json::{Value, json};

use super::support::{PODS, exchange, pod, send};

#[tokio::test]
async fn a_name_is_generated_and_a_taken_one_is_refused() {
    let server = ApiServer::new();
    let mut template = pod("");
    template["metadata"] = json!({ "generateName": "web-" });
    let (code, created) = send(&server, "POST", PODS, template).await;
    assert_eq!(code, 201);
    let name = created["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("web-") && name.len() == 9, "{name}");
    let (code, status) = send(&server, "POST", PODS, pod(name)).await;
    assert_eq!((code, &status["reason"]), (409, &json!("AlreadyExists")));
}

#[tokio::test]
async fn a_write_without_effect_keeps_the_version() {
    let server = ApiServer::new();
    let (_, created) = send(&server, "POST", PODS, pod("a")).await;
    let path = format!("{PODS}/a");
    let (code, put) = send(&server, "PUT", &path, created.clone()).await;
    assert_eq!(code, 200);
    assert_eq!(put["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    let (_, patched) = send(&server, "PATCH", &path, json!({})).await;
    assert_eq!(patched["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let server = ApiServer::new();
    let before = server.version();
    let (code, shown) = send(&server, "POST", &format!("{PODS}?dryRun=All"), pod("a")).await;
    assert_eq!((code, &shown["metadata"]["name"]), (201, &json!("a")));
    assert!(shown["metadata"].get("resourceVersion").is_none());
    let service = json!({ "metadata": { "name": "s" }, "spec": { "ports": [{ "port": 80 }] } });
    send(&server, "POST", "/api/v1/namespaces/default/services?dryRun=All", service).await;
    assert_eq!(server.version(), before);
}

#[tokio::test]
async fn unknown_fields_are_warned_of_or_refused() {
    let server = ApiServer::new();
    let mut odd = pod("a");
    odd["spec"]["foo"] = 1.into();
    let json = [("content-type", "application/json")];
    let strict = format!("{PODS}?fieldValidation=Strict");
    let (code, _, body) = exchange(&server, "POST", &strict, &json, odd.to_string()).await;
    assert_eq!(code, 400);
    let status: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        status["message"],
        "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field \"spec.foo\""
    );
    let (code, headers, _) = exchange(&server, "POST", PODS, &json, odd.to_string()).await;
    assert_eq!(
        (code, headers["warning"].to_str().unwrap()),
        (201, "299 - \"unknown field \\\"spec.foo\\\"\"")
    );
}

#[tokio::test]
async fn values_of_another_type_are_refused_in_strategic_patches() {
    let server = ApiServer::new();
    send(&server, "POST", PODS, pod("a")).await;
    let strategic = [("content-type", "application/strategic-merge-patch+json")];
    for (patch, error) in [
        (
            r#"{"metadata":{"labels":[1]}}"#,
            "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        (
            r#"{"spec":{"priority":1.0}}"#,
            "json: cannot unmarshal number 1.0 into Go struct field PodSpec.spec.priority of type int32",
        ),
    ] {
        let (code, _, body) = exchange(&server, "PATCH", &format!("{PODS}/a"), &strategic, patch).await;
        let status: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(code, 422, "{patch}");
        assert!(status["message"].as_str().unwrap().ends_with(error), "{status}");
    }
}

/// The JSON patch that `kubectl apply --server-side` sends after `kubectl apply`.
#[tokio::test]
async fn fields_are_handed_over_to_server_side_apply() {
    let server = ApiServer::new();
    let headers = [("content-type", "application/json-patch+json")];
    let (_, created) = send(&server, "POST", &format!("{PODS}?fieldManager=before"), pod("a")).await;
    let meta = &created["metadata"];
    let mut entries = meta["managedFields"].clone();
    entries[0]["manager"] = "kubectl".into();
    entries[0]["operation"] = "Apply".into();
    for (version, expected) in [(meta["resourceVersion"].clone(), 200), ("1".into(), 409)] {
        let patch = json!([
            { "op": "replace", "path": "/metadata/managedFields", "value": entries },
            { "op": "replace", "path": "/metadata/resourceVersion", "value": version },
        ]);
        let (code, _, body) =
            exchange(&server, "PATCH", &format!("{PODS}/a"), &headers, patch.to_string()).await;
        assert_eq!(code, expected, "{}", String::from_utf8_lossy(&body));
    }
    let (_, read) = send(&server, "GET", &format!("{PODS}/a"), Value::Null).await;
    assert_eq!(read["metadata"]["managedFields"], entries);
}

#[tokio::test]
async fn tokens_and_reviews_are_answered() {
    let server = ApiServer::new();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let (code, _) = send(&server, "POST", accounts, json!({ "metadata": { "name": "robot" } })).await;
    assert_eq!(code, 201);
    let (code, token) =
        send(&server, "POST", &format!("{accounts}/robot/token"), json!({ "spec": {} })).await;
    assert_eq!(code, 201, "{token}");
    let question = json!({ "spec": { "token": token["status"]["token"] } });
    let (code, review) = send(&server, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", question).await;
    assert_eq!(code, 201, "{review}");
    assert_eq!(review["status"]["user"]["username"], "system:serviceaccount:default:robot");
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let question = json!({ "spec": { "resourceAttributes": { "verb": "get", "resource": "pods" } } });
    let (code, review) = send(&server, "POST", path, question).await;
    assert_eq!((code, &review["status"]["allowed"]), (201, &json!(true)));
}

#[tokio::test]
async fn external_names_have_no_internal_policy() {
    let server = ApiServer::new();
    let services = "/api/v1/namespaces/default/services";
    let path = format!("{services}/s");
    let service = json!({ "metadata": { "name": "s" }, "spec": { "ports": [{ "port": 80 }] } });
    let (_, created) = send(&server, "POST", services, service).await;
    assert_eq!(created["spec"]["internalTrafficPolicy"], "Cluster");
    for (spec, policy) in [
        (json!({ "type": "ExternalName", "externalName": "x.example.com" }), Value::Null),
        (json!({ "type": "ClusterIP", "externalName": null }), json!("Cluster")),
    ] {
        let (code, patched) = send(&server, "PATCH", &path, json!({ "spec": spec })).await;
        assert_eq!((code, &patched["spec"]["internalTrafficPolicy"]), (200, &policy));
    }
}
