//! The expected requests, the answers to them, and the requests that came.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// One expected request and its answer.
pub struct Step {
    method: Method,
    path: String,
    has: Vec<String>,
    lacks: Vec<String>,
    answer: Answer,
}

/// An answer; without a header it never begins.
pub struct Answer {
    header: Option<(StatusCode, HeaderMap)>,
    body: Vec<Piece>,
}

/// A part of a body.
enum Piece {
    Bytes(Bytes),
    Pause(Duration),
    /// The body stays open without further bytes.
    Hang,
    /// The connection breaks.
    Cut,
}

/// A received request.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Instant,
    pub method: Method,
    pub path: String,
    pub query: Vec<String>,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A list of steps, which runs once.
///
/// A list of one object, by which a list-watch asks for the current version after a watch was resumed, needs no step: the
/// answer is the version of that watch.
pub struct Script {
    steps: Mutex<VecDeque<Step>>,
    /// The last watch from a version: its path, and the version.
    resumed: Mutex<(String, String)>,
    seen: Mutex<Vec<Seen>>,
    /// The result of the script, once it has ended.
    ended: watch::Sender<Option<Result<(), String>>>,
}

impl Step {
    pub fn new(method: Method, path: &str, answer: Answer) -> Self {
        Self { method, path: path.to_owned(), has: Vec::new(), lacks: Vec::new(), answer }
    }

    /// Expects a query that contains this, as `key=value` (not decoded) or as a key.
    pub fn has(mut self, parameter: &str) -> Self {
        self.has.push(parameter.to_owned());
        self
    }

    /// Expects a query that doesn't contain this, as `key=value` or as a key.
    pub fn lacks(mut self, parameter: &str) -> Self {
        self.lacks.push(parameter.to_owned());
        self
    }

    fn objection(&self, request: &Seen) -> Option<String> {
        let contains = |wanted: &String| {
            request
                .query
                .iter()
                .any(|given| given == wanted || given.split_once('=').is_some_and(|(key, _)| key == wanted))
        };
        if (&self.method, &self.path) != (&request.method, &request.path) {
            return Some(format!("expected {} {}", self.method, self.path));
        }
        let missing = self.has.iter().find(|wanted| !contains(wanted));
        let surplus = self.lacks.iter().find(|unwanted| contains(unwanted));
        missing
            .map(|wanted| format!("expected {wanted} in the query"))
            .or_else(|| surplus.map(|unwanted| format!("expected no {unwanted} in the query")))
    }
}

impl Answer {
    pub fn new(code: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::new();
        if !content_type.is_empty() {
            headers.insert(http::header::CONTENT_TYPE, content_type.parse().unwrap());
        }
        let body = vec![Piece::Bytes(body.into())];
        Self { header: Some((StatusCode::from_u16(code).unwrap(), headers)), body }
    }

    /// Accepts the connection, and never answers.
    pub fn never() -> Self {
        Self { header: None, body: Vec::new() }
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        let (_, headers) = self.header.as_mut().unwrap();
        headers.insert(name, value.parse().unwrap());
        self
    }

    pub fn then(mut self, bytes: impl Into<Bytes>) -> Self {
        self.body.push(Piece::Bytes(bytes.into()));
        self
    }

    pub fn pause(mut self, pause: Duration) -> Self {
        self.body.push(Piece::Pause(pause));
        self
    }

    pub fn hang(mut self) -> Self {
        self.body.push(Piece::Hang);
        self
    }

    pub fn cut(mut self) -> Self {
        self.body.push(Piece::Cut);
        self
    }

    /// Splits the same bytes into chunks of this size.
    pub fn in_chunks_of(mut self, size: usize) -> Self {
        let cut = |piece: Piece| match piece {
            Piece::Bytes(bytes) => {
                bytes.chunks(size).map(|chunk| Piece::Bytes(Bytes::copy_from_slice(chunk))).collect()
            }
            other => vec![other],
        };
        self.body = self.body.into_iter().flat_map(cut).collect();
        self
    }
}

impl Script {
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Arc<Self> {
        let steps = steps.into_iter().collect();
        let (resumed, seen, ended) = (Mutex::default(), Mutex::default(), watch::Sender::new(None));
        Arc::new(Self { steps: Mutex::new(steps), resumed, seen, ended })
    }

