//! The objects of the cluster, and what happens to them.

use std::collections::{BTreeMap, BTreeSet};

use embedded_apiserver::{ApiServer, SystemEnvironment};
use endpointslice::well_known::{MANAGED_BY, SERVICE_NAME, TOPOLOGY_ZONE};
use fastrand::Rng;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::Service as _;

use super::oracle::{custom, expected, is_unreadable, number, slices_of};
use super::{HIDE, NUMBER, PUBLISH, Rules};
use crate::reconciler::SliceReconciler as _;

pub(super) struct Cluster {
    pub(super) server: ApiServer,
    pub(super) random: Rng,
    pub(super) log: Vec<String>,
    /// The content of the file that the rules read.
    pub(super) file: watch::Sender<u8>,
    /// Slices of another controller, and their resourceVersions.
    others: BTreeMap<String, Value>,
    /// The number of addresses so far.
    addresses: u16,
}

const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces";
const OTHER: &str = "other.example.com";

fn annotated(key: &str, value: Option<&str>) -> Value {
    json!({"metadata": {"annotations": {key: value}}})
}

fn labelled(key: &str, value: Option<&str>) -> Value {
    json!({"metadata": {"labels": {key: value}}})
}

impl Cluster {
    pub(super) async fn new(seed: u64) -> Self {
        let server = ApiServer::builder().environment(SystemEnvironment::seeded(seed)).build();
        let (log, others, file) = (Vec::new(), BTreeMap::new(), watch::Sender::new(0));
        let mut cluster = Self { server, random: Rng::with_seed(seed), log, file, others, addresses: 0 };
        for (path, name) in [("namespaces", "shop"), ("namespaces", "site"), ("nodes", "n1"), ("nodes", "n2")]
        {
            cluster.send("POST", &format!("/api/v1/{path}"), json!({"metadata": {"name": name}})).await;
        }
        for _ in 0..16 {
            cluster.create_service_or_pod().await;
        }
        cluster
    }

    /// Sends a request. Names that exist or don't are no failures.
    async fn send(&mut self, method: &str, path: &str, body: Value) -> Value {
        let content_type =
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder().method(method).uri(path).header("content-type", content_type);
        let request = request.body(Full::<bytes::Bytes>::from(body.to_string())).unwrap();
        let Ok(response) = self.server.clone().call(request).await;
        let code = response.status().as_u16();
        assert!([200, 201, 404, 409].contains(&code), "{method} {path} {body}: {code}");
        self.log.push(format!("{method} {path} {body}: {code}"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        if code < 300 { serde_json::from_slice(&body).unwrap() } else { Value::Null }
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.random.usize(..choices.len())].clone()
    }

    async fn create_service_or_pod(&mut self) {
        let path = format!("/api/v1/namespaces/{}", self.pick(&["shop", "site"]));
        let app = self.pick(&["x", "y"]);
        if self.random.bool() {
            let mut object = annotated(PUBLISH, self.pick(&[None, Some("1"), Some("2")]));
            object["metadata"]["name"] = json!(self.pick(&["a", "b", "c"]));
            object["spec"] = json!({"selector": {"app": app}, "ports": [{"port": 80, "targetPort": "web"}],
                "ipFamilyPolicy": self.pick(&["SingleStack", "RequireDualStack"])});
            self.send("POST", &format!("{path}/services"), object).await;
            return;
        }
        let (name, node, port) =
            (self.pick(&["p1", "p2", "p3", "p4"]), self.pick(&["n1", "n2", "n3"]), self.pick(&[8080, 9090]));
        let container = json!({"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": port}]});
        let object = json!({"metadata": {"name": name, "labels": {"app": app}},
            "spec": {"nodeName": node, "containers": [container]}});
        if !self.send("POST", &format!("{path}/pods"), object).await.is_null() {
            let mut status = self.addresses();
            status["status"]["phase"] = json!("Running");
            status["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
            self.send("PATCH", &format!("{path}/pods/{name}/status"), status).await;
        }
    }

    /// The status of a pod with addresses that no other has had, one of each family.
    fn addresses(&mut self) -> Value {
        self.addresses += 1;
        let ip = format!("10.1.{}.{}", self.addresses / 250, self.addresses % 250 + 1);
        json!({"status": {"podIP": ip, "podIPs": [{"ip": ip}, {"ip": format!("fd00::{:x}", self.addresses)}]}})
    }

