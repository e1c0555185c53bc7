//! The places of edits: a namespace for each, with the objects that the controllers made there.

use futures::StreamExt as _;
use kube::Client;
use serde_json::{Value, json};
use tests::requests;

use super::edits::{Act, Target};

/// Requests in flight.
const CONCURRENCY: usize = 8;

/// The type of a place's Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It selects pods.
    Plain,
    /// It selects pods, has no cluster IP, and addresses of both families.
    Headless,
    /// It has no selector; the test writes its Endpoints.
    Custom,
}

/// An edit and its place.
#[derive(Debug, Clone)]
pub(crate) struct Edit {
    pub(crate) number: usize,
    pub(crate) kind: Kind,
    pub(crate) target: Target,
    pub(crate) act: Act,
}

impl Edit {
    pub(crate) fn namespace(&self) -> String {
        format!("edit-{}", self.number)
    }

    /// The first edits of the sequence that the seed determines. Each occurs once before any occurs twice.
    pub(crate) fn sequence(seed: u64, count: usize) -> Vec<Self> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut edits = Vec::new();
        while edits.len() < count {
            edits.extend(all_once(&mut rng));
        }
        edits.truncate(count);
        let edits = edits.into_iter().enumerate();
        edits.map(|(number, (kind, target, act))| Self { number, kind, target, act }).collect()
    }

    /// The number of edits that covers each once.
    pub(crate) fn everything_once() -> usize {
        all_once(&mut fastrand::Rng::with_seed(0)).len()
    }

    /// The reason for a result that is not upstream's: a difference listed in docs/reference/parity.md.
    pub(crate) fn differs_on_purpose(&self) -> Option<&'static str> {
        match (self.kind, self.act) {
            (Kind::Custom, Act::DeleteHeld) => Some("a mirrored slice that is being deleted is replaced"),
            _ => None,
        }
    }

    /// Creates the place: Services `web`, whose objects are edited, and `other`, which has no pods.
    async fn prepare(&self, client: &Client) {
        let namespace = json!({"metadata": {"name": self.namespace()}});
        requests::must(client, "POST", "/api/v1/namespaces", &namespace).await;
        let services = format!("/api/v1/namespaces/{}/services", self.namespace());
        let ports = json!([{"name": "http", "port": 80}, {"name": "https", "port": 443}]);
        let mut spec = json!({"ports": ports, "selector": {"app": "web"}, "ipFamilies": ["IPv4"]});
        if self.kind == Kind::Headless {
            spec["clusterIP"] = json!("None");
            spec["ipFamilies"] = json!(["IPv4", "IPv6"]);
            spec["ipFamilyPolicy"] = json!("RequireDualStack");
        }
        let metadata = json!({"name": "web", "labels": {"team": "right"}});
        if self.kind == Kind::Custom {
            spec.as_object_mut().unwrap().remove("selector");
            let subset = json!({
                "addresses": [{"ip": "198.51.100.1"}, {"ip": "198.51.100.2"}],
                "notReadyAddresses": [{"ip": "198.51.100.3"}],
                "ports": ports,
            });
            let mut metadata = metadata.clone();
            metadata["annotations"] = json!({"example.com/mirrored": "right"});
            let endpoints = json!({"metadata": metadata, "subsets": [subset]});
            requests::must(client, "POST", &self.path(Target::Endpoints), &endpoints).await;
        } else {
            for (number, ready) in [(1, true), (2, true), (3, false)] {
                self.pod(client, number, ready).await;
            }
        }
        requests::must(client, "POST", &services, &json!({"metadata": metadata, "spec": spec})).await;
        let spec = json!({"ports": [{"port": 80}], "selector": {"app": "none"}, "ipFamilies": ["IPv4"]});
        let other = json!({"metadata": {"name": "other"}, "spec": spec});
        requests::must(client, "POST", &services, &other).await;
    }

    async fn pod(&self, client: &Client, number: u8, ready: bool) {
        let name = format!("web-{number}");
        let pods = format!("/api/v1/namespaces/{}/pods", self.namespace());
        let spec = json!({"nodeName": "a", "containers": [{"name": "main", "image": "none"}]});
        let pod = json!({"metadata": {"name": name, "labels": {"app": "web"}}, "spec": spec});
        requests::must(client, "POST", &pods, &pod).await;
        let (ipv4, ipv6) = (format!("10.1.0.{number}"), format!("fd00:1::{number}"));
        let status = if ready { "True" } else { "False" };
        let status = json!({"status": {
            "phase": "Running",
            "podIP": ipv4,
            "podIPs": [{"ip": ipv4}, {"ip": ipv6}],
            "conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2001-01-01T00:00:00Z"}],
        }});
        requests::must(client, "PATCH", &format!("{pods}/{name}/status"), &status).await;
    }

    /// Checks that the controllers have made the objects to be edited here.
    pub(crate) async fn is_prepared(&self, client: &Client) -> Result<(), String> {
        for target in [Target::Endpoints, self.target] {
            let object = self.read(client, target).await.map_err(|error| error.to_string())?;
            let object = object.ok_or_else(|| format!("{self:?}: no {target:?}"))?;
            let endpoints = object["endpoints"].as_array().map(Vec::len);
            if matches!(target, Target::Slice(_)) && endpoints != Some(3) {
                return Err(format!("{self:?}: {endpoints:?} endpoints"));
            }
        }
        Ok(())
    }

    async fn read(&self, client: &Client, target: Target) -> kube::Result<Option<Value>> {
        let path = self.path(target);
        let Target::Slice(family) = target else {
            return match requests::send(client, "GET", &format!("{path}/web"), &Value::Null).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
                answer => answer.map(Some),
            };
        };
        let of_web = format!("{path}?labelSelector=kubernetes.io/service-name=web");
        let slices = requests::list(client, &of_web).await;
        Ok(slices.into_iter().rfind(|slice| slice["addressType"] == family))
    }

    /// Of the objects that the edit is about.
    fn path(&self, target: Target) -> String {
        let (group, objects) = match target {
            Target::Endpoints => ("api/v1", "endpoints"),
            Target::Slice(_) => ("apis/discovery.k8s.io/v1", "endpointslices"),
        };
        format!("/{group}/namespaces/{}/{objects}", self.namespace())
    }

    /// Makes the edit. Returns the status of the API server's answer: 200, or that of its refusal.
    pub(crate) async fn make(&self, client: &Client) -> u16 {
        loop {
            match self.try_to_make(client).await {
                Ok(()) => return 200,
                // A controller's write came first.
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(kube::Error::Api(status)) => return status.code,
                Err(error) => panic!("{self:?}: {error}"),
            }
        }
    }

    async fn try_to_make(&self, client: &Client) -> kube::Result<()> {
        let mut object = self.read(client, self.target).await?.unwrap_or_else(|| panic!("{self:?}"));
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let objects = self.path(self.target);
        let path = format!("{objects}/{name}");
        let send = async |method, path: &str, object| {
            requests::send(client, method, path, &without_nulls(object)).await
        };
        let answer = match self.act {
            Act::Put(change) => {
                change.apply(&mut object);
                send("PUT", &path, object).await
            }
            Act::PutTwo(one, two) => {
                one.apply(&mut object);
                two.apply(&mut object);
                send("PUT", &path, object).await
            }
            Act::Delete => send("DELETE", &path, Value::Null).await,
            Act::DeleteHeld => {
                object["metadata"]["finalizers"] = json!(["example.com/hold"]);
                send("PUT", &path, object).await?;
                send("DELETE", &path, Value::Null).await
            }
            Act::Recreate(change) => {
                send("DELETE", &path, Value::Null).await?;
                change.apply(&mut object);
                send("POST", &objects, remade(object, &name)).await
            }
            Act::Copy(change) => {
                change.apply(&mut object);
                send("POST", &objects, remade(object, &format!("{name}-copy"))).await
            }
        };
        answer.map(drop)
    }
}

