//! Any bytes, read as every kind with a codec.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../tests/support/mod.rs"]
mod support;

fuzz_target!(|bytes: &[u8]| {
    support::message(bytes);
    // an enveloped object from the corpus
    if let Ok(unknown) = kube_protobuf::Unknown::parse(bytes) {
        support::message(unknown.raw);
    }
});
