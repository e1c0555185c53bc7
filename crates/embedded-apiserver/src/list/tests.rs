use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::http::query::Query;
use crate::status::Status;
use crate::store::tests::example::labelled;
use crate::store::{Expect, Resource, Store, StoreOptions};

const ENDPOINTS: Resource = Resource(0);

fn filled(objects: &[&str]) -> Store {
    let store = Store::new(1, StoreOptions::default());
    for (index, key) in objects.iter().enumerate() {
        let name = key.rsplit('/').next().unwrap();
        store
            .put(ENDPOINTS, key, Expect::Absent, &labelled(name, u8::try_from(index % 256).unwrap()))
            .unwrap();
    }
    store
}

fn request(namespace: &str, query: &str) -> Result<Request, Status> {
    request_for(namespace, query, true)
}

fn request_for(namespace: &str, query: &str, cached: bool) -> Result<Request, Status> {
    let target = Target {
        resource: ENDPOINTS,
        namespaced: true,
        namespace: namespace.to_owned(),
        cached,
        selectable: Arc::default(),
    };
    Request::new(target, ListOptions::parse(&Query::parse(query))?)
}

async fn page(store: &Store, namespace: &str, query: &str) -> Result<Page, Status> {
    list(store, &request(namespace, query)?).await
}

fn names(page: &Page) -> Vec<&str> {
    page.items.iter().map(|object| object.key()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_list_has_the_objects_of_its_namespace_and_version() {
    let store = filled(&["ns/a", "ns/b", "ns-b/c", "other/d"]);
    let all = page(&store, "", "").await.unwrap();
    assert_eq!((names(&all), all.version), (vec!["ns-b/c", "ns/a", "ns/b", "other/d"], 5));
    assert_eq!(names(&page(&store, "ns", "").await.unwrap()), ["ns/a", "ns/b"]);
    for (query, expected, version) in [
        ("resourceVersion=0", 4, 5),
        ("resourceVersion=2", 4, 5),
        ("resourceVersion=2&resourceVersionMatch=NotOlderThan", 4, 5),
        ("resourceVersion=2&resourceVersionMatch=Exact", 1, 2),
        ("resourceVersion=1&resourceVersionMatch=Exact", 0, 1),
        ("resourceVersion=3&limit=10", 2, 3),
        ("labelSelector=a+in+(0,3)", 2, 5),
        ("fieldSelector=metadata.name%3Da", 1, 5),
        ("fieldSelector=metadata.namespace%3Dother", 1, 5),
        ("fieldSelector=metadata.name%3Da,metadata.namespace%3Dother", 0, 5),
    ] {
        let list = page(&store, "", query).await.unwrap();
        assert_eq!((list.items.len(), list.version), (expected, version), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_compacted_token_leads_to_the_current_version() {
    let store = filled(&["ns/a", "ns/b", "ns/c"]);
    let first = page(&store, "", "limit=1").await.unwrap();
    store.delete(ENDPOINTS, "ns/b", Expect::Present).unwrap();
    store.compact(5);
    let error = page(&store, "", &format!("limit=1&continue={}", first.continue_token)).await.unwrap_err();
    assert_eq!((error.code, &*error.reason), (410, "Expired"));
    assert!(
        error.message.starts_with("The provided continue parameter is too old to display a consistent list")
    );
    let token = error.to_json()["metadata"]["continue"].as_str().unwrap().to_owned();
    let rest = page(&store, "", &format!("limit=1&continue={token}")).await.unwrap();
    assert_eq!((names(&rest), rest.version), (vec!["ns/c"], 5));
    let error = page(&store, "", "resourceVersion=4&resourceVersionMatch=Exact").await.unwrap_err();
    assert_eq!(error.message, "The resourceVersion for the provided list is too old.");
}

#[tokio::test(start_paused = true)]
async fn a_selection_does_not_count_the_rest() {
    let store = filled(&["ns/a", "ns/b", "ns/c"]);
    let list = page(&store, "", "limit=1&labelSelector=a%3D0").await.unwrap();
    assert_eq!((list.items.len(), list.remaining), (1, None));
    // There are more objects, though none of them is selected.
    let rest =
        page(&store, "", &format!("limit=1&labelSelector=a%3D0&continue={}", list.continue_token)).await;
    assert_eq!(rest.unwrap().items.len(), 0);
    let last = page(&store, "", "limit=1&labelSelector=a%3D2").await.unwrap();
    assert_eq!((last.items.len(), last.continue_token.as_str()), (1, ""));
}

#[tokio::test(start_paused = true)]
async fn a_version_of_the_future_is_awaited_for_three_seconds() {
    let store = Arc::new(filled(&["ns/a"]));
    for query in
        ["resourceVersion=9", "resourceVersion=9&resourceVersionMatch=Exact", "resourceVersion=9&limit=1"]
    {
        let before = tokio::time::Instant::now();
        let error = page(&store, "", query).await.unwrap_err();
        assert_eq!(before.elapsed().as_secs(), 3);
        assert_eq!(
            (error.code, error.message.as_str()),
            (504, "Timeout: Too large resource version: 9, current: 2")
        );
        assert_eq!(error.details.unwrap().retry_after_seconds, 1);
    }
    // What etcd would answer does not wait.
    for (query, cached) in [
        ("resourceVersion=9", false),
        ("resourceVersion=9&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Da", true),
    ] {
        let before = tokio::time::Instant::now();
        let error = list(&store, &request_for("ns", query, cached).unwrap()).await.unwrap_err();
        assert_eq!(before.elapsed().as_secs(), 0);
        assert_eq!(error.details.unwrap().retry_after_seconds, 0);
    }
    let reader = tokio::spawn({
        let store = Arc::clone(&store);
        async move { page(&store, "", "resourceVersion=3").await }
    });
    tokio::task::yield_now().await;
    store.put(ENDPOINTS, "ns/b", Expect::Absent, &labelled("b", 1)).unwrap();
    assert_eq!(reader.await.unwrap().unwrap().items.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn parameters_that_cannot_be_used_are_refused() {
    let store = filled(&["ns/a"]);
    let token = page(&filled(&["ns/a", "ns/b"]), "", "limit=1").await.unwrap().continue_token;
    for (query, code, message) in [
        ("resourceVersion=abc", 400, "invalid resource version: \"abc\""),
        ("resourceVersion=%2B1", 400, "invalid resource version: \"+1\""),
        ("limit=x", 400, "limit is not a number: \"x\""),
        (
            &format!("resourceVersion=1&continue={token}"),
            400,
            "specifying resource version is not allowed when using continue",
        ),
        ("labelSelector=a%3D1,", 400, "found '', expected: identifier after ','"),
    ] {
        let error = page(&store, "", query).await.unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (code, message), "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn both_encodings_have_the_objects_of_the_page() {
    let list = page(&filled(&["ns/a", "ns/b", "ns/c"]), "", "limit=2").await.unwrap();
    let writer = |body: &[u8], json: &mut Vec<u8>| {
        let name = kube_protobuf::meta(body).unwrap().name.to_owned();
        json.extend(format!("{{\"name\":\"{name}\"}}").bytes());
    };
    let json: serde_json::Value =
        serde_json::from_slice(&list.to_json("v1", "EndpointsList", writer)).unwrap();
    assert_eq!(json["kind"], "EndpointsList");
    assert_eq!(json["metadata"]["remainingItemCount"], 1);
    assert_eq!(json["items"], serde_json::json!([{ "name": "a" }, { "name": "b" }]));

    let whole = list.to_protobuf("v1", "EndpointsList");
    let parsed = kube_protobuf::List::parse(kube_protobuf::Unknown::parse(&whole).unwrap().raw).unwrap();
    assert_eq!((parsed.resource_version, parsed.remaining_item_count), ("4", Some(1)));
    assert_eq!(parsed.continue_token, list.continue_token);
    assert!(parsed.items().map(Result::unwrap).eq(list.items.iter().map(|object| object.body())));
}

#[tokio::test]
async fn an_empty_list_is_that_of_a_real_api_server() {
    let empty = Page { version: 92, ..Page::default() };
    let writer = |_: &[u8], _: &mut Vec<u8>| {};
    assert_eq!(empty.to_json("v1", "PodList", writer), b"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"92\"},\"items\":[]}\n");
}

proptest! {
    #[test]
    fn pages_are_parts_of_the_list(
        keys in proptest::collection::btree_set("[a-c]{1,2}/[a-e]{1,2}", 0..30),
        limit in 1..7_usize,
        cached: bool,
        label in 0..3_u8,
        changes in proptest::collection::vec(("[a-c]{1,2}/[a-e]{1,2}", any::<bool>()), 0..20),
    ) {
        let keys: Vec<_> = keys.into_iter().collect();
        let store = filled(&keys.iter().map(String::as_str).collect::<Vec<_>>());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let selector = if label == 0 { String::new() } else { format!("&labelSelector=a>{label}0") };
            let whole = page(&store, "", &format!("limit=1000{selector}")).await.unwrap();
            let mut changes = changes.into_iter();
            let (mut read, mut token, mut remaining) = (Vec::new(), String::new(), None);
            loop {
                let query = format!("limit={limit}&continue={token}{selector}");
                let page = list(&store, &request_for("", &query, cached).unwrap()).await.unwrap();
                assert_eq!(page.version, whole.version);
                if let Some(remaining) = remaining {
                    assert_eq!(remaining, i64::try_from(page.items.len()).unwrap() + page.remaining.unwrap_or_default());
                }
                remaining = page.remaining;
                read.extend(page.items);
                if page.continue_token.is_empty() {
                    break;
                }
                token = page.continue_token;
                if let Some((key, delete)) = changes.next() {
                    let expect = if store.get(ENDPOINTS, &key).is_some() { Expect::Present } else { Expect::Absent };
                    if delete {
                        let _ = store.delete(ENDPOINTS, &key, expect);
                    } else {
                        store.put(ENDPOINTS, &key, expect, &labelled("x", 11)).unwrap();
                    }
                }
            }
            assert_eq!(read, whole.items);
        });
    }
}
