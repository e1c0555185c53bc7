use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use axum::routing::any_service;
use endpoint_diagnostics::{Object, Snapshot};
use futures::FutureExt as _;
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use tower::ServiceExt as _;

use super::*;
use crate::board::tests::{origin, report};
use crate::follow::Change;
use crate::origin::State as SourceState;
use crate::overview::Overview;

struct Page {
    source: Arc<Follower>,
    router: Router,
    stop: watch::Sender<bool>,
}

impl Page {
    fn new() -> Self {
        let snapshot = Snapshot::new(Timestamp::UNIX_EPOCH, []);
        let source = Arc::new(Follower::new(snapshot, 7, origin(SourceState::Live)));
        source.board().publish([report("web", 1)], [], Timestamp::UNIX_EPOCH);
        let (stop, stopping) = watch::channel(false);
        Self { router: router(Arc::clone(&source), "secret", stopping), source, stop }
    }

    /// Adds Services, after six seconds.
    fn add(&self, names: &[&str]) {
        let now = Timestamp::from_second(6).unwrap();
        let change = |name: &&str| {
            let metadata = json!({"namespace": "shop", "name": name});
            let service = json!({"metadata": metadata, "spec": {"selector": {"app": name}}});
            let service = Object::Service(Arc::new(serde_json::from_value(service).unwrap()));
            (now, Change::Upserted(service))
        };
        self.source.apply(names.iter().map(change).collect(), now);
    }

    async fn send(&self, request: http::request::Builder) -> Response {
        let request = request.header("host", "localhost").header("authorization", "Bearer secret");
        let request = request.body(Body::empty()).unwrap();
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        let response = self.send(Request::get(path)).await;
        let (status, body) = (response.status(), response.into_body().collect().await.unwrap().to_bytes());
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }
}

/// The next event of a stream.
async fn event(response: &mut Response) -> Option<String> {
    let frame = tokio::time::timeout(Duration::from_mins(3), response.body_mut().frame());
    let data = frame.await.expect("an event")?.unwrap().into_data().unwrap();
    Some(String::from_utf8(data.to_vec()).unwrap())
}

#[tokio::test]
async fn one_service_is_reported_on_demand() {
    let page = Page::new();
    page.add(&["web", "a/b"]);
    assert_eq!(page.get("/api/services/shop/web").await.1["pods"], json!([]));
    assert_eq!(page.get("/api/services/shop/a%2Fb").await.1["name"], "a/b");
    let (status, error) = page.get("/api/services/shop/other").await;
    assert_eq!(
        (status, error["error"].as_str()),
        (StatusCode::NOT_FOUND, Some("There is no Service shop/other."))
    );
}

