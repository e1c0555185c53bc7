use serde_json::Value;

use super::*;
use crate::codec::tests::testdata::bodies;

/// Go keeps the text of managed fields, with duplicates and the order of keys; a tree does not.
fn is_the_same(of: &'static Type, tree: &Value, json: &str, want: &str) -> bool {
    json == want || decode(of, want.as_bytes(), FieldValidation::Ignore).is_ok_and(|(want, _)| want == *tree)
}

/// Other words are used here.
fn is_of_syntax(error: &Value) -> bool {
    error
        .as_str()
        .is_some_and(|text| text.starts_with("invalid character ") || text == "unexpected end of JSON input")
}

#[test]
fn wrong_bodies_are_decoded_and_refused_as_by_go() {
    let mut wrong = 0;
    for body in bodies() {
        let text = String::from_utf8_lossy(&body.text);
        let want = &body.outcome;
        let problem = match decode(body.of, &body.text, FieldValidation::Strict) {
            Ok((tree, problems)) => {
                let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
                let mut json = Vec::new();
                encode(body.of, &tree, &mut json);
                let json = String::from_utf8(json).unwrap();
                let strict = want["strict"].as_array().cloned().unwrap_or_default();
                if want["error"] != Value::Null {
                    format!("accepted, but Go says {}", want["error"])
                } else if Value::from(problems.clone()) != Value::from(strict.clone()) {
                    format!("problems {problems:?} instead of {strict:?}")
                } else if !is_the_same(body.of, &tree, &json, want["json"].as_str().unwrap()) {
                    format!("{json}\ninstead of\n{}", want["json"])
                } else {
                    continue;
                }
            }
            Err(error) if want["error"] == *error.0 || is_of_syntax(&want["error"]) => continue,
            Err(error) => format!("{error}\ninstead of\n{}", want["error"]),
        };
        wrong += 1;
        if wrong < 15 {
            println!("{}\n{text}\n{problem}\n", body.of.path);
        }
    }
    assert_eq!(wrong, 0);
}

#[test]
fn duplicates_of_untyped_json_are_named() {
    let (tree, problems) = super::untyped(br#"{"a":{"b":1,"b":[{"c":1,"c":2}]},"a":null}"#).unwrap();
    assert_eq!(tree, serde_json::json!({"a": null}));
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [r#"duplicate field "a.b""#, r#"duplicate field "a.b[0].c""#, r#"duplicate field "a""#]
    );
    assert_eq!(super::untyped(b"{\"a\":").unwrap_err().to_string(), "malformed JSON");
}
