//! Test objects, and one pure sync over them.

use controller_harness::{NAMESPACE, merged};
pub(crate) use controller_harness::{object, pod, service};
use endpoints_controller::{Plan, Unready, desired_subsets, plan};
use endpointslice::{Interner, Pod, Service};
use k8s_openapi::api::core::v1::{self as core, EndpointSubset, Endpoints};
use serde_json::{Value, json};

/// The address of a pod in an Endpoints object.
pub(crate) fn address(pod: &str, ip: &str) -> Value {
    json!({"ip": ip, "nodeName": "node-1",
        "targetRef": {"kind": "Pod", "namespace": NAMESPACE, "name": pod, "uid": format!("uid-{pod}")}})
}

/// The Endpoints that upstream would have stored for [`service`], with `changes` merged in.
pub(crate) fn stored(name: &str, subsets: Value, changes: Value) -> Value {
    let object = json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": format!("endpoints-{name}"),
            "resourceVersion": "50", "labels": {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}},
        "subsets": subsets,
    });
    merged(object, changes)
}

/// The desired subsets of a Service with these pods.
pub(crate) fn desired(service: &Value, pods: &[Value], old_annotation: bool) -> Vec<EndpointSubset> {
    let mut interner = Interner::default();
    let service = Service::from_api(&object::<core::Service>(service.clone()), &mut interner);
    let pods: Vec<Pod> =
        pods.iter().map(|pod| Pod::from_api(&object::<core::Pod>(pod.clone()), &mut interner)).collect();
    desired_subsets(&service, &pods, Unready::of(&service, old_annotation))
}

/// The write of a sync as JSON; `None` if there is none. `time` is the trigger time.
pub(crate) fn sync(
    service: &Value,
    pods: &[Value],
    stored: Option<&Value>,
    time: Option<&str>,
) -> Option<Value> {
    let subsets = desired(service, pods, false);
    let service = Service::from(&object::<core::Service>(service.clone()));
    let stored: Option<Endpoints> = stored.map(|stored| object(stored.clone()));
    match plan(stored.as_ref(), &service, subsets, time.map(ToOwned::to_owned)) {
        Plan::Nothing => None,
        Plan::Create(endpoints) => {
            assert!(stored.is_none());
            Some(serde_json::to_value(endpoints).unwrap())
        }
        Plan::Update(endpoints) => {
            assert!(stored.is_some());
            Some(serde_json::to_value(endpoints).unwrap())
        }
    }
}
