//! Requests that another one overtakes, and answers that a shutdown meets.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tower::Service as _;

use super::ApiServer;
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
