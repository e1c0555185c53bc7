//! The cases of `testdata`, which `hack/checks/schema` wrote with the Go types.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;

use crate::schema::Type;

/// An object as Go encodes it.
pub(in crate::codec) struct Object {
    pub(in crate::codec) of: &'static Type,
    pub(in crate::codec) json: String,
    pub(in crate::codec) protobuf: Vec<u8>,
}

/// A body and what Go's decoder makes of it.
pub(in crate::codec) struct Body {
    pub(in crate::codec) of: &'static Type,
    pub(in crate::codec) text: Vec<u8>,
    pub(in crate::codec) outcome: serde_json::Value,
}

pub(in crate::codec) fn objects() -> Vec<Object> {
    let line = |line: &str| {
        let columns: Vec<_> = line.split('\t').collect();
        let [of, json, protobuf] = columns[..] else { panic!("{line}") };
        let protobuf = STANDARD.decode(protobuf).unwrap();
        Object { of: Type::named(of).unwrap(), json: json.to_owned(), protobuf }
    };
    unpack(include_bytes!("../../../testdata/objects.gz")).lines().map(line).collect()
}

pub(in crate::codec) fn bodies() -> Vec<Body> {
    let line = |line: &str| {
        let columns: Vec<_> = line.split('\t').collect();
        let [of, text, outcome] = columns[..] else { panic!("{line}") };
        let outcome = serde_json::from_str(outcome).unwrap();
        Body { of: Type::named(of).unwrap(), text: STANDARD.decode(text).unwrap(), outcome }
    };
    unpack(include_bytes!("../../../testdata/bodies.gz")).lines().map(line).collect()
}

/// The texts of a type (`quantity`, `seconds`, `micros`), each with its canonical form or error.
pub(in crate::codec) fn texts(kind: &str) -> Vec<(String, String)> {
    let text = unpack(include_bytes!("../../../testdata/texts.gz"));
    let lines = text.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix('\t')?.split_once('\t'));
    lines.map(|(text, result)| (text.to_owned(), result.to_owned())).collect()
}

fn unpack(packed: &[u8]) -> String {
    let mut text = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut text).unwrap();
    // sets of managed fields may contain anything
    String::from_utf8_lossy(&text).into_owned()
}
