//! Any stream in any chunks. The first bytes are the lengths of the chunks.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../tests/it/invariants.rs"]
mod invariants;

fuzz_target!(|bytes: &[u8]| {
    let (lengths, stream) = bytes.split_at(bytes.len().min(4));
    invariants::frames(stream, lengths, 64 << 10);
});
