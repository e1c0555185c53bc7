use super::*;
use crate::store::tests::example::metadata;

/// Encoded and decoded labels are selected alike.
fn matches(selector: &str, labels: &[(&str, &str)]) -> bool {
    let selector = LabelSelector::parse(selector).unwrap();
    let decoded = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let selected = selector.matches(&metadata("x", labels));
    assert_eq!(selector.selects(&decoded), selected, "{labels:?}");
    selected
}

#[test]
fn errors_are_those_of_a_real_api_server() {
    let cases: Vec<(String, String)> =
        serde_json::from_str(include_str!("../../../testdata/label_selectors.json")).unwrap();
    assert!(cases.len() > 60);
    for (selector, message) in cases {
        let parsed = LabelSelector::parse(&selector);
        assert_eq!(parsed.err().unwrap_or_default(), message, "{selector}");
    }
}

#[test]
fn requirements_match_as_documented() {
    let labels = [("app", "web"), ("level", "7"), ("empty", "")];
    for selector in [
        "",
        "app",
        "!gone",
        "app=web",
        "app==web",
        "app!=db",
        "gone!=x",
        "app in (db,web)",
        "app notin (db)",
        "gone notin (x)",
        "level>6",
        "level<8",
        "empty=",
        "empty in ()",
        "app,level=7",
    ] {
        assert!(matches(selector, &labels), "{selector}");
    }
    for selector in [
        "gone",
        "!app",
        "app=db",
        "app!=web",
        "gone=",
        "app in (db)",
        "app notin (web)",
        "level>7",
        "level<7",
        "app>1",
        "gone>1",
        "app,level=8",
    ] {
        assert!(!matches(selector, &labels), "{selector}");
    }
}
