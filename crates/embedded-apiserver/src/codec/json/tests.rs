use serde_json::Value;

use super::*;
use crate::codec::testdata::bodies;
use crate::schema::{Shape, Type};

/// Go keeps the text of managed fields, with duplicates and the order of keys; a tree does not. Quantities stay as they are.
fn is_the_same(of: &'static Type, tree: &Value, json: &str, want: &str) -> bool {
    let wanted = || decode(of, parse(want.as_bytes()).ok()?, FieldValidation::Ignore).ok();
    json == want || wanted().is_some_and(|(want, _)| want == *tree)
}

/// True for types of which our trees have other values than Go's.
fn has_quantities(of: &'static Type, depth: usize) -> bool {
    depth > 6
        || of.fields.iter().any(|field| {
            let mut node = &field.node;
            loop {
                node = match &node.shape {
                    Shape::Quantity => return true,
                    Shape::Struct(of) => return has_quantities(of.get(), depth + 1),
                    Shape::List(inner) | Shape::Items(inner) | Shape::Map(inner) => inner,
                    _ => return false,
                };
            }
        })
}

/// True if a field occurs twice somewhere: the tree has fewer members than the text.
fn has_duplicates(text: &[u8], tree: &Value) -> bool {
    let members = |text: &str| text.matches("\":").count();
    members(&String::from_utf8_lossy(text)) != members(&tree.to_string())
}

/// What Go accepts is decoded to the same object, with the same unknown fields; what does not fit is refused. Malformed text,
/// duplicate fields, and what is wrong in times and quantities, are left out.
#[test]
fn bodies_are_decoded_or_refused_as_by_go() {
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for body in bodies().into_iter().filter(|body| !has_quantities(body.of, 0)) {
        let want = &body.outcome;
        let error = want["error"].as_str().unwrap_or_default();
        let Ok(tree) = parse(&body.text) else { continue };
        let duplicates =
            has_duplicates(&body.text, &tree) || want["strict"].to_string().contains("duplicate field");
        if duplicates || error.starts_with("parsing time") {
            continue;
        }
        compared += 1;
        let problem = match decode(body.of, tree, FieldValidation::Strict) {
            Ok((tree, mut problems)) => {
                let mut json = Vec::new();
                encode(body.of, &tree, &mut json);
                let json = String::from_utf8(json).unwrap();
                let strict = want["strict"].as_array().into_iter().flatten();
                let mut strict: Vec<_> = strict.map(|text| text.as_str().unwrap().to_owned()).collect();
                strict.sort();
                problems.sort();
                if !error.is_empty() {
                    format!("accepted, but Go says {error}")
                } else if problems != strict {
                    format!("problems {problems:?} instead of {strict:?}")
                } else if !is_the_same(body.of, &tree, &json, want["json"].as_str().unwrap()) {
                    format!("{json}\ninstead of\n{}", want["json"])
                } else {
                    continue;
                }
            }
            Err(_) if !error.is_empty() => continue,
            Err(error) => format!("refused: {error}"),
        };
        wrong.push(format!("{}\n{}\n{problem}\n", body.of.path, String::from_utf8_lossy(&body.text)));
    }
    assert!(compared > 500, "only {compared} bodies");
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong[..wrong.len().min(15)].join("\n"));
}

#[test]
fn what_does_not_fit_is_refused_in_gos_words() {
    let of = Type::named("k8s.io/api/core/v1.Service").unwrap();
    for (text, message) in [
        ("[]", "json: cannot unmarshal array into Go value of type v1.Service"),
        (
            r#"{"metadata":{"labels":{"a":1}}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            r#"{"spec":{"ports":[{"port":"x"}]}}"#,
            "json: cannot unmarshal string into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            r#"{"spec":{"ports":[{"port":1.5}]}}"#,
            "json: cannot unmarshal number 1.5 into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            r#"{"spec":{"ports":[{"targetPort":true}]}}"#,
            "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
    ] {
        let refused = decode(of, parse(text.as_bytes()).unwrap(), FieldValidation::Ignore).unwrap_err();
        assert_eq!(refused.0, message);
    }
}

#[test]
fn malformed_text_is_refused() {
    assert_eq!(parse(b"{\"a\":").unwrap_err().to_string(), "unexpected end of JSON input");
    assert!(parse(b"{\"a\" 1}").unwrap_err().to_string().contains("expected"));
}
