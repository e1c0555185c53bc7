//! The field managers that wrote the controllers' objects last.

use std::collections::BTreeMap;

use endpointslice::well_known::{
    ENDPOINTS_CONTROLLER, ENDPOINTS_MANAGED_BY, ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER,
    MANAGED_BY,
};
use jiff::Timestamp;
use serde_json::Value;

/// The objects with upstream's managed-by, by the field manager that wrote each last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Writers(pub(super) BTreeMap<String, Written>);

/// The objects that one field manager wrote last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) count: usize,
    pub(super) newest: Timestamp,
    /// The object of the newest write.
    pub(super) object: String,
}

impl Writers {
    /// Counts an object, if it is one of the controllers'.
    pub(super) fn add(&mut self, object: &Value) {
        if !is_managed(object) {
            return;
        }
        let Some((manager, time)) = last_write(object) else { return };
        let text = |path| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let name = format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        let written = self.0.entry(manager.to_owned()).or_insert_with(|| Written {
            count: 0,
            newest: time,
            object: name.clone(),
        });
        written.count += 1;
        if time > written.newest {
            (written.newest, written.object) = (time, name);
        }
    }
}

fn is_managed(object: &Value) -> bool {
    let label = |key| {
        let labels = object.pointer("/metadata/labels");
        labels.and_then(|labels| labels.get(key)).and_then(Value::as_str).unwrap_or_default()
    };
    [ENDPOINTSLICE_CONTROLLER, ENDPOINTSLICE_MIRRORING_CONTROLLER].contains(&label(MANAGED_BY))
        || label(ENDPOINTS_MANAGED_BY) == ENDPOINTS_CONTROLLER
}

/// The newest entry of `metadata.managedFields`.
fn last_write(object: &Value) -> Option<(&str, Timestamp)> {
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    let entry = |entry: &'_ Value| -> Option<Timestamp> { entry.get("time")?.as_str()?.parse().ok() };
    let newest = entries.iter().filter_map(|it| Some((it, entry(it)?))).max_by_key(|(_, time)| *time)?;
    Some((newest.0.get("manager")?.as_str()?, newest.1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_write_of_each_object_counts() {
        let slice = |name: &str, by: &str, managers: Value| {
            json!({"kind": "EndpointSlice", "metadata": {"name": name, "namespace": "shop",
                "labels": {MANAGED_BY: by}, "managedFields": managers}})
        };
        let entry = |manager: &str, second: u32| json!({"manager": manager, "operation": "Update", "time": format!("2026-01-01T00:00:0{second}Z")});
        let mut writers = Writers::default();
        writers.add(&slice("a", ENDPOINTSLICE_CONTROLLER, json!([entry("kubectl", 1), entry("kcm", 2)])));
        writers.add(&slice("b", ENDPOINTSLICE_MIRRORING_CONTROLLER, json!([entry("kcm", 4)])));
        writers.add(&slice("c", "mesh.example", json!([entry("mesh", 9)])));
        writers.add(&slice("d", ENDPOINTSLICE_CONTROLLER, json!([])));
        let endpoints = json!({"kind": "Endpoints", "metadata": {"name": "e", "namespace": "shop",
            "labels": {ENDPOINTS_MANAGED_BY: ENDPOINTS_CONTROLLER}, "managedFields": [entry("ours", 3)]}});
        writers.add(&endpoints);
        let time = |second| format!("2026-01-01T00:00:0{second}Z").parse().unwrap();
        let expected = [
            ("kcm", Written { count: 2, newest: time(4), object: "EndpointSlice shop/b".to_owned() }),
            ("ours", Written { count: 1, newest: time(3), object: "Endpoints shop/e".to_owned() }),
        ];
        assert_eq!(writers.0, expected.map(|(manager, it)| (manager.to_owned(), it)).into());
    }
}
