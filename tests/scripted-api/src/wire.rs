//! Objects, events, lists and refusals as the API server writes them, in either encoding.

use bytes::Bytes;
use kube_api::Encoding;
use kube_protobuf::wrap;
use serde_json::{Value, json};

use crate::script::Answer;

/// The way in which a server writes its responses.
#[derive(Clone, Copy, Debug)]
pub struct Wire(pub Encoding);

impl Wire {
    pub const BOTH: [Self; 2] = [Self(Encoding::Protobuf), Self(Encoding::Json)];
}

/// A pod with little more than its metadata.
#[derive(Clone, Debug)]
pub struct TestPod {
    name: String,
    version: String,
    ip: String,
    uid: String,
    broken: bool,
}

/// The pod `shop/name` in this version, with one address.
pub fn pod(name: &str, version: &str, ip: &str) -> TestPod {
    let (name, version, ip) = (name.to_owned(), version.to_owned(), ip.to_owned());
    TestPod { uid: format!("uid-of-{name}"), name, version, ip, broken: false }
}

impl TestPod {
    /// A new object of the same name, with another uid.
    pub fn reborn(mut self) -> Self {
        self.uid.push_str("-2");
        self
    }

    /// The pod with a spec that cannot be decoded.
    pub fn broken(mut self) -> Self {
        self.broken = true;
        self
    }

    pub fn json(&self) -> Value {
        let spec = if self.broken { json!(5) } else { json!({"containers": [], "nodeName": "node-1"}) };
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": self.name, "namespace": "shop", "uid": self.uid, "resourceVersion": self.version,
                "labels": {"app": "web"},
            },
            "spec": spec,
            "status": {"phase": "Running", "podIPs": [{"ip": self.ip}]},
        })
    }

    fn protobuf(&self) -> Vec<u8> {
        let label = message(&[(1, b"app"), (2, b"web")]);
        let metadata = message(&[
            (1, self.name.as_bytes()),
            (3, b"shop"),
            (5, self.uid.as_bytes()),
            (6, self.version.as_bytes()),
            (11, &label),
        ]);
        let spec = if self.broken { b"\x0a\xff".to_vec() } else { message(&[(10, b"node-1")]) };
        let address = message(&[(1, self.ip.as_bytes())]);
        message(&[(1, &metadata), (2, &spec), (3, &message(&[(1, b"Running"), (12, &address)]))])
    }
}

/// A refusal: `meta.v1.Status`.
#[derive(Clone, Debug, Default)]
pub struct Refusal {
    pub code: u16,
    pub reason: &'static str,
    pub message: &'static str,
    pub cause: Option<&'static str>,
    pub retry_after: u8,
}

pub const EXPIRED: Refusal =
    Refusal { code: 410, reason: "Expired", message: "too old", cause: None, retry_after: 0 };

impl Refusal {
    fn json(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason,
        });
        if self.code > 0 {
            status["code"] = self.code.into();
        }
        if let Some(cause) = self.cause {
            status["details"]["causes"] = json!([{"reason": cause, "message": "because", "field": "f"}]);
        }
        if self.retry_after > 0 {
            status["details"]["retryAfterSeconds"] = self.retry_after.into();
        }
        status
    }

    fn protobuf(&self) -> Vec<u8> {
        let mut details = Vec::new();
        if let Some(cause) = self.cause {
            field(&mut details, 4, &message(&[(1, cause.as_bytes()), (2, b"because"), (3, b"f")]));
        }
        if self.retry_after > 0 {
            details.extend([5 << 3, self.retry_after]);
        }
        let mut status = message(&[
            (2, b"Failure"),
            (3, self.message.as_bytes()),
            (4, self.reason.as_bytes()),
            (5, &details),
        ]);
        status.push(6 << 3);
        varint(&mut status, self.code.into());
        status
    }
}

