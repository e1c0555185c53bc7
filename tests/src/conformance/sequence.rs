//! Runs a sequence on two servers in step.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::canonical::Canonical;
use super::compare::{Difference, compare};
use super::coverage::Coverage;
use super::deviations;
use super::earlier_responses::EarlierResponses;
use super::exchange::{Answer, CUT, Server, Stream};
use super::request::{Action, Request};
use super::tree::Tree;
use super::view;

/// Two servers that have to give equal answers.
#[derive(Clone)]
pub struct Pair {
    /// The real server, which is right.
    pub real: Server,
    /// The one under test.
    pub other: Server,
}

/// One server during a sequence.
struct Side {
    server: Server,
    earlier: EarlierResponses,
    canonical: Canonical,
    /// Open streams by request, with the content type.
    streams: HashMap<usize, (String, Stream)>,
    /// Writes so far, and as many as the caches of resources have handled.
    writes: usize,
    handled: HashMap<&'static str, usize>,
}

/// A request whose answers differ.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// Its number.
    pub(crate) number: usize,
    /// The differences of the answers.
    pub(crate) differences: Vec<Difference>,
    /// The request as the real server got it.
    pub(crate) request: String,
    /// Both answers in canonical form.
    pub(crate) answers: [String; 2],
}

/// The time that events may take to arrive. Shorter than the limit of other conditions, because each sequence takes as long in
/// which a server sends too few.
const PATIENCE: Duration = Duration::from_secs(30);

/// The time between two looks, in which further events would have come.
const QUIET: Duration = Duration::from_millis(20);

impl Side {
    fn new(server: &Server, namespace: &str, slot: usize) -> Self {
        Self {
            server: server.clone(),
            earlier: EarlierResponses::new(namespace, slot),
            canonical: Canonical::default(),
            streams: HashMap::new(),
            writes: 0,
            handled: HashMap::new(),
        }
    }

    /// Makes a request. Returns the answer in canonical form.
    async fn make(&mut self, request: &Request) -> (u16, Tree) {
        self.sync(request).await;
        if request.method != "GET" {
            self.writes += 1;
        }
        let resolved = self.earlier.resolve(request);
        let answer = if request.action == Action::Watch {
            let (answer, stream) = self.server.stream(resolved).await;
            if let Some(stream) = stream {
                self.streams.insert(request.number, (answer.content_type().to_owned(), stream));
                if request.cell.resource.starts_with("events") {
                    self.begun(request).await;
                }
            }
            answer
        } else if request.cell.option == "health" {
            self.healthy(resolved).await
        } else {
            self.server.answer(resolved).await
        };
        let tree = view::answer(&answer, &mut self.canonical);
        let status = answer.status;
        self.earlier.keep(request, answer);
        (status, tree)
    }

    /// The answer to a request for the server's health. On a busy machine etcd's check at times takes longer than it may, which
    /// is over soon; a server that stays unhealthy keeps its answer.
    async fn healthy(&self, request: http::Request<Bytes>) -> Answer {
        let start = Instant::now();
        loop {
            let answer = self.server.answer(request.clone()).await;
            if answer.status != 500 || start.elapsed() > PATIENCE {
                return answer;
            }
            tokio::time::sleep(QUIET).await;
        }
    }

    /// Waits until a watch on Events has begun. The real server has no cache of them: it reads the first ones after its answer
    /// has begun, and would find the writes of later requests.
    async fn begun(&self, watch: &Request) {
        /// For a server to read nothing, of which it gives no sign.
        const NOTHING: Duration = Duration::from_millis(100);
        let value = |name: &str| {
            watch
                .query
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.as_str())
                .unwrap_or_default()
        };
        let is_marked = value("sendInitialEvents") == "true";
        let expected = match value("resourceVersion") {
            _ if is_marked => 0,
            "" | "0" => self.matching(watch).await,
            _ => return,
        };
        if !is_marked && expected == 0 {
            tokio::time::sleep(NOTHING).await;
            return;
        }
        let has_begun = |received: &view::Received| {
            if is_marked {
                received.events.iter().any(view::is_bookmark)
            } else {
                received.events.len() >= expected
            }
        };
        let start = Instant::now();
        loop {
            let (received, ended) = self.received(watch.number);
            if has_begun(&received) || ended || received.error.is_some() || start.elapsed() > PATIENCE {
                return;
            }
            tokio::time::sleep(QUIET).await;
        }
    }

    /// The number of objects that a watch selects.
    async fn matching(&self, watch: &Request) -> usize {
        let mut list = watch.clone();
        list.query.retain(|(key, _)| key.ends_with("Selector"));
        list.accept = None;
        let answer = self.server.answer(self.earlier.resolve(&list)).await;
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        body["items"].as_array().map_or(usize::from(answer.status == 200), Vec::len)
    }

    /// Waits until the cache that answers the request is not behind. A watch may begin with a version that other sequences have
    /// reached meanwhile.
    async fn sync(&mut self, request: &Request) {
        if let Some(path) = &request.sync
            && (self.handled.insert(request.cell.resource, self.writes) != Some(self.writes)
                || request.action == Action::Watch)
        {
            self.server.sync(&self.earlier.text(path)).await;
        }
    }

    fn received(&self, watch: usize) -> (view::Received, bool) {
        let Some((content_type, stream)) = self.streams.get(&watch) else { return Default::default() };
        let (received, ended) = stream.received();
        (view::events(content_type, &received), ended)
    }
}

/// The end of a sequence before its last request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// At the first difference: what follows may be its consequence.
    Difference,
    /// At the first difference of status codes, after which the servers have different objects.
    OtherStatus,
}

