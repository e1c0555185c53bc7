//! Compressed responses.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use http::Method;
use http_body_util::BodyExt as _;
use kube_api::{ApiClient, Encoding, connect};

use scripted_api::loopback::Loopback;
use scripted_api::script::{Answer, Script, Step};

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn client(server: &Loopback, disable_compression: bool) -> ApiClient {
    let mut config = Loopback::config(server.address);
    config.disable_compression = disable_compression;
    ApiClient::new(connect(&config).unwrap(), Encoding::Json, "test/1.0")
}

/// The events of a list that is streamed: the API server ends a gzip member at each flush (`WatchListCompression`).
#[tokio::test]
async fn each_part_of_a_compressed_stream_is_read_when_it_arrives() {
    let answer = Answer::new(200, "application/json", gzip("first\n")).header("content-encoding", "gzip");
    let answer = answer.then(gzip("second\n")).hang();
    let script = Script::new([Step::new(Method::GET, "/version", answer)]);
    let server = Loopback::start(&script);
    let opened = client(&server, false).open("/version", Duration::from_mins(1)).await.unwrap();
    let (mut body, mut text) = (opened.into_body(), Vec::new());
    while text != b"first\nsecond\n" {
        text.extend(body.frame().await.unwrap().unwrap().into_data().unwrap());
    }
    assert_eq!(script.seen()[0].headers["accept-encoding"], "gzip");
}

#[tokio::test]
async fn no_compression_is_asked_for_if_it_is_disabled() {
    let script = Script::new([Step::new(Method::GET, "/version", Answer::new(200, "", "{}"))]);
    let server = Loopback::start(&script);
    client(&server, true).get_raw("/version").await.unwrap();
    assert!(!script.seen()[0].headers.contains_key("accept-encoding"));
}
