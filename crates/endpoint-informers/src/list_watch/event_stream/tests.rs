use endpointslice::Pod;
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::event::{ListPage, list_page};
use super::*;

/// The bodies of a watch and of lists, from a real server.
const FRAMES: &[u8] = include_bytes!("../../../../kube-protobuf/testdata/watch.frames");
const LIST: &[u8] = include_bytes!("../../../../kube-protobuf/testdata/podlist.pb");
const JSON_LIST: &[u8] = include_bytes!("../../../../kube-protobuf/testdata/podlist.json");

/// The number of events up to the end of the body, or to the first error.
fn read_all(encoding: Encoding, bytes: Vec<u8>) -> (usize, Result<(), WatchError>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let interner = Mutex::default();
    let mut stream = EventStream::new(encoding, Body::from(bytes));
    let mut events = 0;
    runtime.block_on(async {
        loop {
            match stream.next::<Pod>(&interner).await {
                Ok(Some(_)) => events += 1,
                Ok(None) => return (events, Ok(())),
                Err(error) => return (events, Err(error)),
            }
        }
    })
}

#[test]
fn a_real_watch_is_read_to_its_end() {
    let (events, end) = read_all(Encoding::Protobuf, FRAMES.to_vec());
    assert!(events >= 2, "{events} events, then {end:?}");
}

#[test]
fn a_page_is_the_same_in_both_encodings() {
    let interner = Mutex::default();
    let protobuf = list_page::<Pod>(Encoding::Protobuf, LIST, &interner).unwrap();
    let json = list_page::<Pod>(Encoding::Json, JSON_LIST, &interner).unwrap();
    assert_eq!((&*protobuf.resource_version, &*protobuf.continue_token), ("424242", "eyJ2IjoibWV0YSJ9"));
    assert_eq!(protobuf.resource_version, json.resource_version);
    assert_eq!(protobuf.continue_token, json.continue_token);
    let pods = |page: ListPage<Pod>| -> Vec<Pod> { page.items.into_iter().filter_map(Result::ok).collect() };
    let (protobuf, json) = (pods(protobuf), pods(json));
    assert!(protobuf.len() >= 2);
    assert_eq!(protobuf, json);
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        for encoding in [Encoding::Protobuf, Encoding::Json] {
            let _ = read_all(encoding, bytes.clone());
            let _ = list_page::<Pod>(encoding, &bytes, &Mutex::default());
        }
    }

    #[test]
    fn damaged_streams_never_panic(
        flips in vec((any::<prop::sample::Index>(), 1..=255_u8), 1..4),
    ) {
        let damaged = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            for (index, flip) in &flips {
                let position = index.index(bytes.len());
                bytes[position] ^= flip;
            }
            bytes
        };
        let _ = read_all(Encoding::Protobuf, damaged(FRAMES));
        let _ = list_page::<Pod>(Encoding::Protobuf, &damaged(LIST), &Mutex::default());
        let _ = list_page::<Pod>(Encoding::Json, &damaged(JSON_LIST), &Mutex::default());
    }
}