/// Runs a sequence until its end. Returns the requests whose answers differ.
pub(crate) async fn run(
    pair: &Pair,
    namespace: &str,
    slot: usize,
    requests: &[Request],
    until: Until,
    coverage: &mut Coverage,
) -> Vec<Failure> {
    let mut sides = [&pair.real, &pair.other].map(|server| Side::new(server, namespace, slot));
    let body = format!(r#"{{"metadata":{{"name":"{namespace}","labels":{{"sequence":"{namespace}"}}}}}}"#);
    let create = |side: &Side| {
        let (server, body) = (side.server.clone(), body.clone());
        async move { server.quietly("POST", "/api/v1/namespaces", body).await }
    };
    let (real, other) = tokio::join!(create(&sides[0]), create(&sides[1]));
    for answer in [real, other] {
        assert_eq!(answer.status, 201, "creating a namespace: {}", String::from_utf8_lossy(&answer.body));
    }
    let mut failures = Vec::new();
    for request in requests {
        let (status, trees) = match request.action {
            Action::Answer | Action::Watch => {
                let [real, other] = &mut sides;
                let ((status, real), (_, other)) = tokio::join!(real.make(request), other.make(request));
                (status, [real, other])
            }
            Action::Close(watch) => (200, close(&mut sides, request, watch, false).await),
            Action::AwaitEnd(watch) => (200, close(&mut sides, request, watch, true).await),
        };
        coverage.count(request, status);
        if status == CUT {
            // kube-apiserver panics, for example at updates of a Service without cluster IPs, which a PUT of its status can
            // create. There is no answer to compare, and the other server may have changed the object.
            break;
        }
        let mut differences = Vec::new();
        compare("", &trees[0], &trees[1], &mut differences);
        let known = deviations::remove(request, &mut differences, &trees, coverage);
        if !differences.is_empty() {
            // The numbers of uids and versions count what came before.
            let is_numbered = |found: &Difference| found.real.contains('⟦') && found.other.contains('⟦');
            if !failures.is_empty() && differences.iter().all(is_numbered) {
                break;
            }
            let end = until == Until::Difference || differences.iter().any(|found| found.path == ".status");
            failures.push(Failure {
                number: request.number,
                differences,
                request: print(&sides[0].earlier, request),
                answers: trees.map(|tree| tree.print()),
            });
            if end {
                break;
            }
        }
        if known == deviations::Effect::StateDiffers {
            break;
        }
    }
    let touched: BTreeSet<&str> = requests.iter().map(|request| request.cell.resource).collect();
    let [real, other] = &sides;
    tokio::join!(clean(&real.server, namespace, &touched), clean(&other.server, namespace, &touched));
    failures
}

/// Ends a watch once both servers have sent as much, or patience is over.
async fn close(sides: &mut [Side; 2], request: &Request, watch: usize, await_end: bool) -> [Tree; 2] {
    let patience = if await_end { 2 * PATIENCE } else { PATIENCE };
    let start = Instant::now();
    let [real, other] = &mut *sides;
    tokio::join!(real.sync(request), other.sync(request));
    tokio::time::sleep(QUIET).await;
    let (mut real, mut other);
    loop {
        (real, other) = (sides[0].received(watch), sides[1].received(watch));
        let equal = real.0.events.len() == other.0.events.len() && real.1 == other.1;
        if (equal && (real.1 || !await_end)) || start.elapsed() > patience {
            break;
        }
        tokio::time::sleep(QUIET).await;
    }
    let [first, second] = sides;
    first.streams.remove(&watch);
    second.streams.remove(&watch);
    [
        view::stream(real.0, real.1, await_end, &mut first.canonical),
        view::stream(other.0, other.1, await_end, &mut second.canonical),
    ]
}

/// A request as the real server gets it.
pub(crate) fn print(earlier: &EarlierResponses, request: &Request) -> String {
    match request.action {
        Action::Close(watch) => return format!("the events of request {watch}"),
        Action::AwaitEnd(watch) => {
            return format!("the events of request {watch} until the server ends the watch");
        }
        Action::Answer | Action::Watch => {}
    }
    let resolved = earlier.resolve(request);
    let mut text = format!("{} {}", resolved.method(), resolved.uri());
    for (name, value) in resolved.headers() {
        write!(text, "\n    {name}: {}", value.to_str().unwrap_or_default()).unwrap();
    }
    let body = resolved.body();
    if !body.is_empty() {
        let body = std::str::from_utf8(body).map_or_else(|_| body.escape_ascii().to_string(), str::to_owned);
        write!(text, "\n    {body}").unwrap();
    }
    text
}

/// Deletes what would affect later sequences: Services keep addresses and ports, and lists read all cluster-scoped objects.
/// The rest only takes memory.
async fn clean(server: &Server, namespace: &str, touched: &BTreeSet<&str>) {
    if touched.contains("services") {
        delete_all(server, &format!("/api/v1/namespaces/{namespace}/services"), "").await;
    }
    if touched.contains("nodes") {
        delete_all(server, "/api/v1/nodes", &format!("?labelSelector=sequence%3D{namespace}")).await;
    }
}

/// Deletes the objects of a list one by one, as the embedded server deletes no collections, and completes deletions that wait
/// for finalizers.
async fn delete_all(server: &Server, path: &str, query: &str) {
    let answer = server.quietly("GET", &format!("{path}{query}"), String::new()).await;
    let list: serde_json::Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    for item in list["items"].as_array().into_iter().flatten() {
        let path = format!("{path}/{}", item["metadata"]["name"].as_str().unwrap_or_default());
        server.quietly("DELETE", &path, r#"{"gracePeriodSeconds":0}"#.to_owned()).await;
        if !item["metadata"]["finalizers"].is_null() {
            server.patch(&path, r#"{"metadata":{"finalizers":null}}"#).await;
        }
    }
}