    /// One operation. True if it is one of another client on slices.
    pub(super) async fn operate(&mut self) -> bool {
        let path = format!("/api/v1/namespaces/{}", self.pick(&["shop", "shop", "site"]));
        let name = self.pick(&["a", "b", "c"]);
        let (service, extra) = (format!("{path}/services/{name}"), format!("{path}/serviceaccounts/{name}"));
        let pod = format!("{path}/pods/{}", self.pick(&["p1", "p2", "p3", "p4"]));
        let (node, status) =
            (format!("/api/v1/nodes/{}", self.pick(&["n1", "n2", "n3"])), format!("{pod}/status"));
        let is = self.pick(&[None, Some("yes")]);
        let (method, path, body) = match self.random.u8(..32) {
            0..5 => {
                self.create_service_or_pod().await;
                return false;
            }
            5 => ("DELETE", service, json!({})),
            6 | 7 => ("PATCH", service, annotated(PUBLISH, self.pick(&[None, Some("3"), Some("4")]))),
            8 => {
                let app = self.pick(&[Some("x"), Some("y"), None]);
                ("PATCH", service, json!({"spec": {"selector": {"app": app}}}))
            }
            9 => {
                let port = self.pick(&[json!("web"), json!(8080)]);
                ("PATCH", service, json!({"spec": {"ports": [{"port": 80, "targetPort": port}]}}))
            }
            10 => {
                let (kind, name) = self.pick(&[("ClusterIP", None), ("ExternalName", Some("a.example"))]);
                ("PATCH", service, json!({"spec": {"type": kind, "externalName": name}}))
            }
            11 => ("DELETE", pod, json!({"gracePeriodSeconds": self.pick(&[0, 0, 30])})),
            12 | 13 => {
                let ready = self.pick(&["True", "False"]);
                ("PATCH", status, json!({"status": {"conditions": [{"type": "Ready", "status": ready}]}}))
            }
            14 => ("PATCH", status, self.addresses()),
            15 => ("PATCH", status, json!({"status": {"phase": "Succeeded"}})),
            16 => ("PATCH", pod, labelled("app", Some(self.pick(&["x", "y"])))),
            17 => ("PATCH", pod, labelled("drain", is)),
            18 => ("PATCH", pod, annotated(HIDE, is)),
            19 => ("POST", "/api/v1/nodes".to_owned(), json!({"metadata": {"name": "n3"}})),
            20 => ("PATCH", node, labelled(TOPOLOGY_ZONE, self.pick(&[None, Some("u"), Some("v")]))),
            21 => ("POST", format!("{path}/serviceaccounts"), json!({"metadata": {"name": name}})),
            22 | 23 => ("PATCH", extra.clone(), self.another_number(&extra).await),
            24 => ("DELETE", extra, json!({})),
            25 => ("PATCH", path.clone(), self.another_number(&path).await),
            26 => {
                let number = self.random.u8(..);
                self.file.send_replace(number);
                self.log.push(format!("file: {number}"));
                return false;
            }
            27 => {
                self.repair().await;
                return false;
            }
            _ => {
                self.change_slice(&path[19..], name).await;
                return true;
            }
        };
        self.send(method, &path, body).await;
        false
    }

    /// Another number for a custom object, or none; or the one that it had, in a form that cannot be read.
    async fn another_number(&mut self, path: &str) -> Value {
        let last = number(&self.send("GET", path, Value::Null).await);
        let last = last.map_or_else(String::new, |number| number.to_string());
        let number = self.random.u8(..).to_string();
        annotated(NUMBER, self.pick(&[None, Some(&*format!("?{last}")), Some(&*number), Some(&*number)]))
    }

    /// Makes all custom objects readable, or deletes those that are not.
    pub(super) async fn repair(&mut self) {
        for object in custom(&self.server).into_iter().filter(is_unreadable) {
            let metadata = &object["metadata"];
            let (name, namespace) = (metadata["name"].as_str().unwrap(), metadata["namespace"].as_str());
            let path = match namespace {
                Some(namespace) => format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}"),
                None => format!("/api/v1/namespaces/{name}"),
            };
            if namespace.is_some() && self.random.bool() {
                self.send("DELETE", &path, json!({})).await;
            } else {
                let number = number(&object).map(|number| number.to_string());
                self.send("PATCH", &path, annotated(NUMBER, number.as_deref())).await;
            }
        }
    }

    /// True if all custom objects can be read.
    pub(super) fn is_readable(&self) -> bool {
        !custom(&self.server).iter().any(is_unreadable)
    }

    /// The endpoints that the controller should publish.
    pub(super) fn expected(&self) -> BTreeSet<String> {
        expected(&self.server, *self.file.borrow())
    }

    /// Another client creates, changes or deletes a slice.
    async fn change_slice(&mut self, namespace: &str, service: &str) {
        let (slices, change) = (format!("{SLICES}/{namespace}/endpointslices"), self.random.u8(..11));
        if change < 2 {
            let owner = [Rules::NAME, OTHER][usize::from(change)];
            let addresses = json!([self.addresses()["status"]["podIP"]]);
            let name = format!("made-{}", self.addresses);
            let object = json!({"metadata": {"name": name, "labels": {SERVICE_NAME: service, MANAGED_BY: owner}},
                "addressType": "IPv4", "endpoints": [{"addresses": addresses}]});
            let mut stored = self.send("POST", &slices, object).await;
            if owner == OTHER {
                self.others.insert(name, stored["metadata"]["resourceVersion"].take());
            }
            return;
        }
        let ours: Vec<Value> = slices_of(&self.server).collect();
        if ours.is_empty() {
            return;
        }
        let slice = self.pick(&ours);
        let text = |field: &str| slice["metadata"][field].as_str().unwrap();
        let path = format!("{SLICES}/{}/endpointslices/{}", text("namespace"), text("name"));
        let wrong = if slice["addressType"] == "IPv4" { "10.10.0.1" } else { "fd00:9::1" };
        let change = match change {
            2 | 3 => return drop(self.send("DELETE", &path, json!({})).await),
            4 => json!({"endpoints": null}),
            5 => json!({"endpoints": [{"addresses": [wrong]}]}),
            6 => json!({"ports": [{"port": 7}]}),
            7 => json!({"metadata": {"labels": {"more": "yes"}, "annotations": {"more": "yes"}}}),
            8 => json!({"metadata": {"ownerReferences": null}}),
            // Each time the controller waits longer before it creates another.
            9 if self.random.u8(..4) == 0 => labelled(MANAGED_BY, Some(OTHER)),
            _ => labelled(SERVICE_NAME, Some(service)),
        };
        self.send("PATCH", &path, change).await;
    }

    /// Fails if a slice of another controller was changed or deleted.
    pub(super) fn check_others(&self) {
        let slices = self.server.objects("discovery.k8s.io/v1", "EndpointSlice");
        for (name, version) in &self.others {
            let found = slices.iter().find(|slice| slice["metadata"]["name"] == **name);
            let found = found.map(|slice| &slice["metadata"]["resourceVersion"]);
            assert_eq!(found, Some(version), "{name} is another controller's");
        }
    }
}
