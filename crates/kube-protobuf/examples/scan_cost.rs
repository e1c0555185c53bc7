//! Measures the cost of reading: `cargo run --release -p kube-protobuf --example scan_cost`.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube_protobuf::{Message, PodView, Unknown, meta, without_managed_fields};

const ROUNDS: u32 = 200_000;

fn measure<T>(name: &str, rounds: u32, mut run: impl FnMut() -> T) {
    let best = (0..5).map(|_| {
        let start = Instant::now();
        for _ in 0..rounds {
            black_box(run());
        }
        start.elapsed() / rounds
    });
    println!("{:>8} ns  {name}", best.min().unwrap().as_nanos());
}

fn main() {
    let (pod, json) = (include_bytes!("../testdata/pod.pb"), include_bytes!("../testdata/pod.json"));
    let slice = include_bytes!("../testdata/endpointslice.pb");
    println!("pod: {} bytes, {} as JSON; slice: {} bytes", pod.len(), json.len(), slice.len());

    measure("PodView of a pod in its envelope", ROUNDS, || {
        PodView::parse(Unknown::parse(black_box(pod)).unwrap().raw).unwrap().ports.len()
    });
    measure("meta of a pod", ROUNDS, || {
        meta(Unknown::parse(black_box(pod)).unwrap().raw).unwrap().generation
    });

    let raw = Unknown::parse(slice).unwrap().raw;
    measure("slice without managedFields", ROUNDS, || without_managed_fields(black_box(raw)).unwrap());
    measure("slice decoded", ROUNDS, || EndpointSlice::decode(black_box(raw)).unwrap());
    let decoded = EndpointSlice::decode(raw).unwrap();
    measure("slice encoded", ROUNDS, || black_box(&decoded).encode());

    measure("pod from JSON through k8s-openapi", ROUNDS / 20, || {
        serde_json::from_slice::<Pod>(black_box(json)).unwrap()
    });
}
