//! An API server with one Lease.

use std::future::pending;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Event;
use kube::client::Body;
use kube_api::{ApiClient, Encoding};
use kube_protobuf::{Message, Unknown, wrap};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Instant, sleep};

pub const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
pub const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/controllers";

/// The fate of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fate {
    /// The delay of the request.
    pub before: Duration,
    pub end: End,
    /// The delay of its answer.
    pub after: Duration,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The request is executed and answered.
    #[default]
    Answered,
    /// The request is refused with this code.
    Refused(u16),
    /// The request is lost, and the connection breaks.
    Broken,
    /// The request is lost, and there is no answer.
    Swallowed,
    /// The request is executed, but the connection breaks.
    AnswerBroken,
    /// The request is executed, but there is no answer.
    AnswerSwallowed,
}

impl From<End> for Fate {
    fn from(end: End) -> Self {
        Self { end, ..Self::default() }
    }
}

/// A request as it was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Instant,
    pub by: String,
    pub method: Method,
    path: String,
    body: Bytes,
    encoding: Encoding,
}

impl Sent {
    fn is_event(&self) -> bool {
        self.path.ends_with("/events")
    }
}

type Decide = dyn FnMut(&Sent) -> Fate + Send;

/// The API server. It executes requests that it has received even if the client no longer waits for the answer.
pub struct LeaseServer {
    decide: Mutex<Box<Decide>>,
    sent: Mutex<Vec<Sent>>,
    stored: Mutex<Stored>,
}

#[derive(Default)]
struct Stored {
    lease: Option<Lease>,
    version: u64,
    changed: Option<Instant>,
    events: Vec<Event>,
    /// Violations of the Lease's rules.
    violations: Vec<String>,
}

impl LeaseServer {
    /// Answers every request at once.
    pub fn new() -> Arc<Self> {
        Self::with_fates(|_| Fate::default())
    }

    /// Decides each request's fate when it is sent.
    pub fn with_fates(decide: impl FnMut(&Sent) -> Fate + Send + 'static) -> Arc<Self> {
        Arc::new(Self {
            decide: Mutex::new(Box::new(decide)),
            sent: Mutex::default(),
            stored: Mutex::default(),
        })
    }

    /// Replaces the function that decides each request's fate.
    pub fn set_fates(&self, decide: impl FnMut(&Sent) -> Fate + Send + 'static) {
        *self.decide.lock() = Box::new(decide);
    }

    /// A client whose user agent is `name`.
    pub fn client(self: &Arc<Self>, name: &str, encoding: Encoding) -> ApiClient {
        let server = Arc::clone(self);
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = Arc::clone(&server);
            async move { server.answer(request).await }
        });
        ApiClient::new(kube::Client::new(service, "default"), encoding, name)
    }

    pub async fn answer(self: Arc<Self>, request: Request<Body>) -> Result<Response<Body>, std::io::Error> {
        let (parts, body) = request.into_parts();
        let encoding = match parts.headers["accept"].to_str().unwrap() {
            "application/json" => Encoding::Json,
            _ => Encoding::Protobuf,
        };
        let sent = Sent {
            at: Instant::now(),
            by: parts.headers["user-agent"].to_str().unwrap().to_owned(),
            method: parts.method,
            path: parts.uri.to_string(),
            body: body.collect_bytes().await.unwrap(),
            encoding,
        };
        let fate = (self.decide.lock())(&sent);
        self.sent.lock().push(sent.clone());
        tokio::spawn(async move {
            sleep(fate.before).await;
            let (code, body) = match fate.end {
                End::Broken => return Err(ErrorKind::ConnectionReset.into()),
                End::Swallowed => pending().await,
                End::Refused(code) => (code, status(code, "Refused")),
                End::Answered | End::AnswerBroken | End::AnswerSwallowed => self.execute(&sent),
            };
            sleep(fate.after).await;
            match fate.end {
                End::AnswerBroken => return Err(ErrorKind::ConnectionReset.into()),
                End::AnswerSwallowed => pending().await,
                _ => {}
            }
            let protobuf = body.starts_with(b"k8s\0");
            let content_type =
                if protobuf { "application/vnd.kubernetes.protobuf" } else { "application/json" };
            let response = Response::builder().status(code).header("content-type", content_type);
            Ok(response.body(Body::from(body)).unwrap())
        })
        .await
        .unwrap()
    }

    fn execute(&self, sent: &Sent) -> (u16, Vec<u8>) {
        let mut stored = self.stored.lock();
        let present = stored.lease.is_some();
        match (sent.method.as_str(), sent.path.as_str()) {
            ("GET" | "PUT", LEASE) if !present => (404, status(404, "NotFound")),
            ("GET", LEASE) => (200, encode(sent.encoding, stored.lease.as_ref().unwrap())),
            ("POST", LEASES) if present => (409, status(409, "AlreadyExists")),
            ("POST", LEASES) | ("PUT", LEASE) => stored.write(&sent.by, decode(sent)).map_or_else(
                |(code, reason)| (code, status(code, reason)),
                |lease| (200, encode(sent.encoding, &lease)),
            ),
            ("POST", "/api/v1/namespaces/kube-system/events") => {
                stored.events.push(decode(sent));
                (201, encode(sent.encoding, stored.events.last().unwrap()))
            }
            other => panic!("unexpected {other:?}"),
        }
    }

    /// The current Lease.
    pub fn lease(&self) -> Option<Lease> {
        self.stored.lock().lease.clone()
    }

    pub fn record(&self) -> LeaseSpec {
        self.lease().unwrap().spec.unwrap()
    }

    pub fn holder(&self) -> String {
        self.lease().and_then(|lease| lease.spec?.holder_identity).unwrap_or_default()
    }

    /// Changes or deletes the Lease, as a user with kubectl would.
    pub fn edit(&self, edit: impl FnOnce(&mut Option<Lease>)) {
        let mut stored = self.stored.lock();
        let record = |stored: &Stored| stored.lease.as_ref().and_then(|lease| lease.spec.clone());
        let (before, changed) = (record(&stored), stored.changed);
        edit(&mut stored.lease);
        stored.touch();
        // Metadata does not count for the age of a record.
        if record(&stored) == before && changed.is_some() {
            stored.changed = changed;
        }
    }

    /// Continues the versions of the storage, the Lease's own included, from this one, as after a restore.
    pub fn set_version(&self, version: u64) {
        let mut stored = self.stored.lock();
        stored.version = version;
        if let Some(lease) = &mut stored.lease {
            lease.metadata.resource_version = Some(version.to_string());
        }
    }

    /// The requests since the last call.
    pub fn take_sent(&self) -> Vec<Sent> {
        std::mem::take(&mut *self.sent.lock())
    }

    /// The methods of the requests about the Lease since the last call.
    pub fn take_methods(&self) -> String {
        let sent = self.take_sent();
        let methods: Vec<&str> = sent.iter().filter(|s| !s.is_event()).map(|s| s.method.as_str()).collect();
        methods.join(" ")
    }

    pub fn events(&self) -> Vec<Event> {
        self.stored.lock().events.clone()
    }

    pub fn messages(&self) -> Vec<String> {
        self.events().into_iter().filter_map(|event| event.message).collect()
    }

    pub fn violations(&self) -> Vec<String> {
        self.stored.lock().violations.clone()
    }
}

