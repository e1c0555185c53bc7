//! The recorder from call to request, against a scripted API server, on a paused clock.
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use controller_kit::recorder::{EventType, EventWriter, Recorder};
use http::{Method, Request, Response};
use jiff::{Timestamp, ToSpan};
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::client::Body;
use kube_api::{ApiClient, Encoding, RateLimiter};
use kube_protobuf::{Message, Unknown};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

/// The answer to a request.
#[derive(Clone, Copy)]
enum Answer {
    Ok,
    Refuse(u16, &'static str),
    /// A refusal because the namespace is being deleted.
    Terminating,
    Break,
    /// Breaks the connection after processing the request.
    Lose,
    Never,
    /// After half a second.
    Slow,
}
use Answer::{Break, Lose, Never, Ok as Fine, Refuse, Slow, Terminating};

const NOT_FOUND: Answer = Refuse(404, "NotFound");

/// A received request.
#[derive(Clone, Debug)]
struct Seen {
    at: Instant,
    method: Method,
    path: String,
    content_type: String,
    body: Bytes,
}

impl Seen {
    /// The event in the body of a create.
    fn event(&self) -> Event {
        assert_eq!(self.method, Method::POST);
        match &*self.content_type {
            "application/vnd.kubernetes.protobuf" => {
                let envelope = Unknown::parse(&self.body).unwrap();
                assert_eq!((envelope.api_version, envelope.kind), ("v1", "Event"));
                Event::decode(envelope.raw).unwrap()
            }
            "application/json" => serde_json::from_slice(&self.body).unwrap(),
            other => panic!("{other}"),
        }
    }

    fn patch(&self) -> Value {
        assert_eq!(self.method, Method::PATCH);
        assert_eq!(self.content_type, "application/strategic-merge-patch+json");
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The event's object and count.
    fn summary(&self) -> String {
        let count = match self.method {
            Method::POST => self.event().count.unwrap().to_string(),
            _ => self.patch()["count"].to_string(),
        };
        let name = self.path.rsplit('/').next().unwrap();
        let object = match self.method {
            Method::POST => self.event().involved_object.name.unwrap(),
            _ => name.rsplit_once('.').unwrap().0.to_owned(),
        };
        format!("{} {object} {count}", self.method)
    }
}

type Script = dyn FnMut(&Seen) -> Answer + Send;

/// The API server, with the names of its events.
struct Server {
    script: Mutex<Box<Script>>,
    names: Mutex<Vec<String>>,
    seen: Mutex<Vec<Seen>>,
}

impl Server {
    fn new(script: impl FnMut(&Seen) -> Answer + Send + 'static) -> Arc<Self> {
        Arc::new(Self {
            script: Mutex::new(Box::new(script)),
            names: Mutex::default(),
            seen: Mutex::default(),
        })
    }

    /// A server that answers the first requests like this, and processes the others.
    fn answers(first: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        let mut first = first.into_iter().collect::<Vec<_>>().into_iter();
        Self::new(move |_| first.next().unwrap_or(Fine))
    }

    fn client(self: &Arc<Self>, encoding: Encoding) -> ApiClient {
        let server = Arc::clone(self);
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = Arc::clone(&server);
            async move { server.answer(request).await }
        });
        ApiClient::new(kube::Client::new(service, "default"), encoding, "test/1.0")
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, std::io::Error> {
        let (parts, body) = request.into_parts();
        let content_type = parts.headers["content-type"].to_str().unwrap().to_owned();
        let body = body.collect_bytes().await.unwrap();
        let (at, method, path) = (Instant::now(), parts.method, parts.uri.to_string());
        let seen = Seen { at, method, path, content_type, body };
        let answer = (self.script.lock())(&seen);
        self.seen.lock().push(seen.clone());
        let status = match answer {
            Fine => self.execute(&seen),
            Lose => {
                self.execute(&seen);
                return Err(std::io::ErrorKind::ConnectionReset.into());
            }
            Break => return Err(std::io::ErrorKind::ConnectionRefused.into()),
            Never => pending().await,
            Slow => {
                sleep(SECOND / 2).await;
                self.execute(&seen)
            }
            Refuse(code, reason) => Some((code, reason, json!({}))),
            Terminating => Some((403, "Forbidden", json!({"causes": [{"reason": "NamespaceTerminating"}]}))),
        };
        let (code, body) = match status {
            None => (200, json!({"kind": "Event", "apiVersion": "v1", "metadata": {}, "involvedObject": {}})),
            Some((code, reason, details)) => {
                (code, json!({"kind": "Status", "reason": reason, "code": code, "details": details}))
            }
        };
        let response = Response::builder().status(code).header("content-type", "application/json");
        Ok(response.body(Body::from(body.to_string().into_bytes())).unwrap())
    }

