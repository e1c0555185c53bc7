use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use proptest::prelude::*;

use super::events::WatchKind;
use super::*;
use crate::http::query::Query;
use crate::list::{ListOptions, Request, Target};
use crate::status::Status;
use crate::store::tests::example::labelled;
use crate::store::{Expect, Resource, Store, StoreOptions, Stored};

const PODS: Resource = Resource(0);
const LEASES: Resource = Resource(1);

fn store() -> Arc<Store> {
    Arc::new(Store::new(2, StoreOptions::default()))
}

fn put(store: &Store, key: &str, label: u8) -> Arc<Stored> {
    let expect = if store.get(PODS, key).is_some() { Expect::Present } else { Expect::Absent };
    store.put(PODS, key, expect, &labelled(key.rsplit('/').next().unwrap(), label)).unwrap()
}

fn request(namespace: &str, query: &str, cached: bool) -> Result<Request, Status> {
    let target = Target {
        resource: PODS,
        namespaced: true,
        namespace: namespace.to_owned(),
        cached,
        selectable: Arc::default(),
    };
    Request::new(target, ListOptions::parse(&Query::parse(&format!("watch=1&{query}")))?)
}

async fn begin(store: &Arc<Store>, namespace: &str, query: &str) -> Result<Watch, Status> {
    watch(Arc::clone(store), request(namespace, query, true)?, None).await
}

/// An event as text: type, key and version.
fn text(event: &WatchEvent) -> String {
    match event {
        WatchEvent::Object(kind, object) => {
            assert_eq!(
                kube_protobuf::meta(object.body()).unwrap().resource_version,
                object.version().to_string()
            );
            format!("{} {} {}", kind.name(), object.key(), object.version())
        }
        WatchEvent::Bookmark { version, initial_events_end: false } => format!("BOOKMARK {version}"),
        WatchEvent::Bookmark { version, initial_events_end: true } => format!("END {version}"),
        WatchEvent::Error(status) => format!("ERROR {} {}", status.code, status.message),
    }
}