impl Wire {
    pub fn content_type(self) -> &'static str {
        match self.0 {
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf",
            Encoding::Json => "application/json",
        }
    }

    /// The beginning of a watch.
    pub fn watch(self, events: &[Bytes]) -> Answer {
        let content_type = match self.0 {
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            Encoding::Json => "application/json",
        };
        Answer::new(200, content_type, events.concat())
    }

    pub fn added(self, pod: &TestPod) -> Bytes {
        self.event("ADDED", pod)
    }

    pub fn modified(self, pod: &TestPod) -> Bytes {
        self.event("MODIFIED", pod)
    }

    pub fn deleted(self, pod: &TestPod) -> Bytes {
        self.event("DELETED", pod)
    }

    pub fn event(self, event: &str, pod: &TestPod) -> Bytes {
        self.raw_event(event, "Pod", &pod.protobuf(), &pod.json())
    }

    pub fn bookmark(self, version: &str) -> Bytes {
        let raw = message(&[(1, &message(&[(6, version.as_bytes())]))]);
        let json = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": version}});
        self.raw_event("BOOKMARK", "Pod", &raw, &json)
    }

    /// The bookmark that ends an initial list.
    pub fn end_of_list(self, version: &str) -> Bytes {
        let annotation = message(&[(1, b"k8s.io/initial-events-end"), (2, b"true")]);
        let raw = message(&[(1, &message(&[(6, version.as_bytes()), (12, &annotation)]))]);
        let json = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {
            "resourceVersion": version, "annotations": {"k8s.io/initial-events-end": "true"},
        }});
        self.raw_event("BOOKMARK", "Pod", &raw, &json)
    }

    pub fn error(self, refusal: &Refusal) -> Bytes {
        self.raw_event("ERROR", "Status", &refusal.protobuf(), &refusal.json())
    }

    /// One event of a watch with any object; protobuf without envelope.
    pub fn raw_event(self, event: &str, kind: &str, raw: &[u8], json: &Value) -> Bytes {
        match self.0 {
            Encoding::Protobuf => {
                let extension = message(&[(1, &wrap("v1", kind, raw))]);
                let body = message(&[(1, event.as_bytes()), (2, &extension)]);
                frame(&body).into()
            }
            Encoding::Json => format!("{}\n", json!({"type": event, "object": json})).into(),
        }
    }

    pub fn page(self, pods: &[TestPod], version: &str, continue_token: &str) -> Answer {
        let body = match self.0 {
            Encoding::Protobuf => {
                let metadata = message(&[(2, version.as_bytes()), (3, continue_token.as_bytes())]);
                let mut list = message(&[(1, &metadata)]);
                for pod in pods {
                    field(&mut list, 2, &pod.protobuf());
                }
                wrap("v1", "PodList", &list)
            }
            Encoding::Json => json!({
                "kind": "PodList", "apiVersion": "v1",
                "metadata": {"resourceVersion": version, "continue": continue_token},
                "items": pods.iter().map(TestPod::json).collect::<Vec<_>>(),
            })
            .to_string()
            .into_bytes(),
        };
        Answer::new(200, self.content_type(), body)
    }

    /// An answer with a refusal in its body.
    pub fn refusal(self, refusal: &Refusal) -> Answer {
        let body = match self.0 {
            Encoding::Protobuf => wrap("v1", "Status", &refusal.protobuf()),
            Encoding::Json => refusal.json().to_string().into_bytes(),
        };
        Answer::new(refusal.code, self.content_type(), body)
    }
}

/// A watch frame: its length, then itself.
pub fn frame(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap();
    [&length.to_be_bytes(), body].concat()
}

/// A protobuf message of fields that are bytes.
pub fn message(fields: &[(u32, &[u8])]) -> Vec<u8> {
    let mut message = Vec::new();
    for (number, bytes) in fields {
        field(&mut message, *number, bytes);
    }
    message
}

/// Appends a field of bytes, text or a message.
pub fn field(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    varint(out, u64::from(number << 3 | 2));
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a number.
pub fn varint(out: &mut Vec<u8>, value: u64) {
    let (bytes, used) = kube_protobuf::varint(value);
    out.extend_from_slice(&bytes[..used]);
}
