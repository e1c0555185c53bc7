use serde_json::Value;

use super::*;
use crate::codec::tests::testdata::bodies;
use crate::schema::Type;

/// Go keeps the text of managed fields, with the order of keys; a tree does not.
fn is_the_same(of: &'static Type, tree: &Value, json: &str, want: &str) -> bool {
    let decode = |want| decode(of, want, FieldValidation::Ignore);
    json == want || parse(want.as_bytes()).and_then(decode).is_ok_and(|(want, _)| want == *tree)
}

/// True if keys come in another order than that of trees, in which the first wrong value is another one.
fn is_unsorted(text: &[u8], tree: &Value) -> bool {
    tree.to_string().as_bytes() != text
}

/// True if a key occurs twice: there are more colons than members of the tree.
fn has_duplicates(text: &[u8], tree: &Value) -> bool {
    let (mut colons, mut quoted, mut escaped) = (0, false, false);
    for byte in text {
        colons += usize::from(*byte == b':' && !quoted);
        quoted ^= *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
    }
    colons != members(tree)
}

fn members(tree: &Value) -> usize {
    match tree {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(fields) => fields.len() + fields.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

#[test]
fn wrong_bodies_are_decoded_and_refused_as_by_go() {
    let (mut compared, mut wrong) = (0, 0);
    for body in bodies() {
        let want = &body.outcome;
        let mut strict: Vec<_> = want["strict"].as_array().into_iter().flatten().collect();
        strict.sort_by_key(std::string::ToString::to_string);
        let Some(tree) = parse(&body.text).ok().filter(Value::is_object) else { continue };
        let has_large_number = String::from_utf8_lossy(&body.text).contains(":99999999999999999999");
        if has_large_number || has_duplicates(&body.text, &tree) {
            continue;
        }
        compared += 1;
        let problem = match decode(body.of, tree.clone(), FieldValidation::Strict) {
            Ok((object, mut problems)) => {
                problems.sort();
                let mut json = Vec::new();
                encode(body.of, &object, &mut json);
                let json = String::from_utf8(json).unwrap();
                if want["error"] != Value::Null {
                    format!("accepted, but Go says {}", want["error"])
                } else if serde_json::json!(problems) != serde_json::json!(strict) {
                    format!("problems {problems:?} instead of {strict:?}")
                } else if !is_the_same(body.of, &object, &json, want["json"].as_str().unwrap()) {
                    format!("{json}\ninstead of\n{}", want["json"])
                } else {
                    continue;
                }
            }
            Err(error) if want["error"] == *error.0 => continue,
            Err(_) if want["error"] != Value::Null && is_unsorted(&body.text, &tree) => continue,
            Err(error) => format!("{error}\ninstead of\n{}", want["error"]),
        };
        wrong += 1;
        if wrong < 15 {
            println!("{}\n{}\n{problem}\n", body.of.path, String::from_utf8_lossy(&body.text));
        }
    }
    assert_eq!(wrong, 0, "of {compared}");
    assert!(compared > 100, "{compared}");
}