/// Events until none is there.
async fn ready(watch: &mut Watch) -> Vec<String> {
    let mut events = Vec::new();
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(1), watch.next()).await {
        events.push(text(&event));
    }
    events
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_version_begins_with_the_state() {
    let store = store();
    put(&store, "ns/b", 1);
    put(&store, "ns/a", 1);
    put(&store, "zz/c", 1);
    for query in
        ["", "resourceVersion=0", "sendInitialEvents=1&resourceVersionMatch=NotOlderThan&resourceVersion=3"]
    {
        let mut watch = begin(&store, "ns", query).await.unwrap();
        assert_eq!(ready(&mut watch).await, ["ADDED ns/a 3", "ADDED ns/b 2"], "{query}");
    }
    let mut watch = begin(&store, "ns", "allowWatchBookmarks=1").await.unwrap();
    assert_eq!(ready(&mut watch).await, ["ADDED ns/a 3", "ADDED ns/b 2", "END 4"]);
    put(&store, "ns/a", 2);
    put(&store, "zz/c", 2);
    store.delete(PODS, "ns/b", Expect::Present).unwrap();
    assert_eq!(ready(&mut watch).await, ["MODIFIED ns/a 5", "DELETED ns/b 7"]);

    let query = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    for version in ["", "&resourceVersion=0"] {
        let mut watch = begin(&store, "ns", &format!("{query}{version}")).await.unwrap();
        assert_eq!(ready(&mut watch).await, [""; 0]);
        let object = put(&store, "ns/a", 3);
        assert_eq!(ready(&mut watch).await, [format!("MODIFIED ns/a {}", object.version())]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_a_version_has_the_changes_since() {
    let store = store();
    put(&store, "ns/a", 1);
    put(&store, "ns/b", 1);
    let mut watch = begin(&store, "", "resourceVersion=2").await.unwrap();
    assert_eq!(ready(&mut watch).await, ["ADDED ns/b 3"]);
    // of the future: nothing until then
    let mut watch = begin(&store, "", "resourceVersion=4&allowWatchBookmarks=1").await.unwrap();
    put(&store, "ns/a", 2);
    assert_eq!(ready(&mut watch).await, [""; 0]);
    put(&store, "ns/a", 3);
    assert_eq!(ready(&mut watch).await, ["MODIFIED ns/a 5"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_one_name_has_no_longer_one() {
    let store = store();
    let mut single = begin(&store, "ns", "fieldSelector=metadata.name%3Db&resourceVersion=1").await.unwrap();
    put(&store, "ns/bb", 1);
    put(&store, "ns/b", 1);
    assert_eq!(ready(&mut single).await, ["ADDED ns/b 3"]);
}

#[tokio::test(start_paused = true)]
async fn errors_after_the_beginning_are_events() {
    let store = store();
    put(&store, "ns/a", 1);
    put(&store, "ns/a", 2);
    store.compact(3);
    for (query, cached, event) in [
        ("resourceVersion=2", true, "ERROR 410 too old resource version: 2 (3)"),
        ("resourceVersion=2", false, "ERROR 410 The resourceVersion for the provided watch is too old."),
        (
            "resourceVersion=9&sendInitialEvents=1&resourceVersionMatch=NotOlderThan",
            true,
            "ERROR 504 Timeout: Too large resource version: 9, current: 3",
        ),
    ] {
        let mut watch = watch(Arc::clone(&store), request("", query, cached).unwrap(), None).await.unwrap();
        assert_eq!(watch.next().await.as_ref().map(text).as_deref(), Some(event), "{query}");
        assert_eq!(watch.next().await, None);
    }
    let error = begin(&store, "", "resourceVersion=x").await.unwrap_err();
    assert_eq!((error.code, &*error.reason), (500, ""));
    assert_eq!(error.message, "invalid resource version: \"x\"");
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_told_that_it_missed_changes() {
    let options = StoreOptions { history_events: 10, ..StoreOptions::default() };
    let store = Arc::new(Store::new(2, options));
    let mut slow = begin(&store, "", "resourceVersion=1").await.unwrap();
    for label in 0..12 {
        put(&store, "ns/a", label);
    }
    assert_eq!(slow.next().await.as_ref().map(text).unwrap(), "ERROR 410 too old resource version: 1 (3)");
    assert_eq!(slow.next().await, None);

    // Changes of other resources push nothing out of a watch that has read all of its own.
    let mut quiet = begin(&store, "", "resourceVersion=13").await.unwrap();
    for index in 0..50 {
        store.put(LEASES, &format!("ns/{index}"), Expect::Absent, b"").unwrap();
    }
    put(&store, "ns/a", 1);
    assert_eq!(ready(&mut quiet).await, ["MODIFIED ns/a 64"]);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_each_minute_and_before_the_end() {
    let store = store();
    let began = tokio::time::Instant::now();
    let mut watch =
        begin(&store, "", "resourceVersion=1&allowWatchBookmarks=1&timeoutSeconds=100").await.unwrap();
    store.put(LEASES, "ns/l", Expect::Absent, b"").unwrap();
    assert_eq!(watch.next().await.as_ref().map(text).unwrap(), "BOOKMARK 2");
    assert_eq!(began.elapsed().as_secs(), 60);
    put(&store, "ns/a", 1);
    assert_eq!(watch.next().await.as_ref().map(text).unwrap(), "ADDED ns/a 3");
    assert_eq!(watch.next().await.as_ref().map(text).unwrap(), "BOOKMARK 3");
    assert_eq!(began.elapsed().as_secs(), 98);
    assert_eq!(watch.next().await, None);
    assert_eq!(began.elapsed().as_secs(), 100);
    // Without a change there is nothing to tell.
    let mut idle =
        begin(&store, "", "resourceVersion=3&allowWatchBookmarks=1&timeoutSeconds=100").await.unwrap();
    assert_eq!(idle.next().await, None);
    let mut short =
        begin(&store, "", "resourceVersion=2&allowWatchBookmarks=1&timeoutSeconds=1").await.unwrap();
    assert_eq!(ready(&mut short).await, ["ADDED ns/a 3"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_the_server() {
    let store = store();
    let watch = begin(&store, "", "resourceVersion=1").await.unwrap();
    let encoder = |event: &WatchEvent, out: &mut Vec<u8>| {
        json_frame(out, "ADDED", |out| out.extend(format!("{:?}", text(event)).bytes()));
    };
    let mut chunks = Box::pin(watch.into_chunks(encoder));
    put(&store, "ns/a", 1);
    put(&store, "ns/b", 1);
    let chunk = chunks.next().await.unwrap();
    let expected = "{\"type\":\"ADDED\",\"object\":\"ADDED ns/a 2\"}\n{\"type\":\"ADDED\",\"object\":\"ADDED ns/b 3\"}\n";
    assert_eq!(std::str::from_utf8(&chunk), Ok(expected));
    store.close();
    assert_eq!(chunks.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_restore_ends_watches_and_goes_back() {
    let (store, backup) = (store(), store());
    put(&backup, "ns/b", 1);
    put(&store, "ns/a", 1);
    put(&store, "ns/a", 2);
    let mut watch = begin(&store, "", "resourceVersion=1").await.unwrap();
    let (version, objects) = backup.everything();
    store.reset(version, objects);
    assert_eq!(store.version(), 2);
    assert_eq!(watch.next().await, None);
    let mut watch = begin(&store, "", "allowWatchBookmarks=1").await.unwrap();
    assert_eq!(ready(&mut watch).await, ["ADDED ns/b 2", "END 2"]);
    let mut old = begin(&store, "", "resourceVersion=1").await.unwrap();
    assert_eq!(ready(&mut old).await, ["ERROR 410 too old resource version: 1 (2)"]);
    put(&store, "ns/b", 2);
    assert_eq!(ready(&mut watch).await, ["MODIFIED ns/b 3"]);
    // A watch from a version that the former life had reached waits for it.
    let mut ahead = begin(&store, "", "resourceVersion=4").await.unwrap();
    put(&store, "ns/b", 3);
    assert_eq!(ready(&mut ahead).await, [""; 0]);
}

#[test]
fn a_protobuf_frame_is_that_of_a_real_api_server() {
    // the bookmark of a watch of Endpoints, and the error of a watch of Events
    let mut bookmark =
        b"\x0a\x36\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x03360\x38\x00\x42\x00\x62\x21".to_vec();
    bookmark.extend(b"\x0a\x19k8s.io/initial-events-end\x12\x04true");
    let mut frame = Vec::new();
    protobuf_frame(&mut frame, "BOOKMARK", "v1", "Endpoints", &bookmark);
    let mut expected =
        b"\0\0\0\x61\x0a\x08BOOKMARK\x12\x55\x0a\x53k8s\0\x0a\x0f\x0a\x02v1\x12\x09Endpoints\x12\x38"
            .to_vec();
    expected.extend(&bookmark);
    expected.extend(b"\x1a\0\x22\0");
    assert_eq!(frame, expected);
    let mut reader = kube_protobuf::FrameReader::default();
    protobuf_frame(&mut frame, "ADDED", "v1", "Pod", &vec![7; 100_000]);
    reader.push(&frame);
    assert_eq!(reader.next_frame().unwrap(), Some(&expected[4..]));
    let event = kube_protobuf::WatchEvent::parse(reader.next_frame().unwrap().unwrap()).unwrap();
    assert_eq!(event.object.raw.len(), 100_000);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Replaying a watch with selectors gives the list with the same selectors at each version.
    #[test]
    fn a_watch_replays_to_the_list_at_each_version(
        changes in proptest::collection::vec((0..6_u8, 0..4_u8), 1..80),
        from in 1..80_u64,
        scope in 0..3_usize,
        selector in prop_oneof![Just(""), Just("&labelSelector=a+in+(0,1)"), Just("&fieldSelector=metadata.name%3D2")],
    ) {
        let namespace = ["", "ns0", "ns1"][scope];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let store = store();
            for (name, label) in changes {
                let key = format!("ns{}/{name}", name % 2);
                // a label of 3 deletes
                if label < 3 {
                    put(&store, &key, label);
                } else {
                    let _ = store.delete(PODS, &key, Expect::Present);
                }
            }
            let from = from.min(store.version());
            let list = async |version: u64| {
                let query = format!("resourceVersion={version}&resourceVersionMatch=Exact{selector}");
                let options = ListOptions::parse(&Query::parse(&query)).unwrap();
                let target = Target {
                    resource: PODS, namespaced: true, namespace: namespace.to_owned(), cached: true,
                    selectable: Arc::default(),
                };
                let page = crate::list::list(&store, &Request::new(target, options).unwrap()).await.unwrap();
                page.items.iter().map(|object| (object.key().to_owned(), object.version())).collect::<BTreeMap<_, _>>()
            };
            let mut state = list(from).await;
            let mut watch = begin(&store, namespace, &format!("resourceVersion={from}{selector}")).await.unwrap();
            let mut version = from;
            loop {
                let event = tokio::time::timeout(Duration::from_millis(1), watch.next()).await;
                let next = match &event {
                    Ok(Some(WatchEvent::Object(_, object))) => object.version(),
                    _ => store.version() + 1,
                };
                for unchanged in version..next {
                    assert_eq!(state, list(unchanged).await);
                }
                let Ok(Some(WatchEvent::Object(kind, object))) = event else { break };
                let key = object.key().to_owned();
                let before = match kind {
                    WatchKind::Deleted => state.remove(&key),
                    WatchKind::Added | WatchKind::Modified => state.insert(key, object.version()),
                };
                assert_eq!(before.is_none(), kind == WatchKind::Added);
                version = object.version();
            }
        });
    }
}
