//! Tables over time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use embedded_apiserver::{ApiServer, Environment};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use serde_json::Value;

use super::support::{PODS, pod, raw, send};

/// A clock that tests set, in seconds.
struct Clock(Arc<AtomicI64>);

impl Environment for Clock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).unwrap()
    }

    fn random(&self) -> u64 {
        0
    }
}

/// Ages in an event are those of its moment, not of the beginning of the watch, before which the object did not exist.
#[tokio::test]
async fn a_watched_table_shows_ages_of_each_event() {
    let seconds = Arc::new(AtomicI64::new(1_000));
    let server = ApiServer::builder().environment(Clock(seconds.clone())).build();
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let mut events = raw(&server, "GET", &format!("{PODS}?watch=1"), &accept, "").await.into_body();
    seconds.store(1_100, Ordering::Relaxed);
    let (code, _) = send(&server, "POST", PODS, pod("p")).await;
    assert_eq!(code, 201);
    seconds.store(1_107, Ordering::Relaxed);
    let frame = events.frame().await.unwrap().unwrap().into_data().unwrap();
    let event: Value = serde_json::from_slice(&frame).unwrap();
    assert_eq!(event["object"]["rows"][0]["cells"][4], "7s", "{event}");
}
