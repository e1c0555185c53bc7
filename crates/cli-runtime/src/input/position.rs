//! The line of a field.
//!
//! The parsers of YAML and JSON give places with errors only. So the text is parsed once more, by a visitor that follows the
//! path of the field and fails there. Nothing needs to be kept for that while the input is good.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::document::{Syntax, each};

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// A key of a mapping. In a sequence, in any element.
    Key(String),
    /// An element of a sequence.
    Index(usize),
}

/// The line of a field of a document, from 1. The path is one of the API server's messages, such as
/// `spec.ports[0].port` or `metadata.labels[a/b]`, after `prefix`. Where the field is missing, the line of the closest
/// field around it.
pub fn line(text: &str, document: usize, prefix: &str, path: &str) -> Option<usize> {
    let around = steps(prefix);
    let mut steps: Vec<Step> = around.iter().cloned().chain(self::steps(path)).collect();
    loop {
        let found = find(text, document, &steps);
        if found.is_some() || steps.pop().is_none() {
            return found;
        }
    }
}

/// `a.b[0][c.d]` as steps.
fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('[') {
            Some(inner) => inner.split_once(']').unwrap_or((inner, "")),
            None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
        };
        match word.parse() {
            Ok(index) if rest.starts_with('[') => steps.push(Step::Index(index)),
            _ if word.is_empty() => {}
            _ => steps.push(Step::Key(word.to_owned())),
        }
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    steps
}

fn find(text: &str, document: usize, steps: &[Step]) -> Option<usize> {
    let follow = Follow { steps };
    let found = each(text, |number, syntax| {
        let follow = if number == document { Ok(follow) } else { Err(IgnoredAny) };
        match (syntax, follow) {
            (Syntax::Yaml(yaml), Ok(follow)) => {
                Err(follow.deserialize(yaml).map_err(|error| Found::from_yaml(&error)).err())
            }
            (Syntax::Json(json), Ok(follow)) => {
                Err(follow.deserialize(json).map_err(|error| Found::from_json(&error)).err())
            }
            (Syntax::Yaml(yaml), Err(ignored)) => yaml.deserialize_any(ignored).map(drop).map_err(|_| None),
            (Syntax::Json(json), Err(ignored)) => json.deserialize_any(ignored).map(drop).map_err(|_| None),
        }
    });
    found.err().flatten().and_then(|found| found.0)
}

/// The line at which the visitor failed, if it did because the path ended there.
struct Found(Option<usize>);

impl Found {
    fn from_yaml(error: &serde_yaml::Error) -> Self {
        Self(error.location().map(|location| location.line()).filter(|_| is_found(error)))
    }

    fn from_json(error: &serde_json::Error) -> Self {
        Self(Some(error.line()).filter(|_| is_found(error)))
    }
}

const FOUND: &str = "the path ends here";

fn is_found(error: &impl fmt::Display) -> bool {
    error.to_string().contains(FOUND)
}

/// Fails with [`FOUND`] where the steps end: in serde's message about an unexpected type, if the value there has no fields. If the
/// steps lead nowhere, it succeeds, or fails without [`FOUND`].
#[derive(Clone, Copy)]
struct Follow<'a> {
    steps: &'a [Step],
}

impl<'de> DeserializeSeed<'de> for Follow<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Follow<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.steps.is_empty() { FOUND } else { "a value with fields" })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.steps.split_first() else { return Err(de::Error::custom(FOUND)) };
        let mut number = 0;
        loop {
            let next = match first {
                Step::Index(index) if *index == number => {
                    elements.next_element_seed(Follow { steps: rest })?
                }
                Step::Index(_) => elements.next_element::<IgnoredAny>()?.map(drop),
                Step::Key(_) => elements.next_element_seed(self)?,
            };
            if next.is_none() {
                return Ok(());
            }
            number += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.steps.split_first() else { return Err(de::Error::custom(FOUND)) };
        while let Some(key) = entries.next_key::<String>()? {
            let is_next = match first {
                Step::Key(name) => *name == key,
                Step::Index(index) => index.to_string() == key,
            };
            if is_next {
                entries.next_value_seed(Follow { steps: rest })?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "\
# comment
kind: Service
---
kind: Service
metadata:
  labels:
    a.b/c: x
spec:
  ports:
  - name: a
    port: 80
  - name: b
    port: 70000
  selector: {app: web,
    tier: x}
";

    #[test]
    fn fields_of_yaml() {
        let line_of = |path: &str| line(YAML, 2, "", path);
        assert_eq!(line_of("kind"), Some(4));
        assert_eq!(line_of("spec.ports[0].port"), Some(11));
        assert_eq!(line_of("spec.ports[1].port"), Some(13));
        assert_eq!(line_of("spec.ports.name"), Some(10));
        assert_eq!(line_of("metadata.labels[a.b/c]"), Some(7));
        assert_eq!(line_of("spec.selector[tier]"), Some(15));
        assert_eq!(line(YAML, 1, "", "kind"), Some(2));
    }

    #[test]
    fn a_missing_field_is_where_its_parent_is() {
        assert_eq!(line(YAML, 2, "", "spec.ports[1].protocol"), Some(12));
        assert_eq!(line(YAML, 2, "", "spec.ports[7].port"), Some(10));
        assert_eq!(line(YAML, 2, "", "status.x"), Some(4));
        assert_eq!(line(YAML, 3, "", "spec"), None);
    }

    #[test]
    fn fields_of_json() {
        let text = "{\"kind\": \"List\",\n\"items\": [\n{},\n{\"spec\":\n {\"ports\": [{\n\"port\": 0}]}}]}\n{\"a\": 1}";
        assert_eq!(line(text, 1, "items[1]", "spec.ports[0].port"), Some(6));
        assert_eq!(line(text, 2, "", "a"), Some(7));
    }

    #[test]
    fn paths_are_taken_apart() {
        let key = |name: &str| Step::Key(name.to_owned());
        assert_eq!(
            steps("items[3].spec.selector[a.b/c].x"),
            [key("items"), Step::Index(3), key("spec"), key("selector"), key("a.b/c"), key("x")]
        );
        assert_eq!(steps(""), []);
        assert_eq!(steps("a[").len(), 1);
    }
}