    fn execute(&self, request: &Seen) -> Option<(u16, &'static str, Value)> {
        let mut names = self.names.lock();
        let known = |name: &str| names.iter().any(|known| known == name);
        if request.method == Method::PATCH {
            let name = request.path.rsplit('/').next().unwrap();
            return (!known(name)).then(|| (404, "NotFound", json!({})));
        }
        let name = request.event().metadata.name.unwrap();
        if known(&name) {
            return Some((409, "AlreadyExists", json!({})));
        }
        names.push(name);
        None
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    fn summaries(&self) -> Vec<String> {
        self.seen.lock().iter().map(Seen::summary).collect()
    }
}

/// A running recorder.
struct Harness {
    server: Arc<Server>,
    recorder: Recorder,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Harness {
    fn new(server: &Arc<Server>) -> Self {
        Self::with(server, Encoding::Protobuf)
    }

    fn with(server: &Arc<Server>, encoding: Encoding) -> Self {
        let (recorder, writer) = Recorder::new(server.client(encoding), "widget-controller");
        let (stop, running) = start(writer);
        Self { server: Arc::clone(server), recorder, stop, running }
    }

    /// Records a failure and gives the writer a millisecond to send it.
    async fn fail(&self, name: &str) {
        warn(&self.recorder, name);
        sleep(Duration::from_millis(1)).await;
    }

    /// Waits until all retries are over.
    async fn settle(&self) {
        sleep(3600 * SECOND).await;
    }
}

fn start(writer: EventWriter) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = oneshot::channel();
    (stop, tokio::spawn(writer.run(async { drop(stopped.await) })))
}

fn widget(name: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Widget".to_owned()),
        namespace: Some("shop".to_owned()),
        name: Some(name.to_owned()),
        uid: Some(format!("uid-of-{name}")),
        resource_version: Some("7".to_owned()),
        field_path: None,
    }
}

fn warn(recorder: &Recorder, name: &str) {
    recorder.event(&widget(name), EventType::Warning, "FailedToSync", "it failed");
}

/// The gaps between requests in seconds.
fn gaps(seen: &[Seen]) -> Vec<f64> {
    seen.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_event_is_created_in_both_encodings() {
    for encoding in [Encoding::Protobuf, Encoding::Json] {
        let harness = Harness::with(&Server::answers([]), encoding);
        let earliest = Timestamp::now() - 1.second();
        harness.fail("web").await;
        let seen = harness.server.seen();
        assert_eq!(seen.len(), 1);
        assert_eq!(seen[0].path, "/api/v1/namespaces/shop/events");
        let event = seen[0].event();

        let name = event.metadata.name.clone().unwrap();
        let nanoseconds = i128::from_str_radix(name.strip_prefix("web.").unwrap(), 16).unwrap();
        let at = Timestamp::from_nanosecond(nanoseconds).unwrap();
        assert!((earliest..=Timestamp::now()).contains(&at));
        let at = Timestamp::from_second(at.as_second()).unwrap();
        let expected = Event {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some("shop".to_owned()),
                ..ObjectMeta::default()
            },
            involved_object: widget("web"),
            type_: Some("Warning".to_owned()),
            reason: Some("FailedToSync".to_owned()),
            message: Some("it failed".to_owned()),
            count: Some(1),
            first_timestamp: Some(Time(at)),
            last_timestamp: Some(Time(at)),
            source: Some(EventSource {
                component: Some("widget-controller".to_owned()),
                ..EventSource::default()
            }),
            reporting_component: Some("widget-controller".to_owned()),
            reporting_instance: Some(String::new()),
            ..Event::default()
        };
        assert_eq!(event, expected, "{encoding:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_gone_is_created_again() {
    let harness = Harness::new(&Server::answers([Fine, NOT_FOUND]));
    harness.fail("web").await;
    harness.server.names.lock().clear();
    harness.fail("web").await;
    harness.fail("web").await;
    let seen = harness.server.seen();
    assert_eq!(harness.server.summaries(), ["POST web 1", "PATCH web 2", "POST web 2", "PATCH web 3"]);
    let (first, again) = (seen[0].event(), seen[2].event());
    assert_eq!(again.metadata.name, first.metadata.name);
    assert_eq!(again.first_timestamp, first.first_timestamp);
    assert_eq!(harness.recorder.lost(), 0);
}

#[tokio::test(start_paused = true)]
async fn refusals_are_final_and_counted() {
    let refusals = [
        Refuse(400, "BadRequest"),
        Refuse(403, "Forbidden"),
        Refuse(409, "Conflict"),
        Refuse(422, "Invalid"),
    ];
    for refusal in refusals {
        let harness = Harness::new(&Server::answers([refusal]));
        harness.fail("web").await;
        harness.settle().await;
        assert_eq!(harness.server.summaries(), ["POST web 1"]);
        assert_eq!(harness.recorder.lost(), 1);
        harness.fail("web").await;
        assert_eq!(
            harness.server.summaries()[1..],
            ["PATCH web 2", "POST web 2"],
            "the next one is tried anew"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn events_of_a_deleted_namespace_are_dropped_and_not_counted() {
    for gone in [Terminating, NOT_FOUND] {
        let harness = Harness::new(&Server::answers([gone]));
        harness.fail("web").await;
        harness.settle().await;
        assert_eq!(harness.server.summaries(), ["POST web 1"]);
        assert_eq!(harness.recorder.lost(), 0, "not a loss");
    }
}

#[tokio::test(start_paused = true)]
async fn failures_are_tried_again_after_a_random_and_then_a_fixed_time() {
    let mut firsts = Vec::new();
    for failure in [Refuse(500, "InternalError"), Refuse(429, "TooManyRequests"), Refuse(503, ""), Break] {
        let harness = Harness::new(&Server::answers([failure; 4]));
        harness.fail("web").await;
        harness.settle().await;
        assert_eq!(harness.server.summaries(), ["POST web 1"; 5]);
        let gaps = gaps(&harness.server.seen());
        assert!((0.0..10.01).contains(&gaps[0]), "{gaps:?}");
        assert!(gaps[1..].iter().all(|gap| (10.0..10.01).contains(gap)), "{gaps:?}");
        assert_eq!(harness.recorder.lost(), 0);
        firsts.push(gaps[0]);
    }
    firsts.dedup();
    assert!(firsts.len() > 1, "random: {firsts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_counts_as_failing() {
    let harness = Harness::new(&Server::answers([Never]));
    harness.fail("web").await;
    harness.settle().await;
    assert_eq!(harness.server.summaries(), ["POST web 1"; 2]);
    assert!((30.0..40.1).contains(&gaps(&harness.server.seen())[0]));
}

#[tokio::test(start_paused = true)]
async fn after_twelve_tries_an_event_is_given_up() {
    let harness = Harness::new(&Server::new(|_| Break));
    harness.fail("web").await;
    harness.settle().await;
    assert_eq!(harness.server.seen().len(), 12);
    assert_eq!(harness.recorder.lost(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_create_that_got_through_unnoticed_is_not_a_loss() {
    let harness = Harness::new(&Server::answers([Lose]));
    harness.fail("web").await;
    harness.settle().await;
    assert_eq!(harness.server.summaries(), ["POST web 1"; 2], "the second is answered with AlreadyExists");
    assert_eq!(harness.recorder.lost(), 0);
    harness.fail("web").await;
    assert_eq!(harness.server.summaries()[2..], ["PATCH web 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_failing_event_delays_no_other_and_absorbs_its_repetitions() {
    let recovered = Instant::now() + 25 * SECOND;
    let fails = move |seen: &Seen| seen.summary().contains("failing") && Instant::now() < recovered;
    let harness = Harness::new(&Server::new(move |seen| if fails(seen) { Break } else { Fine }));
    for name in ["failing", "fine", "failing", "failing", "fine"] {
        warn(&harness.recorder, name);
    }
    harness.settle().await;
    let shown = harness.server.summaries();
    assert_eq!(shown[..3], ["POST failing 1", "POST fine 1", "PATCH fine 2"]);
    let (last, tries) = shown[3..].split_last().unwrap();
    assert_eq!(last, "POST failing 3", "the newest, created, as it never was");
    assert!(tries.iter().all(|shown| shown == "PATCH failing 3"), "{tries:?}");
    assert!((3..=4).contains(&tries.len()), "{tries:?}");
    assert_eq!(harness.recorder.lost(), 0);
}

#[tokio::test(start_paused = true)]
async fn too_many_events_are_dropped_without_blocking() {
    let server = Server::answers([]);
    let (recorder, writer) = Recorder::new(server.client(Encoding::Protobuf), "test");
    for n in 0..1003 {
        warn(&recorder, &format!("web-{n}"));
    }
    assert_eq!(recorder.lost(), 3);
    let (_stop, _running) = start(writer);
    sleep(SECOND).await;
    let shown = server.summaries();
    assert_eq!((shown.len(), &*shown[999]), (1000, "POST web-999 1"), "in order");
    warn(&recorder, "web-1003");
    sleep(SECOND).await;
    assert_eq!((server.seen().len(), recorder.lost()), (1001, 3), "the queue has space again");
}

#[tokio::test(start_paused = true)]
async fn events_take_no_token_of_the_clients_limit() {
    let server = Server::answers([]);
    let client = server.client(Encoding::Protobuf).with_limit(RateLimiter::new(0.1, 1));
    let limiter = Arc::clone(client.limiter().unwrap());
    let (recorder, writer) = Recorder::new(client, "test");
    let (_stop, _running) = start(writer);
    warn(&recorder, "web-0");
    warn(&recorder, "web-1");
    sleep(SECOND).await;
    assert_eq!(server.seen().len(), 1, "the second waits for the limit of events");
    assert!(limiter.try_acquire(1));
    sleep(10 * SECOND).await;
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_outage_fills_bounded_space_and_recovers() {
    let recovered = Instant::now() + 60 * SECOND;
    let harness = Harness::new(&Server::new(move |_| if Instant::now() < recovered { Break } else { Fine }));
    for n in 0..2100 {
        harness.fail(&format!("web-{n}")).await;
    }
    assert_eq!(harness.recorder.lost(), 100, "1,000 wait for another try, 1,000 in the queue");
    harness.settle().await;
    assert_eq!(harness.recorder.lost(), 100);
    assert_eq!(harness.server.names.lock().len(), 2000);
}

#[tokio::test(start_paused = true)]
async fn at_the_end_everything_gets_one_more_try() {
    fastrand::seed(1); // the retry is not due at once
    let server = Server::answers([Break, Break]);
    let harness = Harness::new(&server);
    harness.fail("a").await;
    for name in ["b", "c", "d"] {
        warn(&harness.recorder, name);
    }
    harness.stop.send(()).unwrap();
    let start = Instant::now();
    harness.running.await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(server.summaries(), ["POST a 1", "POST a 1", "POST b 1", "POST c 1", "POST d 1"]);
    assert_eq!(harness.recorder.lost(), 1, "a, which failed once more");
    warn(&harness.recorder, "e");
    assert_eq!(harness.recorder.lost(), 2, "too late");
}

#[tokio::test(start_paused = true)]
async fn the_end_is_bounded_and_repeats_the_write_in_progress() {
    let server = Server::answers([Never]);
    let harness = Harness::new(&server);
    harness.fail("a").await;
    warn(&harness.recorder, "b");
    harness.stop.send(()).unwrap();
    harness.running.await.unwrap();
    assert_eq!(server.summaries(), ["POST a 1", "POST a 1", "POST b 1"], "the write in progress is repeated");
    assert_eq!(harness.recorder.lost(), 0);

    let harness = Harness::new(&Server::new(|_| Never));
    harness.fail("a").await;
    warn(&harness.recorder, "b");
    harness.stop.send(()).unwrap();
    let start = Instant::now();
    harness.running.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 6, "one for the write in progress, five for all");
    assert_eq!(harness.recorder.lost(), 2);
}

/// A cancelled request would be an error in the API server's log.
#[tokio::test(start_paused = true)]
async fn a_write_in_progress_at_the_end_may_finish() {
    let harness = Harness::new(&Server::answers([Slow]));
    harness.fail("a").await;
    harness.stop.send(()).unwrap();
    harness.running.await.unwrap();
    assert_eq!(harness.server.summaries(), ["POST a 1"], "once");
    assert_eq!(harness.recorder.lost(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_writer_ends_when_all_recorders_are_dropped() {
    let server = Server::answers([Break]);
    let Harness { recorder, running, stop, .. } = Harness::new(&server);
    warn(&recorder, "a");
    drop(recorder);
    running.await.unwrap();
    assert_eq!(server.summaries(), ["POST a 1"; 2], "after the retry");
    drop(stop);
}
