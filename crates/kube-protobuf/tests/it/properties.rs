//! Properties of random bytes.

use kube_protobuf::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::invariants;

proptest! {
    #[test]
    fn arbitrary_bytes_are_harmless(bytes in vec(any::<u8>(), 0..512)) {
        invariants::scan(&bytes);
        invariants::message(&bytes);
    }

    /// Mostly well-formed bytes reach deeper levels.
    #[test]
    fn arbitrary_fields_are_harmless(bytes in fields(4)) {
        invariants::scan(&bytes);
        invariants::message(&bytes);
    }

    #[test]
    fn mutated_objects_are_harmless(file in any::<Index>(), mutations in vec(mutation(), 1..6)) {
        let files = corpus();
        let bytes = mutations.into_iter().fold(file.get(&files).clone(), mutate);
        invariants::scan(&bytes);
        invariants::message(&bytes);
        if let Ok(unknown) = Unknown::parse(&bytes) {
            invariants::scan(unknown.raw);
            invariants::message(unknown.raw);
            if let Ok(list) = List::parse(unknown.raw) {
                list.items().filter_map(Result::ok).for_each(invariants::message);
            }
        }
    }

    #[test]
    fn frames_do_not_depend_on_chunks(
        bodies in vec(vec(any::<u8>(), 0..300), 0..20),
        mutations in vec(mutation(), 0..2),
        lengths in vec(any::<u8>(), 1..20),
    ) {
        let framed = bodies.iter().flat_map(|body| [&u32::try_from(body.len()).unwrap().to_be_bytes(), &body[..]].concat());
        let stream = mutations.into_iter().fold(framed.collect(), mutate);
        invariants::frames(&stream, &lengths, 64 << 10);
    }
}

/// Fuzz targets run for long only; the tests above check the same invariants.
#[test]
fn every_fuzz_target_has_a_property_test() {
    let here = include_str!("properties.rs");
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/fuzz_targets");
    let mut targets = 0;
    for file in std::fs::read_dir(directory).unwrap() {
        let path = file.unwrap().path();
        let target = std::fs::read_to_string(&path).unwrap();
        let (_, call) = target.split_once("invariants::").unwrap();
        let check = call.split_once('(').unwrap().0;
        assert!(
            here.contains(&format!("invariants::{check}(")),
            "{}: nothing here calls {check}",
            path.display()
        );
        targets += 1;
    }
    assert!(targets > 0, "no fuzz targets in {directory}");
}

/// Messages of `depth` levels with field numbers that Kubernetes uses.
fn fields(depth: u32) -> BoxedStrategy<Vec<u8>> {
    let leaf = prop_oneof![
        Just(Vec::new()),
        "[A-Za-z0-9.:]{0,12}".prop_map(String::into_bytes),
        vec(any::<u8>(), 0..16)
    ];
    let body = if depth == 0 { leaf.boxed() } else { prop_oneof![leaf, fields(depth - 1)].boxed() };
    let field = (1..25_u8, body, any::<u16>(), 0..8_u8).prop_map(|(number, body, integer, which)| {
        let encoded = |value: u64| {
            let (bytes, used) = varint(value);
            bytes[..used].to_vec()
        };
        let key = u64::from(number) << 3;
        match which {
            0 => [encoded(key), encoded(integer.into())].concat(),
            _ => [encoded(key | 2), encoded(body.len() as u64), body].concat(),
        }
    });
    vec(field, 0..6).prop_map(|fields| fields.concat()).boxed()
}

/// Returns all files that Go wrote.
fn corpus() -> Vec<Vec<u8>> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata");
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "pb")).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[derive(Clone, Debug)]
enum Mutation {
    Set(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, u8),
    Repeat(Index, u8),
    Truncate(Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        6 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Set(at, byte)),
        1 => (any::<Index>(), vec(any::<u8>(), 1..8)).prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        1 => (any::<Index>(), 1..16_u8).prop_map(|(at, count)| Mutation::Remove(at, count)),
        1 => (any::<Index>(), 1..64_u8).prop_map(|(at, count)| Mutation::Repeat(at, count)),
        1 => any::<Index>().prop_map(Mutation::Truncate),
    ]
}

fn mutate(mut bytes: Vec<u8>, mutation: Mutation) -> Vec<u8> {
    let place = |at: Index| at.index(bytes.len().max(1)).min(bytes.len());
    match mutation {
        Mutation::Set(at, value) => {
            let place = place(at);
            bytes[place..].iter_mut().take(1).for_each(|byte| *byte = value);
        }
        Mutation::Insert(at, inserted) => {
            let place = place(at);
            bytes.splice(place..place, inserted);
        }
        Mutation::Remove(at, count) => {
            let place = place(at);
            bytes.drain(place..(place + usize::from(count)).min(bytes.len()));
        }
        Mutation::Repeat(at, count) => {
            let place = place(at);
            let end = (place + usize::from(count)).min(bytes.len());
            let repeated = bytes[place..end].to_vec();
            bytes.splice(place..place, repeated);
        }
        Mutation::Truncate(at) => bytes.truncate(place(at)),
    }
    bytes
}
