//! The differences of two documents, one line each.

use super::tree::Tree;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The path, such as `.metadata.labels` or `header content-type`.
    pub(crate) path: String,
    /// The real server's value; empty if it has none.
    pub(crate) real: String,
    /// The other server's value.
    pub(crate) other: String,
}

/// The differences of two documents, up to some number.
pub(crate) fn compare(path: &str, real: &Tree, other: &Tree, found: &mut Vec<Difference>) {
    /// Enough to understand a case.
    const MAX: usize = 12;
    if found.len() >= MAX || real == other {
        return;
    }
    match (real, other) {
        (Tree::Object(real), Tree::Object(other)) => objects(path, real, other, found),
        (Tree::List(a), Tree::List(b)) => {
            if a.len() == b.len() {
                for (number, (a, b)) in a.iter().zip(b).enumerate() {
                    compare(&format!("{path}[{number}]"), a, b, found);
                }
            } else {
                let [real, other] = [a, b].map(|list| format!("{} items: {}", list.len(), names(list)));
                found.push(Difference { path: format!("{path}[]"), real, other });
            }
        }
        _ => found.push(Difference { path: path.to_owned(), real: real.print(), other: other.print() }),
    }
}

/// The names of the items of a list, or else the items.
fn names(list: &[Tree]) -> String {
    let name = |item: &Tree| {
        let object = item.get("object").unwrap_or(item);
        let name = object.get("metadata").and_then(|metadata| metadata.get("name"));
        let kind = item.get("type").map(Tree::print).unwrap_or_default();
        name.map_or_else(|| item.print(), |name| format!("{kind}{}", name.print()))
    };
    list.iter().map(name).collect::<Vec<_>>().join(" ")
}

type Fields = [(String, Tree)];

fn objects(path: &str, real: &Fields, other: &Fields, found: &mut Vec<Difference>) {
    let before = found.len();
    let keys = |fields: &Fields| fields.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    // A key that repeats, as in protobuf, is told apart by its occurrence.
    let value = |fields: &Fields, key: &str, occurrence: usize| {
        fields.iter().filter(|(name, _)| name == key).nth(occurrence).map(|(_, value)| value.clone())
    };
    let occurrence =
        |fields: &Fields, at: usize| fields[..at].iter().filter(|(key, _)| *key == fields[at].0).count();
    for (at, (key, a)) in real.iter().enumerate() {
        let path = format!("{path}.{key}");
        match value(other, key, occurrence(real, at)) {
            Some(b) => compare(&path, a, &b, found),
            None => found.push(Difference { path, real: a.print(), other: String::new() }),
        }
    }
    for (at, (key, b)) in other.iter().enumerate() {
        if value(real, key, occurrence(other, at)).is_none() {
            found.push(Difference { path: format!("{path}.{key}"), real: String::new(), other: b.print() });
        }
    }
    if found.len() == before {
        let [real, other] = [real, other].map(|fields| keys(fields).join(" "));
        found.push(Difference { path: format!("{path} (order of fields)"), real, other });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(a: &str, b: &str) -> Vec<String> {
        let mut found = Vec::new();
        compare("", &Tree::parse(a).unwrap(), &Tree::parse(b).unwrap(), &mut found);
        found.into_iter().map(|d| format!("{}: {} / {}", d.path, d.real, d.other)).collect()
    }

    #[test]
    fn every_kind_of_difference_is_found() {
        assert!(differences(r#"{"a":1, "b":[1]}"#, r#"{"a":1,"b":[1]}"#).is_empty());
        assert_eq!(differences(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#), [" (order of fields): a b / b a"]);
        assert_eq!(differences(r#"{"a":1}"#, r#"{"b":{"c":[]}}"#), [".a: 1 / ", ".b:  / {\"c\":[]}"]);
        assert_eq!(differences(r#"{"a":[1,2]}"#, r#"{"a":[1,3]}"#), [".a[1]: 2 / 3"]);
        assert_eq!(differences("[1,2]", "[1]"), ["[]: 2 items: 1 2 / 1 items: 1"]);
        assert_eq!(differences(r#"{"a":1.0}"#, r#"{"a":1}"#), [".a: 1.0 / 1"]);
    }
}