/// Every single edit and some with two changes, in random order.
fn all_once(rng: &mut fastrand::Rng) -> Vec<(Kind, Target, Act)> {
    const PLACES: [(Kind, Target); 5] = [
        (Kind::Plain, Target::Slice("IPv4")),
        (Kind::Plain, Target::Endpoints),
        (Kind::Headless, Target::Slice("IPv6")),
        (Kind::Headless, Target::Endpoints),
        (Kind::Custom, Target::Slice("IPv4")),
    ];
    let mut all_once = Vec::new();
    for (kind, target) in PLACES {
        let single = Act::all(target);
        let two: Vec<Act> = (0..single.len() / 4).map(|_| Act::two(target, rng)).collect();
        all_once.extend(single.into_iter().chain(two).map(|act| (kind, target, act)));
    }
    rng.shuffle(&mut all_once);
    all_once
}

/// Makes the places of all edits.
pub(crate) async fn prepare(client: &Client, edits: &[Edit]) {
    let node = json!({"metadata": {"name": "a", "labels": {"topology.kubernetes.io/zone": "a"}}});
    requests::must(client, "POST", "/api/v1/nodes", &node).await;
    futures::stream::iter(edits).for_each_concurrent(CONCURRENCY, |edit| edit.prepare(client)).await;
}

/// Makes all edits. Returns the status of each answer.
pub(crate) async fn make(client: &Client, edits: &[Edit]) -> Vec<u16> {
    futures::stream::iter(edits).map(|edit| edit.make(client)).buffered(CONCURRENCY).collect().await
}

/// The content of an object for a create under this name.
fn remade(mut object: Value, name: &str) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
        metadata.remove(field);
    }
    metadata.insert("name".to_owned(), json!(name));
    object
}

/// A map of labels cannot hold a null, which elsewhere means the same as absence.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name, without_nulls(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}
