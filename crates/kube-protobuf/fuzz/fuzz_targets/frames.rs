//! Any stream, in any pieces. The first bytes say how long the pieces are.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../tests/support/mod.rs"]
mod support;

fuzz_target!(|bytes: &[u8]| {
    let (lengths, stream) = bytes.split_at(bytes.len().min(4));
    support::frames(stream, lengths, 64 << 10);
});
