//! The objects that kube-apiserver makes at its start.

use serde_json::{Value, json};

use super::access::stored_tree;
use crate::core::{Core, Entry};
use crate::verbs::{self, Creation};

const MANAGER: &str = "kube-apiserver";

/// Creates them.
pub(super) fn create(core: &Core) {
    for name in ["kube-system", "kube-public", "kube-node-lease", "default"] {
        create_one(core, "Namespace", "", &json!({ "metadata": { "name": name } }));
    }
    let ip = core.allocators.first_ip().to_string();
    let service = json!({
        "metadata": {
            "name": "kubernetes",
            "labels": { "component": "apiserver", "provider": "kubernetes" },
        },
        "spec": {
            "ports": [{ "name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443 }],
            "clusterIP": ip,
            "clusterIPs": [ip],
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
        },
    });
    create_one(core, "Service", "default", &service);
}

/// The objects are valid, so that nothing refuses them; a test proves it.
fn create_one(core: &Core, kind: &str, namespace: &str, object: &Value) {
    let Some(entry) = Entry::named("v1", kind) else { return };
    let Ok(mut object) = stored_tree(entry, object) else { return };
    entry.kind.strategy.default(&mut object);
    let creation = Creation { entry, namespace, dry_run: false, manager: MANAGER };
    _ = verbs::create(core, creation, object);
}
