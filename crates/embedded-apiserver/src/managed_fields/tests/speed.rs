//! The cost of field management, measured on demand:
//! `cargo test --release -p embedded-apiserver --lib speed_of_field_management -- --ignored --nocapture`

use std::time::Instant;

use serde_json::{Value, json};

use super::{at, manager_of};

fn pod() -> Value {
    let container = |name: &str| {
        json!({
            "name": name, "image": "registry.example/app:1", "imagePullPolicy": "IfNotPresent", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
            "ports": [{"containerPort": 80, "protocol": "TCP", "name": "http"}, {"containerPort": 443, "protocol": "TCP", "name": "https"}],
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File", "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        })
    };
    json!({
        "metadata": {
            "name": "web-0", "namespace": "default", "labels": {"app": "web", "pod-template-hash": "abc"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": {
            "containers": [container("app"), container("sidecar")], "dnsPolicy": "ClusterFirst", "restartPolicy": "Always",
            "schedulerName": "default-scheduler", "securityContext": {}, "terminationGracePeriodSeconds": 30, "enableServiceLinks": true,
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
        "status": {},
    })
}

#[test]
#[ignore = "measures"]
fn speed_of_field_management() {
    const ROUNDS: u32 = 20_000;
    let pods = manager_of("Pod", "pods", "");
    let status = manager_of("Pod", "pods", "status");
    let measure = |what: &str, work: &mut dyn FnMut()| {
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| work());
        println!("{what}: {:.1} µs", start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS));
    };
    let new = pod();
    measure("copy of a pod", &mut || drop(std::hint::black_box(new.clone())));
    let mut object = new.clone();
    measure("create", &mut || {
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        pods.update(None, &mut object, "controller", at(1));
    });
    object["metadata"]["uid"] = json!("u");
    let mut running = object.clone();
    running["status"] = json!({"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}],
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "True"}]});
    status.update(Some(&object), &mut running, "kubelet", at(2));
    let mut ready = running.clone();
    ready["status"]["conditions"][0]["status"] = json!("False");
    let clone = &mut || {
        ready["metadata"]["managedFields"] = running["metadata"]["managedFields"].clone();
    };
    measure("copy of the entries of a running pod", clone);
    measure("status update, and that copy", &mut || {
        ready["metadata"]["managedFields"] = running["metadata"]["managedFields"].clone();
        status.update(Some(&running), &mut ready, "kubelet", at(3));
    });
    let mut same = running.clone();
    measure("update without a change", &mut || pods.update(Some(&running), &mut same, "kubelet", at(3)));
}