impl Stored {
    /// Optimistic concurrency, and the API server's validation of a Lease.
    fn write(&mut self, by: &str, mut lease: Lease) -> Result<Lease, (u16, &'static str)> {
        let spec = lease.spec.clone().unwrap_or_default();
        let positive = spec.lease_duration_seconds.is_none_or(|seconds| seconds > 0);
        if !positive || spec.lease_transitions.is_some_and(|n| n < 0) {
            self.violations.push(format!("{by} wrote an invalid {spec:?}"));
            return Err((422, "Invalid"));
        }
        if let Some(known) = &self.lease {
            let (given, known_metadata) = (&lease.metadata, &known.metadata);
            if given.resource_version.is_none() {
                self.violations.push(format!("{by} wrote without looking"));
            }
            if (&given.resource_version, &given.uid)
                != (&known_metadata.resource_version, &known_metadata.uid)
            {
                return Err((409, "Conflict"));
            }
            let violation = self.violation(by, known.spec.as_ref().unwrap(), &spec);
            self.violations.extend(violation);
        }
        lease.metadata.uid.get_or_insert_with(|| format!("uid-{}", self.version));
        self.lease = Some(lease);
        self.touch();
        Ok(self.lease.clone().unwrap())
    }

    fn touch(&mut self) {
        self.version += 1;
        self.changed = Some(Instant::now());
        if let Some(lease) = &mut self.lease {
            lease.metadata.resource_version = Some(self.version.to_string());
        }
    }

    /// Reports the take-over of a Lease that was neither expired nor released, and a wrong count of transitions.
    fn violation(&self, by: &str, old: &LeaseSpec, new: &LeaseSpec) -> Option<String> {
        let holder = |spec: &LeaseSpec| spec.holder_identity.clone().unwrap_or_default();
        let (old_holder, new_holder) = (holder(old), holder(new));
        let passes = old_holder != new_holder && !new_holder.is_empty();
        let steps = new.lease_transitions.unwrap_or_default() - old.lease_transitions.unwrap_or_default();
        if steps != i32::from(passes) {
            return Some(format!("{by} counted {steps} transitions from {old_holder:?} to {new_holder:?}"));
        }
        let duration = u64::try_from(old.lease_duration_seconds.unwrap_or_default()).unwrap();
        let age = self.changed.unwrap().elapsed();
        (passes && !old_holder.is_empty() && age < Duration::from_secs(duration))
            .then(|| format!("{by} took the Lease of {old_holder} after {age:?}"))
    }
}

fn status(code: u16, reason: &str) -> Vec<u8> {
    json!({"kind": "Status", "code": code, "reason": reason, "message": "no"}).to_string().into_bytes()
}

fn encode<T: Message + serde::Serialize>(encoding: Encoding, object: &T) -> Vec<u8> {
    match encoding {
        Encoding::Protobuf => wrap(T::API_VERSION, T::KIND, &object.encode()),
        Encoding::Json => serde_json::to_vec(object).unwrap(),
    }
}

fn decode<T: Message + serde::de::DeserializeOwned>(sent: &Sent) -> T {
    match sent.encoding {
        Encoding::Protobuf => T::decode(Unknown::parse(&sent.body).unwrap().raw).unwrap(),
        Encoding::Json => serde_json::from_slice(&sent.body).unwrap(),
    }
}

/// The first write has this fate; all other requests are executed and answered.
pub fn first_write(end: End) -> impl FnMut(&Sent) -> Fate + Send + 'static {
    let mut first = true;
    move |sent| {
        let spoilt = first && sent.method != Method::GET;
        first &= !spoilt;
        if spoilt { end.into() } else { Fate::default() }
    }
}
