//! The subresource `scale`; `refusals.jsonl` has its refusals.

use embedded_apiserver::ApiServer;
use serde_json::{Value, json};

use super::support::send;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const SCALE: &str = "/apis/apps/v1/namespaces/default/deployments/d/scale";

async fn with_deployment() -> ApiServer {
    let server = ApiServer::new();
    let deployment = json!({
        "metadata": { "name": "d" },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "a": "b" } },
            "template": {
                "metadata": { "labels": { "a": "b" } },
                "spec": { "containers": [{ "name": "c", "image": "i" }] },
            },
        },
    });
    let (code, answer) = send(&server, "POST", DEPLOYMENTS, deployment).await;
    assert_eq!(code, 201, "{answer}");
    server
}

#[tokio::test]
async fn a_patched_scale_changes_the_deployment() {
    let server = with_deployment().await;
    let (_, scale) = send(&server, "GET", SCALE, Value::Null).await;
    assert_eq!((&scale["kind"], &scale["apiVersion"]), (&json!("Scale"), &json!("autoscaling/v1")));
    assert_eq!(scale["spec"], json!({ "replicas": 2 }));
    assert_eq!(scale["status"], json!({ "replicas": 0, "selector": "a=b" }));
    let (code, scale) = send(&server, "PATCH", SCALE, json!({ "spec": { "replicas": 5 } })).await;
    assert_eq!((code, &scale["spec"]["replicas"]), (200, &json!(5)));
    let (_, deployment) = send(&server, "GET", &format!("{DEPLOYMENTS}/d"), Value::Null).await;
    assert_eq!(deployment["spec"]["replicas"], 5);
    assert_eq!(deployment["metadata"]["generation"], 2);
    let owners = deployment["metadata"]["managedFields"].as_array().unwrap();
    let owner =
        owners.iter().find(|owner| owner["subresource"] == "scale").expect("an owner of the replicas");
    assert_eq!(owner["fieldsV1"], json!({ "f:spec": { "f:replicas": {} } }));
}

#[tokio::test]
async fn a_replaced_scale_keeps_what_it_does_not_name() {
    let server = with_deployment().await;
    let (code, scale) = send(&server, "PUT", SCALE, json!({ "metadata": { "name": "d" }, "spec": {} })).await;
    assert_eq!((code, &scale["spec"]), (200, &json!({})));
    let (_, deployment) = send(&server, "GET", &format!("{DEPLOYMENTS}/d"), Value::Null).await;
    assert_eq!(deployment["spec"]["replicas"], 0);
    assert_eq!(deployment["spec"]["selector"], json!({ "matchLabels": { "a": "b" } }));
}
