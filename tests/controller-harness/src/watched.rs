//! A watch as a component has it, to count what each of them gets.

use std::sync::Arc;

use embedded_apiserver::ApiServer;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use parking_lot::Mutex;
use tower::Service as _;

/// The events of a watch in protobuf, counted until the test ends.
#[derive(Clone)]
pub struct Watched {
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    events: usize,
    bytes: usize,
    /// Bytes of an event that is not complete.
    rest: Vec<u8>,
}

impl Watched {
    pub(crate) async fn start(mut api: ApiServer, path: &str) -> Self {
        let request = Request::get(format!("{path}?watch=true&resourceVersion={}", api.version()))
            .header(header::ACCEPT, "application/vnd.kubernetes.protobuf")
            .body(Body::empty())
            .unwrap();
        let response = api.call(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let watched = Self { counts: Arc::default() };
        let counts = Arc::clone(&watched.counts);
        tokio::spawn(async move {
            let mut body = response.into_body();
            while let Some(Ok(frame)) = body.frame().await {
                if let Ok(data) = frame.into_data() {
                    counts.lock().add(&data);
                }
            }
        });
        watched
    }

    /// The number of events so far.
    #[must_use]
    pub fn events(&self) -> usize {
        self.counts.lock().events
    }

    /// The bytes of these events.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.counts.lock().bytes
    }
}

impl Counts {
    /// Adds what arrived: events, each after its length in four bytes.
    fn add(&mut self, data: &[u8]) {
        self.bytes += data.len();
        self.rest.extend_from_slice(data);
        while let Some((length, rest)) = self.rest.split_first_chunk::<4>() {
            let length = u32::from_be_bytes(*length) as usize;
            if rest.len() < length {
                break;
            }
            self.rest.drain(..4 + length);
            self.events += 1;
        }
    }
}
