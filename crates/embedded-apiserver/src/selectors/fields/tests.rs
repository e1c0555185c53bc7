use super::*;

fn selectable() -> Vec<SelectableField> {
    let source = |path: &[u32], boolean| FieldSource { path: path.to_vec(), boolean };
    vec![
        SelectableField { label: "spec.nodeName", sources: vec![source(&[2, 10], false)] },
        SelectableField { label: "spec.hostNetwork", sources: vec![source(&[2, 11], true)] },
        SelectableField { label: "source", sources: vec![source(&[3, 1], false), source(&[4], false)] },
    ]
}

fn parse(selector: &str) -> Result<FieldSelector, String> {
    FieldSelector::parse(selector)?.for_kind(true, &selectable())
}

#[test]
fn errors_are_those_of_a_real_api_server() {
    for (selector, message) in [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        ("metadata.name=a\\x", "invalid field selector: invalid escape sequence: \\x"),
        ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
        ("metadata.name=e1,foo=b", "field label not supported: foo"),
    ] {
        assert_eq!(parse(selector).unwrap_err(), message, "{selector}");
    }
    let plain = FieldSelector::parse("=x").unwrap().for_kind(true, &[]).unwrap_err();
    assert_eq!(plain, "\"\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
    // Kinds with fields of their own and no namespace do not know the namespace either.
    let node = FieldSelector::parse("metadata.namespace=x").unwrap().for_kind(false, &selectable());
    assert_eq!(node.unwrap_err(), "field label not supported: metadata.namespace");
}

#[test]
fn fields_are_read_where_they_are() {
    // spec {nodeName: "n1", hostNetwork: true}, 4: "late"
    let body = b"\x12\x06\x52\x02n1\x58\x01\x22\x04late";
    for selector in [
        "",
        ",",
        "metadata.name=p",
        "metadata.namespace=ns",
        "metadata.name!=q",
        "spec.nodeName=n1",
        "spec.hostNetwork=true",
        "source=late",
        "spec.nodeName==n1,metadata.name=p",
    ] {
        assert!(parse(selector).unwrap().matches("ns", "p", body, &selectable()), "{selector}");
    }
    for selector in ["metadata.name=q", "spec.nodeName!=n1", "spec.hostNetwork=false"] {
        assert!(!parse(selector).unwrap().matches("ns", "p", body, &selectable()), "{selector}");
    }
    assert!(parse("spec.hostNetwork=false").unwrap().matches("ns", "p", b"", &selectable()));
}

#[test]
fn escapes_are_resolved() {
    let selector = parse(r"metadata.name=a\,b\=c\\d").unwrap();
    assert_eq!(selector.required_name(), Some(r"a,b=c\d"));
}

#[test]
fn the_first_of_contradicting_names_is_required() {
    assert_eq!(parse("metadata.name=e2,metadata.name=e1").unwrap().required_name(), Some("e1"));
    assert_eq!(parse("metadata.name!=e1").unwrap().required_name(), None);
}
