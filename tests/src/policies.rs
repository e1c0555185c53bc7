//! An admission policy that annotates slices on their way into the store, as a mutating webhook may.
//!
//! Controllers of Services leave annotations of slices as they are, but those of Endpoints replace them: under the policy
//! each of their updates changes nothing. Upstream and this program send it at each sync.

use http::Method;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;
use kube::api::PostParams;
use random_operations::requests::Request;
use serde_json::{Value, json};

use crate::requests::must;
use crate::scenario::World;
use crate::wait::{self, LIMIT};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const KINDS: [&str; 2] = ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"];
const NAME: &str = "marks-slices";

/// The annotation.
pub const MARK: &str = "policy.example/mark";

/// An object of the API of admission.
pub fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// Creates the policy. Some time later it is in force.
pub fn create() -> [Request; 2] {
    let expression =
        format!("Object{{metadata: Object.metadata{{annotations: {{\"{MARK}\": \"team-a\"}}}}}}");
    let rule = json!({"apiGroups": ["discovery.k8s.io"], "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE"], "resources": ["endpointslices"]});
    let policy = json!({"metadata": {"name": NAME}, "spec": {
        "matchConstraints": {"resourceRules": [rule]},
        "reinvocationPolicy": "Never",
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
    }});
    let binding = json!({"metadata": {"name": NAME}, "spec": {"policyName": NAME}});
    let mut objects = [policy, binding].into_iter();
    KINDS.map(|kind| Request::create(&format!("{GROUP}/{kind}"), objects.next().unwrap_or(Value::Null)))
}

/// Creates the policy in a cluster, and waits until it is in force.
pub async fn enforce(world: &World) {
    for Request { method, path, body } in create() {
        must(world.client(), method.as_str(), &path, &body).await;
    }
    let slice: EndpointSlice = serde_json::from_value(
        json!({"metadata": {"name": "probe"}, "addressType": "IPv4", "endpoints": []}),
    )
    .expect("a slice");
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let slices: &Api<EndpointSlice> = world.slices();
    wait::until("the policy to be in force", LIMIT, async || {
        let created = slices.create(&dry_run, &slice).await.map_err(|error| error.to_string())?;
        let marked = created.metadata.annotations.is_some_and(|annotations| annotations.contains_key(MARK));
        if marked { Ok(()) } else { Err("it is not".to_owned()) }
    })
    .await;
}

/// Deletes the policy. Marks stay.
pub fn delete() -> [Request; 2] {
    KINDS.map(|kind| Request {
        method: Method::DELETE,
        path: format!("{GROUP}/{kind}/{NAME}"),
        body: Value::Null,
    })
}
