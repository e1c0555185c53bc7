//! Requests that another one overtakes, and answers that a shutdown meets.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::sync::watch;
use tower::Service as _;

use super::ApiServer;
use super::serve::until_stopped;
use crate::core::Entry;
use crate::http::Body;
use crate::store::Expect;

const PODS: &str = "/api/v1/namespaces/default/pods";

async fn send(server: &ApiServer, method: &str, path: &str, body: Value) -> Response<Body> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder().method(method).uri(path).body(Full::<Bytes>::from(body)).unwrap();
    let Ok(response) = server.clone().call(request).await;
    response
}

async fn text(response: Response<Body>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn a_forced_deletion_that_another_one_finishes_answers_with_the_last_state() {
    let server = ApiServer::new();
    let pod =
        json!({ "metadata": { "name": "a" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    assert_eq!(run(send(&server, "POST", PODS, pod)).status(), 201);
    let core = &server.core;
    let created = core.store.version();
    // The first step ends with a note, which waits for this lock.
    let notes = core.happened.lock();
    let deletion = std::thread::spawn({
        let server = server.clone();
        move || {
            run(async {
                let response =
                    send(&server, "DELETE", &format!("{PODS}/a?gracePeriodSeconds=0"), Value::Null).await;
                (response.status(), text(response).await)
            })
        }
    });
    while core.store.version() == created {
        std::thread::yield_now();
    }
    core.store.delete(Entry::named("v1", "Pod").unwrap().resource, "default/a", Expect::Present).unwrap();
    drop(notes);
    let (code, answer) = deletion.join().unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(code, 200, "{answer}");
    assert_eq!(answer["metadata"]["deletionGracePeriodSeconds"], 0);
    assert_eq!(answer["metadata"]["resourceVersion"], (created + 1).to_string());
}

/// A client takes the end of a body for the end of the list.
#[tokio::test]
async fn a_stopped_server_ends_watches_and_finishes_lists() {
    let server = ApiServer::new();
    let (_stop, stopped) = watch::channel(true);
    for (path, items) in [("/api/v1/namespaces", Some(4)), ("/api/v1/namespaces?watch=1", None)] {
        let response = send(&server, "GET", path, Value::Null).await;
        let body = text(until_stopped(response, stopped.clone())).await;
        let list: Option<Value> = serde_json::from_str(&body).ok();
        assert_eq!(list.map(|list| list["items"].as_array().unwrap().len()), items, "{path}: {body}");
    }
}