    /// A client whose requests never leave the process, so that a paused clock advances only when all tasks are idle.
    pub fn client(self: &Arc<Self>) -> kube::Client {
        let script = Arc::clone(self);
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let script = Arc::clone(&script);
            async move {
                let (head, body) = request.into_parts();
                let body = body.collect_bytes().await.unwrap();
                Ok::<_, Infallible>(script.respond(head, body).await)
            }
        });
        kube::Client::new(service, "default")
    }

    /// The response to a request.
    pub(crate) async fn respond(
        self: &Arc<Self>,
        head: Parts,
        body: Bytes,
    ) -> Response<StreamBody<impl Stream<Item = std::io::Result<Frame<Bytes>>> + Send + use<>>> {
        let reply = self.reply(head, body);
        let Some((code, headers)) = reply.header.clone() else {
            reply.given();
            return std::future::pending().await;
        };
        let mut response = Response::new(StreamBody::new(reply.into_stream()));
        *response.status_mut() = code;
        *response.headers_mut() = headers;
        response
    }

    /// The answer to a request. An unexpected request ends the script.
    fn reply(self: &Arc<Self>, head: Parts, body: Bytes) -> Reply {
        let Parts { method, uri, headers, .. } = head;
        let query = uri.query().unwrap_or_default().split('&').filter(|part| !part.is_empty());
        let query = query.map(str::to_owned).collect();
        let seen = Seen { at: Instant::now(), method, path: uri.path().to_owned(), query, headers, body };
        let mut steps = self.steps.lock();
        if let Some(answer) = self.current_version(&seen, steps.front()) {
            return Reply {
                header: answer.header,
                body: answer.body.into_iter(),
                script: Arc::clone(self),
                last: false,
            };
        }
        let objection = match steps.front() {
            None => Some("expected no more requests".to_owned()),
            Some(step) => step.objection(&seen),
        };
        self.seen.lock().push(seen);
        let (answer, last) = if let Some(objection) = objection {
            self.end(Err(format!("{uri}: {objection}")));
            (Answer::never(), false)
        } else {
            (steps.pop_front().unwrap().answer, steps.is_empty())
        };
        Reply { header: answer.header, body: answer.body.into_iter(), script: Arc::clone(self), last }
    }

    /// The answer to a request for the current version, unless a step expects it.
    fn current_version(&self, request: &Seen, next: Option<&Step>) -> Option<Answer> {
        let mut resumed = self.resumed.lock();
        let parameter = |name: &str| request.query.iter().find_map(|part| part.strip_prefix(name));
        if let Some(version) = parameter("resourceVersion=") {
            *resumed = (request.path.clone(), version.to_owned());
        }
        let of_one = "limit=1";
        let expected = next.is_some_and(|step| step.has.iter().any(|part| part == of_one));
        let asked = request.query == [of_one] && request.path == resumed.0;
        let list = format!(r#"{{"metadata":{{"resourceVersion":"{}"}},"items":[]}}"#, resumed.1);
        (asked && !expected).then(|| Answer::new(200, "application/json", list))
    }

    /// Keeps the first error, also one that comes after the end.
    fn end(&self, outcome: Result<(), String>) {
        self.ended.send_if_modified(|ended| {
            let news = !matches!(ended, Some(Err(_)));
            if news {
                *ended = Some(outcome);
            }
            news
        });
    }

    /// Returns when the last answer has been sent completely.
    ///
    /// # Panics
    ///
    /// If an unexpected request came, or none comes for `limit`.
    pub async fn played(&self, limit: Duration) {
        let mut ended = self.ended.subscribe();
        let outcome = timeout(limit, ended.wait_for(Option::is_some)).await;
        let seen = self.describe();
        let Ok(ended) = outcome else {
            panic!("the script is stuck, {} steps left, after\n{seen}", self.steps.lock().len());
        };
        if let Err(objection) = ended.unwrap().clone().unwrap() {
            panic!("{objection}, after\n{seen}");
        }
    }

    /// Panics if an unexpected request came.
    pub fn check(&self) {
        if let Some(Err(objection)) = &*self.ended.borrow() {
            panic!("{objection}, after\n{}", self.describe());
        }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// The times between requests, in seconds.
    pub fn gaps(&self) -> Vec<f64> {
        self.seen.lock().windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64()).collect()
    }

    fn describe(&self) -> String {
        let seen = self.seen.lock();
        let Some(first) = seen.first() else { return "  no requests".to_owned() };
        let line = |seen: &Seen| {
            let after = (seen.at - first.at).as_secs_f64();
            format!("  {after:7.3} s  {} {}?{}", seen.method, seen.path, seen.query.join("&"))
        };
        seen.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// The answer to one request.
struct Reply {
    header: Option<(StatusCode, HeaderMap)>,
    body: std::vec::IntoIter<Piece>,
    script: Arc<Script>,
    last: bool,
}

impl Reply {
    /// Marks the answer as sent, as far as it goes.
    fn given(&self) {
        if self.last {
            self.script.end(Ok(()));
        }
    }

    /// Each piece is taken only when the one before it has been consumed.
    fn into_stream(self) -> impl Stream<Item = std::io::Result<Frame<Bytes>>> + Send + 'static {
        futures::stream::unfold(self, async |mut reply| {
            loop {
                match reply.body.next() {
                    Some(Piece::Bytes(bytes)) if bytes.is_empty() => {}
                    Some(Piece::Bytes(bytes)) => return Some((Ok(Frame::data(bytes)), reply)),
                    Some(Piece::Pause(pause)) => sleep(pause).await,
                    Some(Piece::Hang) => {
                        reply.given();
                        std::future::pending::<()>().await;
                    }
                    Some(Piece::Cut) => {
                        // What came before is sent.
                        tokio::task::yield_now().await;
                        reply.given();
                        reply.body = Vec::new().into_iter();
                        return Some((Err(std::io::ErrorKind::ConnectionReset.into()), reply));
                    }
                    None => {
                        reply.given();
                        return None;
                    }
                }
            }
        })
    }
}
