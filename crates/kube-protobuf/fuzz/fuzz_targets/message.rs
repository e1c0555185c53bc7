//! Any bytes as every kind with a codec.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../tests/it/invariants.rs"]
mod invariants;

fuzz_target!(|bytes: &[u8]| {
    invariants::message(bytes);
    // an enveloped object from the corpus
    if let Ok(unknown) = kube_protobuf::Unknown::parse(bytes) {
        invariants::message(unknown.raw);
    }
});
