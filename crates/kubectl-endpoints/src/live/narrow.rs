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
    if let Some(mut metadata) = field::<Fields>(&object, "metadata")? {
        if let Some(mut managers) = field::<Vec<Fields>>(&metadata, "managedFields")? {
            for manager in &mut managers {
                manager.remove("fieldsV1");
            }
            set(&mut metadata, "managedFields", &managers)?;
        }
        set(&mut object, "metadata", &metadata)?;
    }
    if kind == Kind::Pods
        && let Some(mut spec) = field::<Fields>(&object, "spec")?
    {
        spec.retain(|name, _| POD_SPEC.contains(&name.as_str()));
        for name in ["containers", "initContainers"] {
            if let Some(mut containers) = field::<Vec<Fields>>(&spec, name)? {
                containers.retain(|container| container.contains_key("ports"));
                for container in &mut containers {
                    container.retain(|name, _| CONTAINER.contains(&name.as_str()));
                }
                set(&mut spec, name, &containers)?;
            }
        }
        set(&mut object, "spec", &spec)?;
    }
    serde_json::to_string(&object)
}

/// A field, if it is there and not null.
fn field<T: DeserializeOwned>(fields: &Fields, name: &str) -> Result<Option<T>, Error> {
    fields.get(name).map_or(Ok(None), |field| serde_json::from_str(field.get()))
}

fn set<T: Serialize>(fields: &mut Fields, name: &str, value: &T) -> Result<(), Error> {
    fields.insert(name.to_owned(), to_raw_value(value)?);
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

    /// Controllers read the same of a narrowed pod as of the whole one.
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
