//! JSON of objects without fields that no diagnosis reads, which are most of it: they are never decoded.

use std::collections::BTreeMap;

use endpoint_diagnostics::snapshot::Kind;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Error;
use serde_json::value::{RawValue, to_raw_value};

/// The fields of an object, each as it came.
type Fields = BTreeMap<String, Box<RawValue>>;

/// The fields of a pod's spec that endpoints and diagnoses depend on. Others, such as volumes, take many times their memory when
/// decoded.
const POD_SPEC: [&str; 7] =
    ["containers", "hostname", "initContainers", "nodeName", "readinessGates", "resourceClaims", "subdomain"];
/// The fields of a container that endpoints depend on.
const CONTAINER: [&str; 3] = ["name", "ports", "restartPolicy"];

/// An object of a kind without what no diagnosis reads.
///
/// Cost: the length of the object.
pub(super) fn narrowed(kind: Kind, json: &str) -> Result<String, Error> {
    let mut object: Fields = serde_json::from_str(json)?;
    change(&mut object, "metadata", |metadata: &mut Fields| {
        change(metadata, "managedFields", |managers: &mut Vec<Fields>| {
            managers.iter_mut().for_each(|manager| drop(manager.remove("fieldsV1")));
            Ok(())
        })
    })?;
    if kind == Kind::Pods {
        change(&mut object, "spec", |spec: &mut Fields| {
            spec.retain(|name, _| POD_SPEC.contains(&name.as_str()));
            change(spec, "containers", with_ports)?;
            change(spec, "initContainers", with_ports)
        })?;
    }
    serde_json::to_string(&object)
}

fn with_ports(containers: &mut Vec<Fields>) -> Result<(), Error> {
    containers.retain(|container| container.contains_key("ports"));
    for container in containers {
        container.retain(|name, _| CONTAINER.contains(&name.as_str()));
    }
    Ok(())
}

/// Changes a field, if it is there and not null.
fn change<T: DeserializeOwned + Serialize>(
    fields: &mut Fields,
    name: &str,
    change: impl FnOnce(&mut T) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(field) = fields.get_mut(name) else { return Ok(()) };
    if let Some(mut value) = serde_json::from_str::<Option<T>>(field.get())? {
        change(&mut value)?;
        *field = to_raw_value(&value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1 as core;
    use serde_json::{Value, json};

    use super::*;

    fn of(kind: Kind, object: &Value) -> Value {
        serde_json::from_str(&narrowed(kind, &object.to_string()).unwrap()).unwrap()
    }

    #[test]
    fn fields_of_managers_and_most_of_a_pods_spec_are_left_out() {
        let pod = json!({
            "metadata": {"name": "web", "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}]},
            "spec": {
                "nodeName": "a",
                "volumes": [{"name": "data", "emptyDir": {}}],
                "containers": [
                    {"name": "main", "image": "none", "ports": [{"name": "http", "containerPort": 80}]},
                    {"name": "beside", "image": "none"},
                ],
            },
            "status": {"phase": "Running"},
        });
        let narrow = json!({
            "metadata": {"name": "web", "managedFields": [{"manager": "kubelet"}]},
            "spec": {
                "nodeName": "a",
                "containers": [{"name": "main", "ports": [{"name": "http", "containerPort": 80}]}],
            },
            "status": {"phase": "Running"},
        });
        assert_eq!(of(Kind::Pods, &pod), narrow);
        assert_eq!(of(Kind::Services, &narrow), narrow);
    }

    #[test]
    fn fields_that_are_missing_or_null_stay_so() {
        for object in [
            json!({}),
            json!({"metadata": null, "spec": null}),
            json!({"metadata": {"managedFields": null}, "spec": {"containers": null}}),
        ] {
            assert_eq!(of(Kind::Pods, &object), object);
        }
        assert!(narrowed(Kind::Pods, r#"{"spec": []}"#).is_err());
    }

    /// What the controllers read of a pod is what they read of the whole object.
    #[test]
    fn endpoints_are_those_of_the_whole_pod() {
        let ports = json!([{"name": "http", "containerPort": 80, "protocol": "TCP"}]);
        let whole = json!({
            "metadata": {"namespace": "shop", "name": "web", "uid": "1", "labels": {"app": "web"}},
            "spec": {
                "nodeName": "a", "hostname": "web-0", "subdomain": "web",
                "readinessGates": [{"conditionType": "example.com/ready"}],
                "containers": [{"name": "main", "image": "none", "ports": ports, "env": [{"name": "A", "value": "b"}]}],
                "initContainers": [{"name": "beside", "restartPolicy": "Always", "ports": ports}, {"name": "setup"}],
            },
            "status": {"phase": "Running", "podIPs": [{"ip": "10.1.0.1"}], "conditions": [{"type": "Ready", "status": "True"}]},
        });
        let read = |value: Value| {
            let pod: core::Pod = serde_json::from_value(value).unwrap();
            endpointslice::Pod::from(&pod)
        };
        let (read, narrow) = (read(whole.clone()), read(of(Kind::Pods, &whole)));
        assert!(!read.differs_as_endpoint(&narrow), "{read:?} {narrow:?}");
        assert_eq!(format!("{read:?}"), format!("{narrow:?}"));
    }
}
