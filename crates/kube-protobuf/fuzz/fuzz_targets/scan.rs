//! Any bytes, read as every view.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../tests/support/mod.rs"]
mod support;

fuzz_target!(|bytes: &[u8]| {
    support::scan(bytes);
    // an enveloped object from the corpus
    if let Ok(unknown) = kube_protobuf::Unknown::parse(bytes) {
        support::scan(unknown.raw);
    }
});