#[tokio::test]
async fn questions_have_parameters() {
    let page = Page::new();
    assert_eq!(page.get("/api/services/shop/web/view").await.0, StatusCode::NOT_FOUND);
    page.add(&["web"]);
    assert_eq!(page.get("/api/services/shop/web/view").await.1["report"]["name"], "web");
    assert_eq!(page.get("/api/search?q=app%3Dweb").await.1["services"][0]["name"], "web");
    assert_eq!(page.get("/api/search").await.1["services"], json!([]));
    assert_ne!(page.get("/api/timeline?since=5000").await.1["entries"], json!([]));
    assert_eq!(page.get("/api/timeline?since=7000").await.1["entries"], json!([]));
    assert_eq!(page.get("/api/timeline?since=yesterday").await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_cluster_as_a_whole_comes_with_the_list_and_when_it_changes() {
    let page = Page::new();
    let (status, list) = page.get("/api/services").await;
    assert_eq!(
        (status, &list["cursor"], &list["source"]["state"]),
        (StatusCode::OK, &json!("7-1"), &json!("live"))
    );
    assert_eq!(
        (&list["services"][0]["counts"]["ready"], &list["overview"]["watched"]),
        (&json!(1), &json!(0))
    );
    let mut events = page.send(Request::get("/api/events?after=7-1")).await;
    event(&mut events).await;
    page.source.board().set_overview(Overview { watched: 7, ..Overview::default() });
    let overview = event(&mut events).await.unwrap();
    assert!(overview.starts_with("event: overview\n") && overview.contains("\"watched\":7"), "{overview}");
}

#[tokio::test]
async fn every_answer_has_the_policy() {
    let page = Page::new();
    for asset in ASSETS {
        let response = page.send(Request::get(asset.path)).await;
        assert_eq!(response.status(), StatusCode::OK, "{}", asset.path);
        assert!(response.headers().contains_key("content-security-policy"), "{}", asset.path);
    }
    for (path, host) in [("/nothing", "localhost"), ("/", "evil.example"), ("/api/services", "localhost")] {
        let request = Request::get(path).header("host", host).body(Body::empty()).unwrap();
        let response = page.router.clone().oneshot(request).await.unwrap();
        assert!(response.status().is_client_error(), "{path}");
        assert!(response.headers().contains_key("content-security-policy"), "{path}");
    }
}

#[tokio::test]
async fn only_reads_are_answered() {
    let page = Page::new();
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        for path in
            ["/", "/api/services", "/api/services/shop/web", "/api/events", "/api/search", "/api/timeline"]
        {
            let response = page.send(Request::builder().method(method).uri(path)).await;
            assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn changes_follow_the_cursor_as_they_happen() {
    let page = Page::new();
    let mut events = page.send(Request::get("/api/events?after=7-0")).await;
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    let source = event(&mut events).await.unwrap();
    assert!(source.starts_with("event: source\n"), "{source}");
    let changes = event(&mut events).await.unwrap();
    assert!(changes.starts_with("event: changes\nid: 7-1\ndata: {\"services\":[{"), "{changes}");
    page.source.board().publish([report("web", 2)], [], Timestamp::UNIX_EPOCH);
    let changes = event(&mut events).await.unwrap();
    assert!(changes.contains("id: 7-2") && changes.contains("\"ready\":2"), "{changes}");
    page.source.board().set_origin(origin(SourceState::Stale));
    let source = event(&mut events).await.unwrap();
    assert!(source.starts_with("event: source\n") && source.contains("\"state\":\"stale\""), "{source}");
    page.stop.send_replace(true);
    assert_eq!(event(&mut events).await, None);
}

#[tokio::test]
async fn a_client_that_connects_again_goes_on_from_its_last_event() {
    let page = Page::new();
    page.source.board().publish([report("web", 2), report("other", 0)], [], Timestamp::UNIX_EPOCH);
    let again = Request::get("/api/events?after=7-0").header("last-event-id", "7-2");
    let mut events = page.send(again).await;
    event(&mut events).await;
    let changes = event(&mut events).await.unwrap();
    assert!(changes.contains("id: 7-3") && !changes.contains("\"web\""), "{changes}");
}

#[tokio::test]
async fn an_unknown_cursor_asks_for_the_list() {
    let page = Page::new();
    for query in ["?after=8-0", "?after=7-99", "?after=", "?after=%00", ""] {
        let mut events = page.send(Request::get(format!("/api/events{query}"))).await;
        let mut last = None;
        while let Some(event) = event(&mut events).await {
            last = Some(event);
        }
        assert!(last.is_some_and(|event| event == "event: resync\ndata: {}\n\n"), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_says_that_it_is_alive() {
    let page = Page::new();
    let mut events = page.send(Request::get("/api/events?after=7-1")).await;
    event(&mut events).await;
    let alive = event(&mut events).await.unwrap();
    assert_eq!(alive, "event: alive\ndata: {}\n\n");
}

#[tokio::test(start_paused = true)]
async fn a_stream_ends_after_five_minutes() {
    let page = Page::new();
    let start = tokio::time::Instant::now();
    let mut events = page.send(Request::get("/api/events?after=7-1")).await;
    while event(&mut events).await.is_some() {}
    assert_eq!(start.elapsed().as_secs(), 300);
}

#[tokio::test]
async fn followers_are_bounded() {
    let page = Page::new();
    let mut followers = vec![];
    for _ in 0..FOLLOWERS {
        followers.push(page.send(Request::get("/api/events?after=7-1")).await);
    }
    assert!(followers.iter().all(|response| response.status() == StatusCode::OK));
    let refused = page.send(Request::get("/api/events?after=7-1")).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    followers.pop();
    let accepted = page.send(Request::get("/api/events?after=7-1")).await;
    assert_eq!(accepted.status(), StatusCode::OK);
}

#[tokio::test]
async fn requests_that_their_clients_leave_pile_up_no_work() {
    let (sender, end) = mpsc::channel::<()>();
    let (begun, end) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(end)));
    let Page { source, stop, .. } = Page::new();
    let [followers, answers] = [FOLLOWERS, ANSWERS].map(|number| Arc::new(Semaphore::new(number)));
    let shared = Shared { source, followers, answers, stopping: stop.subscribe() };
    let search = || {
        let (begun, end) = (Arc::clone(&begun), Arc::clone(&end));
        off_the_runtime(&shared, move |_| {
            begun.fetch_add(1, Ordering::SeqCst);
            // An error: the sender is gone.
            _ = end.lock().recv();
        })
    };
    for _ in 0..5 * ANSWERS {
        assert!(search().now_or_never().is_none(), "the client closes its connection before the answer");
    }
    drop(sender);
    assert_eq!(search().await, Ok(()));
    let begun = begun.load(Ordering::SeqCst);
    assert!(begun <= ANSWERS + 1, "{begun}");
}

#[tokio::test]
async fn a_shared_page_is_below_its_path_and_leaves_users_to_its_server() {
    let page = Page::new();
    let router = crate::shared::pages(Arc::clone(&page.source), page.stop.subscribe());
    let status = async |path: &str, site: &str| {
        let request = Request::get(path).header("host", "page.example").header("sec-fetch-site", site);
        let response = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        (response.status().as_u16(), response.headers().contains_key("content-security-policy"))
    };
    for path in crate::shared::public_paths() {
        assert_eq!(status(&path, "cross-site").await, (200, true), "{path}");
    }
    assert_eq!(status("/endpoints/api/services", "same-origin").await, (200, true));
    assert_eq!(status("/endpoints/api/services", "cross-site").await, (403, true));
    assert_eq!(status("/api/services", "same-origin").await.0, 404);
}

/// As `kubectl endpoints explain --serve --shared` has it, behind a server whose path has a parameter of its own.
#[tokio::test]
async fn a_shared_page_reads_its_own_parameters_of_a_path() {
    let page = Page::new();
    page.add(&["web"]);
    let pages = crate::shared::pages(Arc::clone(&page.source), page.stop.subscribe());
    let page = Page { router: Router::new().route("/endpoints/{*rest}", any_service(pages)), ..page };
    assert_eq!(page.get("/endpoints/api/services/shop/web").await.1["name"], "web");
    assert_eq!(page.get("/endpoints/api/services/shop/web/view").await.1["report"]["name"], "web");
}
